"""Optimizers against NumPy over several steps: eager, graph, function; dense and sparse."""

import numpy as np
import pytest
from tests.ops.variables_helper import Runner

import penstock as tf

v1 = tf.compat.v1
train = v1.train
RNG = np.random.default_rng(3)
W = RNG.normal(size=(4, 3))
E = RNG.normal(size=(6, 2))
X = RNG.normal(size=(5, 4))
IDS = np.int32([1, 3, 1, 5])
SCALE = RNG.normal(size=(4, 2))
STEPS = 4


def gradients(w, e):
    """Of sum((x w)^2) / 2 + sum(scale e[ids]^2) / 2; the second by rows, duplicates summed."""
    rows = np.zeros_like(e)
    for i, index in enumerate(IDS):
        rows[index] += SCALE[i] * e[index]
    return X.T @ (X @ w), rows


def loss(w, e):
    rows = tf.gather(e, IDS)
    return (tf.reduce_sum(tf.matmul(X, w) ** 2) + tf.reduce_sum(SCALE * rows * rows)) / 2


class State:
    """The slots of one variable; a rule reads and writes them by name."""

    def __init__(self, **slots):
        self.__dict__.update(slots)


def descent(s, p, g, t):
    return p - 0.01 * g


def momentum(s, p, g, t):
    s.a = 0.9 * s.a + g
    return p - 0.01 * s.a


def nesterov(s, p, g, t):
    s.a = 0.9 * s.a + g
    return p - 0.01 * (g + 0.9 * s.a)


def adagrad(s, p, g, t):
    s.a = s.a + g**2
    return p - 0.1 * g / np.sqrt(s.a)


def adadelta(s, p, g, t):
    s.a = 0.9 * s.a + 0.1 * g**2
    step = np.sqrt((s.b + 1e-6) / (s.a + 1e-6)) * g
    s.b = 0.9 * s.b + 0.1 * step**2
    return p - step


def rms_prop(s, p, g, t):
    s.a = 0.9 * s.a + 0.1 * g**2
    s.b = 0.5 * s.b + 0.1 * g / np.sqrt(s.a + 1e-10)
    return p - s.b


def centered(s, p, g, t):
    s.a = 0.9 * s.a + 0.1 * g**2
    s.m = 0.9 * s.m + 0.1 * g
    s.b = 0.5 * s.b + 0.1 * g / np.sqrt(s.a - s.m**2 + 1e-10)
    return p - s.b


def ftrl(s, p, g, t, l2=0.02, shrinkage=0.0):
    new = s.a + g**2
    s.b = s.b + g + 2 * shrinkage * p - (np.sqrt(new) - np.sqrt(s.a)) / 0.1 * p
    s.a = new
    kept = (np.sign(s.b) * 0.01 - s.b) / (np.sqrt(new) / 0.1 + 2 * l2)
    return np.where(np.abs(s.b) > 0.01, kept, 0.0)


def adam(s, p, g, t):
    s.a = 0.9 * s.a + 0.1 * g
    s.b = 0.999 * s.b + 0.001 * g**2
    rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    return p - rate * s.a / (np.sqrt(s.b) + 1e-8)


# name: optimizer, rule, first value of the slot of squares, slot names, whether rows without
# gradient move
CASES = {
    "descent": (lambda: train.GradientDescentOptimizer(0.01), descent, 0.0, [], False),
    "momentum": (lambda: train.MomentumOptimizer(0.01, 0.9), momentum, 0.0, ["momentum"], False),
    "nesterov": (
        lambda: train.MomentumOptimizer(0.01, 0.9, use_nesterov=True),
        nesterov,
        0.0,
        ["momentum"],
        False,
    ),
    "adagrad": (lambda: train.AdagradOptimizer(0.1), adagrad, 0.1, ["accumulator"], False),
    "adadelta": (
        lambda: train.AdadeltaOptimizer(1.0, 0.9, 1e-6),
        adadelta,
        0.0,
        ["accum", "accum_update"],
        False,
    ),
    "rms": (
        lambda: train.RMSPropOptimizer(0.1, momentum=0.5),
        rms_prop,
        1.0,
        ["momentum", "rms"],
        False,
    ),
    "centered": (
        lambda: train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
        centered,
        1.0,
        ["mg", "momentum", "rms"],
        False,
    ),
    "ftrl": (
        lambda: train.FtrlOptimizer(
            0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02
        ),
        ftrl,
        0.1,
        ["accum", "linear"],
        False,
    ),
    "ftrl with shrinkage and beta": (
        lambda: train.FtrlOptimizer(
            0.1, l1_regularization_strength=0.01, l2_shrinkage_regularization_strength=0.1, beta=0.2
        ),
        lambda *a: ftrl(*a, l2=1.0, shrinkage=0.1),
        0.1,
        ["accum", "linear"],
        False,
    ),
    "adam": (lambda: train.AdamOptimizer(0.1), adam, 0.0, ["m", "v"], True),
}


