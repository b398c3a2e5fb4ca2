# Written by tools/make_stubs.py.
# ruff: noqa
from penstock._stubs import xla_experimental as experimental
