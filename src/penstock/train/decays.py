"""`compat.v1.train`: learning rates that fall with the global step.

Each function gives the rate of a step as a scalar. In eager mode it gives a function without
arguments, so that an optimizer asks again at every step.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import name_scope_v1
from penstock.ops.array_basics import identity
from penstock.ops.array_select import where
from penstock.ops.math_arithmetic import add, minimum, multiply, negative, pow, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, less_equal
from penstock.ops.math_division import divide
from penstock.ops.math_elementwise import ceil, cos, exp, floor, log
from penstock.ops.random_ops import random_normal
from penstock.types import dtypes as dt


def _schedule(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: in eager mode the rate is computed at each call of the result."""

    @functools.wraps(function)
    def decay(*args: Any, **kwargs: Any) -> Any:
        if state.graph is None:
            return functools.partial(function, *args, **kwargs)
        return function(*args, **kwargs)

    return decay


def _needs_step(global_step: Any, what: str) -> None:
    if global_step is None:
        raise ValueError(
            f"{what}: argument `global_step` cannot be None. Pass"
            " tf.compat.v1.train.get_or_create_global_step()."
        )


def _share(step: Any, steps: Any, dtype: Any, staircase: bool = False) -> Any:
    passed = divide(cast(step, dtype), cast(steps, dtype))
    return floor(passed) if staircase else passed


_COMMON = """

    Args:
      learning_rate: the first rate, a floating scalar.
      global_step: the number of steps done, an integer scalar or variable.
      decay_steps: over how many steps the rate decays, a positive scalar.
{}      name: the name of the operations in a graph.

    Returns:
      Scalar of the dtype of `learning_rate`; in eager mode a function that gives it.

    Raises:
      ValueError: there is no global step.
"""
_RATE = "      decay_rate: how much it decays in that time, a scalar.\n"
_STAIRS = "      staircase: whether it falls in steps.\n"


def _document(function: Callable[..., Any], arguments: str) -> None:
    """Appends what all rates have in common to a docstring, around arguments of its own."""
    function.__doc__ = (function.__doc__ or "") + _COMMON.format(arguments)


@_schedule
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """`learning_rate * decay_rate ** (step / decay_steps)`."""
    _needs_step(global_step, "exponential_decay")
    with name_scope_v1(
        name, "ExponentialDecay", [learning_rate, global_step, decay_steps, decay_rate]
    ) as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        passed = _share(global_step, decay_steps, rate.dtype, staircase)
        return multiply(rate, pow(cast(decay_rate, rate.dtype), passed), name=scope)


_document(exponential_decay, _RATE + _STAIRS)


@_schedule
def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """`learning_rate * exp(-decay_rate * step / decay_steps)`."""
    factor = exp(negative(convert_to_tensor(decay_rate, dt.float32)))
    return exponential_decay.__wrapped__(  # type: ignore[attr-defined]
        learning_rate, global_step, decay_steps, factor, staircase, name
    )


_document(natural_exp_decay, _RATE + _STAIRS)


@_schedule
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """`learning_rate / (1 + decay_rate * step / decay_steps)`."""
    _needs_step(global_step, "inverse_time_decay")
    with name_scope_v1(name, "InverseTimeDecay", [learning_rate, global_step, decay_rate]) as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        passed = _share(global_step, decay_steps, rate.dtype, staircase)
        growth = add(cast(1, rate.dtype), multiply(cast(decay_rate, rate.dtype), passed))
        return divide(rate, growth, name=scope)


_document(inverse_time_decay, _RATE + _STAIRS)


@_schedule
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """From `learning_rate` to `end_learning_rate` as a power of the steps left."""
    _needs_step(global_step, "polynomial_decay")
    with name_scope_v1(
        name, "PolynomialDecay", [learning_rate, global_step, decay_steps, end_learning_rate, power]
    ) as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        last = cast(end_learning_rate, rate.dtype)
        step, steps = cast(global_step, rate.dtype), cast(decay_steps, rate.dtype)
        if cycle:
            rounds = where(equal(step, 0), cast(1, rate.dtype), ceil(divide(step, steps)))
            steps = multiply(steps, rounds)
        else:
            step = minimum(step, steps)
        left = pow(subtract(1, divide(step, steps)), cast(power, rate.dtype))
        return add(multiply(subtract(rate, last), left), last, name=scope)


