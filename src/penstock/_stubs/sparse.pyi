# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.composite import SparseTensor as SparseTensor
