"""Tensors made of few values: zeros, ones, fill, eye, one_hot, sequence_mask.

Small eager `zeros` and `ones` with plain integer sizes are made by NumPy directly.
"""

from typing import Any

import numpy as np

from penstock.core import attributes, native_places, shapes
from penstock.core.aligned import aligned_full
from penstock.core.composite import SparseTensor
from penstock.core.context import state
from penstock.core.convert import constant_tensor, convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import EagerTensor, Tensor, host_array, wrap
from penstock.ops.array_basics import reshape, shape_of
from penstock.ops.composing import composed
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import (
    DType,
    as_dtype,
    bool_,
    float32,
    int32,
    int64,
    resource,
    string,
    variant,
)
from penstock.types.tensor_shape import TensorShape

Array = Any
CONSTANT_ELEMENTS = 1000  # zeros and ones up to this many elements are Const operations in a graph


def _fill_shape(c: ShapeContext) -> Dims:
    c.number(1, "value")
    value = c.constant(0)
    if c.running and c.shape(0) == () and value is not None:  # eager kernels take it for a vector
        value = value.reshape(1)
    else:
        c.rank(0, 1, "dims")
    if value is not None and (value < 0).any():
        low = int(value.min())
        graph = "Fill dimensions must be >= 0"
        if low < -1:
            graph = f"Invalid value in tensor used for shape: {low}"
        known = c.says(f"Dimension {low} must be >= 0", graph)
        c.fail("sizes >= 0", f"dims {value.tolist()}: {known}")
    return tuple(value.tolist()) if c.running and value is not None else c.shape_value(0)


FAKE_PARAM = define_op(
    "FakeParam(; dtype: type, shape: shape) -> output: dtype",
    shape=lambda c: c.attr("shape"),
    doc="A value that is never used: what a branch gives where only the other has an output. "
    "Dimensions that are unknown are 0.",
).not_differentiable("it has no inputs")


@host_kernel(FAKE_PARAM, limit=1 << 62)
def _fake_param_on_host(*, dtype: DType, shape: Dims) -> Array:
    dims = tuple(size or 0 for size in shape or ())
    nothing = b"" if dtype is string else None if dtype in (variant, resource) else 0
    return np.full(dims, nothing, dtype.numpy_dtype)


@compiled_kernel(FAKE_PARAM)
def _fake_param(*, dtype: DType, shape: Dims) -> Array:
    return jnp.zeros(tuple(size or 0 for size in shape or ()), dtype.numpy_dtype)


FILL = define_op(
    "Fill(dims: index_type, value: T; T: type, index_type: {int32, int64} = int32) -> output: T",
    shape=_fill_shape,
    host_inputs=("dims",),
    doc="A tensor of one value.",
)


@kernel(FILL)
def _fill(xp: Any, dims: Array, value: Array) -> Array:
    return xp.full(tuple(dims.reshape(-1).tolist()), value.reshape(()), value.dtype)


@FILL.gradient
def _fill_gradient(op: Any, grad: Any) -> list[Any]:
    return [
        None,
        execute(
            "Sum",
            (
                grad,
                np.arange(grad.shape.rank, dtype=np.int32)
                if grad.dims is not None
                else _all_axes(grad),
            ),
        ),
    ]


def _all_axes(x: Any) -> Any:
    return execute("Range", (0, execute("Rank", (x,)), 1))


ZEROS_LIKE = define_op(
    "ZerosLike(x: T; T: type) -> y: T",
    shape=shapes.same,
    doc="Zeros of the input's shape and dtype.",
).not_differentiable("it looks at no value")


@kernel(ZEROS_LIKE)
def _zeros_like(xp: Any, x: Array) -> Array:
    return np.full(x.shape, b"", object) if x.dtype == object else xp.zeros(x.shape, x.dtype)


ONES_LIKE = define_op(
    "OnesLike(x: T; T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, "
    "int64, uint64, complex64, "
    "complex128, bool}) -> y: T",
    shape=shapes.same,
    doc="Ones of the input's shape and dtype.",
).not_differentiable("it looks at no value")


