"""The tensors of composite values that have gradients.

A class may say that its gradient is that of one part: `_gradient_part` is the part, and
`_with_gradient(g)` the value that stands for the gradient (a ragged tensor's part is its flat
values). Other composite values are taken apart into all their tensors.
"""

from typing import Any

from penstock.core.tensor import Tensor
from penstock.errors import NoTensorError, located
from penstock.util import nest


def names_part(value: Any) -> bool:
    """Whether a value's class says which part of it a gradient is taken of."""
    return hasattr(type(value), "_gradient_part")


def gradient_part(value: Any) -> Any:
    """The part of a value that a gradient is taken of; the value where it names none."""
    return value._gradient_part if names_part(value) else value


def like_source(source: Any, gradient: Any) -> Any:
    """A gradient in the form of what it was taken of; None stays None."""
    if gradient is None or not names_part(source):
        return gradient
    return source._with_gradient(gradient)


def tracked(value: Any, where: str, what: str) -> Tensor:
    """The tensor that gradients of a value are kept by: a variable's handle, or itself.

    Raises:
      NoTensorError: it is neither a tensor nor a variable, so no operation can have used it.
    """
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "handle"):
        return value.handle  # type: ignore[no-any-return]
    raise NoTensorError(
        located(
            where,
            f"a tensor or variable as {what}",
            f"{value!r} of type {type(value).__name__}",
            "Make it one with tf.convert_to_tensor before it is used, and pass that tensor.",
        )
    )


def gradient_leaves(structure: Any) -> list[Any]:
    """The tensors in a structure that a gradient is taken of, from left to right."""
    found: list[Any] = []
    for leaf in nest.flatten(structure):
        if names_part(leaf):
            found.append(gradient_part(leaf))
        else:
            found.extend(nest.flatten(leaf, expand_composites=True))
    return found


def pack_gradients(structure: Any, gradients: list[Any]) -> Any:
    """The gradients of `gradient_leaves(structure)` in the form of the structure."""
    rest = iter(gradients)
    packed = []
    for leaf in nest.flatten(structure):
        if names_part(leaf):
            packed.append(like_source(leaf, next(rest)))
        else:
            count = len(nest.flatten(leaf, expand_composites=True))
            parts = [next(rest) for _ in range(count)]
            packed.append(nest.pack_sequence_as(leaf, parts, expand_composites=True))
    return nest.pack_sequence_as(structure, packed)
