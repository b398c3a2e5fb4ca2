# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.numpy_fft import fft as fft
from penstock.ops.numpy_fft import fftfreq as fftfreq
from penstock.ops.numpy_fft import fftn as fftn
from penstock.ops.numpy_fft import fftshift as fftshift
from penstock.ops.numpy_fft import hfft as hfft
from penstock.ops.numpy_fft import ifft as ifft
from penstock.ops.numpy_fft import ifftn as ifftn
from penstock.ops.numpy_fft import ifftshift as ifftshift
from penstock.ops.numpy_fft import ihfft as ihfft
from penstock.ops.numpy_fft import irfft as irfft
from penstock.ops.numpy_fft import irfftn as irfftn
from penstock.ops.numpy_fft import rfft as rfft
from penstock.ops.numpy_fft import rfftfreq as rfftfreq
from penstock.ops.numpy_fft import rfftn as rfftn
