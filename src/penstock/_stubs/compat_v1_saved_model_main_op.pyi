# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.checkpoint.saved_model.builder import main_op as main_op
from penstock.checkpoint.saved_model.builder import main_op_with_restore as main_op_with_restore
