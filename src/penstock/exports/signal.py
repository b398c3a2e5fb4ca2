"""Public names of signal processing."""

_FFT = "fft ifft fft2d ifft2d fft3d ifft3d rfft irfft rfft2d irfft2d rfft3d irfft3d".split()
_FFT_AXES = "fftnd ifftnd rfftnd irfftnd".split()
_SHIFTS = "fftshift ifftshift".split()
_V1 = "fft ifft fft2d ifft2d fft3d ifft3d".split()
_FRAMES = (
    "frame hamming_window hann_window kaiser_bessel_derived_window kaiser_window overlap_and_add"
    " vorbis_window"
).split()
_TRANSFORMS = (
    "dct idct inverse_mdct inverse_stft inverse_stft_window_fn linear_to_mel_weight_matrix mdct"
    " mfccs_from_log_mel_spectrograms stft"
).split()


def _names(name: str) -> list[str]:
    found = [f"signal.{name}"]
    if name in _FFT or name in ("dct", "idct"):
        found.append(f"compat.v1.spectral.{name}")
    if name in _V1:
        found.append(f"compat.v1.{name}")
    return found


EXPORTS = {
    "penstock.ops.signal_fft": {name: _names(name) for name in _FFT},
    "penstock.ops.signal_fft_axes": {name: _names(name) for name in _FFT_AXES},
    "penstock.ops.signal_frames": {name: _names(name) for name in _FRAMES},
    "penstock.ops.signal_shifts": {name: _names(name) for name in _SHIFTS},
    "penstock.ops.signal_spectral": {name: _names(name) for name in _TRANSFORMS},
}
