"""Sums, products and activations of quantised tensors.

8-bit integers give 32-bit ones, with a range of their own: a product's level is the product of the
levels; a sum's range leaves 14 bits (17 for a bias) of room above the larger of the two.
"""

import functools
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_quantised
from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext, broadcast
from penstock.ops.quant_host import (
    TABLES,
    Key,
    ends_of,
    every_byte,
    is_byte,
    key,
    known_level,
    known_product_range,
    known_zero_point,
    looked_up,
)
from penstock.ops.quant_levels import (
    FLOAT,
    Array,
    level,
    limits,
    product_range,
    scalars,
    to_floats_by_steps,
    to_integers,
    to_steps,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_REASON = "integers have no derivatives"


def check_wider(ctx: Any, xp: Any, low: Array, high: Array, names: tuple[str, str]) -> None:
    """Fails the step unless the range has a width."""
    if xp is np and float(low) < float(high):  # in a tenth of the time
        return
    ctx.check(
        low < high,
        errors.InvalidArgumentError,
        lambda a, b: f"{ctx.op_name}: expected {names[0]} < {names[1]}, got {a} and {b}.",
        low,
        high,
    )


def zero_point(xp: Any, low: Array, high: Array, dtype: DType) -> Array:
    """The integer that stands for 0.0: int32[], beyond the limits where the range lacks zero."""
    if xp is np:
        return known_zero_point(key(low, high), dtype)
    return to_steps(xp, xp.zeros_like(low), low, high, dtype).astype(np.int32)


def product_ends(
    xp: Any, ends: tuple[Array, Array, Array, Array], dtypes: tuple[DType, DType], out: DType
) -> tuple[Array, Array]:
    """The range of the products of two quantised tensors, as integers of `out`."""
    if xp is np:
        return known_product_range(key(*ends), dtypes, out)
    step = level(ends[0], ends[1], dtypes[0]) * level(ends[2], ends[3], dtypes[1])
    return product_range(step, out)


def sum_range(
    xp: Any, a: tuple[Array, Array], b: tuple[Array, Array], bits: int
) -> tuple[Array, Array]:
    """A symmetric range that holds the sum of two, with `bits` of room."""
    low, high = xp.minimum(a[0], b[0]), xp.maximum(a[1], b[1])
    most = xp.maximum(xp.abs(low), xp.abs(high)) * FLOAT(1 << bits)
    return -most, most


def summed(
    xp: Any,
    pairs: tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]],
    dtypes: tuple[DType, DType],
    out: DType,
    bits: int,
) -> tuple[Array, Array, Array]:
    """The sum of two quantised arrays, each (values, low, high), as integers of `out`."""
    if xp is np and is_byte(dtypes[0]) and is_byte(dtypes[1]):
        (a, *first), (b, *second) = pairs
        to_a, to_b, fits, low, high = _sum_tables(key(*first, *second), dtypes, out, bits)
        total = looked_up(to_a, a) + looked_up(to_b, b)
        return total if fits else to_integers(np, total, out), low, high
    low, high = sum_range(xp, pairs[0][1:], pairs[1][1:], bits)
    steps = [
        to_steps(xp, to_floats_by_steps(xp, *pair, dtype), low, high, out)
        for pair, dtype in zip(pairs, dtypes, strict=True)
    ]
    return to_integers(xp, steps[0] + steps[1], out), low, high


@functools.lru_cache(TABLES)
def _sum_tables(
    known: Key, dtypes: tuple[DType, DType], out: DType, bits: int
) -> tuple[Array, Array, bool, Array, Array]:
    """What each byte of two quantised tensors adds to their sum, in the steps of its range.

    Returns:
      Two tables, whether all sums lie within the limits, and the sum's range. If they do, the
      tables are integers of `out`, else float64[256].
    """
    ends = ends_of(known)
    low, high = sum_range(np, (ends[0], ends[1]), (ends[2], ends[3]), bits)
    to_a, to_b = [
        to_steps(np, to_floats_by_steps(np, every_byte(t), first, last, t), low, high, out)
        for first, last, t in zip(ends[::2], ends[1::2], dtypes, strict=True)
    ]
    least, most = limits(out)
    lows, highs = (to_a.min(), to_b.min()), (to_a.max(), to_b.max())  # NaN fits nowhere
    fits = all(least <= each <= most for each in (*lows, *highs, sum(lows), sum(highs)))
    if fits:
        to_a, to_b = to_a.astype(out.numpy_dtype), to_b.astype(out.numpy_dtype)
    return to_a, to_b, fits, low, high


def _binary_shape(c: ShapeContext) -> list[Dims]:
    scalars(c, (2, 3, 4, 5))
    both = ShapeContext(c.op_name, c.shapes[:2], c.dtypes[:2], c.attrs, c.constant, c.shape_value)
    return [broadcast(both), (), ()]


def _define_binary(name: str, doc: str) -> OpDef:
    return define_op(
        f"{name}(x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float; T1: "
        "quantizedtype, T2: quantizedtype, Toutput: quantizedtype = qint32) -> z: Toutput, min_z: "
        "float, max_z: float",
        shape=_binary_shape,
        fallible=True,
        doc=doc,
    ).not_differentiable(_REASON)


