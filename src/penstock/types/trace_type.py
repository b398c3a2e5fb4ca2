"""The tracing protocol: how values of user classes stand in the signature of a `tf.function`.

A class with `__tf_tracing_type__(context)` gives a `TraceType`: calls whose types are equal share a
trace, a type serves its subtypes, and `placeholder_value` makes what the Python function gets while
it is traced. Specs of tensors and composite values are trace types already.
"""

import abc
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from penstock.types.type_spec import TypeSpec


class TraceType(abc.ABC):
    """The type of an argument, as tracing sees it."""

    @abc.abstractmethod
    def is_subtype_of(self, other: "TraceType") -> bool:
        """Whether a trace for `other` serves values of this type."""

    @abc.abstractmethod
    def most_specific_common_supertype(self, others: "Sequence[TraceType]") -> "TraceType | None":
        """The narrowest type that serves this one and all others; None when there is none."""

    @abc.abstractmethod
    def placeholder_value(self, placeholder_context: Any) -> Any:
        """The value that the Python function gets while it is traced for this type."""

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors inside a value, in the order of `flatten`; none unless overridden."""
        del value
        return []

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """A value of this type made of the next tensors, as many as `flatten` has."""
        del tensors
        return self.placeholder_value(None)

    def flatten(self) -> "list[TraceType]":
        """The specs of the tensors that `to_tensors` gives."""
        return []

    def cast(self, value: Any, cast_context: Any) -> Any:
        """Returns `value` as a value of this type.

        Raises:
          TypeError: it is of another type.
        """
        del cast_context
        if type(value) is not type(self.placeholder_value(None)):
            raise TypeError(f"Can not cast {value!r} to {self!r}: expected a value of that type.")
        return value

    @abc.abstractmethod
    def __hash__(self) -> int: ...

    @abc.abstractmethod
    def __eq__(self, other: object) -> bool: ...


TraceType.register(TypeSpec)  # type: ignore[type-abstract]


class TracingContext:
    """What `__tf_tracing_type__` and `placeholder_value` are given. It holds nothing."""


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """A value that says under which type a function is traced for it."""

    def __tf_tracing_type__(self, context: Any) -> TraceType:
        """The trace type of the value."""
