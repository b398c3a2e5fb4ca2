# Written by tools/make_stubs.py.
# ruff: noqa
from penstock._stubs import compat_v1_xla_experimental as experimental