@kernel(ONES_LIKE)
def _ones_like(xp: Any, x: Array) -> Array:
    return xp.ones(x.shape, x.dtype)


EMPTY = define_op(
    "Empty(shape: int32; dtype: type, init: bool = False) -> output: dtype",
    shape=lambda c: c.shape_value(0),
    stateful=True,
    host_inputs=("shape",),
    doc="A tensor of a shape; its values are zeros.",
).not_differentiable("its values do not depend on the input")


@kernel(EMPTY)
def _empty(xp: Any, shape: Array, *, dtype: DType) -> Array:
    dims = tuple(shape.tolist())
    return np.full(dims, b"", object) if dtype is string else xp.zeros(dims, dtype.numpy_dtype)


def _one_hot_shape(c: ShapeContext) -> Dims:
    dims, depth = c.shape(0), c.constant(1)
    given = c.shape(1)
    if given is not None and given != () and (c.running or depth is None):
        fact = f"depth must be a scalar, but got: {d.bracketed(given)}"
        c.fail_at_step("a scalar depth", f"shape {d.text(given)}: {fact}")
    for index, name in ((1, "depth"), (2, "on_value"), (3, "off_value")):
        c.rank(index, 0, name)
    if depth is not None and depth < 0:
        fact = "Dimension size, given by scalar input 1, must be non-negative but is"
        if c.running:
            fact = "depth must be non-negative, got:"
        c.fail("a depth >= 0", f"{int(depth)}: {fact} {int(depth)}")
    axis = c.attr("axis")
    if axis < -1 and not c.running:
        c.fail("an axis >= -1", f"{axis}: axis must be >= -1")
    if dims is None:
        return None
    if not -1 <= axis <= len(dims):
        c.fail_at_step(
            f"an axis in [-1, {len(dims)}]",
            f"{axis}: Expected axis to be -1 or between [0, {len(dims) + 1}). But received: {axis}",
            known=(None,) * (len(dims) + 1),
        )
    axis = len(dims) if axis == -1 else axis
    return (*dims[:axis], None if depth is None else int(depth), *dims[axis:])


ONE_HOT = define_op(
    "OneHot(indices: TI, depth: int32, on_value: T, off_value: T; axis: int = -1, T: type, TI: "
    "{uint8, int8, int32, int64} = int64) "
    "-> output: T",
    shape=_one_hot_shape,
    host_inputs=("depth",),
    doc="`on_value` at the place along a new axis that each index names, `off_value` elsewhere.",
).not_differentiable("indices are integers and the places do not move")


@host_kernel(ONE_HOT)
def _one_hot_host(
    indices: Array, depth: Array, on_value: Array, off_value: Array, *, axis: int
) -> Array:
    place = indices.ndim if axis == -1 else axis
    found = native_places.marked(indices, place, int(depth), on_value, off_value)
    return _one_hot(np, indices, depth, on_value, off_value, axis=axis) if found is None else found


@compiled_kernel(ONE_HOT)
def _one_hot(
    xp: Any, indices: Array, depth: Array, on_value: Array, off_value: Array, *, axis: int
) -> Array:
    axis = indices.ndim if axis == -1 else axis
    places = np.arange(int(depth)).reshape(-1, *[1] * (indices.ndim - axis))
    spread = indices.reshape(*indices.shape[:axis], 1, *indices.shape[axis:])
    return xp.where(spread == places, on_value, off_value)


# ---- zeros and ones


def _plain_sizes(shape: Any) -> Any:
    """The sizes, when they are plain integers, as NumPy takes them; else None."""
    if shape.__class__ is int:
        return (shape,) if shape >= 0 else None
    if shape.__class__ is list or shape.__class__ is tuple:
        for n in shape:
            if n.__class__ is not int or n < 0:
                return None
        return shape
    if shape.__class__ is TensorShape:
        dims = shape.dims_tuple
        return dims if d.is_full(dims) else None
    return None