def reference(case):
    """W and E after STEPS steps; of E only rows with a gradient are updated, unless all move."""
    _, rule, start, _, all_rows = CASES[case]
    w, e = W.copy(), E.copy()
    states = [
        State(a=np.full(x.shape, start), b=np.zeros(x.shape), m=np.zeros(x.shape)) for x in (w, e)
    ]
    touched = sorted(set(IDS.tolist()))
    for t in range(1, STEPS + 1):
        gw, ge = gradients(w, e)
        w = rule(states[0], w, gw, t)
        if all_rows:
            e = rule(states[1], e, ge, t)
        else:
            rows = State(**{n: v[touched] for n, v in vars(states[1]).items()})
            e[touched] = rule(rows, e[touched], ge[touched], t)
            for name, value in vars(rows).items():
                vars(states[1])[name][touched] = value
    return w, e


def check(case, w, e):
    wanted = reference(case)
    # the optimizers' numbers are float32: 1 - 0.999 is exact to 1e-5 of its value only
    np.testing.assert_allclose(w, wanted[0], 1e-5, 2e-6)
    np.testing.assert_allclose(e, wanted[1], 1e-5, 2e-6)


@pytest.mark.parametrize("case", CASES)
def test_eager(case):
    w, e, optimizer = tf.Variable(W), tf.Variable(E), CASES[case][0]()
    for _ in range(STEPS):
        assert optimizer.minimize(lambda: loss(w, e)) is None
    check(case, w.numpy(), e.numpy())
    assert optimizer.get_slot_names() == CASES[case][3]


@pytest.mark.parametrize("case", CASES)
def test_graph(case):
    graph = tf.Graph()
    with graph.as_default():
        w, e = v1.get_variable("w", initializer=W), v1.get_variable("e", initializer=E)
        optimizer, step = CASES[case][0](), train.get_or_create_global_step()
        update = optimizer.minimize(loss(w, e), global_step=step)
        init, reads = v1.global_variables_initializer(), [w.value(), e.value(), step.value()]
        assert graph.get_collection("train_op") == [update]
        assert update.name == optimizer.get_name()
        slots = [f"{v}/{optimizer.get_name()}" for v in "ew" if optimizer.get_slot_names()]
        assert {s.name.partition(":")[0] for s in optimizer.variables()} >= set(slots)
    run = Runner(graph)
    run((), [init])
    for _ in range(STEPS):
        run((), [update])
    got = run(reads)
    check(case, got[0], got[1])
    assert int(got[2]) == STEPS


@pytest.mark.parametrize("case", ["descent", "momentum", "adam"])
def test_function(case):
    w, e, optimizer = tf.Variable(W), tf.Variable(E), CASES[case][0]()
    optimizer._create_slots([w, e])

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = loss(w, e)
        grads = tape.gradient(value, [w, e])
        optimizer.apply_gradients(zip(grads, [w, e], strict=True))
        return value

    for _ in range(STEPS):
        step()
    check(case, w.numpy(), e.numpy())


@pytest.mark.parametrize(
    "gate", [train.Optimizer.GATE_NONE, train.Optimizer.GATE_OP, train.Optimizer.GATE_GRAPH]
)
def test_gates_do_not_change_the_gradients(gate):
    graph = tf.Graph()
    with graph.as_default():
        w, e = v1.get_variable("w", initializer=W), v1.get_variable("e", initializer=E)
        pairs = train.GradientDescentOptimizer(0.1).compute_gradients(
            loss(w, e), gate_gradients=gate
        )
        assert [v.name for _, v in pairs] == ["w:0", "e:0"]
        dense = [tf.convert_to_tensor(g) for g, _ in pairs]
        init = v1.global_variables_initializer()
    run = Runner(graph)
    run((), [init])
    for got, wanted in zip(run(dense), gradients(W, E), strict=True):
        np.testing.assert_allclose(got, wanted, 1e-9)


