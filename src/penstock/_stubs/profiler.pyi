# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.profiler import *
from penstock._stubs import profiler_experimental as experimental
