"""Functions of jax.numpy that are traced as those of jax.lax: the same code, in half the time."""

import numpy as np
import pytest

from penstock.core.lazy import jax, jnp, wide_types
from penstock.ops.factories import PRIMITIVES, jnp_function

DTYPES = ["float32", "bfloat16", "int32", "complex64"]
ONE_ARRAY = ("negative", "exp", "log", "sqrt", "tanh")
ORDERED = ("maximum", "minimum", "less", "less_equal", "greater", "greater_equal")
SHAPES = [((3, 4), (3, 4)), ((3, 4), ()), ((), (3, 4)), ((), ()), ((0,), ())]
OTHERS = [((3, 4), (4,)), ((3, 1), (4,))]  # these are left to jax.numpy


def fits(name, dtype):
    """Whether an operation takes this dtype."""
    if dtype.startswith(("int", "uint")):
        return name != "true_divide" and (name == "negative" or name not in ONE_ARRAY)
    return not (dtype.startswith("complex") and name in ORDERED)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_primitive_gives_what_the_function_gives(name, dtype) -> None:
    if not fits(name, dtype):
        pytest.skip("no operation has this dtype")
    rng = np.random.default_rng(0)
    count = 1 if name in ONE_ARRAY else 2
    shapes = [each[:count] for each in SHAPES + OTHERS]
    values = [[rng.uniform(1, 9, s).astype(jnp.dtype(dtype)) for s in each] for each in shapes]
    for known in (None, *range(1, count)):  # one may be a constant, as regions hold it
        pairs = zip(*(_compiled(f(name), values, known) for f in FUNCTIONS), strict=True)
        for found, wanted in pairs:
            assert (found.dtype, found.weak_type) == (wanted.dtype, wanted.weak_type)
            np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


FUNCTIONS = (jnp_function, lambda name: getattr(jnp, name))


def _compiled(function, values, known):
    """What a compiled function gives for each row; values at `known` are constants of it."""

    def run(given):
        rows = zip(values, given, strict=True)
        return [
            function(*[v if i == known else g for i, (v, g) in enumerate(zip(*row, strict=True))])
            for row in rows
        ]

    with wide_types():
        return jax.jit(run)(values)
