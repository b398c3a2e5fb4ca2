"""Writes Chebyshev coefficients of smooth factors of special functions.

    python tools/special_tables.py          # needs the package mpmath

They go to src/penstock/ops/math_special_tables.py, and with those that only the native library
uses to native/special_tables.h.

Each factor is a function on an interval without a singularity there, so a short sum of Chebyshev
polynomials gives it to the last bit of float64. The sums are interpolations at the polynomials'
extrema, in 60 digits, cut where the rest is below 2e-17 of the largest coefficient.
"""

import pathlib
from collections.abc import Callable
from typing import Any

import mpmath as mp

ROOT = pathlib.Path(__file__).parents[1]
TARGET = ROOT / "src/penstock/ops/math_special_tables.py"
HEADER = ROOT / "native/special_tables.h"
NODES = 90
mp.mp.dps = 60
HEAD = '''"""Chebyshev coefficients of the smooth factors of special functions; see `math_bessel`.

Made by `tools/special_tables.py`, not by hand. Each tuple is the sum over k of c[k] T_k(2u - 1) for
u in [0, 1]; what u is stands beside the formula that uses it. ZEROS holds zeros as two numbers
whose sum is exact to 32 digits.
"""

'''

HEADER_HEAD = """\
// Chebyshev coefficients of smooth factors of special functions, for special_unary.h;
// made by tools/special_tables.py, not by hand. Each array is the sum over k of c[k] T_k(2u - 1)
// for u in [0, 1]; ZEROS holds zeros of J as two numbers whose sum is exact to 32 digits.
#pragma once

namespace penstock::tables {

"""


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


def i_near(order: int) -> Callable[[Any], Any]:
    """exp(-x) I, by x for order 1."""

    def factor(x: Any) -> Any:
        x = x if x > 0 else mp.mpf(10) ** -25
        return mp.besseli(order, x) * mp.exp(-x) / (x if order else 1)

    return factor


def i_tail(order: int) -> Callable[[Any], Any]:
    """sqrt(x) exp(-x) I, of 4 / x."""

    def factor(u: Any) -> Any:
        x = 4 / u if u > 0 else mp.inf
        if x < 10**4:
            return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x)
        term, total = mp.mpf(1), mp.mpf(1)  # of the asymptotic series, DLMF 10.40.1
        for k in range(1, 12):
            term *= -(4 * order * order - (2 * k - 1) ** 2) / (k * 8 * x)
            total += term
        return total / mp.sqrt(2 * mp.pi)

    return factor


EI_ZERO = mp.findroot(mp.ei, 0.3725)


def ei_near(x: Any) -> Any:
    """(Ei(x) - log(x / zero)) / (x - zero)."""
    x = x if x > 0 else mp.mpf(10) ** -30
    return (mp.ei(x) - mp.log(x / EI_ZERO)) / (x - EI_ZERO)


def ei_tail(low: int, high: int | None) -> Callable[[Any], Any]:
    """The product x exp(-x) Ei(x) for x from low to high, of 1 / x in proportion."""
    end = mp.mpf(1) / high if high else mp.mpf(0)

    def factor(v: Any) -> Any:
        u = end + v * (mp.mpf(1) / low - end)
        if u < mp.mpf(1) / 200:  # the asymptotic series, DLMF 6.12.2
            return mp.fsum(mp.factorial(k) * u**k for k in range(25))
        return mp.exp(-1 / u) * mp.ei(1 / u) / u

    return factor


def dilogarithm(v: Any) -> Any:
    """Li2(1 - x) / (1 - x) for x = 1/2 + v."""
    rest = mp.mpf(1) / 2 - v
    return (mp.polylog(2, rest) / rest).real if rest else mp.mpf(1)


def inverse_erf(low: int, high: int, rooted: bool) -> Callable[[Any], Any]:
    """erfinv(x) / x of w = -log(1 - x^2), or of sqrt(w), from low to high.

    Source of the variable: M. Giles, Approximating the erfinv function, 2010.
    """

    def factor(v: Any) -> Any:
        t = low + v * (high - low)
        w = t * t if rooted else t
        if w == 0:
            return mp.sqrt(mp.pi) / 2
        x = mp.sqrt(-mp.expm1(-w))
        if w < 30:
            return mp.erfinv(x) / x
        beyond = mp.log(mp.exp(-w) / (1 + x))  # of 1 - x
        y = mp.sqrt(w)
        for _ in range(12):  # Newton's steps for log erfc(y) = beyond
            tail = mp.erfc(y)
            y += (mp.log(tail) - beyond) * tail * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        return y / x

    return factor


NATIVE_TABLES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "I0_NEAR": (i_near(0), 4),
    "I1_NEAR": (i_near(1), 4),
    "I0_FAR": (i_tail(0), 1),
    "I1_FAR": (i_tail(1), 1),
    "EI_NEAR": (ei_near, 6),
    "EI_6": (ei_tail(6, 12), 1),
    "EI_12": (ei_tail(12, 24), 1),
    "EI_24": (ei_tail(24, 48), 1),
    "EI_48": (ei_tail(48, None), 1),
    "DILOGARITHM": (dilogarithm, 1),
    "ERFINV_0": (inverse_erf(0, 4, rooted=False), 1),
    "ERFINV_2": (inverse_erf(2, 4, rooted=True), 1),
    "ERFINV_4": (inverse_erf(4, 9, rooted=True), 1),
    "ERFINV_9": (inverse_erf(9, 27, rooted=True), 1),
}


def two_parts(number: Any) -> tuple[float, float]:
    """A number as two whose sum is exact to 32 digits."""
    return float(number), float(number - mp.mpf(float(number)))


def main() -> None:
    """Writes the tables."""
    lines, header = [HEAD], [HEADER_HEAD]
    for name, (function, last) in {**TABLES, **NATIVE_TABLES}.items():
        numbers = [repr(float(c)) for c in coefficients(function, mp.mpf(last))]
        rows = [f"    {', '.join(numbers[i : i + 3])},\n" for i in range(0, len(numbers), 3)]
        if name in TABLES:
            lines += [f"{name} = (\n", *rows, ")  # fmt: skip\n"]
        header += [f"constexpr double {name}[] = {{\n", *rows, "};\n"]
        print(name, len(numbers))
    pairs = {order: [two_parts(z) for z in zeros(order)] for order in (0, 1)}
    lines.append(f"ZEROS = (\n    {tuple(pairs[0])},\n    {tuple(pairs[1])},\n)  # fmt: skip\n")
    shown = [", ".join(f"{{{high}, {low}}}" for high, low in pairs[order]) for order in (0, 1)]
    header.append("constexpr double ZEROS[2][2][2] = {\n")
    header += [f"    {{{each}}},\n" for each in shown]
    header.append("};\n")
    high, low = two_parts(EI_ZERO)
    header.append(f"constexpr double EI_ZERO[2] = {{{high}, {low}}};\n")
    header.append("\n}  // namespace penstock::tables\n")
    TARGET.write_text("".join(lines))
    HEADER.write_text("".join(header))


if __name__ == "__main__":
    main()
