"""Updates of variables in one native call: which are found, and that they are what NumPy gives."""

import itertools

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.core import native
from penstock.core.execute import execute
from penstock.ops.optimizer_rules import RULES
from penstock.runtime import updates

SHAPES = ((37, 5), (600,), (2, 3, 100))  # whole registers, whole vectors and parts of both


@pytest.fixture
def calls(monkeypatch):
    """For each call the number of arrays of each group that got new values."""
    if not native.available():
        pytest.skip("no native kernels here")
    found = []

    def noting(groups, wanted):
        found.append(sorted(group.count for group in groups))
        return call(groups, wanted)

    call = updates.call
    monkeypatch.setattr(updates, "call", noting)
    monkeypatch.setattr(updates, "LEAST_ELEMENTS", 0)
    monkeypatch.setattr("penstock.runtime.regions.TINY_NODES", 0)  # nothing runs on the host
    return found


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def trained(build, count, shapes=SHAPES, steps=2):
    """The variables after some steps: `count` for each shape; the first may be negative."""
    variables = [
        [
            tf.Variable(draw(*shape, seed=i) if i == 0 else draw(*shape, seed=i) ** 2)
            for i in range(count)
        ]
        for shape in shapes
    ]
    step = tf.function(lambda *grads: [build(*v, g) for v, g in zip(variables, grads, strict=True)])
    for i in range(steps):
        step(*[tf.constant(draw(*shape, seed=10 + i)) for shape in shapes])
    return [each.numpy() for group in variables for each in group]


def beside_the_reference(monkeypatch, build, count, **options):
    """The variables after some steps, which must be those of the reference executor, bit by bit."""
    monkeypatch.setattr(updates, "LEAST_ARRAYS", 1)
    found = trained(build, count, **options)
    with monkeypatch.context() as patched:
        patched.setenv("PENSTOCK_EXECUTOR", "reference")
        wanted = trained(build, count, **options)
    for got, right in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, right)
    return found


# updates that programs spell out


def adam(p, m, v, g):
    m.assign(0.9 * m + 0.1 * g)
    v.assign(0.999 * v + 0.001 * g * g)
    p.assign_sub(1e-3 * m / (tf.sqrt(v) + 1e-8))


def momentum(p, m, g):
    m.assign(m * 0.9 - tf.maximum(tf.minimum(g, 1.0), -1.0))
    p.assign_add(0.1 * m)


def decayed_adagrad(p, v, g):
    g = tf.add_n([g, 0.01 * p, -tf.abs(p)])
    v.assign_add(tf.square(g))
    p.assign_sub(g * (1.0 / (tf.sqrt(v) + 1e-3)))


def average_of_new_weights(p, shadow, g):
    p.assign_sub(0.1 * g)
    shadow.assign(shadow - (shadow - p) * 0.25)


def exchanged(p, q, g):
    old = p * 1.0
    p.assign(q + g)
    q.assign(old)


@pytest.mark.parametrize(
    ("build", "count"),
    [(adam, 3), (momentum, 2), (decayed_adagrad, 2), (average_of_new_weights, 2), (exchanged, 2)],
)
def test_updates_that_are_spelled_out(monkeypatch, calls, build, count):
    beside_the_reference(monkeypatch, build, count)
    assert calls == [[count] * len(SHAPES)]


def test_a_variable_that_gets_its_old_value_again(calls):
    first, second = tf.Variable(draw(37, 5)), tf.Variable(draw(37, 5, seed=1))

    @tf.function
    def step():
        old = first.read_value()
        first.assign(first * 2.0 + second)
        second.assign_add(first)
        first.assign(old)

    step()
    np.testing.assert_array_equal(first, draw(37, 5))
    wanted = draw(37, 5, seed=1) + (draw(37, 5) * 2 + draw(37, 5, seed=1))
    np.testing.assert_allclose(second, wanted, rtol=1e-5, atol=1e-6)


def test_beside_the_plain_form(monkeypatch, calls):
    """XLA makes one rounding of a product and a sum; a sum of opposite numbers shows it."""
    found = trained(adam, 3)
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "updates")
    for got, right in zip(found, trained(adam, 3), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-6, atol=1e-7)
    assert len(calls) == 1


# operations of optimizers

NUMBERS = {
    "lr": 0.1, "alpha": 0.3, "l1": 0.01, "l2": 0.02, "momentum": 0.9, "rho": 0.9, "epsilon": 1e-3,
    "beta": 0.8, "beta1": 0.9, "beta2": 0.99, "beta1_power": 0.7, "beta2_power": 0.8,
    "sign_decay": 0.5, "logbase": 1.1, "l2_shrinkage": 0.1, "lr_power": -0.5,
}  # fmt: skip
POWERS = ("Ftrl", "FtrlV2", "PowerSign")  # of every element: they stay with XLA
FLAGS = ("use_nesterov", "update_slots")


