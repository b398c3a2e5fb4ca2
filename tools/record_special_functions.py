"""Records values of special functions: tests/data/special_functions.json.

    python tools/record_special_functions.py     # needs the package mpmath

Each entry holds arguments and values, as float64 that are correct to the last bit. Functions of
several arguments have a list for each.
"""

import json
import pathlib
from typing import Any

import mpmath as mp
import numpy as np

TARGET = pathlib.Path(__file__).parents[1] / "tests/data/special_functions.json"
mp.mp.dps = 50


def scaled(function: Any, order: int, sign: int) -> Any:
    return lambda x: function(order, x) * mp.exp(sign * x)


def lower(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def beta(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


FUNCTIONS: dict[str, tuple[Any, ...]] = {  # name -> function, range of each argument
    "bessel_j0": (lambda x: mp.besselj(0, x), (-30, 30)),
    "bessel_j1": (lambda x: mp.besselj(1, x), (-30, 30)),
    "bessel_y0": (lambda x: mp.bessely(0, x), (1e-3, 30)),
    "bessel_y1": (lambda x: mp.bessely(1, x), (1e-3, 30)),
    "bessel_k0": (lambda x: mp.besselk(0, x), (1e-3, 30)),
    "bessel_k1": (lambda x: mp.besselk(1, x), (1e-3, 30)),
    "bessel_k0e": (scaled(mp.besselk, 0, 1), (1e-3, 100)),
    "bessel_k1e": (scaled(mp.besselk, 1, 1), (1e-3, 100)),
    "bessel_i0": (lambda x: mp.besseli(0, x), (1e-3, 30)),
    "bessel_i1": (lambda x: mp.besseli(1, x), (1e-3, 30)),
    "bessel_i0e": (scaled(mp.besseli, 0, -1), (1e-3, 100)),
    "bessel_i1e": (scaled(mp.besseli, 1, -1), (1e-3, 100)),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (-20, 20)),
    "expint": (mp.ei, (1e-3, 30)),
    "fresnel_cos": (mp.fresnelc, (-8, 8)),
    "fresnel_sin": (mp.fresnels, (-8, 8)),
    "spence": (lambda x: mp.polylog(2, 1 - x).real, (1e-3, 30)),
    "erfcinv": (lambda x: mp.erfinv(1 - x), (1e-3, 1.999)),
    "ndtri": (lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1), (1e-3, 0.999)),
    "erfinv": (mp.erfinv, (-0.999, 0.999)),
    "digamma": (mp.digamma, (1e-3, 30)),
    "lgamma": (mp.loggamma, (1e-3, 30)),
    "zeta": (mp.zeta, (1.1, 20), (0.1, 20)),
    "polygamma": (lambda n, x: mp.polygamma(int(n), x), (1, 6), (0.1, 20)),
    "igamma": (lower, (0.1, 20), (1e-3, 30)),
    "igammac": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), (0.1, 20), (1e-3, 30)),
    "igamma_grad_a": (lambda a, x: mp.diff(lambda b: lower(b, x), a), (0.5, 20), (1e-1, 30)),
    "betainc": (beta, (0.1, 20), (0.1, 20), (0.05, 0.95)),
}  # fmt: skip
COUNT = 40


def drawn(rng: np.random.Generator, low: float, high: float) -> list[float]:
    """Half of the numbers evenly, half with even logarithms; float32 numbers, for both dtypes."""
    even = rng.uniform(low, high, COUNT // 2)
    small = np.exp(rng.uniform(np.log(max(low, 1e-3)), np.log(high), COUNT // 2))
    result: list[float] = np.concatenate([even, small]).astype(np.float32).tolist()
    return result


def main() -> None:
    """Writes the file."""
    rng = np.random.default_rng(11)
    found = {}
    for name, (function, *ranges) in FUNCTIONS.items():
        arguments = [drawn(rng, *bounds) for bounds in ranges]
        if name == "polygamma":
            arguments[0] = [float(round(n)) for n in arguments[0]]
        values = [float(function(*map(mp.mpf, each))) for each in zip(*arguments, strict=True)]
        found[name] = {"arguments": arguments, "values": values}
        print(name)
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