def _filled(shape: Any, value: Any, dtype: Any, name: str | None) -> Any:
    kind = as_dtype(dtype).base_dtype
    value = kind_value(kind, value)
    sizes = _plain_sizes(shape)
    if sizes is not None and (
        state.plain
        or state.graph is None
        or int(np.prod(sizes, dtype=np.float64)) < CONSTANT_ELEMENTS
    ):
        return constant_tensor(_array(sizes, value, kind), kind, name or "Const")
    tensor = (
        shape
        if isinstance(shape, Tensor)
        else convert_to_tensor(shape, None if hasattr(shape, "dtype") else int32)
    )
    if tensor.dtype not in (int32, int64):
        raise TypeError(
            f"{name}: expected a shape of dtype int32 or int64, got {tensor.dtype.name}. Cast it."
        )
    if not tensor.dims:  # of rank 0, or unknown
        tensor = reshape(tensor, [-1])
    return execute(
        FILL, (tensor, convert_to_tensor(value, kind)), {"index_type": tensor.dtype}, name
    )


def _array(sizes: Any, value: Any, kind: DType) -> Array:
    return aligned_full(sizes, value, kind.numpy_dtype)


def kind_value(kind: DType, value: int) -> Any:
    """0 or 1 as a value of `kind`.

    Raises:
      TypeError: the dtype has no such value.
    """
    if kind is bool_:
        return bool(value)
    if kind is string and value == 0:
        return b""
    if kind in (string, resource, variant):
        raise TypeError(f"expected a numeric or bool dtype, got {kind.name}.")
    return value


def zeros(shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None) -> Any:
    """A tensor of zeros (False for bool, b"" for string).

    Args:
      shape: integers, or an integer vector.
      dtype: the dtype.
      name: the name in a graph.
      layout: not used; for compatibility.

    Returns:
      A tensor of `shape`.

    Example:
      >>> zeros([2, 1], int32).numpy().tolist()
      [[0], [0]]
    """
    if (
        state.plain
        and dtype.__class__ is DType
        and dtype is not string
        and (shape.__class__ is list or shape.__class__ is tuple)
    ):
        sizes = _plain_sizes(shape)
        if sizes is not None and dtype is not resource and dtype is not variant:
            return wrap(aligned_full(sizes, 0, dtype.numpy_dtype), dtype)
    return _filled(shape, 0, dtype, name or "zeros")


def ones(shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None) -> Any:
    """A tensor of ones (True for bool).

    Args:
      shape: integers, or an integer vector.
      dtype: the dtype.
      name: the name in a graph.
      layout: not used; for compatibility.

    Returns:
      A tensor of `shape`.

    Raises:
      TypeError: `dtype` is not numeric and not bool.
    """
    return _filled(shape, 1, dtype, name or "ones")


def zeros_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Any:
    """Zeros of the shape, and unless given otherwise the dtype, of a tensor.

    Args:
      input: any tensor.
      dtype: the dtype of the result; that of `input` by default.
      name: the name in a graph.
      layout: not used; for compatibility.

    Returns:
      A tensor.
    """
    return _like(input, 0, dtype, name)


def ones_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Any:
    """Ones of the shape, and unless given otherwise the dtype, of a tensor.

    Args:
      input: any tensor.
      dtype: the dtype of the result; that of `input` by default.
      name: the name in a graph.
      layout: not used; for compatibility.

    Returns:
      A tensor.
    """
    return _like(input, 1, dtype, name)


