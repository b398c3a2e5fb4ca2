# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.numpy_random import poisson as poisson
from penstock.ops.numpy_random import rand as rand
from penstock.ops.numpy_random import randint as randint
from penstock.ops.numpy_random import randn as randn
from penstock.ops.numpy_random import random as random
from penstock.ops.numpy_random import seed as seed
from penstock.ops.numpy_random import standard_normal as standard_normal
from penstock.ops.numpy_random import uniform as uniform
