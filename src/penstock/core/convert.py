"""Python and NumPy values as tensors.

`convert_to_tensor` makes an eager tensor or a Const operation of the array that core/arrays.py
finds, or asks the converter registered for the value's type.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.aligned import aligned_copy
from penstock.core.arrays import (
    INT32_MAX,
    INT32_MIN,
    HashableArray,
    from_plain_numbers,
    is_held,
    to_array,
)
from penstock.core.context import state
from penstock.core.op_def import lookup
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor, TensorBase, wrap
from penstock.types import dtypes
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import Dimension, TensorShape
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import (
    ValueHooks,
    attach_values,
    register_type_spec_fallback,
    register_type_spec_from_value_converter,
)
from penstock.util.kinds import one_kind

Converter = Callable[..., Any]
_converters: list[tuple[int, int, Any, Converter]] = []


def register_tensor_conversion_function(
    base_type: Any, conversion_func: Converter, priority: int = 100
) -> None:
    """Makes `convert_to_tensor` use `conversion_func` for values of `base_type`.

    Args:
      base_type: a class or tuple of classes.
      conversion_func: returns a Tensor, or NotImplemented to leave the value to the next function.
      priority: smaller runs earlier.

    Raises:
      TypeError: `base_type` is no class or tuple of classes, or `conversion_func` no function.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not types or not all(isinstance(each, type) for each in types):
        raise TypeError(
            "Argument `base_type` must be a type or a tuple of types. Obtained:"
            f" {base_type!r}. Pass the class of the values."
        )
    if not callable(conversion_func):
        raise TypeError("Argument `conversion_func` must be a callable.")
    if any(issubclass(kind, each) for kind in _NUMBERS for each in types):
        _plain.clear()  # numbers take the general way from now on
        _kept.clear()
    _converters.append((priority, len(_converters), base_type, conversion_func))
    _converters.sort(key=lambda entry: entry[:2])


def constant_tensor(array: np.ndarray[Any, Any], dtype: DType, name: str = "Const") -> Tensor:
    """A tensor with this value: eager, or a Const operation of the current graph."""
    if state.graph is None:
        tensor = wrap(array, dtype)
        if state.place is not None:
            state.place((tensor,))
        return tensor
    op = lookup("Const")
    attrs = {"value": HashableArray(array, dtype), "dtype": dtype}
    return state.graph.add_operation(op, (), None, attrs, name).outputs[0]  # type: ignore[no-any-return]


_NUMBERS = {int: dtypes.int32, float: dtypes.float32}  # and what they are by themselves
_HALF = float(np.finfo(np.float32).max) / 2
_plain: dict[Any, float] = {  # by class and dtype's index, the size up to which numbers simply fit
    (float, dtypes.float32.index): _HALF,
    (float, dtypes.float64.index): math.inf,
    (int, dtypes.float32.index): _HALF,
    (int, dtypes.float64.index): _HALF,
    (int, dtypes.int32.index): INT32_MAX,
    (int, dtypes.int64.index): INT32_MAX,
}


def plain_number(value: Any, dtype: Any) -> EagerTensor | None:
    """A number of Python as an eager tensor of a common dtype; None where more is to be looked at.

    Steps and rates are given to operations at each call.
    """
    most = _plain.get((value.__class__, dtype.index)) if dtype.__class__ is DType else None
    if most is None or state.graph is not None or state.place is not None:
        return None
    return wrap(np.array(value, dtype.numpy_dtype), dtype) if -most <= value <= most else None


_kept: dict[Any, EagerTensor] = {}  # by class, value and dtype's index; made again if lost
_KEPT = 4096


def kept_number(value: Any, dtype: DType) -> EagerTensor | None:
    """`plain_number` for an operation without outputs: a tensor that may have been given before.

    Rates of optimizers come back at each step, and nothing can hold on to what they become.
    """
    key = value.__class__, value, dtype.index
    found = _kept.get(key)
    if found is None or state.graph is not None or state.place is not None:
        found = plain_number(value, dtype)
        if found is not None and value and state.place is None:  # 0.0 and -0.0 would be one key
            if len(_kept) >= _KEPT:
                _kept.clear()
            found._array.flags.writeable = False  # whoever gets hold of it, gradients, say
            _kept[key] = found
    return found


_short: dict[Any, np.ndarray[Any, Any]] = {}  # arrays that nothing writes; made again if lost
_SHORT = 8, 4096  # numbers of a list, and lists remembered


