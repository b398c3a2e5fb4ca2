# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.smart_cond import smart_cond as smart_cond
