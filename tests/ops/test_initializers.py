"""Initializers of both generations: distributions, fans, seeds, partitions, configurations."""

import math
import pickle

import numpy as np
import pytest
from tests.ops.variables_helper import run_op

import penstock as tf
from penstock.ops import initializers, initializers_v1
from penstock.ops.variable_store import PartitionInfo

v1 = tf.compat.v1
SHAPE = (200, 300)
FANS = {"fan_in": 200, "fan_out": 300, "fan_avg": 250}


@pytest.mark.parametrize("mode", FANS)
@pytest.mark.parametrize("distribution", ["uniform", "truncated_normal", "untruncated_normal"])
@pytest.mark.parametrize("cls", [tf.initializers.VarianceScaling, v1.variance_scaling_initializer])
def test_variance_scaling_has_the_variance_it_names(cls, mode, distribution):
    values = cls(scale=2.0, mode=mode, distribution=distribution, seed=1)(SHAPE).numpy()
    wanted = math.sqrt(2.0 / FANS[mode])
    assert values.std() == pytest.approx(wanted, rel=0.02)
    assert abs(values.mean()) < wanted / 50
    if distribution == "uniform":
        assert abs(values).max() <= math.sqrt(3) * wanted
    if distribution == "truncated_normal":
        assert abs(values).max() <= 2 * wanted / 0.8796 + 1e-6


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("glorot_uniform", 2 / 500),
        ("glorot_normal", 2 / 500),
        ("he_uniform", 2 / 200),
        ("he_normal", 2 / 200),
        ("lecun_uniform", 1 / 200),
        ("lecun_normal", 1 / 200),
    ],
)
def test_named_scalings(name, variance):
    for module in (tf.initializers, v1.initializers):
        values = getattr(module, name)(seed=2)(SHAPE).numpy()
        assert values.std() == pytest.approx(math.sqrt(variance), rel=0.02)


def test_fans_of_convolutions_count_the_field():
    values = tf.initializers.HeNormal(seed=1)([3, 3, 50, 70]).numpy()
    assert values.std() == pytest.approx(math.sqrt(2 / 450), rel=0.03)


def test_constants():
    assert tf.zeros_initializer()([2], tf.int32).numpy().tolist() == [0, 0]
    assert tf.ones_initializer()([2]).numpy().tolist() == [1.0, 1.0]
    assert tf.constant_initializer([1, 2, 3, 4])([2, 2]).numpy().tolist() == [[1, 2], [3, 4]]
    assert tf.initializers.Identity(2.0)([2, 3]).numpy().tolist() == [[2, 0, 0], [0, 2, 0]]
    with v1.Graph().as_default(), v1.Session() as session:
        for values, expected in (([1.0, 2.0], [1, 2, 2, 2]), ([], [0] * 4), ([5.0], [5] * 4)):
            made = v1.constant_initializer(values)([4])
            assert session.run(made).tolist() == expected
        with pytest.raises(ValueError, match="Needed at most 1, but received 2"):
            v1.constant_initializer([1.0, 2.0])([1])
    assert v1.constant_initializer([5.0])([2]).numpy().tolist() == [5, 5]
    for values, sizes in (([1.0, 2.0], [4]), ([1.0, 2.0], [1]), ([], [2]), ([1.0, 2.0], [0])):
        with pytest.raises(TypeError, match=f"got {len(values)}"):
            v1.constant_initializer(values)(sizes)
    assert v1.zeros_initializer(dtype=tf.int64)([1]).dtype is tf.int64
    with pytest.raises(TypeError, match=r"shape: \(4,\), got \(2,\)"):
        v1.constant_initializer([1.0, 2.0], verify_shape=True)([4])
    with pytest.raises(TypeError, match="Expected Python scalar"):
        tf.constant_initializer(object())


@pytest.mark.parametrize("cls", [tf.initializers.Orthogonal, v1.orthogonal_initializer])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 3, 4)])
def test_orthogonal_matrices_are(cls, shape):
    matrix = cls(gain=2.0, seed=3)(shape).numpy().reshape(-1, shape[-1])
    product = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)
    with pytest.raises(ValueError, match="two-dimensional"):
        cls()([3])


def test_seeds():
    first = tf.random_normal_initializer(seed=7)
    assert np.array_equal(first([4]), first([4]))
    assert not np.array_equal(first([4]), tf.random_normal_initializer(seed=8)([4]))
    fresh = tf.random_uniform_initializer()
    assert not np.array_equal(fresh([4]), fresh([4]))


