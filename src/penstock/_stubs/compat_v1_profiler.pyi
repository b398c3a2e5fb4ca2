# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.profiler.options_v1 import ProfileOptionBuilder as ProfileOptionBuilder
from penstock._stubs import compat_v1_profiler_experimental as experimental
