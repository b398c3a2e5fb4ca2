# Written by tools/make_stubs.py.
# ruff: noqa
from penstock._stubs import experimental_dlpack as dlpack
