"""Ordinary operations on sparse tensors: those that keep 0 at 0 work on the values.

Imported before the first sparse tensor is made, by whichever operation, and with `tf.SparseTensor`.
"""

from collections.abc import Callable
from typing import Any

from penstock.core import dispatch
from penstock.core.composite import SparseTensor
from penstock.ops import math_division
from penstock.ops import sparse_counts as _counts  # noqa: F401 (its handlers)
from penstock.ops.math_arithmetic import negative
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_elementwise import (
    asin,
    asinh,
    atan,
    atanh,
    sign,
    sin,
    sqrt,
    square,
    tan,
    tanh,
)
from penstock.ops.math_special import bessel_i0e, bessel_i1e, erf

ON_VALUES = (
    negative, absolute, asin, asinh, atan, atanh, sign, sin, sqrt, square, tan, tanh, bessel_i0e,
    bessel_i1e, erf,
)  # fmt: skip
__all__ = ["SparseTensor"]


def _register(function: Callable[..., Any]) -> None:
    @dispatch.handler(dispatch.key_of(function), SparseTensor)
    def on_values(x: Any, name: str | None = None) -> Any:
        made = x.with_values(function(x.values, name=name))
        made.set_shape(x.shape)
        return made


for _function in ON_VALUES:
    _register(_function)


@dispatch.handler(dispatch.key_of(math_division.divide), SparseTensor)
def _divide(x: Any, y: Any, name: str | None = None) -> Any:
    del name
    return x / y if isinstance(x, SparseTensor) else dispatch.UNHANDLED
