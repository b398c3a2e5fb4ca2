"""Attention as one operation, and its gradients as another.

The planner makes them from products, a scale, a mask and a softmax, and from their gradients, where
there is a native kernel for them (`penstock inspect --patterns`); programs do not write them. The
scores are in no array between them: the gradients compute them again from `statistics`, which holds
each row's largest score and the inverse of the sum of its exponentials.
"""

import functools
import itertools
import math
import re
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.patterns import Rewrite, Template, add_pattern
from penstock.core.shapes import ShapeContext
from penstock.ops.kernels.cpu_attention import LEAST_WORK, MOST_DEPTH, factor, repeats
from penstock.types import dtypes as dt
from penstock.types.dims import Dims, is_full, num_elements

Array = Any  # numpy.ndarray, jax.Array or a tracer
INPUTS = "query: float, key: float, value: float, scale: K*float, mask: N*M"
ATTRS = (
    "divides: bool = False, low: float = 0.0, interleaved: bool = False, K: int >= 0, "
    "N: int >= 0, M: {bool, float} = bool"
)


def _attention_shape(c: ShapeContext) -> list[Dims]:
    query, value = c.shape(0), c.shape(2)
    if query is None or value is None:
        return [None, None]
    return [(*query[:-1], value[-1]), (*query[:-1], 2)]


ATTENTION = define_op(
    f"PenstockAttention({INPUTS}; {ATTRS}) -> (output: float, statistics: float)",
    shape=_attention_shape,
    doc="softmax(query * transposed key, scaled and masked) * value, for each leading index.",
).without_gradient("the planner makes it, after gradients were taken")
ATTENTION_GRAD = define_op(
    f"PenstockAttentionGrad({INPUTS}, statistics: float, grad: float; {ATTRS}) -> "
    "(query_grad: float, key_grad: float, value_grad: float)",
    shape=lambda c: [c.shape(i) for i in range(3)],
    doc="The gradients of PenstockAttention.",
).without_gradient("the planner makes it, after gradients were taken")


def _masked(xp: Any, scores: Array, mask: list[Array], low: float) -> Array:
    if not mask:
        return scores
    if mask[0].dtype == np.bool_:
        return xp.where(mask[0], scores, np.float32(low))
    return scores + mask[0]


@kernel(ATTENTION)
def _attention(
    xp: Any,
    query: Array,
    key: Array,
    value: Array,
    scale: list[Array],
    mask: list[Array],
    *,
    divides: bool,
    low: float,
) -> tuple[Array, Array]:
    scores = xp.matmul(query, xp.swapaxes(key, -1, -2)) * factor(scale, divides)
    scores = _masked(xp, scores, mask, low)
    top = xp.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    weights = xp.exp(scores - top)
    inverse = 1 / xp.sum(weights, axis=-1, keepdims=True)
    return xp.matmul(weights * inverse, value), xp.concatenate([top, inverse], -1)


@kernel(ATTENTION_GRAD)
def _attention_grad(
    xp: Any,
    query: Array,
    key: Array,
    value: Array,
    scale: list[Array],
    mask: list[Array],
    statistics: Array,
    grad: Array,
    *,
    divides: bool,
    low: float,
) -> tuple[Array, Array, Array]:
    scores = xp.matmul(query, xp.swapaxes(key, -1, -2)) * factor(scale, divides)
    scores = _masked(xp, scores, mask, low)
    weights = xp.exp(scores - statistics[..., :1]) * statistics[..., 1:]
    by_weights = xp.matmul(grad, xp.swapaxes(value, -1, -2))
    inner = xp.sum(by_weights * weights, axis=-1, keepdims=True)
    by_scores = (by_weights - inner) * weights
    if mask and mask[0].dtype == np.bool_:
        by_scores = xp.where(mask[0], by_scores, np.float32(0))
    by_scores = by_scores * factor(scale, divides)
    return (
        xp.matmul(by_scores, key),
        xp.matmul(xp.swapaxes(by_scores, -1, -2), query),
        xp.matmul(xp.swapaxes(weights, -1, -2), grad),
    )


# What the planner looks for: every scale, with every mask, with the gradients and without.

PRODUCT = "BatchMatMul|BatchMatMulV2|BatchMatMulV3"
SCALES = {  # lines that scale the scores, and those of the gradient
    "": ((), ()),
    "Mul": (("scaled = Mul(scores, scale)",), ("by_scores = Mul(by_scaled, scale)",)),
    "RealDiv": (("scaled = RealDiv(scores, scale)",), ("by_scores = RealDiv(by_scaled, scale)",)),
}
MASKS = {
    "": ((), ()),
    "SelectV2": (
        ("masked = SelectV2(mask, scaled, low)",),
        ("by_scaled = SelectV2(mask, by_masked, zero)",),
    ),
    "Add": (("masked = AddV2|Add(scaled, mask)",), ()),
}


