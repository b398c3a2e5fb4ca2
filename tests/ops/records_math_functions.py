"""Records of functions of one tensor and of special functions."""

import math

import numpy as np
from tests.ops.harness import (
    COMPLEX,
    FLOATS,
    HALVES,
    SIGNED,
    UNSIGNED,
    Record,
    case,
    nonzero,
    normal,
    unary_cases,
    uniform,
    values,
)

from penstock.ops import math_elementwise as e
from penstock.ops import math_special as s

INEXACT = (*FLOATS, *HALVES, *COMPLEX)
REAL = (*FLOATS, *HALVES)
LOOSE = {"bfloat16": 4e-2, "float16": 1e-2, "float32": 4e-6, "complex64": 1e-5}
SPECIAL = {**LOOSE, "float32": 1e-5, "float64": 1e-11}


def each(function):
    return np.vectorize(function, otypes=[np.float64])


def plain():
    free, inside, positive, above = normal(), uniform(-0.8, 0.8), uniform(0.3, 2), uniform(1.2, 3)
    table = [
        ("Exp", free, np.exp, e.exp), ("Expm1", free, np.expm1, e.expm1), ("Log", positive, np.log, e.log), ("Log1p", positive, np.log1p, e.log1p),
        ("Sqrt", positive, np.sqrt, e.sqrt), ("Rsqrt", positive, lambda x: 1 / np.sqrt(x), e.rsqrt), ("Reciprocal", free, lambda x: 1 / x, e.reciprocal),
        ("Inv", free, lambda x: 1 / x, None), ("Sigmoid", free, lambda x: 1 / (1 + np.exp(-x)), e.sigmoid), ("Tanh", free, np.tanh, e.tanh),
        ("Sin", free, np.sin, e.sin), ("Cos", free, np.cos, e.cos), ("Tan", inside, np.tan, e.tan), ("Asin", inside, np.arcsin, e.asin),
        ("Acos", inside, np.arccos, e.acos), ("Atan", free, np.arctan, e.atan), ("Sinh", free, np.sinh, e.sinh), ("Cosh", free, np.cosh, e.cosh),
        ("Asinh", free, np.arcsinh, e.asinh), ("Acosh", above, np.arccosh, e.acosh), ("Atanh", inside, np.arctanh, e.atanh),
    ]  # fmt: skip
    real = [("Ceil", np.ceil, e.ceil), ("Floor", np.floor, e.floor), ("Rint", np.rint, e.rint)]
    return [
        *[Record(n, unary_cases(sample), r, f, INEXACT, LOOSE, differentiable=(0,)) for n, sample, r, f in table],
        *[Record(n, unary_cases(sample), r, f, ("complex128",), {"complex128": 1e-10}, differentiable=(0,), grad_dtype="complex128", order=1)
          for n, sample, r, f in table],
        Record("Square", unary_cases(free), np.square, e.square, (*INEXACT, *SIGNED, *UNSIGNED), LOOSE, differentiable=(0,)),
        *[Record(n, [*unary_cases(uniform(-9, 9)), case(values(0.5, 1.5, -0.5, np.inf, -2.5))], r, f, REAL if n != "Round" else (*REAL, *SIGNED))
          for n, r, f in real],
        Record("Round", [*unary_cases(uniform(-9, 9)), case(values(0.5, 1.5, 2.5, -0.5, -1.5))], np.rint, e.round, REAL),
        Record("Round", unary_cases(uniform(-9, 9)), lambda x: x, dtypes=SIGNED),
        Record("Sign", [*unary_cases(free), case(values(0, -0.0, np.nan, 5))], np.sign, e.sign, FLOATS, tolerance=LOOSE),
        Record("Sign", unary_cases(free), np.sign, e.sign, (*SIGNED, *HALVES, *COMPLEX), tolerance=LOOSE),
        Record("Abs", unary_cases(free), np.abs, dtypes=(*REAL, *SIGNED), differentiable=(0,)),
    ]  # fmt: skip


