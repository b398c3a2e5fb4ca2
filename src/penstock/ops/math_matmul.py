"""Products of matrices: `matmul`, batched products, `einsum`, `tensordot`, cross products.

`matmul` uses MatMul for two matrices and BatchMatMulV2 or V3 for stacks of them, whose leading
axes broadcast. `einsum` of more than two tensors is a chain of products of two, in the order that
NumPy's path finder proposes.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import determinism
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import HOST_LIMIT, kernel, quiet
from penstock.core.lapack import SHARED, multiplied
from penstock.core.lazy import jax
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import EagerTensor, Tensor, wrap
from penstock.ops.composing import composed
from penstock.ops.factories import as_dtype_of, is_variable, operand
from penstock.ops.math_arithmetic import conjugate, sum_like
from penstock.ops.math_int_matmul import int_matmul
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

Array = Any  # numpy.ndarray or a JAX tracer
MATMUL_LIMIT = 65_536  # elements up to which NumPy multiplies, on one thread; above, XLA on all
BATCH_ATTRS = "adj_x: bool = False, adj_y: bool = False, grad_x: bool = False, grad_y: bool = False"
FAST_DTYPES = (dt.float32, dt.float64)
_BYTES = (np.int8, np.uint8)


def _inner(c: ShapeContext, x: Dims, y: Dims) -> None:
    a, b = x[-1], y[-2]  # type: ignore[index]
    if a is not None and b is not None and a != b:
        c.fail(
            f"inner sizes that are equal ({a} != {b})",
            f"Matrix size-incompatible: In[0]: {d.bracketed(c.shape(0))}, In[1]:"
            f" {d.bracketed(c.shape(1))}: Dimensions must be equal, but are {a} and {b}",
            "Transpose an argument with transpose_a or transpose_b.",
        )


def _swapped(dims: Dims, swap: bool) -> Dims:
    return (*dims[:-2], dims[-1], dims[-2]) if swap and dims is not None else dims


def _matmul_shape(c: ShapeContext) -> Dims:
    a = _swapped(c.rank(0, 2, "a", lambda: "In[0] ndims must be >= 2"), c.attr("transpose_a"))
    b = _swapped(c.rank(1, 2, "b", lambda: "In[1] ndims must be >= 2"), c.attr("transpose_b"))
    _inner(c, a, b)
    return (a[0], b[1])  # type: ignore[index]


MAT_MUL = define_op(
    "MatMul(a: T, b: T; transpose_a: bool = False, transpose_b: bool = False, T: {bfloat16, half, "
    "float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}, grad_a: "
    "bool = False, grad_b: bool = False) -> product: T",
    shape=_matmul_shape,
    doc="Multiplies two matrices.",
)


def _turned_left(xp: Any, a: Array) -> Array:
    """The left side of a product, with its last two axes swapped.

    XLA multiplies a left side that it has to read by columns in as many parts as there are threads,
    so it is laid out anew where bits may not depend on them.
    """
    a = xp.swapaxes(a, -1, -2)
    return jax.lax.optimization_barrier(a) if xp is not np and determinism.required() else a


def _product(xp: Any, a: Array, b: Array) -> Array:
    """A product whose sums are kept in float32 for the 16-bit floating dtypes."""
    if xp is np:
        if a.dtype.itemsize == 2 and a.dtype.kind in "fV":
            return multiplied(np.matmul, a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
        return multiplied(np.matmul, a, b)
    return xp.matmul(a, b)


@kernel(MAT_MUL, limit=MATMUL_LIMIT)
def _mat_mul(xp: Any, a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    return _product(xp, _turned_left(xp, a) if transpose_a else a, b.T if transpose_b else b)


def _mat_mul_op(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    return execute(MAT_MUL, (a, b), {"transpose_a": transpose_a, "transpose_b": transpose_b})


@MAT_MUL.gradient
def _mat_mul_gradient(op: Any, grad: Any) -> list[Any]:
    a, b = (conjugate(t) for t in op.inputs)
    flags = op.get_attr("transpose_a"), op.get_attr("transpose_b")
    if flags == (False, False):
        return [_mat_mul_op(grad, b, False, True), _mat_mul_op(a, grad, True, False)]
    if flags == (False, True):
        return [_mat_mul_op(grad, b), _mat_mul_op(grad, a, True, False)]
    if flags == (True, False):
        return [_mat_mul_op(b, grad, False, True), _mat_mul_op(a, grad)]
    return [_mat_mul_op(b, grad, True, True), _mat_mul_op(grad, a, True, True)]


# stacks of matrices


def _equal_batch_shape(c: ShapeContext) -> Dims:
    """As `_batch_shape`, without broadcasting: the first version of the operation has none."""
    x, y = c.rank_at_least(0, 2, "x"), c.rank_at_least(1, 2, "y")
    if x is not None and y is not None and not d.compatible(x[:-2], y[:-2]):
        c.fail("equal batch dimensions", f"{d.text(x)} and {d.text(y)}", "Use BatchMatMulV2.")
    if x is not None and y is None:
        return (*x[:-2], x[-1 if c.attr("adj_x") else -2], None)
    if y is not None and x is None:
        return (*y[:-2], None, y[-2 if c.attr("adj_y") else -1])
    product = _batch_shape(c)
    if x is None or y is None or product is None:
        return product
    return d.concat(d.merge(x[:-2], y[:-2]), product[-2:])


def _batch_shape(c: ShapeContext) -> Dims:
    x, y = c.rank_at_least(0, 2, "x"), c.rank_at_least(1, 2, "y")
    if x is None or y is None:
        return None
    x, y = _swapped(x, c.attr("adj_x")), _swapped(y, c.attr("adj_y"))
    _inner(c, x, y)
    try:
        lead = d.broadcast(x[:-2], y[:-2])  # type: ignore[index]
    except ValueError:
        c.fail(
            "In[0] and In[1] with compatible batch dimensions",
            f"{d.text(c.shape(0))} vs. {d.text(c.shape(1))}",
        )
    return (*lead, x[-2], y[-1])  # type: ignore[index,misc]


def _define_batch(text: str, doc: str) -> OpDef:
    first = text.startswith("BatchMatMul(")
    op = define_op(text, shape=_equal_batch_shape if first else _batch_shape, doc=doc)

    def run(xp: Any, x: Array, y: Array, *, adj_x: bool, adj_y: bool) -> Array:
        x = _turned_left(xp, xp.conj(x)) if adj_x else x
        y = xp.conj(xp.swapaxes(y, -1, -2)) if adj_y else y
        return _product(xp, x, y)

    if op.name != "BatchMatMulV3":
        kernel(op, limit=MATMUL_LIMIT)(run)
    return op


BATCH_MAT_MUL = _define_batch(
    "BatchMatMul(x: T, y: T; T: {bfloat16, half, float, double, int32, int64, complex64, "
    f"complex128}}, {BATCH_ATTRS}) -> output: T",
    "Multiplies matrices in two stacks of one shape.",
)
BATCH_MAT_MUL_V2 = _define_batch(
    "BatchMatMulV2(x: T, y: T; T: {bfloat16, half, float, double, int16, int32, int64, uint8, "
    f"uint16, uint32, uint64, complex64, complex128}}, {BATCH_ATTRS}) -> output: T",
    "Multiplies matrices in two stacks whose leading axes broadcast.",
)
V3_TYPES = (
    "{bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}"
)
BATCH_MAT_MUL_V3 = _define_batch(
    f"BatchMatMulV3(x: Ta, y: Tb; Ta: {V3_TYPES}, Tb: {V3_TYPES}, Tout: {{bfloat16, half, float, "
    f"double, int16, int32, int64, complex64, complex128}}, {BATCH_ATTRS}) -> output: Tout",
    "Multiplies matrices in two stacks, into a dtype of choice.",
)


@kernel(BATCH_MAT_MUL_V3, limit=MATMUL_LIMIT)
def _batch_v3(
    xp: Any,
    x: Array,
    y: Array,
    *,
    adj_x: bool,
    adj_y: bool,
    Tout: DType,
) -> Array:
    wide = Tout.numpy_dtype
    x = _turned_left(xp, xp.conj(x)) if adj_x else x
    y = xp.conj(xp.swapaxes(y, -1, -2)) if adj_y else y
    if Tout is dt.int32 and x.dtype in _BYTES and y.dtype in _BYTES:
        return int_matmul(xp, x, y)
    return _product(xp, x.astype(wide), y.astype(wide))


def _batch_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = op.inputs
    flags = op.get_attr("adj_x"), op.get_attr("adj_y")

    def times(a: Any, b: Any, adj_x: bool, adj_y: bool, wanted: Any) -> Any:
        a, b = (
            execute("Cast", (t,), {"DstT": wanted}) if t.dtype is not wanted else t for t in (a, b)
        )
        return execute(BATCH_MAT_MUL_V2, (a, b), {"adj_x": adj_x, "adj_y": adj_y})

    if flags == (False, False):
        by_x, by_y = times(grad, y, False, True, x.dtype), times(x, grad, True, False, y.dtype)
    elif flags == (False, True):
        by_x, by_y = times(grad, y, False, False, x.dtype), times(grad, x, True, False, y.dtype)
    elif flags == (True, False):
        by_x, by_y = times(y, grad, False, True, x.dtype), times(x, grad, False, False, y.dtype)
    else:
        by_x, by_y = times(y, grad, True, True, x.dtype), times(grad, x, True, True, y.dtype)
    return [_unbatch(by_x, x, y), _unbatch(by_y, y, x)]


def _unbatch(grad: Any, x: Any, other: Any) -> Any:
    """`grad` summed over the leading axes along which `x` was repeated."""
    known = x.dims is not None and other.dims is not None and None not in x.dims
    if known and x.dims[:-2] == other.dims[:-2]:
        return grad
    return sum_like(grad, x, grad)


BATCH_MAT_MUL.gradient(_batch_gradient)
BATCH_MAT_MUL_V2.gradient(_batch_gradient)
BATCH_MAT_MUL_V3.gradient(_batch_gradient)


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Any:
    """Multiplies matrices, or stacks of matrices whose leading axes broadcast.

    Args:
      a: tensor of numbers, [..., m, k].
      b: tensor of the same dtype, [..., k, n].
      transpose_a: whether the last two axes of `a` are swapped first.
      transpose_b: likewise for `b`.
      adjoint_a: whether `a` is transposed and conjugated first.
      adjoint_b: likewise for `b`.
      a_is_sparse: says that `a` holds many zeros; makes no difference.
      b_is_sparse: likewise for `b`.
      output_type: the dtype of the result; that of the arguments when None.
      grad_a: says that `a` is a gradient; makes no difference.
      grad_b: likewise for `b`.
      name: the name of the operation in a graph.

    Returns:
      Tensor [..., m, n].

    Raises:
      ValueError: both `transpose_` and `adjoint_` of an argument are given.
      InvalidArgumentError, ValueError: the shapes do not fit.
    """
    if not (transpose_a or transpose_b or adjoint_a or adjoint_b) and output_type is None:
        found = _small_product(a, b)
        if found is not None:
            return found
    for which, transposed, adjoint in (
        ("a", transpose_a, adjoint_a),
        ("b", transpose_b, adjoint_b),
    ):
        if transposed and adjoint:
            raise ValueError(
                f"Only one of `transpose_{which}` and `adjoint_{which}` can be True. Received "
                f"`transpose_{which}`={transposed}, `adjoint_{which}`={adjoint}."
            )
    if not isinstance(a, Tensor):
        a = _operand(a, b if isinstance(b, Tensor) else None)
    if not isinstance(b, Tensor):
        b = _operand(b, a)
    wanted = None if output_type is None else as_dtype(output_type)
    stacked = [t.dims is None or len(t.dims) > 2 for t in (a, b)]
    if (wanted is None or wanted is a.dtype) and not any(stacked):
        if adjoint_a:
            a, transpose_a = conjugate(a), True
        if adjoint_b:
            b, transpose_b = conjugate(b), True
        attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        return execute(MAT_MUL, (a, b), attrs, name)
    if transpose_a:
        a, adjoint_a = conjugate(a), True
    if transpose_b:
        b, adjoint_b = conjugate(b), True
    attrs = {"adj_x": adjoint_a, "adj_y": adjoint_b}
    if wanted is None:
        return execute(BATCH_MAT_MUL_V2, (a, b), attrs, name or "MatMul")
    return execute(BATCH_MAT_MUL_V3, (a, b), {**attrs, "Tout": wanted}, name or "MatMul")


def _operand(x: Any, other: Any) -> Any:
    """`x` as an operand, of the dtype of `other` if it has none of its own.

    What does not fit that dtype keeps its own eagerly, and the operation names both.
    """
    if other is None or is_variable(x):
        return operand(x)
    try:
        return as_dtype_of(other, x)
    except (TypeError, ValueError):
        if state.graph is not None:
            raise
        return operand(x)


def fast_matmul(a: Any, b: Any) -> Any:
    """`matmul(a, b)`, the operator."""
    found = _small_product(a, b)
    return matmul(a, b) if found is None else found


def _small_product(a: Any, b: Any) -> Any:
    """The product of two small eager matrices straight from NumPy; None for anything else.

    `dot` gives the numbers of `matmul` at two thirds of its cost.
    """
    if a.__class__ is EagerTensor and b.__class__ is EagerTensor and state.plain:
        dtype = a._dtype
        if dtype is b._dtype and dtype in FAST_DTYPES:
            x, y = a._array, b._array
            if x.__class__ is np.ndarray and y.__class__ is np.ndarray:
                left, right = x.shape, y.shape  # each attribute of an array costs some 40 ns
                if (
                    len(left) == 2
                    and len(right) == 2
                    and left[1] == right[0]
                    and (left[0] + right[1]) * left[1] <= HOST_LIMIT
                ):
                    if left[0] * left[1] * right[1] > SHARED:
                        return wrap(quiet.run(multiplied, np.dot, x, y), dtype)
                    return wrap(quiet.run(x.dot, y), dtype)
    return None


@composed("MatVec", result="Squeeze")
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Multiplies a matrix and a vector, or stacks of them.

    Args:
      a: tensor of numbers, [..., m, k].
      b: tensor of the same dtype, [..., k].
      transpose_a: whether the last two axes of `a` are swapped first.
      adjoint_a: whether `a` is transposed and conjugated first.
      a_is_sparse: says that `a` holds many zeros; makes no difference.
      b_is_sparse: likewise for `b`.
      name: the name of the operation in a graph.

    Returns:
      Tensor [..., m].
    """
    column = execute("ExpandDims", (convert_to_tensor(b), np.int32(-1)))
    product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
    return execute("Squeeze", (product,), {"squeeze_dims": [-1]}, name)


