"""Attributes of an operation: inferred from inputs, completed with defaults, in one form.

One form: a type is a DType, a shape a tuple with None for unknown (None: unknown rank), a list a
tuple, a string a str (bytes when it is not UTF-8), a tensor a HashableArray, a function a name or
an object with a `name`. All are hashable.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.arrays import HashableArray, to_array
from penstock.core.op_def import REQUIRED, ArgDef, AttrDef, OpDef
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape
from penstock.util.frames import at_user_line


def complete(
    op: OpDef,
    dtypes: Sequence[DType],
    given: dict[str, Any],
    counts: Sequence[int],
    runtime: bool = False,
) -> dict[str, Any]:
    """All attributes of an operation, in one form and in the order of its definition.

    Args:
      op: the definition.
      dtypes: the dtypes of the flat inputs.
      given: attributes set by the caller.
      counts: for each input argument, its number of tensors.
      runtime: whether it is eager or imported: TensorFlow's runtime words errors otherwise than its
        Python functions do.

    Raises:
      TypeError, ValueError: an attribute is unknown, missing, of the wrong kind, or contradicts the
        inputs; None without a default.
    """
    found = {
        name: canonical(op, _known(op, name), value)
        for name, value in given.items()
        if value is not None or _optional(op, name)
    }
    position = 0
    for arg, count in zip(op.inputs, counts, strict=True):
        _infer(op, arg, dtypes[position : position + count], found, position if runtime else None)
        position += count
    result = {}
    for name, attr in op.attrs.items():
        value = found.get(name, attr.default)
        if value is REQUIRED and name in given:
            check_kind(op, attr, None)
        if value is REQUIRED:
            raise ValueError(
                f"{op.name}: attribute {name!r} ({attr.kind}) is required. Pass {name}=..."
            )
        _check_allowed(op, attr, value, runtime)
        result[name] = value
        if op.calls and attr.element_kind == "func":
            _check_known(op, value if attr.is_list else (value,))
    for name in found:  # attributes starting with "_" travel with the operation
        if name not in result:
            result[name] = found[name]
    return result


def key_of(op: OpDef, attrs: dict[str, Any]) -> tuple[Any, ...]:
    """A key that attributes share only if they mean the same: 0.0 and -0.0, equal ones, do not.

    Not hashable where an attribute, given as a list, say, is not.
    """
    key: tuple[Any, ...] = tuple(attrs.items())
    for name in op.float_attrs:
        value = attrs.get(name)
        is_zero = value == 0.0 if isinstance(value, (float, np.generic)) else False
        if is_zero or (value.__class__ is tuple and 0.0 in value):
            key += (str(value),)
    return key


def _optional(op: OpDef, name: str) -> bool:
    attr = op.attrs.get(name)
    return attr is not None and attr.kind == "shape"


def _known(op: OpDef, name: str) -> AttrDef:
    attr = op.attrs.get(name)
    if attr is None:
        if name.startswith("_"):
            return AttrDef(name, "any")
        raise ValueError(
            f"{op.name}: unknown attribute {name!r}, expected one of {sorted(op.attrs)}."
        )
    return attr


def _infer(
    op: OpDef, arg: ArgDef, dtypes: Sequence[DType], found: dict[str, Any], place: int | None
) -> None:
    """What the dtypes of an argument say. `place`: of its first tensor, for the runtime."""
    if arg.number_attr is not None:
        _agree(op, arg, arg.number_attr, len(dtypes), found)
    if arg.type_list_attr is not None:
        _agree(op, arg, arg.type_list_attr, tuple(t.base_dtype for t in dtypes), found)
    for i, dtype in enumerate(dtypes):
        if arg.is_ref and not dtype.is_ref:
            raise TypeError(
                f"'{op.name}' Op requires that input '{arg.name}' be a mutable tensor "
                f"(e.g.: a tf.Variable), got one of type {dtype.name}."
            )
        if arg.type_attr is not None:
            wanted: DType = found.setdefault(arg.type_attr, dtype.base_dtype)
        else:
            wanted = arg.dtype or dtype.base_dtype
        if dtype.base_dtype is wanted:
            continue
        if place is not None:
            raise TypeError(wrong_input(op, place + i, wanted, dtype))
        if arg.type_attr is not None:
            _agree(op, arg, arg.type_attr, dtype.base_dtype, found)
        else:
            raise TypeError(
                f"Input '{arg.name}' of '{op.name}' Op has type {dtype.base_dtype.name} that does"
                f" not match expected type of {wanted.name}."
            )


def wrong_input(op: OpDef, place: int, wanted: DType, got: DType) -> str:
    """What TensorFlow says of an eager operation's input of another dtype."""
    wanted_name, got_name = (_KERNEL_NAMES.get(t.name, t.name) for t in (wanted, got.base_dtype))
    return (
        f"cannot compute {op.name} as input #{place}(zero-based) was expected to be a {wanted_name}"
        f" tensor but is a {got_name} tensor. Use tf.cast to convert it."
    )


_KERNEL_NAMES = {"float16": "half", "float32": "float", "float64": "double"}


