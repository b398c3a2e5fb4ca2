"""Products of quantised matrices, alone and with what networks do after them.

QuantizedMatMul subtracts the zero points of both sides. The fused operations take unsigned
activations and signed weights whose integer 0 stands for 0.0; with input_quant_mode MIN_FIRST the
activations' lower end counts, with SCALED it is taken to be 0.
"""

from typing import Any

import numpy as np

from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.math_int_matmul import int_matmul
from penstock.ops.quant_elementwise import check_wider, product_ends, zero_point
from penstock.ops.quant_levels import (
    FLOAT,
    Array,
    level,
    scalars,
    to_steps,
)
from penstock.ops.quant_products import (
    Tail,
    as_bytes,
    as_sums,
    finished,
    largest,
    product_less_zeros,
    weight_level,
)
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_REASON = "integers have no derivatives"
_SIDES = "transpose_a: bool = False, transpose_b: bool = False"
_MODE = "input_quant_mode: {'MIN_FIRST', 'SCALED'} = 'MIN_FIRST'"
_RANGES = "min_a: float, max_a: float, min_b: float, max_b: float"
_FROZEN = "min_freezed_output: float, max_freezed_output: float"


def _matrix_shape(c: ShapeContext) -> Dims:
    a, b = c.rank(0, 2, "a"), c.rank(1, 2, "b")
    assert a is not None
    assert b is not None
    rows, inner = a[::-1] if c.attr("transpose_a") else a
    other, columns = b[::-1] if c.attr("transpose_b") else b
    if inner is not None and other is not None and inner != other:
        c.fail(
            f"inner sizes that are equal ({inner} != {other})",
            f"Matrix size-incompatible: In[0]: {d.text(a)}, In[1]: {d.text(b)}",
            "Transpose an argument with transpose_a or transpose_b.",
        )
    return (rows, columns)


def _plain_shape(c: ShapeContext) -> list[Dims]:
    scalars(c, (2, 3, 4, 5))
    return [_matrix_shape(c), (), ()]


MAT_MUL = define_op(
    f"QuantizedMatMul(a: T1, b: T2, {_RANGES}; T1: quantizedtype, T2: quantizedtype, Toutput: "
    f"quantizedtype = qint32, {_SIDES}, Tactivation: quantizedtype = quint8) -> out: Toutput, "
    "min_out: float, max_out: float",
    shape=_plain_shape,
    fallible=True,
    doc="Multiplies two quantised matrices.",
).not_differentiable(_REASON)


@kernel(MAT_MUL, types={"T1": ["quint8"], "T2": ["quint8"], "Toutput": ["qint32"]})
def _mat_mul(
    ctx: Any,
    xp: Any,
    a: Array,
    b: Array,
    min_a: Array,
    max_a: Array,
    min_b: Array,
    max_b: Array,
    *,
    T1: DType,
    T2: DType,
    Toutput: DType,
    transpose_a: bool,
    transpose_b: bool,
) -> tuple[Array, Array, Array]:
    check_wider(ctx, xp, min_a, max_a, ("min_a", "max_a"))
    check_wider(ctx, xp, min_b, max_b, ("min_b", "max_b"))
    a, b = a.T if transpose_a else a, b.T if transpose_b else b
    zeros = zero_point(xp, min_a, max_a, T1), zero_point(xp, min_b, max_b, T2)
    out = product_less_zeros(xp, a, b, zeros)
    return out, *product_ends(xp, (min_a, max_a, min_b, max_b), (T1, T2), Toutput)


# ---- fused with bias, activation and a new range


def _fused_shape(count: int) -> Any:
    """The shape rule of a fused operation with `count` outputs."""

    def rule(c: ShapeContext) -> Any:
        dims = _matrix_shape(c)
        bias = c.rank(2, 1, "bias")
        ends = c.merge(c.shape(5), c.shape(6))
        per_column = count == 3 and len(c) == 7 and ends is not None and len(ends) == 1
        scalars(c, [i for i in range(3, len(c)) if not (per_column and i in (5, 6))])
        assert dims is not None
        c.merge(bias, dims[1:])
        if per_column:
            c.merge(ends, dims[1:])
            return [dims, ends, ends]
        return [dims, (), ()] if count == 3 else dims

    return rule