def short_integers(value: Any, dtype: DType | None) -> EagerTensor | None:
    """A whole number, or short lists of them, as an eager tensor; None for any other value.

    Axes, sizes and shapes come back at each call of an operation, so their arrays are kept. They go
    to inputs whose values kernels read, and to no output. Thread-safe.
    """
    if state.graph is not None or state.place is not None:
        return None
    if dtype is not dtypes.int32 and dtype is not dtypes.int64:
        return None
    if value.__class__ is int:
        key: Any = (value, dtype.index)
    elif 0 < len(value) <= _SHORT[0] and all(v.__class__ is int for v in value):
        key = (tuple(value), dtype.index)
    else:
        rows = _rows_of_integers(value)
        if rows is None:
            return None
        key = (rows, dtype.index)
    array = _short.get(key)
    if array is None:
        array = np.array(value, np.int64) if _in_range(value) else None
        if array is None:
            return None
        array = array.astype(dtype.numpy_dtype)
        array.flags.writeable = False
        if len(_short) >= _SHORT[1]:
            _short.clear()
        _short[key] = array
    return wrap(array, dtype)


def _rows_of_integers(value: Any) -> Any:
    """A short list of equally long lists of whole numbers, as tuples; None for any other."""
    if not 0 < len(value) <= _SHORT[0]:
        return None
    for row in value:
        if row.__class__ is not list and row.__class__ is not tuple:
            return None
        if len(row) != len(value[0]) or not 0 < len(row) <= _SHORT[0]:
            return None
        for number in row:
            if number.__class__ is not int:
                return None
    return tuple(map(tuple, value))


def _in_range(value: Any) -> bool:
    if value.__class__ is not int and value[0].__class__ is not int:
        return all(map(_in_range, value))
    numbers = (value,) if value.__class__ is int else value
    return all(INT32_MIN <= number <= INT32_MAX for number in numbers)


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
    hint = dtype_hint if dtype_hint is not None else preferred_dtype
    if value.__class__ in _NUMBERS:
        first = dtype if dtype is not None else hint
        number = plain_number(value, _NUMBERS[value.__class__] if first is None else first)
        if number is not None:
            return number
    wanted = as_dtype(dtype).base_dtype if dtype is not None else None
    if isinstance(value, Tensor):
        return _convert_tensor(value, wanted, name)
    for _, _, base, function in _converters:
        if isinstance(value, base):
            result = _run_converter(function, value, wanted, hint, name, as_ref)
            if result is not NotImplemented:
                return result
    if hasattr(value, "__tf_tensor__"):
        return _convert_tensor(value.__tf_tensor__(wanted, name), wanted, None)
    if wanted is None and hint is not None:
        try:
            array, found = _convert_value(value, as_dtype(hint).base_dtype, name)
        except (TypeError, ValueError):
            array, found = _convert_value(value, None, name)
    else:
        array, found = _convert_value(value, wanted, name)
    if isinstance(array, Tensor):
        return array
    if is_held(array, value):
        array = aligned_copy(array)
    is_shape = isinstance(value, (TensorShape, Dimension))
    return constant_tensor(array, found, name or ("shape_as_tensor" if is_shape else "Const"))


def _convert_value(value: Any, wanted: DType | None, name: str | None) -> tuple[Any, Any]:
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return _pack(value, wanted, name), None
    if isinstance(value, (TensorShape, Dimension)):
        found = to_array(value)
        if wanted not in (None, dtypes.int32, dtypes.int64):
            raise TypeError(
                f"Cannot convert {value!r} to dtype {wanted.name}: expected int32 or int64. "
                "Use tf.cast after the conversion, or tf.constant."
            )
        return found if wanted is None else to_array(value, wanted)
    return to_array(value, wanted)


def own_dtype(value: Any) -> DType:
    """The dtype that a value which is no tensor converts to when nobody asks for another one.

    Raises:
      ValueError, TypeError: it has no tensor form, or only its converter knows the dtype.
    """
    if value.__class__ is list or value.__class__ is tuple:
        plain = from_plain_numbers(value, None)  # the common case
        if plain is not None:
            return plain[1]
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return next(_tensors_in(value)).dtype.base_dtype
    if isinstance(value, _converted_types()):
        raise TypeError(f"The converter of {type(value).__name__} decides its dtype.")
    return to_array(value)[1]


def _holds_tensors(value: Any) -> bool:
    return _holds_any(value, (TensorBase, *_converted_types()))


def _holds_any(value: Any, types: tuple[Any, ...]) -> bool:
    kind = one_kind(value)
    if kind in _NUMBERS and not issubclass(kind, types):
        return False
    for item in value:
        if isinstance(item, (list, tuple)):
            if _holds_any(item, types):
                return True
        elif isinstance(item, types):
            return True
    return False


def _converted_types() -> tuple[Any, ...]:
    found: list[Any] = []
    for _, _, base, _ in _converters:
        found.extend(base if isinstance(base, tuple) else (base,))
    return tuple(found)


