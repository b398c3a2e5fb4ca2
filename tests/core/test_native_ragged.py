"""Ragged rows by the native library beside NumPy: operations give the same with it and without."""

import numpy as np
import pytest
from tests.core.test_native_places import same_both_ways

import penstock as tf
from penstock.core import native_arrays, native_ragged

pytestmark = pytest.mark.skipif(
    not native_arrays.LIBRARY.is_in_use(), reason="the native library was not built"
)
draw = np.random.default_rng(6)
SPLITS = [
    [0, 2, 2, 5],
    [0, 0, 0, 5],
    [0, 5],
    [0, 2, 1, 5],
    [0, 2, 4],
    [1, 2, 5],
    [],
    [0],
]


@pytest.mark.parametrize("splits", SPLITS)
def test_rows_of_splits_that_are_right_and_wrong(splits: list[int], monkeypatch) -> None:
    values = np.array([3, 0, 2, 1, 1], np.int64)
    for dtype in (np.int32, np.int64):
        given = np.array(splits, dtype)

        def sparse(given=given):
            return tf.raw_ops.RaggedTensorToSparse(rt_nested_splits=[given], rt_dense_values=values)

        def gather(given=given):
            return tf.raw_ops.RaggedGather(
                params_nested_splits=[given], params_dense_values=values, indices=[1, 0, 1],
                OUTPUT_RAGGED_RANK=1,
            )  # fmt: skip

        same_both_ways(lambda run=sparse: _flat(run()), monkeypatch)
        same_both_ways(lambda run=gather: _flat(run()), monkeypatch)


@pytest.mark.parametrize("splits", SPLITS)
def test_counts_of_rows(splits: list[int], monkeypatch) -> None:
    given = np.array(splits, np.int64)
    for values in ([3, 0, 2, 1, 1], [3, 0, 9, 1, 1], [3, 0, -2, 1, 1]):
        for weights in ([], [0.5, 1, 2, 4, 8]):
            for binary in (False, True):
                inputs = {
                    "splits": given, "values": np.array(values, np.int32),
                    "weights": np.array(weights, np.float32), "binary_output": binary,
                }  # fmt: skip
                same_both_ways(
                    lambda i=inputs: tf.raw_ops.RaggedBincount(size=np.int32(4), **i), monkeypatch
                )
                same_both_ways(
                    lambda i=inputs: _flat(tf.raw_ops.RaggedCountSparseOutput(**i)), monkeypatch
                )


def _flat(results):
    return [x for r in results for x in (r if isinstance(r, list) else [r])]


@pytest.mark.parametrize("indices", [[0, 2, 1], [[0, 2], [1, 1]], 2, [3], [-1], []])
def test_rows_of_nested_rows(indices, monkeypatch) -> None:
    outer, inner = [0, 2, 2, 3], [0, 1, 4, 5]
    rank = np.ndim(indices) + 1
    same_both_ways(
        lambda: _flat(
            tf.raw_ops.RaggedGather(
                params_nested_splits=[np.array(outer), np.array(inner)],
                params_dense_values=np.arange(10.0).reshape(5, 2),
                indices=np.array(indices, np.int32), OUTPUT_RAGGED_RANK=rank,
            )
        ),
        monkeypatch,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_ranges(dtype: type, kind: str, monkeypatch) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    cases = [
        ([0, 5, 3], [4, 2, 3], [1, -1, 2]),
        (0, [4, 2, -3], 1),
        (9, 2, -2),
        ([0, 1], [3, 3], [1, 0]),
        ([], [], []),
        (low, low + 3, 1),
        (high, high - 3, -1),
    ]
    for starts, limits, deltas in cases:
        inputs = {
            "starts": np.array(starts, dtype), "limits": np.array(limits, dtype),
            "deltas": np.array(deltas, dtype), "Tsplits": kind,
        }  # fmt: skip
        same_both_ways(lambda i=inputs: _flat(tf.raw_ops.RaggedRange(**i)), monkeypatch)


@pytest.mark.parametrize("ids", [[0, 0, 3], [3, 0, 3], [], [4], [-1, 0]])
def test_rows_that_are_filled(ids: list[int], monkeypatch) -> None:
    for values in (np.arange(len(ids) * 2.0).reshape(len(ids), 2), np.array([b"a"] * len(ids))):
        default = b"z" if values.ndim == 1 else 7.0
        inputs = {
            "value_rowids": np.array(ids, np.int64), "values": tf.constant(values),
            "nrows": np.int64(4), "default_value": default,
        }  # fmt: skip
        if values.ndim == 1 and not ids:
            continue  # has no strings

        def run(inputs=inputs, plain=values.ndim > 1):
            found = list(tf.raw_ops.RaggedFillEmptyRows(**inputs))
            return found if plain else [found[0], *found[2:]]

        same_both_ways(run, monkeypatch)


def test_no_splits_are_left_to_the_caller() -> None:
    assert native_ragged.are_splits(np.zeros(0, np.int64), 0) is None
    assert native_ragged.are_splits(np.zeros((1, 1), np.int64), 0) is None
    assert native_ragged.are_splits(np.zeros(2, np.int16), 0) is None
    assert native_ragged.are_splits(np.array([0, 2]), 2)
    assert not native_ragged.are_splits(np.array([0, 2]), 3)
