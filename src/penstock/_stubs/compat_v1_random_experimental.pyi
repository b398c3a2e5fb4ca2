# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.random_stateless_ops import Algorithm as Algorithm
from penstock.ops.random_generator import Generator as Generator
from penstock.ops.random_generator import create_rng_state as create_rng_state
from penstock.ops.random_generator import get_global_generator as get_global_generator
from penstock.ops.random_index import index_shuffle as index_shuffle
from penstock.ops.random_generator import set_global_generator as set_global_generator
from penstock.ops.random_stateless_ops import fold_in as stateless_fold_in
from penstock.ops.random_stateless_ops import stateless_shuffle as stateless_shuffle
from penstock.ops.random_stateless_ops import split as stateless_split
