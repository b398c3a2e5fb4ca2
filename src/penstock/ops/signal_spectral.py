"""Short-time transforms, cosine transforms and mel scales."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_fill import fill
from penstock.ops.array_join import concat, stack
from penstock.ops.array_pad import pad
from penstock.ops.array_shape import size as size_of
from penstock.ops.array_tile import tile
from penstock.ops.composing import scope
from penstock.ops.math_arithmetic import add, multiply, negative, subtract
from penstock.ops.math_cast import cast, real
from penstock.ops.math_cast import complex as complex_of
from penstock.ops.math_division import divide, divide_no_nan
from penstock.ops.math_elementwise import log, square
from penstock.ops.math_range import linspace
from penstock.ops.math_range import range as range_op
from penstock.ops.math_reduce import reduce_sum
from penstock.ops.signal_fft import irfft, rfft
from penstock.ops.signal_frames import (
    Window,
    frame,
    hann_window,
    number,
    overlap_and_add,
    vorbis_window,
)
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype


def _integer(value: Any, name: str) -> Any:
    tensor = convert_to_tensor(value, name=name)
    tensor.shape.assert_has_rank(0)
    return tensor


def _enclosing_power(value: Tensor) -> Any:
    """The smallest power of two that is not below `value`."""
    known = constant_value(value)
    if known is not None:
        return convert_to_tensor(1 << max(0, int(known) - 1).bit_length(), value.dtype)
    exponent = execute("Ceil", (divide(log(cast(value, dt.float32)), math.log(2.0)),))
    return cast(execute("Pow", (np.float32(2.0), exponent)), value.dtype)


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """The short-time Fourier transform.

    Args:
      signals: float32 or float64, [..., samples].
      frame_length: samples in a frame, an integer scalar.
      frame_step: samples from frame to frame, an integer scalar.
      fft_length: samples of the transform; by default the next power of two that holds a frame.
      window_fn: `window_fn(frame_length, dtype=dtype)`; None for no window.
      pad_end: whether the last frames are filled up with zeros rather than left out.
      name: the name of the operation in a graph.

    Returns:
      complex64 or complex128, [..., frames, fft_length / 2 + 1].

    Raises:
      ValueError: signals have rank 0, or a number is no scalar.
    """
    with scope(name, "stft"):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        length = _integer(frame_length, "frame_length")
        step = _integer(frame_step, "frame_step")
        size = (
            _enclosing_power(length) if fft_length is None else _integer(fft_length, "fft_length")
        )
        frames = frame(signals, length, step, pad_end=pad_end)
        if window_fn is not None:
            frames = multiply(frames, window_fn(length, dtype=frames.dtype))
        return rfft(frames, [size])


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Any:
    """The inverse short-time Fourier transform.

    Signals come back, but for their ends, when `window_fn` is `inverse_stft_window_fn(frame_step)`.

    Args:
      stfts: complex64 or complex128, [..., frames, fft_length / 2 + 1].
      frame_length: samples in a frame, an integer scalar.
      frame_step: samples from frame to frame, an integer scalar.
      fft_length: samples of the transform; by default the next power of two that holds a frame.
      window_fn: `window_fn(frame_length, dtype=dtype)`; None for no window.
      name: the name of the operation in a graph.

    Returns:
      float32 or float64, [..., samples].

    Raises:
      ValueError: the rank is below 2, or a number is no scalar.
    """
    with scope(name, "inverse_stft"):
        stfts = convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        length = _integer(frame_length, "frame_length")
        step = _integer(frame_step, "frame_step")
        size = (
            _enclosing_power(length) if fft_length is None else _integer(fft_length, "fft_length")
        )
        frames = _resized(irfft(stfts, [size]), size, length)
        if window_fn is not None:
            frames = multiply(frames, window_fn(length, dtype=frames.dtype))
        return overlap_and_add(frames, step)


def _resized(frames: Any, size: Tensor, length: Tensor) -> Any:
    """Frames of `length` samples, cut or filled up with zeros."""
    frames = frames[..., :length]
    missing = execute("Maximum", (subtract(length, size), np.zeros((), size.dtype.numpy_dtype)))
    known = constant_value(missing)
    if known is not None and int(known) == 0:
        return frames
    rank = len(frames.dims)
    widths: list[Any] = [[0, 0]] * (rank - 1) + [[0, missing]]
    return pad(frames, convert_to_tensor(widths, dt.int32))


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Window = hann_window, name: str | None = None
) -> Callable[..., Any]:
    """The window that makes `inverse_stft` undo `stft` (Griffin and Lim, 1984).

    Args:
      frame_step: samples from frame to frame, an integer scalar.
      forward_window_fn: the window of the forward transform.
      name: the name of the operations in a graph.

    Returns:
      `window_fn(frame_length, dtype)`.
    """

    def window(frame_length: Any, dtype: Any) -> Any:
        with scope(name, "inverse_stft_window_fn"):
            step = _integer(frame_step, "frame_step")
            length = _integer(frame_length, "frame_length")
            forward = forward_window_fn(length, dtype=dtype)
            squares = square(forward)
            # The sum of the squares of all the frames that lie over a sample.
            overlaps = negative(execute("FloorDiv", (negative(length), step)))
            whole = multiply(overlaps, step)
            padded = pad(squares, [[0, subtract(whole, length)]])
            rows = reduce_sum(reshape(padded, [overlaps, step]), axis=0, keepdims=True)
            total = reshape(tile(rows, [overlaps, 1]), [whole])
            return divide_no_nan(forward, total[:length])  # a window may begin with 0

    return window


# ---- cosine transforms

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _check_dct(type_: int, norm: str | None, n: Any, axis: int) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}. Move the axis with tf.transpose.")
    if n is not None and (not isinstance(n, int | np.integer) or n < 1):
        raise ValueError(f"n should be a positive integer or None, got {n!r}.")
    if type_ not in _INVERSE:
        raise ValueError(f"Types I, II, III and IV (I)DCT are supported. Got type {type_!r}.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    if type_ == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT. Use norm=None.")


def dct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The discrete cosine transform of type I, II, III or IV along the last axis.

    Args:
      input: float32 or float64, [..., samples].
      type: 1, 2, 3 or 4.
      n: the number of samples; the input is cut or filled up with zeros.
      axis: -1.
      norm: "ortho" makes the transform orthonormal; None scales as SciPy does.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [..., n].

    Raises:
      ValueError: there is no such type or norm, `n` is not positive, or there are fewer than two
        samples for type I.
      NotImplementedError: `axis` is not -1.
      TypeError: the input has another dtype.
    """
    _check_dct(type, norm, n, axis)
    with scope(name, "dct"):
        x = convert_to_tensor(input)
        _check_samples(x, type)
        if n is not None:
            x = _of_length(x, n)
        return _TYPES[type](x, norm == "ortho")