def applied(name, flag):
    """An update by `ResourceApply<name>`, and how many variables it takes."""
    rule = RULES[name]
    slots = rule.slots.split()
    given = {each: flag for each in FLAGS if each in rule.attrs}

    def build(*variables_and_grad):
        *variables, grad = variables_and_grad
        named = dict(zip(slots, [v.handle for v in variables], strict=True))
        named |= {"grad": grad, "delta": grad, "global_step": tf.constant(3, tf.int64)}
        inputs = [named[n] if n in named else tf.constant(NUMBERS[n]) for n in rule.dense_inputs()]
        execute(f"ResourceApply{name}", tuple(inputs), given)

    return build, len(slots)


def forms():
    """All but those with powers, with both values of the attributes that choose a form."""
    for name, rule in RULES.items():
        if name not in POWERS:
            chooses = any(each in rule.attrs for each in FLAGS)
            yield from ((name, flag) for flag in ([False, True] if chooses else [False]))


@pytest.mark.parametrize(("name", "flag"), list(forms()))
def test_operations_of_optimizers(monkeypatch, calls, name, flag):
    build, count = applied(name, flag)
    beside_the_reference(monkeypatch, build, count, shapes=SHAPES[:2])
    kept = 1 if "update_slots" in RULES[name].attrs and not flag else 0
    assert calls == [[count - kept] * 2]


@pytest.mark.parametrize("name", POWERS)
def test_powers_stay_with_xla(calls, name):
    build, count = applied(name, False)
    trained(build, count, shapes=SHAPES[:1])
    assert not calls


def test_numbers_that_a_step_computes(monkeypatch, calls):
    """A clipped norm: numbers that are known in the step alone."""

    def build(p, m, g):
        scale = 1.0 / tf.maximum(tf.norm(g), 1.0)
        m.assign(m * 0.5 + g * scale)
        p.assign_sub(m * (scale * 0.5))

    found = trained(build, 2)
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    for got, right in zip(found, trained(build, 2), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-6, atol=1e-6)  # the norm is a sum
    assert calls == [[2] * len(SHAPES)]


def test_optimizers_of_the_first_generation(calls):
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        weights = [v1.get_variable(f"w{i}", [200 + i], use_resource=True) for i in range(3)]
        loss = tf.add_n([tf.reduce_sum(tf.square(w - 1.0)) for w in weights])
        train = v1.train.AdamOptimizer(0.1).minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            first = session.run(loss)
            for _ in range(40):
                session.run(train)
            assert session.run(loss) < 0.05 * first
    assert calls == [[3, 3, 3]]


# what stays with XLA


def read_elsewhere(p, m, g):
    m.assign(0.5 * m + g)
    p.assign_sub(0.1 * m)
    return tf.reduce_sum(m)  # of the new value


def scattered(p, m, g):
    m.scatter_nd_update([[0]], [1.0])
    p.assign_sub(0.1 * g)


def transposed(p, m, g):
    m.assign(0.5 * m + g[::-1])
    p.assign_sub(0.1 * tf.exp(m))


@pytest.mark.parametrize(
    ("build", "groups"), [(read_elsewhere, [[1]]), (scattered, [[1]]), (transposed, [[1]])]
)
def test_what_other_operations_see_is_left_alone(monkeypatch, calls, build, groups):
    """A new value that is read, rows that are set, and functions that are not in the table."""
    monkeypatch.setattr(updates, "LEAST_ARRAYS", 1)
    found = trained(build, 2, shapes=((50,),))
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    for got, right in zip(found, trained(build, 2, shapes=((50,),)), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-6, atol=1e-6)
    assert calls == groups


def test_another_dtype_is_left_alone(calls):
    v = tf.Variable(draw(100).astype(np.float64))
    tf.function(lambda: v.assign_sub(0.1 * v))()
    np.testing.assert_array_equal(v.numpy(), draw(100) - 0.1 * draw(100).astype(np.float64))
    assert not calls


def test_small_variables_are_left_alone(monkeypatch, calls):
    monkeypatch.setattr(updates, "LEAST_ELEMENTS", 1501)
    trained(momentum, 2, shapes=((250,), (500,)))
    assert not calls
    trained(momentum, 2, shapes=((251,), (500,)))
    assert calls == [[2, 2]]


# what else variables promise


