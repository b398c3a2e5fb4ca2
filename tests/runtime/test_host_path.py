"""Regions that run on the host, node by node."""

import pytest

import penstock as tf
from penstock.runtime import host_path, regions


def test_a_region_that_is_compiled_is_not_made_ready_for_the_host(monkeypatch):
    made = []
    original = regions.HostPath

    def noted(nodes, *rest):
        made.append(len(nodes))
        return original(nodes, *rest)

    monkeypatch.setattr(regions, "HostPath", noted)

    @tf.function
    def chain(x):
        for _ in range(10):
            x = tf.tanh(x * 1.5) + 1.0
        return x

    for _ in range(2):
        chain(tf.ones([100, 100]))
    assert made == []
    small = tf.function(lambda x: x * 2.0)
    for _ in range(2):
        assert small(tf.constant(2.0)) == 4.0
    assert made == [2]  # the constant and the product


def grown(rounds, divisor=4, place=1):
    """A loop whose list grows: it runs node by node, with operations that check their inputs."""

    @tf.function
    def run(n, divisor, place):
        row = tf.constant([7, 9])
        found = tf.zeros([2, 0], tf.int32)
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(found, tf.TensorShape([2, None]))]
            )
            turned = tf.gather(row + i, [place, 0]) // divisor
            found = tf.concat([found, turned[:, tf.newaxis]], 1)
        return found[:, 1:-1]

    return run, [tf.constant(v) for v in (rounds, divisor, place)]


def test_what_only_checks_its_inputs_needs_no_step(monkeypatch):
    singly = []
    original = host_path.run_node

    def noted(node, *rest, **options):
        singly.append(node.type)
        return original(node, *rest, **options)

    monkeypatch.setattr(host_path, "run_node", noted)
    run, arguments = grown(5)
    for _ in range(3):
        assert run(*arguments).numpy().tolist() == [[2, 2, 3], [2, 2, 2]]
    assert not {"GatherV2", "FloorDiv", "StridedSlice", "ConcatV2"} & set(singly)


@pytest.mark.parametrize(
    ("options", "text"), [({"divisor": 0}, "division by zero"), ({"place": 2}, "not in")]
)
def test_a_check_that_fails_names_the_node_and_its_line(options, text):
    run, arguments = grown(5, **options)
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text) as problem:
            run(*arguments)
        assert "{{node" in str(problem.value)
        assert "test_host_path.py" in str(problem.value)


def test_shapes_are_allowed_for_the_values_that_are_there():
    # A rule that reads a value allows shapes for this value alone, unless it never changes.
    sort = tf.function(
        lambda n, k: tf.while_loop(
            lambda i, x: i < n,
            lambda i, x: (i + 1, tf.concat([x, tf.math.top_k(x, k)[0]], 0)),
            [0, tf.constant([3.0, 1.0])],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )[1]
    )
    assert sort(tf.constant(2), tf.constant(1)).numpy().tolist() == [3.0, 1.0, 3.0, 3.0]
    assert sort(tf.constant(2), tf.constant(2)).numpy().tolist() == [3.0, 1.0, 3.0, 1.0, 3.0, 3.0]
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError):
            sort(tf.constant(1), tf.constant(3))
