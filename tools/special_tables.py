"""Writes src/penstock/ops/math_special_tables.py: Chebyshev coefficients of smooth factors.

    python tools/special_tables.py          # needs the package mpmath

Each factor is a function on an interval without a singularity there, so a short sum of Chebyshev
polynomials gives it to the last bit of float64. The sums are interpolations at the polynomials'
extrema, in 60 digits, cut where the rest is below 2e-17 of the largest coefficient.
"""

import pathlib
from collections.abc import Callable
from typing import Any

import mpmath as mp

TARGET = pathlib.Path(__file__).parents[1] / "src/penstock/ops/math_special_tables.py"
NODES = 90
mp.mp.dps = 60
HEAD = '''"""Chebyshev coefficients of the smooth factors of special functions; see `math_bessel`.

Made by `tools/special_tables.py`, not by hand. Each tuple is the sum over k of c[k] T_k(2u - 1) for
u in [0, 1]; what u is stands beside the formula that uses it. ZEROS holds zeros as two numbers
whose sum is exact to 32 digits.
"""

'''


def coefficients(function: Callable[[Any], Any], last: Any = 1) -> list[Any]:
    """c[k] with function(u * last) = sum c[k] T_k(2u - 1) on [0, 1]."""
    angles = [mp.pi * (j + mp.mpf(1) / 2) / NODES for j in range(NODES)]
    values = [function(last * (1 + mp.cos(a)) / 2) for a in angles]
    found = []
    for k in range(NODES):
        total = mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True))
        found.append(total * (1 if k == 0 else 2) / NODES)
    bound = max(abs(c) for c in found) * mp.mpf("2e-17")
    while abs(found[-1]) < bound:
        found.pop()
    if len(found) == NODES:
        raise ValueError("the function is not smooth enough for this many coefficients")
    return found


def root(t: Any) -> Any:
    """sqrt(t), never zero, so that quotients are defined."""
    return mp.sqrt(t) if t > 0 else mp.mpf(10) ** -25


def zeros(order: int) -> list[Any]:
    """The first two zeros of J of an order."""
    return [mp.besseljzero(order, k) for k in (1, 2)]


def without_zeros(order: int) -> Callable[[Any], Any]:
    first, second = zeros(order)

    def factor(t: Any) -> Any:
        x = root(t)
        value = mp.besselj(order, x) / (x if order else 1)
        return value / ((t - first**2) * (t - second**2))

    return factor


def hankel(order: int, part: str) -> Callable[[Any], Any]:
    """P or 8 Q / x of J + iY = sqrt(2 / (pi x)) exp(i (x - (2 order + 1) pi / 4)) (P + iQ)."""

    def factor(u: Any) -> Any:
        x = 8 / root(u)
        if x > 10**6:  # the first terms of the asymptotic series
            m = 4 * order * order
            return mp.mpf(1) if part == "p" else mp.mpf(m - 1) / 64
        phase = mp.expj(-(x - (2 * order + 1) * mp.pi / 4))
        value = (mp.besselj(order, x) + 1j * mp.bessely(order, x)) * mp.sqrt(mp.pi * x / 2) * phase
        return value.real if part == "p" else value.imag * x / 8

    return factor


def y_rest(order: int) -> Callable[[Any], Any]:
    def factor(t: Any) -> Any:
        x = root(t)
        smooth = mp.log(x) * mp.besselj(order, x) - (1 / x if order else 0)
        return (mp.bessely(order, x) - 2 / mp.pi * smooth) / (x if order else 1)

    return factor


def k_rest(order: int) -> Callable[[Any], Any]:
    def factor(t: Any) -> Any:
        x = root(t)
        if order:
            return x * (mp.besselk(1, x) - mp.log(x) * mp.besseli(1, x))
        return mp.besselk(0, x) + mp.log(x) * mp.besseli(0, x)

    return factor


def k_tail(order: int) -> Callable[[Any], Any]:
    def factor(u: Any) -> Any:
        if u == 0:
            return mp.sqrt(mp.pi / 2)
        x = 2 / u
        return mp.besselk(order, x) * mp.exp(x) * mp.sqrt(x)

    return factor


def dawson(x: Any) -> Any:
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def fresnel_tail(part: str) -> Callable[[Any], Any]:
    """The products pi x f(x) and pi^2 x^3 g(x).

    C = 1/2 + f sin - g cos and S = 1/2 - f cos - g sin, of pi x^2 / 2.
    """

    def factor(u: Any) -> Any:
        x = mp.mpf("1.6") / root(root(u))
        if x > 10**4:
            return mp.mpf(1)
        angle = mp.pi * x * x / 2
        c, s = mp.fresnelc(x) - mp.mpf(1) / 2, mp.fresnels(x) - mp.mpf(1) / 2
        f = c * mp.sin(angle) - s * mp.cos(angle)
        g = -c * mp.cos(angle) - s * mp.sin(angle)
        return mp.pi * x * f if part == "f" else mp.pi**2 * x**3 * g

    return factor


def scaled(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function(x)` of t = x^2."""
    return lambda t: function(root(t))


TABLES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "J0": (without_zeros(0), 64),
    "J1": (without_zeros(1), 64),
    "Y0": (y_rest(0), 64),
    "Y1": (y_rest(1), 64),
    "P0": (hankel(0, "p"), 1),
    "Q0": (hankel(0, "q"), 1),
    "P1": (hankel(1, "p"), 1),
    "Q1": (hankel(1, "q"), 1),
    "I0": (scaled(lambda x: mp.besseli(0, x)), 4),
    "I1": (scaled(lambda x: mp.besseli(1, x) / x), 4),
    "K0": (k_rest(0), 4),
    "K1": (k_rest(1), 4),
    "K0_TAIL": (k_tail(0), 1),
    "K1_TAIL": (k_tail(1), 1),
    "DAWSON": (scaled(lambda x: dawson(x) / x), 25),
    "DAWSON_TAIL": (lambda u: 2 * (5 / root(u)) * dawson(5 / root(u)) if u > 1e-8 else 1, 1),
    "FRESNEL_C": (lambda u: mp.fresnelc(root(root(u))) / root(root(u)), mp.mpf("1.6") ** 4),
    "FRESNEL_S": (lambda u: mp.fresnels(root(root(u))) / root(root(u)) ** 3, mp.mpf("1.6") ** 4),
    "FRESNEL_F": (fresnel_tail("f"), 1),
    "FRESNEL_G": (fresnel_tail("g"), 1),
}


def main() -> None:
    """Writes the tables."""
    lines = [HEAD]
    for name, (function, last) in TABLES.items():
        numbers = [repr(float(c)) for c in coefficients(function, mp.mpf(last))]
        lines.append(f"{name} = (\n")
        lines += [f"    {', '.join(numbers[i : i + 3])},\n" for i in range(0, len(numbers), 3)]
        lines.append(")  # fmt: skip\n")
        print(name, len(numbers))
    pairs = {
        order: [(float(z), float(z - mp.mpf(float(z)))) for z in zeros(order)] for order in (0, 1)
    }
    lines.append(f"ZEROS = (\n    {tuple(pairs[0])},\n    {tuple(pairs[1])},\n)  # fmt: skip\n")
    TARGET.write_text("".join(lines))


if __name__ == "__main__":
    main()
