"""Losses of stochastic dual coordinate ascent: what an example costs, and its best dual variable.

Each is a `Loss` of functions of an example: its label `y`, its prediction `p` (the product of
weights and features), its weight `w`, its dual variable `a`, and `n`: the weighted squared norm of
its features over the L2 strength, which is how much the prediction grows with the dual variable.

Source: Shalev-Shwartz and Zhang, "Stochastic dual coordinate ascent methods for regularized loss
minimization" (2013); for the logistic and the Poisson loss the dual variable is where its equation
holds, found by bisection.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

_STEPS = 80  # halvings: more than a double has bits
_INFINITY = math.inf


@dataclass(frozen=True, slots=True)
class Loss:
    """One loss.

    Attributes:
      label: `label(y)`, the label as the loss wants it; ValueError when it cannot be.
      dual: `dual(y, p, a, n)`, the best dual variable of an example.
      primal: `primal(y, p)`, the loss of a prediction.
      conjugate: `conjugate(y, a)`, the loss of a dual variable.
    """

    label: Callable[[float], float]
    dual: Callable[[float, float, float, float], float]
    primal: Callable[[float, float], float]
    conjugate: Callable[[float, float], float]


def _sign_of(y: float) -> float:
    if y not in (0.0, 1.0):
        raise ValueError(
            f"Only labels of 0.0 or 1.0 are supported right now. Found example with label: {y:g}"
        )
    return 2 * y - 1


def _count_of(y: float) -> float:
    if y < 0:
        raise ValueError(
            "Only non-negative labels can be used with the Poisson log loss. Found example with "
            f"label: {y:g}"
        )
    return y


def _between(low: float, high: float, falling: Callable[[float], float]) -> float:
    """Where a falling function crosses zero, between two points that it does so between."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else _INFINITY


# ---- squared -------------------------------------------------------------------------------------


def _squared_dual(y: float, p: float, a: float, n: float) -> float:
    return a + (y - p - a) / (1 + n)


SQUARED = Loss(
    lambda y: y,
    _squared_dual,
    lambda y, p: 0.5 * (p - y) ** 2,
    lambda y, a: a * (0.5 * a - y),
)

# ---- hinge, and smoothed -------------------------------------------------------------------------


def _clipped(y: float, a: float) -> float:
    """A dual variable of the label's sign and at most 1."""
    return y * min(max(y * a, 0.0), 1.0) + 0.0  # no negative zero


def _hinge_dual(y: float, p: float, a: float, n: float) -> float:
    if n == 0:
        return _clipped(y, y * _INFINITY) if y * p < 1 else 0.0
    return _clipped(y, a + (y - p) / n)


def _smooth_dual(y: float, p: float, a: float, n: float) -> float:
    return _clipped(y, _squared_dual(y, p, a, n))


def _smooth_primal(y: float, p: float) -> float:
    if y * p >= 1:
        return 0.0
    return 0.5 - y * p if y * p <= 0 else 0.5 * (1 - y * p) ** 2


def _allowed(y: float, a: float) -> bool:
    return 0 <= y * a <= 1


HINGE = Loss(
    _sign_of,
    _hinge_dual,
    lambda y, p: max(0.0, 1 - y * p),
    lambda y, a: -y * a if _allowed(y, a) else _INFINITY,
)
SMOOTH_HINGE = Loss(
    _sign_of,
    _smooth_dual,
    _smooth_primal,
    lambda y, a: -y * a + 0.5 * a * a if _allowed(y, a) else _INFINITY,
)

# ---- logistic ------------------------------------------------------------------------------------


def _logistic_dual(y: float, p: float, a: float, n: float) -> float:
    """Where a = y / (1 + exp(y p')), p' the prediction with a."""

    def gap(share: float) -> float:  # share: y a, between 0 and 1
        prediction = y * p + n * (share - y * a)
        return 1 / (1 + _exp(prediction)) - share

    return y * _between(0.0, 1.0, gap) if math.isfinite(p + n) else math.nan


def _logistic_primal(y: float, p: float) -> float:
    margin = y * p
    return math.log1p(math.exp(-margin)) if margin > 0 else math.log1p(math.exp(margin)) - margin


def _logistic_conjugate(y: float, a: float) -> float:
    return sum(q * math.log(q) for q in (y * a, 1 - y * a) if q > 0)


LOGISTIC = Loss(_sign_of, _logistic_dual, _logistic_primal, _logistic_conjugate)

# ---- Poisson -------------------------------------------------------------------------------------


def _poisson_dual(y: float, p: float, a: float, n: float) -> float:
    """Where y - a = exp(p'), p' the prediction with a: a is below y."""

    def gap(rate: float) -> float:  # rate: log(y - a)
        return p + n * (y - _exp(rate) - a) - rate

    if not math.isfinite(p + n):
        return math.nan
    high = max(p + n * (y - a), 0.0) + 1
    low = min(p + n * (y - a - _exp(min(high, 700.0))), -1.0)
    return y - _exp(_between(low, high, gap))


def _poisson_conjugate(y: float, a: float) -> float:
    rate = y - a
    if rate < 0:
        return _INFINITY
    return rate * (math.log(rate) - 1) if rate else 0.0


POISSON = Loss(_count_of, _poisson_dual, lambda y, p: _exp(p) - y * p, _poisson_conjugate)

LOSSES = {
    "logistic_loss": LOGISTIC,
    "squared_loss": SQUARED,
    "hinge_loss": HINGE,
    "smooth_hinge_loss": SMOOTH_HINGE,
    "poisson_loss": POISSON,
}
