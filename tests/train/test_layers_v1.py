"""`compat.v1.layers`: training, names, collections, and what is refused."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
layers = v1.layers

# Recorded from tf-keras 2.21 by `losses` below.
RECORDED = {
    True: [
        0.28139,
        0.13001,
        0.11429,
        0.11209,
        9.81362,
        -0.44773,
        -0.33891,
        1.5326,
        0.08187,
        3.95625,
        2.27737,
        4.35293,
        1.55124,
        0.76218,
        0.29528,
        0.69681,
        2.63323,
        9.41078,
        -0.33426,
        1.45984,
        2.95509,
        -0.08218,
        17.29135,
        3.76353,
        0.60683,
    ],
    False: [
        0.17848,
        0.12174,
        0.11326,
        0.11185,
        9.78926,
        -0.45218,
        -0.34016,
        1.52549,
        0.0,
        4.0,
        2.30629,
        4.40669,
        1.54812,
        0.76688,
        0.28164,
        0.0,
        4.0,
        9.35587,
        -0.33378,
        1.44765,
        2.93506,
        0.0,
        18.0,
        3.72826,
        0.6015,
    ],
}


def network(tf, inputs, training):
    layers = tf.compat.v1.layers

    def decay(w):
        return 0.01 * tf.reduce_sum(w * w)

    x = layers.conv2d(inputs, 4, 3, activation=tf.nn.relu, kernel_regularizer=decay)
    x = layers.batch_normalization(x, training=training)
    x = layers.max_pooling2d(x, 2, 2)
    x = layers.separable_conv2d(x, 4, 2, padding="same", depth_multiplier=2)
    x = layers.batch_normalization(x, training=training, fused=False, momentum=0.9)
    x = layers.conv2d_transpose(x, 2, 3, strides=2, padding="same")
    x = layers.average_pooling2d(x, 2, 2)
    x = layers.flatten(x)
    x = layers.batch_normalization(x, training=training, virtual_batch_size=2)
    return layers.dense(layers.dropout(x, 0.5), 1, name="out")


def losses(tf, training):
    """The losses of four steps, and the sums of all variables at the end."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        numbers = np.random.RandomState(0)
        x = tf.constant(numbers.randn(4, 8, 8, 3).astype("f"))
        given = training if isinstance(training, bool) else tf.constant(training[0]) > 0.5
        y = network(tf, x, given)
        loss = tf.reduce_mean(tf.square(y - 1.0)) + tf.add_n(
            v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)
        )
        updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(updates):
            step = v1.train.GradientDescentOptimizer(0.05).minimize(loss)
        found = []
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for v in v1.trainable_variables():
                v.load((numbers.rand(*v.shape.as_list()) - 0.4).astype("f"), session)
            for _ in range(4):
                found.append(float(session.run(loss)))
                session.run(step)
            found += [float(np.sum(v)) for v in session.run(v1.global_variables())]
        return [round(value, 5) for value in found]


@pytest.mark.parametrize("training", [True, False])
def test_losses_and_variables_are_those_of_tf_keras(training):
    found = losses(tf, training)
    np.testing.assert_allclose(found, RECORDED[training], atol=2e-4)


@pytest.mark.parametrize("training", [True, False])
def test_a_tensor_says_whether_it_is_training(training):
    def run(given):
        with tf.Graph().as_default():
            x = tf.constant(np.random.RandomState(0).randn(4, 3, 3, 2).astype("f"))
            y = layers.batch_normalization(x, training=given(), momentum=0.5)
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                outputs, _ = session.run([y, v1.get_collection(v1.GraphKeys.UPDATE_OPS)])
                return outputs, session.run(v1.global_variables())

    known, asked = run(lambda: training), run(lambda: tf.constant(float(training)) > 0.5)
    np.testing.assert_allclose(known[0], asked[0], rtol=1e-4)
    for one, other in zip(known[1], asked[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


def test_names_follow_variable_scopes_and_reuse_shares():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 3])
        layer = layers.Dense(4, activation="relu")
        outputs = [layer(x), layer(x), layers.dense(x, 2), layers.dense(x, 2, name="foo")]
        outputs.append(layers.dense(x, 2, name="foo", reuse=True))
        with v1.variable_scope("s"):
            outputs.append(layers.dense(x, 2))
        assert [o.op.name for o in outputs] == [
            "dense/Relu",
            "dense/Relu_1",
            "dense_1/BiasAdd",
            "foo/BiasAdd",
            "foo_1/BiasAdd",
            "s/dense/BiasAdd",
        ]
        scopes = ["dense", "dense_1", "foo", "s/dense"]
        wanted = [f"{scope}/{which}" for scope in scopes for which in ("kernel", "bias")]
        assert [v.op.name for v in v1.trainable_variables()] == wanted
        assert layer.scope_name == "dense"
        assert [v.op.name for v in layer.weights] == wanted[:2]
        with pytest.raises(ValueError, match="already exists"):
            layers.dense(x, 2, name="foo")