def _agree(op: OpDef, arg: ArgDef, name: str, value: Any, found: dict[str, Any]) -> None:
    before = found.setdefault(name, value)
    if before == value:
        return
    if isinstance(value, DType):
        other = next((a.name for a in op.inputs if a.type_attr == name and a is not arg), name)
        raise TypeError(
            f"Input '{arg.name}' of '{op.name}' Op has type {value.name} that does not match type"
            f" {before.name} of argument '{other}'."
        )
    raise ValueError(
        f"{op.name}: input '{arg.name}' gives {name}={value}, but {name}={before} was expected."
    )


def _check_known(op: OpDef, functions: Sequence[Any]) -> None:
    for function in functions:
        if isinstance(function, str):
            raise errors.NotFoundError(
                None,
                None,
                f"{op.name}: function '{function}' was not found: expected a concrete function or "
                "one of the graph that is imported, got a name that stands for none.",
            )


def _check_allowed(op: OpDef, attr: AttrDef, value: Any, runtime: bool) -> None:
    size = len(value) if attr.is_list else value
    if attr.minimum is not None and size < attr.minimum:
        raise ValueError(_too_small(op, attr, size, runtime))
    if attr.allowed is None:
        return
    for item in value if attr.is_list else (value,):
        if item not in attr.allowed:
            is_type = isinstance(item, DType)
            raise (TypeError if is_type else ValueError)(_not_allowed(op, attr, item, runtime))


def _too_small(op: OpDef, attr: AttrDef, size: int, runtime: bool) -> str:
    """A number or the length of a list below the attribute's minimum, as TensorFlow says it."""
    if runtime:
        what = (
            f"Length for attr '{attr.name}' of"
            if attr.is_list
            else f"Value for attr '{attr.name}' of"
        )
        return f"{op.name}: {what} {size} must be at least minimum {attr.minimum}."
    for arg in op.inputs:
        if arg.number_attr == attr.name:
            return (
                f"List argument '{arg.name}' to '{op.name}' Op with length {size} shorter than"
                f" minimum length {attr.minimum}."
            )
    got = f"list of length {size}" if attr.is_list else size
    return f"Attr '{attr.name}' of '{op.name}' Op passed {got} less than minimum {attr.minimum}."


def _not_allowed(op: OpDef, attr: AttrDef, item: Any, runtime: bool) -> str:
    """A type or text that is not one of the attribute's, as TensorFlow says it."""
    if isinstance(item, DType):
        names = ", ".join(t.name for t in attr.allowed or ())
        shown = item.name
        parameter = next((a.name for a in op.inputs if a.type_attr == attr.name), attr.name)
        refusal = f"Value passed to parameter '{parameter}' has DataType {shown}"
    else:
        names = ", ".join(f'"{text}"' for text in attr.allowed or ())
        shown = f'"{item}"'
        refusal = f"Attr '{attr.name}' of '{op.name}' Op passed string '{item}' not in: {names}."
    if runtime:
        value = f"{op.name}: Value for attr '{attr.name}' of {shown}"
        return f"{value} is not in the list of allowed values: {names}"
    if isinstance(item, DType):
        return f"{op.name}: {refusal} not in list of allowed values: {names}"
    return refusal


# Python classes whose values are in the form of a kind already: most attributes are given so.
_READY: dict[str, type] = {"int": int, "bool": bool, "string": str}
_INT, _FLOAT = {int}, {float}


def canonical(op: OpDef, attr: AttrDef, value: Any) -> Any:
    """`value` in the one form of the attribute's kind."""
    kind, given = attr.kind, value.__class__
    if given is _READY.get(kind):
        return value
    if given is list or given is tuple:
        if kind == "list(int)" and set(map(type, value)) <= _INT:
            return tuple(value)
        if kind == "list(float)" and set(map(type, value)) <= _FLOAT:
            return tuple(map(_float, value))
    if attr.is_list:
        return tuple(_one(op, attr, attr.element_kind, v) for v in _items(op, attr, value))
    return _one(op, attr, attr.kind, value)


def _one(op: OpDef, attr: AttrDef, kind: str, value: Any) -> Any:
    try:
        return _FORMS[kind](value)
    except (TypeError, ValueError) as problem:
        if kind == "shape":
            text = f"Error converting {attr.name} to a TensorShape: {problem}"
            raise type(problem)(f"{text} It is an attribute of '{op.name}' Op.") from None
        raise TypeError(
            f"Expected {_KINDS.get(kind, kind)} for argument '{attr.name}' not {value!r}: an"
            f" attribute of '{op.name}' Op ({problem})."
        ) from None


def check_kind(op: OpDef, attr: AttrDef, value: Any) -> None:
    """Refuses a value of the wrong kind, and None where there is no default.

    Raises:
      TypeError: in these cases.
    """
    if value is not None:
        canonical(op, attr, value)
    elif attr.default is REQUIRED and attr.kind != "shape":
        what = "list" if attr.is_list else _KINDS.get(attr.kind, attr.kind)
        raise TypeError(
            f"Expected {what} for argument '{attr.name}' not None: an attribute of '{op.name}' Op"
            " without a default."
        )


