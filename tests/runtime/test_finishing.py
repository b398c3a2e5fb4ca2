"""Products with what follows them in one call: where they are, where not, and that bits stay."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native
from penstock.core.products import Product

M, K, N = 37, 100, 130  # parts of tiles on all sides


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


A, B, BIAS, BESIDE = (draw(*s, seed=i) for i, s in enumerate([(M, K), (K, N), (N,), (M, N)]))


@pytest.fixture
def calls(monkeypatch):
    """The products that were called finished; longer chains come after shorter ones."""
    if not native.available():
        pytest.skip("no native kernels here")
    found = []
    call = Product.call

    def noting(self):
        found.append(self)
        return call(self)

    monkeypatch.setattr(Product, "call", noting)
    monkeypatch.setattr("penstock.runtime.regions.TINY_NODES", 0)  # nothing runs on the host
    return found


def kind(product):
    """Which parts a product has, in the order in which they are applied."""
    names = ("bias", "beside", "gate")
    parts = [name for name in names if getattr(product, name) is not None]
    return [*parts, *filter(None, [product.activation])]


def both(monkeypatch, function, *arguments):
    """What a function gives with and without the pattern, which must be the same bits."""
    given = [tf.constant(each) for each in arguments]
    found = tf.nest.flatten(tf.function(function)(*given))
    with monkeypatch.context() as patched:
        patched.setenv("PENSTOCK_PATTERNS_OFF", "product_finish")
        plain = tf.nest.flatten(tf.function(lambda *args: function(*args))(*given))
    for got, right in zip(found, plain, strict=True):
        np.testing.assert_array_equal(got, right)
    return found


def relu_grad(gradients, features):
    return tf.raw_ops.ReluGrad(gradients=gradients, features=features)


CHAINS = {
    "bias": (lambda y: tf.nn.bias_add(y, BIAS), ["bias"]),
    "added vector": (lambda y: y + BIAS, ["bias"]),
    "vector first": (lambda y: BIAS + y, ["bias"]),
    "relu": (tf.nn.relu, ["Relu"]),
    "bias, relu6": (lambda y: tf.nn.relu6(y + BIAS), ["bias", "Relu6"]),
    "beside": (lambda y: BESIDE + y, ["beside"]),
    "in a sum of two": (lambda y: tf.add_n([BESIDE, y]), ["beside"]),
    "all": (lambda y: tf.nn.relu(BESIDE + (y + BIAS)), ["bias", "beside", "Relu"]),
    "gate": (lambda y: relu_grad(y, BESIDE), ["gate"]),
    "beside, gate": (lambda y: relu_grad(y + BESIDE, -BESIDE), ["beside", "gate"]),
    "no bias after what lies beside": (lambda y: (y + BESIDE) + BIAS, ["beside"]),
    "nothing after relu": (lambda y: tf.nn.relu(y) + BIAS, ["Relu"]),
}


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_taken(monkeypatch, calls, name):
    follow, parts = CHAINS[name]
    (found,) = both(monkeypatch, lambda a, b: follow(tf.matmul(a, b)), A, B)
    assert kind(calls[-1]) == parts
    right = follow(tf.constant((A.astype(np.float64) @ B).astype(np.float32)))
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("adj_a", [False, True])
@pytest.mark.parametrize("adj_b", [False, True])
@pytest.mark.parametrize("shape", [(M, K, N), (200, 600, 40), (800, 33, 10)])
def test_transposed_products(monkeypatch, calls, adj_a, adj_b, shape):
    m, k, n = shape
    a = draw(*((k, m) if adj_a else (m, k)))
    b = draw(*((n, k) if adj_b else (k, n)), seed=1)

    def layer(a, b, bias):
        return tf.nn.relu(tf.matmul(a, b, transpose_a=adj_a, transpose_b=adj_b) + bias)

    (found,) = both(monkeypatch, layer, a, b, draw(n, seed=2))
    assert kind(calls[-1]) == ["bias", "Relu"]
    left, right = (a.T if adj_a else a), (b.T if adj_b else b)
    wanted = np.maximum(left.astype(np.float64) @ right + draw(n, seed=2), 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def fetched(a, b):
    y = tf.matmul(a, b)
    return y, tf.nn.relu(y)


def used_twice(a, b):
    y = tf.matmul(a, b)
    return tf.nn.relu(y), tf.reduce_sum(y)


def used_by_way_of_an_identity(a, b):
    y = tf.matmul(a, b)
    return tf.nn.relu(tf.raw_ops.Snapshot(input=y)), tf.exp(-tf.abs(y))


LEFT = {
    "fetched": fetched,
    "used twice": used_twice,
    "by way of an identity": used_by_way_of_an_identity,
    "added to itself": lambda a, b: (lambda y: y + y)(tf.matmul(a, b)),
    "a column": lambda a, b: tf.matmul(a, b) + draw(M, 1),
    "a number": lambda a, b: tf.matmul(a, b) + 1.0,
    "the gate of another": lambda a, b: relu_grad(tf.constant(BESIDE), tf.matmul(a, b)),
    "small": lambda a, b: tf.nn.relu(tf.matmul(a[:4], b)),
    "a batch": lambda a, b: tf.nn.relu(tf.matmul(tf.stack([a, a]), tf.stack([b, b]))),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(monkeypatch, calls, name):
    both(monkeypatch, LEFT[name], A, B)
    assert not calls


def test_other_dtypes_are_left(monkeypatch, calls):
    both(monkeypatch, lambda a, b: tf.nn.relu(tf.matmul(a, b)), *(np.float64(x) for x in (A, B)))
    assert not calls


def test_numbers_that_are_none(monkeypatch, calls):
    a = A.copy()
    a[0, 0], a[1, 0], a[2, 0] = np.nan, np.inf, -np.inf
    (found,) = both(monkeypatch, lambda a, b: tf.nn.relu(tf.matmul(a, b) + BIAS), a, B)
    assert kind(calls[-1]) == ["bias", "Relu"]
    assert np.isnan(found.numpy()[0]).all()
    assert set(np.unique(found.numpy()[1:3])) == {0.0, np.inf}


def test_the_steps_of_two_layers(monkeypatch, calls):
    """Forward products take bias and Relu, the gradient by the input the first Relu's gradient."""

    def step(x, w, b, w2, b2):
        with tf.GradientTape() as tape:
            tape.watch([w, b, w2, b2])
            h = tf.nn.relu(tf.matmul(x, w) + b)
            loss = tf.reduce_sum((tf.matmul(h, w2) + b2) ** 2)
        return tape.gradient(loss, [w, b, w2, b2])

    both(monkeypatch, step, A, B, BIAS, draw(N, K, seed=5), draw(K, seed=6))
    assert [kind(each) for each in calls] == [["bias"], ["bias", "Relu"], ["bias"], ["gate"]]


def test_a_variable_in_a_session(monkeypatch, calls):
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, K])
        w = tf.compat.v1.get_variable("w", initializer=B)
        y = tf.nn.relu(tf.matmul(x, w) + BIAS)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            for _ in range(3):  # sizes that come back are compiled
                found = session.run(y, {x: A})
    assert kind(calls[-1]) == ["bias", "Relu"]
    np.testing.assert_allclose(found, np.maximum(A @ B + BIAS, 0), rtol=1e-4, atol=1e-4)
