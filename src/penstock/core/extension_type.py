"""`ExtensionType`: user-defined values made of tensors.

A subclass lists its fields by annotation. Defining the class makes the constructor, makes
the values immutable and comparable, and makes the nested class `Spec`, a TypeSpec whose fields
are those of the type with a TypeSpec for each tensor; so functions, control flow, `nest` and saved
files take the values apart like the built-in composite tensors.
"""

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, dataclass_transform

from penstock.core import convert, dispatch
from penstock.core.composite import CompositeTensor
from penstock.core.extension_fields import (
    REQUIRED,
    RESERVED,
    Field,
    ImmutableDict,
    check_annotation,
    convert_value,
)
from penstock.core.tensor import Tensor
from penstock.types.type_spec import BatchableTypeSpec, TypeSpec, register, type_spec_from_value
from penstock.util import nest

_OPEN = "_extension_type_open"  # set while a constructor runs


class _Fields:
    """What extension types and their specs share: values that cannot be changed once built."""

    @classmethod
    def _tf_extension_type_fields(cls) -> list[Field]:
        raise NotImplementedError

    @classmethod
    def _tf_extension_type_has_field(cls, name: str) -> bool:
        return any(f.name == name for f in cls._tf_extension_type_fields())

    def __setattr__(self, name: str, value: Any) -> None:
        known = name.startswith("_cached") or self._tf_extension_type_has_field(name)
        if known and (_OPEN in self.__dict__ or name.startswith("_cached")):
            object.__setattr__(self, name, value)
            return
        raise AttributeError(
            f"Cannot mutate attribute `{name}` outside the custom constructor of"
            f" {type(self).__name__}: expected no assignment, since values are immutable. Build a"
            " new value instead."
        )

    def __delattr__(self, name: str) -> None:
        if _OPEN in self.__dict__:
            object.__delattr__(self, name)
            return
        raise AttributeError(
            f"Cannot mutate attribute `{name}` outside the custom constructor of"
            f" {type(self).__name__}: values are immutable. Build a new value instead."
        )


def _fields_of(cls: type) -> list[Field]:
    """The fields that `cls` and its bases declare, a subclass's after those of its bases."""
    found: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= {f.name: f for f in base.__dict__.get("_extension_fields", ())}
    for name, annotation in _own_annotations(cls).items():
        found[name] = Field(name, annotation, cls.__dict__.get(name, REQUIRED))
    return list(found.values())


def _own_annotations(cls: type) -> dict[str, Any]:
    own = inspect.get_annotations(cls)
    if not any(isinstance(a, str) for a in own.values()):
        found = dict(own)
    else:
        hints = typing.get_type_hints(cls)
        found = {name: hints[name] for name in own}
    class_variable: Any = ClassVar
    return {n: a for n, a in found.items() if typing.get_origin(a) is not class_variable}


def _refuse_unannotated(cls: type) -> None:
    """A value in the class's body without an annotation is taken for a forgotten field."""
    annotated = inspect.get_annotations(cls)
    for name, value in cls.__dict__.items():
        special = (name.startswith("__") and name.endswith("__")) or name == "_abc_impl"
        special = special or hasattr(CompositeTensor, name)  # what a library's class says of itself
        method = callable(value) or isinstance(value, (property, classmethod, staticmethod))
        if not (special or method or name in annotated):
            raise ValueError(
                f"The field annotations for {cls.__name__} are invalid. Field {name} is missing a"
                " type annotation. Write `name: type = value`, or annotate it as a ClassVar."
            )


def _check_fields(cls: type, fields: Sequence[Field]) -> list[Field]:
    _refuse_unannotated(cls)
    checked = []
    for field in fields:
        if field.name in RESERVED or field.name.startswith("_tf_extension_type"):
            raise ValueError(
                f"The field annotations for {cls.__name__} are invalid. Field"
                f" {field.name!r} is reserved. Give the field another name."
            )
        check_annotation(field.name, field.annotation)
        if field.default is not REQUIRED:
            value = convert_value(
                f"default value for {field.name}", field.default, field.annotation
            )
            field = field._replace(default=value)
        checked.append(field)
    return checked


