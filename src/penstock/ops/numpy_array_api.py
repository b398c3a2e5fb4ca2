"""What the Array API standard asks of a namespace beyond TensorFlow's `tf.experimental.numpy`.

Names that only differ from NumPy's older ones (`acos`, `concat`, `pow`) are listed as second names
in `exports/numpy.py`. docs/array_api.md says where the namespace departs from the standard.
"""

import sys
from typing import Any, NamedTuple

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import attach_method
from penstock.ops import (
    array_join,
    array_order,
    array_select,
    array_shape,
    array_sort,
    math_arithmetic,
    math_compare,
)
from penstock.ops.array_basics import reshape
from penstock.ops.array_gather import gather
from penstock.ops.math_cast import cast, conj
from penstock.ops.math_reduce import reduce_any, reduce_sum
from penstock.ops.numpy_arrays import moveaxis, ravel
from penstock.ops.numpy_creation import ones, zeros
from penstock.ops.numpy_devices import moved
from penstock.ops.numpy_dtypes import (
    Value,
    as_tensor,
    numpy_dtype,
    promoted,
    tensor_dtype,
    to_inexact,
)
from penstock.ops.numpy_elementwise import fix, signbit
from penstock.ops.numpy_joining import concatenate
from penstock.ops.numpy_reductions import cumprod, cumsum
from penstock.types import dtypes
from penstock.types.tensor_shape import TensorShape

__array_api_version__ = "2024.12"
_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = (
    *_KINDS["integral"],
    *_KINDS["real floating"],
    *_KINDS["complex floating"],
)


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


