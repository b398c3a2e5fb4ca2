# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.set_operations import difference as difference
from penstock.ops.set_operations import intersection as intersection
from penstock.ops.set_operations import difference as set_difference
from penstock.ops.set_operations import intersection as set_intersection
from penstock.ops.set_operations import size as set_size
from penstock.ops.set_operations import union as set_union
from penstock.ops.set_operations import size as size
from penstock.ops.set_operations import union as union
