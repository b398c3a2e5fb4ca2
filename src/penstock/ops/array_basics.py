"""Constants, placeholders, identities, and shapes as values.

`constant` makes a tensor from a Python or NumPy value, `placeholder` one that is fed, `identity`
one with another name, `reshape` one of another shape. Small eager calls take a short way past
`execute` when no graph, tape or device scope is active (`state.plain`); the result is a view of the
same array.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from penstock.core import shapes
from penstock.core.aligned import aligned_copy
from penstock.core.arrays import HashableArray, is_held, to_array
from penstock.core.context import state
from penstock.core.convert import constant_tensor, convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import EagerTensor, Tensor, host_array, wrap
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype, int32, int64, string
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest

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


def _fed_shape(c: ShapeContext) -> Dims:
    c.merge(c.shape(0), c.attr("shape"))  # the input must fit; what is fed may differ from it
    return c.attr("shape")  # type: ignore[no-any-return]


PLACEHOLDER_WITH_DEFAULT = define_op(
    "PlaceholderWithDefault(input: dtype; dtype: type, shape: shape) -> output: dtype",
    shape=_fed_shape,
    doc="The input, unless a value is fed.",
)


@kernel(PLACEHOLDER_WITH_DEFAULT, limit=1 << 62)
def _placeholder_with_default(xp: Any, x: Array) -> Array:
    return x


@PLACEHOLDER_WITH_DEFAULT.gradient
def _placeholder_with_default_gradient(op: Any, grad: Any) -> Any:
    return grad


IDENTITY = define_op(
    "Identity(input: T; T: type) -> output: T", shape=shapes.same, doc="The input itself."
)


@kernel(IDENTITY, limit=1 << 62)
def _identity(xp: Any, x: Array) -> Array:
    return x


@IDENTITY.gradient
def _identity_gradient(op: Any, grad: Any) -> Any:
    return grad


IDENTITY_N = define_op(
    "IdentityN(input: [T]; T: list(type) >= 1) -> output: [T]",
    shape=lambda c: list(c.shapes),
    doc="The inputs themselves.",
)


@kernel(IDENTITY_N, limit=1 << 62)
def _identity_n(xp: Any, inputs: list[Array]) -> list[Array]:
    return inputs


@IDENTITY_N.gradient
def _identity_n_gradient(op: Any, *grads: Any) -> Any:
    return list(grads)


NO_OP = define_op(
    "NoOp() -> ",
    shape=shapes.no_output,
    stateful=True,
    doc="Does nothing; waits for its control inputs.",
).not_differentiable("it has no inputs")


@host_kernel(NO_OP)
def _no_op() -> tuple[()]:
    return ()


SHAPE = define_op(
    "Shape(input: T; T: type, out_type: {int32, int64} = int32) -> output: out_type",
    shape=lambda c: (None if c.shape(0) is None else len(c.shape(0)),),
    doc="The shape of the input as a vector.",
).not_differentiable("a shape is an integer")


@kernel(SHAPE, limit=1 << 62)
def _shape(xp: Any, x: Array, *, out_type: Any) -> Array:
    return np.array(np.shape(x), out_type.numpy_dtype)


# ---- reshape


def reshape_shape(c: ShapeContext) -> Dims:
    """The shape rule of Reshape: input 0 in the shape that input 1 says."""
    wanted, value = _wanted_sizes(c)
    dims = c.shape(0)
    if wanted is None:
        return None
    if value is None:
        return _reshape_partial(c, wanted, d.num_elements(dims))
    if (value < -1).any() or (value == -1).sum() > 1:
        fact = _wrong_sizes(value.reshape(-1).tolist(), c.running)
        expected, got = "sizes >= 0 and at most one -1", f"shape {value.tolist()}: {fact}"
        if (value < -1).any():
            c.fail(expected, got)
        c.fail_at_step(expected, got, known=(None,) * value.size)
    total = d.num_elements(dims)
    known = int(np.prod([n for n in wanted if n is not None], dtype=np.int64))
    if None not in wanted:
        _check_total(c, wanted, total, known)
        _check_rest(c, wanted, known)
        return wanted
    if total is None:
        return _reshape_unknown(wanted, dims, known)
    if known == 0 == total:  # any size would do
        return tuple(1 if n is None else n for n in wanted)
    if known == 0 or total % known:
        _refuse_part(c, wanted, total, known)
    return tuple(total // known if n is None else n for n in wanted)


def _wanted_sizes(c: ShapeContext) -> tuple[Dims, Any]:
    """The shape that input 1 of Reshape asks for, with None for -1, and its value if known."""
    sizes = c.shape(1)
    if sizes is not None and len(sizes) != 1 and not (c.running and sizes == ()):
        fact = f"Shape must be rank 1 but is rank {len(sizes)}"
        if c.running:
            fact = f"sizes input must be 1-D, not {d.bracketed(sizes)}"
        c.fail("a shape that is a vector", f"one of shape {d.text(sizes)}: {fact}", "Pass a list.")
    value = c.constant(1)
    if sizes == () and value is not None:  # kernels take a size for a vector of one
        value = value.reshape(1)
        return (None if value[0] == -1 else int(value[0]),), value
    return c.shape_value(1), value


def _check_total(c: ShapeContext, wanted: Dims, total: int | None, known: int) -> None:
    """Refuses a shape without -1 that has another number of elements than the input."""
    if total is None or known == total:
        return
    fact = (
        f"Cannot reshape a tensor with {total} elements to shape {d.bracketed(wanted)}"
        f" ({known} elements)"
    )
    if c.running:
        fact = (
            f"Input to reshape is a tensor with {total} values, but the requested shape has {known}"
        )
    c.fail(
        f"a shape of {total} elements",
        f"{d.text(wanted)} of {known} for an input of shape {d.text(c.shape(0))}: {fact}",
    )


def _check_rest(c: ShapeContext, wanted: Dims, known: int) -> None:
    """Refuses a shape without -1 for an input whose one unknown size would be no integer."""
    dims = c.shape(0)
    if dims is None or dims.count(None) != 1:
        return
    rest = int(np.prod([n for n in dims if n is not None], dtype=np.int64))
    if known % rest if rest else known:
        c.fail(
            f"a shape of a multiple of {rest} elements",
            f"{d.text(wanted)} of {known} for an input of shape {d.text(dims)}: Dimension size"
            f" must be evenly divisible by {rest} but is {known}",
        )


def _refuse_part(c: ShapeContext, wanted: Dims, total: int, known: int) -> NoReturn:
    """Refuses a shape whose known sizes leave no size for the one that is not known."""
    fact = f"Dimension size must be evenly divisible by {known} but is {total}"
    if c.running:
        fact = (
            f"Input to reshape is a tensor with {total} values, but the requested shape"
            f" requires a multiple of {known}"
        )
    sizes = [-1 if n is None else n for n in wanted or ()]
    c.fail(
        f"known sizes whose product divides {total} elements",
        f"{sizes} for an input of shape {d.text(c.shape(0))}: {fact}",
    )


def _wrong_sizes(sizes: list[int], running: bool) -> str:
    """What is wrong with the sizes of a shape, as TensorFlow says it."""
    place, size = next(((i, n) for i, n in enumerate(sizes) if n < -1), (None, None))
    if place is not None:
        return (
            f"Size {place} must be non-negative, not {size}"
            if running
            else f"Invalid value in tensor used for shape: {size}"
        )
    first, second = [i for i, n in enumerate(sizes) if n == -1][:2]
    return f"Only one input size may be -1, not both {first} and {second}"


def _reshape_partial(c: ShapeContext, wanted: Any, total: int | None) -> Dims:
    """A shape that is known in part only: one unknown size follows from the number of elements."""
    known = int(np.prod([n for n in wanted if n is not None], dtype=np.int64))
    if total is not None and wanted.count(None) == 1 and known:
        if total % known:
            _refuse_part(c, wanted, total, known)
        return tuple(total // known if n is None else n for n in wanted)
    return wanted  # type: ignore[no-any-return]


def _reshape_unknown(wanted: Any, dims: Dims, known: int) -> Dims:
    """One -1 where the input has one unknown size too: it cancels when the known sizes agree."""
    if dims is None or dims.count(None) != 1 or not known:
        return wanted  # type: ignore[no-any-return]
    rest = int(np.prod([n for n in dims if n is not None], dtype=np.int64))
    return tuple(0 if n is None else n for n in wanted) if rest == 0 else wanted


RESHAPE = define_op(
    "Reshape(tensor: T, shape: Tshape; T: type, Tshape: {int32, int64} = int32) -> output: T",
    shape=reshape_shape,
    host_inputs=("shape",),
    doc="The elements of the input in another shape; one size may be -1 and follows from the rest.",
)


@kernel(RESHAPE, limit=1 << 62)
def _reshape(xp: Any, tensor: Array, shape: Array) -> Array:
    sizes = shape.reshape(-1).tolist()
    if not tensor.size and -1 in sizes:
        known = int(np.prod([n for n in sizes if n >= 0]))
        sizes[sizes.index(-1)] = 0 if known else 1
    return xp.reshape(tensor, sizes)


@RESHAPE.gradient
def _reshape_gradient(op: Any, grad: Any) -> list[Any]:
    return [reshape(grad, shape_of(op.inputs[0])), None]


def shape_of(x: Any, out_type: Any = int32) -> Any:
    """The shape of a tensor as a tensor: a constant where it is known, else a Shape operation."""
    dims = x.dims
    if dims is not None and None not in dims:
        return constant_tensor(np.array(dims, out_type.numpy_dtype), out_type, "Shape")
    return execute(SHAPE, (x,), {"out_type": out_type})


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """The elements of `tensor` in another shape.

    Args:
      tensor: any dtype and shape.
      shape: int32 or int64 vector; one entry may be -1 and follows from the others. Eagerly also
        one integer, for a vector.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError, ValueError: the number of elements differs.

    Example:
      >>> reshape([1, 2, 3, 4], [2, -1]).numpy().tolist()
      [[1, 2], [3, 4]]
    """
    if tensor.__class__ is EagerTensor and state.plain and tensor._array.__class__ is np.ndarray:
        sizes = _sizes(shape)
        if sizes is not None:
            try:
                return wrap(tensor._array.reshape(sizes), tensor._dtype)
            except ValueError:
                pass  # the operation raises with its own words
    return execute(RESHAPE, (tensor, shape), None, name)


def _sizes(shape: Any) -> tuple[int, ...] | list[int] | None:
    """The sizes as plain integers >= -1, when that takes no conversion."""
    if shape.__class__ is EagerTensor:
        array = shape._array
        if array.__class__ is not np.ndarray or array.ndim != 1 or array.dtype.kind != "i":
            return None
        shape = array.tolist()
    elif shape.__class__ is not tuple and shape.__class__ is not list:
        return None
    for n in shape:
        if n.__class__ is not int or n < -1:
            return None
    return shape  # type: ignore[no-any-return]


# ---- constants


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

    Example:
      >>> constant(0.5, shape=[2]).numpy().tolist()
      [0.5, 0.5]
    """
    if shape is None and dtype is None and state.graph is None and value.__class__ in _PLAIN:
        return constant_tensor(*to_array(value))
    return _constant(value, dtype, shape, name)


