"""Operations that have a faster way for few or many elements: the same on both."""

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(8)
raw = tf.raw_ops


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("count", [2, 1 << 14, (1 << 14) + 1, 100_001])
def test_lin_space_in_blocks(dtype, count):
    start, stop = np.asarray(-3.7, dtype), np.asarray(11.3, dtype)
    wide = np.float32 if dtype == "float16" else np.dtype(dtype)
    expected = np.arange(count, dtype=wide)
    expected *= (stop.astype(wide) - start.astype(wide)) / np.asarray(count - 1, wide)
    expected += start.astype(wide)
    expected[0], expected[-1] = start, stop
    found = raw.LinSpace(start=start, stop=stop, num=count)
    np.testing.assert_array_equal(found, expected.astype(dtype))


def test_bucketize_by_comparison_and_by_search():
    x = np.array([np.nan, np.inf, -np.inf, -1, 0, 0.5, 0.49999, 1, 2], np.float32)
    for boundaries in ([-1.0, 0.0, 0.5, 0.5, 1.0], [], [i / 20 for i in range(40)]):
        expected = np.searchsorted(np.array(boundaries), x.astype(np.float64), "right")
        compiled = tf.function(
            lambda x, b=boundaries: raw.Bucketize(input=x, boundaries=b), jit_compile=True
        )
        found = raw.Bucketize(input=x, boundaries=boundaries)
        np.testing.assert_array_equal(compiled(x), found)
        if boundaries:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("indices", ["int32", "int64"])
def test_gather_nd_of_positions_inside_and_outside(indices):
    params = RNG.normal(size=(3, 4, 2))
    for depth in (1, 2, 3):
        places = RNG.integers(0, params.shape[:depth], (5, 2, depth)).astype(indices)
        expected = params[tuple(np.moveaxis(places, -1, 0))]
        np.testing.assert_array_equal(raw.GatherNd(params=params, indices=places), expected)
        for axis in range(depth):
            for wrong in (-1, params.shape[axis]):
                places = np.zeros((4, depth), indices)
                places[2, axis] = wrong
                with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[2\]"):
                    raw.GatherNd(params=params, indices=places)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "bool", "string"])
def test_list_diff_of_few_and_many(dtype):
    for size in (3, 500):
        if dtype == "string":
            x, y = (np.array([b"%d" % i for i in RNG.integers(0, 9, size)], object) for _ in "xy")
        else:
            x, y = (RNG.integers(0, 9, size).astype(dtype) for _ in "xy")
            if dtype == "float32":
                x[1], y[1] = np.nan, np.nan  # which equals nothing
                x[2], y[2] = 0.0, -0.0
        found = raw.ListDiff(x=x, y=y[:2])
        kept = [i for i, v in enumerate(x) if not any(v == w for w in y[:2])]
        np.testing.assert_array_equal(found.idx, kept)
        np.testing.assert_array_equal(found.out, x[kept])


@pytest.mark.parametrize("power", [-0.5, -0.3, 0.0])
@pytest.mark.parametrize("by_lr", [False, True])
def test_ftrl_takes_roots_and_other_powers(power, by_lr):
    found = []
    for compiled in (False, True):
        slots = [tf.Variable(np.linspace(0.1, 1.0, 7)) for _ in range(3)]

        def update(slots=slots):
            var, accum, linear = (s.handle for s in slots)
            raw.ResourceApplyFtrlV2(
                var=var, accum=accum, linear=linear, grad=tf.constant(np.linspace(-1, 1, 7)),
                lr=tf.constant(0.1, tf.float64), l1=tf.constant(0.01, tf.float64),
                l2=tf.constant(0.1, tf.float64), l2_shrinkage=tf.constant(0.1, tf.float64),
                lr_power=tf.constant(power, tf.float64), multiply_linear_by_lr=by_lr,
            )  # fmt: skip

        (tf.function(update, jit_compile=True) if compiled else update)()
        found.append([s.numpy() for s in slots])
    for eager, jit in zip(*found, strict=True):
        np.testing.assert_allclose(eager, jit, rtol=1e-12)