def test_integers_and_bounds():
    values = tf.random_uniform_initializer(3, 7, seed=1)([1000], tf.int32).numpy()
    assert set(values.tolist()) == {3, 4, 5, 6}
    with pytest.raises(ValueError, match="floating point"):
        tf.random_normal_initializer()([2], tf.int32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.initializers.VarianceScaling(0.0), "must be a positive float"),
        (lambda: tf.initializers.VarianceScaling(mode="fan"), "`mode` should be one of"),
        (lambda: v1.variance_scaling_initializer(distribution="x"), "`distribution` should be"),
        (lambda: tf.initializers.get("nothing"), "Unknown initializer: 'nothing'"),
        (lambda: tf.initializers.get(3), "Could not interpret"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_parts_of_a_variable():
    whole = PartitionInfo([4, 4], [2, 0])
    part = v1.initializers.identity()([2, 4], partition_info=whole)
    assert part.numpy().tolist() == np.eye(4)[2:].tolist()
    assert (whole.single_slice_dim([2, 4]), whole.single_offset([2, 4])) == (0, 2)
    values = v1.glorot_uniform_initializer(seed=1)(
        [10, 300], partition_info=PartitionInfo(SHAPE, [0, 0])
    )
    assert abs(values.numpy()).max() <= math.sqrt(6 / 500)
    assert tf.zeros_initializer()([4, 4], partition_shape=(2, 4)).shape.as_list() == [2, 4]
    with pytest.raises(TypeError, match="Received: other"):
        tf.zeros_initializer()([4, 4], other=1)


@pytest.mark.parametrize("name", initializers.CLASSES)
def test_configurations_make_the_same_initializer(name):
    made = initializers.get(name)
    again = initializers.deserialize(initializers.serialize(made))
    assert type(again) is type(made)
    assert again.get_config() == made.get_config()


def test_first_generation_configurations():
    for cls in (
        initializers_v1.RandomNormal,
        initializers_v1.VarianceScaling,
        initializers_v1.Identity,
    ):
        made = cls(dtype=tf.float64)
        assert cls.from_config(made.get_config()).get_config() == made.get_config()


@pytest.mark.parametrize("mode", ["host", "compiled", "graph"])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_qr(mode, full, dtype):
    matrix = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(dtype)
    _, (q, r) = run_op("Qr", {}, {"input": matrix}, {"full_matrices": full}, mode)
    assert (q.shape, r.shape) == (((2, 4, 4), (2, 4, 3)) if full else ((2, 4, 3), (2, 3, 3)))
    np.testing.assert_allclose(q @ r, matrix, atol=1e-5)
    np.testing.assert_allclose(np.tril(r[0], -1), 0, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        ([None, 2], TypeError),
        (3, TypeError),
        (None, TypeError),
        (True, TypeError),
        ("a", ValueError),
        (["a"], ValueError),
        (tf.TensorShape(None), ValueError),
        ([-1, 2], tf.errors.InvalidArgumentError),
    ],
)
@pytest.mark.parametrize(
    "make",
    [v1.orthogonal_initializer, v1.variance_scaling_initializer, tf.initializers.Orthogonal],
)
def test_shapes_that_are_none(make, shape, error):
    with pytest.raises(error):
        make()(shape)


def test_constants_broadcast_and_take_the_dtype():
    rows = tf.initializers.Constant([1, 2, 3])([2, 3])
    assert rows.dtype == tf.float32
    assert rows.numpy().tolist() == [[1, 2, 3], [1, 2, 3]]
    assert tf.initializers.Constant(2)([2], dtype=tf.bool).numpy().all()
    assert tf.constant_initializer(2)([2]).dtype == tf.int32
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.initializers.Constant([1, 2, 3])([2])
    with pytest.raises(TypeError, match="elements"):
        tf.constant_initializer([1, 2, 3])([2])


def test_dtypes_that_are_not_floating():
    assert tf.initializers.Identity()([2, 2], dtype=tf.complex64).dtype == tf.complex64
    assert tf.initializers.Identity(2)([2, 2], dtype=tf.int32).numpy().tolist() == [[2, 0], [0, 2]]
    scaled = tf.initializers.VarianceScaling(distribution="uniform", seed=3)
    found = scaled([2, 3], dtype=tf.int32)
    assert found.numpy().tolist() == [[-1, 0, -1], [-1, 0, 0]]
    for name in ("RandomNormal", "TruncatedNormal", "VarianceScaling", "Orthogonal", "Identity"):
        with pytest.raises(TypeError, match="int32"):
            getattr(tf.initializers, name)()([2, 2], dtype=tf.int32)
    with pytest.raises(ValueError, match="floating"):
        tf.random_normal_initializer()([2, 2], dtype=tf.int32)
    with pytest.raises(TypeError, match="None"):
        tf.initializers.VarianceScaling()(None)


def test_constants_of_shapes_that_are_none():
    for shape, error in (([-1, 2], ValueError), ([None, 2], ValueError), ("ab", TypeError)):
        with pytest.raises(error):
            v1.constant_initializer(2.0)(shape)
    assert v1.constant_initializer(2.0)(3).shape == (3,)


def test_sizes_that_are_floats_or_text_are_refused_by_what_draws():
    scaling, orthogonal = v1.variance_scaling_initializer(), v1.orthogonal_initializer()
    for initializer, shape in [(scaling, [2.5]), (scaling, ["2", "2"]), (orthogonal, [2.0, 3.0])]:
        with pytest.raises(tf.errors.InvalidArgumentError):
            initializer(shape)
        with pytest.raises(TypeError):
            tf.function(lambda i=initializer, s=shape: i(s))()
    with pytest.raises(ValueError, match="two-dimensional"):
        orthogonal([2.5])
    with pytest.raises(ValueError, match="NaN"):
        scaling([math.nan])


@pytest.mark.parametrize(
    ("make", "name"),
    [(tf.constant_initializer, "Constant"), (tf.random_normal_initializer, "RandomNormal")],
)
def test_initializers_of_the_top_have_tensorflows_class_names(make, name):
    made = make(3.0)
    assert type(made).__name__ == type(made).__qualname__ == name
    copied = pickle.loads(pickle.dumps(made))
    assert type(copied) is make
    assert copied.get_config() == made.get_config()
