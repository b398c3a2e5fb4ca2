"""Layer normalisation as one operation, and its gradients as another.

The planner makes them from means, variances and what programs do with them, and from the gradients
of all that, where there is a native kernel for them (`penstock inspect --patterns`); programs do
not write them. `gain`, `bias` and `beside` are lists of one or none: vectors for the last axis, and
a tensor that is added to the gradient by `x`. The two are found apart from each other: the forward
one leaves the mean and the inverse, and what a gradient may want is made of them.
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
from penstock.ops.kernels.cpu_norm import LEAST_ELEMENTS, LEAST_WIDTH
from penstock.types import dtypes as dt
from penstock.types.dims import Dims, is_full

Array = Any  # numpy.ndarray, jax.Array or a tracer


def _norm_shape(c: ShapeContext) -> list[Dims]:
    x = c.shape(0)
    means = None if x is None else (*x[:-1], 1)
    return [x, means, means]


def _norm_grad_shape(c: ShapeContext) -> list[Dims]:
    x = c.shape(0)
    row = None if x is None else (x[-1],)
    return [x, row, row]


LAYER_NORM = define_op(
    "PenstockLayerNorm(x: float, gain: K*float, bias: N*float; epsilon: float = 0.0, "
    "K: int >= 0, N: int >= 0) -> (y: float, mean: float, inverse: float)",
    shape=_norm_shape,
    doc="(x - mean) * inverse * gain + bias over the last axis; inverse: of the root of variance "
    "+ epsilon.",
).without_gradient("the planner makes it, after gradients were taken")
LAYER_NORM_GRAD = define_op(
    "PenstockLayerNormGrad(x: float, mean: float, inverse: float, gain: K*float, grad: float, "
    "beside: M*float; K: int >= 0, M: int >= 0) -> "
    "(by_x: float, by_gain: float, by_bias: float)",
    shape=_norm_grad_shape,
    doc="The gradients of PenstockLayerNorm.",
).without_gradient("the planner makes it, after gradients were taken")


def _mean(xp: Any, x: Array) -> Array:
    return xp.mean(x, axis=-1, keepdims=True, dtype=np.float32)


@kernel(LAYER_NORM)
def _layer_norm(
    xp: Any, x: Array, gain: list[Array], bias: list[Array], *, epsilon: float
) -> tuple[Array, Array, Array]:
    mean = _mean(xp, x)
    inverse = 1 / xp.sqrt(_mean(xp, (x - mean) ** 2) + np.float32(epsilon))
    y = (x - mean) * inverse
    for each in gain:
        y = y * each
    for each in bias:
        y = y + each
    return y, mean, inverse


@kernel(LAYER_NORM_GRAD)
def _layer_norm_grad(
    xp: Any,
    x: Array,
    mean: Array,
    inverse: Array,
    gain: list[Array],
    grad: Array,
    beside: list[Array],
) -> tuple[Array, Array, Array]:
    unit = (x - mean) * inverse
    by_unit = grad * gain[0] if gain else grad
    slope = _mean(xp, by_unit * unit)
    # The units' mean is 0 unless the program took another mean than that of x. Where the slope is
    # infinite so are numbers of both signs, whose sum is NaN.
    level = _mean(xp, by_unit) - slope * _mean(xp, unit) + slope * 0
    by_x = (by_unit - level - unit * slope) * inverse
    for each in beside:
        by_x = by_x + each
    rows = tuple(range(x.ndim - 1))
    return by_x, xp.sum(grad * unit, axis=rows), xp.sum(grad, axis=rows)


# What the planner looks for: the forms of the forward operation.

MOMENTS = (
    "inverse = Rsqrt(padded)",
    "padded = AddV2|Add(variance, epsilon)",
    "variance = Mean(squares, axis; keep_dims=1)",
)
MEAN = "mean = Mean(x, other_axis; keep_dims=1)"
DIFFERENCES = "squares = SquaredDifference(x, mean)"
SQUARES = (DIFFERENCES, "squares = Square(centred)")
CENTRED = "centred = Sub(x, mean)"
NORMALISED = "normalised = Mul(centred, inverse)"
FACTOR = "factor = Mul(inverse, gain)"
PLUS = "AddV2|Add|BiasAdd"
FORMS = {  # lines, and what they result in: with gain and bias, with gain, with neither
    "y": ("scaled = Mul(normalised, gain)", f"y = {PLUS}(scaled, bias)"),
    "scaled": ("scaled = Mul(normalised, gain)",),
    "normalised": (),
}


def _forward(result: str, squares: str) -> Template:
    made = [f"{result}, mean, inverse = {LAYER_NORM.name}(x, gain, bias)", CENTRED]
    if result != "normalised":
        made.append(NORMALISED)
    lines = (*MOMENTS, squares, MEAN, CENTRED, NORMALISED, *FORMS[result])
    return Template(lines, tuple(made))


def _factored() -> Template:
    """The one that `batch_normalization` writes."""
    lines = (
        *MOMENTS,
        DIFFERENCES,
        MEAN,
        FACTOR,
        "level = Mul(mean, factor)",
        "rest = Sub(bias, level)",
        "scaled = Mul(x, factor)",
        "y = AddV2|Add(scaled, rest)",
    )
    return Template(lines, (f"y, mean, inverse = {LAYER_NORM.name}(x, gain, bias)", FACTOR))


@functools.cache
def templates() -> tuple[Template, ...]:
    """All forms, the longest first."""
    return (*itertools.starmap(_forward, itertools.product(FORMS, SQUARES)), _factored())


# The forms of the gradients: how those by x come from those by what is normalised and by the
# inverse, how these come from the result's, and with them the gradients by gain and bias.

BY_INVERSE = (
    "by_padded = RsqrtGrad(inverse, by_inverse)",
    "by_inverse = Sum(products, last; keep_dims=1)",
    "spread = BroadcastTo(by_padded, _)",
    "shared = RealDiv(spread, count)",
    CENTRED,
)
DOUBLED = (  # differences, or squares
    ("doubled = Mul(shared, two)", "by_squares = Mul(doubled, centred)"),
    ("doubled = Mul(centred, two)", "by_squares = Mul(shared, doubled)"),
)
APART = (  # what is squared has a gradient of its own
    "all_direct = Sum(less_direct, last_too; keep_dims=1)",
    "less_squares = Neg(by_squares)",
    "all_squares = Sum(less_squares, last_as_well; keep_dims=1)",
    "level = AddN(all_direct, all_squares)",
    "wide = BroadcastTo(level, _)",
    "by_mean = RealDiv(wide, same_count)",
    "by_x = AddN({direct, by_squares, by_mean})",
)
TOGETHER = (  # what is squared is what is normalised
    *DOUBLED[1],
    "by_centred = AddN(direct, by_squares)",
    "less_centred = Neg(by_centred)",
    "level = Sum(less_centred, last_too; keep_dims=1)",
    "wide = BroadcastTo(level, _)",
    "by_mean = RealDiv(wide, same_count)",
    "by_x = AddN({by_centred, by_mean})",
)
BY_NORMALISED = (
    "products = Mul(by_normalised, centred)",
    "direct = Mul(by_normalised, inverse)",
)
BY_FACTOR = (
    FACTOR,
    "less_grad = Neg(grad)",
    "less_mean = Mul(less_grad, mean)",
    "with_x = Mul(grad, x)",
    "by_factor = AddN(less_mean, with_x)",
    "products = Mul(by_factor, gain)",
    "direct = Mul(grad, factor)",
    "less_direct = Mul(less_grad, factor)",
)
BY_BIAS = "by_bias = Sum(grad, same_rows; keep_dims=0)"
BY_GAIN = ("by_gain = Sum(by_products, rows; keep_dims=0)", "by_products = Mul(grad, normalised)")
BY_PARAMETERS = {
    "by_gain, by_bias": ("by_normalised = Mul(grad, gain)", *BY_GAIN, NORMALISED, BY_BIAS),
    "by_gain, _": ("by_normalised = Mul(grad, gain)", *BY_GAIN, NORMALISED),
    "_, _": (),
}
DIRECT = "less_direct = Neg(direct)"
BESIDE = ("beside, {}", "{}")  # with another gradient by x, or without


def _backward(lines: tuple[str, ...], parameters: str, beside: str) -> Template:
    """A form with `beside` where its sum has braces."""
    whole = tuple(re.sub(r"{(.*)}", lambda m: beside.format(m[1]), line) for line in lines)
    grad = "by_normalised" if parameters == "_, _" else "grad"
    called = f"{LAYER_NORM_GRAD.name}(x, mean, inverse, gain, {grad}, beside)"
    kept = tuple(line for line in (CENTRED, NORMALISED, FACTOR) if line in lines)
    return Template(whole, (f"by_x, {parameters} = {called}", *kept))


@functools.cache
def grad_templates() -> tuple[Template, ...]:
    """All forms of the gradients, the longest first."""
    forms = [
        ((*BY_INVERSE, *BY_NORMALISED, *by_squares, *lines), parameters)
        for parameters, lines in BY_PARAMETERS.items()
        for by_squares in (*((DIRECT, *doubled, *APART) for doubled in DOUBLED), TOGETHER)
    ]
    by_gain = (
        "by_gain = Sum(by_products, rows; keep_dims=0)",
        "by_products = Mul(by_factor, inverse)",
    )
    factored = (*BY_INVERSE, *BY_FACTOR, *DOUBLED[0], *APART, *by_gain, BY_BIAS)
    forms.append((factored, "by_gain, by_bias"))
    return tuple(_backward(*form, beside) for form in forms for beside in BESIDE)


NOT_FLOATS = {"axis", "other_axis", "last", "last_too", "last_as_well", "rows", "same_rows"}


def _fits(facts: Any) -> dict[str, Any] | None:
    """Attributes of the operations, where a native kernel takes their shapes."""
    x = facts.shape("x")
    on_cpu = facts.device == "" or "cpu" in facts.device.lower()
    if not (on_cpu and _is_wide(x) and native.available()):
        return None
    names = facts.names
    if any(facts.dtype(name) is not dt.float32 for name in names - NOT_FLOATS):
        return None
    vectors = ("gain", "bias", "by_gain", "by_bias")
    if any(facts.shape(name) != (x[-1],) for name in vectors if name in names):
        return None
    rank = len(x)
    last = names & (NOT_FLOATS - {"rows", "same_rows"})
    if not all(_are(facts, name, {rank - 1}, rank) for name in last):
        return None
    if not all(_are(facts, n, set(range(rank - 1)), rank) for n in names & {"rows", "same_rows"}):
        return None
    return _of_forward(facts) if "epsilon" in names else _of_grad(facts, x)


def _of_forward(facts: Any) -> dict[str, Any] | None:
    if "y" in facts.names and facts.attr("y", "data_format", "NHWC") != "NHWC":
        return None  # a bias for the channels of a BiasAdd, which are not last
    epsilon = facts.constant("epsilon")
    if epsilon is None or epsilon.size != 1 or epsilon.ndim > len(facts.shape("x")):
        return None
    return {"epsilon": float(epsilon.reshape(())), "T": dt.float32}


def _of_grad(facts: Any, x: tuple[int | None, ...]) -> dict[str, Any] | None:
    """The gradients by all elements, and the numbers that are theirs."""
    alike = ("spread", "wide", "by_x", "by_normalised", "beside", "grad")
    if not is_full(x) or any(facts.shape(n) != x for n in alike if n in facts.names):
        return None
    if facts.shape("mean") != (*x[:-1], 1) or facts.shape("inverse") != (*x[:-1], 1):
        return None
    for name, number in (("count", x[-1]), ("same_count", x[-1]), ("two", 2)):
        value = facts.constant(name)
        if value is None or value.size != 1 or value.reshape(()) != number:
            return None
    return {"T": dt.float32}


def _is_wide(x: Dims) -> bool:
    """Whether there are rows that are wide enough, and enough of them as far as is known."""
    if x is None or len(x) < 2 or x[-1] is None or x[-1] < LEAST_WIDTH:
        return False
    return not is_full(x) or math.prod(n for n in x if n is not None) >= LEAST_ELEMENTS


def _are(facts: Any, name: str, axes: set[int], rank: int) -> bool:
    """Whether a value is a constant that names these axes."""
    value = facts.constant(name)
    return value is not None and {int(n) % rank for n in value.reshape(-1)} == axes


add_pattern(
    Rewrite(
        "layer_norm",
        "(x - mean) * rsqrt(variance + epsilon), with a gain and a bias or without, also as "
        "batch_normalization writes it: with the moments over the last axis",
        LAYER_NORM.name,
        f"float32 on CPU with the native kernels; rows of {LEAST_WIDTH} numbers and more",
        ("Rsqrt",),
        templates,
        _fits,
    )
)
add_pattern(
    Rewrite(
        "layer_norm_grad",
        "the gradients of a layer normalisation by its input, gain and bias, with another gradient "
        "by its input or without",
        LAYER_NORM_GRAD.name,
        f"float32 on CPU with the native kernels; rows of {LEAST_WIDTH} numbers and more, whose "
        "shape is known",
        ("RsqrtGrad",),
        grad_templates,
        _fits,
    )
)
