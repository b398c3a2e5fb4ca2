"""Records of Bessel functions and of Dawson's and Fresnel's integrals; references are SciPy's."""

import numpy as np
from scipy import special
from tests.ops.harness import Record, case, unary_cases, uniform, values

from penstock.ops import math_bessel as b

REAL = ("float32", "float64", "bfloat16", "float16")
CLOSE = {"float64": 1e-13, "float32": 1e-6}


def _record(name, function, reference, low, high, *edges):
    """`edges`: arguments at which the value is a limit, infinite or undefined."""
    cases = unary_cases(uniform(low, high))
    if edges:
        cases.append(case(values(*edges)))
    return Record(name, cases, reference, function, REAL, CLOSE, differentiable=(0,))


def _positive(reference, limit):
    """`reference`, with a limit for all x <= 0, as TensorFlow has it."""
    return lambda x: np.where(x <= 0, limit, reference(np.abs(x)))


ALL = (0.0, -1.0, 9.5, 100.0, -100.0, np.nan)
RECORDS = [
    _record("BesselJ0", b.bessel_j0, special.j0, 0.3, 2, *ALL),
    _record("BesselJ1", b.bessel_j1, special.j1, 0.3, 3, *ALL),
    _record("BesselY0", b.bessel_y0, _positive(special.y0, -np.inf), 1.2, 3, *ALL),
    _record("BesselY1", b.bessel_y1, _positive(special.y1, -np.inf), 0.5, 1.9, *ALL),
    _record("BesselK0", b.bessel_k0, _positive(special.k0, np.inf), 0.5, 3, *ALL, np.inf),
    _record("BesselK1", b.bessel_k1, _positive(special.k1, np.inf), 0.5, 3, *ALL, np.inf),
    _record("BesselK0e", b.bessel_k0e, _positive(special.k0e, np.inf), 0.5, 3, *ALL, np.inf),
    _record("BesselK1e", b.bessel_k1e, _positive(special.k1e, np.inf), 0.5, 3, *ALL, np.inf),
    _record("Dawsn", b.dawsn, special.dawsn, 0.1, 0.8, *ALL, 6.0, np.inf, -np.inf),
    _record("FresnelCos", b.fresnel_cos, lambda x: special.fresnel(x)[1], 0.2, 0.9, *ALL, np.inf),
    _record("FresnelSin", b.fresnel_sin, lambda x: special.fresnel(x)[0], 0.3, 1.2, *ALL, -np.inf),
]
