"""Records of arithmetic."""

import numpy as np

from penstock.ops import math_arithmetic as m
from tests.ops.harness import COMPLEX, FLOATS, HALVES, SIGNED, UNSIGNED, Failure, Record, binary_cases, normal, unary_cases

NUMBERS = ("float32", "float64", *HALVES, *SIGNED, *UNSIGNED, *COMPLEX)
CLASH = (Failure((normal(2, 3), normal(2, 4)), "Incompatible shapes"),)

RECORDS = [
    Record("AddV2", binary_cases(normal()), np.add, m.add_v2, NUMBERS, differentiable=(0, 1), errors=CLASH),
    Record("Sub", binary_cases(normal()), np.subtract, m.subtract, NUMBERS, differentiable=(0, 1), errors=CLASH),
    Record("Mul", binary_cases(normal()), np.multiply, m.multiply, NUMBERS, differentiable=(0, 1), errors=CLASH),
    Record("Neg", unary_cases(normal()), np.negative, m.negative, (*FLOATS, *SIGNED), differentiable=(0,)),
    Record("Tanh", unary_cases(normal()), np.tanh, m.tanh, FLOATS, differentiable=(0,)),
]
