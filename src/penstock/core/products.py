"""Products of float32 matrices by the native library, and what is done to their results.

`product` makes a call. While `noted` is entered, those of two matrices are written down by the
identity of their results, so that what follows them (a bias, a Relu) can be computed in the same
pass over memory: `Product` says what, and its `call` makes the call that does all of it.
"""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.lazy import jax

Array = Any  # numpy.ndarray or a JAX tracer
ACTIVATIONS = ("", "Relu", "Relu6")


@dataclass(frozen=True, slots=True)
class Product:
    """A product of two matrices and its finish: bias, beside, gate, activation, in this order.

    Attributes:
      a: float32[m, k], or [k, m] where `adj_a`.
      b: float32[k, n], or [n, k] where `adj_b`.
      adj_a: whether a is transposed.
      adj_b: whether b is.
      bias: float32[n], added to each row; or None.
      beside: float32[m, n], added; or None.
      gate: float32[m, n]: where it is not above zero the result is zero; or None.
      activation: one of ACTIVATIONS.
    """

    a: Array
    b: Array
    adj_a: bool
    adj_b: bool
    bias: Array | None = None
    beside: Array | None = None
    gate: Array | None = None
    activation: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """[m, n]."""
        return int(self.a.shape[int(self.adj_a)]), int(self.b.shape[int(not self.adj_b)])

    @property
    def is_plain(self) -> bool:
        """Whether nothing is done to the result."""
        return not self.activation and self.bias is self.beside is self.gate is None

    def call(self) -> Array:
        """The result, by one call of the library."""
        parts = (self.bias, self.beside, self.gate)
        held = [self.a if part is None else part for part in parts]  # any array
        result = native.call(
            "finished_product",
            jax.ShapeDtypeStruct(self.shape, np.float32),
            self.a,
            self.b,
            *held,
            adj_a=np.bool_(self.adj_a),
            adj_b=np.bool_(self.adj_b),
            uses=np.int32(sum(1 << i for i, part in enumerate(parts) if part is not None)),
            activation=np.int32(ACTIVATIONS.index(self.activation)),
        )
        _note(result, self)
        return result


Noted = dict[int, tuple[Array, Product]]  # by the identity of the result, which is held


class _Here(threading.local):
    """What holds for this thread."""

    noted: Noted | None = None


_here = _Here()


@contextlib.contextmanager
def noted() -> Iterator[Noted]:
    """The products of two matrices that this thread makes while this is entered."""
    before, _here.noted = _here.noted, {}
    try:
        yield _here.noted
    finally:
        _here.noted = before


def _note(result: Array, made: Product) -> None:
    if _here.noted is not None:
        _here.noted[id(result)] = (result, made)


def product(a: Array, b: Array, adj_a: bool, adj_b: bool) -> Array:
    """The product of two matrices or of batches of them, transposed or not.

    Args:
      a: float32[..., m, k], or [..., k, m] where `adj_a`.
      b: float32[..., k, n], or [..., n, k] where `adj_b`.
      adj_a: whether a is transposed.
      adj_b: whether b is.

    Returns:
      float32[..., m, n]; leading axes broadcast.
    """
    m = a.shape[-1] if adj_a else a.shape[-2]
    n = b.shape[-2] if adj_b else b.shape[-1]
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), m, n)
    rank = len(shape)  # of both, so that a mapped axis is the first of both
    a, b = (x.reshape((1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else x for x in (a, b))
    attrs: dict[str, Any] = {"adj_a": np.bool_(adj_a), "adj_b": np.bool_(adj_b)}
    wanted = jax.ShapeDtypeStruct(shape, np.float32)
    result = native.call("product", wanted, a, b, mapped="expand_dims", **attrs)
    if rank == 2:
        _note(result, Product(a, b, bool(adj_a), bool(adj_b)))
    return result


__all__ = ["ACTIVATIONS", "Noted", "Product", "noted", "product"]