_PLAIN = frozenset({bool, int, float, str, bytes})


def constant_v1(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Any:
    """Creates a tensor with a fixed value.

    Args:
      value: a number, string, nested sequence or array.
      dtype: the dtype; inferred when None.
      shape: the shape. When the value has fewer elements, its last one fills the rest.
      name: the name in a graph.
      verify_shape: whether the value must have `shape` exactly.

    Returns:
      A Tensor of `dtype` and `shape`.

    Raises:
      TypeError: the shape differs and `verify_shape` is set, or the value does not convert.
      ValueError: the value has too many elements.
    """
    if shape is None:
        return constant(value, dtype, None, name)
    array, found = _known(value, None if dtype is None else as_dtype(dtype).base_dtype, name)
    wanted = tuple(int(n) for n in _dims(shape))
    if array.shape == wanted:
        return constant_tensor(array.copy(), found, name)
    if verify_shape:
        raise TypeError(
            f"constant '{name}': expected a value of shape {wanted}, got shape {array.shape}."
        )
    if state.graph is None:
        return constant_tensor(_with_shape(array, wanted).copy(), found)
    count, flat = int(np.prod(wanted, dtype=np.int64)), array.reshape(-1)
    if flat.size > count:
        raise ValueError(
            f"constant '{name}': expected at most {count} elements for shape {wanted}, got "
            f"{flat.size} elements."
        )
    last = flat[-1:] if flat.size else np.array([b"" if found is string else 0], flat.dtype)
    filled = np.concatenate([flat, np.repeat(last, count - flat.size)]).reshape(wanted)
    return constant_tensor(filled, found, name)


def _constant(value: Any, dtype: Any, shape: Any, name: str) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, EagerTensor):
        if state.graph is None or shape is not None:
            raise TypeError(
                f"constant '{name}': expected a value, got the symbolic tensor {value!r}. Use it "
                "as it is."
            )
        raise TypeError(
            f"constant '{name}': expected a value known now, got {value!r} of a graph. Use "
            "tf.identity."
        )
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if isinstance(value, EagerTensor) and wanted not in (None, value.dtype):
        raise TypeError(
            f"constant '{name}': expected a value that converts to {wanted.name}, got {value!r} of "
            f"dtype {value.dtype.name}. Use tf.cast."
        )
    array, found = _known(value, wanted, name)
    if array.base is not None or is_held(array, value):
        array = aligned_copy(array)
    if shape is not None:
        array = _with_shape(array, tuple(int(n) for n in _dims(shape)))
    return constant_tensor(array, found, name)


