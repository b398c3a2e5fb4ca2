# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.autodiff import *
from penstock.autodiff.forward import ForwardAccumulator as ForwardAccumulator
