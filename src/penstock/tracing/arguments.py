"""Arguments of a call: as an input signature wants them, and whether a body left them alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.tracing.parameters import Parameters
from penstock.tracing.signature import trace_key
from penstock.types.tensor_spec import DenseSpec, TensorSpec
from penstock.types.type_spec import TypeSpec
from penstock.util import nest
from penstock.util.nest_paths import flatten_up_to


def copied(arguments: Any) -> Any:
    """The same leaves in new lists and dictionaries."""
    return nest.map_structure(lambda leaf: leaf, arguments)


def differ(before: Any, after: Any) -> bool:
    """Whether a nest has other leaves, or has them elsewhere, than its copy."""
    try:
        nest.assert_same_structure(before, after)
        pairs = zip(nest.flatten(before), nest.flatten(after), strict=True)
    except (TypeError, ValueError):
        return True
    return any(a is not b for a, b in pairs)


def matched(wanted: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Each leaf of the type of an argument, and the part of the argument that stands for it.

    Where a TensorSpec stands, a list of numbers is one tensor. A composite's leaves are those of
    its components, where the argument is a composite or the spec of one.

    Args:
      wanted: a nest of specs, and of other values for what is no tensor.
      value: the argument.

    Raises:
      TypeError: the argument has another structure.
    """
    if isinstance(wanted, DenseSpec):
        yield wanted, value
    elif isinstance(wanted, TypeSpec):
        yield from _components(wanted, value)
    elif isinstance(wanted, Mapping):
        if not isinstance(value, Mapping) or set(value) != set(wanted):
            raise TypeError(f"Can not cast {value!r} to a mapping with keys {list(wanted)}")
        for key in sorted(wanted):
            yield from matched(wanted[key], value[key])
    elif isinstance(wanted, (list, tuple)):
        kind = list if isinstance(wanted, list) else tuple
        if not isinstance(value, kind) or len(value) != len(wanted):
            raise TypeError(f"Can not cast {value!r} to a {kind.__name__} of length {len(wanted)}")
        for part, item in zip(wanted, value, strict=True):
            yield from matched(part, item)
    elif nest.is_nested(wanted):
        for part, item in _pairs(wanted, value):
            yield from matched(part, item)
    else:
        yield wanted, value


def _components(wanted: TypeSpec, value: Any) -> Iterator[tuple[Any, Any]]:
    """The specs and tensors of a composite value, or of the spec of one."""
    if isinstance(value, TypeSpec):
        if not value.is_subtype_of(wanted):
            raise TypeError(f"Can not cast {value} to {wanted}")
        yield from zip(wanted.flatten(), value.flatten(), strict=True)
        return
    try:
        nest.assert_same_structure(wanted, value, expand_composites=True)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"Can not cast {value!r} to {wanted}: {problem}") from None
    specs = nest.flatten(wanted, expand_composites=True)
    yield from zip(specs, nest.flatten(value, expand_composites=True), strict=True)


def _pairs(wanted: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The leaves of a nest of another kind than lists, tuples and mappings."""
    try:
        parts = flatten_up_to(wanted, value)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"Can not cast {value!r} to {wanted}: {problem}") from None
    yield from zip(nest.flatten(wanted), parts, strict=True)


def tensors_for(name: str, signature: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The arguments as the tensors that an input signature wants, in order.

    Args:
      name: of the function, for the message.
      signature: nests of specs.
      given: one argument for each of them; a spec may stand for a tensor.

    Raises:
      TypeError: an argument has another structure, dtype or shape.
    """
    tensors = []
    for wanted, value in zip(signature, given, strict=False):
        try:
            if wanted.__class__ is TensorSpec:
                tensors.append(_as_tensor(wanted, value))
            else:
                tensors += [_as_tensor(spec, part) for spec, part in matched(wanted, value)]
        except (TypeError, ValueError) as problem:
            raise TypeError(
                f"{name}(): Binding inputs to tf.function failed due to `{problem}`. Received"
                f" {value!r} where input_signature says {wanted}. Pass what it says, or change it."
            ) from None
    return tensors


def _as_tensor(spec: Any, value: Any) -> Any:
    if isinstance(value, TensorSpec):
        fits = value.is_subtype_of(spec)
    else:
        value = value if isinstance(value, Tensor) else convert_to_tensor(value, spec.dtype)
        fits = value.dtype.base_dtype is spec.dtype and spec.shape.is_compatible_with(value.shape)
    if not fits:
        raise TypeError(
            f"Can not cast {TensorSpec(value.shape, value.dtype)} to"
            f" {TensorSpec(spec.shape, spec.dtype)}"
        )
    return value


def bound_to_signature(
    name: str,
    parameters: Parameters,
    signature: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> list[Any]:
    """The tensors that an input signature wants, of the arguments of a call.

    Args:
      name: of the function, for messages.
      parameters: those of the function.
      signature: nests of specs.
      args: the arguments in the order of the parameters.
      kwargs: those that have to be named.

    Raises:
      TypeError: there are too few or too many, or one does not fit.
    """
    given = [*args, *kwargs.values()]
    if len(given) < len(signature):
        raise TypeError(
            f"Binding inputs to tf.function failed due to `missing arguments`. Received"
            f" {len(given)} arguments for {name} with input_signature {signature}: one"
            " is expected for each spec."
        )
    if len(args) > max(len(signature), parameters.positional):
        raise TypeError(
            "Binding inputs to tf.function failed due to `too many positional arguments`."
            f" Received {len(args)} arguments for {name} with input_signature"
            f" {signature}: one is expected for each spec. Leave out the last ones."
        )
    _check_defaults(name, parameters, given[len(signature) :], len(signature))
    return tensors_for(name, signature, given)


def _check_defaults(
    function: str, parameters: Parameters, values: Sequence[Any], start: int
) -> None:
    """What an input signature does not describe keeps its default.

    Raises:
      TypeError: a value is another.
    """
    for name, value in zip(parameters.names[start:], values, strict=False):
        default = parameters.defaults.get(name)
        if value is not default and trace_key(value, []) != trace_key(default, []):
            raise TypeError(
                f"Binding inputs to tf.function failed due to `Can not cast {value!r} to"
                f" Literal[{default!r}]`: input_signature of {function} says nothing of"
                f" {name!r}, so it keeps its default. Add a TensorSpec for it, or leave it out."
            )