def test_a_step_that_fails_changes_nothing(calls):
    p, m = tf.Variable(draw(300)), tf.Variable(draw(300, seed=1))

    @tf.function
    def step(g, labels):
        momentum(p, m, g)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=g[:4, None])

    labels, wrong = tf.constant([0, 0, 0, 0]), tf.constant([0, 0, 9, 0])
    with pytest.raises(errors.InvalidArgumentError):
        step(tf.constant(draw(300)), wrong)
    np.testing.assert_array_equal(p.numpy(), draw(300))
    np.testing.assert_array_equal(m.numpy(), draw(300, seed=1))
    step(tf.constant(draw(300)), labels)
    assert (p.numpy() != draw(300)).all()
    assert calls == [[2]]


def test_values_read_before_an_update_stay(calls):
    p, m = tf.Variable(draw(300)), tf.Variable(draw(300, seed=1))
    before, view = p.read_value(), p.numpy()
    step = tf.function(lambda g: momentum(p, m, g))
    step(tf.constant(draw(300)))
    np.testing.assert_array_equal(before.numpy(), draw(300))
    np.testing.assert_array_equal(view, draw(300))
    assert calls == [[2]]


def test_not_a_number_and_infinity_stay_what_they_are(monkeypatch, calls):
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 3e38], np.float32)

    def build(p, m, g):
        m.assign(tf.maximum(m, special) * tf.sqrt(tf.abs(p)))
        p.assign(tf.minimum(special, g) / p - m)

    found = beside_the_reference(monkeypatch, build, 2, shapes=((7,),))
    assert np.isnan(found[0][0])
    assert calls == [[2]]


def test_the_program_does_not_depend_on_addresses(monkeypatch, calls):
    """Else no process would find in the compilation cache what another one compiled."""
    programs = []
    call = native.call

    def noting(name, *rest, **attrs):
        programs.append(attrs["program"].tolist() if name == "update" else None)
        return call(name, *rest, **attrs)

    monkeypatch.setattr(native, "call", noting)
    for _ in range(3):
        trained(adam, 3)
    assert programs == programs[:1] * 3


def test_one_array_is_left_alone(calls):
    """XLA needs no more than one loop for it either."""
    trained(lambda p, g: p.assign_sub(0.1 * g), 1)
    trained(*applied("GradientDescent", False))
    assert not calls


def test_what_takes_too_many_steps_is_left_alone(calls):
    def build(p, m, g):
        m.assign(tf.add_n([g * (0.5 + i) for i in range(130)]) + m)
        p.assign_sub(0.1 * m)

    trained(build, 2, shapes=((50,),))
    assert not calls


def test_chains_are_cut_where_they_are_deep(monkeypatch, calls):
    monkeypatch.setattr(updates, "LEAST_ARRAYS", 1)

    def build(p, g):
        for i in range(60):
            g = g * (0.5 + i % 3) + p
        p.assign_sub(g * 1e-9)

    found = trained(build, 1, shapes=((40,),), steps=1)
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    (right,) = trained(build, 1, shapes=((40,),), steps=1)
    np.testing.assert_allclose(found[0], right, rtol=1e-5)
    assert calls == [[1]]


def test_lists_that_are_added_are_no_arrays(calls):
    """The gradient of a TensorArray that is read twice is a sum of lists."""
    weights = tf.Variable(draw(40, 8))
    mean = tf.Variable(tf.zeros([40, 8]))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            array = tf.TensorArray(tf.float32, 3).unstack(x * weights[:3])
            loss = tf.reduce_sum(array.stack() ** 2) + tf.reduce_sum(array.stack())
        momentum(weights, mean, tape.gradient(loss, weights))

    step(draw(3, 8))
    x, w = draw(3, 8), draw(40, 8)[:3]
    grad = np.clip((2 * x * w + 1) * x, -1, 1)
    np.testing.assert_allclose(mean.numpy()[:3], -grad, rtol=1e-5)
    np.testing.assert_array_equal(mean.numpy()[3:], 0)


# gradients that are products, computed inside of the call


def products_of(calls):
    """Of each call, the shapes of gradients that it computes itself."""
    return [
        sorted(made.shape for _, made in filter(None, (group.product for group in groups)))
        for groups in calls
    ]


@pytest.fixture
def written_groups(monkeypatch, calls):
    """The groups of each call."""
    found = []
    call = updates.call

    def noting(groups, wanted):
        found.append(list(groups))
        return call(groups, wanted)

    monkeypatch.setattr(updates, "call", noting)
    return found


def layer_trained(update, batch=20, sizes=(120, 130, 200), steps=2):
    """The variables of two layers after some steps of Adam, and the losses."""
    shapes = list(itertools.pairwise(sizes))
    weights = [tf.Variable(draw(*shape, seed=i) / 10) for i, shape in enumerate(shapes)]
    slots = [[tf.Variable(tf.zeros_like(w)) for _ in range(2)] for w in weights]

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.matmul(x, weights[0]))
            loss = tf.reduce_sum(tf.nn.relu(tf.matmul(h, weights[1])) ** 2)
        grads = tape.gradient(loss, weights)
        return [loss, *update(weights, slots, grads)]

    x = draw(batch, sizes[0], seed=9)
    losses = [step(tf.constant(x))[0].numpy() for _ in range(steps)]
    return losses + [v.numpy() for v in (*weights, *(s for pair in slots for s in pair))]


