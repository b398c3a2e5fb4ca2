"""`tf.experimental.numpy.fft`: the Fourier transforms of the Array API standard.

Transforms of one axis (`n`, `axis`) and of several (`s`, `axes`) are one operation of `tf.signal`;
what Hermitian transforms add is a conjugate. Integers become complex128.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.ops import signal_fft_axes, signal_shifts
from penstock.ops.math_cast import cast, conj
from penstock.ops.numpy_devices import moved
from penstock.ops.numpy_dtypes import Value, as_tensor, rank_of, tensor_dtype, to_inexact
from penstock.types import dtypes

_COMPLEX = {"float32": dtypes.complex64, "float64": dtypes.complex128}
_OTHER = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _complex(x: Value) -> Any:
    tensor = to_inexact(as_tensor(x))
    return tensor if tensor.dtype.is_complex else cast(tensor, _COMPLEX[tensor.dtype.name])


def _real(x: Value) -> Any:
    tensor = to_inexact(as_tensor(x))
    if tensor.dtype.is_complex:
        raise TypeError(
            f"expected real numbers, got {tensor.dtype.name}. Use fft or fftn, or xp.real(x)."
        )
    return tensor


def _axes(x: Any, s: Any, axes: Any, name: str) -> list[int]:
    """The axes from the front.

    Raises:
      ValueError: one does not exist, or there are not as many as sizes.
    """
    rank = rank_of(x, name)
    wanted = (
        list(range(-len(s), 0) if s is not None else range(rank)) if axes is None else list(axes)
    )
    if any(not -rank <= axis < rank for axis in wanted) or (
        s is not None and len(s) != len(wanted)
    ):
        raise ValueError(
            f"{name}: expected axes of a tensor of rank {rank}, as many as sizes, got axes={wanted}"
            f" and s={s}. Count axes from 0, or back from -1."
        )
    return [axis % rank for axis in wanted]


def _sizes(s: Sequence[int], name: str) -> list[int]:
    """The sizes asked for.

    Raises:
      ValueError: one is below 1.
    """
    sizes = [int(size) for size in s]
    if any(size < 1 for size in sizes):
        raise ValueError(
            f"{name}: expected sizes of at least 1, got {sizes}. Leave them out for the sizes of x."
        )
    return sizes


def _transform(
    name: str, of: Callable[..., Any], prepared: Callable[[Any], Any], doc: str
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The transform of one axis, and that of several."""

    def several(
        x: Value, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Any:  # fmt: skip
        tensor = prepared(x)
        places = _axes(tensor, s, axes, f"{name}n")
        sizes = None if s is None else _sizes(s, name)
        return of(tensor, sizes, places, norm)

    def one(x: Value, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
        return several(x, s=None if n is None else (n,), axes=(axis,), norm=norm)

    one.__name__ = one.__qualname__ = name
    several.__name__ = several.__qualname__ = f"{name}n"
    one.__doc__ = _DOC.format(doc=doc, over="one axis", sizes="n", size="its size", axes="axis")
    several.__doc__ = _DOC.format(
        doc=doc, over="several axes", sizes="s", size="their sizes", axes="axes"
    )
    return one, several


_DOC = """{doc}, over {over}.

Args:
  x: a tensor, array or list.
  {sizes}: {size} in the transform: what is shorter is filled up with zeros, what is longer cut off.
  {axes}: which; the last, or all, by default.
  norm: what is divided by the size: the inverse ("backward"), the other ("forward"), or each by the
    root of it ("ortho").

Returns:
  A tensor.

Raises:
  ValueError: an axis does not exist, a size is below 1, or there is no such norm.
"""

fft, fftn = _transform("fft", signal_fft_axes.fftnd, _complex, "The discrete Fourier transform")
ifft, ifftn = _transform(
    "ifft", signal_fft_axes.ifftnd, _complex, "The inverse of the transform `fft`"
)
rfft, rfftn = _transform(
    "rfft",
    signal_fft_axes.rfftnd,
    _real,
    "The half of a transform of real numbers that tells the rest",
)
irfft, irfftn = _transform(
    "irfft", signal_fft_axes.irfftnd, _complex, "The real numbers that `rfft` gives these for"
)


def _other(norm: str, name: str) -> str:
    if norm not in _OTHER:
        raise ValueError(
            f"{name}: expected norm 'backward', 'ortho' or 'forward', got {norm!r}. Leave it out."
        )
    return _OTHER[norm]


def hfft(x: Value, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The real transform of numbers whose other half is the conjugate, over one axis.

    Args:
      x: the half that `ihfft` gives.
      n: the size of the result along the axis; `2 * (size - 1)` by default.
      axis: which.
      norm: as for `fft`.

    Returns:
      A real tensor.

    Raises:
      ValueError: the axis does not exist, or there is no such norm.
    """
    return irfft(conj(_complex(x)), n=n, axis=axis, norm=_other(norm, "hfft"))


def ihfft(x: Value, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The inverse of `hfft`: half of the inverse transform of real numbers.

    Args:
      x: real numbers.
      n: how many along the axis count.
      axis: which.
      norm: as for `fft`.

    Returns:
      A complex tensor.

    Raises:
      ValueError: the axis does not exist, or there is no such norm.
    """
    return conj(rfft(x, n=n, axis=axis, norm=_other(norm, "ihfft")))


def _frequencies(counts: Any, n: int, d: float, dtype: Any, device: Any) -> Any:
    wanted = as_tensor(1.0).dtype if dtype is None else tensor_dtype(dtype)
    return moved(as_tensor(np.asarray(counts / (n * d), wanted.numpy_dtype)), device)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the results of `fft`: from 0 up, then the negative ones.

    Args:
      n: the size of the transform.
      d: the distance of two samples.
      dtype: a real floating dtype; the default one otherwise.
      device: where the result lies.

    Returns:
      A tensor of n numbers.
    """
    counts = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return _frequencies(counts, n, d, dtype, device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the results of `rfft`; arguments as for `fftfreq`."""
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype, device)


def fftshift(x: Value, /, *, axes: int | Sequence[int] | None = None) -> Any:
    """Moves the frequency 0 to the middle.

    Args:
      x: a tensor, array or list.
      axes: along which; all by default.

    Returns:
      A tensor.
    """
    return signal_shifts.fftshift(as_tensor(x), axes)


def ifftshift(x: Value, /, *, axes: int | Sequence[int] | None = None) -> Any:
    """Undoes `fftshift`; arguments as there."""
    return signal_shifts.ifftshift(as_tensor(x), axes)
