"""Scatters and segments of the largest and smallest: which NaN and which zero stays."""

import numpy as np
import pytest

import penstock as tf
from penstock.core.lazy import jax, jnp
from penstock.ops.extremes import least_and_greatest
from penstock.ops.positions import first_false

NAN, INF = np.nan, np.inf
VALUES = np.array([NAN, 0.0, -0.0, 1.0, -1.0, INF, -INF])
CHANCES = [0.1, 0.25, 0.25, 0.1, 0.2, 0.05, 0.05]
COUNT = 4  # rows and segments
DTYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16]


@pytest.fixture(params=["1", "0"], autouse=True)
def native(request, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", request.param)


def is_beyond(kind, x, y):
    with np.errstate(invalid="ignore"):  # a bfloat16 that is NaN
        return x > y if kind == "Max" else x < y


def raised(kind, x, ids, updates):
    """An update takes an element's place where it is beyond it."""
    x = x.copy()
    for row, update in zip(ids, updates, strict=True):
        x[row] = np.where(is_beyond(kind, update, x[row]), update, x[row])
    return x


def by_id(kind, start, ids, rows):
    """What is there stays where it is beyond the next row."""
    start = start.copy()
    for row, new in zip(ids, rows, strict=True):
        start[row] = np.where(is_beyond(kind, start[row], new), start[row], new)
    return start


def assert_same_bits(found, want):
    found, want = (np.asarray(x).astype(np.float64) for x in (found, want))
    np.testing.assert_array_equal(found, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(want)[numbers])


def draws(dtype, width, rounds=12):
    random = np.random.default_rng(3)
    for number in random.integers(1, 12, rounds):
        shape = (number, *width)
        rows = random.choice(VALUES, shape, p=CHANCES).astype(dtype.as_numpy_dtype)
        x = random.choice(VALUES, (COUNT, *width)).astype(dtype.as_numpy_dtype)
        yield x, random.integers(0, COUNT, number).astype(np.int32), rows


def in_each_way(call, *arrays):
    """What a call gives eagerly, and from functions as their first runs and as compiled."""
    tensors = [tf.constant(a) for a in arrays]
    yield call(*tensors)
    functions = [tf.function(call), tf.function(call, jit_compile=True)]
    for function in functions:
        for _ in range(2):
            yield function(*tensors)


@pytest.mark.parametrize("width", [(), (3,)])
@pytest.mark.parametrize("kind", ["Max", "Min"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_scatters_eagerly(dtype, kind, width):
    """Refused are NaN, and of equal zeros the first stays; an old NaN stays, too."""
    for x, ids, updates in draws(dtype, width):
        want = raised(kind, x, ids, updates)
        scatter = getattr(tf.raw_ops, f"TensorScatter{kind}")
        assert_same_bits(scatter(tensor=x, indices=ids[:, None], updates=updates), want)
        variable = tf.Variable(x)
        getattr(variable, f"scatter_{kind.lower()}")(tf.IndexedSlices(updates, ids))
        assert_same_bits(variable, want)
        variable.assign(x)
        getattr(variable, f"scatter_nd_{kind.lower()}")(ids[:, None], updates)
        assert_same_bits(variable, want)


@pytest.mark.parametrize("kind", ["Max", "Min"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.bfloat16])
def test_scatters_in_functions(dtype, kind):
    def scattered(x, places, updates):
        op = getattr(tf.raw_ops, f"TensorScatter{kind}")
        return op(tensor=x, indices=places, updates=updates)

    for x, ids, updates in draws(dtype, (3,), 3):
        want = raised(kind, x, ids, updates)
        variable = tf.Variable(x)

        def changed(x, ids, updates, variable=variable):
            variable.assign(x)
            getattr(variable, f"scatter_{kind.lower()}")(tf.IndexedSlices(updates, ids))
            first = variable.read_value()
            variable.assign(x)
            getattr(variable, f"scatter_nd_{kind.lower()}")(ids[:, None], updates)
            return tf.stack([first, variable.read_value()])

        for found in in_each_way(scattered, x, ids[:, None], updates):
            assert_same_bits(found, want)
        for found in in_each_way(changed, x, ids, updates):
            assert_same_bits(found, [want, want])


@pytest.mark.parametrize("kind", ["Max", "Min"])
def test_scatters_into_references(kind):
    v1 = tf.compat.v1
    for x, ids, updates in draws(tf.float32, (2,), 4):
        want = raised(kind, x, ids, updates)
        with tf.Graph().as_default(), v1.Session() as session:
            variable = v1.Variable(x, use_resource=False)
            change = getattr(v1, f"scatter_{kind.lower()}")(variable, ids, updates)
            session.run(variable.initializer)
            assert_same_bits(session.run(change), want)


@pytest.mark.parametrize("kind", ["Max", "Min"])
def test_updates_of_the_whole_tensor(kind):
    x = np.array([NAN, 0.0, -0.0, -1.0], np.float32)
    updates = np.array([[1, -0.0, 0.0, NAN], [NAN, NAN, NAN, 0.0], [0, 0, 0, -0.0]], np.float32)
    want = raised(kind, x[None], [0, 0, 0], updates)[0]
    places = np.zeros((3, 0), np.int32)
    op = getattr(tf.raw_ops, f"TensorScatter{kind}")

    def call(x, places, updates):
        return op(tensor=x, indices=places, updates=updates)

    for found in in_each_way(call, x, places, updates):
        assert_same_bits(found, want)


@pytest.mark.parametrize("width", [(), (3,)])
@pytest.mark.parametrize("kind", ["Max", "Min"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_segments_eagerly(dtype, kind, width):
    """What is before the last NaN is hidden, and of equal zeros the last stays."""
    far = -INF if kind == "Max" else INF
    finite = dtype.min if kind == "Max" else dtype.max
    for _, ids, rows in draws(dtype, width):
        start = np.full((COUNT, *width), finite, rows.dtype)
        op = getattr(tf.raw_ops, f"UnsortedSegment{kind}")
        found = op(data=rows, segment_ids=ids, num_segments=COUNT)
        assert_same_bits(found, by_id(kind, start, ids, rows))
        ids = np.sort(ids)
        start = np.full((ids[-1] + 1, *width), far, rows.dtype)
        want = by_id(kind, start, ids, rows)
        want[~np.isin(np.arange(len(want)), ids)] = 0
        found = getattr(tf.raw_ops, f"Segment{kind}")(data=rows, segment_ids=ids)
        assert_same_bits(found, want)


@pytest.mark.parametrize("kind", ["Max", "Min"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.bfloat16])
def test_segments_in_functions(dtype, kind):
    op = getattr(tf.raw_ops, f"UnsortedSegment{kind}")
    for _, ids, rows in draws(dtype, (3,), 3):
        finite = dtype.min if kind == "Max" else dtype.max
        ids[0] = -1  # left out
        start = np.full((COUNT, 3), finite, rows.dtype)
        want = by_id(kind, start, ids[1:], rows[1:])

        def call(rows, ids):
            return op(data=rows, segment_ids=ids, num_segments=COUNT)

        for found in in_each_way(call, rows, ids):
            assert_same_bits(found, want)


@pytest.mark.parametrize("kind", ["Max", "Min"])
@pytest.mark.parametrize("odd", [[], [NAN], [-0.0, 0.0]])
def test_long_segments(kind, odd):
    """Longer ones than what is compared side by side."""
    rows = -np.arange(1, 200, dtype=np.float32) if kind == "Max" else np.arange(1.0, 200.0)
    rows = rows.astype(np.float32)
    rows[50 : 50 + len(odd)] = odd
    ids = np.zeros(len(rows), np.int32)
    far = np.array([-INF if kind == "Max" else INF], np.float32)
    found = getattr(tf.raw_ops, f"Segment{kind}")(data=rows, segment_ids=ids)
    assert_same_bits(found, by_id(kind, far, ids, rows))


def test_largest_of_sparse_elements():
    for _, ids, rows in draws(tf.float32, ()):
        want = np.zeros(COUNT, np.float32)
        present = np.unique(ids)
        want[present] = by_id("Max", np.full(COUNT, -INF, np.float32), ids, rows)[present]
        places = np.stack([np.arange(len(ids)), ids], 1).astype(np.int64)

        def call(places, rows):
            return tf.raw_ops.SparseReduceMax(
                input_indices=places, input_values=rows, input_shape=[12, COUNT], reduction_axes=[0]
            )

        for found in in_each_way(call, places, rows):
            assert_same_bits(found, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_clipping_with_any_bounds(dtype):
    """What is above the upper bound, then below the lower one, is replaced; all else stays."""
    x = np.tile(VALUES, 3).astype(dtype.as_numpy_dtype)
    bounds = [(low, high) for low in VALUES for high in VALUES]

    def call(x, low, high):
        return tf.raw_ops.ClipByValue(t=x, clip_value_min=low, clip_value_max=high)

    functions = [call, tf.function(call), tf.function(call, jit_compile=True)]
    for low, high in np.array(bounds).astype(x.dtype):
        want = np.where(is_beyond("Max", x, high), high, x)
        want = np.where(is_beyond("Min", want, low), low, want)
        for given in ((low, high), (np.full_like(x, low), np.full_like(x, high))):
            for function in functions:
                assert_same_bits(function(tf.constant(x), *map(tf.constant, given)), want)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint16])
@pytest.mark.parametrize("shape", [(1,), (7,), (33, 500)])
def test_least_and_greatest_at_once(shape, dtype):
    bounds = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    for given in (x, np.full(shape, bounds.min, dtype), np.full(shape, bounds.max, dtype)):
        with jax.enable_x64(True):
            found = jax.jit(least_and_greatest)(given)
        for one, wanted in zip(map(np.asarray, found), (given.min(), given.max()), strict=True):
            assert (one, one.dtype) == (wanted, dtype)


@pytest.mark.parametrize("number", [1, 5, 20_000])
def test_ranges_in_use_are_those_of_single_calls(number):
    x = np.random.default_rng(0).integers(-(2**31), 2**31, number).astype(np.int32)

    def used(x):
        return tf.raw_ops.RequantizationRange(input=x, input_min=-9.0, input_max=11.0)

    given = tf.bitcast(x, tf.qint32)
    for single, whole in zip(used(given), tf.function(used)(given), strict=True):
        assert single.numpy() == whole.numpy()


@pytest.mark.parametrize("xp", [np, jnp])
def test_the_first_that_is_false(xp):
    ok = np.ones(3000, bool)
    for wrong in ([], [2999], [40, 7, 2999], [0]):
        ok[wrong] = False
        found, first = (
            first_false(xp, ok) if xp is np else jax.jit(lambda x: first_false(jnp, x))(ok)
        )
        assert bool(found) is (not wrong)
        assert not wrong or first == min(wrong)
        ok[:] = True
