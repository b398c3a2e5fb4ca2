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
