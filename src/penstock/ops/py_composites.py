"""Composite values of `py_function`: its operation takes and gives their components.

`flattened` puts a function of tensors in place of one of composites; `packed` makes of the tensors
that it gave what the caller asked for.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec
from penstock.util import nest

Kind = Any  # a dtype, or a TypeSpec


def tensor_types(kinds: Sequence[Kind]) -> list[Any]:
    """The dtypes of the tensors of values of these kinds."""
    return [
        part.dtype if isinstance(part, TensorSpec) else part
        for kind in kinds
        for part in nest.flatten(kind, expand_composites=True)
    ]


def flattened(
    function: Callable[..., Any], arguments: Sequence[Any], kinds: Sequence[Kind]
) -> Callable[..., list[Any]]:
    """`function` on the tensors of `arguments`; it returns those of its results.

    Args:
      function: what the user gave.
      arguments: values of which the function's will have the structure.
      kinds: what the function must return.
    """

    def call(*tensors: Any) -> list[Any]:
        result = function(*nest.pack_sequence_as(arguments, tensors, expand_composites=True))
        if isinstance(result, (list, tuple)):
            values = list(result)
        else:
            values = [] if result is None and not kinds else [result]
        if len(values) != len(kinds):
            raise ValueError(f"expected {len(kinds)} values, one for each of Tout, got {result!r}")
        return [
            part for kind, value in zip(kinds, values, strict=True) for part in _parts(kind, value)
        ]

    call.__name__ = getattr(function, "__name__", "of class " + type(function).__name__)
    return call


def _parts(kind: Kind, value: Any) -> list[Any]:
    if not isinstance(kind, TypeSpec) or isinstance(kind, TensorSpec):
        return [value]
    if not kind.is_compatible_with(value):
        raise ValueError(f"expected {kind}, as Tout says, got {value!r}. Return one, or change it")
    return nest.flatten(value, expand_composites=True)


def packed(kinds: Sequence[Kind], tensors: Sequence[Any]) -> list[Any]:
    """The values of these kinds that are made of `tensors`."""
    left = iter(tensors)
    return [_packed(kind, left) for kind in kinds]


def _packed(kind: Kind, left: Any) -> Any:
    if not isinstance(kind, TypeSpec) or isinstance(kind, TensorSpec):
        return next(left)
    specs = nest.flatten(kind, expand_composites=True)
    parts = [next(left) for _ in specs]
    for spec, part in zip(specs, parts, strict=True):
        if isinstance(part, SymbolicTensor):
            part.set_shape(spec.shape)  # the operation itself knows nothing of it
    return nest.pack_sequence_as(kind, parts, expand_composites=True)
