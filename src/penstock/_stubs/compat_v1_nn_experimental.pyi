# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.nn_dropout import general_dropout as general_dropout
from penstock.ops.nn_dropout import stateless_dropout as stateless_dropout
