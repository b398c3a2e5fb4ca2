"""WAV files there and back, spectra against the Fourier transform."""

import contextlib
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf

RNG = np.random.default_rng(0)
SOUND = RNG.uniform(-1, 1, (50, 2)).astype(np.float32)
MFCC_OF_RAMP = [1.686420202255249, -2.5827083587646484, -0.222796231508255]


def test_there_and_back():
    data = tf.audio.encode_wav(SOUND, 8000)
    found, rate = tf.audio.decode_wav(data)
    assert rate.numpy() == 8000
    np.testing.assert_allclose(found, SOUND, atol=2 / 32768)
    np.testing.assert_array_equal(
        found, np.clip(np.rint(SOUND * 32768), -32768, 32767).astype(np.float32) / 32768
    )


def test_extremes():
    data = tf.audio.encode_wav([[2.0], [-3.0], [-1.0], [1.0], [0.5], [np.nan]], 8000).numpy()
    assert struct.unpack("<6h", data[44:]) == (32767, -32768, -32768, 32767, 16384, 0)
    assert tf.audio.decode_wav(tf.audio.encode_wav(np.zeros((0, 1)), 1)).audio.shape == (0, 1)


@pytest.mark.parametrize(("channels", "samples"), [(1, -1), (3, 10), (2, 70), (-1, 0)])
def test_sizes_asked_for(channels, samples):
    data = tf.audio.encode_wav(SOUND, 8000)
    whole = tf.audio.decode_wav(data).audio.numpy()
    found = tf.audio.decode_wav(data, channels, samples).audio.numpy()
    rows = 50 if samples < 0 else samples
    columns = 2 if channels < 0 else channels
    wanted = np.pad(whole, [(0, 30), (0, 0)])[:rows]
    wanted = np.concatenate([wanted, wanted[:, 1:]], 1)[:, :columns]
    np.testing.assert_array_equal(found, wanted)


def wave_file(bits, format=1):
    body = bytes(24)
    about = struct.pack("<HHIIHH", format, 1, 8000, 8000 * bits // 8, bits // 8, bits)
    head = b"RIFF" + struct.pack("<I", 36 + len(body)) + b"WAVEfmt " + struct.pack("<I", 16)
    return head + about + b"data" + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize(
    "data", [b"", b"RIFF", wave_file(8), wave_file(24), wave_file(32, 3), wave_file(16)[:50]]
)
def test_what_is_refused(data):
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.audio.decode_wav(data)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 67), st.integers(0, 255)), max_size=6))
def test_broken_files_are_refused_or_read(changes):
    data = bytearray(wave_file(16))
    for at, value in changes:
        data[at] = value
    with contextlib.suppress(tf.errors.InvalidArgumentError):
        tf.audio.decode_wav(bytes(data))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(("window", "stride"), [(16, 8), (13, 5), (51, 1)])
def test_spectrogram(window, stride, squared):
    size = 1 << (window - 1).bit_length()
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    starts = range(0, 50 - window + 1, stride)
    frames = [np.fft.rfft(SOUND[s : s + window].T * hann, size) for s in starts]
    wanted = np.abs(np.stack(frames, 1)) if frames else np.zeros((2, 0, size // 2 + 1))
    wanted = wanted**2 if squared else wanted
    call = tf.function(
        lambda x: tf.raw_ops.AudioSpectrogram(
            input=x, window_size=window, stride=stride, magnitude_squared=squared
        )
    )
    np.testing.assert_allclose(call(SOUND), wanted, rtol=1e-4, atol=1e-5)


def test_mfcc():
    """Values that TensorFlow 2.21 gives for a ramp."""
    ramp = np.linspace(0, 1, 33, dtype=np.float32)[None, None]
    found = tf.raw_ops.Mfcc(
        spectrogram=ramp, sample_rate=8000, filterbank_channel_count=8, dct_coefficient_count=3
    )
    np.testing.assert_allclose(found, [[MFCC_OF_RAMP]], rtol=1e-5, atol=1e-5)
    assert found.shape == (1, 1, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.raw_ops.AudioSpectrogram(input=SOUND, window_size=1, stride=1),
        lambda: tf.raw_ops.AudioSpectrogram(input=SOUND, window_size=5, stride=0),
        lambda: tf.raw_ops.AudioSpectrogram(input=SOUND[0], window_size=5, stride=1),
        lambda: tf.raw_ops.Mfcc(spectrogram=np.ones((1, 1, 9), np.float32), sample_rate=-1),
        lambda: tf.raw_ops.Mfcc(
            spectrogram=np.ones((1, 1, 9), np.float32), sample_rate=8, dct_coefficient_count=50
        ),
        lambda: tf.audio.encode_wav(SOUND, 0),
        lambda: tf.audio.encode_wav(SOUND[0], 8000),
    ],
)
def test_wrong_arguments(call):
    with pytest.raises(tf.errors.InvalidArgumentError):
        call()


@pytest.mark.parametrize("what", ["channels", "samples"])
def test_none_of_a_sound_may_be_wanted_but_not_less(what):
    sound = tf.audio.encode_wav(tf.constant([[0.5, 0.25]]), 8000)
    none = tf.audio.decode_wav(sound, **{f"desired_{what}": 0}).audio
    assert none.shape == ((1, 0) if what == "channels" else (0, 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"desired_{what} >= -1, got -2"):
        tf.audio.decode_wav(sound, **{f"desired_{what}": -2})