def test_collections():
    def squared(w):
        return tf.reduce_sum(w * w)

    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2, 3])
        layer = layers.Dense(2, kernel_regularizer=squared, activity_regularizer=squared)
        layer(x)
        layers.batch_normalization(x, training=True)
        losses = v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)
        assert [loss.op.name for loss in losses] == [
            "dense/kernel/Regularizer/Sum",
            "dense/ActivityRegularizer/truediv",
        ]
        assert layer.losses == losses
        assert len(v1.get_collection(v1.GraphKeys.UPDATE_OPS)) == 2
        moving = [v.op.name for v in v1.global_variables() if not v.trainable]
        assert moving == ["batch_normalization/moving_mean", "batch_normalization/moving_variance"]


def test_layers_run_eagerly_and_give_gradients():
    layer = layers.Dense(2, kernel_initializer=tf.ones_initializer(), name="eager")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.ones([2, 3, 4])))
    assert float(loss) == 48.0
    by_kernel, by_bias = tape.gradient(loss, layer.trainable_variables)
    np.testing.assert_array_equal(by_kernel, np.full([4, 2], 6.0))
    np.testing.assert_array_equal(by_bias, np.full([2], 6.0))


SHAPES = {
    "conv1d causal": ([2, 8, 3], lambda x: layers.conv1d(x, 5, 3, padding="causal"), [2, 8, 5]),
    "conv2d first": (
        [2, 3, 8, 8],
        lambda x: layers.conv2d(x, 5, (3, 2), 2, "SAME", "channels_first"),
        [2, 5, 4, 4],
    ),
    "conv2d dilated": (
        [2, 8, 8, 3],
        lambda x: layers.conv2d(x, 5, 3, dilation_rate=2),
        [2, 4, 4, 5],
    ),
    "conv3d": ([2, 4, 4, 4, 3], lambda x: layers.conv3d(x, 5, 3), [2, 2, 2, 2, 5]),
    "conv2d_t": ([2, 8, 8, 3], lambda x: layers.conv2d_transpose(x, 5, 3, 2), [2, 17, 17, 5]),
    "conv3d_t": (
        [2, 4, 4, 4, 3],
        lambda x: layers.conv3d_transpose(x, 5, 3, 2, "same"),
        [2, 8, 8, 8, 5],
    ),
    "separable1d": ([2, 8, 3], lambda x: layers.separable_conv1d(x, 5, 3), [2, 6, 5]),
    "pool1d": ([2, 8, 3], lambda x: layers.max_pooling1d(x, 2, 2), [2, 4, 3]),
    "pool3d": ([2, 4, 4, 4, 3], lambda x: layers.average_pooling3d(x, 2, 2), [2, 2, 2, 2, 3]),
    "flatten": ([2, 8, 8, 3], layers.flatten, [2, 192]),
    "flatten vector": ([None], layers.flatten, [None, 1]),
    "bn axes": ([2, 4, 4, 3], lambda x: layers.batch_normalization(x, [1, 2]), [2, 4, 4, 3]),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes(case):
    given, call, wanted = SHAPES[case]
    with tf.Graph().as_default():
        assert call(v1.placeholder(tf.float32, given)).shape.as_list() == wanted


BAD = {
    "depth": (ValueError, "last dimension", [2, None], lambda x: layers.dense(x, 5)),
    "rank": (ValueError, "min_ndim=4, found ndim=3", [2, 8, 3], lambda x: layers.conv2d(x, 5, 3)),
    "window": (
        ValueError,
        "tuple of 2 integers",
        [2, 8, 8, 3],
        lambda x: layers.conv2d(x, 5, (3, 3, 3)),
    ),
    "padding": (
        ValueError,
        "`padding` argument",
        [2, 8, 8, 3],
        lambda x: layers.conv2d(x, 5, 3, padding="foo"),
    ),
    "both": (
        ValueError,
        "not supported in conjunction",
        [2, 8, 8, 3],
        lambda x: layers.conv2d(x, 5, 3, strides=2, dilation_rate=2),
    ),
    "axis": (
        ValueError,
        r"inputs.rank=4\). Received: axis=\(7,\)",
        [2, 8, 8, 3],
        lambda x: layers.batch_normalization(x, axis=7),
    ),
    "units": (ValueError, "non-negative integer", [2, 3], lambda x: layers.dense(x, -1)),
    "argument": (TypeError, "not understood", [2, 3], lambda x: layers.Dense(2, colour=1)),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_refused(case):
    kind, text, shape, call = BAD[case]
    with tf.Graph().as_default(), pytest.raises(kind, match=text):
        call(v1.placeholder(tf.float32, shape))


@pytest.mark.parametrize(("kind", "op"), [("max", "MaxPool"), ("average", "AvgPool")])
def test_pooling_layers_name_their_operation_as_tensorflow_does(kind, op):
    with tf.Graph().as_default():
        pool = getattr(tf.compat.v1.layers, f"{kind}_pooling2d")
        assert pool(tf.ones([1, 4, 4, 1]), 2, 2).name == f"{kind}_pooling2d/{op}:0"
        assert pool(tf.ones([1, 4, 4, 1]), 2, 2, name="mine").name == f"mine/{op}:0"


def test_one_dense_layer_for_inputs_of_several_ranks():
    with tf.Graph().as_default():
        layer = tf.compat.v1.layers.Dense(3)
        layer.build((None, 6))
        assert layer(tf.zeros([4, 6])).shape == [4, 3]
        assert layer(tf.zeros([4, 5, 6])).shape == [4, 5, 3]
        with pytest.raises(ValueError, match="axis -1"):
            layer(tf.zeros([4, 5]))


def test_dropout_of_whole_rows_of_an_unknown_number():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        rows = tf.compat.v1.placeholder(tf.float32, [None, 6])
        kept = tf.compat.v1.layers.dropout(rows, 0.5, noise_shape=[None, 1], training=True)
        assert kept.shape.as_list() == [None, 6]
        found = session.run(kept, {rows: np.ones((40, 6), np.float32)})
    assert {tuple(row) for row in found.tolist()} == {(0.0,) * 6, (2.0,) * 6}


def test_losses_and_updates_are_told_apart_by_their_inputs():
    with tf.Graph().as_default():
        x, other = (v1.placeholder(tf.float32, [None, 4]) for _ in range(2))
        reg = v1.reduce_sum
        dense = layers.Dense(3, kernel_regularizer=reg, activity_regularizer=reg)
        normal = layers.BatchNormalization()
        dense(x), dense(other), normal(x, training=True)
        counts = [len(dense.get_losses_for(i)) for i in (None, x, other, [x, other])]
        assert counts == [1, 1, 1, 2]
        assert [len(normal.get_updates_for(i)) for i in (None, x, other)] == [0, 2, 0]
        assert dense.get_updates_for(x) == dense.get_updates_for(None) == []


@pytest.mark.parametrize("shape", [[2, 2, 3], [2, 3], [2], [1, 2, 3, 2]])
def test_flatten_moves_the_channels_of_inputs_of_unknown_rank(shape):
    values = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32)
        flat = layers.flatten(x, data_format="channels_first")
        assert flat.shape.as_list() == [None, None]
        found = session.run(flat, {x: values})
        known = session.run(layers.flatten(tf.constant(values), data_format="channels_first"))
    np.testing.assert_array_equal(found, known)


def test_what_hangs_on_an_input_is_known_in_graphs_alone():
    layer = tf.compat.v1.layers.Dense(2, kernel_regularizer=tf.reduce_sum)
    x = tf.ones([1, 3])
    layer(x)
    for inputs in (x, None):
        with pytest.raises(RuntimeError, match="graph"):
            layer.get_losses_for(inputs)


@pytest.mark.parametrize("make", [v1.layers.SeparableConv1D, v1.layers.SeparableConv2D])
def test_configurations_of_separable_layers_name_a_kernel(make):
    config = make(3, 2).get_config()
    assert {"kernel_initializer", "kernel_regularizer", "kernel_constraint"} <= config.keys()
    assert make.from_config(config).get_config().keys() == config.keys()


def test_configurations_of_batch_normalization_hold_what_is_used():
    plain = v1.layers.BatchNormalization().get_config()
    assert not plain.keys() & {"fused", "adjustment", "renorm", "virtual_batch_size"}
    renorm = v1.layers.BatchNormalization(renorm=True).get_config()
    assert renorm.keys() - plain.keys() == {"renorm", "renorm_clipping", "renorm_momentum"}
    parts = v1.layers.BatchNormalization(virtual_batch_size=2).get_config()
    assert parts.keys() - plain.keys() == {"virtual_batch_size"}


def test_transposed_layers_pad_their_outputs():
    x = tf.ones([1, 4, 4, 1])
    make = v1.layers.Conv2DTranspose
    assert make(2, 3, 2, "same", output_padding=0)(x).shape == [1, 7, 7, 2]
    assert make(2, 3, 2, "same", output_padding=1)(x).shape == [1, 8, 8, 2]
    assert make(2, 2, dilation_rate=2)(x).shape == [1, 6, 6, 2]
    config = make(2, 3, 2, output_padding=(1, 0)).get_config()
    assert (config["output_padding"], config["dilation_rate"]) == ((1, 0), (1, 1))
    assert make.from_config(config).output_padding == (1, 0)
    assert "dilation_rate" not in v1.layers.Conv3DTranspose(2, 3).get_config()
    with pytest.raises(ValueError, match="greater than output padding"):
        make(2, 3, 2, output_padding=2)
