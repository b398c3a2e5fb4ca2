# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.tracing.autograph.public import control_status_ctx as control_status_ctx
from penstock.tracing.autograph.public import tf_convert as tf_convert
