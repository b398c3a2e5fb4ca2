"""Constants, placeholders, identities, and shapes as values."""

from typing import Any

import numpy as np

from penstock.core import shapes
from penstock.core.context import state
from penstock.core.convert import HashableArray, constant_tensor, convert_to_tensor, to_array
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any

CONST = define_op(
    "Const(; value: tensor, dtype: type) -> output: dtype",
    shape=lambda c: c.attr("value").array.shape,
    doc="A tensor with a fixed value.",
).not_differentiable("it has no inputs")


@kernel(CONST)
def _const(xp: Any, *, value: HashableArray) -> Array:
    return xp.asarray(value.array)


PLACEHOLDER = define_op(
    "Placeholder(; dtype: type, shape: shape = ?) -> output: dtype",
    shape=lambda c: c.attr("shape"),
    stateful=True,
    doc="A tensor whose value is given when the graph runs.",
).not_differentiable("it has no inputs")

IDENTITY = define_op("Identity(input: T; T: type) -> output: T", shape=shapes.same, doc="The input itself.")


@kernel(IDENTITY)
def _identity(xp: Any, x: Array) -> Array:
    return x


@IDENTITY.gradient
def _identity_gradient(op: Any, grad: Any) -> Any:
    return grad


NO_OP = define_op("NoOp() -> ", shape=shapes.no_output, stateful=True, doc="Does nothing; waits for its control inputs.").not_differentiable("it has no inputs")


@host_kernel(NO_OP)
def _no_op() -> tuple[()]:
    return ()


SHAPE = define_op(
    "Shape(input: T; T: type, out_type: {int32, int64} = int32) -> output: out_type",
    shape=lambda c: (None if c.shape(0) is None else len(c.shape(0)),),
    doc="The shape of the input as a vector.",
).not_differentiable("a shape is an integer")


@kernel(SHAPE)
def _shape(xp: Any, x: Array, *, out_type: Any) -> Array:
    return np.array(np.shape(x), out_type.numpy_dtype)


def _reshape_shape(c: ShapeContext) -> Dims:
    wanted, dims = c.shape_value(1), c.shape(0)
    if wanted is None:
        return None
    value = c.constant(1)
    total = d.num_elements(dims)
    if value is not None and (np.asarray(value) < -1).any():
        c.fail("sizes >= -1", f"shape {value.tolist()}")
    if value is not None and (np.asarray(value) == -1).sum() > 1:
        c.fail("at most one -1", f"shape {value.tolist()}")
    unknown = [i for i, n in enumerate(wanted) if n is None]
    known = int(np.prod([n for n in wanted if n is not None], dtype=np.int64))
    if total is None:
        return wanted
    if not unknown:
        if known != total:
            c.fail(f"a shape of {total} elements", f"{d.text(wanted)} of {known} for input {d.text(dims)}")
        return wanted
    if len(unknown) == 1 and known and value is not None:
        if total % known:
            c.fail(f"known sizes that divide {total} elements", f"{d.text(wanted)}")
        return tuple(total // known if n is None else n for n in wanted)
    if value is not None and known == 0 and total:
        c.fail(f"a shape of {total} elements", f"{d.text(wanted)}")
    if len(unknown) == 1 and known and total % known == 0:
        return tuple(total // known if n is None else n for n in wanted)
    return wanted


RESHAPE = define_op(
    "Reshape(tensor: T, shape: Tshape; T: type, Tshape: {int32, int64} = int32) -> output: T",
    shape=_reshape_shape,
    host_inputs=("shape",),
    doc="The elements of the input in another shape; one size may be -1 and follows from the rest.",
)


@kernel(RESHAPE, limit=1 << 62)
def _reshape(xp: Any, tensor: Array, shape: Array) -> Array:
    return xp.reshape(tensor, tuple(int(n) for n in shape))


@RESHAPE.gradient
def _reshape_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute("Reshape", (grad, execute("Shape", (op.inputs[0],)))), None]


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Any:
    """Creates a tensor with a fixed value.

    Args:
      value: a number, string, nested sequence or array.
      dtype: the dtype; inferred when None.
      shape: the shape; a scalar value fills it. Inferred when None.
      name: the name in a graph.

    Returns:
      A Tensor of `dtype` and `shape`.

    Raises:
      TypeError: `shape` has another number of elements, or the value does not convert.
      ValueError: the value is symbolic or malformed.
    """
    if shape is None and isinstance(value, (bool, int, float)) and dtype is None and state.graph is None:
        return constant_tensor(*to_array(value))
    return _constant(value, dtype, shape, name)


def _constant(value: Any, dtype: Any, shape: Any, name: str) -> Any:
    from_tensor = convert_to_tensor(value, dtype) if hasattr(value, "_array") else None
    array, found = to_array(value if from_tensor is None else from_tensor, None if dtype is None else _as_dtype(dtype))
    if array is value or array.base is not None or from_tensor is not None:
        array = array.copy()
    if shape is not None:
        array = _with_shape(array, tuple(int(n) for n in _dims(shape)))
    return constant_tensor(array, found, name)


def _with_shape(array: Array, wanted: tuple[int, ...]) -> Array:
    if array.shape == wanted:
        return array
    count = int(np.prod(wanted, dtype=np.int64))
    if array.size == count:
        return array.reshape(wanted)
    if array.size == 1:
        return np.full(wanted, array.reshape(()), array.dtype)
    raise TypeError(f"Eager execution of tf.constant with unsupported shape. Tensor {array!r} has {array.size} elements, but got `shape` {wanted} with {count} elements).")


def _as_dtype(dtype: Any) -> Any:
    return as_dtype(dtype).base_dtype


def _dims(shape: Any) -> Any:
    return TensorShape(shape).as_list() if not hasattr(shape, "_array") else np.asarray(shape).tolist()


def identity(input: Any, name: str | None = None) -> Any:
    """A tensor with the input's value and shape."""
    return execute(IDENTITY, (input,), None, name)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """The elements of `tensor` in another shape.

    Args:
      tensor: any dtype and shape.
      shape: int32 or int64 vector; one entry may be -1 and follows from the others.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError, ValueError: the number of elements differs.
    """
    return execute(RESHAPE, (tensor, shape), None, name)


from penstock.types.dtypes import as_dtype  # noqa: E402
from penstock.types.tensor_shape import TensorShape  # noqa: E402
