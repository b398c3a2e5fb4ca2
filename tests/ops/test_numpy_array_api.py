"""The Array API standard on tf.experimental.numpy, beside array-api-strict where there is one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import penstock as tf
from penstock.ops import numpy_behavior

tnp = tf.experimental.numpy
strict = pytest.importorskip("array_api_strict")

FLOATS = """abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan
    log log10 log1p log2 negative positive reciprocal round sign signbit sin sinh sqrt square tan
    tanh trunc argmax argmin sum prod mean max min std var all any cumulative_sum cumulative_prod
    sort argsort flip matrix_transpose squeeze count_nonzero tril triu zeros_like ones_like
    unstack diff""".split()
PAIRS = """add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal
    logaddexp maximum minimum multiply nextafter not_equal remainder subtract vecdot matmul
    tensordot concat stack""".split()
BITS = """bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift pow
    floor_divide remainder isin""".split()
AXIS = {"argmax", "argmin", "cumulative_sum", "cumulative_prod", "unstack"}
NOT_FUNCTIONS = {"Device", "ArrayAPIStrictFlags", "__version__"}
# The last bits of these depend on the library of mathematics.
numbers = st.floats(-4, 4, width=32).filter(lambda v: v == 0 or abs(v) > 1e-3)
arrays = hnp.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 4)), elements=numbers)


def _same(found, expected, name):
    if isinstance(found, (list, tuple)):
        assert len(found) == len(expected)
        for left, right in zip(found, expected, strict=True):
            _same(left, right, name)
        return
    right = np.asarray(expected._array)
    assert found.dtype.name == right.dtype.name, name
    np.testing.assert_allclose(found, right, rtol=2e-5, atol=1e-5, err_msg=name)


def _call(module, name, *values):
    function = getattr(module, name)
    if name in ("concat", "stack"):
        return function(list(values))
    if name == "squeeze":
        return function(values[0][None, ...], axis=0)
    if name in AXIS:
        return function(*values, axis=0)
    if name == "tensordot":
        return function(*values, axes=((0, 1), (0, 1)))
    if name == "matmul":
        return function(values[0], module.matrix_transpose(values[1]))
    return function(*values)


def test_no_name_of_the_standard_is_missing():
    wanted = {n for n in strict.__all__ if "array_api_strict_flags" not in n} - NOT_FUNCTIONS
    assert wanted - set(dir(tnp)) == set()
    for name in wanted:
        getattr(tnp, name)


@settings(max_examples=3, deadline=None)
@given(arrays)
@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_floats(name, x):
    with np.errstate(all="ignore"):
        _same(_call(tnp, name, tf.constant(x)), _call(strict, name, strict.asarray(x)), name)


@settings(max_examples=3, deadline=None)
@given(arrays, st.randoms(use_true_random=False))
@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_pairs(name, x, random):
    y = np.float32([[random.choice([-2, -0.5, 1, 3]) for _ in row] for row in x])
    with np.errstate(all="ignore"):
        expected = _call(strict, name, strict.asarray(x), strict.asarray(y))
    _same(_call(tnp, name, tf.constant(x), tf.constant(y)), expected, name)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("name", BITS)
def test_functions_of_integers(name, dtype):
    x, y = np.array([1, 5, 7], dtype), np.array([3, 2, 1], dtype)
    expected = getattr(strict, name)(strict.asarray(x), strict.asarray(y))
    _same(getattr(tnp, name)(tf.constant(x), tf.constant(y)), expected, name)


@settings(max_examples=20, deadline=None)
@given(hnp.arrays(np.int64, st.integers(1, 8), elements=st.integers(0, 4)))
def test_sets(x):
    found = tnp.unique_all(tf.constant(x))
    values, inverse = np.asarray(found.values), np.asarray(found.inverse_indices)
    assert sorted(values) == sorted(set(x.tolist()))
    np.testing.assert_array_equal(values[inverse], x)
    np.testing.assert_array_equal(x[np.asarray(found.indices)], values)
    np.testing.assert_array_equal([np.sum(x == v) for v in values], found.counts)
    for value, index in zip(values, np.asarray(found.indices), strict=True):
        assert list(x).index(value) == index
    np.testing.assert_array_equal(tnp.unique_inverse(x).inverse_indices, inverse)
    np.testing.assert_array_equal(tnp.unique_counts(x).counts, found.counts)
    np.testing.assert_array_equal(tnp.unique_values(x), values)


def test_arguments_that_the_standard_adds():
    x = np.array([[3.0, 1.0, 2.0]])
    assert tnp.argmax(x, axis=1, keepdims=True).numpy().tolist() == [[0]]
    assert tnp.argmin(x, keepdims=True).numpy().tolist() == [[1]]
    assert tnp.sort(x, descending=True).numpy().tolist() == [[3, 2, 1]]
    assert tnp.argsort(x, descending=True, stable=True).numpy().tolist() == [[0, 2, 1]]
    assert tnp.std(x, correction=1).numpy() == 1
    assert tnp.var(x, correction=1).numpy() == 1
    assert tnp.cumulative_sum([1, 2], include_initial=True).numpy().tolist() == [0, 1, 3]
    assert tnp.searchsorted([1, 2, 3], [[2, 4]], side="right").numpy().tolist() == [[2, 3]]


def test_dtypes_and_shapes():
    assert tnp.isdtype(tf.float32, ("bool", "real floating"))
    assert not tnp.isdtype(np.int8, "unsigned integer")
    assert tnp.isdtype(tf.int8, tf.int8)
    assert tnp.can_cast(tf.int8, tf.int16)
    assert not tnp.can_cast(tf.int16, np.int8)
    assert tnp.broadcast_shapes((2, 1), (3,)) == (2, 3)
    assert tnp.astype([1.5], tf.int32).numpy().tolist() == [1]
    assert tnp.from_dlpack(np.arange(3.0)).numpy().tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="'number'"):
        tnp.isdtype(tf.int8, "number")


def test_information():
    info = tnp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.default_dtypes()["integral"] is tf.int64
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert info.default_device() in info.devices()


def test_tensors_name_their_namespace_once_they_behave_as_arrays():
    assert not hasattr(tf.constant(1), "__array_namespace__")
    tnp.experimental_enable_numpy_behavior()
    try:
        assert tf.constant(1).__array_namespace__() is tnp
        assert tf.constant([[1, 2]]).mT.shape == [2, 1]
        with pytest.raises(ValueError, match="'1999'"):
            tf.constant(1).__array_namespace__(api_version="1999")
    finally:
        numpy_behavior.restore()


MAKERS = {
    "arange": lambda **o: tnp.arange(3, **o),
    "asarray": lambda **o: tnp.asarray([1.0], **o),
    "asarray of a tensor": lambda **o: tnp.asarray(tf.constant([1.0]), **o),
    "astype": lambda **o: tnp.astype(tf.constant([1.0]), np.float32, **o),
    "empty": lambda **o: tnp.empty(2, **o),
    "empty_like": lambda **o: tnp.empty_like([1], **o),
    "eye": lambda **o: tnp.eye(2, **o),
    "from_dlpack": lambda **o: tnp.from_dlpack(np.ones(2), **o),
    "full": lambda **o: tnp.full(2, 3, **o),
    "full_like": lambda **o: tnp.full_like([1], 3, **o),
    "linspace": lambda **o: tnp.linspace(0, 1, 3, **o),
    "ones": lambda **o: tnp.ones(2, **o),
    "ones_like": lambda **o: tnp.ones_like([1], **o),
    "zeros": lambda **o: tnp.zeros(2, **o),
    "zeros_like": lambda **o: tnp.zeros_like([1], **o),
}


@pytest.mark.parametrize("name", MAKERS)
def test_devices_of_what_is_made(name):
    make = MAKERS[name]
    with tf.Graph().as_default():
        assert make(device="/device:CPU:0").device.endswith("device:CPU:0")
        assert make().device == ""
    here = make()
    there = make(device=here.device)
    assert there.device == here.device
    np.testing.assert_array_equal(there, here)
    with pytest.raises(ValueError, match="nonsense"):
        make(device="/nonsense:0")


def test_to_device():
    numpy_behavior.experimental_enable_numpy_behavior()
    try:
        x = tf.constant([1.0])
        assert x.to_device(x.device) is x
        assert x.to_device("/CPU:0").numpy().tolist() == [1.0]
        with pytest.raises(ValueError, match="stream=None, got 3"):
            x.to_device(x.device, stream=3)
    finally:
        numpy_behavior.restore()
    assert not hasattr(x, "to_device")


def test_copies():
    x = tf.constant([1.0, 2.0])
    assert tnp.asarray(x) is tnp.asarray(x, copy=False) is x
    again = tnp.asarray(x, copy=True)
    assert again is not x
    np.testing.assert_array_equal(again, x)
    for value, dtype in (([1.0], None), (x, np.float64), (np.ones(2), None)):
        with pytest.raises(ValueError, match="copy=False"):
            tnp.asarray(value, dtype, copy=False)
    for copy in (None, True, False):
        assert tnp.reshape(x, (2, 1), copy=copy).shape == (2, 1)