def _define_fused(
    name: str, doc: str, *, relu: bool, frozen: bool, out: str, bias: str = "Tbias"
) -> OpDef:
    floats = out == "float"
    ranges = f"{_RANGES}, {_FROZEN}" if frozen else _RANGES
    kind = "Toutput: {float}" if floats else f"Toutput: quantizedtype = {out}"
    biases = ", Tbias: {float, qint32}" if bias == "Tbias" else ""
    ends = "" if floats else ", min_out: float, max_out: float"
    op = define_op(
        f"{name}(a: T1, b: T2, bias: {bias}, {ranges}; T1: quantizedtype, T2: quantizedtype"
        f"{biases}, {kind}, {_SIDES}, {_MODE}) -> out: Toutput{ends}",
        shape=_fused_shape(1 if floats else 3),
        doc=doc,
    ).not_differentiable(_REASON)

    def run(
        ctx: Any,
        xp: Any,
        a: Array,
        b: Array,
        bias: Array,
        min_a: Array,
        max_a: Array,
        min_b: Array,
        max_b: Array,
        *freezed: Array,
    ) -> Any:
        attrs = ctx.attrs
        a, b = a.T if attrs["transpose_a"] else a, b.T if attrs["transpose_b"] else b
        sums = int_matmul(xp, a, b)
        if attrs["input_quant_mode"] == "MIN_FIRST":
            zero = to_steps(xp, xp.zeros_like(min_a), min_a, max_a, dt.quint8).astype(np.int32)
            sums = sums - zero * xp.sum(b, axis=0, keepdims=True, dtype=np.int32)
        step = level(min_a, max_a, dt.quint8) * weight_level(xp, min_b, max_b)
        scale = FLOAT(255 * 127) / ((max_a - min_a) * largest(xp, min_b, max_b))
        total = finished(xp, sums, Tail(relu, bias, scale))
        if floats:
            return (total * step).astype(FLOAT)
        if frozen:
            return as_bytes(xp, total, step, (freezed[0], freezed[1]), attrs["Toutput"])
        wide = level(min_a, max_a, dt.quint8) * level(min_b, max_b, dt.qint8)
        return as_sums(xp, total, wide)

    types = {"T1": ["quint8"], "T2": ["qint8"], "Toutput": [out]}
    kernel(op, types=types)(run)
    return op


WITH_BIAS = _define_fused(
    "QuantizedMatMulWithBias",
    "Multiplies two quantised matrices and adds a number to each column.",
    relu=False,
    frozen=False,
    out="qint32",
)
WITH_RELU = _define_fused(
    "QuantizedMatMulWithBiasAndRelu",
    "Multiplies two quantised matrices, adds a number to each column, makes negatives zero.",
    relu=True,
    frozen=False,
    out="qint32",
    bias="float",
)
WITH_REQUANTIZE = _define_fused(
    "QuantizedMatMulWithBiasAndRequantize",
    "Multiplies two quantised matrices, adds a number to each column, as 8-bit integers.",
    relu=False,
    frozen=True,
    out="quint8",
)
WITH_RELU_REQUANTIZE = _define_fused(
    "QuantizedMatMulWithBiasAndReluAndRequantize",
    "Multiplies two quantised matrices, adds a number to each column, makes negatives zero, as "
    "8-bit integers.",
    relu=True,
    frozen=True,
    out="quint8",
)
WITH_DEQUANTIZE = _define_fused(
    "QuantizedMatMulWithBiasAndDequantize",
    "Multiplies two quantised matrices and adds a number to each column, as floats.",
    relu=False,
    frozen=True,
    out="float",
)
