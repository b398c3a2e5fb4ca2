"""`tf.experimental.Optional`: a value that may be missing, as a tensor of a program.

An optional is a scalar variant tensor that holds the components of a structure of tensors, or
nothing. `OptionalSpec` knows the structure, so that values come back as they went in.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.ops.tensor_lists import scalar_input
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec, register, type_spec_from_value
from penstock.util import nest

Array = Any
_HOST = 1 << 62  # optionals are host values


class OptionalValue:
    """What an optional's variant tensor holds: arrays, or None when it is empty. Immutable."""

    __slots__ = ("components", "dtypes")

    def __init__(self, components: tuple[Array, ...] | None, dtypes: Sequence[DType] = ()) -> None:
        self.components = components
        self.dtypes = tuple(dtypes)

    def __repr__(self) -> str:
        shown = "empty" if self.components is None else ", ".join(map(str, self.components))
        return f"<Optional: {shown}>"


def _held(value: Any) -> OptionalValue:
    found = value.item() if isinstance(value, np.ndarray) and value.shape == () else value
    if not isinstance(found, OptionalValue):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The input is not an optional: expected a variant made by OptionalNone or"
            f" OptionalFromValue, got {found!r}.",
        )
    return found


FROM_VALUE = define_op(
    "OptionalFromValue(components: [Toutput_types]; Toutput_types: list(type) >= 1) -> optional: "
    "variant",
    shape=lambda c: (),
    doc="An optional with a value.",
)


@host_kernel(FROM_VALUE, limit=_HOST)
def _from_value(components: list[Array], *, Toutput_types: Sequence[DType]) -> Any:
    return OptionalValue(tuple(components), Toutput_types)


@FROM_VALUE.gradient
def _from_value_gradient(op: Any, grad: Any) -> list[Any]:
    kinds = op.get_attr("Toutput_types")
    shapes = [x.shape for x in op.inputs]
    return list(execute(GET_VALUE, (grad,), {"output_types": kinds, "output_shapes": shapes}))


NONE = define_op(
    "OptionalNone() -> optional: variant", shape=lambda c: (), doc="An optional without a value."
).not_differentiable("it has no inputs")


@host_kernel(NONE, limit=_HOST)
def _none() -> Any:
    return OptionalValue(None)


HAS_VALUE = define_op(
    "OptionalHasValue(optional: variant) -> has_value: bool",
    shape=scalar_input(0),
    doc="Whether an optional has a value.",
).not_differentiable("the result is bool")


@host_kernel(HAS_VALUE, limit=_HOST)
def _has_value(optional: Any) -> Array:
    return np.asarray(_held(optional).components is not None)


def _value_shape(c: ShapeContext) -> list[Dims]:
    kinds, shapes = c.attr("output_types"), c.attr("output_shapes")
    if len(kinds) != len(shapes):
        c.fail(
            "as many output_shapes as output_types",
            f"{len(shapes)} shapes and {len(kinds)} types",
            "Give one shape for each type.",
        )
    return list(shapes)


GET_VALUE = define_op(
    "OptionalGetValue(optional: variant; output_types: list(type) >= 1, output_shapes: list(shape) "
    ">= 1) -> components: [output_types]",
    shape=_value_shape,
    fallible=True,
    doc="The value of an optional.",
)


@host_kernel(GET_VALUE, limit=_HOST)
def _get_value(
    optional: Any, *, output_types: Sequence[DType], output_shapes: Sequence[Dims]
) -> list[Array]:
    held = _held(optional)
    if held.components is None:
        raise errors.InvalidArgumentError(
            None,
            None,
            "The given optional does not have a value: expected one with a value, got an empty one."
            " Ask has_value() first.",
        )
    shapes = [np.shape(c) for c in held.components]
    fits = tuple(output_types) == held.dtypes and all(
        d.compatible(wanted, shape) for wanted, shape in zip(output_shapes, shapes, strict=True)
    )
    if not fits:
        wanted = [(t.name, d.text(s)) for t, s in zip(output_types, output_shapes, strict=False)]
        found = [(t.name, d.text(s)) for t, s in zip(held.dtypes, shapes, strict=True)]
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The optional holds {found}: expected {wanted}. Give the spec that it was made with.",
        )
    return list(held.components)


@GET_VALUE.gradient
def _get_value_gradient(op: Any, *grads: Any) -> Any:
    return execute(FROM_VALUE, (list(grads),))


