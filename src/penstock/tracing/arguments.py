"""Arguments of a call: as an input signature wants them, and whether a body left them alone."""

from collections.abc import Iterator
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.types.tensor_spec import TensorSpec
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


def parts_for(name: str, signature: Any, value: Any) -> Iterator[tuple[TensorSpec, Any]]:
    """Each TensorSpec of a nest, and the part of an argument that stands for it.

    Where a TensorSpec stands, a list of numbers is one tensor.
    """
    try:
        leaves = nest.flatten(signature)
        parts = flatten_up_to(signature, value)
        for spec, part in zip(leaves, parts, strict=True):
            if not isinstance(spec, TensorSpec):
                nest.assert_same_structure(spec, part, expand_composites=True)
    except (TypeError, ValueError) as problem:
        raise TypeError(
            f"{name}(): cannot use {value!r} where input_signature says {signature}: {problem}"
        ) from None
    for spec, part in zip(leaves, parts, strict=True):
        if isinstance(spec, TensorSpec):
            yield spec, part
        else:
            yield from zip(
                nest.flatten(spec, expand_composites=True),
                nest.flatten(part, expand_composites=True),
                strict=True,
            )


def to_spec(name: str, spec: Any, value: Any) -> Any:
    """An argument as the tensor that a TensorSpec of an input signature wants.

    Raises:
      TypeError: it has another dtype or shape.
    """
    try:
        tensor = value if isinstance(value, Tensor) else convert_to_tensor(value, spec.dtype)
    except (TypeError, ValueError) as problem:
        raise TypeError(
            f"{name}(): cannot use {value!r} where input_signature says {spec}: {problem}"
            " Pass a value of that dtype and shape, or change the signature."
        ) from None
    if tensor.dtype.base_dtype is not spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
        raise TypeError(
            f"{name}(): cannot use {tensor.dtype.name}{tensor.shape} where input_signature says"
            f" {spec}. Cast or reshape the argument, or change the signature."
        )
    return tensor