def _signature(fields: Sequence[Field]) -> inspect.Signature:
    """A parameter for each field; from a required one after an optional one on, by name only."""
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", kind)]
    optional = False
    for field in fields:
        required = field.default is REQUIRED
        if required and optional:
            kind = inspect.Parameter.KEYWORD_ONLY
        optional |= not required
        default = inspect.Parameter.empty if required else field.default
        parameters.append(
            inspect.Parameter(field.name, kind, default=default, annotation=field.annotation)
        )
    return inspect.Signature(parameters)


def _make_constructor(fields: Sequence[Field], in_spec: bool) -> Callable[..., None]:
    """`__init__` with a parameter for each field."""
    if in_spec:
        fields = [f._replace(default=REQUIRED) for f in fields]
    signature = _signature(fields)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        self.__dict__[_OPEN] = True
        for name, value in list(given.arguments.items())[1:]:
            self.__dict__[name] = value
        _finish(self, in_spec)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def _wrap_constructor(own: Callable[..., None], cls: type, in_spec: bool) -> Callable[..., None]:
    """A user's `__init__`, within which fields may be assigned; it ends with their check."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        outermost = _OPEN not in self.__dict__
        self.__dict__[_OPEN] = True
        own(self, *args, **kwargs)
        if outermost and (type(self) is cls or "__init__" not in type(self).__dict__):
            _finish(self, in_spec)

    __init__.__signature__ = inspect.signature(own)  # type: ignore[attr-defined]
    __init__.__doc__ = own.__doc__
    return __init__


def _finish(value: Any, in_spec: bool) -> None:
    """Converts and checks the fields of a value just built, and closes it."""
    fields = type(value)._tf_extension_type_fields()
    names = {f.name for f in fields}
    given = set(value.__dict__) - {_OPEN}
    if missing := names - given:
        raise ValueError(
            f"Missing required fields: {missing}. Assign every field of"
            f" {type(value).__name__} in its constructor."
        )
    if extra := {n for n in given - names if not n.startswith("_")}:
        raise ValueError(
            f"Got unexpected fields: {extra}. Annotate them in the class"
            f" {type(value).__name__}, or do not assign them."
        )
    for field in fields:
        own = value.__dict__[field.name]
        value.__dict__[field.name] = convert_value(field.name, own, field.annotation, in_spec)
    del value.__dict__[_OPEN]
    if not in_spec:
        value.__validate__()


@dataclass_transform()
class ExtensionType(_Fields, CompositeTensor):
    """The base class of user-defined values made of tensors.

    Annotate the fields in a subclass; the constructor takes them by position or by name, converts
    tensors, lists and mappings, and checks the types. Values are immutable, compare field by field,
    and pass through `tf.function`, control flow and `tf.nest` like tensors. A field is a tensor,
    another value made of tensors, an int, float, bool, str, bytes, DType, TensorShape or None, or a
    `Tuple`, `Mapping`, `Union` or `Optional` of these. `__validate__` may check a new value.

    Raises:
      TypeError: an annotation is not supported, or a value is not what its field says.
      ValueError: a field has a reserved name.

    Example:
      >>> class Masked(tf.experimental.ExtensionType):
      ...     values: tf.Tensor
      ...     mask: tf.Tensor
      >>> Masked([1, 2], [True, False]).mask.dtype
      tf.bool
    """

    Spec: ClassVar[Any]
    _extension_fields: ClassVar[list[Field]] = []
    _spec_base: ClassVar[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise AssertionError(
            "Cannot create an instance of ExtensionType because ExtensionType is an abstract base"
            " class. Subclass it with annotated fields."
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("_tf_extension_type_do_not_transform_this_class"):
            return
        cls._extension_fields = _check_fields(cls, _fields_of(cls))
        for field in cls._extension_fields:
            if field.name in cls.__dict__:
                delattr(cls, field.name)  # the default, which would hide a missing field
        own = cls.__dict__.get("__init__")
        made = (
            _make_constructor(cls._extension_fields, in_spec=False)
            if own is None
            else _wrap_constructor(own, cls, in_spec=False)
        )
        cls.__init__ = made  # type: ignore[method-assign]
        cls.Spec = _make_spec(cls)
        _register(cls)
        dispatch.add_kinds([cls])

    def __validate__(self) -> None:
        """Checks a value when it is built; subclasses override it and raise."""

    @classmethod
    def _tf_extension_type_fields(cls) -> list[Field]:
        return cls._extension_fields

    @property
    def _type_spec(self) -> TypeSpec:
        found = self.__dict__.get("_cached_spec")
        if found is None:
            found = self._cached_spec = self.Spec.from_value(self)
        return typing.cast(TypeSpec, found)

    def _shape_invariant_to_type_spec(self, shape: Any) -> TypeSpec:
        raise NotImplementedError(
            f"{type(self).__name__} has no shape invariant. Give a TypeSpec to shape_invariants."
        )

    def __repr__(self) -> str:
        return _text(type(self).__qualname__, self)

    def __eq__(self, other: object) -> Any:
        if type(self) is not type(other):
            return False
        if self._type_spec != other._type_spec:
            return False
        return _all_equal(_tensors(self), _tensors(other))

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return not same if isinstance(same, bool) else convert.execute("LogicalNot", (same,))

    __hash__ = None  # type: ignore[assignment]


def _tensors(value: Any) -> list[Any]:
    return nest.flatten(value, expand_composites=True)


def _all_equal(mine: list[Any], theirs: list[Any]) -> Any:
    """A scalar bool tensor: every pair of tensors is equal, element by element."""
    parts = []
    for a, b in zip(mine, theirs, strict=True):
        same = convert.execute("Equal", (a, b))
        axes = convert.convert_to_tensor(list(range(a.shape.rank or 0)), "int32")
        parts.append(convert.execute("All", (same, axes)))
    if not parts:
        return True
    result = parts[0]
    for part in parts[1:]:
        result = convert.execute("LogicalAnd", (result, part))
    return result


def _text(name: str, value: Any) -> str:
    fields = ", ".join(
        f"{f.name}={value.__dict__[f.name]!r}" for f in type(value)._tf_extension_type_fields()
    )
    return f"{name}({fields})"


# ---- specs


class ExtensionTypeSpec(_Fields, TypeSpec):
    """The base class of the specs of extension types; `MyType.Spec` is made from `MyType`."""

    _extension_type: ClassVar[type[ExtensionType]]

    @classmethod
    def _tf_extension_type_fields(cls) -> list[Field]:
        return cls._extension_type._extension_fields

    @property
    def value_type(self) -> type:
        """The extension type."""
        return self._extension_type

    @classmethod
    def from_value(cls, value: ExtensionType) -> "ExtensionTypeSpec":
        """The spec of a value of the extension type.

        Raises:
          TypeError: it is no value of the type.
        """
        if not isinstance(value, cls._extension_type):
            raise TypeError(
                f"{cls.__qualname__}.from_value expected a {cls._extension_type.__qualname__}, got"
                f" {type(value).__name__}."
            )
        parts = tuple((f.name, _spec_of(value.__dict__[f.name])) for f in value._extension_fields)
        made: ExtensionTypeSpec = cls._deserialize(parts)
        return made

    def _serialize(self) -> tuple[Any, ...]:
        return tuple(
            (f.name, _plain(self.__dict__[f.name])) for f in self._tf_extension_type_fields()
        )

    @classmethod
    def _deserialize(cls, serialization: tuple[Any, ...]) -> Any:
        made = cls.__new__(cls)
        made.__dict__[_OPEN] = True
        for name, value in serialization:
            made.__dict__[name] = value
        _finish(made, in_spec=True)
        return made

    @property
    def _component_specs(self) -> Any:
        parts: list[Any] = []
        for field in self._tf_extension_type_fields():
            _collect(self.__dict__[field.name], TypeSpec, parts)
        return tuple(parts)

    def _to_components(self, value: Any) -> Any:
        parts: list[Any] = []
        for field in self._tf_extension_type_fields():
            _collect(value.__dict__[field.name], (Tensor, CompositeTensor), parts)
        return tuple(parts)

    def _from_components(self, components: Any) -> Any:
        remaining = iter(components)
        made = self._extension_type.__new__(self._extension_type)
        for field in self._tf_extension_type_fields():
            made.__dict__[field.name] = _fill(self.__dict__[field.name], remaining)
        return made

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{f.name}={_plain(self.__dict__[f.name])!r}" for f in self._tf_extension_type_fields()
        )
        return f"{type(self).__qualname__}({fields})"

    def __hash__(self) -> int:
        return TypeSpec.__hash__(self)

    def __eq__(self, other: object) -> bool:
        return TypeSpec.__eq__(self, other)


class _BatchableExtensionTypeSpec(ExtensionTypeSpec, BatchableTypeSpec):
    """The spec of a BatchableExtensionType; its encoder says how values are stacked."""

    __slots__ = ()

    @property
    def _encoder(self) -> "ExtensionTypeBatchEncoder":
        return self._extension_type.__batch_encoder__  # type: ignore[attr-defined,no-any-return]

    # A function takes the parts of a value, whatever its encoder makes of it for stacking.

    def flatten(self) -> list[Any]:
        """The specs of the tensors inside."""
        return nest.flatten(self._component_specs, expand_composites=True)

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors inside a value of this type, in the order of `flatten`."""
        return _tensors(self._to_components(value))

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Makes a value from an iterator of its tensors, using up as many as `flatten` has."""
        parts = [next(tensors) for _ in self.flatten()]
        return nest.pack_sequence_as(self, parts, expand_composites=True)

    def _batch(self, batch_size: int | None) -> Any:
        return self._encoder.batch(self, batch_size)

    def _unbatch(self) -> Any:
        return self._encoder.unbatch(self)

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        specs = nest.flatten(self._encoder.encoding_specs(self))
        encoded = nest.flatten(self._encoder.encode(self, value, minimum_rank=1))
        return [
            t
            for spec, part in zip(specs, encoded, strict=True)
            for t in spec._to_batched_tensor_list(part)
        ]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return nest.flatten(self._encoder.encode(self, value), expand_composites=True)

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return nest.flatten(self._encoder.encoding_specs(self), expand_composites=True)

    def _from_compatible_tensor_list(self, tensor_list: Sequence[Any]) -> Any:
        specs = self._encoder.encoding_specs(self)
        encoded = nest.pack_sequence_as(specs, list(tensor_list), expand_composites=True)
        return self._encoder.decode(self, encoded)


class ExtensionTypeBatchEncoder:
    """How the values of a BatchableExtensionType are stacked and taken apart.

    The default encodes a value as the tuple of its tensors and stacks each. Subclass it for types
    whose stacked form differs, and set it as the class attribute `__batch_encoder__`.
    """

    def batch(self, spec: Any, batch_size: int | None) -> Any:
        """The spec of `batch_size` stacked values of `spec`."""
        return spec._deserialize(_map_specs(spec, lambda s: s._batch(batch_size)))

    def unbatch(self, spec: Any) -> Any:
        """The spec of one value of the stack that `spec` describes."""
        return spec._deserialize(_map_specs(spec, lambda s: s._unbatch()))

    def encode(self, spec: Any, value: Any, minimum_rank: int = 0) -> Any:
        """A structure of values that can be stacked, for `value` of type `spec`.

        Args:
          spec: the spec of the value.
          value: the value.
          minimum_rank: the rank that each encoded part must have at least.
        """
        del minimum_rank
        return spec._to_components(value)

    def decode(self, spec: Any, encoded_value: Any) -> Any:
        """The value of type `spec` that `encode` gave."""
        return spec._from_components(encoded_value)

    def encoding_specs(self, spec: Any) -> Any:
        """The specs of what `encode` gives for values of type `spec`."""
        return spec._component_specs


def _map_specs(spec: Any, function: Callable[[Any], Any]) -> tuple[Any, ...]:
    def mapped(part: Any) -> Any:
        if isinstance(part, TypeSpec):
            return function(part)
        if isinstance(part, tuple):
            return tuple(mapped(p) for p in part)
        if isinstance(part, Mapping):
            return {k: mapped(v) for k, v in part.items()}
        return part

    return tuple((n, mapped(v)) for n, v in spec._serialize())


class BatchableExtensionType(ExtensionType):
    """An ExtensionType whose values can be stacked: elements of datasets, or of `tf.map_fn`.

    Example:
      >>> class Point(tf.experimental.BatchableExtensionType):
      ...     x: tf.Tensor
      ...     y: tf.Tensor
      >>> tf.type_spec_from_value(Point([1, 2], [3, 4]))._unbatch().x.shape
      TensorShape([])
    """

    __slots__ = ()
    _tf_extension_type_do_not_transform_this_class = True
    __batch_encoder__: ClassVar[ExtensionTypeBatchEncoder] = ExtensionTypeBatchEncoder()


def _make_spec(cls: type[ExtensionType]) -> type[ExtensionTypeSpec]:
    """The class `Spec` of an extension type, on top of the methods of one that the user wrote."""
    batchable = issubclass(cls, BatchableExtensionType)
    base = _BatchableExtensionTypeSpec if batchable else ExtensionTypeSpec
    written = cls.__dict__.get("Spec")
    body = {} if written is None else {k: v for k, v in vars(written).items() if k != "__dict__"}
    body.pop("__weakref__", None)
    body |= {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.Spec"}
    body |= {"_extension_type": cls, "__slots__": ()}
    body.setdefault("__repr__", base.__repr__)
    spec = type("Spec", (base,), body)
    own = body.get("__init__")
    spec.__init__ = (  # type: ignore[misc]
        _make_constructor(cls._extension_fields, in_spec=True)
        if own is None
        else _wrap_constructor(own, spec, in_spec=True)
    )
    return spec


def _register(cls: type[ExtensionType]) -> None:
    """Gives the spec of a type that has a `__name__` of its own the name for files."""
    name = cls.__dict__.get("__name__")
    if name is None:
        return
    if not isinstance(name, str):
        raise TypeError(
            f"{cls.__qualname__}: expected text as __name__, got {name!r}. Write the package and"
            " the name, as in __name__ = 'package.Name'."
        )
    register(f"{name}.Spec")(cls.Spec)


def _spec_of(value: Any) -> Any:
    """A field of a value as the field of its spec."""
    if isinstance(value, tuple):
        return tuple(_spec_of(v) for v in value)
    if isinstance(value, Mapping):
        return {k: _spec_of(v) for k, v in value.items()}
    if isinstance(value, (Tensor, CompositeTensor)):
        return type_spec_from_value(value)._without_tensor_names()
    return value


def _plain(value: Any) -> Any:
    """A field of a spec with plain dicts for mappings."""
    if isinstance(value, tuple):
        return tuple(_plain(v) for v in value)
    if isinstance(value, ImmutableDict):
        return {k: _plain(v) for k, v in value.items()}
    return value


def _collect(value: Any, classes: Any, parts: list[Any]) -> None:
    if isinstance(value, classes):
        parts.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, classes, parts)
    elif isinstance(value, Mapping):
        for item in value.values():
            _collect(item, classes, parts)


def _fill(part: Any, remaining: Any) -> Any:
    """A field of a spec with the next components in place of the TypeSpecs."""
    if isinstance(part, TypeSpec):
        return next(remaining)
    if isinstance(part, tuple):
        return tuple(_fill(p, remaining) for p in part)
    if isinstance(part, Mapping):
        return ImmutableDict({k: _fill(v, remaining) for k, v in part.items()})
    return part


def as_dict(value: ExtensionType) -> dict[str, Any]:
    """The fields of an extension type's value, by name.

    Args:
      value: the value.

    Returns:
      A new dict.
    """
    return {f.name: value.__dict__[f.name] for f in value._extension_fields}
