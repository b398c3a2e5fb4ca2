# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.text_format import string_format as format