def test_grad_loss_and_var_list():
    x, y = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    optimizer = train.GradientDescentOptimizer(0.5)
    pairs = optimizer.compute_gradients(
        lambda: x * y, var_list=[y], grad_loss=tf.constant([1.0, 0.0])
    )
    assert [v is y for _, v in pairs] == [True]
    assert pairs[0][0].numpy().tolist() == [1.0, 0.0]
    optimizer.apply_gradients([*pairs, (None, x)])
    assert y.numpy().tolist() == [2.5, 4.0]
    assert x.numpy().tolist() == [1.0, 2.0]


def test_numbers_may_be_functions_and_tensors():
    x, rate = tf.Variable([1.0]), tf.Variable(0.5)
    optimizer = train.GradientDescentOptimizer(lambda: rate)
    optimizer.apply_gradients([(tf.constant([1.0]), x)])
    rate.assign(0.25)
    optimizer.apply_gradients([(tf.constant([1.0]), x)])
    assert x.numpy().tolist() == [0.25]


def test_constraints_hold_after_the_update():
    x = tf.Variable([1.0, 0.1], constraint=lambda v: tf.maximum(v, 0.0))
    optimizer = train.GradientDescentOptimizer(0.5)
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), x)])
    assert x.numpy().tolist() == [0.5, 0.0]
    sparse = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    with pytest.raises(RuntimeError, match="constraint function on a sparse variable"):
        optimizer.apply_gradients([(sparse, x)])


class SignDescent(train.Optimizer):
    """What a user writes: one slot, dense and sparse updates."""

    def __init__(self):
        super().__init__(use_locking=False, name="SignDescent")

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "count", self._name)

    def _resource_apply_dense(self, grad, handle):
        counted = self.get_slot(handle, "count").assign_add(tf.ones_like(grad))
        return tf.group(handle.assign_sub(0.1 * tf.sign(grad)), counted)

    def _resource_apply_sparse(self, grad, handle, indices):
        return handle.scatter_sub(tf.IndexedSlices(0.1 * tf.sign(grad), indices))


def test_users_define_optimizers():
    x, optimizer = tf.Variable([1.0, -1.0]), SignDescent()
    optimizer.minimize(lambda: tf.reduce_sum(x * x))
    np.testing.assert_allclose(x.numpy(), [0.9, -0.9], 1e-6)
    rows = tf.IndexedSlices(tf.constant([3.0, -1.0]), tf.constant([1, 1]))
    optimizer.apply_gradients([(rows, x)])
    np.testing.assert_allclose(x.numpy(), [0.9, -1.0], 1e-6)
    assert optimizer.get_slot(x, "count").numpy().tolist() == [1.0, 1.0]
    assert optimizer.get_slot(x, "other") is None


def test_a_missing_method_is_named():
    class Bare(train.Optimizer):
        def __init__(self):
            super().__init__(use_locking=False, name="Bare")

    x = tf.Variable([1.0])
    with pytest.raises(NotImplementedError, match="Bare: expected a method _resource_apply_dense"):
        Bare().apply_gradients([(tf.constant([1.0]), x)])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda o, w: o.minimize(tf.constant(1.0)),
            ValueError,
            "No gradients provided for any variable",
        ),
        (
            lambda o, w: o.compute_gradients(w[0], gate_gradients=7),
            ValueError,
            "gate_gradients must be",
        ),
        (
            lambda o, w: o.compute_gradients(w[0], var_list=[]),
            ValueError,
            "No variables to optimize",
        ),
        (lambda o, w: o.compute_gradients(tf.constant(1)), ValueError, "Invalid type tf.int32"),
        (lambda o, w: o.apply_gradients([]), ValueError, "No variables provided"),
        (lambda o, w: o.apply_gradients([(None, w)]), ValueError, "No gradients provided"),
        (
            lambda o, w: o.apply_gradients([(object(), w)]),
            TypeError,
            "must be convertible to a Tensor",
        ),
        (lambda o, w: train.Optimizer(False, ""), ValueError, "Must specify the optimizer name"),
        (lambda o, w: train.AdagradOptimizer(0.1, 0.0), ValueError, "must be positive: 0.0"),
        (lambda o, w: train.FtrlOptimizer(0.1, 1.0), ValueError, "needs to be negative or zero"),
        (
            lambda o, w: train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0),
            ValueError,
            "l1_regularization_strength -1.000000 needs to be positive or zero",
        ),
    ],
)
def test_bad_calls(call, error, message):
    with tf.Graph().as_default():
        w = v1.get_variable("w", initializer=[1.0])
        with pytest.raises(error, match=message):
            call(train.GradientDescentOptimizer(0.1), w)


