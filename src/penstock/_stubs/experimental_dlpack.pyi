# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.dlpack import from_dlpack as from_dlpack
from penstock.core.dlpack import to_dlpack as to_dlpack