class Info:
    """What `__array_namespace_info__` returns: devices, dtypes and abilities."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean indexing and shapes that depend on values work; there is no limit of axes."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": None,
        }

    def default_device(self) -> str:
        """The device of new tensors."""
        return str(zeros(()).device)

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of Python numbers and of positions."""
        del device
        return {
            "real floating": as_tensor(1.0).dtype,
            "complex floating": as_tensor(1j).dtype,
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes by name, of a kind or of several."""
        del device
        kinds = ("bool", "numeric") if kind is None else kind
        listed = (kinds,) if isinstance(kinds, str) else kinds
        return {name: tensor_dtype(name) for k in listed for name in _KINDS[k]}

    def devices(self) -> list[str]:
        """The devices of tensors of this namespace."""
        return [self.default_device()]


def __array_namespace_info__() -> Info:
    """Devices, dtypes and abilities of the namespace."""
    return Info()


def _namespace(self: Any, *, api_version: str | None = None) -> Any:
    if api_version not in (None, "2021.12", "2022.12", "2023.12", __array_api_version__):
        raise ValueError(
            f"__array_namespace__: expected api_version up to {__array_api_version__!r}, got"
            f" {api_version!r}. Leave it out."
        )
    return sys.modules["penstock.experimental.numpy"]


def attach() -> None:
    """Gives tensors `__array_namespace__` and `mT`."""
    attach_method("__array_namespace__", _namespace)
    transposed: Any = property(matrix_transpose)
    attach_method("mT", transposed)


# ---- dtypes


def astype(x: Value, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The elements in another dtype.

    Args:
      x: a tensor, array, number or list.
      dtype: which.
      copy: has no effect, since tensors are not written to.
      device: where the result is, a name as in `x.device`; None leaves it where `x` is.

    Returns:
      A tensor.
    """
    del copy
    return moved(cast(as_tensor(x), tensor_dtype(dtype)), device)


def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    """The tensor on a device: itself when it is there already.

    Args:
      device: its name, as in `x.device`.
      stream: must be None: XLA orders what runs on a device itself.

    Returns:
      A tensor.

    Raises:
      ValueError: a stream is given.
    """
    if stream is not None:
        raise ValueError(f"to_device: expected stream=None, got {stream!r}. Leave it out.")
    return moved(self, device)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion may lead from one dtype to another.

    Args:
      from_: a dtype or a tensor.
      to: a dtype.

    Returns:
      A bool.
    """
    return bool(np.can_cast(numpy_dtype(getattr(from_, "dtype", from_)), numpy_dtype(to)))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Args:
      dtype: a dtype.
      kind: a dtype, 'bool', 'integral', 'real floating', ..., or a tuple of these.

    Returns:
      A bool.

    Raises:
      ValueError: a text that is no kind.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: expected one of {sorted(_KINDS)}, got {kind!r}.")
        return tensor_dtype(dtype).name in _KINDS[kind]
    return tensor_dtype(dtype) is tensor_dtype(kind)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that shapes share by broadcasting.

    Args:
      *shapes: tuples of integers.

    Returns:
      A tuple.

    Raises:
      ValueError: there is none.
    """
    common = TensorShape([])
    for shape in shapes:
        common = array_shape.broadcast_static_shape(common, TensorShape(shape))
    return tuple(int(n) for n in common.as_list() if n is not None)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor of an array of another library.

    Args:
      x: an object with `__dlpack__`.
      device: where the result is, a name as in `x.device`.
      copy: True copies the data.

    Returns:
      A tensor.
    """
    array = np.from_dlpack(x)
    return moved(convert_to_tensor(array.copy() if copy else array), device)


# ---- elements


def trunc(x: Value, /) -> Any:
    """Rounded toward zero.

    Args:
      x: a tensor, array, number or list.

    Returns:
      A tensor of the same dtype.
    """
    tensor = as_tensor(x)
    return fix(tensor) if tensor.dtype.is_floating else tensor


def copysign(x1: Value, x2: Value, /) -> Any:
    """The size of x1 with the sign of x2.

    Args:
      x1: floats.
      x2: floats.

    Returns:
      A tensor of the broadcast shape.
    """
    x, y = (to_inexact(t) for t in promoted(x1, x2))
    turn = math_compare.logical_xor(signbit(x), signbit(y))
    return array_select.where(turn, math_arithmetic.negative(x), x)


def bitwise_left_shift(x1: Value, x2: Value, /) -> Any:
    """x1 << x2.

    Args:
      x1: integers.
      x2: integers that are not negative.

    Returns:
      A tensor of the broadcast shape.
    """
    return math_compare.left_shift(*promoted(x1, x2))


def bitwise_right_shift(x1: Value, x2: Value, /) -> Any:
    """x1 >> x2.

    Args:
      x1: integers.
      x2: integers that are not negative.

    Returns:
      A tensor of the broadcast shape.
    """
    return math_compare.right_shift(*promoted(x1, x2))


# ---- axes


def matrix_transpose(x: Value, /) -> Any:
    """The last two axes exchanged.

    Args:
      x: [..., M, N].

    Returns:
      [..., N, M].
    """
    return array_order.matrix_transpose(as_tensor(x))


def vecdot(x1: Value, x2: Value, /, *, axis: int = -1) -> Any:
    """The sum of products along an axis, the first argument conjugated.

    Args:
      x1: a tensor, array or list.
      x2: another.
      axis: counted from the end.

    Returns:
      A tensor without the axis.
    """
    x, y = promoted(x1, x2)
    left = conj(x) if x.dtype.is_complex else x
    return reduce_sum(math_arithmetic.multiply(moveaxis(left, axis, -1), moveaxis(y, axis, -1)), -1)


def unstack(x: Value, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts along an axis, without it.

    Args:
      x: a tensor, array or list.
      axis: which.

    Returns:
      A tuple of tensors.
    """
    return tuple(array_join.unstack(as_tensor(x), axis=axis))


def _scan(x: Value, axis: int | None, dtype: Any, first: Any, run: Any) -> Any:
    tensor = as_tensor(x)
    if axis is None:
        if tensor.ndim != 1:
            raise ValueError(
                f"cumulative_sum, cumulative_prod: expected an axis for shape {tensor.shape}, got"
                " axis=None. Name one."
            )
        axis = 0
    found = run(tensor, axis, dtype)
    if first is None:
        return found
    dims = tensor.shape.as_list()
    dims[axis] = 1
    return concatenate([first(dims, found.dtype), found], axis)


def cumulative_sum(
    x: Value, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Sums of all elements up to each.

    Args:
      x: a tensor, array or list.
      axis: which; may be left out for a vector.
      dtype: what to add in.
      include_initial: begins with 0.

    Returns:
      A tensor.
    """
    return _scan(x, axis, dtype, zeros if include_initial else None, cumsum)


def cumulative_prod(
    x: Value, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Products of all elements up to each.

    Args:
      x: a tensor, array or list.
      axis: which; may be left out for a vector.
      dtype: what to multiply in.
      include_initial: begins with 1.

    Returns:
      A tensor.
    """
    return _scan(x, axis, dtype, ones if include_initial else None, cumprod)


# ---- sets and searching


def searchsorted(x1: Value, x2: Value, /, *, side: str = "left", sorter: Value = None) -> Any:
    """Where values would go into a sorted vector.

    Args:
      x1: an ascending vector.
      x2: the values.
      side: 'left' or 'right' of equal ones.
      sorter: the positions that put `x1` in order.

    Returns:
      An int64 tensor of the shape of `x2`.
    """
    row, values = promoted(x1, x2)
    if sorter is not None:
        row = gather(row, as_tensor(sorter))
    found = array_sort.searchsorted(row, ravel(values), side=side, out_type=dtypes.int64)
    return reshape(found, values.shape)


def unique_all(x: Value, /) -> UniqueAll:
    """The different values, where each is first, which one each element is, how many there are.

    Args:
      x: a tensor, array or list.

    Returns:
      Four tensors; the values are in order of their first places.
    """
    tensor = as_tensor(x)
    values, inverse, counts = array_select.unique_with_counts(ravel(tensor), dtypes.int64)
    order = array_sort.argsort(inverse, stable=True)  # each value's places, one after the other
    starts = math_arithmetic.subtract(cumsum(counts), counts)
    first = cast(gather(order, starts), dtypes.int64)
    return UniqueAll(values, first, reshape(inverse, tensor.shape), counts)


def unique_counts(x: Value, /) -> UniqueCounts:
    """The different values and how many there are of each.

    Args:
      x: a tensor, array or list.

    Returns:
      Two vectors.
    """
    values, _, counts = array_select.unique_with_counts(ravel(x), dtypes.int64)
    return UniqueCounts(values, counts)


def unique_inverse(x: Value, /) -> UniqueInverse:
    """The different values and which one each element is.

    Args:
      x: a tensor, array or list.

    Returns:
      A vector and a tensor of the shape of `x`.
    """
    tensor = as_tensor(x)
    values, inverse = array_select.unique(ravel(tensor), dtypes.int64)
    return UniqueInverse(values, reshape(inverse, tensor.shape))


def unique_values(x: Value, /) -> Any:
    """The different values.

    Args:
      x: a tensor, array or list.

    Returns:
      A vector.
    """
    return array_select.unique(ravel(x))[0]


def isin(x1: Value, x2: Value, /, *, invert: bool = False) -> Any:
    """Whether each element is among some values.

    Args:
      x1: the elements.
      x2: the values.
      invert: whether it is not.

    Returns:
      A bool tensor of the shape of `x1`.
    """
    x, y = promoted(x1, x2)
    found = reduce_any(math_compare.equal(array_shape.expand_dims(x, -1), ravel(y)), -1)
    return math_compare.logical_not(found) if invert else found
