"""TypeSpec: the description of a value that holds tensors, without the tensors.

A spec is immutable and equals another one of the same class with equal parts. ``_serialize`` gives
its parts, plain values, shapes, dtypes and other specs, from which ``_deserialize`` makes it again;
equality, hashing, subtyping and pickling all come from these parts. ``_component_specs`` is a
structure of the specs of the tensors inside.

Values belong to higher layers. A spec of ours (`HookedTypeSpec`) gets its `ValueHooks` through
`attach_values` when the layer that defines the values is imported; specs defined by users override
``value_type``, ``_to_components`` and ``_from_components`` themselves. `type_spec_from_value` finds
the spec of a value through converters that are registered by class.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from penstock import proto
from penstock.types.spec_parts import (
    NoSupertypeError,
    all_pairs,
    common,
    compatible,
    hashable,
    map_parts,
    nameless,
    rank_only,
    subtype,
)
from penstock.util import nest

# Any: values and components are of whatever class a spec describes.


class TypeSpec(abc.ABC):
    """Describes values of one type: a subclass for each type, an instance for its parameters."""

    __slots__ = ("__weakref__", "_cached_key")
    _message_field: ClassVar = "type_spec_value"  # of StructuredValue, where specs like it stand
    _hides_types = False  # whether the component tensors do not show the types within the value

    @property
    @abc.abstractmethod
    def value_type(self) -> type:
        """The class of the values that this spec describes."""

    @abc.abstractmethod
    def _serialize(self) -> tuple[Any, ...]:
        """The parts of this spec, in the order that `_deserialize` takes them."""

    @property
    @abc.abstractmethod
    def _component_specs(self) -> Any:
        """A structure of the specs of the components of a value."""

    @abc.abstractmethod
    def _to_components(self, value: Any) -> Any:
        """Takes a value apart into a structure of components like `_component_specs`."""

    @abc.abstractmethod
    def _from_components(self, components: Any) -> Any:
        """Makes a value from a structure of components like `_component_specs`."""

    @classmethod
    def _deserialize(cls, serialization: tuple[Any, ...]) -> Self:
        """Makes a spec from what `_serialize` gave."""
        return cls(*serialization)

    # Equality comes from the parts.

    def _key(self) -> Any:
        try:
            return self._cached_key
        except AttributeError:
            self._cached_key: Any = hashable((type(self).__qualname__, self._serialize()))
            return self._cached_key

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._deserialize, (self._serialize(),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"

    def __str__(self) -> str:
        return repr(self)

    # Relations between types.

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True when a value could have both types, or the value could have this one.

        Args:
          spec_or_value: a TypeSpec or a value.
        """
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = type_spec_or_none(spec_or_value)
        if other is None or type(self) is not type(other):
            return False
        return all_pairs(compatible, self._serialize(), other._serialize())

    def is_subtype_of(self, other: Any) -> bool:
        """True when every value of this type is of type `other` too."""
        if type(self) is not type(other):
            return False
        return all_pairs(subtype, self._serialize(), other._serialize())

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Self | None:
        """The narrowest type of which this one and all `others` are subtypes, or None."""
        if any(type(self) is not type(other) for other in others):
            return None
        parts: Any = self._serialize()
        for other in others:
            try:
                parts = common(parts, other._serialize())
            except NoSupertypeError:
                return None
        return type(self)._deserialize(parts)

    def most_specific_compatible_type(self, other: TypeSpec) -> Self:
        """Like `most_specific_common_supertype` for one other type.

        Raises:
          ValueError: there is no such type.
        """
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(
                f"No TypeSpec is compatible with both {self} and {other}: expected the same class "
                "and equal dtypes and names"
            )
        return found

    # The tensors inside.

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        """The specs of the tensors inside, as `_to_tensor_list` gives them."""
        return nest.flatten(self._component_specs, expand_composites=True)

    def _to_tensor_list(self, value: Any) -> list[Any]:
        """The tensors inside a value of this type."""
        return nest.flatten(self._to_components(value), expand_composites=True)

    def _from_tensor_list(self, tensor_list: Sequence[Any]) -> Any:
        """Makes a value from its tensors, after checking them against the specs.

        Raises:
          ValueError: the number or the types of the tensors do not fit.
        """
        expected = self._flat_tensor_specs
        if len(expected) != len(tensor_list):
            raise ValueError(
                f"{self}: expected {len(expected)} tensors {expected}, got {len(tensor_list)}: "
                f"{list(tensor_list)}"
            )
        for spec, tensor in zip(expected, tensor_list, strict=True):
            if not spec.is_compatible_with(tensor):
                raise ValueError(f"{self}: expected a tensor compatible with {spec}, got {tensor}")
        return self._from_compatible_tensor_list(tensor_list)

    def _from_compatible_tensor_list(self, tensor_list: Sequence[Any]) -> Any:
        """Makes a value from its tensors without checking them."""
        return self._from_components(
            nest.pack_sequence_as(self._component_specs, list(tensor_list), expand_composites=True)
        )

    # The trace type protocol: how a function's argument of this type is taken apart and rebuilt.

    def flatten(self) -> list[Any]:
        """The specs of the tensors that `to_tensors` gives."""
        return self._flat_tensor_specs

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors inside a value of this type, in the order of `flatten`."""
        return self._to_tensor_list(value)

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Makes a value from an iterator of its tensors, using up as many as `flatten` has."""
        return self._from_compatible_tensor_list([next(tensors) for _ in self.flatten()])

    def placeholder_value(self, placeholder_context: Any) -> Any:
        """A value of this type made of placeholders, for tracing."""
        parts = nest.map_structure(
            lambda spec: spec.placeholder_value(placeholder_context), self._component_specs
        )
        return self._from_components(parts)

    def cast(self, value: Any, casting_context: Any) -> Any:
        """Returns `value` as a value of this type.

        Raises:
          TypeError: the value is not compatible with this type.
        """
        del casting_context
        if not self.is_compatible_with(value):
            raise TypeError(f"Cannot cast {value!r} to {self}: expected a compatible value")
        return value

    def __tf_tracing_type__(self, context: Any) -> TypeSpec:
        """The type under which a function is traced for this spec: the spec."""
        del context
        return self

    # Specs as messages, which the layer that reads and writes values makes: `use_messages`.

    def experimental_as_proto(self) -> Any:
        """The spec as a message of class `experimental_type_proto()`.

        Raises:
          ValueError: its class, or that of a part, is not registered.
        """
        return getattr(_messages().encode(self), self._message_field)

    @classmethod
    def experimental_type_proto(cls) -> type[Any]:
        """The class of the messages that stand for specs of this class."""
        return type(getattr(proto.struct_pb2.StructuredValue(), cls._message_field))

    @classmethod
    def experimental_from_proto(cls, message: Any) -> Any:
        """The spec that a message says; a TypeSpecProto may say one of another class.

        Raises:
          TypeError: it is no message of class `experimental_type_proto()`; for specs of tensors
            an AttributeError.
          ValueError: it contradicts itself, or says a type that is not known.
        """
        where = f"{cls.__name__}.experimental_from_proto"
        expected = cls.experimental_type_proto()
        if not isinstance(message, expected):
            of_tensor = cls._message_field != TypeSpec._message_field
            raise (AttributeError if of_tensor else TypeError)(
                f"{where}: expected a {expected.__name__}, got {message!r}. Give it what"
                " experimental_as_proto returned."
            )
        value = proto.struct_pb2.StructuredValue()
        getattr(value, cls._message_field).CopyFrom(message)
        return _messages().decode(value, where)

    # Variants with less information, and the forms of TensorFlow 1's datasets.

    def _with_tensor_ranks_only(self) -> Self:
        """This spec with every dimension unknown and the ranks kept."""
        return self._mapped(rank_only)

    def _without_tensor_names(self) -> Self:
        """This spec without the names of tensors."""
        return self._mapped(nameless)

    def _mapped(self, function: Callable[[Any], Any]) -> Self:
        return type(self)._deserialize(tuple(map_parts(function, self._serialize())))

    def _to_legacy_output_types(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_types()")

    def _to_legacy_output_shapes(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_shapes()")

    def _to_legacy_output_classes(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_classes()")


class BatchableTypeSpec(TypeSpec):
    """A TypeSpec whose values can be stacked: each tensor gets one more dimension in front."""

    __slots__ = ()

    @abc.abstractmethod
    def _batch(self, batch_size: int | None) -> TypeSpec:
        """The spec of a stack of `batch_size` values."""

    @abc.abstractmethod
    def _unbatch(self) -> TypeSpec:
        """The spec of one value of a stack."""

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        """The tensors inside a value, in a form that can be stacked and taken apart by rows."""
        return self._to_tensor_list(value)


@dataclass(frozen=True, slots=True)
class ValueHooks:
    """What a higher layer knows about the values of a spec class.

    Attributes:
      value_type: the class of the values.
      to_components: `(spec, value)` to the components, in the structure of `_component_specs`.
      from_components: `(spec, components)` to a value.
      placeholder: `(spec, placeholder_context)` to a placeholder; None builds it from components.
      cast: `(spec, value, casting_context)` to a value of the type; None only checks it.
    """

    value_type: type[Any]
    to_components: Callable[[Any, Any], Any]
    from_components: Callable[[Any, Any], Any]
    placeholder: Callable[[Any, Any], Any] | None = None
    cast: Callable[[Any, Any, Any], Any] | None = None


class HookedTypeSpec(TypeSpec):
    """A TypeSpec of ours: a pure description, whose values a higher layer attaches."""

    __slots__ = ()
    _value_hooks: ClassVar[ValueHooks | None] = None

    @classmethod
    def _hooks(cls) -> ValueHooks:
        if cls._value_hooks is None:
            raise TypeError(
                f"{cls.__name__} has no values yet: expected attach_values({cls.__name__}, ...) to "
                "have been called. Import `penstock` instead of `penstock.types` alone."
            )
        return cls._value_hooks

    @property
    def value_type(self) -> type:
        """The class of the values that this spec describes."""
        return self._hooks().value_type

    def _to_components(self, value: Any) -> Any:
        return self._hooks().to_components(self, value)

    def _from_components(self, components: Any) -> Any:
        return self._hooks().from_components(self, components)

    def placeholder_value(self, placeholder_context: Any) -> Any:
        """A value of this type made of placeholders, for tracing."""
        make = self._hooks().placeholder
        if make is None:
            return super().placeholder_value(placeholder_context)
        return make(self, placeholder_context)

    def cast(self, value: Any, casting_context: Any) -> Any:
        """Returns `value` as a value of this type; raises TypeError when that is not possible."""
        convert = self._hooks().cast
        if convert is None:
            return super().cast(value, casting_context)
        return convert(self, value, casting_context)


def attach_values(spec_class: type[HookedTypeSpec], hooks: ValueHooks) -> None:
    """Tells a spec class of ours about its values; called once by the layer that defines them."""
    spec_class._value_hooks = hooks


# The spec of a value.

_Converter = Callable[[Any], TypeSpec]
_CONVERTERS: list[tuple[type, _Converter, bool]] = []
_FALLBACKS: list[Callable[[Any], TypeSpec | None]] = []


def register_type_spec_from_value_converter(
    type_object: type, converter_fn: _Converter, allow_subclass: bool = False
) -> None:
    """Registers how to find the spec of values of a class; the newest registration wins.

    Args:
      type_object: the class.
      converter_fn: takes a value and returns its TypeSpec.
      allow_subclass: whether it also holds for values of subclasses.
    """
    _CONVERTERS.append((type_object, converter_fn, allow_subclass))


def register_type_spec_fallback(converter_fn: Callable[[Any], TypeSpec | None]) -> None:
    """Registers what to try for other values, such as lists of numbers; None means no spec."""
    _FALLBACKS.append(converter_fn)


def type_spec_from_value(value: Any) -> TypeSpec:
    """The spec of a value.

    Args:
      value: a tensor, variable, sparse tensor or other value that holds tensors; or something that
        can be converted to a tensor.

    Raises:
      TypeError: the value has no spec.

    Example:
      >>> type_spec_from_value(None)
      NoneTensorSpec()
    """
    spec = type_spec_or_none(value)
    if spec is None:
        for convert in _FALLBACKS:
            spec = convert(value)
            if spec is not None:
                return spec
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} of unsupported type {type(value)}: expected "
            "a tensor, a composite tensor or a value that can be converted to a tensor."
        )
    return spec


def type_spec_or_none(value: Any) -> TypeSpec | None:
    """The spec of a value that has one without being converted, or None."""
    spec = getattr(value, "_type_spec", None)
    if isinstance(spec, TypeSpec):
        return spec
    for type_object, convert, allow_subclass in reversed(_CONVERTERS):
        if type(value) is type_object or (allow_subclass and isinstance(value, type_object)):
            return convert(value)
    return None


# Messages of specs.

_LOAD_MESSAGES: list[Callable[[], Any]] = []  # of one function


def use_messages(load: Callable[[], Any]) -> None:
    """Registers what loads the module whose `encode` and `decode` write and read specs."""
    _LOAD_MESSAGES[:] = [load]


def _messages() -> Any:
    if not _LOAD_MESSAGES:
        raise TypeError(
            "Specs have no messages yet: expected use_messages(...) to have been called. Import"
            " `penstock` instead of `penstock.types` alone."
        )
    return _LOAD_MESSAGES[0]()


# Names of spec classes in files.

_NAMES: dict[str, type[TypeSpec]] = {}
_LOADERS: list[tuple[str, Callable[[], object]]] = []  # what may register names with a prefix


def add_loader(prefix: str, load: Callable[[], object]) -> None:
    """Registers what to call when a name that begins with `prefix` is looked up and not known."""
    _LOADERS.append((prefix, load))


def register(name: str) -> Callable[[type], type]:
    """A class decorator that gives a TypeSpec class the name under which files know it.

    Raises:
      ValueError: the name is taken, or the class has one already.
    """

    def decorate(cls: type) -> type:
        if not issubclass(cls, TypeSpec):
            raise TypeError(f"register({name!r}): expected a subclass of TypeSpec, got {cls!r}")
        if name in _NAMES or "_registered_name" in cls.__dict__:
            raise ValueError(
                f"register({name!r}): expected a new name and a class without one, got {cls!r}; "
                f"{name!r} belongs to {_NAMES.get(name)!r}"
            )
        _NAMES[name] = cls
        cls._registered_name = name  # type: ignore[attr-defined]
        return cls

    return decorate


def registered_name(cls: type[TypeSpec]) -> str:
    """The name that `register` gave to a class; raises ValueError when it has none."""
    name = cls.__dict__.get("_registered_name")
    if name is None:
        raise ValueError(f"TypeSpec {cls.__qualname__} has not been registered: use `register`.")
    return str(name)


def lookup(name: str) -> type[TypeSpec]:
    """The class that `register` gave a name to; raises ValueError when there is none."""
    if name not in _NAMES:
        for prefix, load in _LOADERS:
            if name.startswith(prefix):
                load()
    if name not in _NAMES:
        raise ValueError(
            f"No TypeSpec has been registered with name {name!r}, got {sorted(_NAMES)}"
        )
    return _NAMES[name]