def _known(value: Any, wanted: DType | None, name: str) -> tuple[Array, DType]:
    try:
        return to_array(value, wanted)
    except NotImplementedError:
        raise TypeError(
            f"constant '{name}': expected values known now, got a symbolic tensor in {value!r}. "
            "Use tf.stack."
        ) from None


def _with_shape(array: Array, wanted: tuple[int, ...]) -> Array:
    if array.shape == wanted:
        return array
    count = int(np.prod(wanted, dtype=np.int64))
    if array.size == count:
        return array.reshape(wanted)
    if array.size == 1:
        return np.full(wanted, array.reshape(()), array.dtype)
    if state.graph is None:
        raise TypeError(
            "Eager execution of tf.constant with unsupported shape. Tensor"
            f" {np.array2string(array, threshold=20)} has {array.size} elements, but got `shape`"
            f" {wanted} with {count} elements. Give as many, or one for all."
        )
    raise TypeError(
        f"constant: Expected Tensor's shape: {wanted}, but got {array.shape}. Give {count}"
        " elements, or one for all."
    )


def _dims(shape: Any) -> Sequence[int]:
    if isinstance(shape, EagerTensor):
        if not shape.dtype.is_integer:
            raise TypeError(
                f"constant: Failed to convert {shape!r} to a shape: expected integers, got "
                f"{shape.dtype.name}. Use tf.cast."
            )
        return host_array(shape).reshape(-1).tolist()
    dims = TensorShape(shape).dims_tuple
    if dims is None or None in dims:
        raise ValueError(f"constant: expected a fully known shape, got {TensorShape(shape)}.")
    return dims  # type: ignore[return-value]


