"""Random functions with random nested signatures give what Python gives.

Values, structure and dtypes agree for the eager call, the function, one with `reduce_retracing`, a
function inside another, and the concrete function; the structure that comes out is the one built.
"""

import collections

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.util import nest

Point = collections.namedtuple("Point", "x y")
SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

shapes = st.sampled_from([(), (1,), (3,), (2, 3), (0,)])
dtypes = st.sampled_from([np.float32, np.int32, np.float64, np.bool_])


@st.composite
def tensors(draw):
    array = np.arange(draw(st.integers(0, 3)), 1000)[: int(np.prod(shape := draw(shapes)))]
    return tf.constant(array.reshape(shape).astype(draw(dtypes)))


leaves = st.one_of(
    tensors(),
    st.integers(-3, 3),
    st.floats(-2, 2, width=16),
    st.sampled_from([None, True, "text", np.float32(2.0)]),
    st.builds(lambda n: tf.SparseTensor([[n]], [float(n)], [n + 1]), st.integers(0, 3)),
)
nests = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.builds(Point, inner, inner),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ),
    max_leaves=5,
)
calls = st.tuples(
    st.lists(nests, max_size=3), st.dictionaries(st.sampled_from(["k", "m"]), nests, max_size=2)
)


def _double(value):
    """A leaf of the result: tensors and numbers doubled, of their own dtype."""
    if isinstance(value, tf.SparseTensor):
        return tf.SparseTensor(value.indices, value.values * 2.0, value.dense_shape)
    if value is None or isinstance(value, str):
        return None
    if isinstance(value, (bool, int, float, np.generic)) or value.dtype != tf.bool:
        return value + value
    return tf.logical_not(value)


def program(*args, k=1.5, **rest):
    return {"args": list(args), "k": k, "rest": rest, "n": len(args)}


def doubled(*args, **kwargs):
    return nest.map_structure(_double, program(*args, **kwargs))


def _same(got, wanted):
    nest.assert_same_structure(got, wanted, expand_composites=True)
    flat = [nest.flatten(v, expand_composites=True) for v in (got, wanted)]
    for a, b in zip(*flat, strict=True):
        if b is None:
            assert a is None
            continue
        b = tf.convert_to_tensor(b)
        assert isinstance(a, tf.Tensor)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@SETTINGS
@given(calls)
def test_a_function_gives_what_python_gives(call) -> None:
    args, kwargs = call
    wanted = doubled(*args, **kwargs)
    staged = tf.function(doubled, autograph=False)
    _same(staged(*args, **kwargs), wanted)
    _same(staged(*args, **kwargs), wanted)
    assert staged.experimental_get_tracing_count() == 1
    outer = tf.function(lambda: staged(*args, **kwargs), autograph=False)
    _same(outer(), wanted)
    concrete = staged.get_concrete_function(*args, **kwargs)
    assert staged.experimental_get_tracing_count() <= 2
    _same(concrete(*args, **kwargs), wanted)


relaxed = tf.function(doubled, autograph=False, reduce_retracing=True)


@SETTINGS
@given(calls)
def test_so_does_one_that_relaxes_its_signatures(call) -> None:
    args, kwargs = call
    _same(relaxed(*args, **kwargs), doubled(*args, **kwargs))


@SETTINGS
@given(calls, st.data())
def test_two_calls_share_a_trace_only_if_they_may(call, data) -> None:
    args, kwargs = call
    other = data.draw(st.lists(nests, min_size=len(args), max_size=len(args)))
    staged = tf.function(doubled, autograph=False)
    for given_args in (args, other, args):
        _same(staged(*given_args, **kwargs), doubled(*given_args, **kwargs))
    assert staged.experimental_get_tracing_count() <= 2