def _template(scale: str, mask: str, with_grad: bool) -> Template:
    masked, by_scaled = MASKS[mask]
    scaled, by_scores = SCALES[scale]
    lines = [
        "weights = Softmax(masked)",
        *masked,
        *scaled,
        f"scores = {PRODUCT}(query, key; adj_x=0, adj_y=1)",
        f"output = {PRODUCT}(weights, value; adj_x=0, adj_y=0)",
    ]
    made = [f"output, statistics = {ATTENTION.name}(query, key, value, scale, mask)"]
    if with_grad:
        lines += [
            f"by_weights = {PRODUCT}(grad, value; adj_x=0, adj_y=1)",
            "parts = Mul(by_weights, weights)",
            "inner = Sum(parts, last; keep_dims=1)",
            "rest = Sub(by_weights, inner)",
            "by_masked = Mul(rest, weights)",
            *by_scaled,
            *by_scores,
            f"by_query = {PRODUCT}(by_scores, key; adj_x=0, adj_y=0)",
            f"by_key = {PRODUCT}(by_scores, query; adj_x=1, adj_y=0)",
            f"by_value = {PRODUCT}(weights, grad; adj_x=1, adj_y=0)",
        ]
        made.append(
            f"by_query, by_key, by_value = {ATTENTION_GRAD.name}(query, key, value, scale, mask, "
            "statistics, grad)"
        )
    steps = (
        ("masked", masked, "scaled"),
        ("scaled", scaled, "scores"),
        ("by_scores", by_scores, "by_scaled"),
        ("by_scaled", by_scaled, "by_masked"),
    )
    for name, present, before in steps:
        if not present:  # one value, under the name that it had before the step
            lines = [re.sub(rf"\b{name}\b", before, line) for line in lines]
    return Template(tuple(lines), tuple(made))


@functools.cache
def templates() -> tuple[Template, ...]:
    """All forms, those with gradients first."""
    forms = itertools.product((True, False), SCALES, MASKS)
    return tuple(_template(scale, mask, with_grad) for with_grad, scale, mask in forms)


def _fits(facts: Any) -> dict[str, Any] | None:
    """Attributes of the operations, where a native kernel takes their shapes."""
    shapes = [facts.shape(name) for name in ("query", "key", "value")]
    if not _are_rows(*shapes) or not _are_floats(facts):
        return None
    query, key, _ = shapes
    rank = len(query)
    attrs: dict[str, Any] = {"interleaved": _interleaved(facts, query)}
    if "scale" in facts.names:
        if num_elements(facts.shape("scale")) != 1 or len(facts.shape("scale")) > rank:
            return None
        attrs["divides"] = facts.type("scaled") == "RealDiv"
    if "mask" in facts.names:
        attrs["M"] = facts.dtype("mask")
        mask = facts.shape("mask")
        if mask is None or not repeats(mask, (*query[:-1], key[-2])):
            return None
    if "low" in facts.names:
        low = facts.constant("low")
        if low is None or low.size != 1 or low.ndim > rank:
            return None
        attrs["low"] = float(low.reshape(()))
    if "zero" in facts.names and (not _is(facts, "zero", 0) or facts.constant("zero").ndim > rank):
        return None
    if "last" in facts.names and not any(_is(facts, "last", n) for n in (-1, rank - 1)):
        return None
    on_cpu = facts.device == "" or "cpu" in facts.device.lower()
    return attrs if on_cpu and native.available() else None


def _are_floats(facts: Any) -> bool:
    """Whether all that is computed with is float32: products may have sides of other dtypes."""
    return all(facts.dtype(name) is dt.float32 for name in facts.names - {"mask", "last"})


def _is(facts: Any, name: str, number: int) -> bool:
    """Whether a value is a constant of one element, this number."""
    value = facts.constant(name)
    return value is not None and value.size == 1 and value.reshape(()) == number


def _are_rows(query: Dims, key: Dims, value: Dims) -> bool:
    """Whether these are enough rows of queries, keys and values, with the same leading axes."""
    if query is None or key is None or value is None or not len(query) == len(key) == len(value):
        return False
    if len(query) < 3 or not query[:-2] == key[:-2] == value[:-2] or key[-2] != value[-2]:
        return False
    depth, width = query[-1], value[-1]
    if depth is None or width is None or not (0 < depth <= MOST_DEPTH and 0 < width <= MOST_DEPTH):
        return False
    work = [n for n in (*query[:-2], query[-2], key[-2], depth) if n is not None]
    return is_full((*query, *key)) <= (math.prod(work) >= LEAST_WORK)


def _interleaved(facts: Any, query: Dims) -> bool:
    """Whether the heads of a row probably lie side by side in memory: they were moved apart."""
    assert query is not None
    names = ("query", "key", "value")
    return len(query) == 4 and all(facts.source(name) == "Transpose" for name in names)


add_pattern(
    Rewrite(
        "attention",
        "softmax(query * transposed key) * value, with a scale (Mul, RealDiv) and a mask (SelectV2 "
        "of a constant, an addition) or without, and the gradients of all that",
        f"{ATTENTION.name}, {ATTENTION_GRAD.name}",
        "float32 on CPU with the native kernels; the scores and weights are not used elsewhere",
        ("Softmax",),
        templates,
        _fits,
    )
)