def _tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item)
    elif isinstance(value, (TensorBase, *_converted_types())):
        yield convert_to_tensor(value)


def _pack(value: Any, wanted: DType | None, name: str | None) -> Tensor:
    """A list or tuple that holds tensors, packed along a new first axis.

    The first tensor's dtype is that of the numbers beside it. If another is wanted, all are cast.
    """
    found = next(_tensors_in(value)).dtype
    packed = _pack_parts(value, found, wanted if wanted is not found else None)
    return execute("Pack", (packed,), {"axis": 0}, name or "packed")  # type: ignore[no-any-return]


def _pack_parts(value: Any, found: DType, cast_to: DType | None) -> list[Tensor]:
    parts = []
    for item in value:
        if isinstance(item, (list, tuple)) and _holds_tensors(item):
            inner = _pack_parts(item, found, cast_to)
            parts.append(execute("Pack", (inner,), {"axis": 0}, "packed"))
            continue
        is_tensor = isinstance(item, (TensorBase, *_converted_types()))
        tensor = convert_to_tensor(item, dtype=None if is_tensor else cast_to or found)
        if cast_to is not None and tensor.dtype is not cast_to:
            tensor = execute("Cast", (tensor,), {"DstT": cast_to}, None)
        elif cast_to is None and tensor.dtype is not found:
            problem = TypeError if state.graph is not None else _invalid_argument
            raise problem(
                f"Pack: expected tensors of one dtype in a list, got {found.name} and "
                f"{tensor.dtype.name}. "
                f"Use tf.cast(tensor, tf.{found.name})."
            )
        parts.append(tensor)
    return parts


def _invalid_argument(message: str) -> Exception:
    return errors.InvalidArgumentError(None, None, message)


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


def _convert_tensor(value: Tensor, wanted: DType | None, name: str | None) -> Tensor:
    if wanted is not None and value._dtype.base_dtype is not wanted:
        raise wrong_dtype(value, wanted)
    graph = state.graph
    if graph is not None:
        if value.__class__ is SymbolicTensor and graph.home_of((value,)) is not graph:
            return value  # its operations go to its own graph
        return graph.as_tensor(value, name)  # type: ignore[no-any-return]
    if isinstance(value, SymbolicTensor):
        raise symbolic_in_eager(value)
    return value


def wrong_dtype(value: Tensor, wanted: DType) -> Exception:
    """The error for a tensor that is asked for in another dtype."""
    return ValueError(
        f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype"
        f" {value._dtype.name}: {value!r}. Use tf.cast(tensor, tf.{wanted.name}) to change its"
        " dtype."
    )


def symbolic_in_eager(value: SymbolicTensor) -> Exception:
    """The error for a graph's tensor that is used where operations run at once."""
    graph = value.graph
    if getattr(graph, "building_function", False):
        return TypeError(  # TensorFlow's class here; inside of another function it is ValueError's
            f"{value!r} is out of scope and cannot be used here. Use return values, explicit Python"
            f" locals or TensorFlow collections to access it. It was defined in the function"
            f" {getattr(graph, 'name', graph)} at {value.op.location}, and used outside of that"
            " function. Return it from the function instead."
        )
    return TypeError(
        f"{value!r} is a symbolic tensor of a graph, created at {value.op.location}: expected a"
        " tensor with a value. Evaluate it with Session.run, or use it inside `with"
        " graph.as_default():`."
    )


def _no_execute(*arguments: Any) -> Any:
    raise RuntimeError("penstock.core.execute is not loaded")


execute: Callable[..., Any] = _no_execute  # set by penstock.core.execute, which imports this module


# ---- the specs of tensors


def _spec_of_tensor(value: Tensor) -> TensorSpec:
    return TensorSpec(value.shape, value.dtype)


def _cast_to_spec(spec: TensorSpec, value: Any, context: Any) -> Tensor:
    del context
    tensor: Tensor = convert_to_tensor(value, spec.dtype)
    if not spec.is_compatible_with(tensor):
        raise TypeError(
            f"Cannot cast {value!r} to {spec}: expected a compatible value, got one of"
            f" {_spec_of_tensor(tensor)}."
        )
    return tensor


def _spec_of_convertible(value: Any) -> TensorSpec | None:
    """The spec of the tensor that a number, text or list of these converts to; None without one."""
    try:
        return _spec_of_tensor(convert_to_tensor(value))
    except (TypeError, ValueError):
        return None


register_type_spec_from_value_converter(Tensor, _spec_of_tensor, allow_subclass=True)
register_type_spec_fallback(_spec_of_convertible)
attach_values(
    TensorSpec,
    ValueHooks(Tensor, lambda spec, value: value, lambda spec, value: value, cast=_cast_to_spec),
)
