# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.random_stateless_ops import Algorithm as Algorithm
from penstock.ops.random_ops import categorical as categorical
from penstock.ops.random_stateless_ops import fold_in as fold_in
from penstock.ops.random_ops import random_normal as normal
from penstock.ops.random_state import set_seed as set_seed
from penstock.ops.random_ops import random_shuffle as shuffle
from penstock.ops.random_stateless_ops import split as split
from penstock.ops.random_stateless_ops import stateless_categorical as stateless_categorical
from penstock.ops.random_stateless_ops import stateless_random_normal as stateless_normal
from penstock.ops.random_stateless_ops import stateless_truncated_normal as stateless_truncated_normal
from penstock.ops.random_stateless_ops import stateless_random_uniform as stateless_uniform
from penstock.ops.random_ops import truncated_normal as truncated_normal
from penstock.ops.random_ops import random_uniform as uniform
from penstock._stubs import random_experimental as experimental
