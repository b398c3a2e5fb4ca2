"""`compat.v1.layers`: renormalization, frozen layers, and arguments by name, as of tf-keras."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
layers = v1.layers
X = np.random.RandomState(0).randn(4, 3).astype(np.float32)
FIRST = {  # the variables before the step
    "gamma": [0.3, -0.2, 0.1], "beta": [0.1, 0.2, -0.1], "moving_mean": [0.3, 0.1, -0.2],
    "moving_variance": [0.7, 0.6, 0.8], "moving_stddev": [0.6, 0.8, 0.5],
    "renorm_mean": [0.3, 0.1, -0.2], "renorm_stddev": [0.6, 0.8, 0.5],
}  # fmt: skip


def _step(clipping=None, training=True, told=None, momentum=0.9):
    """Outputs of one step of renormalization, and the variables after it."""
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3])
        training = training if told is None else v1.placeholder_with_default(told, [])
        y = layers.batch_normalization(
            x, training=training, renorm=True, renorm_clipping=clipping, renorm_momentum=momentum
        )
        slope = v1.gradients(tf.reduce_sum(y * [1.0, 2.0, 3.0] * tf.range(4.0)[:, None]), x)[0]
        names = {v.op.name.split("/")[1]: v for v in v1.global_variables()}
        session.run(v1.global_variables_initializer())
        for name, value in FIRST.items():
            names[name].load(np.float32(value), session)
        found = session.run([y, slope], {x: X})
        session.run(v1.get_collection(v1.GraphKeys.UPDATE_OPS), {x: X})
        return (*found, session.run(names))


@pytest.mark.parametrize("axis", [2, [1, 3]], ids=str)
def test_fused_where_one_kernel_cannot_do_it(axis):
    x = np.random.RandomState(1).randn(2, 3, 4, 5).astype(np.float32)
    over = tuple(i for i in range(4) if i not in np.atleast_1d(axis))
    expected = (x - x.mean(over, keepdims=True)) / np.sqrt(x.var(over, keepdims=True) + 1e-3)
    with v1.Graph().as_default(), v1.Session() as session:
        y = layers.batch_normalization(tf.constant(x), axis, fused=True, training=True)
        session.run(v1.global_variables_initializer())
        np.testing.assert_allclose(session.run(y), expected, 1e-4, 1e-5)


def _expected(clipping, momentum=0.9):
    first = {name: np.float64(value) for name, value in FIRST.items()}
    mean, stddev = X.mean(0, dtype=np.float64), np.sqrt(X.var(0, dtype=np.float64) + 1e-3)
    factor = stddev / first["renorm_stddev"]
    offset = (mean - first["renorm_mean"]) / first["renorm_stddev"]
    if clipping:
        factor = np.clip(factor, clipping["rmin"], clipping["rmax"])
        offset = np.clip(offset, -clipping["dmax"], clipping["dmax"])
    y = ((X - mean) / stddev * factor + offset) * first["gamma"] + first["beta"]
    after = {
        "moving_mean": first["moving_mean"] + 0.01 * (mean - first["moving_mean"]),
        "moving_stddev": first["moving_stddev"] + 0.01 * (stddev - first["moving_stddev"]),
        "renorm_mean": first["renorm_mean"] + (1 - momentum) * (mean - first["renorm_mean"]),
        "renorm_stddev": first["renorm_stddev"]
        + (1 - momentum) * (stddev - first["renorm_stddev"]),
    }
    after["moving_variance"] = after["moving_stddev"] ** 2 - 1e-3
    return y, after


@pytest.mark.parametrize("clipping", [None, {"rmin": 0.9, "rmax": 1.1, "dmax": 0.2}])
def test_renormalization_by_the_formulas_of_the_paper(clipping):
    y, _, after = _step(clipping)
    expected, averages = _expected(clipping)
    np.testing.assert_allclose(y, expected, 1e-4, 1e-5)
    for name, value in averages.items():
        np.testing.assert_allclose(after[name], value, 1e-4, 1e-5, err_msg=name)


def test_renormalization_outside_of_training():
    y, _, after = _step(training=False)
    mean, variance = np.float32(FIRST["moving_mean"]), np.float32(FIRST["moving_variance"])
    normal = (X - mean) / np.sqrt(variance + 1e-3)
    np.testing.assert_allclose(y, normal * FIRST["gamma"] + np.float32(FIRST["beta"]), 1e-4, 1e-5)
    for name, value in FIRST.items():
        np.testing.assert_allclose(after[name], value, 1e-6, err_msg=name)


def test_a_tensor_says_whether_renormalization_trains():
    _, _, after = _step(told=False)
    for name, value in FIRST.items():
        np.testing.assert_allclose(after[name], value, 1e-6, err_msg=name)
    y, _, after = _step(told=True)
    expected, averages = _expected(None)
    np.testing.assert_allclose(y, expected, 1e-4, 1e-5)
    np.testing.assert_allclose(after["moving_variance"], averages["moving_variance"], 1e-4)


def test_the_correction_is_no_function_of_the_batch_for_gradients():
    _, slope, _ = _step()
    stddev = np.sqrt(X.var(0) + 1e-3)
    factor = stddev / np.float32(FIRST["renorm_stddev"]) * np.float32(FIRST["gamma"])
    by_y = np.float32([1, 2, 3]) * np.arange(4.0)[:, None]
    z = (X - X.mean(0)) / stddev
    inner = by_y - by_y.mean(0) - z * (by_y * z).mean(0)
    np.testing.assert_allclose(slope, inner * factor / stddev, 1e-3, 1e-5)


def test_variables_begin_with_the_initializers_of_the_moving_averages():
    with v1.Graph().as_default(), v1.Session() as session:
        layers.batch_normalization(
            v1.placeholder(tf.float32, [None, 2]), training=True, renorm=True,
            moving_mean_initializer=v1.constant_initializer(2.0),
            moving_variance_initializer=v1.constant_initializer(4.0),
        )  # fmt: skip
        session.run(v1.global_variables_initializer())
        found = {v.op.name.split("/")[1]: session.run(v)[0] for v in v1.global_variables()}
        assert list(found) == [
            "gamma", "beta", "moving_mean", "moving_variance", "moving_stddev", "renorm_mean",
            "renorm_stddev",
        ]  # fmt: skip
        assert (found["moving_stddev"], found["renorm_mean"], found["renorm_stddev"]) == (2, 2, 2)
        assert len(v1.get_collection(v1.GraphKeys.UPDATE_OPS)) == 2


def test_frozen_layers_update_nothing():
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [4, 3])
        layer = layers.BatchNormalization(trainable=False)
        layer(x, training=True)
        assert layer.updates == v1.get_collection(v1.GraphKeys.UPDATE_OPS) == []


def test_batches_of_float64_and_of_any_size_outside_of_training():
    with v1.Graph().as_default(), v1.Session() as session:
        image = tf.constant(X.reshape(2, 1, 2, 3), tf.float64)
        y = layers.batch_normalization(image, training=True)
        z = layers.batch_normalization(tf.constant(X), virtual_batch_size=3)
        session.run(v1.global_variables_initializer())
        found, other = session.run([y, z])
    rows = X.astype(np.float64)
    expected = (rows - rows.mean(0)) / np.sqrt(rows.var(0) + 1e-3)
    np.testing.assert_allclose(found.reshape(4, 3), expected, 1e-9)
    np.testing.assert_allclose(other, X / np.sqrt(1.001), 1e-5)


def test_regularizers_and_constraints_by_name():
    with v1.Graph().as_default(), v1.Session() as session:
        x = tf.constant(X)
        dense = layers.Dense(
            2, kernel_regularizer="l1_l2", kernel_constraint="max_norm", bias_constraint="non_neg"
        )
        dense(x)
        layers.dense(x, 2, activity_regularizer="l2", kernel_initializer="ones")
        session.run(v1.global_variables_initializer())
        kernel = session.run(dense.kernel)
        first, second = session.run(v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES))
        np.testing.assert_allclose(first, 0.01 * (np.abs(kernel).sum() + (kernel**2).sum()), 1e-5)
        sums = X.sum(1)
        np.testing.assert_allclose(second, 0.01 * 2 * (sums**2).sum() / 4, 1e-4)
        wide = np.float32([[3.0, 0.3], [4.0, 0.4]])
        shrunk, positive = session.run(
            [dense.kernel.constraint(tf.constant(wide)), dense.bias.constraint(tf.constant(-wide))]
        )
        np.testing.assert_allclose(shrunk, [[1.2, 0.3], [1.6, 0.4]], 1e-5)
        np.testing.assert_array_equal(positive, np.zeros((2, 2)))


# The norms along the first axis that tf-keras's constraints give columns of norm 5 and 0.5.
@pytest.mark.parametrize(
    ("name", "norms"), [("unit_norm", [1.0, 1.0]), ("min_max_norm", [1.0, 0.5])]
)
def test_norms_of_constraints(name, norms):
    layer = layers.Dense(2, kernel_constraint=name)
    layer(tf.constant(X))
    wide = tf.constant([[3.0, 0.3], [4.0, 0.4]])
    np.testing.assert_allclose(np.linalg.norm(layer.kernel.constraint(wide), axis=0), norms, 1e-5)


def test_convolutions_in_groups():
    with v1.Graph().as_default(), v1.Session() as session:
        x = np.random.RandomState(1).randn(2, 5, 4).astype(np.float32)
        grouped = layers.Conv1D(6, 2, groups=2)
        y = grouped(tf.constant(x))
        session.run(v1.global_variables_initializer())
        kernel, found = session.run([grouped.kernel, y])
        assert kernel.shape == (2, 2, 6)
        windows = np.lib.stride_tricks.sliding_window_view(x, 2, axis=1)  # [batch, time, depth, 2]
        parts = [
            np.einsum(
                "btck,kcf->btf", windows[:, :, 2 * g :][:, :, :2], kernel[..., 3 * g :][..., :3]
            )
            for g in range(2)
        ]
        expected = np.concatenate(parts, -1)
        np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def test_names_of_layers_over_one_axis_and_without_a_known_rank():
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2, 6, 3])
        assert layers.max_pooling1d(x, 2, 2).name == "max_pooling1d/Squeeze:0"
        assert layers.separable_conv1d(x, 4, 2).name == "separable_conv1d/Squeeze:0"
        assert layers.dropout(x, 0.0, training=True).name == "dropout/Identity:0"
        assert layers.dropout(x, training=None).name == "dropout_1/Identity:0"
        unknown = v1.placeholder(tf.float32)
        flat = layers.flatten(unknown)
        assert flat.shape.as_list() == [None, None]
        assert session.run(flat, {unknown: np.ones((2, 3, 4))}).shape == (2, 12)


COPIED = {
    "Dense": lambda: layers.Dense(3, activation="relu", kernel_regularizer="l2", name="d"),
    "Conv2D": lambda: layers.Conv2D(4, 2, strides=(2, 1), groups=2, padding="same"),
    "Conv2DTranspose": lambda: layers.Conv2DTranspose(3, 2, use_bias=False),
    "SeparableConv1D": lambda: layers.SeparableConv1D(3, 2, depth_multiplier=2),
    "BatchNormalization": lambda: layers.BatchNormalization(1, renorm=True, scale=False),
    "MaxPooling2D": lambda: layers.MaxPooling2D((2, 3), 1, data_format="channels_first"),
    "Dropout": lambda: layers.Dropout(0.3, seed=4),
    "Flatten": lambda: layers.Flatten("channels_first"),
}


@pytest.mark.parametrize("name", COPIED)
def test_layers_are_made_again_of_their_configuration(name):
    layer = COPIED[name]()
    config = layer.get_config()
    again = type(layer).from_config(config)
    assert again.get_config() == config
    assert again.name == layer.name
    expected = {"units": 3, "filters": 4, "kernel_size": (2, 2), "strides": (2, 1), "groups": 2}
    if name in ("Dense", "Conv2D"):
        assert {k: config[k] for k in expected if k in config}.items() <= expected.items()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: layers.batch_normalization(x, renorm=True, renorm_clipping={"r": 1}), "'r': 1"),
        (lambda x: layers.dense(x, 2, kernel_regularizer="l3"), "Unknown regularizer: 'l3'"),
        (lambda x: layers.dense(x, 2, kernel_constraint="small"), "Unknown constraint: 'small'"),
        (lambda x: layers.Conv1D(4, 1, groups=3)(x[:, :, None]), "multiple of a positive number"),
        (
            lambda x: layers.Conv1D(4, 1, groups=2)(x[:, :, None]),
            "divisible by the number of groups",
        ),
        (lambda x: layers.average_pooling1d(x[:, :, None], 2, None), "must not be None"),
    ],
)
def test_what_is_refused(make, text):
    with v1.Graph().as_default(), pytest.raises(ValueError, match=text):
        make(tf.constant(X))


def test_a_layer_without_units():
    with v1.Graph().as_default(), v1.Session() as session:
        y = layers.dense(tf.constant(X), 0)
        slopes = v1.gradients(tf.reduce_sum(y), v1.trainable_variables())
        session.run(v1.global_variables_initializer())
        found = session.run([y, *slopes])
        assert [value.shape for value in found] == [(4, 0), (3, 0), (0,)]


def test_averages_near_zero_divide_as_the_root_of_epsilon_does():
    """Figures of TensorFlow's: a feature that did not vary has no deviation to divide by."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.reshape(tf.linspace(-1.0, 1.0, 6), [2, 3])
        y = tf.compat.v1.layers.batch_normalization(x, renorm=True, training=True)
        (slow,) = (v for v in tf.compat.v1.global_variables() if "renorm_stddev" in v.name)
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(tf.compat.v1.assign(slow, [0.0, 0.01, 0.5]))
        found = session.run(y)
    wanted = [[-31.623, -18.974, -0.4], [6.325, 18.974, 2.0]]
    np.testing.assert_allclose(found, wanted, atol=1e-3)