# ---- public functions


def identity(input: Any, name: str | None = None) -> Any:
    """A tensor with the input's value and shape.

    Args:
      input: any tensor, composite tensor, or value that converts.
      name: the name in a graph; parts of a composite tensor take none.

    Returns:
      A value of the same type.
    """
    if input.__class__ is EagerTensor and state.plain and input._array.__class__ is np.ndarray:
        return wrap(input._array, input._dtype)
    if (
        hasattr(input, "_type_spec")
        and not isinstance(input, Tensor)
        and not hasattr(input, "handle")
    ):
        return nest.map_structure(identity, input, expand_composites=True)
    return execute(IDENTITY, (input,), None, name)


def identity_n(input: Any, name: str | None = None) -> list[Any]:
    """Tensors with the values and shapes of the inputs.

    Args:
      input: a list of tensors.
      name: the name in a graph.

    Returns:
      A list of tensors.
    """
    return execute(IDENTITY_N, (list(input),), None, name)  # type: ignore[no-any-return]


def shape(input: Any, out_type: Any = None, name: str | None = None) -> Any:
    """The shape of a tensor, as a tensor.

    Args:
      input: any tensor or sparse tensor.
      out_type: int32 (default) or int64.
      name: the name in a graph.

    Returns:
      A vector of `out_type`; a constant when the shape is known.

    Example:
      >>> shape([[1, 2, 3]]).numpy().tolist()
      [1, 3]
    """
    out = int32 if out_type is None else as_dtype(out_type)
    if hasattr(input, "dense_shape"):
        return execute("Cast", (input.dense_shape,), {"DstT": out}, name)
    tensor = convert_to_tensor(input)
    dims = tensor.dims
    if dims is not None and None not in dims and (out is int32 or out is int64):
        if state.graph is None and not state.plain:
            return execute(SHAPE, (tensor,), {"out_type": out}, name)
        return constant_tensor(np.array(dims, out.numpy_dtype), out, name or "Shape")
    return execute(SHAPE, (tensor,), {"out_type": out}, name)


def shape_v1(input: Any, name: str | None = None, out_type: Any = None) -> Any:
    """The shape of a tensor, as a tensor; see `tf.shape`."""
    return shape(input, out_type, name)


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """A tensor whose value is fed when the graph runs.

    Args:
      dtype: the dtype of what is fed.
      shape: its static shape; None when anything may be fed.
      name: the name in a graph.

    Returns:
      A symbolic tensor.

    Raises:
      RuntimeError: operations run eagerly.
    """
    if state.graph is None:
        raise RuntimeError(
            "tf.placeholder() is not compatible with eager execution. Pass the value as an "
            "argument of a tf.function."
        )
    return execute(PLACEHOLDER, (), {"dtype": as_dtype(dtype), "shape": shape}, name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Any:
    """A tensor that passes `input` on unless a value is fed.

    Args:
      input: the value when none is fed.
      shape: the static shape of what may be fed.
      name: the name in a graph.

    Returns:
      A tensor of the dtype of `input`.
    """
    if state.graph is None:  # nothing is fed
        return convert_to_tensor(input)
    return execute(PLACEHOLDER_WITH_DEFAULT, (input,), {"shape": shape}, name)