# ---- the public class


class Optional(CompositeTensor):
    """A value that may be missing.

    Make one with `Optional.from_value` or `Optional.empty`.

    Example:
      >>> some = tf.experimental.Optional.from_value(42)
      >>> bool(some.has_value()), int(some.get_value())
      (True, 42)
      >>> bool(tf.experimental.Optional.empty(tf.TensorSpec([], tf.int32)).has_value())
      False
    """

    __slots__ = ("_element_spec", "_variant")

    def __init__(self, variant_tensor: Tensor, element_spec: Any) -> None:
        self._variant = variant_tensor
        self._element_spec = element_spec

    @staticmethod
    def from_value(value: Any) -> "Optional":
        """An optional with a value.

        Args:
          value: a tensor, a value made of tensors, or tuples and dictionaries of these; lists are
            converted to tensors.

        Returns:
          An Optional.

        Raises:
          InvalidArgumentError, ValueError: the value holds no tensor.
        """
        value = _as_tensors(value)
        spec = nest.map_structure(type_spec_from_value, value)
        parts = nest.flatten(value, expand_composites=True)
        if not parts or any(p is None for p in parts):
            text = (
                f"Optional.from_value expected a value with at least one tensor, got {value!r}. Use"
                " Optional.empty for no value."
            )
            if state.graph is not None:
                raise ValueError(text)
            raise errors.InvalidArgumentError(None, None, text)
        return Optional(execute(FROM_VALUE, (parts,)), spec)

    @staticmethod
    def empty(element_spec: Any) -> "Optional":
        """An optional without a value.

        Args:
          element_spec: a structure of TypeSpecs, of the value that it might have.

        Returns:
          An Optional.
        """
        return Optional(execute(NONE, ()), element_spec)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value, bool[]."""
        found: Tensor = execute(HAS_VALUE, (self._variant,), None, name)
        return found

    def get_value(self, name: str | None = None) -> Any:
        """The value, in the structure of `element_spec`.

        Raises:
          InvalidArgumentError: there is none.
        """
        specs = nest.flatten(self._element_spec)
        flat = [s for spec in specs for s in spec.flatten()]
        attrs = {"output_types": [s.dtype for s in flat], "output_shapes": [s.shape for s in flat]}
        tensors = iter(execute(GET_VALUE, (self._variant,), attrs, name))
        return nest.map_structure(lambda spec: spec.from_tensors(tensors), self._element_spec)

    @property
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of the value."""
        return self._element_spec

    @property
    def _type_spec(self) -> "OptionalSpec":
        return OptionalSpec(self._element_spec)

    def __repr__(self) -> str:
        return f"<tf.experimental.Optional of {self._element_spec}>"


def _as_tensors(value: Any) -> Any:
    """A structure of tuples and dictionaries with a tensor, or composite tensor, at each leaf."""
    if isinstance(value, list):
        return convert_to_tensor(value)
    if value is None or hasattr(value, "_type_spec"):
        return value
    if not nest.is_nested(value):
        try:
            return convert_to_tensor(value)
        except ValueError as problem:
            raise TypeError(f"Could not build a TypeSpec for {value!r}: {problem}") from None
    if isinstance(value, dict):
        return type(value)((k, _as_tensors(v)) for k, v in value.items())
    parts = [_as_tensors(v) for v in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


@register("tf.OptionalSpec")
class OptionalSpec(TypeSpec):
    """Describes an `Optional`.

    Args:
      element_spec: a structure of TypeSpecs, of the value.

    Example:
      >>> tf.OptionalSpec.from_value(tf.experimental.Optional.from_value(1))
      OptionalSpec(TensorSpec(shape=(), dtype=tf.int32, name=None),)
    """

    __slots__ = ("_element_spec",)
    _hides_types = True

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def value_type(self) -> type:
        """The class `Optional`."""
        return Optional

    @staticmethod
    def from_value(value: Optional) -> "OptionalSpec":
        """The spec of an Optional."""
        return OptionalSpec(value.element_spec)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> list[Any]:
        return [TensorSpec((), dt.variant)]

    def _to_components(self, value: Any) -> list[Any]:
        return [value._variant]

    def _from_components(self, components: Any) -> Optional:
        return Optional(components[0], self._element_spec)

    def __repr__(self) -> str:
        return f"OptionalSpec({self._element_spec!r},)"
