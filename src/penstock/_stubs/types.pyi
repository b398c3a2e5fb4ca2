# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.types import *
from penstock._stubs import types_experimental as experimental
