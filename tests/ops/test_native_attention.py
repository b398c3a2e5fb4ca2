"""Attention and its gradients by the native kernels, beside float64 and the plain kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core import native
from penstock.core.execute import execute
from penstock.core.lazy import jax, jnp
from penstock.ops.kernels import cpu_attention as cpu

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")


@pytest.fixture(params=("avx512", "avx2", "neon", "plain"))
def instructions(request):
    library = native.state().library
    before = library.penstock_isa()
    if not library.penstock_use_isa(request.param.encode()):
        pytest.skip(f"this processor has no {request.param}")
    yield request.param
    library.penstock_use_isa(before)


class Context:
    """What the kernels ask of a trace."""

    def __init__(self, **attrs):
        self.attrs = {"divides": False, "low": -1e9, "interleaved": False, **attrs}


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def operands(lead, queries, keys, depth, width, seed=0):
    """Queries, keys, values and the gradient of the output."""
    shapes = ((queries, depth), (keys, depth), (keys, width), (queries, width))
    return [draw(*lead, *shape, seed=seed + i) for i, shape in enumerate(shapes)]


def run(query, key, value, grad, scale=(), mask=(), **attrs):
    """The output and the three gradients, by the native kernels."""
    context, mask = Context(**attrs), [jnp.asarray(m) for m in mask]
    scale = [jnp.float32(s) for s in scale]

    def both(query, key, value, grad):
        output, statistics = cpu.attention(context, query, key, value, scale, mask)
        held = (query, key, value, scale, mask, statistics, grad)
        return (output, *cpu.attention_grad(context, *held))

    return [np.asarray(x) for x in jax.jit(both)(query, key, value, grad)]


def reference(query, key, value, grad, scale=(), mask=(), low=-1e9, divides=False, **_):
    """The same in float64, by hand."""
    q, k, v, g = (x.astype(np.float64) for x in (query, key, value, grad))
    factor = 1.0 if not scale else 1 / scale[0] if divides else scale[0]
    scores = q @ np.swapaxes(k, -1, -2) * factor
    chosen = mask[0] if mask and mask[0].dtype == bool else np.bool_(True)
    if mask and mask[0].dtype != bool:
        scores = scores + mask[0]
    scores = np.where(chosen, scores, np.float32(low))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    by_weights = g @ np.swapaxes(v, -1, -2)
    by_scores = (by_weights - (by_weights * weights).sum(-1, keepdims=True)) * weights
    by_scores = np.where(chosen, by_scores, 0) * factor
    return (
        weights @ v,
        by_scores @ k,
        np.swapaxes(by_scores, -1, -2) @ q,
        np.swapaxes(weights, -1, -2) @ g,
    )


def check(found, wanted):
    """Within some units of the last place of sums of numbers about 1."""
    for got, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=2e-5, atol=1e-5)


CAUSAL = np.tril(np.ones((70, 70), bool))
MASKS = {
    "none": (),
    "causal": (CAUSAL,),
    "for each head": (np.random.default_rng(1).random((2, 3, 70, 70)) < 0.7,),
    "of keys": (np.random.default_rng(1).random((2, 1, 1, 70)) < 0.5,),
    "of rows": (np.arange(70)[:, None] < 65,),
    "of keys alone": (np.arange(70) % 3 < 2,),
    "added": (draw(70, 70, seed=9),),
    "added to a batch": (
        np.where(np.arange(70) < 50, 0, -1e9).astype(np.float32)[None, None, None],
    ),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("interleaved", [False, True])
def test_masks(instructions, name, interleaved):
    arrays = operands((2, 3), 70, 70, 20, 36)
    attrs = {"scale": (4.0,), "mask": MASKS[name], "divides": True, "interleaved": interleaved}
    check(run(*arrays, **attrs), reference(*arrays, **attrs))


@pytest.mark.parametrize("low", [-1e9, 0.25, 1.5, float(np.finfo(np.float32).min)])
def test_what_a_mask_puts_in_place_of_scores(instructions, low):
    """Also where it is not below them all, and for rows without a column that is kept."""
    arrays = operands((3,), 40, 50, 8, 8)
    mask = np.random.default_rng(2).random((40, 50)) < 0.3
    mask[5] = False
    check(run(*arrays, mask=(mask,), low=low), reference(*arrays, mask=(mask,), low=low))


sizes = st.integers(1, 90)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(sizes, sizes, sizes, sizes, st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_random_shapes(queries, keys, depth, width, batch, masked, seed):
    arrays = operands((batch,), queries, keys, depth, width, seed)
    mask = (np.random.default_rng(seed).random((queries, keys)) < 0.6,) if masked else ()
    attrs = {"scale": (depth**-0.5,), "mask": mask}
    check(run(*arrays, **attrs), reference(*arrays, **attrs))


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_not_a_number_and_infinity_go_where_the_plain_kernels_put_them(place, number):
    """Zero weights do not hide them: 0 * infinity is NaN, in masked columns too."""
    arrays = operands((4,), 70, 70, 16, 16)
    arrays[place][1, 40, 3] = number
    attrs = {"low": -1e9, "divides": False}
    found = run(*arrays, mask=(CAUSAL,), **attrs)
    inputs = (*arrays[:3], [], [CAUSAL])
    output, statistics = execute("PenstockAttention", inputs, attrs)
    wanted = [output, *execute("PenstockAttentionGrad", (*inputs, statistics, arrays[3]), attrs)]
    for got, right in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(right.numpy()))
        usual = np.isfinite(right.numpy())
        np.testing.assert_allclose(got[usual], right.numpy()[usual], rtol=1e-4, atol=1e-5)


def test_scores_of_minus_infinity_alone_are_no_numbers():
    arrays = operands((2,), 30, 33, 8, 8)
    mask = np.ones((30, 33), bool)
    mask[7] = False
    output, by_query, by_key, _ = run(*arrays, mask=(mask,), low=-np.inf)
    assert np.isnan(output[:, 7]).all()
    assert not np.isnan(np.delete(output, 7, axis=1)).any()
    assert not np.isnan(by_query).any()  # a mask's gradient is zero where it chose another number
    assert not np.isnan(by_key).any()


def test_the_same_bits_every_time():
    arrays = operands((2, 2), 100, 100, 64, 64)
    first = run(*arrays, mask=(np.tril(np.ones((100, 100), bool)),))
    for _ in range(3):
        again = run(*arrays, mask=(np.tril(np.ones((100, 100), bool)),))
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)


def test_mapped_calls():
    arrays = operands((5, 2), 20, 30, 8, 8)

    def one(query, key, value):
        return cpu.attention(Context(), query, key, value, [], [])[0]

    found = jax.jit(jax.vmap(one))(*arrays[:3])
    np.testing.assert_allclose(found, reference(*arrays)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [
        ((4, 0, 64), (4, 900, 64), (4, 900, 64)),
        ((4, 900, 64), (4, 0, 64), (4, 0, 64)),
        ((0, 900, 64), (0, 900, 64), (0, 900, 64)),
        ((4, 900, 0), (4, 900, 0), (4, 900, 64)),
        ((4, 900, 64), (1, 900, 64), (1, 900, 64)),
        ((4, 8, 8), (4, 8, 8), (4, 8, 8)),
        ((2, 90, 513), (2, 90, 513), (2, 90, 64)),
    ],
)
def test_what_stays_with_the_plain_kernels(query, key, value):
    shapes = (jax.ShapeDtypeStruct(shape, np.float32) for shape in (query, key, value))
    assert not cpu._is_worth_a_call({"K": 0, "N": 0}, *shapes)