_document(
    polynomial_decay,
    "      end_learning_rate: the last rate, a scalar.\n"
    "      power: the power, a scalar.\n"
    "      cycle: whether it starts again, over a longer time, when it has reached the end.\n",
)


def _cosine(passed: Any) -> Any:
    """Half a wave, from 1 to 0 as `passed` goes from 0 to 1."""
    return multiply(0.5, add(1.0, cos(multiply(math.pi, passed))))


@_schedule
def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Half a cosine wave (Loshchilov and Hutter, arXiv:1608.03983)."""
    _needs_step(global_step, "cosine_decay")
    with name_scope_v1(name, "CosineDecay", [learning_rate, global_step]):
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        steps = cast(decay_steps, rate.dtype)
        passed = divide(minimum(cast(global_step, rate.dtype), steps), steps)
        factor = add(multiply(1 - alpha, _cosine(passed)), alpha)
        return multiply(rate, factor)


_ALPHA = "      alpha: the last rate as a share of the first.\n"
_document(cosine_decay, _ALPHA)


@_schedule
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Half cosine waves, one after the other (Loshchilov and Hutter, arXiv:1608.03983).

    Args:
      learning_rate: the first rate, a floating scalar.
      global_step: the number of steps done, an integer scalar or variable.
      first_decay_steps: the length of the first wave, a positive scalar.
      t_mul: how much longer each wave is than the one before.
      m_mul: how its height compares with that of the one before.
      alpha: the last rate of a wave as a share of the first.
      name: the name of the operations in a graph.

    Returns:
      Scalar of the dtype of `learning_rate`; in eager mode a function that gives it.

    Raises:
      ValueError: there is no global step.
    """
    _needs_step(global_step, "cosine_decay_restarts")
    with name_scope_v1(name, "SGDRDecay", [learning_rate, global_step]) as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        passed = _share(global_step, first_decay_steps, rate.dtype)
        growth, height = cast(t_mul, rate.dtype), cast(m_mul, rate.dtype)
        restart, within = _wave(passed, growth)
        peak = pow(height, restart)
        bottom = cast(alpha, rate.dtype)
        factor = add(multiply(multiply(peak, subtract(1, bottom)), _cosine(within)), bottom)
        return multiply(rate, factor, name=scope)


def _wave(passed: Any, growth: Any) -> tuple[Any, Any]:
    """The number of the wave, and how much of it has passed; lengths are powers of `growth`."""
    same = equal(growth, 1)
    safe = where(same, add(growth, 1), growth)
    longer = subtract(1, multiply(passed, subtract(1, safe)))
    number = floor(divide(log(longer), log(safe)))
    before = divide(subtract(1, pow(safe, number)), subtract(1, safe))
    within = divide(subtract(passed, before), pow(safe, number))
    whole = floor(passed)
    return where(same, whole, number), where(same, subtract(passed, whole), within)


def _linear_cosine(
    rate: Tensor,
    global_step: Any,
    decay_steps: Any,
    shape: tuple[Any, Any, Any],
    noise: Callable[[Any], Any] | None,
    scope: str,
) -> Any:
    periods, alpha, beta = (cast(v, rate.dtype) for v in shape)
    steps = cast(decay_steps, rate.dtype)
    step = minimum(cast(global_step, rate.dtype), steps)
    left = divide(subtract(steps, step), steps)
    if noise is not None:
        left = add(left, noise(step))
    angle = multiply(multiply(2.0 * math.pi, periods), divide(step, steps))
    wave = multiply(0.5, add(1.0, cos(angle)))
    return multiply(rate, add(multiply(add(alpha, left), wave), beta), name=scope)