@pytest.mark.parametrize("make", ["GradientDescentOptimizer", "AdamOptimizer"])
def test_a_tensor_is_not_updated(make):
    with tf.Graph().as_default():
        tensor = tf.constant([1.0])
        with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
            getattr(train, make)(0.1).apply_gradients([(tensor, tensor)])
        assert not v1.global_variables()


@pytest.mark.parametrize("rate", [0.0, -0.1])
def test_ftrl_divides_beta_by_no_rate_below_the_least(rate):
    """l2 is then beyond all bounds, so that the weight goes to zero."""
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=[1.0])
        update = train.FtrlOptimizer(rate, beta=0.1).apply_gradients([(tf.constant([0.5]), w)])
        session.run(v1.global_variables_initializer())
        session.run(update)
        seen = session.run(w)[0]
    # Of a rate of zero the terms are infinite and their quotient NaN, as TensorFlow's.
    assert np.isnan(seen) if rate == 0.0 else abs(seen) < 1e-30


@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_ftrl_keeps_nan_in_rows(shrinkage):
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=[1.0, 2.0, 3.0])
        grad = tf.IndexedSlices(tf.constant([np.nan, 0.5, np.inf]), tf.constant([0, 1, 2]))
        optimizer = train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=shrinkage)
        update = optimizer.apply_gradients([(grad, w)])
        session.run(v1.global_variables_initializer())
        session.run(update)
        assert np.isnan(session.run(w)).tolist() == [True, False, True]


def test_ftrl_has_l2_in_the_dtype_of_its_rate():
    """0.01 is not rounded to float32 beside a rate of float64."""
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=np.array([1.0]))
        rate, l2 = tf.constant(0.5, tf.float64), 0.01
        optimizer = train.FtrlOptimizer(rate, l2_regularization_strength=l2)
        update = optimizer.apply_gradients([(tf.constant([0.5], tf.float64), w)])
        session.run(v1.global_variables_initializer())
        session.run(update)
        seen = session.run(w)[0]
    root = np.sqrt(0.1 + 0.25)
    linear = 0.5 - (root - np.sqrt(0.1)) / 0.5
    assert seen == pytest.approx(-linear / (root / 0.5 + 2 * l2), rel=1e-13)


def test_an_eager_loss_is_a_function():
    with pytest.raises(RuntimeError, match="should be a function when eager"):
        train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))


def test_slots_of_a_part_know_their_part():
    with tf.Graph().as_default():
        with v1.variable_scope("s", partitioner=v1.fixed_size_partitioner(2)):
            whole = v1.get_variable("p", [4, 2])
        optimizer = train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(tf.reduce_sum(tf.convert_to_tensor(whole)))
        slots = [optimizer.get_slot(p, "momentum") for p in whole]
        assert [s.name for s in slots] == ["s/p/part_0/Momentum:0", "s/p/part_1/Momentum:0"]
        infos = [s._get_save_slice_info() for s in slots]
        assert [(i.full_name, i.spec) for i in infos] == [
            ("s/p/Momentum", "4 2 0,2:0,2"),
            ("s/p/Momentum", "4 2 2,2:0,2"),
        ]


