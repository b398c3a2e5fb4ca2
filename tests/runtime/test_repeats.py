"""Rounds of equal operations that become a loop: what is found, and that results stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.runtime import executable, repeats

ROUNDS = 100


@pytest.fixture
def found(monkeypatch):
    """The (rounds, operations of a round) of each repeat of what is compiled."""
    log = []

    def find(*given):
        result = repeats.find_repeats(*given)
        log.extend((len(r.rounds), len(r.form)) for r in result)
        return result

    monkeypatch.setattr(executable, "find_repeats", find)
    return log


def ints(*shape):
    return tf.constant(np.random.default_rng(0).integers(-9, 9, shape), tf.int32)


def agrees(program, *inputs):
    """The program gives the same traced as it gives operation by operation."""
    got, want = tf.function(program, autograph=False)(*inputs), program(*inputs)
    for one, other in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_a_chain_is_a_loop(found):
    def program(x, y):
        for _ in range(ROUNDS):
            x = tf.bitwise.bitwise_xor(x * 3 + 1, y)
        return x

    agrees(program, ints(7), ints(7))
    assert found == [(ROUNDS, 3)]


def test_floats_have_the_bits_of_the_chain(found, monkeypatch):
    def program(x):
        for _ in range(ROUNDS):
            x = tf.tanh(x * 1.01 + 0.1)
        return x

    x = tf.constant(np.random.default_rng(0).normal(size=100), tf.float32)
    looped = tf.function(program, autograph=False)(x)
    assert found == [(ROUNDS, 3)]
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "repeats")
    chained = tf.function(program, autograph=False)(x)
    assert found == [(ROUNDS, 3)]
    np.testing.assert_array_equal(looped.numpy(), chained.numpy())


def test_several_values_are_handed_on_and_constants_differ(found):
    def program(x, v):
        for i in range(ROUNDS):
            a = x * v + (i * i)
            x, v = x + v, tf.maximum(a, x) - i
        return x, v

    agrees(program, ints(3, 2), ints(3, 2))
    assert len(found) == 1
    rounds, size = found[0]
    assert rounds >= ROUNDS - 2
    assert size == 5


def test_constants_that_are_arrays_are_taken_in_their_rounds(found):
    rows = np.random.default_rng(1).integers(-5, 5, (ROUNDS, 4)).astype(np.int32)

    def program(x):
        for row in rows:
            x = (x + row) * 3 - x
        return x

    agrees(program, ints(2, 4))
    assert found == [(ROUNDS, 3)]


def test_a_first_round_that_begins_otherwise_is_left_out(found):
    def program(x, y, z):
        x = (x * y + z) * y - x  # takes `x` in two places that are two values later
        other = x
        for _ in range(ROUNDS):
            x, other = (x * y + z) * y - other, x
            other = x
        return x

    agrees(program, ints(5), ints(5), ints(5))
    assert len(found) == 1


def test_what_others_use_of_a_round_splits_the_loop(found):
    def program(x):
        seen = []
        for i in range(ROUNDS):
            half = x * 5 + 7
            x = tf.bitwise.bitwise_xor(half, x) - 2
            if i == 9:
                seen.append(half)
        return [x, *seen]

    agrees(program, ints(6))
    assert found == [(ROUNDS - 10, 4)]


def test_values_that_are_handed_on_may_be_used_anywhere(found):
    def program(x):
        seen = []
        for i in range(2 * ROUNDS):
            x = tf.bitwise.bitwise_xor(x * 5 + 7, 3)
            if i == ROUNDS - 1:
                seen.append(x)
        return [x + seen[0], *seen]

    agrees(program, ints(6))
    assert found == [(ROUNDS, 3), (ROUNDS, 3)]


@pytest.mark.parametrize(
    ("size", "rounds"),
    [((3,), 20), ((repeats.LARGEST + 1,), ROUNDS)],
    ids=["few operations", "large values"],
)
def test_left_alone(found, size, rounds):
    def program(x):
        for _ in range(rounds):
            x = (x * 5 + 7) * 3
        return x

    agrees(program, ints(*size))
    assert found == []


def test_what_takes_values_of_two_rounds_before_is_a_loop_of_two(found):
    def program(x, y):
        for _ in range(3 * ROUNDS):
            x, y = y, x + y
        return x, y

    agrees(program, ints(4), ints(4))
    assert found == [(150, 2)]


def test_products_state_and_random_numbers_stay_in_the_chain(found, monkeypatch):
    monkeypatch.setattr(repeats, "LEAST_NODES", 32)
    variable = tf.Variable(tf.zeros([3, 3]))

    @tf.function(autograph=False)
    def program(x):
        for _ in range(repeats.LEAST_ROUNDS):
            x = tf.matmul(x, x) * 0.1
            variable.assign_add(x)
            x = x + tf.random.uniform([3, 3])
        return x

    program(tf.ones([3, 3]))
    assert found == []


def test_gradients_keep_the_values_they_need(found):
    def program(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(ROUNDS):
                y = tf.sin(y) * 1.1 + x
        return y, tape.gradient(y, x)

    x = tf.constant([0.3, -1.2])
    got, want = tf.function(program, autograph=False)(x), program(x)
    np.testing.assert_allclose(got, want, rtol=1e-4)


def test_rounds_on_what_is_known_stay_known():
    """A shape that is computed in many rounds is a shape."""

    @tf.function(autograph=False)
    def program(x):
        size = tf.shape(x)[0]
        for _ in range(ROUNDS):
            size = (size * 3 + 1) % 7 + 1
        return tf.zeros([size]) + tf.reduce_sum(x)

    size = 5
    for _ in range(ROUNDS):
        size = (size * 3 + 1) % 7 + 1
    assert program(tf.ones([5])).shape == (size,)


def test_the_pattern_can_be_switched_off(found, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "repeats")
    test = tf.function(lambda x: [x := x * 3 + 1 for _ in range(2 * ROUNDS)][-1], autograph=False)
    test(ints(5))
    assert found == []


STEPS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "xor": tf.bitwise.bitwise_xor,
    "max": tf.maximum,
    "less": lambda a, b: a - b,
}
CHOICE = st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9))


PROGRAM = st.tuples(
    st.lists(CHOICE, min_size=1, max_size=8),
    st.integers(1, 3),
    st.lists(st.integers(0, 23), max_size=2),
    st.booleans(),
)


def rounds_of(steps, carried, leaks, constants):
    """A program of 24 rounds in any wiring, of which some are seen from outside."""

    def program(*values):
        values, outside, seen = list(values), values[0], []
        for i in range(24):
            own = [*values, outside, tf.constant(i if constants else 3)]
            for name, a, b in steps:
                own.append(STEPS[name](own[a % len(own)], own[b % len(own)]))
            if i in leaks:
                seen.append(own[len(own) // 2])
            values = [tf.broadcast_to(v, [4]) for v in own[-carried:]]
        return [*values, *seen]

    return program


def test_rounds_that_xla_gives_up_on_agree():
    """JAX 0.10.2 raises `Unknown MLIR failure` for these where XLA's fusion emitters are on."""
    steps = [("mul", 1, 0), ("less", 5, 9), ("less", 8, 3), ("add", 4, 5)]
    steps += [("xor", 4, 0), ("xor", 3, 9), ("add", 0, 5), ("less", 2, 5)]
    agrees(rounds_of(steps, 3, [18, 14], False), *(ints(4) for _ in range(3)))


def test_random_rounds_agree(found, monkeypatch):
    monkeypatch.setattr(repeats, "LEAST_ROUNDS", 4)
    monkeypatch.setattr(repeats, "LEAST_NODES", 16)

    @settings(max_examples=40, deadline=None, database=None)
    @given(PROGRAM)
    def check(drawn):
        agrees(rounds_of(*drawn), *(ints(4) for _ in range(drawn[1])))

    check()
    assert len(found) >= 10
    assert len({size for _, size in found}) >= 3
