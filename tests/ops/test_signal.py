"""Windows, frames, short-time and cosine transforms against their definitions."""

import math

import numpy as np
import pytest

import penstock as tf

signal = tf.signal
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize("periodic", [True, False])
def test_raised_cosine_windows(size, periodic):
    period = size + (1 if periodic and size % 2 == 0 else 0) - 1
    for name, a in (("hann_window", 0.5), ("hamming_window", 0.54)):
        n = np.arange(size)
        wanted = np.ones(1) if size == 1 else a - (1 - a) * np.cos(2 * np.pi * n / period)
        got = getattr(signal, name)(size, periodic=periodic, dtype=tf.float64)
        np.testing.assert_allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_other_windows(size):
    np.testing.assert_allclose(signal.kaiser_window(size, 5.0), np.kaiser(size, 5.0), atol=1e-6)
    n = np.arange(size)
    vorbis = np.sin(np.pi / 2 * np.sin(np.pi / size * (n + 0.5)) ** 2)
    np.testing.assert_allclose(signal.vorbis_window(size), vorbis, atol=1e-6)
    if size % 2 == 0:
        sums = np.cumsum(np.kaiser(size // 2 + 1, 12.0))
        rising = np.sqrt(sums[:-1] / sums[-1])
        np.testing.assert_allclose(
            signal.kaiser_bessel_derived_window(size), [*rising, *rising[::-1]], atol=1e-6
        )


def test_windows_refuse_other_arguments():
    for window in (signal.hann_window, signal.vorbis_window, signal.kaiser_window):
        with pytest.raises(ValueError, match="floating point"):
            window(4, dtype=tf.int32)
        with pytest.raises(ValueError, match="rank 0"):
            window([4])
        assert window(0).shape == (0,)
        assert window(5, dtype=tf.float16).dtype == tf.float16


def frames_of(x, length, step, pad_end):
    count = -(-len(x) // step) if pad_end else max(0, 1 + (len(x) - length) // step)
    padded = np.concatenate([x, np.full(length + step * count, -1)])
    return np.array([padded[i * step : i * step + length] for i in range(count)]).reshape(
        count, length
    )


@pytest.mark.parametrize("pad_end", [False, True])
@pytest.mark.parametrize(("length", "step"), [(4, 3), (3, 4), (1, 1), (20, 2)])
def test_frames(length, step, pad_end):
    x = np.arange(10)
    wanted = frames_of(x, length, step, pad_end)
    got = signal.frame(x, length, step, pad_end=pad_end, pad_value=-1)
    np.testing.assert_array_equal(got, wanted)

    def build(value):
        return signal.frame(value, length, step, pad_end=pad_end, pad_value=-1)

    traced = tf.function(build).get_concrete_function(tf.TensorSpec([10], tf.int64))
    assert traced.output_shapes == wanted.shape
    unknown = tf.function(build, input_signature=[tf.TensorSpec([None], tf.int64)])
    np.testing.assert_array_equal(unknown(x), wanted)


def test_frames_along_any_axis():
    x = np.arange(24).reshape(2, 6, 2)
    got = signal.frame(x, 4, 2, axis=1)
    assert got.shape == (2, 2, 4, 2)
    np.testing.assert_array_equal(got[:, 1], x[:, 2:6])
    with pytest.raises(IndexError, match="expected an axis"):
        signal.frame(x, 4, 2, axis=3)


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_overlaps_are_added(step):
    frames = RNG.normal(size=(2, 3, 4)).astype(np.float32)
    wanted = np.zeros((2, 2 * step + 4))
    for i in range(3):
        wanted[:, i * step : i * step + 4] += frames[:, i]
    np.testing.assert_allclose(signal.overlap_and_add(frames, step), wanted, rtol=1e-5)
    with tf.GradientTape() as tape:
        x = tf.constant(frames)
        tape.watch(x)
        total = tf.reduce_sum(signal.overlap_and_add(x, step) * wanted)
    places = np.arange(3)[:, None] * step + np.arange(4)
    np.testing.assert_allclose(tape.gradient(total, x), wanted[:, places], rtol=1e-5)


def test_short_time_transforms():
    x = RNG.normal(size=(2, 20)).astype(np.float32)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(6) / 6)
    wanted = np.stack([np.fft.rfft(x[:, i : i + 6] * window, 8) for i in range(0, 15, 2)], 1)
    got = signal.stft(x, 6, 2)
    np.testing.assert_allclose(got, wanted, atol=1e-5)
    assert signal.stft(x, 6, 2, fft_length=16, pad_end=True).shape == (2, 10, 9)
    assert signal.stft(x, 6, 2, window_fn=None).dtype == tf.complex64
    back = signal.inverse_stft(got, 6, 2, window_fn=signal.inverse_stft_window_fn(2))
    np.testing.assert_allclose(back[:, 4:-4], x[:, 4:-4], atol=1e-5)


def test_short_time_transforms_have_gradients():
    x = tf.constant(RNG.normal(size=16))
    theory, numeric = tf.test.compute_gradient(
        lambda v: tf.abs(signal.stft(v, 4, 2)) ** 2, [x], delta=1e-4
    )
    np.testing.assert_allclose(theory[0], numeric[0], atol=1e-6)


def cosines(kind, n):
    k, i = np.arange(n)[:, None], np.arange(n)[None]
    if kind == 1:
        table = 2 * np.cos(np.pi * k * i / max(n - 1, 1))
        table[:, [0, -1]] /= 2
        return table
    if kind == 2:
        return 2 * np.cos(np.pi * k * (2 * i + 1) / (2 * n))
    if kind == 3:
        table = 2 * np.cos(np.pi * i * (2 * k + 1) / (2 * n))
        table[:, 0] /= 2
        return table
    return 2 * np.cos(np.pi * (2 * k + 1) * (2 * i + 1) / (4 * n))


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [None, 3, 7])
def test_cosine_transforms(kind, n):
    x = RNG.normal(size=(2, 5))
    size = n or 5
    cut = np.pad(x, [(0, 0), (0, max(0, size - 5))])[:, :size]
    got = signal.dct(tf.constant(x), kind, n=n)
    np.testing.assert_allclose(got, cut @ cosines(kind, size).T, atol=1e-10)
    if kind > 1:
        ortho = signal.dct(tf.constant(x), kind, n=n, norm="ortho")
        np.testing.assert_allclose(signal.idct(ortho, kind, norm="ortho"), cut, atol=1e-10)
        np.testing.assert_allclose(np.linalg.norm(ortho), np.linalg.norm(cut), rtol=1e-10)
    scale = 2 * (size - 1) if kind == 1 else 2 * size
    np.testing.assert_allclose(signal.idct(got, kind) / scale, cut, atol=1e-10)


@pytest.mark.parametrize("norm", [None, "ortho"])
def test_modified_cosine_transforms_come_back(norm):
    x = RNG.normal(size=(2, 24)).astype(np.float32)
    bands = signal.mdct(x, 8, norm=norm)
    assert bands.shape == (2, 5, 4)
    back = signal.inverse_mdct(bands, norm=norm)
    np.testing.assert_allclose(back[:, 4:-4], x[:, 4:-4], atol=1e-5)
    plain = signal.inverse_mdct(
        signal.mdct(x, 8, window_fn=None, norm=norm), window_fn=None, norm=norm
    )
    np.testing.assert_allclose(plain[:, 4:-4], x[:, 4:-4], atol=1e-5)


def test_mel_bands_are_triangles():
    weights = signal.linear_to_mel_weight_matrix(4, 65, 8000, 125.0, 3800.0).numpy()
    assert weights.shape == (65, 4)
    mel = 1127 * np.log(1 + np.linspace(0, 4000, 65) / 700)
    edges = np.linspace(1127 * math.log(1 + 125 / 700), 1127 * math.log(1 + 3800 / 700), 6)
    for i in range(4):
        wanted = np.interp(mel, edges[i : i + 3], [0, 1, 0])
        wanted[0] = 0
        np.testing.assert_allclose(weights[:, i], wanted, atol=1e-5)
    spectra = RNG.normal(size=(3, 4))
    got = signal.mfccs_from_log_mel_spectrograms(spectra)
    np.testing.assert_allclose(got, spectra @ cosines(2, 4).T / math.sqrt(8), atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: signal.dct([1.0], 5), ValueError, "Types I, II"),
        (lambda: signal.dct([1.0], 1, norm="ortho"), ValueError, "Type-I"),
        (lambda: signal.dct([1.0], norm="x"), ValueError, "Unknown normalization"),
        (lambda: signal.dct([1.0], n=0), ValueError, "positive integer"),
        (lambda: signal.dct([[1.0]], axis=0), NotImplementedError, "axis must be -1"),
        (lambda: signal.mdct(np.zeros(9, "f"), 6), ValueError, "multiple of 4"),
        (lambda: signal.linear_to_mel_weight_matrix(0), ValueError, "num_mel_bins"),
        (
            lambda: signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0),
            ValueError,
            "Nyquist",
        ),
        (lambda: signal.mfccs_from_log_mel_spectrograms(np.zeros((2, 0))), ValueError, "bins"),
        (lambda: signal.overlap_and_add(np.zeros(3), 1), ValueError, "rank"),
    ],
)
def test_wrong_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_shifts():
    x = np.arange(15).reshape(3, 5)
    for axes in (None, 0, 1, (0, 1), np.int64(-1), np.array([1, 0])):
        np.testing.assert_array_equal(signal.fftshift(x, axes), np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(signal.ifftshift(x, axes), np.fft.ifftshift(x, axes))


def test_shifts_of_an_unknown_shape_need_axes():
    given = tf.TensorSpec(None, tf.float32)
    along = tf.function(lambda x: signal.fftshift(x, -1), input_signature=[given])
    assert along(tf.constant([[1.0, 2.0]])).numpy().tolist() == [[2.0, 1.0]]
    with pytest.raises(ValueError, match="fftshift: expected axes, or a tensor of known rank"):
        tf.function(signal.fftshift).get_concrete_function(given)


def test_norms_over_axes():
    x = RNG.normal(size=(2, 3)) + 1j * RNG.normal(size=(2, 3))
    wide = tf.constant(x)
    for norm in (None, "backward", "ortho", "forward"):
        np.testing.assert_allclose(signal.fftnd(wide, norm=norm), np.fft.fftn(x, norm=norm))
        np.testing.assert_allclose(signal.ifftnd(wide, norm=norm), np.fft.ifftn(x, norm=norm))
        np.testing.assert_allclose(
            signal.rfftnd(tf.constant(x.real), axes=[0], norm=norm),
            np.fft.rfftn(x.real, axes=[0], norm=norm),
        )
    with pytest.raises(ValueError, match="norm"):
        signal.fftnd(x, norm="half")


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
@pytest.mark.parametrize("pad_end", [False, True])
def test_frames_of_signals_of_unknown_rank(axis, pad_end):
    x = np.arange(20.0).reshape(2, 10)
    wanted = signal.frame(x, 2, 3, pad_end, axis=axis)
    cut = tf.function(lambda v, place: signal.frame(v, 2, 3, pad_end, axis=place))
    of_any_rank = cut.get_concrete_function(tf.TensorSpec(None, tf.float64), axis)
    np.testing.assert_array_equal(of_any_rank(tf.constant(x)), wanted)
    along_any_axis = cut.get_concrete_function(
        tf.TensorSpec([2, 10], tf.float64), tf.TensorSpec([], tf.int32)
    )
    assert along_any_axis.outputs[0].shape.rank == 3
    np.testing.assert_array_equal(along_any_axis(tf.constant(x), tf.constant(axis)), wanted)


@pytest.mark.parametrize(
    "call",
    [
        lambda v: tf.signal.stft(v, 4, 2),
        lambda v: tf.signal.dct(v, n=4),
        lambda v: tf.signal.dct(v, n=14),
        lambda v: tf.signal.dct(v, type=4, norm="ortho"),
        lambda v: tf.signal.idct(v, type=3),
        tf.signal.mfccs_from_log_mel_spectrograms,
    ],
)
def test_transforms_of_unknown_rank(call):
    x = tf.constant(np.arange(20.0).reshape(2, 10))
    of_any_rank = tf.function(call, input_signature=[tf.TensorSpec(None, tf.float64)])
    np.testing.assert_allclose(of_any_rank(x), call(x), atol=1e-12)


def test_what_cosine_transforms_and_sums_refuse():
    with pytest.raises(TypeError, match="got int32"):
        tf.signal.dct(tf.constant([1, 2]))
    with pytest.raises(ValueError, match="greater than one: got a last dimension of 1"):
        tf.signal.dct([1.0], type=1)
    frames = tf.ones([2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="frame_step >= 1, got 0"):
        tf.signal.overlap_and_add(frames, 0)
    later = tf.function(tf.signal.overlap_and_add)
    with pytest.raises(ValueError, match="frame_step >= 1, got -1"):
        later(frames, -1)
    assert later(frames, tf.constant(1)).numpy().tolist() == [1, 2, 2, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="frame_step must be positive"):
        later(frames, tf.constant(0))


def test_double_precision_stays():
    assert tf.signal.fft([1 + 1j, 2]).dtype is tf.complex128
    assert tf.signal.ifft(np.array([1 + 1j])).dtype is tf.complex128
    assert tf.signal.fft(np.array([1 + 1j], np.complex64)).dtype is tf.complex64
    assert tf.signal.dct(np.arange(4.0)).dtype is tf.float64
    assert tf.signal.dct([1.0, 2.0]).dtype is tf.float32


def test_shifts_along_axes_that_the_graph_computes():
    x = np.arange(12.0).reshape(3, 4)
    axes = tf.constant([0, 1])
    for name in ("fftshift", "ifftshift"):
        shift, expected = getattr(tf.signal, name), getattr(np.fft, name)(x)
        along = tf.function(lambda v, a, shift=shift: shift(v, a))
        np.testing.assert_array_equal(along(tf.constant(x), axes), expected)
        np.testing.assert_array_equal(shift(x, axes), expected)
        fixed = tf.function(lambda v, shift=shift: shift(v, tf.constant([0, 1])))
        np.testing.assert_array_equal(fixed(tf.constant(x)), expected)


def test_axes_that_a_transform_does_not_have():
    with pytest.raises(ValueError, match=r"axes from -2 to 1, got \[3\]"):
        tf.signal.fftnd(tf.ones([2, 2], tf.complex64), axes=[3])
    given = tf.TensorSpec(None, tf.complex64)
    with pytest.raises(ValueError, match="needs fft_length"):
        tf.function(lambda v: tf.signal.fftnd(v, axes=[1])).get_concrete_function(given)


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.float64])
def test_a_transform_takes_no_variable_of_real_numbers(dtype):
    real = tf.Variable([1, 2], dtype=dtype)
    with pytest.raises(tf.errors.InvalidArgumentError):
        signal.fft(real)
    with pytest.raises(TypeError):
        tf.function(lambda: signal.fft(real))()
    assert signal.fft(tf.Variable([1j, 2])).dtype == tf.complex128


@pytest.mark.parametrize("spec", [None, [None, None, None], [2, 0, 41]])
def test_no_frames_add_up_to_what_lies_between(spec):
    """Each frame beyond the first adds a step: without any there is one step less than a frame."""
    late = tf.function(lambda x: tf.signal.overlap_and_add(x, 1), [tf.TensorSpec(spec)])
    for call in (lambda x: tf.signal.overlap_and_add(x, 1), late):
        assert call(tf.zeros([2, 0, 41])).numpy().tolist() == np.zeros((2, 40)).tolist()
