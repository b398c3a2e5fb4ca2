# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.composite import SparseTensor as SparseTensor
from penstock.ops.conversion import sparse_placeholder as placeholder
