"""Elements by rank: the n-th smallest, and the k largest or smallest along any axis.

`ApproxTopK` may miss some of the k on accelerators that search only parts; here it finds them all.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.lazy import lax
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_scatter import tensor_scatter_nd_add
from penstock.ops.array_sort import largest
from penstock.ops.composing import rank_of
from penstock.ops.math_cast import cast
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer
ApproxTopK = namedtuple("ApproxTopK", ["values", "indices"])


def _nth_shape(c: ShapeContext) -> Dims:
    dims = c.rank_at_least(0, 1, "input")
    c.rank(1, 0, "n")
    n = c.constant(1)
    if n is not None and int(n) < 0:
        c.fail("n that is non-negative", f"{int(n)}")
    if dims is None:
        return None
    if n is not None and dims[-1] is not None and dims[-1] <= int(n):
        c.fail("input whose last dimension is larger than n", f"n = {int(n)} of {d.text(dims)}")
    return dims[:-1]


NTH_ELEMENT = define_op(
    "NthElement(input: T, n: int32; reverse: bool = False, T: realnumbertype) -> values: T",
    shape=_nth_shape,
    host_inputs=("n",),
    doc="The n-th smallest element of each row, or the n-th largest; n counts from 0.",
)


@kernel(NTH_ELEMENT, limit=1 << 24)  # NumPy selects, XLA sorts
def _nth_element(xp: Any, x: Array, n: Array, *, reverse: bool) -> Array:
    n = int(n)
    if not 0 <= n < x.shape[-1]:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"NthElement: Input must have last dimension > n = {n}, and n must not be negative, "
            f"got input of shape {list(x.shape)}.",
        )
    place = x.shape[-1] - 1 - n if reverse else n
    if xp is np and x.dtype.kind in "iuf":
        return np.partition(x, place, axis=-1)[..., place]
    return xp.sort(x, axis=-1)[..., place]


@NTH_ELEMENT.gradient
def _nth_element_gradient(op: Any, grad: Any) -> list[Any]:
    """Equal elements share the gradient."""
    x, last = op.inputs[0], np.int32(-1)
    chosen = cast(execute("Equal", (x, execute("ExpandDims", (op.outputs[0], last)))), grad.dtype)
    count = execute("Sum", (chosen, np.array([-1], np.int32)), {"keep_dims": True})
    share = execute("RealDiv", (chosen, count))
    return [execute("Mul", (share, execute("ExpandDims", (grad, last)))), None]


def _approx_shape(c: ShapeContext) -> list[Dims]:
    dims = c.rank_at_least(0, 1, "input")
    recall, axis, k = (c.attr(n) for n in ("recall_target", "reduction_dimension", "k"))
    if not 0 < recall <= 1:
        c.fail("a recall_target in (0, 1]", f"Invalid recall target: {recall}")
    if dims is None:
        return [None, None]
    if not -len(dims) <= axis < len(dims):
        c.fail(
            f"a reduction_dimension in [{-len(dims)}, {len(dims) - 1}]",
            f"Invalid reduction dimension: {axis}",
        )
    axis %= len(dims)
    size = dims[axis]
    if size is not None and size < k:
        c.fail(f"input with at least k = {k} columns", f"{size}")
    return [(*dims[:axis], k, *dims[axis + 1 :])] * 2


APPROX_TOP_K = define_op(
    "ApproxTopK(input: T; k: int >= 0, reduction_dimension: int = -1, recall_target: float = 0.95, "
    "is_max_k: bool = True, reduction_input_size_override: int = -1, aggregate_to_topk: bool = "
    "True, T: {half, bfloat16, float}) -> values: T, indices: int32",
    shape=_approx_shape,
    doc="The k largest or smallest elements along an axis, and where they are.",
)


@kernel(APPROX_TOP_K)
def _approx_top_k(
    xp: Any, x: Array, *, k: int, reduction_dimension: int, is_max_k: bool
) -> tuple[Array, Array]:
    at_end = reduction_dimension in (-1, x.ndim - 1)
    last = x if at_end else xp.moveaxis(x, reduction_dimension, -1)
    keys = last if is_max_k else -last
    if xp is np:
        values, places = largest(keys.astype(np.float32, copy=False), k)
    else:
        values, places = lax.top_k(keys, k)
    values = values if is_max_k else -values
    places = places.astype(np.int32)
    if at_end:
        return values, places
    return xp.moveaxis(values, -1, reduction_dimension), xp.moveaxis(
        places, -1, reduction_dimension
    )


@APPROX_TOP_K.gradient
def _approx_top_k_gradient(op: Any, grad: Any, _: Any) -> Any:
    """Each value's gradient goes to where the value came from."""
    x, places = op.inputs[0], op.outputs[1]
    axis = op.get_attr("reduction_dimension")
    rank = 0 if x.dims is None and axis == -1 else rank_of(x, "ApproxTopK's gradient")
    if rank and axis % rank != rank - 1:
        order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
        order_array = np.array(order, np.int32)
        x, places, grad = (execute("Transpose", (t, order_array)) for t in (x, places, grad))
        back = np.argsort(order).astype(np.int32)
    else:
        back = None
    zeros = execute("ZerosLike", (x,))
    size = execute("Shape", (x,))
    rows = execute("Reshape", (zeros, execute("Pack", ([np.int32(-1), size[-1]],), {"axis": 0})))
    flat = execute("Shape", (places,))
    columns = execute(
        "Reshape", (places, execute("Pack", ([np.int32(-1), flat[-1]],), {"axis": 0}))
    )
    count = execute("Shape", (columns,))
    numbers = execute("Range", (np.int32(0), count[0], np.int32(1)))
    row = execute("BroadcastTo", (execute("ExpandDims", (numbers, np.int32(1))), count))
    index = execute("Pack", ([row, columns],), {"axis": 2})
    made = tensor_scatter_nd_add(rows, index, execute("Reshape", (grad, count)))
    result = execute("Reshape", (made, size))
    return result if back is None else execute("Transpose", (result, back))


def _approx(is_max: bool) -> Any:
    def approx(
        operand: Any,
        k: int,
        reduction_dimension: int = -1,
        recall_target: float = 0.95,
        reduction_input_size_override: int = -1,
        aggregate_to_topk: bool = True,
        name: str | None = None,
    ) -> Any:
        attrs = {
            "k": k,
            "reduction_dimension": reduction_dimension,
            "recall_target": recall_target,
            "is_max_k": is_max,
            "reduction_input_size_override": reduction_input_size_override,
            "aggregate_to_topk": aggregate_to_topk,
        }
        return ApproxTopK(*execute(APPROX_TOP_K, (operand,), attrs, name))

    word = "largest" if is_max else "smallest"
    approx.__name__ = approx.__qualname__ = "approx_max_k" if is_max else "approx_min_k"
    approx.__doc__ = f"""The k {word} elements along an axis, and where they are.

    Args:
      operand: float16, bfloat16 or float32, of rank at least 1.
      k: how many, at most the size of the axis.
      reduction_dimension: the axis.
      recall_target: how many of the k an approximate search must find, in (0, 1]; all are found.
      reduction_input_size_override: for searches over shards; no effect.
      aggregate_to_topk: whether partial results are put together; they always are.
      name: the name of the operation in a graph.

    Returns:
      A named tuple (values, indices): `operand` with `k` elements along the axis, the {word}
      first, and their places, int32.

    Raises:
      InvalidArgumentError, ValueError: `k`, the axis or the recall is out of range.
    """
    return approx


approx_max_k = _approx(is_max=True)
approx_min_k = _approx(is_max=False)
