# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.random_stateless_ops import Algorithm as Algorithm
from penstock.ops.random_stateless_ops import fold_in as stateless_fold_in
from penstock.ops.random_stateless_ops import stateless_shuffle as stateless_shuffle
from penstock.ops.random_stateless_ops import split as stateless_split
