"""What fuzzed calls of native kernels are drawn from, and how their results are compared.

`Draw` gives sizes at the edges of vectors and tiles (1, primes, multiples and one off), and arrays,
some with NaN and infinity in them. `check_sums` runs a call under every instruction set, each time
twice, and compares with sums in float64: within some units of float32 of the sum of sizes, the same
numbers NaN or infinite, the same bits the second time.
"""

import numpy as np
from tests.ops.native_checks import under_each

from penstock.core import native
from penstock.core.lazy import jax, jnp

SIZES = (1, 1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 31, 32, 33, 48, 61, 64, 65, 97)
SPECIAL = (np.nan, np.inf, -np.inf)
UNIT = 2.0**-24  # half a unit of the last place of float32


class Draw:
    """A source of sizes and arrays; the same seed gives the same."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def size(self, most=97, least=1):
        return int(self.rng.choice([n for n in SIZES if least <= n <= most]))

    def often(self, chance=0.5):
        return bool(self.rng.random() < chance)

    def one(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def floats(self, *shape, special=0.0):
        """Normal numbers; with this chance a few of them are NaN or infinite."""
        found = self.rng.normal(size=shape).astype(np.float32)
        if found.size and self.often(special):
            for place in self.rng.integers(found.size, size=2):
                found.flat[place] = self.one(*SPECIAL)
        return found


def result(shape, dtype=np.float32):
    return jax.ShapeDtypeStruct(tuple(shape), dtype)


def compiled(function, results, *arrays, **attrs):
    """A call of a function of the library on these arrays, without arguments; gives a list."""
    run = jax.jit(lambda *given: native.call(function, results, *given, **attrs))

    def call():
        with jax.enable_x64(True):
            return [np.asarray(a) for a in jax.tree.leaves(run(*map(jnp.asarray, arrays)))]

    return call


def each(run, sets=under_each):
    """What a call gives under every instruction set; each time it is made twice, for one result."""
    for found in sets(lambda: (run(), run())):
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one, other)
        yield found[0]


def assert_near(found, wanted, size, units):
    """Where it is finite within `units` of `size`; elsewhere the same kind of number."""
    assert found.shape == wanted.shape
    usual = np.isfinite(wanted) & np.isfinite(size)
    kinds = ~np.isfinite(wanted)
    np.testing.assert_array_equal(np.isnan(found)[kinds], np.isnan(wanted)[kinds])
    np.testing.assert_array_equal(np.isfinite(found)[usual], True)
    error = np.abs(found.astype(np.float64) - wanted)[usual]
    assert (error <= units * UNIT * size[usual] + 1e-37).all(), (error.max(), units)


def check_sums(run, wanted, sizes, depth):
    """Sums of `depth` products: four of them are rounded together, errors go either way."""
    for found in each(run):
        for got, right, size in zip(found, wanted, sizes, strict=True):
            assert got.dtype == np.float32
            assert_near(got, right, size, 8 + 2 * np.sqrt(depth))
