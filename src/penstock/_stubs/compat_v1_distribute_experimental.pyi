# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.distribute.values import ValueContext as ValueContext
