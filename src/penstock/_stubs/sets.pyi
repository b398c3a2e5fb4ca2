# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.set_operations import difference as difference
from penstock.ops.set_operations import intersection as intersection
from penstock.ops.set_operations import size as size
from penstock.ops.set_operations import union as union
