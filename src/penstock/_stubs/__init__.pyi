# Written by tools/make_stubs.py.
# ruff: noqa
