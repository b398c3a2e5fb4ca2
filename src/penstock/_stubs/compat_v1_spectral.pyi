# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.signal_spectral import dct as dct
from penstock.ops.signal_fft import fft as fft
from penstock.ops.signal_fft import fft2d as fft2d
from penstock.ops.signal_fft import fft3d as fft3d
from penstock.ops.signal_spectral import idct as idct
from penstock.ops.signal_fft import ifft as ifft
from penstock.ops.signal_fft import ifft2d as ifft2d
from penstock.ops.signal_fft import ifft3d as ifft3d
from penstock.ops.signal_fft import irfft as irfft
from penstock.ops.signal_fft import irfft2d as irfft2d
from penstock.ops.signal_fft import irfft3d as irfft3d
from penstock.ops.signal_fft import rfft as rfft
from penstock.ops.signal_fft import rfft2d as rfft2d
from penstock.ops.signal_fft import rfft3d as rfft3d
