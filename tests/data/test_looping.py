"""States from element to element: ScanDataset ExperimentalScanDataset ReduceDataset, and
DatasetToSingleElement.
"""

import numpy as np
import pytest
from tests.data.checks import check_dataset, plain, values
from tests.data.test_ordering import made
from tests.data.test_selecting import failing

import penstock as tf

D = tf.data.Dataset
E = tf.data.experimental
ZERO = np.int64(0)


def test_reduce():
    assert int(D.range(5).reduce(ZERO, lambda s, x: s + x)) == 10
    assert int(D.range(0).reduce(np.int64(7), lambda s, x: s + x)) == 7
    both = D.range(5).reduce((ZERO, "a"), lambda s, x: (s[0] + x, s[1] + "b"))
    assert plain(both) == (10, b"abbbbb")
    pairs = D.range(5).map(lambda x: (x, x * 2))
    assert int(pairs.reduce(ZERO, lambda s, x: s + x[0] * x[1])) == 60
    assert plain(D.range(5).reduce({"a": np.int64(1)}, lambda s, x: {"a": s["a"] * (x + 1)})) == (
        {"a": 120}
    )  # fmt: skip
    grown = D.range(4).reduce(tf.zeros([0], tf.int64), lambda s, x: tf.concat([s, [x]], 0))
    assert plain(grown) == [0, 1, 2, 3]
    sparse = D.range(3).reduce(tf.sparse.from_dense([[1, 0]]), lambda s, x: tf.sparse.add(s, s))
    assert plain(sparse) == ([[0, 0]], [8], [1, 2])


def test_reduce_in_functions_and_sessions():
    weight = tf.Variable(np.int64(2))

    @tf.function
    def total(n):
        return D.range(n).reduce(ZERO, lambda s, x: s + x * n * weight)

    assert int(total(tf.constant(4, tf.int64))) == 48
    weight.assign(1)
    assert int(total(tf.constant(4, tf.int64))) == 24
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(D.range(5).reduce(ZERO, lambda s, x: s + x)) == 10


def test_reduce_errors():
    for function, kind in (
        (lambda s, x: tf.cast(s, tf.float32), TypeError),
        (lambda s, x: None, TypeError),
        (lambda s, x: (s, s), tf.errors.InvalidArgumentError),
        (3, ValueError),
    ):
        with pytest.raises(kind):
            D.range(5).reduce(ZERO, function)
    with pytest.raises(tf.errors.InvalidArgumentError):
        failing().reduce(0.0, lambda s, x: s + x)


def test_scan():
    check_dataset(lambda: D.range(5).scan(ZERO, lambda s, x: (s + x, s * 10)), [0, 0, 10, 30, 60])
    check_dataset(
        lambda: D.range(3).scan((ZERO, 1.0), lambda s, x: ((s[0] + x, s[1] * 2), {"o": s[1]})),
        [{"o": 1.0}, {"o": 2.0}, {"o": 4.0}],
    )
    grown = check_dataset(
        lambda: D.range(3).scan(
            tf.zeros([0], tf.int64), lambda s, x: (tf.concat([s, [x]], 0), s)
        ),
        [[], [0], [0, 1]],
    )  # fmt: skip
    assert len(grown) == 3
    pairs = D.range(3).map(lambda x: (x, x)).scan(ZERO, lambda s, x: (s + x[0] + x[1], s))
    assert values(pairs) == [0, 0, 2]
    assert values(D.range(4).apply(E.scan(ZERO, lambda s, x: (s + x, s)))) == [0, 0, 1, 3]


def test_scan_errors():
    for function in (
        lambda s, x: s,
        lambda s, x: (s, s, s),
        lambda s, x: (tf.cast(s, tf.float32), x),
    ):
        with pytest.raises(TypeError):
            D.range(4).scan(ZERO, function)
    found = values(
        failing().scan(0.0, lambda s, x: (s + 1.0, x + s))
    )  # fmt: skip
    assert found.count("InvalidArgumentError") == 1
    assert len(found) == 5


def test_older_scan():
    body = tf.function(lambda s, x: (s + x, s)).get_concrete_function(
        tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.int64)
    )
    variant = D.range(4)._variant_tensor
    found = made("ExperimentalScanDataset", (variant, [tf.constant(ZERO)], []), f=body)
    assert values(found) == [0, 0, 1, 3]


def test_single_element():
    assert plain(D.from_tensors((1, "a")).get_single_element()) == (1, b"a")
    assert plain(D.from_tensors(tf.ragged.constant([[1], [2, 3]])).get_single_element()) == (
        [[1], [2, 3]]
    )  # fmt: skip
    assert int(E.get_single_element(D.range(1))) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="empty"):
        D.range(0).get_single_element()
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than one"):
        D.range(2).get_single_element()
    with pytest.raises(tf.errors.InvalidArgumentError):
        failing(0, 1).get_single_element()
    with pytest.raises(TypeError, match="Invalid `dataset`"):
        E.get_single_element(3)
