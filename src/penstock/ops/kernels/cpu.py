"""Native products and pooling for CPU: for float32 and for the shapes where they are faster.

Each predicate states the shapes that the library handles; everything else stays with XLA. The
figures behind the sizes are in docs/native_kernels.md.
"""

import math
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.kernels import compiled_kernel
from penstock.core.lazy import jax
from penstock.core.products import product
from penstock.ops.nn_pool_kernels import pool_window

Array = Any  # a JAX tracer
FLOAT = {"device": "CPU", "types": {"T": ["float32"]}}
LEAST_WORK = 1 << 18  # multiplications; below, a call costs more than it saves
LEAST_POOLED = 1 << 14  # elements
EACH = "broadcast_all"  # of a mapped axis: images more


def _result(*dims: int) -> Any:
    return jax.ShapeDtypeStruct(dims, np.float32)


# products


def _is_product(attrs: dict[str, Any], a: Array, b: Array) -> bool:
    """Whether the product is worth a call, and neither a vector's nor empty."""
    if not native.available():  # first: sizes may be open elsewhere
        return False
    adj_a = attrs.get("adj_x", attrs.get("transpose_a"))
    adj_b = attrs.get("adj_y", attrs.get("transpose_b"))
    m, k = a.shape[-2:][::-1] if adj_a else a.shape[-2:]
    n = b.shape[-2] if adj_b else b.shape[-1]
    batch = math.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    return bool(min(m, n, k) > 1 and batch * m * n * k >= LEAST_WORK)


@compiled_kernel("MatMul", when=_is_product, **FLOAT)
def mat_mul(a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    """MatMul of float32."""
    return product(a, b, transpose_a, transpose_b)


@compiled_kernel("BatchMatMul", when=_is_product, **FLOAT)
@compiled_kernel("BatchMatMulV2", when=_is_product, **FLOAT)
@compiled_kernel(
    "BatchMatMulV3",
    device="CPU",
    types={"Ta": ["float32"], "Tb": ["float32"], "Tout": ["float32"]},
    when=_is_product,
)
def batch_mat_mul(x: Array, y: Array, *, adj_x: bool, adj_y: bool) -> Array:
    """BatchMatMul of float32, in all its versions."""
    return product(x, y, adj_x, adj_y)


# pooling


def _plain(attrs: dict[str, Any], *arrays: Array) -> bool:
    """Whether the layout is NHWC and no array is empty."""
    return attrs["data_format"] == "NHWC" and all(0 not in a.shape for a in arrays)


def _when_pool(attrs: dict[str, Any], x: Array, *rest: Array) -> bool:
    return native.available() and _plain(attrs, x, *rest) and x.size >= LEAST_POOLED


def _when_avg_pool_grad(attrs: dict[str, Any], sizes: Array, dy: Array) -> bool:
    if not _plain(attrs, dy) or len(sizes) != 4 or 0 in sizes:
        return False
    return native.available() and math.prod(sizes) >= LEAST_POOLED


def _pooling(ctx: Any, shape: Any) -> tuple[Array, tuple[int, ...]]:
    """What the library calls a pooling window, and the output's shape."""
    window = pool_window(shape, ctx.attrs["ksize"], ctx.attrs["strides"], ctx.attrs)
    before = [window.pads[axis][0] for axis in (1, 2)]
    entries = np.array([*window.sizes[1:3], *window.strides[1:3], *before], np.int64)
    return entries, window.output(shape)


@compiled_kernel("MaxPool", when=_when_pool, **FLOAT)
def max_pool(ctx: Any, x: Array) -> Array:
    """MaxPool of float32 images, channels last."""
    window, shape = _pooling(ctx, x.shape)
    return native.call("max_pool", _result(*shape), x, mapped=EACH, window=window)


@compiled_kernel("MaxPoolGrad", when=_when_pool, **FLOAT)
def max_pool_grad(ctx: Any, x: Array, y: Array, dy: Array) -> Array:
    """MaxPoolGrad of float32 images, channels last."""
    window, _ = _pooling(ctx, x.shape)
    return native.call("max_pool_grad", _result(*x.shape), x, y, dy, mapped=EACH, window=window)


@compiled_kernel("AvgPool", when=_when_pool, **FLOAT)
def avg_pool(ctx: Any, x: Array) -> Array:
    """AvgPool of float32 images, channels last."""
    window, shape = _pooling(ctx, x.shape)
    return native.call("avg_pool", _result(*shape), x, mapped=EACH, window=window)


@compiled_kernel("AvgPoolGrad", when=_when_avg_pool_grad, **FLOAT)
def avg_pool_grad(ctx: Any, sizes: Array, dy: Array) -> Array:
    """AvgPoolGrad of float32 images, channels last."""
    shape = tuple(int(n) for n in sizes)
    window, _ = _pooling(ctx, shape)
    return native.call("avg_pool_grad", _result(*shape), dy, mapped=EACH, window=window)
