"""The native kernels of layer normalisation, for CPU and float32."""

import math
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.kernels import compiled_kernel
from penstock.core.lazy import jax

Array = Any  # a JAX tracer
LEAST_ELEMENTS = 1 << 14  # below, a call costs more than it saves
LEAST_WIDTH = 16  # a vector of the widest instructions
GAIN, BIAS, BESIDE = 1, 2, 4  # what `uses` names, as native/norm_handlers.cc says it


def _is_worth_a_call(attrs: dict[str, Any], x: Array, *rest: Array) -> bool:
    """Whether there are enough elements, in rows that are wide enough."""
    if not native.available():
        return False
    return bool(x.shape[-1] >= LEAST_WIDTH and math.prod(x.shape) >= LEAST_ELEMENTS)


def _result(*dims: int) -> Any:
    return jax.ShapeDtypeStruct(dims, np.float32)


def _held(x: Array, *lists: tuple[int, list[Array]]) -> tuple[list[Array], Any]:
    """An array for each list of one or none, any where there is none, and which there are."""
    uses = sum(flag for flag, given in lists if given)
    return [given[0] if given else x for _, given in lists], np.int32(uses)


@compiled_kernel("PenstockLayerNorm", device="CPU", when=_is_worth_a_call)
def layer_norm(ctx: Any, x: Array, gain: list[Array], bias: list[Array]) -> Any:
    """Layer normalisation, a row at a time."""
    held, uses = _held(x, (GAIN, gain), (BIAS, bias))
    results = [_result(*x.shape), *[_result(*x.shape[:-1], 1)] * 2]
    epsilon = np.float32(ctx.attrs["epsilon"])
    return native.call("layer_norm", results, x, *held, epsilon=epsilon, uses=uses)


@compiled_kernel("PenstockLayerNormGrad", device="CPU", when=_is_worth_a_call)
def layer_norm_grad(
    ctx: Any,
    x: Array,
    mean: Array,
    inverse: Array,
    gain: list[Array],
    grad: Array,
    beside: list[Array],
) -> Any:
    """Its gradients, a row at a time."""
    held, uses = _held(x, (GAIN, gain), (BESIDE, beside))
    results = [_result(*x.shape), *[_result(x.shape[-1])] * 2]
    arrays = (x, mean, inverse, held[0], grad, held[1])
    return native.call("layer_norm_grad", results, *arrays, uses=uses)