def idct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The inverse discrete cosine transform of type I, II, III or IV along the last axis.

    With `norm=None` it is the inverse up to the factor `2 n` (`2 (n - 1)` for type I).

    Args:
      input: float32 or float64, [..., frequencies].
      type: the type of the transform that it inverts: 1, 2, 3 or 4.
      n: the number of frequencies; the input is cut or filled up with zeros.
      axis: -1.
      norm: "ortho" makes the transform orthonormal.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [..., n].

    Raises:
      ValueError: there is no such type or norm, or `n` is not positive.
      NotImplementedError: `axis` is not -1.
    """
    _check_dct(type, norm, n, axis)
    return dct(input, _INVERSE[type], n, axis, norm, name)


def _check_samples(x: Tensor, type_: int) -> None:
    if x.dtype not in (dt.float32, dt.float64):
        raise TypeError(
            f"A cosine transform expected float32 or float64, got {x.dtype.name}. Cast it with"
            " tf.cast."
        )
    if type_ == 1 and x.dims is not None and x.dims[-1] is not None and x.dims[-1] < 2:
        raise ValueError(
            "Type-I DCT requires the dimension to be greater than one: got a last dimension of"
            f" {x.dims[-1]}. Use another type."
        )


def _of_length(x: Any, n: int) -> Any:
    x = x[..., :n]
    size = None if x.dims is None else x.dims[-1]
    missing = n - size if size is not None else subtract(n, shape_of(x)[-1])
    if isinstance(missing, int) and missing == 0:
        return x
    return _padded(x, missing)


def _padded(x: Tensor, missing: Any) -> Any:
    """A tensor with so many zeros more in its last dimension."""
    last = convert_to_tensor([[0, missing]], dt.int32)
    if x.dims is not None:
        others: Any = np.zeros((len(x.dims) - 1, 2), np.int32)
    else:
        rank = size_of(shape_of(x))
        others = fill(stack([subtract(rank, 1), 2]), np.int32(0))
    return pad(x, concat([others, last], 0))


def _count(x: Tensor) -> Any:
    """The number of samples as an int32 scalar."""
    size = None if x.dims is None else x.dims[-1]
    return convert_to_tensor(size, dt.int32) if size is not None else shape_of(x)[-1]


def _phases(count: Any, dtype: Any, sign: float) -> Any:
    """`exp(sign * i * pi * k / (2 n))` for the frequencies k."""
    angle = divide(
        multiply(cast(range_op(count), dtype), number(sign * math.pi / 2, dtype)),
        cast(count, dtype),
    )
    return complex_of(execute("Cos", (angle,)), execute("Sin", (angle,)))


def _first_other(count: Any, first: Any, other: Any) -> Any:
    """A vector with one value first and another behind."""
    head = reshape(first, [1])
    return concat([head, tile(reshape(other, [1]), [subtract(count, 1)])], 0)


def _dct1(x: Any, ortho: bool) -> Any:
    del ortho
    return real(rfft(concat([x, x[..., -2:0:-1]], axis=-1)))


def _dct2(x: Tensor, ortho: bool) -> Any:
    count = _count(x)
    twice = multiply(2, count)
    spectrum = multiply(rfft(x, [twice])[..., :count], _phases(count, x.dtype, -1.0))
    found = multiply(real(spectrum), number(2.0, x.dtype))
    if ortho:
        half = multiply(number(0.5, x.dtype), execute("Rsqrt", (cast(count, x.dtype),)))
        found = multiply(found, _first_other(count, half, multiply(half, math.sqrt(2.0))))
    return found


def _dct3(x: Tensor, ortho: bool) -> Any:
    count = _count(x)
    size = cast(count, x.dtype)
    if ortho:
        root = execute("Sqrt", (size,))
        x = multiply(x, _first_other(count, root, multiply(root, math.sqrt(0.5))))
    else:
        x = multiply(x, size)
    spectrum = multiply(complex_of(x, execute("ZerosLike", (x,))), _phases(count, x.dtype, 1.0))
    waves = irfft(multiply(spectrum, number(2.0, spectrum.dtype)), [multiply(2, count)])
    return waves[..., :count]


def _dct4(x: Tensor, ortho: bool) -> Any:
    count = _count(x)
    twice = _dct2(_padded(x, count), ortho=False)
    found = twice[..., 1::2]
    if ortho:
        scale = execute("Rsqrt", (cast(count, x.dtype),))
        found = multiply(found, multiply(number(math.sqrt(0.5), x.dtype), scale))
    return found


_TYPES = {1: _dct1, 2: _dct2, 3: _dct3, 4: _dct4}


# ---- the modified cosine transform


def _quarters(frames: Tensor) -> list[Any]:
    return list(execute("Split", (np.int32(-1), frames), {"num_split": 4}))


def mdct(
    signals: Any,
    frame_length: Any,
    window_fn: Window | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The modified discrete cosine transform of frames that overlap by half (Princen et al., 1987).

    Args:
      signals: float32 or float64, [..., samples].
      frame_length: samples in a frame, a multiple of 4.
      window_fn: `window_fn(frame_length, dtype=dtype)`; None for none, which scales by root half.
      pad_end: whether the last frames are filled up with zeros rather than left out.
      norm: "ortho" makes the cosine transform orthonormal.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [..., frames, frame_length / 2].

    Raises:
      ValueError: signals have rank 0, or the length is no multiple of 4.
    """
    with scope(name, "mdct"):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        length = _integer(frame_length, "frame_length")
        known = constant_value(length)
        if known is not None and int(known) % 4:
            raise ValueError(
                f"The frame length must be a multiple of 4. Got {int(known)}. Fill up the frames."
            )
        frames = frame(
            signals,
            length,
            execute("FloorDiv", (length, np.array(2, length.dtype.numpy_dtype))),
            pad_end=pad_end,
        )
        frames = _windowed(frames, window_fn, length)
        a, b, c, d = _quarters(frames)
        first = negative(add(c[..., ::-1], d))
        second = subtract(a, b[..., ::-1])
        return dct(concat([first, second], axis=-1), type=4, norm=norm)


