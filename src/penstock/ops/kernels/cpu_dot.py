"""Native products and convolutions of bfloat16 for CPU, where the processor has the instructions.

Those are AVX-512's for BF16 and AMX's; elsewhere XLA's products and `cpu_conv` serve. Sums are
floats, rounded once. Products of bytes take the same way from `penstock.ops.math_int_matmul`.
"""

from typing import Any

from penstock.core import native
from penstock.core.kernels import compiled_kernel
from penstock.core.lazy import jnp
from penstock.ops.kernels.cpu_conv import Sliding, sliding
from penstock.ops.native_dot import dot_conv, dot_product, dot_wins

Array = Any  # a JAX tracer
SERVED = {"device": "CPU", "available": native.dot_available}
HALF = SERVED | {"types": {"T": ["bfloat16"]}}


def _sides(attrs: dict[str, Any], a: Array, b: Array) -> tuple[bool, bool]:
    """Whether the left and the right side are transposed."""
    adj_a = attrs.get("adj_x", attrs.get("transpose_a"))
    adj_b = attrs.get("adj_y", attrs.get("transpose_b"))
    return bool(adj_a), bool(adj_b)


def _is_product(attrs: dict[str, Any], a: Array, b: Array) -> bool:
    adj_a, adj_b = _sides(attrs, a, b)
    left = (*a.shape[:-2], a.shape[-1], a.shape[-2]) if adj_a else a.shape
    right = (*b.shape[:-2], b.shape[-1], b.shape[-2]) if adj_b else b.shape
    return dot_wins(left, right, a.dtype)


def _product(a: Array, b: Array, adj_a: bool, adj_b: bool) -> Array:
    return dot_product(jnp.swapaxes(a, -1, -2) if adj_a else a, b, adj_b, a.dtype)


@compiled_kernel("MatMul", when=_is_product, **HALF)
def mat_mul(a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    """MatMul of bfloat16."""
    return _product(a, b, transpose_a, transpose_b)


@compiled_kernel("BatchMatMul", when=_is_product, **HALF)
@compiled_kernel("BatchMatMulV2", when=_is_product, **HALF)
@compiled_kernel(
    "BatchMatMulV3",
    **SERVED,
    types={"Ta": ["bfloat16"], "Tb": ["bfloat16"], "Tout": ["bfloat16"]},
    when=_is_product,
)
def batch_mat_mul(x: Array, y: Array, *, adj_x: bool, adj_y: bool) -> Array:
    """BatchMatMul of bfloat16, in all its versions."""
    return _product(x, y, adj_x, adj_y)


def _one_group(s: Sliding) -> bool:
    return s.layout == "NHWC" and s.image[-1] == s.filters[-2]


def _when_conv(attrs: dict[str, Any], x: Array, w: Array) -> bool:
    s = sliding(attrs, x.shape, w.shape)
    return _one_group(s) and s.worth_a_call()


@compiled_kernel("Conv2D", when=_when_conv, **HALF)
def conv(ctx: Any, x: Array, w: Array) -> Array:
    """Conv2D of bfloat16 images, channels last."""
    s = sliding(ctx.attrs, x.shape, w.shape)
    return dot_conv(x, w, s.result, s.numbers, x.dtype)
