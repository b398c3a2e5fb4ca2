"""`create_partitioned_variables`, and `add_check_numerics_ops`, of the first generation."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def test_parts_along_one_axis():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        whole = np.arange(8, dtype=np.float32).reshape(4, 2)
        parts = v1.create_partitioned_variables([4, 2], [2, 1], tf.constant(whole), name="w")
        session.run(v1.global_variables_initializer())
        got = session.run(parts)
        again = v1.create_partitioned_variables(
            [4, 2], [2, 1], v1.zeros_initializer(), name="w", reuse=True
        )
        assert graph.get_collection("variables") == parts
    assert [v.name for v in parts] == ["w/part_0:0", "w/part_1:0"]
    np.testing.assert_array_equal(np.concatenate(got), whole)
    assert all(a is b for a, b in zip(parts, again, strict=True))


@pytest.mark.parametrize(
    ("slicing", "message"),
    [([2], "length"), ([2, 2], "one dimension"), ([0, 2], "zero partitions"), ([1, 3], "at most")],
)
def test_slicings_that_do_not_fit(slicing, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        v1.create_partitioned_variables([4, 2], slicing, v1.zeros_initializer())


def test_numeric_checks_of_a_whole_graph():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [2], name="x")
        y = tf.exp(x, name="y")
        tf.cast(y, tf.int32)
        check = v1.add_check_numerics_ops()
        names = [o.get_attr("message") for o in graph.get_operations() if o.type == "CheckNumerics"]
        session.run(check, {x: [1.0, 2.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="y:0 : Tensor had Inf values"):
            session.run(check, {x: [1.0, 200.0]})
    assert names == [b"x:0", b"y:0"]
    with pytest.raises(RuntimeError, match="enable_check_numerics"):
        v1.add_check_numerics_ops()


def test_numeric_checks_are_refused_in_loops_of_the_first_kind():
    with tf.Graph().as_default():
        tf.raw_ops.Switch(data=tf.constant(1.0), pred=True)
        with pytest.raises(ValueError, match="Switch"):
            v1.add_check_numerics_ops()
