"""The fields of extension types: which annotations they may have, and how values become fields.

A field holds a tensor, a value made of tensors, a plain immutable Python value, or tuples and
mappings of these. One walk over the annotation converts and checks a value; the same walk with
`in_spec` reads the fields of the type's spec, where a TypeSpec stands in place of each tensor.
"""

import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from penstock.core.composite import CompositeTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.types.dtypes import DType, as_dtype
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.tensor_shape import TensorShape, as_shape
from penstock.types.type_spec import TypeSpec

_PLAIN = (int, float, str, bytes, bool, type(None))
RESERVED = frozenset({"self", "Spec", "_type_spec"})


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


class Field(NamedTuple):
    """One field of an extension type: its name, its annotation and its default or REQUIRED."""

    name: str
    annotation: Any
    default: Any = REQUIRED


class ImmutableDict(Mapping[str, Any]):
    """A mapping that cannot be changed: the value of a field annotated `Mapping`."""

    __slots__ = ("_items",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._items = dict(*args, **kwargs)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._items.items())))

    def __repr__(self) -> str:
        return f"ImmutableDict({self._items!r})"


def annotation_text(annotation: Any) -> str:
    """How a message shows an annotation."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _is_mapping(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Mapping) and not issubclass(origin, dict)


def _is_tensor_like(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(
        annotation, (Tensor, CompositeTensor, TypeSpec)
    )


def check_annotation(field: str, annotation: Any) -> None:
    """Refuses an annotation that says nothing about tensors or immutable values.

    Raises:
      TypeError: the annotation is not supported.
    """
    if annotation in _PLAIN or annotation is None or annotation in (DType, TensorShape):
        return
    if _is_tensor_like(annotation):
        return
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple and arguments:
        inner = arguments[:1] if arguments[1:] == (Ellipsis,) else arguments
    elif _is_union(annotation) or (_is_mapping(annotation) and arguments):
        inner = arguments
    else:
        raise TypeError(
            f"In field {field!r}: Unsupported type annotation {annotation_text(annotation)!r}."
            " Expected a tensor class, another extension type, int, float, str, bytes, bool, None,"
            " tf.DType, tf.TensorShape, or Tuple, Union, Optional or Mapping of these."
        )
    for argument in inner:
        check_annotation(field, argument)


def convert_value(path: str, value: Any, annotation: Any, in_spec: bool = False) -> Any:
    """`value` as a field of this annotation: tensors converted, sequences as tuples.

    Args:
      path: the name of the field, with the place within it, for the message.
      value: what the user gave.
      annotation: the annotation of the field.
      in_spec: whether the field is one of the type's spec, which holds a TypeSpec for each tensor.

    Raises:
      TypeError: the value is not what the annotation says.
    """
    if isinstance(annotation, type) and issubclass(annotation, (Tensor, CompositeTensor)):
        return _convert_tensor(path, value, annotation, in_spec)
    if annotation is DType or annotation is TensorShape:
        return _convert_with(path, value, annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple:
        return _convert_tuple(path, value, arguments, in_spec)
    if _is_union(annotation):
        return _convert_union(path, value, annotation, in_spec)
    if _is_mapping(annotation):
        return _convert_mapping(path, value, arguments, in_spec)
    return _convert_plain(path, value, annotation)


def _fail(path: str, expected: str, value: Any) -> TypeError:
    return TypeError(
        f"{path}: expected {expected}, got {type(value).__name__!r}. Pass a value of the type that"
        " the field is annotated with, or change the annotation."
    )


def _convert_plain(path: str, value: Any, annotation: Any) -> Any:
    if annotation is None or annotation is type(None):
        if value is not None:
            raise _fail(path, "None", value)
    elif not isinstance(value, annotation) or (
        isinstance(value, bool) and annotation in (int, float)
    ):
        raise _fail(path, f"{annotation.__name__!r}", value)
    return value


def _convert_with(path: str, value: Any, annotation: Any) -> Any:
    try:
        return as_dtype(value) if annotation is DType else as_shape(value)
    except (TypeError, ValueError) as problem:
        raise _fail(path, f"{annotation.__name__!r}", value) from problem


def _convert_tensor(path: str, value: Any, annotation: type, in_spec: bool) -> Any:
    if in_spec:
        if not isinstance(value, TypeSpec) or not issubclass(_described(value), annotation):
            raise _fail(path, f"a TypeSpec of {annotation.__name__}", value)
        return value
    if isinstance(value, annotation):
        return value
    # A placeholder of a structure, as `nest` and specs build them, carries its spec.
    if getattr(value, "_is_extension_placeholder", False):
        return value
    if not issubclass(annotation, Tensor):
        raise _fail(path, f"a {annotation.__name__}", value)
    try:
        return convert_to_tensor(value)
    except (TypeError, ValueError) as problem:
        raise _fail(path, "a Tensor", value) from problem


def _described(spec: TypeSpec) -> type:
    """The class of a spec's values; a ragged tensor's rows may be dense, and still are its rows."""
    if isinstance(spec, RaggedTensorSpec):
        return spec._hooks().value_type
    return spec.value_type


def _convert_tuple(path: str, value: Any, arguments: tuple[Any, ...], in_spec: bool) -> Any:
    if not isinstance(value, (list, tuple)):
        raise _fail(path, "tuple", value)
    if arguments[1:] == (Ellipsis,):
        kinds = [arguments[0]] * len(value)
    elif len(arguments) != len(value):
        raise TypeError(
            f"{path}: expected a tuple of length {len(arguments)}, got one of length {len(value)}."
            " Annotate Tuple[T, ...] for any length."
        )
    else:
        kinds = list(arguments)
    return tuple(
        convert_value(f"{path}[{i}]", v, k, in_spec)
        for i, (v, k) in enumerate(zip(value, kinds, strict=True))
    )


def _convert_mapping(path: str, value: Any, arguments: tuple[Any, ...], in_spec: bool) -> Any:
    if not isinstance(value, Mapping):
        raise _fail(path, "mapping", value)
    key_type, value_type = arguments
    return ImmutableDict(
        {
            convert_value(f"{path}[<key>]", k, key_type, in_spec): convert_value(
                f"{path}[{k!r}]", v, value_type, in_spec
            )
            for k, v in value.items()
        }
    )


def _convert_union(path: str, value: Any, annotation: Any, in_spec: bool) -> Any:
    options = typing.get_args(annotation)
    exact = [o for o in options if isinstance(o, type) and type(value) is o]
    for option in exact or options:
        if option is Tensor and not in_spec and len(options) > 1 and _plain_fits(value, options):
            continue
        try:
            return convert_value(path, value, option, in_spec)
        except TypeError:
            continue
    raise _fail(path, f"one of {', '.join(map(annotation_text, options))}", value)


def _plain_fits(value: Any, options: tuple[Any, ...]) -> bool:
    """Whether a value already is of one of the other classes, so that it is not converted."""
    return any(
        isinstance(o, type) and o is not Tensor and isinstance(value, o) for o in options
    ) or (value is None and type(None) in options)