def zeros_like_v1(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Zeros of the shape and dtype of a tensor; see `tf.zeros_like`.

    `optimize`: a constant where the shape is known.
    """
    return _like(tensor, 0, dtype, name, optimize)


def ones_like_v1(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Ones of the shape and dtype of a tensor; see `tf.ones_like`.

    `optimize`: a constant where the shape is known.
    """
    return _like(tensor, 1, dtype, name, optimize)


def _like(input: Any, value: int, dtype: Any, name: str | None, optimize: bool = True) -> Any:
    name = name or ("zeros_like" if value == 0 else "ones_like")
    if state.graph is not None and isinstance(input, SparseTensor):
        kind = input.dtype if dtype is None else as_dtype(dtype).base_dtype
        known = input.shape.is_fully_defined()
        return _filled(input.shape if known else input.dense_shape, value, kind, name)
    tensor = convert_to_tensor(input)
    kind = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
    if kind is variant and value == 0:
        return execute(ZEROS_LIKE, (tensor,), None, name)
    if state.graph is None and kind is string and value:
        problem = TypeError("ones_like: expected a numeric or bool dtype, got string.")
        raise attributes.user_error("OnesLike", problem, eager=True)
    if state.graph is None and not state.recorders:
        return constant_tensor(_array(tensor.dims, kind_value(kind, value), kind), kind)
    if kind is not tensor.dtype or (optimize and d.is_full(tensor.dims) and value == 1):
        return _filled(
            shape_of(tensor) if not d.is_full(tensor.dims) else list(tensor.dims), value, kind, name
        )
    return execute(ZEROS_LIKE if value == 0 else ONES_LIKE, (tensor,), None, name)


def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Any:
    """A tensor of one value.

    Args:
      dims: int32 or int64 vector: the shape.
      value: a scalar of any dtype.
      name: the name in a graph.
      layout: not used; for compatibility.

    Returns:
      A tensor of the value's dtype.

    Raises:
      InvalidArgumentError, ValueError: a size is negative or `value` is no scalar.

    Example:
      >>> fill([2], 7).numpy().tolist()
      [7, 7]
    """
    if state.graph is None and (
        isinstance(dims, (int, np.integer)) or (isinstance(dims, Tensor) and dims.dims == ())
    ):
        dims = reshape(dims, [1])  # eagerly one number stands for a vector of one
    return execute(FILL, (dims, value), None, name)


@composed("eye", result="diag")
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Any:
    """Identity matrices.

    Args:
      num_rows: integer scalar >= 0.
      num_columns: integer scalar >= 0; `num_rows` by default.
      batch_shape: integers or a vector: the leading axes.
      dtype: the dtype.
      name: the name in a graph.

    Returns:
      A tensor of shape batch_shape + [num_rows, num_columns].

    Example:
      >>> eye(2).numpy().tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    columns = num_rows if num_columns is None else num_columns
    kind = as_dtype(dtype).base_dtype
    known = [_known_size(n) for n in (num_rows, columns)]
    if any(n is not None and n < 0 for n in known):
        low = next(n for n in known if n is not None and n < 0)
        eager = state.graph is None
        said = f"Dimension {low} must be >= 0" if eager else "Fill dimensions must be >= 0"
        problem = ValueError(f"tf.eye: expected sizes >= 0, got {known[0]} and {known[1]}: {said}.")
        raise attributes.user_error("eye", problem, eager=eager)
    batch = (
        ()
        if batch_shape is None
        else _plain_sizes(
            batch_shape
            if not isinstance(batch_shape, EagerTensor)
            else host_array(batch_shape).tolist()
        )
    )
    if known[0] is not None and known[1] is not None and batch is not None:
        matrix = np.eye(known[0], known[1], dtype=kind.numpy_dtype)
        return constant_tensor(
            np.broadcast_to(matrix, (*batch, *matrix.shape)), kind, name or "eye"
        )
    rows, cols = (execute("Range", (0, _size(n), 1)) for n in (num_rows, columns))
    same = execute("Equal", (execute("ExpandDims", (rows, 1)), execute("ExpandDims", (cols, 0))))
    matrix = execute("Cast", (same,), {"DstT": kind}, name)
    if batch_shape is None:
        return matrix
    sizes = execute(
        "ConcatV2", ([convert_to_tensor(batch_shape, int32), execute("Shape", (matrix,))], 0)
    )
    return execute("BroadcastTo", (matrix, sizes), None, name)


def _size(value: Any) -> Any:
    """A size that a graph computes, as int32."""
    if isinstance(value, Tensor) and value.dtype.is_integer:
        return execute("Cast", (value,), {"DstT": int32})
    return convert_to_tensor(value, int32)


def _known_size(value: Any) -> int | None:
    if isinstance(value, EagerTensor):
        if value.dims:
            problem = ValueError(f"tf.eye: expected sizes as scalars, got shape {value.shape}.")
            raise attributes.user_error("eye", problem, eager=state.graph is None)
        return int(host_array(value))
    if isinstance(value, Tensor):
        return None
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(
            f"tf.eye: expected integers for num_rows and num_columns, got {value!r}. Round it."
        )
    return int(value)


@composed("one_hot")
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """`on_value` at the place that each index names along a new axis, `off_value` elsewhere.

    Args:
      indices: uint8, int8, int32 or int64, any shape; an index outside [0, depth) gives a row of
        `off_value`.
      depth: int32 scalar: the size of the new axis.
      on_value: a scalar, 1 by default.
      off_value: a scalar, 0 by default.
      axis: where the new axis stands; the last by default.
      dtype: the dtype; that of the values, or float32.
      name: the name in a graph.

    Returns:
      A tensor with one axis more than `indices`.

    Raises:
      TypeError: the dtypes of the values and `dtype` differ.

    Example:
      >>> one_hot([1, 0], 2).numpy().tolist()
      [[0.0, 1.0], [1.0, 0.0]]
    """
    kind = None if dtype is None else as_dtype(dtype).base_dtype
    given = [
        None if v is None else convert_to_tensor(v, dtype_hint=kind) for v in (on_value, off_value)
    ]
    for label, value in zip(("on_value", "off_value"), given, strict=True):
        if value is None:
            continue
        kind = kind or value.dtype
        if value.dtype is not kind:
            raise TypeError(
                f"dtype {value.dtype.name} of {label} does not match dtype parameter {kind.name}. "
                "Cast it."
            )
    kind = kind or float32
    on, off = (
        convert_to_tensor(default, kind) if v is None else v
        for v, default in zip(given, (1, 0), strict=True)
    )
    if state.graph is None or not isinstance(depth, Tensor):  # in a graph the operation looks
        depth = convert_to_tensor(depth, int32)
    place = -1 if axis is None else attributes.place(axis)
    return execute(ONE_HOT, (indices, depth, on, off), {"axis": place}, name)


@composed("SequenceMask", result=None)
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
) -> Any:
    """True for the first `lengths[i]` places of row i, False for the rest.

    Args:
      lengths: integers, any shape.
      maxlen: integer scalar, the size of the new last axis; the largest length by default.
      dtype: the dtype of the result.
      name: the name in a graph.

    Returns:
      A tensor of shape lengths.shape + [maxlen].

    Raises:
      ValueError: `maxlen` is no scalar.

    Example:
      >>> sequence_mask([1, 2]).numpy().tolist()
      [[True, False], [True, True]]
    """
    kind = bool_ if dtype is None else as_dtype(dtype)
    lengths = convert_to_tensor(lengths)
    if maxlen is None:
        longest = execute(
            "Max",
            (
                lengths,
                np.arange(len(lengths.dims), dtype=np.int32)
                if lengths.dims is not None
                else _all_axes(lengths),
            ),
        )
        maxlen = execute("Maximum", (convert_to_tensor(0, lengths.dtype), longest))
    else:
        maxlen = convert_to_tensor(maxlen)
    if maxlen.dims is not None and len(maxlen.dims):
        raise ValueError(
            f"sequence_mask: Argument `maxlen` must be scalar, got shape {maxlen.shape}."
        )
    row = execute(
        "Range", (convert_to_tensor(0, maxlen.dtype), maxlen, convert_to_tensor(1, maxlen.dtype))
    )
    column = execute("Cast", (execute("ExpandDims", (lengths, -1)),), {"DstT": maxlen.dtype})
    result = execute("Less", (row, column), None, name if kind is bool_ else None)
    return result if kind is bool_ else execute("Cast", (result,), {"DstT": kind}, name)