def all_adam(weights, slots, grads):
    for w, (m, v), g in zip(weights, slots, grads, strict=True):
        adam(w, m, v, g)
    return []


def equal_without(monkeypatch, *arguments, **options):
    """What training gives, which must be the same bits without the pattern."""
    found = layer_trained(*arguments, **options)
    with monkeypatch.context() as patched:
        patched.setenv("PENSTOCK_PATTERNS_OFF", "update_products")
        plain = layer_trained(*arguments, **options)
    for got, right in zip(found, plain, strict=True):
        np.testing.assert_array_equal(got, right)


def test_gradients_that_are_products(monkeypatch, written_groups):
    equal_without(monkeypatch, all_adam)
    assert products_of(written_groups) == [[(120, 130), (130, 200)], []]


def test_wide_and_deep_gradients(monkeypatch, written_groups):
    equal_without(monkeypatch, all_adam, batch=300, sizes=(512, 2500, 60))
    equal_without(monkeypatch, all_adam, batch=300, sizes=(2048, 1500, 2200), steps=1)
    assert products_of(written_groups) == [[(512, 2500)], [], [(1500, 2200), (2048, 1500)], []]


def test_operands_larger_than_gradients_are_not_kept(monkeypatch, written_groups):
    equal_without(monkeypatch, all_adam, batch=400)
    assert products_of(written_groups) == [[], []]


def fetched_too(weights, slots, grads):
    all_adam(weights, slots, grads)
    return grads[:1]


def summed_too(weights, slots, grads):
    norm = tf.sqrt(tf.add_n([tf.reduce_sum(g * g) for g in grads]))
    all_adam(weights, slots, [g / norm for g in grads[:1]] + grads[1:])
    return []


def decayed(weights, slots, grads):
    all_adam(weights, slots, [g + 0.01 * w for g, w in zip(grads, weights, strict=True)])
    return []


def for_two(weights, slots, grads):
    all_adam(weights, slots, grads)
    weights[0].assign_add(grads[0] * 0.1)
    return []


@pytest.mark.parametrize(
    ("update", "computed"),
    [
        (fetched_too, [(130, 200)]),
        (summed_too, []),
        (decayed, [(120, 130), (130, 200)]),
        (for_two, [(120, 130), (130, 200)]),
    ],
)
def test_gradients_that_others_use_stay_in_memory(monkeypatch, written_groups, update, computed):
    equal_without(monkeypatch, update)
    assert products_of(written_groups)[0] == computed


def test_a_failed_step_changes_nothing(written_groups):
    weight = tf.Variable(draw(100, 170))
    mean = tf.Variable(tf.zeros([100, 170]))

    @tf.function
    def step(x, y):
        grad = tf.matmul(tf.debugging.check_numerics(x, "x"), y, transpose_a=True)
        mean.assign(0.9 * mean + 0.1 * grad)
        weight.assign_sub(0.1 * mean)

    x, y = draw(20, 100), tf.constant(draw(20, 170, seed=1))
    step(tf.constant(x), y)
    before = weight.numpy(), mean.numpy()
    np.testing.assert_allclose(before[1], 0.1 * (x.T @ y.numpy()), rtol=1e-4, atol=1e-5)
    with pytest.raises(errors.InvalidArgumentError):
        step(tf.constant(np.where(x > 2, np.float32(np.inf), x)), y)
    np.testing.assert_array_equal(weight, before[0])
    np.testing.assert_array_equal(mean, before[1])
    assert products_of(written_groups) == [[(100, 170)]]


@pytest.mark.parametrize("transpose", [(True, False), (False, True)])
def test_gradients_of_what_the_call_changes_stay_in_memory(written_groups, transpose):
    """Blocks would see what those before them updated."""
    start = draw(256, 256) / 10
    weight, mean = tf.Variable(start), tf.Variable(tf.zeros([256, 256]))

    @tf.function
    def step():
        grad = tf.matmul(weight, weight, transpose_a=transpose[0], transpose_b=transpose[1])
        mean.assign(0.9 * mean + 0.1 * grad)
        weight.assign_sub(10.0 * mean)

    step()
    right = 0.1 * (start.T @ start if transpose[0] else start @ start.T)
    np.testing.assert_allclose(mean, right, rtol=1e-4, atol=1e-5)
    assert products_of(written_groups) == [[]]
