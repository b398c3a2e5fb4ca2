"""Functions that the user hands to ours have their control flow converted as well."""

import pytest

import penstock as tf


def double_if_positive(x):
    if x > 0:
        return x * 2
    return x


def add_if_positive(a, b):
    if b > 0:
        return a + b
    return a


def step(x):
    if x > 4:
        x = x + 1
    else:
        x = x + 2
    return x


def below_ten(x):
    if x > 100:
        return False
    return x < 10


@tf.custom_gradient
def scaled(x):
    y = double_if_positive(x)

    def grad(upstream):
        if upstream > 0:
            return upstream * 3
        return upstream

    return y, grad


def _gradient(function):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return gradient


ROWS = [1, -2, 3]


@pytest.mark.parametrize(
    ("program", "given", "wanted"),
    [
        (lambda x: tf.map_fn(double_if_positive, x), ROWS, [2, -2, 6]),
        (lambda x: tf.scan(add_if_positive, x), ROWS, [1, 1, 4]),
        (lambda x: tf.foldl(add_if_positive, x), ROWS, 4),
        (lambda x: tf.foldr(add_if_positive, x), ROWS, 4),
        (lambda x: tf.while_loop(below_ten, step, [x])[0], 1, 10),
        (lambda x: tf.cond(x < 9, lambda: double_if_positive(x), lambda: x), 3, 6),
        (lambda x: tf.switch_case(x, [lambda: x, lambda: double_if_positive(x)]), 1, 2),
        (lambda x: tf.case([(x < 9, lambda: double_if_positive(x))]), 3, 6),
        (_gradient(scaled), 2.0, 3.0),
        (_gradient(tf.recompute_grad(double_if_positive)), 2.0, 2.0),
        (_gradient(tf.grad_pass_through(double_if_positive)), 2.0, 1.0),
    ],
)
def test_they_are_converted(program, given, wanted):
    assert tf.function(program)(tf.constant(given)).numpy().tolist() == wanted


def test_a_vectorized_body_with_a_branch_falls_back_or_vectorizes():
    function = tf.function(lambda x: tf.vectorized_map(double_if_positive, x))
    assert function(tf.constant(ROWS)).numpy().tolist() == [2, -2, 6]


def test_not_without_autograph():
    function = tf.function(lambda x: tf.scan(add_if_positive, x), autograph=False)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="Python `bool`"):
        function(tf.constant(ROWS))


# fmt: off
PAIR = [lambda x: x if x > 0 else -x, lambda x: x * 2 if x > 0 else -x * 3]
def bounded(a): return (lambda x: x if x > a else a), (lambda x: x * 10 if x > a else a)
def broken(): return (lambda x: x if x > 0 else -x), (lambda x: x if x > 0 else 1 // 0)
# fmt: on


def test_lambdas_of_one_line_are_told_apart():
    assert [int(tf.function(f)(tf.constant(-3))) for f in PAIR] == [3, 9]
    assert [int(tf.function(f)(tf.constant(7))) for f in bounded(5)] == [7, 70]
    assert [int(tf.function(f)(tf.constant(7))) for f in bounded(9)] == [9, 9]


def test_an_error_in_one_of_them_points_to_its_line():
    with pytest.raises(ZeroDivisionError) as caught:
        tf.function(broken()[1])(tf.constant(-3))
    line = broken.__code__.co_firstlineno
    assert any(e.path == __file__ or e.lineno + 1 == line for e in caught.traceback)
    assert caught.traceback[-1].lineno + 1 == line


def test_operands_of_comparison_chains_are_not_converted_twice():
    @tf.function
    def inside(a, b, c):
        return (a < b <= c) or (c < a and not b > c)

    for a, b, c in ((1, 2, 3), (3, 2, 1), (3, 1, 2)):
        wanted = a < b <= c or (c < a and not b > c)
        assert bool(inside(*map(tf.constant, (a, b, c)))) == wanted


class Pair(tf.experimental.ExtensionType):
    """A value made of tensors that a loop carries."""

    left: tf.Tensor
    right: tf.Tensor


def test_loops_carry_values_made_of_tensors():
    @tf.function
    def run(pair, rounds):
        total = None
        for _ in tf.range(rounds):
            pair = Pair(pair.right, pair.left + pair.right)
            total = Pair(pair.left, 2 * pair.right)
        return pair, total

    pair, total = run(Pair([0, 1], [1, 1]), tf.constant(3))
    assert [pair.left.numpy().tolist(), total.right.numpy().tolist()] == [[2, 3], [6, 10]]
