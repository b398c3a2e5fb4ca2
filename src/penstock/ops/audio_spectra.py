"""What sounds are made of: the spectra of windows, and their mel-frequency cepstrum."""

import functools
import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types.dims import Dims

Array = Any
_KNOWN = 64  # windows and filters that are kept, for each function
_LEAST = 1e-12  # of what a logarithm is taken


def _spectrum_shape(c: ShapeContext) -> Dims:
    dims = c.rank(0, 2, "input")
    window, stride = int(c.attr("window_size")), int(c.attr("stride"))
    if window < 2 or stride < 1:
        c.fail("window_size of 2 or more and stride of 1 or more", f"{window} and {stride}")
    samples, channels = (None, None) if dims is None else dims
    count = None if samples is None else max(0, 1 + (samples - window) // stride)
    return channels, count, _length(window) // 2 + 1


def _length(window: int) -> int:
    """The power of two that holds a window."""
    return int(1 << (window - 1).bit_length())


SPECTROGRAM = define_op(
    "AudioSpectrogram(input: float; window_size: int, stride: int, magnitude_squared: bool = False)"
    " -> spectrogram: float",
    shape=_spectrum_shape,
    doc="The spectra of windows of a sound, float[channels, windows, frequencies].",
).without_gradient("use tf.signal.stft for spectra with gradients")


@functools.lru_cache(_KNOWN)
def _hann(size: int) -> Array:
    """Hann's window of this size."""
    return 0.5 - 0.5 * np.cos(2 * math.pi * np.arange(size) / size)


@kernel(SPECTROGRAM)
def _spectrogram(
    xp: Any, input: Array, *, window_size: int, stride: int, magnitude_squared: bool
) -> Array:
    count = max(0, 1 + (input.shape[0] - window_size) // stride)
    frequencies = _length(window_size) // 2 + 1
    if not count:
        return xp.zeros((input.shape[1], 0, frequencies), np.float32)
    hann = _hann(window_size)
    if xp is np:
        sound = np.ascontiguousarray(input.T, np.float64)
        steps = (sound.strides[0], stride * sound.itemsize, sound.itemsize)
        shape = (len(sound), count, window_size)
        windows = np.ndarray(shape, sound.dtype, sound, 0, steps) * hann
        found = np.fft.rfft(windows, _length(window_size))
        power = found.real**2 + found.imag**2
        return (power if magnitude_squared else np.sqrt(power)).astype(np.float32)
    places = np.arange(count)[:, None] * stride + np.arange(window_size)
    windows = xp.take(xp.transpose(input).astype(np.float64), places, axis=1) * hann
    found = xp.fft.rfft(windows, _length(window_size), axis=-1)
    power = found.real**2 + found.imag**2
    return (power if magnitude_squared else xp.sqrt(power)).astype(np.float32)


def _mfcc_shape(c: ShapeContext) -> Dims:
    dims = c.rank(0, 3, "spectrogram")
    c.rank(1, 0, "sample_rate")
    low, high = c.attr("lower_frequency_limit"), c.attr("upper_frequency_limit")
    bands, count = int(c.attr("filterbank_channel_count")), int(c.attr("dct_coefficient_count"))
    if not 0 <= low < high:
        c.fail("0 <= lower_frequency_limit < upper_frequency_limit", f"{low} and {high}")
    if not 1 <= count <= bands:
        c.fail("1 <= dct_coefficient_count <= filterbank_channel_count", f"{count} and {bands}")
    return (None, None, count) if dims is None else (dims[0], dims[1], count)


MFCC = define_op(
    "Mfcc(spectrogram: float, sample_rate: int32; upper_frequency_limit: float = 4000.0, "
    "lower_frequency_limit: float = 20.0, filterbank_channel_count: int = 40, "
    "dct_coefficient_count: int = 13) -> output: float",
    shape=_mfcc_shape,
    host_inputs=("sample_rate",),
    doc="The mel-frequency cepstrum of squared magnitudes, float[channels, windows, count].",
).without_gradient("use tf.signal.mfccs_from_log_mel_spectrograms for one with gradients")


def _mel(hertz: Array) -> Array:
    return 1127.0 * np.log1p(hertz / 700.0)


@functools.lru_cache(_KNOWN)
def _filters(size: int, rate: int, low: float, high: float, bands: int) -> Array:
    """Triangles on the mel scale, [frequencies, bands]."""
    step = 0.5 * rate / (size - 1)
    number = np.arange(size)
    mel = _mel(number * step)[:, None]
    edges = np.linspace(_mel(low), _mel(high), bands + 2)
    rise = (mel - edges[:-2]) / np.diff(edges)[:-1]
    fall = (edges[2:] - mel) / np.diff(edges)[1:]
    inside = (number >= int(1.5 + low / step)) & (number <= int(high / step))
    return np.maximum(0.0, np.minimum(rise, fall)) * inside[:, None]


@functools.lru_cache(_KNOWN)
def _cosines(bands: int, count: int) -> Array:
    """The first columns of a cosine transform of so many numbers, [bands, count]."""
    waves = np.outer(np.arange(bands) + 0.5, np.arange(count))
    return math.sqrt(2.0 / bands) * np.cos(math.pi / bands * waves)


@kernel(MFCC)
def _mfcc(
    xp: Any,
    spectrogram: Array,
    sample_rate: Array,
    *,
    upper_frequency_limit: float,
    lower_frequency_limit: float,
    filterbank_channel_count: int,
    dct_coefficient_count: int,
) -> Array:
    rate, size, bands = int(sample_rate), spectrogram.shape[-1], filterbank_channel_count
    if rate <= 0 or size < 2:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Mfcc: expected a positive sample_rate and 2 or more frequencies, got "
            f"{rate} and {size}. Give the rate of the sound.",
        )
    filters = _filters(size, rate, lower_frequency_limit, upper_frequency_limit, bands)
    loud = xp.matmul(xp.sqrt(spectrogram.astype(np.float64)), filters)
    table = _cosines(bands, dct_coefficient_count)
    return xp.matmul(xp.log(xp.maximum(loud, _LEAST)), table).astype(np.float32)