def _items(op: OpDef, attr: AttrDef, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (str, bytes)):
        try:
            return tuple(value)
        except TypeError:
            pass
    raise TypeError(f"Expected list for '{attr.name}' argument to '{op.name}' Op, not {value!r}.")


def _int(value: Any) -> int:
    if hasattr(value, "read_value"):  # a variable
        value = value.value()
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise TypeError("not an integer")
    return int(value.__index__())


def _float(value: Any) -> float:
    """The number as float32 has it: a NodeDef's floats are no wider, so kernels see no other."""
    if isinstance(value, (str, bytes)):
        raise TypeError("not a number")
    return ctypes.c_float(value).value


def _bool(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError("not a bool")
    return bool(value)


def _string(value: Any) -> str | bytes:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _shape(value: Any) -> tuple[int | None, ...] | None:
    if value is None or (
        isinstance(value, tuple) and all(v is None or (type(v) is int and v >= 0) for v in value)
    ):
        return value
    return TensorShape(value).dims_tuple


def _tensor(value: Any) -> HashableArray:
    if isinstance(value, HashableArray):
        return value
    array, dtype = to_array(value)
    return HashableArray(array.copy(), dtype)


def _type(value: Any) -> DType:
    return as_dtype(value).base_dtype


def _same(value: Any) -> Any:
    hash(value)
    return value


def _function(value: Any) -> Any:
    """A name, or a body: that of a concrete function stands for it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str) or hasattr(value, "orders_all"):
        return value
    body = getattr(value, "body", None)
    if hasattr(body, "orders_all"):
        return body
    if hasattr(value, "get_concrete_function"):
        raise TypeError("it has no trace of its own; pass its get_concrete_function(...)")
    raise TypeError("pass a concrete function: tf.function(f).get_concrete_function(...)")


_FORMS = {
    "int": _int, "float": _float, "bool": _bool, "string": _string, "shape": _shape,
    "tensor": _tensor, "type": _type, "func": _function, "any": _same,
}  # fmt: skip

_KINDS = {
    "type": "DataType",
    "tensor": "TensorProto",
    "func": "a concrete function",
}  # words of errors


def output_dtypes(op: OpDef, attrs: dict[str, Any]) -> tuple[DType, ...]:
    """The dtypes of the flat outputs."""
    result: list[DType] = []
    for arg in op.outputs:
        if arg.type_list_attr is not None:
            result.extend(attrs[arg.type_list_attr])
            continue
        # DType: an argument without a type attribute has a dtype
        dtype: Any = attrs[arg.type_attr] if arg.type_attr is not None else arg.dtype
        if arg.is_ref:
            dtype = dtype._as_ref
        result.extend([dtype] * (attrs[arg.number_attr] if arg.number_attr is not None else 1))
    return tuple(result)


def group_outputs(op: OpDef, attrs: dict[str, Any], flat: Sequence[Any]) -> Any:
    """Flat outputs as the operation returns them: None, one value, a list, a list with lists."""
    if len(op.outputs) == 1 and not op.outputs[0].is_list:
        return flat[0]
    if not op.outputs:
        return None
    result: list[Any] = []
    position = 0
    for arg in op.outputs:
        if not arg.is_list:
            result.append(flat[position])
            position += 1
            continue
        count = (
            attrs[arg.number_attr]
            if arg.number_attr is not None
            else len(attrs[arg.type_list_attr or ""])
        )
        result.append(list(flat[position : position + count]))
        position += count
    return result[0] if len(result) == 1 else result


def input_counts(op: OpDef, total: int, attrs: dict[str, Any]) -> tuple[int, ...]:
    """Tensors per input argument when only the flat number and the attributes are known."""
    known: list[int | None] = []
    for arg in op.inputs:
        if not arg.is_list:
            known.append(1)
        elif arg.number_attr is not None and arg.number_attr in attrs:
            known.append(int(attrs[arg.number_attr]))
        elif arg.type_list_attr is not None and arg.type_list_attr in attrs:
            known.append(len(attrs[arg.type_list_attr]))
        else:
            known.append(None)
    open_count = sum(k is None for k in known)
    if open_count > 1:
        raise ValueError(
            f"{op.name}: pass the attributes that give the lengths of its list inputs."
        )
    rest = total - sum(k for k in known if k is not None)
    if rest < 0 or (open_count == 0 and rest):
        raise ValueError(
            f"{op.name}: got {total} inputs, which does not match its definition {op.text}."
        )
    return tuple(rest if k is None else k for k in known)


def place(axis: Any) -> Any:
    """The axis or size that public functions hand on: a bool counts as 0 or 1, as in NumPy."""
    return int(axis) if isinstance(axis, (bool, np.bool_)) else axis


def user_error(op_name: str, problem: Exception, eager: bool) -> Exception:
    """The exception of a broken rule; eager operations raise it as InvalidArgumentError."""
    if (
        eager
        and isinstance(problem, (ValueError, TypeError))
        and not isinstance(problem, errors.OpError)
    ):
        return errors.InvalidArgumentError(None, None, f"{problem} [Op:{op_name}]{at_user_line()}")
    return problem
