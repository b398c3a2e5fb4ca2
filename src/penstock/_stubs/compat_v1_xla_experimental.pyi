# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.tracing.xla import compile as compile
from penstock.tracing.xla import jit_scope as jit_scope
