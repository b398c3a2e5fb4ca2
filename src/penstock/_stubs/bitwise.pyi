# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.math_compare import bitwise_and as bitwise_and
from penstock.ops.math_compare import bitwise_or as bitwise_or
from penstock.ops.math_compare import bitwise_xor as bitwise_xor
from penstock.ops.math_compare import invert as invert
from penstock.ops.math_compare import left_shift as left_shift
from penstock.ops.math_compare import right_shift as right_shift
