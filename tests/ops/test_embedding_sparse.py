"""Lookups of several ids an example."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

TABLE = (np.arange(15).reshape(5, 3) - 4).astype(np.float32)
CELLS = [[0, 0], [0, 1], [1, 0], [2, 2]]
IDS = tf.SparseTensor(CELLS, tf.constant([1, 3, 1, 4], tf.int64), [3, 4])
WEIGHTS = tf.SparseTensor(CELLS, [0.5, 2.0, 1.0, 0.3], [3, 4])
GAPS = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, -3, 4], tf.int64), [4, 4])
PARTS = {"sum": lambda w: 1, "mean": lambda w: w.sum(), "sqrtn": lambda w: np.sqrt((w * w).sum())}


def combined(combiner: str, weighted: bool) -> Any:
    rows = []
    for row in range(3):
        mine = [i for i, cell in enumerate(CELLS) if cell[0] == row]
        w = WEIGHTS.values.numpy()[mine] if weighted else np.ones(len(mine))
        total = (TABLE[IDS.values.numpy()[mine]] * w[:, None]).sum(0)
        rows.append(total / PARTS[combiner](w))
    return np.array(rows)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_lookup(combiner: str, weighted: bool, parts: int) -> None:
    tables = [TABLE] if parts == 1 else list(np.array_split(TABLE, parts))
    weights = WEIGHTS if weighted else None
    for function in (tf.nn.embedding_lookup_sparse, tf.nn.safe_embedding_lookup_sparse):
        found = function(tables, IDS, weights, combiner=combiner).numpy()
        np.testing.assert_allclose(found, combined(combiner, weighted), rtol=1e-6)


def test_mod_deals_rows_out() -> None:
    tables = [TABLE[::2], TABLE[1::2]]
    found = tf.compat.v1.nn.embedding_lookup_sparse(tables, IDS, None, combiner="sum").numpy()
    np.testing.assert_allclose(found, combined("sum", False))


def test_safe_lookup_of_rows_without_ids() -> None:
    found = tf.nn.safe_embedding_lookup_sparse(TABLE, GAPS).numpy()
    np.testing.assert_array_equal(found, [TABLE[1], np.zeros(3), TABLE[4], np.zeros(3)])
    found = tf.nn.safe_embedding_lookup_sparse(TABLE, GAPS, default_id=2).numpy()
    np.testing.assert_array_equal(found, [TABLE[1], TABLE[2], TABLE[4], TABLE[2]])


def test_safe_lookup_leaves_out_weights_of_zero() -> None:
    weights = WEIGHTS.with_values([0.0, 2.0, 1.0, -1.0])
    found = tf.nn.safe_embedding_lookup_sparse(TABLE, IDS, weights).numpy()
    np.testing.assert_array_equal(found, [TABLE[3], TABLE[1], np.zeros(3)])


def test_safe_lookup_keeps_leading_axes() -> None:
    cells = [[0, 0, 0], [0, 1, 1], [1, 0, 0]]
    ids = tf.SparseTensor(cells, tf.constant([1, 3, 0], tf.int64), [2, 2, 3])
    found = tf.nn.safe_embedding_lookup_sparse(TABLE, ids).numpy()
    np.testing.assert_array_equal(found, [[TABLE[1], TABLE[3]], [TABLE[0], np.zeros(3)]])


def test_long_rows_are_scaled_down() -> None:
    found = tf.nn.embedding_lookup_sparse(TABLE, IDS, None, max_norm=1.0).numpy()
    np.testing.assert_allclose(np.linalg.norm(found[1:], axis=1), 1, rtol=1e-6)


def test_gradient_touches_the_rows_that_were_read() -> None:
    table = tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.nn.embedding_lookup_sparse(table, IDS, WEIGHTS, combiner="sum"))
    grad = tape.gradient(total, table)
    assert isinstance(grad, tf.IndexedSlices)
    assert sorted(grad.indices.numpy().tolist()) == [1, 3, 4]
    dense = tf.convert_to_tensor(grad).numpy()
    np.testing.assert_allclose(dense[:, 0], [0, 1.5, 0, 2, 0.3], rtol=1e-6)


def test_in_a_function() -> None:
    @tf.function(input_signature=[tf.SparseTensorSpec([None, None], tf.int64)])
    def lookup(ids: Any) -> Any:
        return tf.nn.safe_embedding_lookup_sparse(TABLE, ids, combiner="sum")

    np.testing.assert_allclose(lookup(IDS).numpy(), combined("sum", False))


def test_refuses() -> None:
    with pytest.raises(ValueError, match="combiner must be one of"):
        tf.nn.embedding_lookup_sparse(TABLE, IDS, None, combiner="max")
    with pytest.raises(TypeError, match="must be SparseTensor or RaggedTensor, got list"):
        tf.nn.embedding_lookup_sparse(TABLE, [[1]], None)
    with pytest.raises(TypeError, match="sp_weights must be"):
        tf.nn.embedding_lookup_sparse(TABLE, IDS, [1.0])
    with pytest.raises(ValueError, match="params must be specified"):
        tf.nn.embedding_lookup_sparse(None, IDS, None)
    with pytest.raises(ValueError, match="Missing embedding_weights"):
        tf.nn.safe_embedding_lookup_sparse([], IDS)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"7 is not in \[0, 5\)"):
        tf.nn.embedding_lookup_sparse(
            TABLE, IDS.with_values(tf.constant([7, 1, 1, 1], tf.int64)), None
        )


def test_tables_of_unknown_rank() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def rows(table: Any) -> Any:
        return tf.nn.safe_embedding_lookup_sparse(table, GAPS)

    wanted = tf.nn.safe_embedding_lookup_sparse(TABLE, GAPS)
    np.testing.assert_allclose(rows(TABLE), wanted, rtol=1e-6)


@pytest.mark.parametrize("parts", [1, 2])
def test_the_norm_of_rows_of_unknown_rank(parts: int) -> None:
    table = TABLE.reshape(5, 3, 1)
    ids = np.array([[1, 4], [0, 2]], np.int32)

    def rows(table: Any, ids: Any) -> Any:
        tables = [table] if parts == 1 else [table[:3], table[3:]]
        return tf.nn.embedding_lookup(tables, ids, max_norm=1.5)

    unknown = tf.function(
        rows, input_signature=[tf.TensorSpec(None), tf.TensorSpec(None, tf.int32)]
    )
    np.testing.assert_allclose(unknown(table, ids), rows(table, ids), rtol=1e-6)
