"""Random numbers with the native library: the same as without it."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_random
from penstock.ops import random_between, random_philox, random_rejection
from penstock.ops.random_philox import Stream
from penstock.ops.random_stateful import categories, permutation
from penstock.types import dtypes

COUNT = 3000
PLACES = np.arange(COUNT, dtype=np.uint64) * np.uint64(3)
STREAM = Stream(np.uint64(2**63 + 5), np.uint64(2**64 - 700), np.uint64(9))  # its counter carries
RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def needs_the_library():
    if not native_random.LIBRARY.is_in_use():
        pytest.skip("no native random numbers here")


def both(make):
    """What `make()` gives with the library, and what without."""
    with np.errstate(all="ignore"):
        found = make()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
            return found, make()


def assert_near(make, tolerance):
    found, wanted = both(make)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("count", [0, 1, 4, 7, 1001])
def test_words_and_blocks_are_the_same(count):
    np.testing.assert_array_equal(*both(lambda: random_philox.words(np, STREAM, count)))
    np.testing.assert_array_equal(*both(lambda: random_philox.word_pairs(np, STREAM, count)))
    places = PLACES[:count] << np.uint64(40)
    np.testing.assert_array_equal(*both(lambda: random_philox.blocks(np, STREAM, places)))
    np.testing.assert_array_equal(*both(lambda: permutation(STREAM, count)))


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64, dtypes.float16])
@pytest.mark.parametrize("count", [0, 5, 4001])
def test_truncated_normal_numbers(dtype, count):
    tolerance = {2: 2e-3, 4: 2e-6, 8: 1e-13}[dtype.size]
    assert_near(lambda: random_philox.truncated_normal(np, STREAM, (count,), dtype), tolerance)


def test_gamma_and_poisson_numbers():
    shapes = RNG.uniform(0.05, 30, COUNT)
    shapes[:6] = [1, 0, -1, np.nan, np.inf, 1e-3]
    assert_near(lambda: random_rejection.gamma_on(STREAM, PLACES, shapes), 1e-12)
    rates = RNG.uniform(0, 40, COUNT)
    rates[:6] = [0, 10, -1, np.nan, np.inf, 1e12]
    most = float(2**31 - 1)
    rates[5] = 1e6
    found, wanted = both(lambda: random_rejection.poisson_on(STREAM, PLACES, rates, most))
    np.testing.assert_array_equal(found, wanted)


def test_binomial_numbers():
    trials, probs = RNG.integers(0, 200, 200) * 1.0, RNG.uniform(0, 1, 200)
    trials[:3], probs[:5] = [-1, np.nan, 5], [0.5, 0.5, np.nan, 0, 1]
    found, wanted = both(
        lambda: random_rejection.binomial_on(STREAM, (7, 200), trials, probs, dtypes.float64)
    )
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("bounds", [(-1, 1), (2, 3), (2, np.inf), (-np.inf, -4), (-50, 50)])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
def test_normal_numbers_between_bounds(bounds, dtype):
    rows = np.array([[mean, 1.5, *bounds] for mean in (-0.4, 0.0, 0.4)])
    near = 1e-12 if dtype is dtypes.float64 else 1e-5
    assert_near(lambda: random_between.between_on(STREAM, rows, 600, dtype), near)


def test_many_numbers_by_several_threads_are_those_of_few():
    whole = tf.random.stateless_gamma([9000], [1, 2], alpha=0.7, dtype=tf.float64)
    again = tf.random.stateless_gamma([9000], [1, 2], alpha=0.7, dtype=tf.float64)
    part = tf.random.stateless_gamma([30], [1, 2], alpha=0.7, dtype=tf.float64)
    np.testing.assert_array_equal(whole, again)
    np.testing.assert_array_equal(whole[:30], part)


@pytest.mark.parametrize("size", [7, 8, 2**62 + 1])
def test_candidates_drawn_at_once_are_those_drawn_one_by_one(size):
    from penstock.ops import nn_candidate_samplers as samplers

    for stream in (STREAM, Stream(np.uint64(1), np.uint64(0), np.uint64(0))):
        distribution = samplers.Uniform(size)
        found = distribution.draw_many(samplers.Words(stream), 300)
        source = samplers.Words(stream)
        assert [int(each) for each in found] == [distribution.draw(source) for _ in range(300)]


SHAPES = [(), (0,), (1,), (7,), (3, 5), (257,)]
LAST = Stream(np.uint64(2**64 - 3), np.uint64(2**64 - 1), np.uint64(2**64 - 2))


def same_both_ways(make):
    found, wanted = both(make)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("draw", [random_philox.uniform, random_philox.normal])
def test_draws_have_the_bits_of_numpy(draw, dtype, shape):
    for stream in (STREAM, LAST):
        same_both_ways(lambda s=stream: draw(np, s, shape, tf.as_dtype(dtype)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_whole_numbers_have_the_bits_of_numpy(dtype, shape):
    kind = tf.as_dtype(dtype)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for stream in (STREAM, LAST):
        same_both_ways(lambda s=stream: random_philox.full_integers(np, s, shape, kind))
        for low, high in ((0, 100), (least, most), (most - 5, most), (3, 4)):
            bounds = np.array(low, dtype), np.array(high, dtype)
            same_both_ways(
                lambda s=stream, b=bounds: random_philox.integers(np, s, shape, *b, kind)
            )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_classes_are_those_of_numpy(dtype):
    logits = np.random.default_rng(3).standard_normal((6, 9)) * 4
    plain = [logits, logits[:, :1], logits[:0], logits * 300]
    if dtype.startswith("float"):
        holes = logits.copy()
        holes[0], holes[1, 2], holes[2, 8], holes[3] = -np.inf, np.nan, np.inf, np.nan
        plain.append(holes)
    for given in plain:
        for samples in (0, 1, 40):
            with np.errstate(over="ignore"):
                rows = given.astype(dtype)
            for kind in ("int32", "int64"):
                same_both_ways(
                    lambda r=rows, n=samples, k=kind: categories(np, STREAM, r, n, tf.as_dtype(k))
                )


def test_streams_of_seeds_are_those_of_numpy():
    for seed in ([1, 2], [-1, -(2**31)], [2**31 - 1, 0]):
        for dtype in (np.int32, np.int64):
            given = np.array(seed, dtype)
            found = both(lambda g=given: random_philox.stream_of_seed_pair(np, g))
            assert [int(x) for x in found[0]] == [int(x) for x in found[1]]
