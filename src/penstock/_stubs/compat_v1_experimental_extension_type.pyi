# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.extension_type import as_dict as as_dict
