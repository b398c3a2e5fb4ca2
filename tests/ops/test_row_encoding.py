"""`map_fn` and `vectorized_map` over sparse tensors, ragged tensors and extension types."""

import subprocess
import sys
import typing

import numpy as np
import pytest

import penstock as tf


class Edges(tf.experimental.BatchableExtensionType):
    work: tf.Tensor
    band: tf.Tensor


class Words(tf.experimental.BatchableExtensionType):
    letters: tf.RaggedTensor
    marks: typing.Tuple[tf.Tensor, ...]  # noqa: UP006  as programs of Python 3.8 write it


class Alone(tf.experimental.ExtensionType):
    x: tf.Tensor


DENSE = np.array([[1, 0, 2], [0, 0, 3]], np.int32)


@pytest.fixture(params=["eagerly", "in a function"])
def run(request):
    """Calls a function with arguments, as it is or traced."""
    return (
        (lambda f, *a: f(*a)) if request.param == "eagerly" else (lambda f, *a: tf.function(f)(*a))
    )


def edges():
    return Edges([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0])


def dense(sparse):
    return tf.sparse.to_dense(sparse).numpy().tolist()


def test_sparse_rows(run):
    sums = run(
        lambda s: tf.map_fn(tf.sparse.reduce_sum, s, fn_output_signature=tf.int32),
        tf.sparse.from_dense(DENSE),
    )
    assert sums.numpy().tolist() == [3, 3]
    same = run(lambda s: tf.map_fn(lambda row: row, s), tf.sparse.from_dense(DENSE))
    assert dense(same) == DENSE.tolist()
    assert same.shape.as_list() == [2, 3]


def test_sparse_results(run):
    spec = tf.SparseTensorSpec([3], tf.int32)
    made = run(
        lambda x: tf.map_fn(tf.sparse.from_dense, x, fn_output_signature=spec), tf.constant(DENSE)
    )
    assert dense(made) == DENSE.tolist()


def test_sparse_rows_of_rows(run):
    values = np.stack([DENSE, 0 * DENSE, DENSE[::-1]])
    assert (
        dense(run(lambda s: tf.map_fn(lambda r: r, s), tf.sparse.from_dense(values)))
        == values.tolist()
    )


def test_sparse_positions_may_be_in_any_order_and_there_may_be_none():
    turned = tf.SparseTensor([[1, 0], [0, 1]], [5, 6], [2, 2])
    assert dense(tf.map_fn(lambda row: row, turned)) == [[0, 6], [5, 0]]
    nothing = tf.SparseTensor(tf.zeros([0, 2], tf.int64), tf.zeros([0]), [0, 3])
    assert tf.map_fn(lambda row: row, nothing).dense_shape.numpy().tolist() == [0, 3]


def test_gradients_reach_the_values_of_sparse_rows():
    with tf.GradientTape() as tape:
        values = tf.constant([1.0, 2.0, 3.0])
        tape.watch(values)
        rows = tf.SparseTensor([[0, 0], [0, 2], [1, 2]], values, [2, 3])
        y = tf.map_fn(lambda r: tf.sparse.reduce_sum(r) ** 2, rows, fn_output_signature=tf.float32)
    assert tape.gradient(y, values).numpy().tolist() == [6.0, 6.0, 6.0]


def test_sparse_rows_of_unknown_rank():
    kind = tf.SparseTensorSpec(None, tf.int32)
    mapped = tf.map_fn(tf.sparse.from_dense, tf.constant(DENSE), fn_output_signature=kind)
    assert dense(mapped) == DENSE.tolist()

    @tf.function(input_signature=[kind])
    def doubled(rows):
        result = tf.map_fn(lambda row: row * 2, rows)
        assert result.values.shape == [None]
        return result

    rows = tf.sparse.from_dense(DENSE)
    assert dense(doubled(rows)) == [[2 * n for n in row] for row in DENSE]


def test_sparse_results_where_nothing_ragged_was_named():
    program = """
import penstock as tf
rows = tf.map_fn(tf.sparse.from_dense, tf.eye(2), fn_output_signature=tf.SparseTensorSpec([None]))
print(rows.dense_shape.numpy().tolist())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout == "[2, 2]\n", result.stderr


def test_extension_types(run):
    def scaled(row):
        return Edges(row.work * row.band, row.band + 1.0)

    mapped = run(lambda n: tf.map_fn(scaled, n), edges())
    assert mapped.work.numpy().tolist() == [[1.0, 2.0], [6.0, 8.0]]
    assert mapped.band.numpy().tolist() == [2.0, 3.0]
    beside = run(
        lambda n: tf.map_fn(
            lambda pair: pair[0].band + pair[1], (n, tf.constant([5.0, 6.0])),
            fn_output_signature=tf.float32,
        ),
        edges(),
    )  # fmt: skip
    assert beside.numpy().tolist() == [6.0, 8.0]


def test_extension_types_at_the_same_time(run):
    def scaled(row):
        return {"edges": Edges(row.work * row.band, row.band), "sum": tf.reduce_sum(row.work)}

    mapped = run(lambda n: tf.vectorized_map(scaled, n), edges())
    assert mapped["edges"].work.numpy().tolist() == [[1.0, 2.0], [6.0, 8.0]]
    assert mapped["sum"].numpy().tolist() == [3.0, 7.0]


def test_ragged_parts_of_extension_types(run):
    words = Words(tf.ragged.constant([[1, 2], [3]]), (tf.constant([10, 20]), tf.constant([1, 2])))

    def total(row):
        return tf.reduce_sum(row.letters) + row.marks[0] * row.marks[1]

    found = run(lambda w: tf.map_fn(total, w, fn_output_signature=tf.int32), words)
    assert found.numpy().tolist() == [13, 43]
    same = run(lambda w: tf.map_fn(lambda row: row, w), words)
    assert same.letters.to_list() == [[1, 2], [3]]
    assert same.marks[1].numpy().tolist() == [1, 2]


def test_what_cannot_be_stacked_is_refused():
    with pytest.raises(TypeError, match="Alone"):
        tf.map_fn(lambda row: row.x, Alone([1.0]), fn_output_signature=tf.float32)


def test_the_results_structure_is_compared():
    with pytest.raises((TypeError, ValueError), match="structure"):
        tf.map_fn(lambda row: (row.work, row.band), edges())


def test_a_dense_row_is_no_ragged_one(run):
    kind = tf.RaggedTensorSpec([None, None], tf.int32, ragged_rank=1)
    with pytest.raises(ValueError, match="expected fn to return a ragged tensor"):
        run(
            lambda x: tf.map_fn(lambda row: row[None], x, fn_output_signature=kind),
            tf.constant(DENSE),
        )
