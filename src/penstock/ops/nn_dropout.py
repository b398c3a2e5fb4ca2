"""Dropout: elements are set to zero at random, and the others scaled up in return."""

import numbers
from collections.abc import Callable
from typing import Any

from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.ops.composing import like, number, scope, shape_of, tensor
from penstock.ops.math_arithmetic import multiply, subtract
from penstock.ops.random_ops import random_uniform
from penstock.ops.random_stateless_ops import stateless_random_uniform

Sampler = Callable[..., Any]  # called with shape= and dtype=


def dropout(
    x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    """Sets elements to zero with probability `rate` and divides the others by 1 - rate.

    Args:
      x: floating dtype, any shape.
      rate: a number or scalar tensor in [0, 1).
      noise_shape: the shape of the random choices, which broadcasts with `x`; None (also for one
        of its dimensions) takes that of `x`.
      seed: an integer, combined with the global seed.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.

    Raises:
      ValueError: the rate is outside [0, 1), or `x` is not floating.
    """

    def sampler(shape: Any, dtype: Any) -> Any:
        return random_uniform(shape, dtype=dtype, seed=seed)

    return _dropout(x, rate, noise_shape, sampler, name, "dropout")


def dropout_v1(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Any:
    """`dropout` with the arguments of compat.v1: `keep_prob` is 1 - rate.

    Raises:
      ValueError: both or neither of `rate` and `keep_prob` are given.
    """
    if rate is not None and keep_prob is not None:
        raise ValueError("Cannot specify both 'keep_prob' and 'rate'.")
    if rate is None:
        if keep_prob is None:
            raise ValueError("`rate` must be provided. Received: rate=None")
        if isinstance(keep_prob, numbers.Real):
            rate = 1 - keep_prob
        else:
            keep = tensor(keep_prob)
            rate = subtract(number(1, keep.dtype), keep)
    return dropout(x, rate, noise_shape, seed, name)


def stateless_dropout(
    x: Any,
    rate: Any,
    seed: Any,
    rng_alg: Any = None,
    noise_shape: Any = None,
    name: str | None = None,
) -> Any:
    """`dropout` whose choices follow from `seed`.

    Args:
      x: floating dtype, any shape.
      rate: a number or scalar tensor in [0, 1).
      seed: int32 or int64 [2].
      rng_alg: "philox" or "auto_select" (the default).
      noise_shape: as for `dropout`.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.
    """
    alg = "auto_select" if rng_alg is None else rng_alg

    def sampler(shape: Any, dtype: Any) -> Any:
        return stateless_random_uniform(shape, seed, dtype=dtype, alg=alg)

    return _dropout(x, rate, noise_shape, sampler, name, "stateless_dropout")


def general_dropout(
    x: Any,
    rate: Any,
    uniform_sampler: Sampler,
    noise_shape: Any = None,
    name: str | None = None,
) -> Any:
    """`dropout` whose choices come from `uniform_sampler(shape, dtype)`, numbers in [0, 1).

    Args:
      x: floating dtype, any shape.
      rate: a number or scalar tensor in [0, 1).
      uniform_sampler: draws the numbers; elements below `rate` are dropped.
      noise_shape: as for `dropout`.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.
    """
    return _dropout(x, rate, noise_shape, uniform_sampler, name, "general_dropout")


def _dropout(
    x: Any, rate: Any, noise_shape: Any, sampler: Sampler, name: str | None, default: str
) -> Any:
    fixed = isinstance(rate, numbers.Real)
    if not fixed and not isinstance(rate, Tensor) and not hasattr(rate, "__array__"):
        raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")
    if fixed and not 0 <= rate < 1:
        raise ValueError(
            f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}"
        )
    with scope(name, default):
        x = tensor(x, name="x")
        kind = x.dtype.base_dtype
        if not kind.is_floating:
            raise ValueError(
                "`x.dtype` must be a floating point tensor as `x` will be scaled. "
                f"Received: x_dtype={kind!r}"
            )
        if fixed and rate == 0:
            return x
        limit = number(rate, kind) if fixed else like(rate, x)
        if fixed:
            scaled = multiply(x, number(1 / (1 - rate), kind))
        else:
            scaled = execute("RealDiv", (x, subtract(number(1, kind), limit)))
        drawn = sampler(shape=_noise_shape(x, noise_shape), dtype=kind)
        keep = execute("GreaterEqual", (drawn, limit))
        result = execute("SelectV2", (keep, scaled, number(0, kind)))
        if isinstance(result, SymbolicTensor):
            result.set_shape(x.shape)
        return result


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    if noise_shape is None:
        return shape_of(x)
    if hasattr(noise_shape, "as_list"):
        noise_shape = noise_shape.as_list()
    if isinstance(noise_shape, (list, tuple)) and None in noise_shape and x.dims is not None:
        return [n if n is not None else m for n, m in zip(noise_shape, x.dims, strict=True)]
    return noise_shape
