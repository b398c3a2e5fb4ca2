"""The edit distance (Levenshtein's) between the rows of two sparse tensors.

Source: V. I. Levenshtein, "Binary codes capable of correcting deletions, insertions and reversals",
1966; computed row by row of the table as by R. A. Wagner and M. J. Fischer, 1974.
"""

import math
from typing import Any

import numpy as np

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
    doc="The edit distance between the rows of two sparse tensors.",
).not_differentiable("a number of edits does not vary smoothly")


def _sequences(indices: Array, values: Array, sizes: tuple[int, ...], what: str) -> dict[Any, Any]:
    """The values of each row, by its position."""
    if not inside(np, indices[:, :-1], sizes).all():
        raise invalid(f"EditDistance: expected {what}_indices inside of {list(sizes)} in all but "
                      "the last column.")  # fmt: skip
    rows: dict[Any, list[Any]] = {}
    for place, value in zip(indices[:, :-1].tolist(), values.tolist(), strict=True):
        rows.setdefault(tuple(place), []).append(value)
    return rows


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
    one = _sequences(hypothesis_indices, hypothesis_values, sizes, "hypothesis")
    other = _sequences(truth_indices, truth_values, sizes, "truth")
    result = np.zeros(sizes, np.float32)
    for place in one.keys() | other.keys():
        a, b = one.get(place, []), other.get(place, [])
        edits: float = _distance(a, b)
        if normalize:
            edits = edits / len(b) if b else math.inf
        result[place] = edits
    return result


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