def gradients():
    table = [("SigmoidGrad", lambda y, d: d * y * (1 - y)), ("TanhGrad", lambda y, d: d * (1 - y * y)), ("SqrtGrad", lambda y, d: d / (2 * y)),
             ("RsqrtGrad", lambda y, d: -0.5 * d * y**3), ("ReciprocalGrad", lambda y, d: -d * y * y), ("InvGrad", lambda y, d: -d * y * y)]  # fmt: skip
    shapes = ((2, 3), (), (0, 2), (1,))
    return [
        Record(
            n,
            [case(nonzero(0.5, 1.5, *t), normal(*t)) for t in shapes],
            r,
            None,
            INEXACT,
            {**LOOSE, "bfloat16": 8e-2},
            differentiable=(0, 1),
        )
        for n, r in table
    ]


def zeta(x, q):
    """The first terms, and Euler and Maclaurin's start of the rest."""
    last = q + 20000
    return sum((q + k) ** -x for k in range(20000)) + last ** (1 - x) / (x - 1) + last**-x / 2


def specials():
    euler = 0.5772156649015329
    known = {
        0.5: -euler - 2 * math.log(2),
        1.0: -euler,
        2.0: 1 - euler,
        -0.5: 2 - euler - 2 * math.log(2),
        10.5: sum(1 / (k + 0.5) for k in range(10)) - euler - 2 * math.log(2),
    }
    points = np.array(list(known))
    pair = ((2, 3), (), (0, 2))
    return [
        Record("Erf", unary_cases(normal()), each(math.erf), s.erf, REAL, SPECIAL, differentiable=(0,)),
        Record("Erfc", unary_cases(normal()), each(math.erfc), s.erfc, REAL, SPECIAL, differentiable=(0,)),
        Record(".erf of erfinv", [case(uniform(-0.99, 0.99, 4)), case(np.float64([1e-12, -1e-5, 0.0, 1 - 1e-9]))], lambda x: x,
               lambda x: s.erf(s.erfinv(x)), ("float64",), {"float64": 1e-14}),
        Record("Erfinv", unary_cases(uniform(-0.9, 0.9)), each(s._erfinv_one), s.erfinv, REAL, SPECIAL, differentiable=(0,)),
        Record("Erfinv", [case(np.float64([1, -1, 2]))], lambda x: np.float64([np.inf, -np.inf, np.nan]), s.erfinv, ("float64",)),
        Record("Ndtri", [*unary_cases(uniform(0.1, 0.9)), case(np.float32([0, 0.5, 1, 2]))],
               each(lambda p: math.sqrt(2) * s._erfinv_one(2 * p - 1)), s.ndtri, ("float32",), SPECIAL, differentiable=(0,)),
        Record(".erfcinv", [case(np.float32([0.5, 1.5]))], lambda x: np.float32([0.4769362762, -0.4769362762]), s.erfcinv),
        Record("Lgamma", [*unary_cases(uniform(0.3, 3)), case(values(0, -1, 1, 200)), case(normal(5))], each(s._lgamma_one), s.lgamma, REAL, SPECIAL),
        Record("Lgamma", unary_cases(uniform(0.3, 3)), None, s.lgamma, differentiable=(0,)),
        Record("Digamma", [case(points)], lambda x: np.array([known[v] for v in x.tolist()]), s.digamma, ("float64",), {"float64": 1e-13}),
        Record("Digamma", unary_cases(uniform(0.3, 3)), s._digamma_host, s.digamma, REAL, SPECIAL, differentiable=(0,)),
        Record("Zeta", [case(uniform(2.5, 4, 2, 2), uniform(0.5, 3, 2)), case(uniform(3, 4), uniform(1, 2)), case(uniform(3, 4, 0), uniform(1, 2))], zeta, s.zeta,
               FLOATS, {"float64": 1e-11, "float32": 1e-5}, differentiable=(1,)),
        Record("Zeta", [case(np.float64([2, 4]), np.float64([1, 1]))], lambda x, q: np.array([math.pi**2 / 6, math.pi**4 / 90]), s.zeta, ("float64",),
               {"float64": 1e-14}),
        Record("Polygamma", [case(np.float64([1, 2, 3]), uniform(0.5, 3, 3)), case(np.float64([[1], [2]]), uniform(0.5, 3, 2))],
               lambda n, x: (-1) ** (n + 1) * each(math.factorial)(n.astype(int)) * zeta(n + 1, x), s.polygamma, ("float64",), {"float64": 1e-9}, differentiable=(1,),
               grad_tolerance=1e-4),
        Record("Igamma", [case(np.float64([1.0, 1, 2]), uniform(0.3, 3, 3))], lambda a, x: np.where(a == 1, 1 - np.exp(-x), 1 - (1 + x) * np.exp(-x)), s.igamma,
               ("float64",), {"float64": 1e-10}, differentiable=(1,)),
        Record("Igamma", [case(uniform(0.5, 2, 2, 3), uniform(0.5, 2, 3))], None, s.igamma, FLOATS, SPECIAL, differentiable=(0, 1), order=1, compiled=False, graph=False),
        Record("Igammac", [case(np.float64([1.0, 1, 2]), uniform(0.3, 3, 3))], lambda a, x: np.where(a == 1, np.exp(-x), (1 + x) * np.exp(-x)), s.igammac,
               ("float64",), {"float64": 1e-10}, differentiable=(0, 1), order=1),
        Record("IgammaGradA", [case(np.float64(1.5).reshape(()), np.float64([0.5, 2]))],
               lambda a, x: (s.igamma(a + 1e-6, x).numpy() - s.igamma(a - 1e-6, x).numpy()) / 2e-6, dtypes=("float64",), tolerance={"float64": 1e-7}),
        Record("Betainc", [case(np.float64([1.0, 2]), np.float64([1.0, 1]), uniform(0.2, 0.8, 2)), case(np.float64(1).reshape(()), np.float64(2).reshape(()), uniform(0.2, 0.8, 2))],
               lambda a, b, x: np.where(b == 2, 1 - (1 - x) ** 2, x**a), s.betainc, ("float64",), {"float64": 1e-10}, differentiable=(2,)),
        Record(".lbeta", [case(uniform(0.5, 2, 2, 3)), case(uniform(0.5, 2, 0))], lambda x: np.sum(each(math.lgamma)(x), -1) - each(s._lgamma_one)(np.sum(x, -1)), s.lbeta,
               FLOATS, SPECIAL, differentiable=(0,)),
        *[Record(n, [case(normal(*t)) for t in pair], bessel(order, scaled), f, REAL, {**SPECIAL, "float32": 2e-5}, differentiable=(0,))
          for n, order, scaled, f in [("BesselI0", 0, False, s.bessel_i0), ("BesselI1", 1, False, s.bessel_i1), ("BesselI0e", 0, True, s.bessel_i0e),
                                      ("BesselI1e", 1, True, s.bessel_i1e)]],
        Record("Spence", [case(np.float64([1.0, 0.5, 2])), case(uniform(0.5, 2, 0))], lambda x: np.array([0.0, math.pi**2 / 12 - math.log(2) ** 2 / 2, -math.pi**2 / 12])[: x.size],
               s.spence, ("float64",), {"float64": 1e-10}),
        Record("Spence", [case(uniform(0.3, 0.9, 3))], None, s.spence, differentiable=(0,), compiled=False, graph=False),
        Record("Expint", [case(uniform(0.5, 3, 3)), case(uniform(0.5, 3))],
               lambda x: 0.5772156649015329 + np.log(x) + sum(x**k / (k * math.factorial(k)) for k in range(1, 40)), s.expint, FLOATS, SPECIAL,
               differentiable=(0,)),
    ]  # fmt: skip


def bessel(order, scaled):
    """The integral of exp(x cos t) cos(order t) over a half turn, which the trapezoid rule gives to full precision."""

    def reference(x):
        t = (np.arange(200) + 0.5) * math.pi / 200
        values = np.exp(np.multiply.outer(x, np.cos(t))) * np.cos(order * t)
        result = values.mean(-1)
        return result * np.exp(-np.abs(x)) if scaled else result

    return reference


RECORDS = [*plain(), *gradients(), *specials()]
