"""The native kernels of attention, for CPU and float32."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.kernels import compiled_kernel
from penstock.core.lazy import jax, jnp

Array = Any  # a JAX tracer
LEAST_WORK = 1 << 18  # multiplications of the scores; below, a call costs more than it saves
MOST_DEPTH = 512  # columns of queries and values; a panel of them stays in the nearest cache
NONE, CHOOSES, ADDS = 0, 1, 2  # what a mask does, as native/kernels.h says it
SIDE_BY_SIDE = (0, 2, 1, 3)  # axes by their places in memory: the heads of a row follow each other


def factor(scale: list[Array], divides: bool) -> Array:
    """What scores are multiplied by, of rank 0."""
    if not scale:
        return np.float32(1)
    number = scale[0].reshape(())
    return np.float32(1) / number if divides else number


def _is_worth_a_call(
    attrs: dict[str, Any], query: Array, key: Array, value: Array, *rest: Array
) -> bool:
    """Whether leading axes are alike, a mask adds none to the scores, and the work is enough."""
    if not native.available():
        return False
    sizes = (query.shape[-1], value.shape[-1])
    if query.shape[:-2] != key.shape[:-2] or key.shape[:-1] != value.shape[:-1]:
        return False
    scores = (*query.shape[:-1], key.shape[-2])
    if attrs["N"] and not repeats(rest[attrs["K"]].shape, scores):
        return False
    work = math.prod(query.shape) * key.shape[-2]
    return bool(min(sizes) > 0 and max(sizes) <= MOST_DEPTH and work >= LEAST_WORK)


def repeats(mask: Sequence[int | None], scores: Sequence[int | None]) -> bool:
    """Whether a mask is repeated to the scores, and never the scores to the mask.

    Args:
      mask: its shape.
      scores: their shape. A size that is open in both may turn out to be 1 here alone: the kernels
        ask again.
    """
    pairs = zip(mask[::-1], scores[::-1], strict=False)
    return len(mask) <= len(scores) and all(m in (1, s) for m, s in pairs)


def _called(attrs: dict[str, Any], scale: list[Array], mask: list[Array], query: Array) -> Any:
    """The mask, the scale and the attributes of a call."""
    held, masking = (mask[0], CHOOSES) if mask else (query, NONE)
    if mask and mask[0].dtype != np.bool_:
        masking = ADDS
    number = jnp.asarray(factor(scale, attrs["divides"]), np.float32)
    numbers = {"masking": np.int32(masking), "low": np.float32(attrs["low"])}
    return held, number, numbers | {"interleaved": np.bool_(attrs["interleaved"])}


def _whole_rows(mask: list[Array], key: Array) -> list[Array]:
    """The mask with a column for each key, and an axis of rows."""
    if not mask:
        return mask
    rows = mask[0].shape[:-1] or (1,)
    return [jnp.broadcast_to(mask[0], (*rows, key.shape[-2]))]


def _layouts(attrs: dict[str, Any], kinds: str) -> list[Any] | None:
    """For each array: "h" for one with heads, whose layout may be another than row-major."""
    if not attrs["interleaved"]:
        return None
    return [SIDE_BY_SIDE if kind == "h" else None for kind in kinds]


@compiled_kernel("PenstockAttention", device="CPU", when=_is_worth_a_call)
def attention(
    ctx: Any, query: Array, key: Array, value: Array, scale: list[Array], mask: list[Array]
) -> Any:
    """Attention, a block of rows of scores at a time."""
    mask = _whole_rows(mask, key)
    held, number, attrs = _called(ctx.attrs, scale, mask, query)
    kinds = "hhh-s" if mask else "hhhhs"
    lead = query.shape[:-1]
    results = [
        jax.ShapeDtypeStruct((*lead, value.shape[-1]), np.float32),
        jax.ShapeDtypeStruct((*lead, 2), np.float32),
    ]
    layouts = (_layouts(ctx.attrs, kinds), _layouts(ctx.attrs, "hs"))
    return native.call(
        "attention", results, query, key, value, held, number, layouts=layouts, **attrs
    )


@compiled_kernel("PenstockAttentionGrad", device="CPU", when=_is_worth_a_call)
def attention_grad(
    ctx: Any,
    query: Array,
    key: Array,
    value: Array,
    scale: list[Array],
    mask: list[Array],
    statistics: Array,
    grad: Array,
) -> Any:
    """The gradients of attention, from the statistics of its rows."""
    mask = _whole_rows(mask, key)
    held, number, attrs = _called(ctx.attrs, scale, mask, query)
    kinds = "hhh-ssh" if mask else "hhhhssh"
    results = [jax.ShapeDtypeStruct(x.shape, np.float32) for x in (query, key, value)]
    layouts = (_layouts(ctx.attrs, kinds), _layouts(ctx.attrs, "hhh"))
    arrays = (query, key, value, held, number, statistics, grad)
    return native.call("attention_grad", results, *arrays, layouts=layouts, **attrs)
