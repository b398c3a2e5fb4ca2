# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.summary.writers import get_step as get_step
from penstock.summary.writers import set_step as set_step
from penstock.summary.writers import summary_scope as summary_scope
from penstock.summary.writers import write_raw_pb as write_raw_pb
