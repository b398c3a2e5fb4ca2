"""The type specs of linear operators: what they are made from, with a spec for each tensor.

Each class of operators gets a spec class of its own, such as `LinearOperatorDiagSpec`. A spec holds
the specs of the parameters that are tensors, variables or operators, and the values of the others,
hints included.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from penstock.core.composite import CompositeTensor
from penstock.core.tensor import Tensor
from penstock.ops.array_fill import zeros
from penstock.ops.variables import Variable
from penstock.types.tensor_spec import DenseSpec
from penstock.types.type_spec import TypeSpec, type_spec_from_value
from penstock.util import nest


class LinearOperatorSpec(TypeSpec):
    """Describes an operator of one class.

    Args:
      param_specs: a spec, or a list of specs, by name, for the parameters made of tensors.
      settings: the values of the other parameters by name.
      prefer_static: names of the parameters that are among the settings if they are known.
    """

    __slots__ = ("_param_specs", "_prefer_static", "_settings")
    _operator_class: ClassVar[Any]  # a class of operators

    def __init__(
        self,
        param_specs: Mapping[str, Any],
        settings: Mapping[str, Any],
        prefer_static: Sequence[str] = (),
    ) -> None:
        self._param_specs = dict(param_specs)
        self._settings = dict(settings)
        self._prefer_static = tuple(prefer_static)

    @classmethod
    def from_operator(cls, operator: Any) -> "LinearOperatorSpec":
        """The spec of an operator."""
        specs, settings = {}, {}
        for name, value in operator._spec_parameters().items():
            if holds_tensors(value):
                specs[name] = _map_leaves(type_spec_from_value, value)
            else:
                settings[name] = value
        return cls(specs, settings, operator._size_names)

    @property
    def value_type(self) -> type:
        """The class of the operators."""
        found: type = self._operator_class
        return found

    def _serialize(self) -> tuple[Any, ...]:
        return (self._param_specs, self._settings, self._prefer_static)

    @property
    def _component_specs(self) -> Any:
        return self._param_specs

    def _to_components(self, value: Any) -> Any:
        parts = value._spec_parameters()
        return {name: _map_leaves(lambda leaf: leaf, parts[name]) for name in self._param_specs}

    def _from_components(self, components: Any) -> Any:
        leaves = nest.flatten(components)
        if leaves and all(leaf is None for leaf in leaves):
            return None  # the gradient of an operator on which nothing depends
        given = {
            name: _map_pairs(_present, components[name], wanted)
            for name, wanted in self._param_specs.items()
        }
        return self._operator_class(**given, **self._settings)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


def spec_class(operator_class: type) -> type[LinearOperatorSpec]:
    """The spec class of a class of operators, which finds it as its attribute `_Spec`."""
    members = {
        "__slots__": (),
        "__module__": operator_class.__module__,
        "__qualname__": f"{operator_class.__qualname__}._Spec",
        "_operator_class": operator_class,
    }
    made = type(f"{operator_class.__name__}Spec", (LinearOperatorSpec,), members)
    return cast("type[LinearOperatorSpec]", made)


def holds_tensors(value: Any) -> bool:
    """Whether a parameter is, or is a list of, tensors, variables or operators."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(holds_tensors(item) for item in value)
    return isinstance(value, (Tensor, Variable, CompositeTensor))


def _map_leaves(function: Any, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_map_leaves(function, item) for item in value]
    return function(value)


def _map_pairs(function: Any, value: Any, wanted: Any) -> Any:
    if isinstance(wanted, list):
        return [_map_pairs(function, a, b) for a, b in zip(value, wanted, strict=True)]
    return function(value, wanted)


def _present(value: Any, wanted: TypeSpec) -> Any:
    """A component, zeros for the gradient of one on which nothing depends."""
    if value is None and isinstance(wanted, LinearOperatorSpec):
        nothing = nest.map_structure(lambda spec: _present(None, spec), wanted._component_specs)
        return wanted._from_components(nothing)
    if value is None and isinstance(wanted, DenseSpec):
        return zeros(wanted.shape, wanted.dtype)
    return value
