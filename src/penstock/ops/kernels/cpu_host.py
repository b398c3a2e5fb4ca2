"""Work of the host's native libraries in compiled code on CPU, with the same results.

Special functions of `native/special.cc`, which XLA computes by loops over whole arrays, and rows of
`native/arrays.cc`, of which XLA sorts what a selection would do, and products of tridiagonal
matrices, for which it makes padded copies. Small arrays stay with XLA, for which a call would cost
more than it saves.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native, native_special
from penstock.core.kernels import compiled_kernel, register_kernel
from penstock.core.lazy import jax, jnp
from penstock.types.dtypes import DType

Array = Any  # a JAX tracer
LEAST_ELEMENTS = 1 << 14
EACH = "broadcast_all"  # of a mapped axis: rows more
NUMBERS = ["float", "double", "int32", "int64"]
# XLA's code is short, and as fast.
SHORT_IN_XLA = {
    *("Erf", "Erfc", "Erfinv", "Ndtri", "Lgamma", "Polygamma"),
    *("BesselI0", "BesselI1", "BesselI0e", "BesselI1e"),
}


def _is_large(attrs: dict[str, Any], *arrays: Array) -> bool:
    """Whether there are enough elements in the first array for a call."""
    return native.available() and bool(math.prod(arrays[0].shape) >= LEAST_ELEMENTS)


def _is_large_together(attrs: dict[str, Any], *arrays: Array) -> bool:
    """Whether a function of these, which broadcast, has enough elements."""
    if not native.available():  # first: sizes may be open elsewhere
        return False
    return math.prod(np.broadcast_shapes(*(a.shape for a in arrays))) >= LEAST_ELEMENTS


def _result(dims: tuple[int, ...], dtype: Any) -> Any:
    return jax.ShapeDtypeStruct(dims, dtype)


# ---- special functions


def _special(name: str) -> Callable[..., Array]:
    number = np.int32(native_special.FUNCTIONS.index(name))

    def call(*arrays: Array) -> Array:
        given = arrays[0].dtype
        dtype = np.dtype(np.float64 if given == np.float64 else np.float32)
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        whole = [jnp.broadcast_to(jnp.asarray(a).astype(dtype), shape) for a in arrays]
        result = _result(shape, dtype)
        return native.call("special", result, *whole, mapped=EACH, number=number).astype(given)

    return call


for _name in native_special.FUNCTIONS:
    if _name not in SHORT_IN_XLA:
        _given: dict[str, Any] = {"device": "CPU", "when": _is_large_together}
        register_kernel(_name, _special(_name), kind="compiled", **_given)


# ---- rows


def _top(x: Array, k: int) -> tuple[Array, Array]:
    dims = (*x.shape[:-1], k)
    results = [_result(dims, x.dtype), _result(dims, np.int64)]
    values, places = native.call("top", results, x, mapped=EACH)
    return values, places


@compiled_kernel("TopKV2", device="CPU", types={"T": ["float", "int32"]}, when=_is_large)
def top_k(x: Array, k: Array, *, index_type: DType) -> tuple[Array, Array]:
    """The k largest of each row."""
    values, places = _top(x, int(k))
    return values, places.astype(index_type.numpy_dtype)


def _among(x: Array, targets: Array, k: Any) -> Array:
    result = _result(targets.shape, np.bool_)
    return native.call("among", result, x, targets, jnp.asarray(k, np.int64))


@compiled_kernel("InTopK", device="CPU", when=_is_large)
def in_top_k(predictions: Array, targets: Array, *, k: int) -> Array:
    """Whether targets are among the k largest of their rows."""
    return _among(predictions, targets, k)


@compiled_kernel("InTopKV2", device="CPU", when=_is_large)
def in_top_k_v2(predictions: Array, targets: Array, k: Array) -> Array:
    """Whether targets are among the k largest of their rows."""
    return _among(predictions, targets, k)


def _is_last(attrs: dict[str, Any], x: Array, axis: Array) -> bool:
    """Whether positions are along the last axis, which has elements."""
    return _is_large(attrs, x) and int(axis) in (-1, x.ndim - 1)


def _position(least: bool) -> Callable[..., Array]:
    def call(x: Array, axis: Array, *, output_type: DType) -> Array:
        result = _result(x.shape[:-1], np.int64)
        places = native.call("extreme", result, x, mapped=EACH, least=np.bool_(least))
        return places.astype(output_type.numpy_dtype)

    return call


for _name, _least in (("ArgMax", False), ("ArgMin", True)):
    compiled_kernel(_name, device="CPU", types={"T": NUMBERS}, when=_is_last)(_position(_least))


def _has_place(attrs: dict[str, Any], x: Array, n: Array) -> bool:
    """Whether each row has an n-th element; what is wrong is said elsewhere."""
    return _is_large(attrs, x) and 0 <= int(n) < x.shape[-1]


@compiled_kernel("NthElement", device="CPU", types={"T": NUMBERS}, when=_has_place)
def nth_element(x: Array, n: Array, *, reverse: bool) -> Array:
    """The n-th smallest of each row, or the n-th largest."""
    place = x.shape[-1] - 1 - int(n) if reverse else int(n)
    result = _result(x.shape[:-1], x.dtype)
    return native.call("nth", result, x, mapped=EACH, place=np.int64(place))


# ---- tridiagonal matrices


def _is_product(attrs: dict[str, Any], *arrays: Array) -> bool:
    """Whether the dense matrices, the last array, are large."""
    return _is_large(attrs, arrays[3])


@compiled_kernel(
    "TridiagonalMatMul", device="CPU", types={"T": ["float", "double"]}, when=_is_product
)
def tridiagonal_product(high: Array, main: Array, low: Array, rhs: Array) -> Array:
    """Products of tridiagonal matrices and dense ones."""
    rows = [each[..., 0, :] for each in (high, main, low)]
    given = *rows, rhs
    return native.call("tridiagonal_product", _result(rhs.shape, rhs.dtype), *given, mapped=EACH)
