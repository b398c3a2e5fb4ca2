"""Python and NumPy values as tensors.

`to_array` decides dtype and shape as TensorFlow does: Python integers are int32 (int64 when they do
not fit), floats float32, text and bytes string. `convert_to_tensor` makes an eager tensor or a
Const operation, or asks the converter registered for the value's type.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.context import state
from penstock.core.op_def import lookup
from penstock.core.tensor import EagerTensor, SymbolicTensor, Tensor, host_array, wrap
from penstock.types import dtypes
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import Dimension, TensorShape

Converter = Callable[..., Any]
_converters: list[tuple[int, int, Any, Converter]] = []
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1


def register_tensor_conversion_function(
    base_type: Any, conversion_func: Converter, priority: int = 100
) -> None:
    """Makes `convert_to_tensor` use `conversion_func` for values of `base_type`.

    Args:
      base_type: a class or tuple of classes.
      conversion_func: returns a Tensor, or NotImplemented to leave the value to the next function.
      priority: smaller runs earlier.
    """
    if not callable(conversion_func):
        raise TypeError("Argument `conversion_func` must be a callable.")
    _converters.append((priority, len(_converters), base_type, conversion_func))
    _converters.sort(key=lambda entry: entry[:2])


class HashableArray:
    """A NumPy array as an attribute value: equal and hashed by dtype, shape and bytes.

    It is never written to. A view that repeats one element differs from an array with copies of it.
    """

    __slots__ = ("_hash", "array", "dtype")

    def __init__(self, array: np.ndarray[Any, Any], dtype: DType) -> None:
        self.array = array
        self.dtype = dtype
        self._hash: int | None = None

    @property
    def repeats(self) -> bool:
        """Whether the array is a view that repeats one element, and so takes no memory."""
        return self.array.size > 1 and not any(self.array.strides)

    def _content(self) -> Any:
        array = self.array.reshape(-1)[:1] if self.repeats else self.array
        content = tuple(array.reshape(-1)) if array.dtype == object else array.tobytes()
        return self.dtype, self.array.shape, self.repeats, content

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._content())
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HashableArray):
            return NotImplemented
        if self is other:
            return True
        if self.dtype is not other.dtype or self.array.shape != other.array.shape:
            return False
        return bool(self._content() == other._content())

    def __repr__(self) -> str:
        return f"HashableArray({self.array!r})"


def to_array(value: Any, dtype: DType | None = None) -> tuple[np.ndarray[Any, Any], DType]:
    """The NumPy array (maybe `value` itself) and dtype that TensorFlow gives a value.

    Raises:
      ValueError, TypeError: the value has no tensor form, is ragged, or does not fit `dtype`.
    """
    if isinstance(value, np.ndarray):
        return _from_numpy(value, dtype)
    if isinstance(value, np.generic):
        return _from_numpy(np.asarray(value), dtype)
    if isinstance(value, (bool, int, float, complex, str, bytes)):
        return _from_scalar(value, dtype)
    if isinstance(value, (TensorShape, tuple, list, range)):
        return _from_sequence(value, dtype)
    if isinstance(value, DType):
        return np.asarray(value.as_datatype_enum, np.int32), dtypes.int32
    if isinstance(value, EagerTensor):
        return _from_numpy(host_array(value), dtype)
    if isinstance(value, Dimension):
        return _from_scalar(_known_dimension(value), dtype or dtypes.int32)
    if hasattr(value, "__array__"):
        return _from_numpy(np.asarray(value), dtype)
    if hasattr(value, "__array_interface__") or isinstance(value, memoryview):
        return _from_numpy(np.asarray(value), dtype)
    raise ValueError(
        f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a"
        " Tensor."
    )


def _known_dimension(value: Dimension) -> int:
    if value.value is None:
        raise ValueError("Cannot convert an unknown Dimension to a Tensor: ?")
    return int(value.value)


def _from_scalar(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    kind = type(value)
    if dtype is None:
        dtype = _python_dtype(value)
    elif not _accepts(dtype, kind):
        raise _mismatch(value, dtype)
    if dtype is dtypes.string:
        return _string_array(value), dtype
    if kind is int and dtype.is_integer and not dtype.min <= value <= dtype.max:
        raise _overflow(value, dtype)
    return np.asarray(value, dtype.numpy_dtype), dtype


def _overflow(value: Any, dtype: DType) -> Exception:
    return ValueError(
        f"Can't convert Python integer {value} to a Tensor of dtype {dtype.name}: it lies outside"
        f" [{dtype.min}, {dtype.max}]. Pass a wider dtype."
    )


def _python_dtype(value: Any) -> DType:
    if isinstance(value, bool):
        return dtypes.bool_
    if isinstance(value, int):
        if _INT32_MIN <= value <= _INT32_MAX:
            return dtypes.int32
        if -(2**63) <= value < 2**63:
            return dtypes.int64
        if value < 2**64:
            return dtypes.uint64
        raise ValueError(
            f"Attempt to convert a value ({value}) that fits no integer dtype to a Tensor."
        )
    if isinstance(value, float):
        return dtypes.float32
    if isinstance(value, complex):
        return dtypes.complex128
    return dtypes.string


def _accepts(dtype: DType, kind: type) -> bool:
    if kind is bool:
        return dtype.is_bool
    if kind is int:
        return dtype.is_integer or dtype.is_floating or dtype.is_complex or dtype.is_quantized
    if kind is float:
        return dtype.is_floating or dtype.is_complex
    if kind is complex:
        return dtype.is_complex
    return dtype is dtypes.string


def _mismatch(value: Any, dtype: DType) -> Exception:
    return TypeError(
        f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}"
        if state.graph is None
        else f"Expected {dtype.name}, but got {value!r} of type '{type(value).__name__}'."
    )


def _string_array(value: Any) -> np.ndarray[Any, Any]:
    result = np.empty((), object)
    result[()] = value.encode() if isinstance(value, str) else value
    return result


def _from_numpy(
    array: np.ndarray[Any, Any], dtype: DType | None
) -> tuple[np.ndarray[Any, Any], DType]:
    if array.dtype.kind in "SUOT" or (dtype is dtypes.string):
        return _from_object_array(array, dtype)
    if array.dtype.names is not None and len(array.dtype.names) == 1:
        found = as_dtype(array.dtype)
        array = array[array.dtype.names[0]]
    else:
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        found = _numpy_dtype(array)
    if dtype is None or dtype is found:
        return array, found
    _check_cast(array, found, dtype)
    return array.astype(dtype.numpy_dtype), dtype


def _numpy_dtype(array: np.ndarray[Any, Any]) -> DType:
    try:
        return dtypes.from_numpy(array.dtype)
    except (TypeError, KeyError):
        raise ValueError(
            f"Failed to convert a NumPy array to a Tensor (Unsupported numpy dtype {array.dtype})."
        ) from None


def _check_cast(array: np.ndarray[Any, Any], found: DType, wanted: DType) -> None:
    """NumPy values convert as `constant(array, dtype)` does: not to or from strings and bools."""
    if wanted.is_bool != found.is_bool and array.size:
        raise _mismatch(array.reshape(-1)[0].item(), wanted)
    if found.is_complex and not wanted.is_complex:
        raise _mismatch(array.reshape(-1)[0].item() if array.size else 0j, wanted)
    if (
        found.is_floating
        and wanted.is_integer
        and array.size
        and state.graph is None
        and array.ndim == 0
    ):
        raise _mismatch(array.item(), wanted)


def _from_object_array(
    array: np.ndarray[Any, Any], dtype: DType | None
) -> tuple[np.ndarray[Any, Any], DType]:
    if dtype is not None and dtype is not dtypes.string:
        if array.dtype == object:
            return _from_sequence(array.tolist(), dtype)
        raise _mismatch(array.reshape(-1)[0] if array.size else "", dtype)
    result = np.empty(array.shape, object)
    flat, source = result.reshape(-1), array.reshape(-1)
    for i, item in enumerate(source):
        if isinstance(item, str):
            flat[i] = item.encode()
        elif isinstance(item, bytes):
            flat[i] = bytes(item)
        elif dtype is None and array.dtype == object:
            return _from_sequence(array.tolist(), None) if array.ndim else to_array(array.item())
        else:
            raise TypeError(
                f"Unsupported object type {type(item).__name__}: expected str or bytes for a string"
                " tensor."
            )
    return result.reshape(array.shape), dtypes.string


def _shape_sequence(value: TensorShape) -> list[int | None]:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
    return value.as_list()


def _from_sequence(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    if isinstance(value, TensorShape):
        value = _shape_sequence(value)
        dtype = dtype or (dtypes.int64 if any(n > _INT32_MAX for n in value) else dtypes.int32)
    fast = _from_plain_numbers(value, dtype)
    if fast is not None:
        return fast
    leaves: list[Any] = []
    dims = _measure(value, leaves)
    if dtype is None:
        dtype = _common_dtype(leaves)
    if not leaves:
        return np.empty(dims, dtype.numpy_dtype), dtype
    converted = [_leaf(leaf, dtype) for leaf in leaves]
    if isinstance(converted[0], np.ndarray) and converted[0].ndim:
        return np.stack(converted).reshape(dims + converted[0].shape), dtype
    result = np.empty(len(converted), dtype.numpy_dtype)
    for i, item in enumerate(converted):
        result[i] = item
    return result.reshape(dims), dtype


def _from_plain_numbers(
    value: Any, dtype: DType | None
) -> tuple[np.ndarray[Any, Any], DType] | None:
    """Lists of Python ints or floats (nested or not), the common case, through one NumPy call."""
    if len(value) == 0:
        return None
    first = value[0]
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    kind = type(first)
    if kind is float and (dtype is None or dtype.is_floating):
        wanted = dtype or dtypes.float32
    elif kind is int and (dtype is None or dtype is dtypes.int32 or dtype is dtypes.int64):
        wanted = dtype or dtypes.int32
    else:
        return None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError, NotImplementedError):
        return None
    if array.dtype == np.float64 and kind is float and _all_of(value, float):
        return array.astype(wanted.numpy_dtype), wanted
    if array.dtype == np.int64 and kind is int and _all_of(value, int):
        if array.min() < wanted.min or array.max() > wanted.max:
            if dtype is not None:
                raise _overflow(
                    int(array.max() if array.max() > wanted.max else array.min()), dtype
                )
            return array, dtypes.int64
        return array.astype(wanted.numpy_dtype), wanted
    return None


def _all_of(value: Any, kind: type) -> bool:
    if not isinstance(value, (list, tuple, range)):
        return type(value) is kind
    if isinstance(value, range):
        return kind is int
    return all(
        type(v) is kind or (v.__class__ in (list, tuple) and _all_of(v, kind)) for v in value
    )


def _measure(value: Any, leaves: list[Any]) -> tuple[int, ...]:
    """Collects the leaves of a nested sequence and returns its shape."""
    if not isinstance(value, (list, tuple, range)):
        leaves.append(value)
        return ()
    dims: tuple[int, ...] | None = None
    for item in value:
        found = _measure(item, leaves)
        if dims is None:
            dims = found
        elif dims != found:
            raise ValueError(
                "Can't convert non-rectangular Python sequence to Tensor: expected items of shape"
                f" {dims}, got one of shape {found}."
            )
    return (len(value), *(dims or ()))


def _common_dtype(leaves: list[Any]) -> DType:
    found: DType | None = None
    for leaf in leaves:
        this = leaf.dtype if isinstance(leaf, Tensor) else _leaf_dtype(leaf)
        found = this if found is None else _wider(found, this, leaf)
    return found or dtypes.float32


def _leaf_dtype(leaf: Any) -> DType:
    if isinstance(leaf, (np.ndarray, np.generic)):
        return to_array(leaf)[1]
    if isinstance(leaf, (bool, int, float, complex, str, bytes)):
        return _python_dtype(leaf)
    if leaf is None:
        raise ValueError(
            "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a"
            " Tensor."
        )
    return to_array(leaf)[1]


def _wider(a: DType, b: DType, leaf: Any) -> DType:
    if a is b:
        return a
    for small, large in ((a, b), (b, a)):
        if small.is_integer and large.is_integer and small.size < large.size:
            return large
        if small.is_integer and (large.is_floating or large.is_complex):
            return large
        if small.is_floating and large.is_complex:
            return large
    raise ValueError(
        f"Can't convert Python sequence with mixed types to Tensor: {a.name} and {b.name} (at"
        f" {leaf!r})."
    )


def _leaf(leaf: Any, dtype: DType) -> Any:
    array = to_array(leaf, dtype)[0]
    return array.item() if array.ndim == 0 and dtype is dtypes.string else array


# ---- tensors -------------------------------------------------------------------------------------


def constant_tensor(array: np.ndarray[Any, Any], dtype: DType, name: str = "Const") -> Tensor:
    """A tensor with this value: eager, or a Const operation of the current graph."""
    if state.graph is None:
        return wrap(array, dtype)
    op = lookup("Const")
    attrs = {"value": HashableArray(array, dtype), "dtype": dtype}
    return state.graph.add_operation(op, (), None, attrs, name).outputs[0]  # type: ignore[no-any-return]


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    dtype_hint: Any = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: Any = None,
) -> Any:
    """Converts Python, NumPy and other values to a Tensor.

    Args:
      value: a Tensor, Variable, NumPy array, Python number, string or nested sequence, or anything
        with a registered converter.
      dtype: the dtype it must have; inferred when None.
      dtype_hint: the dtype to try first when `dtype` is None.
      name: the name of the operation made in a graph.

    Returns:
      A Tensor; `value` itself when it is one already.

    Raises:
      TypeError: no conversion to `dtype` exists.
      ValueError: a Tensor of another dtype, or a malformed value.
    """
    if value.__class__ is EagerTensor and dtype is None and state.graph is None:
        return value
    wanted = as_dtype(dtype).base_dtype if dtype is not None else None
    if isinstance(value, Tensor):
        return _convert_tensor(value, wanted)
    hint = dtype_hint if dtype_hint is not None else preferred_dtype
    for _, _, base, function in _converters:
        if isinstance(value, base):
            result = _run_converter(function, value, wanted, hint, name, as_ref)
            if result is not NotImplemented:
                return result
    if wanted is None and hint is not None:
        try:
            array, found = _convert_value(value, as_dtype(hint).base_dtype, name)
        except (TypeError, ValueError):
            array, found = _convert_value(value, None, name)
    else:
        array, found = _convert_value(value, wanted, name)
    if isinstance(array, Tensor):
        return array
    if array is value or (isinstance(value, np.ndarray) and array.base is not None):
        array = array.copy()
    return constant_tensor(array, found, name or "Const")


def _convert_value(value: Any, wanted: DType | None, name: str | None) -> tuple[Any, Any]:
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return _pack(value, wanted, name), None
    return to_array(value, wanted)


def _holds_tensors(value: Any) -> bool:
    for item in value:
        if isinstance(item, (list, tuple)):
            if _holds_tensors(item):
                return True
        elif isinstance(item, (Tensor, *_converted_types())):
            return True
    return False


def _converted_types() -> tuple[Any, ...]:
    found: list[Any] = []
    for _, _, base, _ in _converters:
        found.extend(base if isinstance(base, tuple) else (base,))
    return tuple(found)


def _tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _tensors_in(item)]
    if isinstance(value, _converted_types()):
        return [convert_to_tensor(value)]
    return []


def _pack(value: Any, wanted: DType | None, name: str | None) -> Tensor:
    """A list or tuple that holds tensors, packed along a new first axis."""
    dtype = wanted or _tensors_in(value)[0].dtype
    parts = []
    for item in value:
        if isinstance(item, (list, tuple)) and _holds_tensors(item):
            parts.append(_pack(item, dtype, None))
        else:
            tensor = convert_to_tensor(item, dtype=None if isinstance(item, Tensor) else dtype)
            if tensor.dtype is not dtype:
                raise TypeError(
                    f"Cannot convert a list containing a tensor of dtype {tensor.dtype} to {dtype}"
                )
            parts.append(tensor)
    packed: Tensor = execute("Pack", (parts,), {"axis": 0}, name or "packed")
    return packed


def _run_converter(
    function: Converter, value: Any, wanted: DType | None, hint: Any, name: str | None, as_ref: bool
) -> Any:
    if wanted is None and hint is not None:
        try:
            result = function(value, dtype=as_dtype(hint).base_dtype, name=name, as_ref=as_ref)
        except (TypeError, ValueError):
            result = NotImplemented
        if result is not NotImplemented:
            return result
    result = function(value, dtype=wanted, name=name, as_ref=as_ref)
    if result is NotImplemented:
        return result
    if not isinstance(result, Tensor):
        raise RuntimeError(
            f"Conversion function {function!r} for type {type(value)} returned non-Tensor:"
            f" {result!r}"
        )
    if wanted is not None and result.dtype.base_dtype is not wanted:
        raise RuntimeError(
            f"Conversion function {function!r} for type {type(value)} returned incompatible dtype:"
            f" requested = {wanted.name}, actual = {result.dtype.name}"
        )
    return result


def _convert_tensor(value: Tensor, wanted: DType | None) -> Tensor:
    if wanted is not None and value._dtype.base_dtype is not wanted:
        raise ValueError(
            f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype"
            f" {value._dtype.name}: {value!r}. Use tf.cast(tensor, tf.{wanted.name}) to change its"
            " dtype."
        )
    graph = state.graph
    if graph is not None:
        return graph.as_tensor(value)  # type: ignore[no-any-return]
    if isinstance(value, SymbolicTensor):
        raise symbolic_in_eager(value)
    return value


def symbolic_in_eager(value: SymbolicTensor) -> Exception:
    """The error for a graph's tensor that is used where operations run at once."""
    graph = value.graph
    if getattr(graph, "building_function", False):
        return errors.InaccessibleTensorError(
            f"{value!r} is out of scope and cannot be used here. Use return values, explicit Python"
            f" locals or TensorFlow collections to access it. It was defined in {graph} at"
            f" {value.op.location}, and used outside of that function. Return it from the function"
            " instead."
        )
    return TypeError(
        f"{value!r} is a symbolic tensor of a graph, created at {value.op.location}: expected a"
        " tensor with a value. Evaluate it with Session.run, or use it inside `with"
        " graph.as_default():`."
    )


def _no_execute(*arguments: Any) -> Any:
    raise RuntimeError("penstock.core.execute is not loaded")


execute: Callable[..., Any] = _no_execute  # set by penstock.core.execute, which imports this module