_LINEAR = (
    "      num_periods: waves over the whole time.\n"
    "      alpha: added to the linear part.\n"
    "      beta: added to the product.\n"
)


@_schedule
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """A falling line times a cosine wave (Bello et al., arXiv:1709.07417)."""
    _needs_step(global_step, "linear_cosine_decay")
    with name_scope_v1(name, "LinearCosineDecay", [learning_rate, global_step]) as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")
        shape = (num_periods, alpha, beta)
        return _linear_cosine(rate, global_step, decay_steps, shape, None, scope)


_document(linear_cosine_decay, _LINEAR)


@_schedule
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """As `linear_cosine_decay` with noise on the line (Bello et al., arXiv:1709.07417)."""
    _needs_step(global_step, "noisy_linear_cosine_decay")
    with name_scope_v1(name, "NoisyLinearCosineDecay", [learning_rate, global_step]) as scope:
        rate = convert_to_tensor(learning_rate, name="learning_rate")

        def noise(step: Any) -> Any:
            fall = pow(add(1.0, step), cast(variance_decay, rate.dtype))
            deviation = pow(divide(cast(initial_variance, rate.dtype), fall), 0.5)
            return random_normal(deviation.shape, stddev=deviation, dtype=rate.dtype)

        shape = (num_periods, alpha, beta)
        return _linear_cosine(rate, global_step, decay_steps, shape, noise, scope)


_document(
    noisy_linear_cosine_decay,
    "      initial_variance: the variance of the noise at the first step.\n"
    "      variance_decay: the power of the step that divides it.\n" + _LINEAR,
)


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Any:
    """A rate for each interval of steps.

    Args:
      x: the step, a scalar.
      boundaries: rising numbers of the dtype of `x`; an interval includes its upper end.
      values: the rates, one more than there are boundaries, of one dtype.
      name: the name of the operations in a graph.

    Returns:
      Scalar of the dtype of `values`; in eager mode a function that gives it.

    Raises:
      ValueError: the numbers of boundaries and values do not fit, or dtypes differ.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            "The length of boundaries should be 1 less than the length of values. Got"
            f" {len(boundaries)} boundaries and {len(values)} values; add or remove one."
        )
    if state.graph is None:
        _pieces(convert_to_tensor(x), boundaries, values)  # refuses what is wrong before the call
    return _piecewise(x, boundaries, values, name)


@_schedule
def _piecewise(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None) -> Any:
    with name_scope_v1(name, "PiecewiseConstant", [x, boundaries, values]) as scope:
        x = convert_to_tensor(x)
        limits, rates = _pieces(x, boundaries, values)
        result = rates[-1]
        for limit, rate in zip(reversed(limits), reversed(rates[:-1]), strict=True):
            result = where(less_equal(x, limit), rate, result)
        return identity(result, name=scope)


def _pieces(x: Tensor, boundaries: Sequence[Any], values: Sequence[Any]) -> tuple[Any, Any]:
    """The boundaries in the dtype of `x`, and the rates, of one dtype."""
    limits = [_limit(convert_to_tensor(b), x) for b in boundaries]
    rates = [convert_to_tensor(v) for v in values]
    for rate in rates[1:]:
        if rate.dtype != rates[0].dtype:
            raise ValueError(
                f"Values must have elements all with the same dtype ({rates[0].dtype!r} vs"
                f" {rate.dtype!r}). Write all of them with a decimal point, or none."
            )
    return limits, rates


def _limit(boundary: Tensor, x: Tensor) -> Any:
    if boundary.dtype.base_dtype == x.dtype.base_dtype:
        return boundary
    if boundary.dtype is dt.int32 and x.dtype.base_dtype is dt.int64:
        return cast(boundary, dt.int64)
    raise ValueError(
        f"Boundaries ({boundary.dtype!r}) must have the same dtype as x ({x.dtype!r}). Cast one of"
        " them with tf.cast."
    )


piecewise_constant_decay = piecewise_constant  # the newer name
