"""Functions of single numbers that take NumPy several passes, in one, by `native/passes.h`.

Part of the library of `native_arrays`; results are the same bits as NumPy's. Thread-safe.
"""

from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY, floating_kind

FUNCTIONS = (  # as native/passes.h numbers them
    "sign",
    "inverse_root",
    "squared_difference",
    "product_or_zero",
    "sigmoid_grad",
    "tanh_grad",
    "root_grad",
    "inverse_root_grad",
    "inverse_grad",
    "relu",
    "relu_grad",
    "relu6_grad",
    "leaky_relu",
    "leaky_relu_grad",
    "elu_grad",
    "quotient_or_zero",
    "quotient_of_nonzero",
    "selu_grad",
)
_NUMBERS = {name: i for i, name in enumerate(FUNCTIONS)}
_FEW = 512  # elements below which NumPy's calls take less
_NO_NUMBER = np.zeros(1)
Array = Any  # numpy.ndarray, or what a kernel is traced with


def one_pass(function: str, x: Array, y: Array | None = None, number: float = 0) -> Array | None:
    """A function of all elements; None where the library is not in use, or does not serve them.

    So it is where arrays are small, not dense, or not of one shape.

    Args:
      function: one of FUNCTIONS.
      x: float32 or float64, any shape.
      y: of the same dtype and shape, where the function takes it.
      number: a constant of the function.
    """
    if x.__class__ is not np.ndarray or x.size < _FEW or not x.flags.c_contiguous:
        return None
    call, kind = LIBRARY.function("pass"), floating_kind(x.dtype)
    if call is None or kind is None or not (y is None or _is_like(y, x)):
        return None
    constant = np.array([number], np.float64) if number else _NO_NUMBER
    out = np.empty(x.shape, x.dtype)
    call(_NUMBERS[function], kind, x, y, constant, x.size, out)
    return out


def chosen(mask: Array, x: Array, y: Array) -> Array | None:
    """Elements of `x` where the mask holds and of `y` elsewhere, of numbers of NumPy's own dtypes.

    None where `one_pass` would give none, but for dtypes.
    """
    call, size = LIBRARY.function("choose"), x.dtype.itemsize
    if call is None or x.dtype.kind not in "fiub" or size > 8 or not x.flags.c_contiguous:
        return None
    if not _is_like(y, x) or mask.shape != x.shape or not mask.flags.c_contiguous:
        return None
    out = np.empty(x.shape, x.dtype)
    call(mask, x, y, size, x.size, out)
    return out


def square_sum(x: Array) -> Array | None:
    """The sum of the squares of all elements, float32 or float64, as NumPy adds them up: a scalar.

    None where `one_pass` would give none.
    """
    if x.size < _FEW or not x.flags.c_contiguous:
        return None
    call, kind = LIBRARY.function("square_sum"), floating_kind(x.dtype)
    if call is None or kind is None:
        return None
    total = np.empty((), x.dtype)
    call(kind, x, x.size, total)
    return total


def line(first: Array, step: Array, count: int) -> Array | None:
    """`first + step * i` for each i below `count`, rounded after each of the two.

    None where the library is not in use, or has no code for the dtype.

    Args:
      first: scalar, float32 or float64.
      step: scalar of the same dtype.
      count: how many.
    """
    call, kind = LIBRARY.function("line"), floating_kind(first.dtype)
    if call is None or kind is None:
        return None
    out = np.empty(count, first.dtype)
    call(kind, np.array([first, step], first.dtype), count, out)
    return out


def _is_like(array: Array, x: Array) -> bool:
    return bool(array.shape == x.shape and array.dtype == x.dtype and array.flags.c_contiguous)


__all__ = ["FUNCTIONS", "chosen", "line", "one_pass", "square_sum"]
