"""Native products beside float64, for every instruction set that this processor has."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.core import native, products
from penstock.core.lazy import jax, jnp

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")
SETS = ("avx512", "avx2", "neon", "plain")


@pytest.fixture(params=SETS)
def instructions(request):
    library = native.state().library
    before = library.penstock_isa()
    if not library.penstock_use_isa(request.param.encode()):
        pytest.skip(f"this processor has no {request.param}")
    yield request.param
    library.penstock_use_isa(before)


def product(a, b, adj_a=False, adj_b=False):
    call = jax.jit(lambda a, b: products.product(a, b, adj_a, adj_b))
    return np.asarray(call(jnp.asarray(a), jnp.asarray(b)))


def reference(a, b, adj_a=False, adj_b=False):
    a, b = (x.astype(np.float64) for x in (a, b))
    return np.matmul(np.swapaxes(a, -1, -2) if adj_a else a, np.swapaxes(b, -1, -2) if adj_b else b)


def operands(m, n, k, adj_a, adj_b, batch_a=(), batch_b=(), seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(*batch_a, *((k, m) if adj_a else (m, k)))).astype(np.float32)
    b = rng.normal(size=(*batch_b, *((n, k) if adj_b else (k, n)))).astype(np.float32)
    return a, b


def check(found, wanted, k):
    """Sums of k products of numbers about 1: the rounding of float32 a term, at worst."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=6e-8 * 8 * k + 1e-6)


SHAPES = [
    (1, 33, 5), (13, 16, 7), (14, 17, 9), (15, 32, 256), (29, 33, 257), (141, 65, 512),
    (300, 10, 40),
]  # fmt: skip


@pytest.mark.parametrize("adj", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_products_of_many_shapes(instructions, adj):
    for shape in SHAPES:
        a, b = operands(*shape, *adj)
        check(product(a, b, *adj), reference(a, b, *adj), shape[2])


@pytest.mark.parametrize(
    ("batch_a", "batch_b"),
    [
        ((3,), (3,)),
        ((3,), ()),
        ((2, 3), (1, 1)),
        ((2, 1), (3,)),
        ((2, 1, 2), (2, 3, 1)),
        ((1,), (5,)),
        ((9,), (9,)),
    ],
)
def test_leading_axes_are_repeated(instructions, batch_a, batch_b):
    a, b = operands(20, 36, 18, False, True, batch_a, batch_b)
    check(product(a, b, False, True), reference(a, b, False, True), 18)


sizes = st.integers(1, 70)


@settings(max_examples=15, deadline=None)
@given(sizes, sizes, sizes, st.booleans(), st.booleans(), st.integers(0, 2**31))
def test_random_shapes(m, n, k, adj_a, adj_b, seed):
    a, b = operands(m, n, k, adj_a, adj_b, seed=seed)
    check(product(a, b, adj_a, adj_b), reference(a, b, adj_a, adj_b), k)


def test_not_a_number_and_infinity_stay_where_they_belong(instructions):
    a, b = operands(33, 37, 29, False, False)
    a[3, 5], b[7, 11] = np.nan, np.inf
    found, wanted = product(a, b), reference(a, b)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))
    usual = np.isfinite(wanted)
    check(found[usual], wanted[usual], 29)


def test_the_same_bits_every_time(instructions):
    a, b = operands(150, 130, 600, False, True, (4,), (4,))
    first = product(a, b, False, True)
    for _ in range(3):
        np.testing.assert_array_equal(product(a, b, False, True), first)


@pytest.fixture
def calls(monkeypatch):
    """The functions of the library that are called while the test compiles."""
    made, call = [], native.call
    monkeypatch.setattr(
        native, "call", lambda name, *rest, **attrs: made.append(name) or call(name, *rest, **attrs)
    )
    return made


def run(function, *arguments):
    return tf.function(function)(*map(tf.constant, arguments))


def test_functions_call_them_and_so_do_gradients(calls):
    a, b = operands(64, 96, 128, False, False, (3,), (3,))

    def loss(a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            value = tf.reduce_sum(tf.matmul(a, b) ** 2)
        return tape.gradient(value, [a, b])

    by_a, by_b = run(loss, a, b)
    assert calls == ["product"] * 3
    twice = 2 * reference(a, b)
    np.testing.assert_allclose(by_a, twice @ np.swapaxes(b, -1, -2), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(by_b, np.swapaxes(a, -1, -2) @ twice, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((0, 500), (500, 600)), ((500, 0), (0, 600)), ((500, 600), (600, 0)),
        ((4, 0, 600), (4, 600, 500)), ((0, 600, 600), (0, 600, 600)),
        ((1, 6000), (6000, 600)), ((8, 8), (8, 8)),
    ],
)  # fmt: skip
def test_empty_small_and_vector_products_stay_with_xla(calls, a, b):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=a).astype(np.float32), rng.normal(size=b).astype(np.float32)
    found = run(tf.matmul, x, y).numpy()
    assert calls == []
    np.testing.assert_allclose(found, reference(x, y), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32])
def test_other_dtypes_stay_with_xla(calls, dtype):
    a = np.ones((100, 100), dtype)
    assert run(tf.matmul, a, a).numpy()[0, 0] == 100
    assert calls == []


@pytest.mark.parametrize(("in_axes", "a", "b"), [
    ((0, None), (5, 20, 30), (30, 40)), ((None, 0), (20, 30), (5, 30, 40)),
    ((0, 0), (5, 20, 30), (5, 30, 40)), ((0, 0), (5, 3, 20, 30), (5, 30, 40)),
    ((1, 0), (20, 5, 30), (5, 2, 30, 40)),
])  # fmt: skip
def test_mapped_products(in_axes, a, b):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=shape).astype(np.float32) for shape in (a, b))
    call = jax.jit(jax.vmap(lambda a, b: products.product(a, b, False, False), in_axes))
    wanted = jax.vmap(jnp.matmul, in_axes)(x, y)
    np.testing.assert_allclose(call(x, y), wanted, rtol=1e-4, atol=1e-4)
