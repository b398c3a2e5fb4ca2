# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.linear_operators.conjugate_gradient import conjugate_gradient as conjugate_gradient
