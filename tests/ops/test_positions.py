"""Checked positions of many elements in compiled functions: native where the library is in use."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native

ROWS, COUNT = 300, 20_000  # more than what XLA's code is used for
DRAW = np.random.default_rng(0)


def compiled(function):
    return tf.function(function, jit_compile=True)


@pytest.fixture(params=["1", "0"], autouse=True)
def library(request, monkeypatch):
    if request.param == "1" and not native.available():
        pytest.skip("no native kernels here")
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", request.param)


def ids(kind, *shape, high=ROWS):
    return DRAW.integers(0, high, shape).astype(kind)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", "complex64", "complex128"])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("width", [(), (3,), (2, 4)])
def test_rows(dtype, kind, width):
    params = DRAW.integers(0, 2, (ROWS, *width)).astype(dtype)
    places = ids(kind, 100, COUNT // 100)
    found = compiled(tf.gather)(params, places)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, params[places])
    variable = tf.Variable(params)
    found = compiled(variable.sparse_read)(tf.constant(places))
    np.testing.assert_array_equal(found, params[places])


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_places(kind, depth):
    params = DRAW.normal(size=(7, 6, 5, 2)).astype(np.float32)
    places = np.stack([ids(kind, COUNT, high=n) for n in params.shape[:depth]], -1)
    found = compiled(tf.gather_nd)(params, places)
    np.testing.assert_array_equal(found, params[tuple(places.T)])


@pytest.mark.parametrize("wrong", [-1, ROWS, -(2**31), 2**31 - 1])
@pytest.mark.parametrize("place", [0, 9_000, COUNT - 1])
def test_what_is_outside_is_said(wrong, place):
    places = ids(np.int32, COUNT)
    places[place] = wrong
    params = tf.zeros((ROWS,))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"indices\[{place}\] = {wrong} is not in \[0, 300\)"
    ):
        compiled(tf.gather)(params, places)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"indices\[{place}\] = \[{wrong}\] does not index"
    ):
        compiled(tf.gather_nd)(params, places[:, None])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"indices\[{place}\] = \[{wrong}\] does not index"
    ):
        compiled(tf.tensor_scatter_nd_add)(params, places[:, None], tf.ones(COUNT))
    variable = tf.Variable(params)

    @compiled
    def update(i):
        variable.scatter_nd_add(i[:, None], tf.ones(COUNT))

    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"\[{wrong}\] does not index"):
        update(places)
    assert not variable.numpy().any()


def test_the_first_of_several_is_named():
    places = ids(np.int64, 200, 100)
    places[[150, 20], [3, 99]] = -5, 300
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[20,99\] = 300 is not in"):
        compiled(tf.gather)(tf.zeros((ROWS, 2)), places)


def test_segments_leave_negative_ids_out_and_refuse_large_ones():
    data, places = DRAW.normal(size=COUNT).astype(np.float32), ids(np.int32, COUNT)
    places[::7] = -3
    wanted = np.zeros(ROWS)
    np.add.at(wanted, places[places >= 0], data[places >= 0])
    total = compiled(lambda x, i: tf.math.unsorted_segment_sum(x, i, ROWS))
    np.testing.assert_allclose(total(data, places), wanted, rtol=1e-4, atol=1e-4)
    places[123] = ROWS
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 300 is out of range \[0, 300\)"):
        total(data, places)


def test_scatters_combine_what_meets():
    places, updates = ids(np.int64, COUNT, 2, high=40), DRAW.integers(0, 9, COUNT)
    wanted = np.zeros((40, 40), np.int64)
    np.add.at(wanted, tuple(places.T), updates)
    found = compiled(lambda i, u: tf.scatter_nd(i, u, [40, 40]))(places, updates)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("wrong", [-1, 40])
def test_ignored_places_change_nothing(wrong):
    places = ids(np.int32, COUNT, 2, high=40)
    places[5] = 3, wrong
    given = {"indices": places, "updates": tf.ones(COUNT), "bad_indices_policy": "IGNORE"}
    found = compiled(lambda: tf.raw_ops.ScatterNd(shape=[40, 40], **given))()
    assert found.numpy().sum() == COUNT - 1
    params = tf.ones((40, 40))
    rows = compiled(
        lambda i: tf.raw_ops.GatherNd(params=params, indices=i, bad_indices_policy="IGNORE")
    )(places)
    assert rows.numpy()[5] == 0
    assert rows.numpy().sum() == COUNT - 1


def test_no_rows_to_take_from():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 0\)"):
        compiled(tf.gather)(tf.zeros((0, 3)), ids(np.int32, COUNT))


KINDS = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "update": None}


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int8])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_scatter(kind, depth, dtype):
    """Whole numbers, whose sums are the same in any order, beside NumPy in float64."""
    shape = (7, 6, 5, 2)
    places = np.stack([ids(np.int32, COUNT, high=n) for n in shape[:depth]], -1)
    if kind == "update":  # which of several stays is nowhere said
        places = np.unique(places, axis=0).repeat(100, axis=0)
    params = DRAW.integers(0, 9, shape).astype(dtype)
    updates = DRAW.integers(-1, 2, (len(places), *shape[depth:])).astype(dtype)
    if kind == "update":
        updates = updates[::100].repeat(100, axis=0)
    scatter = getattr(tf, f"tensor_scatter_nd_{kind}")
    wanted, where = params.astype(np.float64), tuple(places.T)
    if kind == "update":
        wanted[where] = updates
    else:
        KINDS[kind].at(wanted, where, updates)
    found = compiled(scatter)(params, places, updates)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, wanted.astype(np.int64).astype(dtype))


@pytest.mark.parametrize("function", ["unsorted_segment_max", "unsorted_segment_min", "max", "min"])
def test_extremes_of_nan_and_zeros_are_those_of_single_calls(function):
    odd = np.array([np.nan, 0.0, -0.0, 1, -1, np.inf, -np.inf], np.float32)
    data, places = odd[DRAW.integers(0, 7, COUNT)], ids(np.int32, COUNT, high=ROWS * 20)
    if function in ("max", "min"):
        scatter = getattr(tf, f"tensor_scatter_nd_{function}")
        given = odd[DRAW.integers(0, 7, ROWS * 20)], places[:, None], data
        single, whole = scatter(*given), compiled(scatter)(*given)
    else:
        segment = getattr(tf.math, function)
        single = segment(data, places, ROWS * 20)
        whole = compiled(lambda x, i: segment(x, i, ROWS * 20))(data, places)
    np.testing.assert_array_equal(single, whole)
    zeros = single.numpy() == 0
    np.testing.assert_array_equal(np.signbit(single)[zeros], np.signbit(whole)[zeros])


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_rows_by_segment_and_their_gradient(kind, dtype):
    rows, places = DRAW.integers(1, 3, (COUNT, 2)).astype(dtype), ids(np.int64, COUNT, high=20_000)
    places[::5] = -1
    segment = getattr(tf.math, f"unsorted_segment_{kind}")

    def both(x, i):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = segment(x, i, 20_000)
        return (found, tape.gradient(found, x)) if x.dtype.is_floating else (found,)

    given = tf.constant(rows), tf.constant(places)
    for single, whole in zip(both(*given), compiled(both)(*given), strict=True):
        np.testing.assert_array_equal(single, whole)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_leave_large_values_out_and_refuse_negative_ones(kind, weighted):
    values = ids(kind, COUNT, high=ROWS + 50)
    weights = DRAW.integers(0, 5, COUNT if weighted else 0).astype(np.float64)

    def count(x):
        return tf.raw_ops.DenseBincount(input=x, size=kind(ROWS), weights=weights)

    inside = values < ROWS
    given = weights[inside] if weighted else None
    np.testing.assert_array_equal(
        compiled(count)(values), np.bincount(values[inside], given, minlength=ROWS)
    )
    values[77] = -4
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected values >= 0, got -4"):
        compiled(count)(values)


def dense(places, values, shape, validate=True):
    return compiled(
        lambda i, v: tf.raw_ops.SparseToDense(
            sparse_indices=i, output_shape=shape, sparse_values=v, default_value=7.0,
            validate_indices=validate,
        )
    )(places, values)  # fmt: skip


def test_sparse_as_dense():
    places = np.stack(np.divmod(np.arange(0, 2 * COUNT, 2), 300), -1)
    values, shape = DRAW.normal(size=COUNT).astype(np.float32), [140, 300]
    wanted = np.full(shape, 7, np.float32)
    wanted[tuple(places.T)] = values
    np.testing.assert_array_equal(dense(places, values, shape), wanted)
    np.testing.assert_array_equal(dense(places[:, 1:], values, [300], validate=False)[1::2], 7)
    last = dense(np.tile(places[:3], (7000, 1)), np.arange(21_000, dtype=np.float32), shape, False)
    np.testing.assert_array_equal(last.numpy()[0, :5], [20_997, 7, 20_998, 7, 20_999])
    for at, row, error in (
        (5, (0, 6), r"indices\[5\] = \[0, 6\] is out of order"),
        (5, (0, 8), r"indices\[5\] = \[0, 8\] is repeated"),
        (9, (140, 0), r"indices\[9\] = \[140, 0\] is out of bounds"),
        (0, (0, -1), r"indices\[0\] = \[0, -1\] is out of bounds"),
    ):
        wrong = places.copy()
        wrong[at] = row
        with pytest.raises(tf.errors.InvalidArgumentError, match=error):
            dense(wrong, values, shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.float16])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("adjoint", [(False, False), (True, False), (False, True), (True, True)])
def test_sparse_times_dense(adjoint, ordered, dtype):
    height, inner, width = 90, 70, 37
    places = np.stack([ids(np.int64, COUNT, high=height), ids(np.int64, COUNT, high=inner)], -1)
    if ordered:
        places = places[np.lexsort(places.T[::-1])]
    values = DRAW.integers(-1, 2, COUNT).astype(dtype)
    matrix = np.zeros((height, inner), np.complex128)
    np.add.at(matrix, tuple(places.T), values)
    left = matrix.T if adjoint[0] else matrix
    right = DRAW.integers(-1, 2, (left.shape[1], width)).astype(dtype)
    given = {"adjoint_a": adjoint[0], "adjoint_b": adjoint[1], "a_shape": [height, inner]}

    def product(i, v, b):
        return tf.raw_ops.SparseTensorDenseMatMul(a_indices=i, a_values=v, b=b, **given)

    found = compiled(product)(places, values, right.T if adjoint[1] else right)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, left @ right)
    places[17] = 3, inner
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"indices\[17\] = \[3, {inner}\] is out of bounds"
    ):
        compiled(product)(places, values, right.T if adjoint[1] else right)


def test_what_is_missing_times_dense():
    """A NaN or an infinity of the dense matrix is seen where the sparse one has values alone."""
    places = np.stack([np.arange(COUNT) % 50, np.arange(COUNT) % 40], -1)
    right = np.full((41, 3), np.nan, np.float32)
    right[:39] = 1
    product = compiled(
        lambda i, b: tf.raw_ops.SparseTensorDenseMatMul(
            a_indices=i, a_values=tf.ones(COUNT), a_shape=[60, 41], b=b
        )
    )(places, right)
    np.testing.assert_array_equal(
        np.isnan(product).all(1), [r < 50 and r % 10 == 9 for r in range(60)]
    )
    empty = tf.zeros((41, 0))
    assert compiled(
        lambda i: tf.raw_ops.SparseTensorDenseMatMul(
            a_indices=i, a_values=tf.ones(COUNT), a_shape=[60, 41], b=empty
        )
    )(places).shape == (60, 0)
