# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.lookup_tables import DenseHashTable as DenseHashTable
from penstock.ops.lookup_tables import MutableHashTable as MutableHashTable
