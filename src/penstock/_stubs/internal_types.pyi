# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.tensor import TensorBase as Tensor