def test_the_global_step_is_one_per_graph():
    graph = tf.Graph()
    with graph.as_default():
        assert train.get_global_step() is None
        step = train.get_or_create_global_step()
        assert train.get_or_create_global_step() is step
        assert train.get_global_step(graph) is step
        assert (step.name, step.dtype, step.trainable) == ("global_step:0", tf.int64, False)
        with pytest.raises(ValueError, match='"global_step" already exists'):
            train.create_global_step()
        with pytest.raises(TypeError, match="does not have integer type"):
            train.assert_global_step(v1.get_variable("f", initializer=1.0))
        with pytest.raises(TypeError, match="is not scalar"):
            train.assert_global_step(v1.get_variable("v", initializer=[1, 2]))


@pytest.mark.parametrize(
    ("make", "numbers"),
    [
        (lambda t: t.MomentumOptimizer(0.1, 0.9), "learning_rate momentum"),
        (lambda t: t.AdadeltaOptimizer(0.1), "lr rho epsilon"),
        (lambda t: t.RMSPropOptimizer(0.1), "learning_rate decay momentum epsilon"),
        (lambda t: t.AdamOptimizer(0.1), "learning_rate beta1 beta2 epsilon"),
        (
            lambda t: t.ProximalAdagradOptimizer(0.1),
            "learning_rate l1_regularization_strength l2_regularization_strength",
        ),
    ],
)
def test_numbers_and_rows_have_tensorflow_s_names(make, numbers):
    with tf.Graph().as_default() as graph:
        rows = tf.compat.v1.get_variable("rows", initializer=[[1.0], [2.0]])
        make(tf.compat.v1.train).minimize(tf.reduce_sum(tf.gather(rows, [0, 0])), name="o")
        made = [op.name[2:] for op in graph.get_operations() if op.name.startswith("o/")]
    assert made[: len(numbers.split())] == numbers.split()
    row = [f"update_rows/{n}" for n in ("Unique", "Shape", "strided_slice", "UnsortedSegmentSum")]
    assert set(row) <= set(made)


def test_updates_on_several_devices_are_waited_for_on_each():
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            a = tf.compat.v1.get_variable("a", initializer=1.0)
        b = tf.compat.v1.get_variable("b", initializer=1.0)
        tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(a * b, name="o")
        waits = {
            op.name: op.device
            for op in graph.get_operations()
            if op.type == "NoOp" and op.name[0] == "o"
        }
    assert waits == {"o/NoOp": "", "o/NoOp_1": "/device:CPU:0", "o": ""}


@pytest.mark.parametrize("centered", [False, True])
def test_infinite_means_of_rows_stay_infinite_in_rmsprop(centered):
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=tf.ones([2]))
        optimizer = train.RMSPropOptimizer(0.1, 0.5, centered=centered)
        grad = tf.IndexedSlices(tf.constant([np.inf, 2.0]), tf.constant([0, 1]))
        step = optimizer.apply_gradients([(grad, w)])
        session.run(v1.global_variables_initializer())
        for _ in range(2):
            session.run(step)
        assert session.run(optimizer.get_slot(w, "rms")).tolist() == [np.inf, 3.25]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: v1.train.MomentumOptimizer(0.1, 0.9), [0.0622, 0.1244]),
        (lambda: v1.train.AdagradOptimizer(0.1), [0.7827, 1.7764]),
        (lambda: v1.train.RMSPropOptimizer(0.1, centered=True), [0.5591, 1.3633]),
        (lambda: v1.train.FtrlOptimizer(0.1), [0.6382, 1.6230]),
        (lambda: v1.train.ProximalAdagradOptimizer(0.1), [0.7827, 1.7764]),
    ],
)
def test_rows_of_tables_of_half_precision_are_updated_in_sessions(dtype, make, wanted):
    """The numbers are TensorFlow's for float16: its own rule for rows, in steps of a graph."""
    with tf.Graph().as_default(), v1.Session() as session:
        table = v1.get_variable("table", initializer=tf.cast([[1, 2], [3, 4], [-5, 6]], dtype))
        step = make().minimize(tf.reduce_sum(tf.gather(table, [0, 2]) ** 2))
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        found = session.run(table).astype(np.float32)
    np.testing.assert_allclose(found[0], wanted, rtol=4e-3 if dtype == "float16" else 3e-2)
    assert found[1].tolist() == [3, 4]