# cross products


def _cross_shape(c: ShapeContext) -> Dims:
    dims = c.merge(c.rank_at_least(0, 1, "a"), c.rank_at_least(1, 1, "b"))
    if dims is not None and dims[-1] not in (None, 3) and not c.running:
        c.fail(
            "3 elements along the last axis",
            f"shape {d.text(dims)}: Dimension must be 3 but is {dims[-1]}",
        )
    return dims


CROSS = define_op(
    "Cross(a: T, b: T; T: realnumbertype) -> product: T",
    shape=_cross_shape,
    doc="Returns the cross products of vectors of 3 along the last axis.",
)


@kernel(CROSS)
def _cross(xp: Any, a: Array, b: Array) -> Array:
    if a.shape[-1] != 3:
        raise errors.FailedPreconditionError(
            None,
            None,
            "Cross-products are only defined for 3-element vectors: expected 3 elements along the "
            f"last axis, got shape {d.text(a.shape)}.",
        )
    (a1, a2), (b1, b2) = ((_turned(xp, x, 1), _turned(xp, x, 2)) for x in (a, b))
    return a1 * b2 - a2 * b1


def _turned(xp: Any, x: Array, count: int) -> Array:
    """Vectors of 3 whose first elements are their last ones."""
    if xp is np:
        return x[..., (1, 2, 0) if count == 1 else (2, 0, 1)]
    return xp.concatenate([x[..., count:], x[..., :count]], -1)  # XLA gathers places one by one


@CROSS.gradient
def _cross_gradient(op: Any, grad: Any) -> list[Any]:
    a, b = op.inputs
    return [execute(CROSS, (b, grad)), execute(CROSS, (grad, a))]


def cross(a: Any, b: Any, name: str | None = None) -> Any:
    """Returns the cross products of vectors.

    Args:
      a: tensor of real numbers, [..., 3].
      b: tensor of the same dtype and shape.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.
    """
    return execute(CROSS, (a, b), None, name)
