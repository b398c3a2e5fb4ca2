"""The edit distance (Levenshtein's) between the rows of two sparse tensors.

Source: V. I. Levenshtein, "Binary codes capable of correcting deletions, insertions and reversals",
1966; computed row by row of the table as by R. A. Wagner and M. J. Fischer, 1974.
"""

import itertools
import math
from typing import Any

import numpy as np

from penstock.core import native_arrays, native_sparse
from penstock.core.composite import is_sparse
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.sparse_common import Array, components, inside, invalid, parts, sparse
from penstock.types import dims as d
from penstock.types.dims import Dims


def _shape(c: ShapeContext) -> Dims:
    parts(c, 0, "hypothesis")
    parts(c, 3, "truth")
    one, other = c.shape_value(2), c.shape_value(5)
    if one is None or other is None:
        return None
    if len(one) != len(other):
        c.fail(
            "truth and hypothesis of matching ranks", f"shapes {d.text(one)} and {d.text(other)}"
        )
    if len(one) < 2:
        c.fail("sparse tensors of rank at least 2", f"rank {len(one)}")
    sizes = zip(one[:-1], other[:-1], strict=True)
    return tuple(None if None in pair else max(pair) for pair in sizes)  # type: ignore[type-var]


EDIT_DISTANCE = define_op(
    "EditDistance(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64; normalize: bool = True, T: type) "
    "-> output: float",
    shape=_shape,
    host_inputs=("hypothesis_shape", "truth_shape"),
    doc="The edit distance between the rows of two sparse tensors.",
).not_differentiable("a number of edits does not vary smoothly")


def _rows_of(indices: Array, sizes: tuple[int, ...], what: str) -> Array:
    """The number of the row that each value is in."""
    found = native_sparse.bounds(indices)
    if found is not None and len(sizes) == 1 and found[0][0] >= 0 and found[1][0] < sizes[0]:
        return indices[:, 0]
    if not inside(np, indices[:, :-1], sizes).all():
        raise invalid(f"EditDistance: expected {what}_indices inside of {list(sizes)} in all but "
                      "the last column.")  # fmt: skip
    if not len(indices):
        return np.zeros(0, np.int64)
    return np.ravel_multi_index(tuple(indices[:, :-1].T), sizes)


def _numbered(values: Array) -> Array:
    """Equal values by equal numbers, int32; a NaN equals nothing."""
    if values.dtype.kind == "V":  # bfloat16 and the like, whose zeros and NaN differ in their bytes
        values = values.astype(np.float32)
    found = None if values.dtype == object else native_arrays.unique(values, np.dtype(np.int32))
    if found is not None:
        return found[1]
    numbers: dict[Any, int] = {}
    listed = (v if v == v else object() for v in values.tolist())
    return np.array([numbers.setdefault(v, len(numbers)) for v in listed], np.int32)


def _by_row(rows: Array, numbers: Array, height: int) -> tuple[Array, Array]:
    """Numbers row by row, and where each row begins and the last one ends."""
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        rows, numbers = rows[order], numbers[order]
    return numbers, np.searchsorted(rows, np.arange(height + 1))


def _distance(a: list[Any], b: list[Any]) -> int:
    if len(a) < len(b):
        a, b = b, a
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            cost = corner if left == right else 1 + min(corner, row[j], row[j - 1])
            corner, row[j] = row[j], cost
    return row[-1]


def _distances(a: Array, a_splits: Array, b: Array, b_splits: Array) -> Array:
    found = native_arrays.edits(a, a_splits, b, b_splits)
    if found is not None:
        return found
    pairs = zip(itertools.pairwise(a_splits), itertools.pairwise(b_splits), strict=True)
    return np.array([_distance(a[slice(*i)].tolist(), b[slice(*j)].tolist()) for i, j in pairs])


@host_kernel(EDIT_DISTANCE)
def _edit_distance(
    hypothesis_indices: Array, hypothesis_values: Array, hypothesis_shape: Array,
    truth_indices: Array, truth_values: Array, truth_shape: Array, *, normalize: bool,
) -> Array:  # fmt: skip
    if hypothesis_shape.size != truth_shape.size or truth_shape.size < 2:
        raise invalid(
            "EditDistance: expected two sparse tensors of one rank, at least 2, got shapes "
            f"{hypothesis_shape.tolist()} and {truth_shape.tolist()}."
        )
    sizes = tuple(np.maximum(hypothesis_shape[:-1], truth_shape[:-1]).tolist())
    if 0 in sizes:
        raise invalid(
            "EditDistance: expected at least one pair of sequences, got shapes "
            f"{hypothesis_shape.tolist()} and {truth_shape.tolist()}: Got output shape "
            f"{list(sizes)} which has 0 elements. Leave the call out for an empty batch."
        )
    one = _rows_of(hypothesis_indices, sizes, "hypothesis")
    other = _rows_of(truth_indices, sizes, "truth")
    numbers = _numbered(np.concatenate([hypothesis_values, truth_values]))
    height = math.prod(sizes)
    a, a_splits = _by_row(one, numbers[: len(one)], height)
    b, b_splits = _by_row(other, numbers[len(one) :], height)
    edits = _distances(a, a_splits, b, b_splits).astype(np.float64)
    if normalize:
        nothing = edits == 0
        edits /= b_splits[1:] - b_splits[:-1]  # infinite for a truth without elements
        edits[nothing] = 0
    return edits.astype(np.float32).reshape(sizes)


def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
) -> Any:
    """The edit distance between the rows of two sparse tensors.

    Args:
      hypothesis: SparseTensor of rank at least 2; its last axis holds sequences.
      truth: SparseTensor of the same dtype and rank.
      normalize: whether distances are divided by the length of the truth; infinite where that is
        empty and the hypothesis is not, 0 where both are.
      name: the name of the operation in a graph.

    Returns:
      float32 with the shape of the larger of both, without the last axis.

    Raises:
      TypeError: an argument is no SparseTensor.
      InvalidArgumentError: ranks differ, or indices are outside of the shapes.

    Example:
      >>> a = tf.sparse.SparseTensor([[0, 0], [0, 1]], ["x", "y"], [1, 2])
      >>> b = tf.sparse.SparseTensor([[0, 0]], ["x"], [1, 1])
      >>> edit_distance(a, b).numpy().tolist()
      [1.0]
    """
    for value, what in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not is_sparse(value):
            raise TypeError(
                f"{what} must be a SparseTensor, got {value!r}. Use tf.sparse.from_dense."
            )
    inputs = (*components(sparse(hypothesis)), *components(sparse(truth)))
    return execute(EDIT_DISTANCE, inputs, {"normalize": normalize}, name)
