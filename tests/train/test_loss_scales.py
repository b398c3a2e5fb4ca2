"""Loss scales and the optimizer around them: figures of TensorFlow, eager, graph and function."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
mp, train = v1.mixed_precision, v1.train
INF, NAN = float("inf"), float("nan")
OPTIMIZERS = {
    "descent": lambda: train.GradientDescentOptimizer(0.1),
    "momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: train.AdamOptimizer(0.1),
    "rmsprop": lambda: train.RMSPropOptimizer(0.1),
    "ftrl": lambda: train.FtrlOptimizer(0.1),
    "proximal": lambda: train.ProximalAdagradOptimizer(0.1),
}


# What TensorFlow 2.21 gives for DynamicLossScale(8, 2, 2.0): (gradient, applied, scale after).
COURSE = [
    (1.0, True, 8.0), (1.0, True, 16.0), (1.0, True, 16.0), (NAN, False, 8.0), (1.0, True, 8.0),
    (INF, False, 4.0), (INF, False, 2.0), (-INF, False, 1.0), (INF, False, 1.0), (1.0, True, 1.0),
    (1.0, True, 2.0),
]  # fmt: skip


@pytest.mark.parametrize("in_graph", [False, True])
def test_a_dynamic_scale_grows_and_shrinks(in_graph):
    if not in_graph:
        scale = mp.DynamicLossScale(8, 2, 2.0)
        for gradient, applied, after in COURSE:
            _, applies = scale.update([tf.constant([gradient, 1.0]), None])
            assert (bool(applies), float(scale())) == (applied, after)
        return
    with tf.Graph().as_default():
        scale = mp.DynamicLossScale(8, 2, 2.0)
        given = v1.placeholder(tf.float32, [2])
        update, applies = scale.update([given])
        with tf.control_dependencies([update]):
            now = scale._current_loss_scale.read_value()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for gradient, applied, after in COURSE:
                assert session.run([applies, now], {given: [gradient, 1.0]}) == [applied, after]


def test_a_scale_stays_finite_and_counts_every_kind_of_gradient():
    scale = mp.DynamicLossScale(3e38, 1, 2.0)
    assert bool(scale.update([tf.constant(1.0)])[1])
    assert float(scale()) == np.float32(3e38)
    assert bool(scale.update([])[1])
    sparse = tf.IndexedSlices(tf.constant([[NAN]]), tf.constant([0]))
    assert not bool(scale.update({"a": tf.constant(1.0), "b": [sparse]})[1])
    assert float(scale()) == np.float32(1.5e38)


def test_scales_describe_themselves():
    scale = mp.DynamicLossScale(multiplier=4)
    config = {"initial_loss_scale": 32768.0, "increment_period": 2000, "multiplier": 4.0}
    assert scale.get_config() == config
    assert mp.DynamicLossScale.from_config(config).get_config() == config
    assert repr(scale) == (
        "DynamicLossScale(current_loss_scale=32768.0, num_good_steps=0, initial_loss_scale=32768.0,"
        " increment_period=2000, multiplier=4.0)"
    )
    assert (scale.initial_loss_scale, scale.increment_period, scale.multiplier) == (32768, 2000, 4)
    fixed = mp.FixedLossScale(3)
    assert float(fixed()) == 3.0
    assert fixed.update([tf.constant(NAN)]) == (None, True)
    assert fixed.get_config() == {"loss_scale_value": 3.0}
    assert repr(fixed) == "FixedLossScale(3.0)"
    assert train.experimental.DynamicLossScale is mp.DynamicLossScale
    assert mp.experimental.FixedLossScale is mp.FixedLossScale
    with pytest.raises(TypeError, match="abstract"):
        mp.LossScale()


@pytest.mark.parametrize("value", [0.5, 0, -1, "x", None, NAN])
def test_a_fixed_scale_is_a_number_from_1(value):
    with pytest.raises(ValueError, match="loss_scale_value must be"):
        mp.FixedLossScale(value)


@pytest.mark.parametrize("kind", sorted(OPTIMIZERS))
def test_scaling_changes_nothing_but_what_is_left_out(kind):
    """Every optimizer: the same variables as without, on the steps that are not left out."""

    def run(optimizer, factors):
        x = tf.Variable([1.0, -2.0])
        rows = tf.Variable(np.float32([[1, 2], [3, 4], [5, 6]]))
        for each in factors:

            def loss(factor=each):
                picked = tf.gather(rows, [0, 2, 0])
                return factor * (tf.reduce_sum(x**2) + tf.reduce_sum(picked))

            optimizer.minimize(loss, var_list=[x, rows])
        return x.numpy(), rows.numpy()

    scaled = mp.MixedPrecisionLossScaleOptimizer(OPTIMIZERS[kind](), mp.DynamicLossScale(64.0, 3))
    got = run(scaled, [1.0, INF, 1.0, NAN, 1.0])
    wanted = run(OPTIMIZERS[kind](), [1.0, 1.0, 1.0])
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert float(scaled._loss_scale()) == 16.0


@pytest.mark.parametrize("kind", ["adam", "momentum"])
def test_in_a_graph(kind):
    with tf.Graph().as_default():
        v = v1.get_variable("v", initializer=2.0, use_resource=True)
        factor = v1.placeholder(tf.float32, [])
        step = train.get_or_create_global_step()
        optimizer = mp.MixedPrecisionLossScaleOptimizer(
            OPTIMIZERS[kind](), mp.DynamicLossScale(4.0, 2, 2.0)
        )
        update = optimizer.minimize(v * v * factor, global_step=step)
        assert (update.name, update.type) == (optimizer.get_name(), "NoOp")
        assert v1.get_collection(v1.GraphKeys.TRAIN_OP) == [update]
        names = [each.name for each in optimizer.variables()]
        assert names[-2:] == ["current_loss_scale:0", "good_steps:0"]
        scale = optimizer._loss_scale._current_loss_scale
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            seen = []
            for value in (1.0, INF, 1.0, 1.0):
                session.run(update, {factor: value})
                seen.append(session.run([v, step, scale]))
    values = [float(row[0]) for row in seen]
    assert values[0] == values[1] != values[2]
    assert [int(row[1]) for row in seen] == [1, 1, 2, 3]
    assert [float(row[2]) for row in seen] == [4.0, 2.0, 2.0, 4.0]
    if kind == "momentum":  # as TensorFlow without scaling: 2 -> 1.6 -> 0.92 -> 0.124
        np.testing.assert_allclose(values, [1.6, 1.6, 0.92, 0.124], rtol=1e-5)


def test_in_a_function():
    y = tf.Variable(1.0)
    optimizer = mp.MixedPrecisionLossScaleOptimizer(
        train.GradientDescentOptimizer(0.1), mp.DynamicLossScale(4.0, 2, 2.0)
    )

    @tf.function
    def step(factor):
        optimizer.minimize(lambda: y * y * factor, var_list=[y])

    for factor, wanted, scale in ((1.0, 0.8, 4.0), (NAN, 0.8, 2.0), (1.0, 0.64, 2.0)):
        step(tf.constant(factor))
        np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-6)
        assert float(optimizer._loss_scale()) == scale


def test_small_gradients_survive_in_half_precision():
    """A gradient of 1e-8 vanishes in float16, and does not when the loss is scaled."""

    def run(optimizer):
        x = tf.Variable(1.0)
        optimizer.minimize(
            lambda: tf.cast(tf.cast(x * 1e-4, tf.float16) * np.float16(1e-4), tf.float32),
            var_list=[x],
        )
        return 1.0 - float(x)

    descent = lambda: train.GradientDescentOptimizer(1e6)  # noqa: E731
    assert run(descent()) == pytest.approx(0.01, rel=0.01)  # 1e-4 is small enough by itself
    tiny = [tf.constant(1e-8, tf.float16), tf.constant(1e-8 * 2**15, tf.float16)]
    assert float(tiny[0]) == 0.0
    assert float(tiny[1]) / 2**15 == pytest.approx(1e-8, rel=0.01)
    assert run(mp.MixedPrecisionLossScaleOptimizer(descent(), "dynamic")) == pytest.approx(
        0.01, rel=0.01
    )


def test_a_half_precision_variable():
    x = tf.Variable(tf.constant([2.0], tf.float16))
    optimizer = mp.MixedPrecisionLossScaleOptimizer(train.GradientDescentOptimizer(0.25), 16.0)
    pairs = optimizer.compute_gradients(lambda: tf.reduce_sum(x * x), [x])
    assert pairs[0][0].dtype is tf.float16
    assert pairs[0][0].numpy().tolist() == [4.0]
    optimizer.apply_gradients(pairs)
    assert x.numpy().tolist() == [1.0]


def test_slots_and_scale_are_saved_and_restored(tmp_path):
    def made():
        x = tf.Variable(3.0)
        optimizer = mp.MixedPrecisionLossScaleOptimizer(
            train.MomentumOptimizer(0.1, 0.9), mp.DynamicLossScale(8.0, 2, 2.0)
        )
        return x, optimizer, tf.train.Checkpoint(x=x, optimizer=optimizer)

    x, optimizer, checkpoint = made()
    for _ in range(3):
        optimizer.minimize(lambda: x * x, var_list=[x])
    path = checkpoint.save(str(tmp_path / "c"))
    y, other, restoring = made()
    restoring.restore(path)
    names = [name for name, _ in tf.train.list_variables(path)]
    slot = "x/.OPTIMIZER_SLOT/optimizer/base_optimizer/momentum/.ATTRIBUTES/VARIABLE_VALUE"
    assert slot in names  # where TensorFlow has it
    assert float(other._loss_scale()) == float(optimizer._loss_scale()) == 16.0
    for _ in range(2):
        optimizer.minimize(lambda: x * x, var_list=[x])
        other.minimize(lambda: y * y, var_list=[y])
    assert float(x) == float(y)
    assert float(other._loss_scale()) == 32.0


@pytest.fixture
def switched():
    yield
    mp.disable_mixed_precision_graph_rewrite()


@pytest.mark.usefixtures("switched")
def test_the_rewrite_is_switched_with_the_optimizer():
    options = tf.config.optimizer.get_experimental_options
    wrapped = mp.enable_mixed_precision_graph_rewrite(train.GradientDescentOptimizer(0.1), 8)
    assert isinstance(wrapped, mp.MixedPrecisionLossScaleOptimizer)
    assert repr(wrapped._loss_scale) == "FixedLossScale(8.0)"
    assert options()["auto_mixed_precision"] is True
    with tf.Graph().as_default():
        w = v1.get_variable("w", initializer=np.float32([[1.0], [2.0]]), use_resource=True)
        loss = tf.reduce_sum((tf.matmul([[1.0, 3.0]], w) - 3.0) ** 2)
        update = wrapped.minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            losses = [session.run([loss, update])[0] for _ in range(4)]
    assert losses[0] == 16.0
    assert losses[1] == 16.0  # (7 - 0.2 * 4 * 10 - 3)^2: exact in half precision
    mp.disable_mixed_precision_graph_rewrite()
    assert options()["auto_mixed_precision"] is False


@pytest.mark.usefixtures("switched")
def test_what_is_refused():
    optimizer = train.GradientDescentOptimizer(0.1)
    wrapped = mp.enable_mixed_precision_graph_rewrite(optimizer)
    for bad, words in ((wrapped, "already"), (1, "must be an instance of")):
        with pytest.raises(ValueError, match=words):
            mp.enable_mixed_precision_graph_rewrite(bad)
    for scale, words in ((None, "cannot be None"), ("fixed", "Could not interpret")):
        with pytest.raises(ValueError, match=words):
            mp.enable_mixed_precision_graph_rewrite(optimizer, scale)
    with pytest.raises(ValueError, match="must be an instance of Optimizer"):
        mp.MixedPrecisionLossScaleOptimizer(1, 2.0)
    with pytest.raises(ValueError, match="No gradients provided"):
        wrapped.apply_gradients([(None, tf.Variable(1.0))])
    with pytest.raises(RuntimeError, match="should be a function"):
        wrapped.minimize(tf.constant(1.0), var_list=[tf.Variable(1.0)])