def _windowed(frames: Any, window_fn: Window | None, length: Any) -> Any:
    if window_fn is None:
        return multiply(frames, number(1.0 / math.sqrt(2.0), frames.dtype))
    return multiply(frames, window_fn(length, dtype=frames.dtype))


def inverse_mdct(
    mdcts: Any,
    window_fn: Window | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The inverse modified discrete cosine transform; signals come back but for their ends.

    Args:
      mdcts: float32 or float64, [..., frames, frame_length / 2].
      window_fn: the window of the forward transform.
      norm: that of the forward transform.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype, [..., samples].

    Raises:
      ValueError: the rank is below 2.
    """
    with scope(name, "inverse_mdct"):
        mdcts = convert_to_tensor(mdcts, name="mdcts")
        mdcts.shape.with_rank_at_least(2)
        half = _count(mdcts)
        if norm is None:
            mdcts = divide(idct(mdcts, type=4), multiply(2.0, cast(half, mdcts.dtype)))
        else:
            mdcts = idct(mdcts, type=4, norm=norm)
        first, second = execute("Split", (np.int32(-1), mdcts), {"num_split": 2})
        frames = concat(
            [
                second,
                negative(second[..., ::-1]),
                negative(first[..., ::-1]),
                negative(first),
            ],
            axis=-1,
        )
        frames = _windowed(frames, window_fn, multiply(2, half))
        return overlap_and_add(frames, half)


# ---- mel scales

_BREAK_HERTZ = 700.0
_HIGH_Q = 1127.0


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: Any = 125.0,
    upper_edge_hertz: Any = 3800.0,
    dtype: Any = dt.float32,
    name: str | None = None,
) -> Any:
    """A matrix that turns linear spectra into mel spectra, by triangular bands (HTK's scale).

    Args:
      num_mel_bins: the number of bands.
      num_spectrogram_bins: the number of frequencies of a spectrum, an integer or a scalar tensor.
      sample_rate: samples a second.
      lower_edge_hertz: the lowest frequency of the bands, in hertz.
      upper_edge_hertz: the highest frequency of the bands, in hertz.
      dtype: a floating dtype.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `dtype`, [num_spectrogram_bins, num_mel_bins].

    Raises:
      ValueError: a number is out of range, or `dtype` not floating.
    """
    with scope(name, "linear_to_mel_weight_matrix") as full:
        rate = constant_value(sample_rate) if isinstance(sample_rate, Tensor) else sample_rate
        kind = as_dtype(dtype)
        _check_mel(num_mel_bins, rate, lower_edge_hertz, upper_edge_hertz, kind)
        nyquist = divide(cast(sample_rate, kind), 2.0)
        # The frequency 0 belongs to no band.
        frequencies = linspace(number(0.0, kind), nyquist, num_spectrogram_bins)[1:]
        mels = reshape(_hertz_to_mel(frequencies), [-1, 1])
        edges = linspace(
            _hertz_to_mel(number(lower_edge_hertz, kind)),
            _hertz_to_mel(number(upper_edge_hertz, kind)),
            num_mel_bins + 2,
        )
        low, middle, high = (reshape(edges[i : num_mel_bins + i], [1, -1]) for i in range(3))
        rising = divide(subtract(mels, low), subtract(middle, low))
        falling = divide(subtract(high, mels), subtract(high, middle))
        weights = execute("Maximum", (execute("Minimum", (rising, falling)), number(0.0, kind)))
        return pad(weights, [[1, 0], [0, 0]], name=full)


def _hertz_to_mel(hertz: Any) -> Any:
    return multiply(_HIGH_Q, log(add(1.0, divide(hertz, _BREAK_HERTZ))))


def _check_mel(bins: int, rate: Any, lower: Any, upper: Any, dtype: Any) -> None:
    rules = (
        (bins > 0, f"num_mel_bins must be positive. Got: {bins}"),
        (lower >= 0.0, f"lower_edge_hertz must be non-negative. Got: {lower}"),
        (lower < upper, f"lower_edge_hertz {lower} >= upper_edge_hertz {upper}"),
        (rate is None or rate > 0, f"sample_rate must be positive. Got: {rate}"),
        (
            rate is None or upper <= rate / 2,
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got"
            f" {upper} for sample_rate: {rate}",
        ),
        (dtype.is_floating, f"dtype must be a floating point type. Got: {dtype!r}"),
    )
    for holds, problem in rules:
        if not holds:
            raise ValueError(f"linear_to_mel_weight_matrix: {problem}. Mind the units.")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Any:
    """Mel-frequency cepstral coefficients, scaled as HTK does.

    Args:
      log_mel_spectrograms: float32 or float64, [..., num_mel_bins].
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same dtype and shape.

    Raises:
      ValueError: there are no bins.
    """
    with scope(name, "mfccs_from_log_mel_spectrograms"):
        spectra = convert_to_tensor(log_mel_spectrograms)
        bins = None if spectra.dims is None else spectra.dims[-1]
        if bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {log_mel_spectrograms!r}")
        count = cast(_count(spectra), spectra.dtype)
        return multiply(dct(spectra, type=2), execute("Rsqrt", (multiply(count, 2.0),)))
