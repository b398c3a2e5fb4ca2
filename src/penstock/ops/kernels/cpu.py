"""Native kernels for CPU: registered for float32 and for the shapes where they are faster.

Each predicate states the shapes that the library handles; everything else stays with XLA. The
figures behind the sizes are in docs/native_kernels.md.
"""

import math
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.kernels import compiled_kernel
from penstock.core.lazy import jax

Array = Any  # a JAX tracer
FLOAT = {"device": "CPU", "types": {"T": ["float32"]}}
LEAST_WORK = 1 << 18  # multiplications; below, a call costs more than it saves


def _result(*dims: int) -> Any:
    return jax.ShapeDtypeStruct(dims, np.float32)


# products


def _is_product(attrs: dict[str, Any], a: Array, b: Array) -> bool:
    """Whether the product is worth a call, and neither a vector's nor empty."""
    adj_a = attrs.get("adj_x", attrs.get("transpose_a"))
    adj_b = attrs.get("adj_y", attrs.get("transpose_b"))
    m, k = a.shape[-2:][::-1] if adj_a else a.shape[-2:]
    n = b.shape[-2] if adj_b else b.shape[-1]
    batch = math.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    return min(m, n, k) > 1 and batch * m * n * k >= LEAST_WORK and native.available()


def _product(a: Array, b: Array, adj_a: bool, adj_b: bool) -> Array:
    m = a.shape[-1] if adj_a else a.shape[-2]
    n = b.shape[-2] if adj_b else b.shape[-1]
    result = _result(*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), m, n)
    return native.call("product", result, a, b, adj_a=np.bool_(adj_a), adj_b=np.bool_(adj_b))


@compiled_kernel("MatMul", when=_is_product, **FLOAT)
def mat_mul(a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    """MatMul of float32."""
    return _product(a, b, transpose_a, transpose_b)


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
    return _product(x, y, adj_x, adj_y)
