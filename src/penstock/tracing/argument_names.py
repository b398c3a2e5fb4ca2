"""Names of a function's inputs: those of its parameters, and of places in nests given for them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from penstock.core.composite import CompositeTensor
from penstock.core.tensor import Tensor
from penstock.tracing.parameters import Parameters
from penstock.tracing.signature import CONTEXT, sorted_keys
from penstock.tracing.variable_arguments import is_variable
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec
from penstock.util import nest


class ArgumentNames:
    """Names of placeholders: of the parameter, and of the place in the nest given for it."""

    def __init__(
        self, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        names = parameters.names_of(len(args))
        pairs = [*zip(names, args, strict=True), *((k, kwargs[k]) for k in sorted(kwargs))]
        self._names = (name for base, value in pairs for name in places(value, base))

    def next(self) -> tuple[str, str]:
        """The names of the operation and of the argument for the next tensor."""
        base, place = next(self._names, ("args", "args"))
        return (_operation_name(base) if base.isidentifier() else "args"), place


def _operation_name(parameter: str) -> str:
    """A parameter's name as an operation's: ASCII, with no underscore in front.

    Example:
      >>> _operation_name("x"), _operation_name("_x"), _operation_name("été")
      ('x', 'arg__x', 'arg__t_')
    """
    if parameter.isascii() and not parameter.startswith("_"):
        return parameter
    return "arg_" + "".join(c if c.isascii() else "_" for c in parameter)


def places(value: Any, base: str) -> Iterator[tuple[str, str]]:
    """For each tensor-like leaf, in the order of `substitute`: the base, and its name in the nest.

    Entries of mappings and sequences are `<base>_<key>`.
    """
    found: list[str] = []

    def visit(value: Any, place: str) -> None:
        if isinstance(value, Mapping):
            for key in sorted_keys(value):
                visit(value[key], f"{place}_{key}")
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            for key, part in zip(value._fields, value, strict=True):
                visit(part, f"{place}_{key}")
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                visit(part, f"{place}_{i}")
        elif nest.is_nested(value) and not isinstance(value, CompositeTensor):
            for part in nest.flatten(value):
                visit(part, place)
        else:
            found.extend([place] * _tensor_count(value))

    visit(value, base)
    return iter([(base, place) for place in found])


def _tensor_count(leaf: Any) -> int:
    """How many tensors stand for a leaf of a nest."""
    if isinstance(leaf, (Tensor, np.ndarray, np.generic, TensorSpec)) or is_variable(leaf):
        return 1
    if isinstance(leaf, CompositeTensor):
        # Counted by the spec: taking a value apart may add operations to the graph being traced.
        return len(nest.flatten(leaf._type_spec._component_specs, expand_composites=True))
    if isinstance(leaf, TypeSpec):
        return len(leaf.flatten())
    if hasattr(leaf, "__tf_tracing_type__"):
        return len(leaf.__tf_tracing_type__(CONTEXT).flatten())
    return 0
