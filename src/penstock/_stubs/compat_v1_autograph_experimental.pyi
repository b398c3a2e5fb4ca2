# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.tracing.autograph.options import Feature as Feature
from penstock.tracing.autograph.status import do_not_convert as do_not_convert
from penstock.tracing.autograph.options import set_loop_options as set_loop_options
