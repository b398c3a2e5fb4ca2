"""Normalisation of quantised images, [B, H, W, C]."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.quant_host import floats_of_bytes
from penstock.ops.quant_levels import FLOAT, Array, scalars, to_integers, to_steps
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_REASON = "integers have no derivatives"


def _instance_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 4, "x")
    scalars(c, (1, 2))
    low, high = c.attr("given_y_min"), c.attr("given_y_max")
    if c.attr("output_range_given") and not low < high:
        c.fail("given_y_min < given_y_max", f"{low} and {high}")
    return [c.shape(0), (), ()]


INSTANCE_NORM = define_op(
    "QuantizedInstanceNorm(x: T, x_min: float, x_max: float; T: quantizedtype, output_range_given:"
    " bool = False, given_y_min: float = 0.0, given_y_max: float = 0.0, variance_epsilon: float = "
    "1e-05, min_separation: float = 0.001) -> y: T, y_min: float, y_max: float",
    shape=_instance_shape,
    fallible=True,
    doc="Each channel of each image with mean 0 and variance 1.",
).not_differentiable(_REASON)


@kernel(INSTANCE_NORM, types={"T": ["quint8"]})
def _instance_norm(
    ctx: Any,
    xp: Any,
    x: Array,
    x_min: Array,
    x_max: Array,
    *,
    T: DType,
    output_range_given: bool,
    given_y_min: float,
    given_y_max: float,
    variance_epsilon: float,
    min_separation: float,
) -> tuple[Array, Array, Array]:
    ctx.check(
        x_min < x_max,
        errors.InvalidArgumentError,
        lambda a, b: f"QuantizedInstanceNorm: expected x_min < x_max, got {a} and {b}.",
        x_min,
        x_max,
    )
    values = floats_of_bytes(xp, x, x_min, x_max, T)
    pixels = x.shape[1] * x.shape[2]
    rest = values - values.sum(axis=(1, 2), keepdims=True) / np.float64(pixels)
    variance = (rest**2).sum(axis=(1, 2), keepdims=True) / np.float64(pixels)
    y = rest / xp.sqrt(variance + variance_epsilon)
    if output_range_given:
        low, high = xp.asarray(given_y_min, FLOAT), xp.asarray(given_y_max, FLOAT)
    else:
        low, high = y.min().astype(FLOAT), y.max().astype(FLOAT)
        least = low + FLOAT(min_separation)
        narrow = high - low < FLOAT(min_separation)
        high = (least if narrow else high) if xp is np else xp.where(narrow, least, high)
    return to_integers(xp, to_steps(xp, y, low, high, T), T), low, high


def _batch_shape(c: ShapeContext) -> list[Dims]:
    dims = c.rank(0, 4, "t")
    scalars(c, [i for i in range(15) if i % 3])
    depth: Dims = dims[-1:] if dims is not None else (None,)
    for i in (3, 6, 9, 12):
        depth = c.merge(depth, c.rank(i, 1))
    return [dims, (), ()]


BATCH_NORM = define_op(
    "QuantizedBatchNormWithGlobalNormalization(t: Tinput, t_min: float, t_max: float, m: Tinput, "
    "m_min: float, m_max: float, v: Tinput, v_min: float, v_max: float, beta: Tinput, beta_min: "
    "float, beta_max: float, gamma: Tinput, gamma_min: float, gamma_max: float; Tinput: "
    "quantizedtype, out_type: quantizedtype, variance_epsilon: float, scale_after_normalization: "
    "bool) -> result: out_type, result_min: float, result_max: float",
    shape=_batch_shape,
    doc="Quantised images less a mean, over a deviation, scaled and shifted, channel by channel.",
).not_differentiable(_REASON)


@kernel(BATCH_NORM, types={"Tinput": ["quint8"], "out_type": ["qint32"]})
def _batch_norm(
    xp: Any,
    t: Array,
    t_min: Array,
    t_max: Array,
    m: Array,
    m_min: Array,
    m_max: Array,
    v: Array,
    v_min: Array,
    v_max: Array,
    beta: Array,
    beta_min: Array,
    beta_max: Array,
    gamma: Array,
    gamma_min: Array,
    gamma_max: Array,
    *,
    Tinput: DType,
    out_type: DType,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> tuple[Array, Array, Array]:
    x = floats_of_bytes(xp, t, t_min, t_max, Tinput)
    mean = floats_of_bytes(xp, m, m_min, m_max, Tinput)
    variance = floats_of_bytes(xp, v, v_min, v_max, Tinput)
    shift = floats_of_bytes(xp, beta, beta_min, beta_max, Tinput)
    scale = floats_of_bytes(xp, gamma, gamma_min, gamma_max, Tinput)
    factor = 1.0 / xp.sqrt(variance + variance_epsilon)
    factor = factor * scale if scale_after_normalization else factor
    y = (x - mean) * factor + shift
    high = xp.asarray(1 << 20, FLOAT)
    return to_integers(xp, to_steps(xp, y, -high, high, out_type), out_type), -high, high