_BINARY = {"T1": ["quint8"], "T2": ["quint8"], "Toutput": ["qint32"]}
ADD = _define_binary("QuantizedAdd", "Sums of quantised numbers.")
MUL = _define_binary("QuantizedMul", "Products of quantised numbers.")


@kernel(ADD, types=_BINARY)
def _add(
    ctx: Any,
    xp: Any,
    x: Array,
    y: Array,
    min_x: Array,
    max_x: Array,
    min_y: Array,
    max_y: Array,
    *,
    T1: DType,
    T2: DType,
    Toutput: DType,
) -> tuple[Array, Array, Array]:
    check_wider(ctx, xp, min_x, max_x, ("min_x", "max_x"))
    check_wider(ctx, xp, min_y, max_y, ("min_y", "max_y"))
    return summed(xp, ((x, min_x, max_x), (y, min_y, max_y)), (T1, T2), Toutput, 14)


@kernel(MUL, types=_BINARY)
def _mul(
    ctx: Any,
    xp: Any,
    x: Array,
    y: Array,
    min_x: Array,
    max_x: Array,
    min_y: Array,
    max_y: Array,
    *,
    T1: DType,
    T2: DType,
    Toutput: DType,
) -> tuple[Array, Array, Array]:
    check_wider(ctx, xp, min_x, max_x, ("min_x", "max_x"))
    check_wider(ctx, xp, min_y, max_y, ("min_y", "max_y"))
    zeros = zero_point(xp, min_x, max_x, T1), zero_point(xp, min_y, max_y, T2)
    found = native_quantised.products(x, y, *zeros) if xp is np else None
    if found is None:
        found = (x.astype(np.int32) - zeros[0]) * (y.astype(np.int32) - zeros[1])
    return found, *product_ends(xp, (min_x, max_x, min_y, max_y), (T1, T2), Toutput)


# ---- bias


def _bias_shape(c: ShapeContext) -> list[Dims]:
    dims = c.rank_at_least(0, 2, "input")
    bias = c.rank(1, 1, "bias")
    scalars(c, (2, 3, 4, 5))
    if dims is not None:
        c.merge(dims[-1:], bias)
    return [dims, (), ()]


BIAS_ADD = define_op(
    "QuantizedBiasAdd(input: T1, bias: T2, min_input: float, max_input: float, min_bias: float, "
    "max_bias: float; T1: quantizedtype, T2: quantizedtype, out_type: quantizedtype) -> output: "
    "out_type, min_out: float, max_out: float",
    shape=_bias_shape,
    doc="Adds a quantised number to each channel.",
).not_differentiable(_REASON)


def _add_bias(
    xp: Any,
    input: Array,
    bias: Array,
    min_input: Array,
    max_input: Array,
    min_bias: Array,
    max_bias: Array,
    *,
    T1: DType,
    T2: DType,
    out_type: DType,
) -> tuple[Array, Array, Array]:
    pairs = ((input, min_input, max_input), (bias, min_bias, max_bias))
    return summed(xp, pairs, (T1, T2), out_type, 17)


for _t in ("quint8", "qint8"):
    kernel(BIAS_ADD, types={"T1": [_t], "T2": [_t], "out_type": ["qint32"]})(_add_bias)


# ---- activations


def _activation_shape(c: ShapeContext) -> list[Dims]:
    scalars(c, range(1, len(c)))
    return [c.shape(0), (), ()]


def _define_relu(name: str, doc: str, top: float | None) -> OpDef:
    op = define_op(
        f"{name}(features: Tinput, min_features: float, max_features: float; Tinput: quantizedtype"
        ", out_type: quantizedtype = quint8) -> activations: out_type, min_activations: float, "
        "max_activations: float",
        shape=_activation_shape,
        doc=doc,
    ).not_differentiable(_REASON)

    def run(
        xp: Any, features: Array, min_features: Array, max_features: Array, *, Tinput: DType
    ) -> tuple[Array, Array, Array]:
        low, high = min_features, max_features
        if xp is np:
            known = key(low, high)
            result = np.maximum(features, known_level(known, 0.0, Tinput))
            if top is not None:
                result = np.minimum(result, known_level(known, top, Tinput))
            return result, low, high
        zero = to_integers(xp, to_steps(xp, xp.zeros_like(low), low, high, Tinput), Tinput)
        result = xp.maximum(features, zero)
        if top is not None:
            steps = to_steps(xp, xp.zeros_like(low) + FLOAT(top), low, high, Tinput)
            result = xp.minimum(result, to_integers(xp, steps, Tinput))
        return result, low, high

    for each in ("quint8", "qint32"):
        kernel(op, types={"Tinput": [each], "out_type": [each]})(run)
    return op


RELU = _define_relu("QuantizedRelu", "Quantised numbers, or zero where they are below it.", None)
RELU6 = _define_relu("QuantizedRelu6", "Quantised numbers held between 0 and 6.", 6.0)

RELU_X = define_op(
    "QuantizedReluX(features: Tinput, max_value: float, min_features: float, max_features: float; "
    "Tinput: quantizedtype, out_type: quantizedtype = quint8) -> activations: out_type, "
    "min_activations: float, max_activations: float",
    shape=_activation_shape,
    doc="Quantised numbers held between 0 and a number. No device has a kernel, as in TensorFlow.",
).not_differentiable(_REASON)
