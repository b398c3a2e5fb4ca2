"""Random numbers: TensorFlow's streams, seeds, and the distributions they follow."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.ops import random_draw, random_state
from penstock.ops import random_philox as philox
from penstock.types import dtypes

ROOT = Path(__file__).resolve().parents[2]
FACTS = json.loads((ROOT / "tests" / "data" / "tf_random.json").read_text())
NORMAL = 1e-6  # by how much logarithm, root and sine may differ


@pytest.fixture(scope="module")
def drawn() -> dict[str, Any]:
    """The same texts, evaluated with Penstock."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("tf_facts_random").draw(tf)  # type: ignore[no-any-return]
    finally:
        sys.path.remove(str(ROOT / "tools"))


def _tolerance(text: str) -> float:
    if "ormal" not in text:
        return 0.0
    return {"float16": 2e-3, "bfloat16": 2e-2}.get(text.rpartition("dtype='")[2][:-2], 4 * NORMAL)


@pytest.mark.parametrize("group", ["alone", "in_order", "graph"])
def test_numbers_are_tensorflows(drawn: dict[str, Any], group: str) -> None:
    """Uniform numbers, integers, orders and classes bit for bit; normal ones nearly."""
    for text, wanted in FACTS[group].items():
        got = np.array(drawn[group][text])
        np.testing.assert_allclose(got, np.array(wanted), 0, _tolerance(text), err_msg=text)


def test_seeds_are_tensorflows(drawn: dict[str, Any]) -> None:
    """What global and operation seeds make together."""
    assert drawn["seeds"] == FACTS["seeds"]


def test_without_a_seed_every_start_differs() -> None:
    """Nobody chose a seed: two operations, and two graphs, draw different numbers."""
    with tf.Graph().as_default() as graph:
        a, b = tf.random.uniform([4]), tf.random.uniform([4])
    with tf.compat.v1.Session(graph=graph) as one, tf.compat.v1.Session(graph=graph) as two:
        first, second = one.run([a, b])
        assert not np.array_equal(first, second)
        assert not np.array_equal(first, two.run(a))


def test_no_seed_takes_the_seed_away() -> None:
    tf.random.set_seed(5)
    first = [tf.random.uniform([]).numpy() for _ in range(2)]
    tf.random.set_seed(None)
    assert [tf.random.uniform([]).numpy() for _ in range(2)] != first
    tf.random.set_seed(5)
    assert [tf.random.uniform([]).numpy() for _ in range(2)] == first


def test_set_seed_starts_again() -> None:
    """The same program after the same seed draws the same."""

    def program() -> list[float]:
        tf.random.set_seed(5)
        parts = [tf.random.uniform([3]), tf.random.uniform([2], seed=4), tf.random.normal([3])]
        return [x for p in parts for x in p.numpy().tolist()]

    assert program() == program()


def test_a_function_keeps_its_place() -> None:
    """A traced function draws on from call to call."""
    tf.random.set_seed(5)
    function = tf.function(lambda: tf.random.uniform([4]))
    first, second = function().numpy(), function().numpy()
    assert not np.array_equal(first, second)


def _in_a_loop() -> Any:
    def body(i: Any, total: Any) -> Any:
        return i + 1, total + tf.random.uniform([])

    return tf.while_loop(lambda i, _: i < 3, body, [0, 0.0])[1]


@pytest.mark.parametrize(
    "draw", [lambda: tf.random.uniform([]), lambda: tf.random.normal([], seed=3), _in_a_loop]
)
def test_set_seed_starts_traced_functions_again(draw: Any) -> None:
    function = tf.function(draw)

    def program() -> list[float]:
        tf.random.set_seed(5)
        return [float(function()) for _ in range(3)]

    first = program()
    assert len(set(first)) == 3
    assert program() == first


def test_set_seed_in_eager_code_leaves_sessions_alone() -> None:
    with tf.Graph().as_default() as graph:
        draw = tf.random.uniform([], seed=2)
    with tf.compat.v1.Session(graph=graph) as session:
        first = session.run(draw)
    with tf.compat.v1.Session(graph=graph) as session:
        again = [session.run(draw)]
        tf.random.set_seed(5)
        again.append(session.run(draw))
    assert again[0] == first
    assert again[1] != again[0]


@pytest.mark.parametrize("kind", ["uniform", "normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
def test_compiled_draws_equal_host_draws(kind: str, dtype: Any, monkeypatch: Any) -> None:
    """One stream whichever way it is computed, at sizes that fill no power of two."""
    stream = random_state.stream_of(np.array([3, 2**64 - 2, 7], np.uint64))
    on_host = random_draw.draw(kind, stream, (37, 29), dtype)
    monkeypatch.setattr(random_draw, "COMPILED_FROM", 0)
    compiled = random_draw.draw(kind, stream, (37, 29), dtype)
    np.testing.assert_allclose(compiled, on_host, 0, 0 if kind == "uniform" else 2e-6)


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_truncated_numbers_are_the_same_in_functions(dtype: Any) -> None:
    """Sizes that fill no group and several shares of the work, single numbers of a seed and key."""
    for shape in ([5003], [83, 101], [3]):
        draw = lambda: tf.random.stateless_truncated_normal(shape, [3, 4], dtype=dtype)  # noqa: B023, E731
        old = lambda: tf.raw_ops.StatelessTruncatedNormal(shape=shape, seed=[3, 4], dtype=dtype)  # noqa: B023, E731
        for each in (draw, old):
            wanted = each().numpy()
            for jit in (None, True):
                found = tf.function(each, jit_compile=jit)().numpy()
                np.testing.assert_allclose(found, wanted, 0, 1e-3 if dtype == tf.float16 else 2e-6)


def test_stateful_truncated_numbers_of_functions() -> None:
    def program(compiled: bool) -> Any:
        tf.random.set_seed(7)
        draw = tf.function(lambda: tf.random.truncated_normal([70_000], seed=2) * 1.0)
        draw = tf.function(draw, jit_compile=True) if compiled else draw
        return [draw().numpy() for _ in range(2)]

    first, again, compiled = program(False), program(False), program(True)
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0], first[1])
    assert max(abs(x).max() for x in (*first, *compiled)) < 2


def test_integers_stay_in_range_and_reach_its_ends() -> None:
    """[minval, maxval) with both ends."""
    got = tf.random.stateless_uniform([4000], [1, 2], -3, 4, dtype=tf.int32).numpy()
    assert (got.min(), got.max()) == (-3, 3)


def test_moments_of_the_distributions() -> None:
    """Mean and variance of 100,000 numbers, within five standard errors."""
    count = 100_000
    normal = tf.random.stateless_normal([count], [3, 4]).numpy().astype(np.float64)
    uniform = tf.random.stateless_uniform([count], [3, 4]).numpy().astype(np.float64)
    clipped = tf.random.stateless_truncated_normal([count], [3, 4]).numpy().astype(np.float64)
    for sample, mean, variance in ((normal, 0, 1), (uniform, 0.5, 1 / 12), (clipped, 0, 0.7737)):
        error = 5 * np.sqrt(variance / count)
        assert abs(sample.mean() - mean) < error
        assert abs(sample.var() - variance) < 5 * variance * np.sqrt(2 / count)
    assert abs(clipped).max() < 2


def test_classes_follow_their_probabilities() -> None:
    """Frequencies of 60,000 draws, within five standard errors; impossible classes never."""
    logits = np.log(np.array([[0.5, 0.3, 0.2, 1e-300]])).astype(np.float32)
    got = tf.random.stateless_categorical(logits, 60_000, [1, 2]).numpy().reshape(-1)
    for number, share in enumerate((0.5, 0.3, 0.2, 0.0)):
        found = (got == number).mean()
        assert abs(found - share) <= 5 * np.sqrt(share * (1 - share) / got.size)


def test_a_shuffle_keeps_the_rows() -> None:
    """Every row once, whole."""
    rows = np.arange(200).reshape(100, 2)
    got = tf.random.shuffle(rows, seed=1).numpy()
    assert not np.array_equal(got, rows)
    np.testing.assert_array_equal(got[got[:, 0].argsort()], rows)


def test_dropout_drops_its_share_and_keeps_the_mean() -> None:
    """Kept elements are scaled by 1 / (1 - rate); the share dropped is the rate."""
    got = tf.nn.dropout(tf.ones([20_000]), 0.3, seed=1).numpy()
    np.testing.assert_allclose(got[got != 0], 1 / 0.7, 1e-6)
    assert abs((got == 0).mean() - 0.3) < 5 * np.sqrt(0.21 / got.size)


def test_dropout_along_an_axis_shares_its_choice() -> None:
    """A noise shape of 1 drops whole rows."""
    got = tf.nn.dropout(tf.ones([50, 4]), 0.5, noise_shape=[None, 1], seed=1).numpy()
    assert (got == got[:, :1]).all()
    assert 0 < (got == 0).mean() < 1


def test_the_counter_carries_into_its_upper_half() -> None:
    """Block 2**64 comes after block 2**64 - 1."""
    below = philox.Stream(np.uint64(5), np.uint64(2**64 - 1), np.uint64(8))
    above = philox.Stream(np.uint64(5), np.uint64(0), np.uint64(9))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(philox.words(np, below, 8)[4:], philox.words(np, above, 4))


SHAPE, SEED = [3, 4], [5, 6]
KEY = {"key": np.uint64([7]), "counter": np.uint64([8, 9]), "alg": 1}
DRAW = {"seed": 3, "seed2": 4}
BOUNDS = {"minval": -4, "maxval": 9}
ROWS = np.arange(24).reshape(12, 2)
LOGITS = np.float32([[0, 1, 2], [2, 1, 0]])
CALLS: dict[str, dict[str, Any]] = {
    "RandomUniform": {"shape": SHAPE, "dtype": "float32", **DRAW},
    "RandomUniformInt": {"shape": SHAPE, **BOUNDS, **DRAW},
    "RandomStandardNormal": {"shape": SHAPE, "dtype": "float32", **DRAW},
    "TruncatedNormal": {"shape": SHAPE, "dtype": "float32", **DRAW},
    "RandomShuffle": {"value": ROWS, **DRAW},
    "Multinomial": {"logits": LOGITS, "num_samples": 5, **DRAW},
    "StatelessRandomUniform": {"shape": SHAPE, "seed": SEED},
    "StatelessRandomUniformV2": {"shape": SHAPE, **KEY},
    "StatelessRandomUniformInt": {"shape": SHAPE, "seed": SEED, **BOUNDS},
    "StatelessRandomUniformIntV2": {"shape": SHAPE, **KEY, **BOUNDS},
    "StatelessRandomUniformFullInt": {"shape": SHAPE, "seed": SEED},
    "StatelessRandomUniformFullIntV2": {"shape": SHAPE, **KEY},
    "StatelessRandomNormal": {"shape": SHAPE, "seed": SEED},
    "StatelessRandomNormalV2": {"shape": SHAPE, **KEY},
    "StatelessTruncatedNormal": {"shape": SHAPE, "seed": SEED},
    "StatelessTruncatedNormalV2": {"shape": SHAPE, **KEY},
    "StatelessRandomGetKeyCounter": {"seed": SEED},
    "StatelessRandomGetKeyCounterAlg": {"seed": SEED},
    "StatelessRandomGetAlg": {},
    "StatelessShuffle": {"value": ROWS, **KEY},
    "StatelessMultinomial": {"logits": LOGITS, "num_samples": 5, "seed": SEED},
}


def _arrays(result: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(r) for r in tf.nest.flatten(result)]


@pytest.mark.parametrize("name", CALLS)
def test_a_session_draws_what_an_eager_call_draws(name: str) -> None:
    """Two draws of each operation, at once and in a step compiled with what follows it."""
    operation, inputs = getattr(tf.raw_ops, name), CALLS[name]
    tf.random.set_seed(0)
    eager = [_arrays(operation(**inputs)) for _ in range(2)]
    with tf.Graph().as_default() as graph:
        outputs = [tf.identity(t) for t in tf.nest.flatten(operation(**inputs))]
    for output, array in zip(outputs, eager[0], strict=True):
        assert output.shape.is_compatible_with(array.shape)
    with tf.compat.v1.Session(graph=graph) as session:
        for expected in eager:
            for got, wanted in zip(session.run(outputs), expected, strict=True):
                assert got.dtype == wanted.dtype
                np.testing.assert_allclose(got, wanted, 0, 2e-6 if "ormal" in name else 0)


@pytest.mark.parametrize("name", ["RandomUniform", "RandomStandardNormal", "TruncatedNormal"])
def test_a_draw_of_a_size_known_late_is_repeatable(name: str) -> None:
    """The shape is fed: sessions agree with each other, step by step, and steps differ."""
    with tf.Graph().as_default() as graph:
        shape = tf.compat.v1.placeholder(tf.int32, [2])
        drawn = getattr(tf.raw_ops, name)(shape=shape, dtype="float32", seed=1, seed2=2)
    runs = []
    for _ in range(2):
        with tf.compat.v1.Session(graph=graph) as session:
            runs.append([session.run(drawn, {shape: [n, 3]}) for n in (2, 4, 2, 4)])
    for one, other in zip(*runs, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(runs[0][0], runs[0][2])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tf.random.uniform([2], dtype=tf.int32), ValueError, "Must specify maxval"),
        (lambda: tf.random.uniform([2], dtype=tf.uint8), ValueError, "Accepted dtypes"),
        (lambda: tf.random.uniform([2], 5, 5, tf.int32), errors.InvalidArgumentError, "5 >= 5"),
        (lambda: tf.random.uniform([-1]), errors.InvalidArgumentError, "dimensions >= 0"),
        (lambda: tf.random.uniform(2), errors.InvalidArgumentError, "vector"),
        (lambda: tf.random.stateless_uniform([2], [1, 2, 3]), errors.InvalidArgumentError, "seed"),
        (lambda: tf.random.stateless_uniform([2], [1, 2], alg="x"), ValueError, "alg"),
        (lambda: tf.random.categorical([1.0], 2), errors.InvalidArgumentError, "rank 2"),
        (lambda: tf.random.categorical([[1.0]], -1), errors.InvalidArgumentError, "non-negative"),
        (lambda: tf.random.set_seed([1]), TypeError, "seed"),
        (lambda: tf.nn.dropout([1.0], 1.0), ValueError, "range"),
        (lambda: tf.nn.dropout([1], 0.5), ValueError, "floating"),
        (lambda: tf.compat.v1.nn.dropout([1.0]), ValueError, "must be provided"),
    ],
)
def test_refusals(call: Any, error: Any, words: str) -> None:
    """Bad arguments, with TensorFlow's classes."""
    with pytest.raises(error, match=words):
        call()


def test_seeds_that_are_no_integers() -> None:
    """The global seed takes what the operations, which are TensorFlow's then, can use."""
    tf.random.set_seed(1.5)
    np.testing.assert_allclose(tf.random.uniform([2]), [0.3587866, 0.8069652])
    tf.random.set_seed(np.float32(2.7))
    np.testing.assert_allclose(tf.random.uniform([2]), [0.14690244, 0.46425676], rtol=1e-6)
    tf.random.set_seed("a")
    with pytest.raises(TypeError, match="expected integer seeds"):
        tf.random.uniform([2])
    tf.random.set_seed(1)


@pytest.mark.parametrize("low", [0, 2**64 - 2])
@pytest.mark.parametrize("high", [7, 2**64 - 1])
def test_a_few_blocks_are_the_first_of_many(low, high) -> None:
    stream = philox.Stream(np.uint64(0x0123456789ABCDEF), np.uint64(low), np.uint64(high))
    with np.errstate(over="ignore"):
        many = philox.blocks(np, stream, np.arange(philox.FEW + 5, dtype=np.uint64))
        few = philox.blocks(np, stream, np.arange(philox.FEW, dtype=np.uint64))
    for long, short in zip(many, few, strict=True):
        assert short.dtype == long.dtype == np.uint32
        np.testing.assert_array_equal(short, long[: philox.FEW])


@pytest.mark.parametrize("jit_compile", [None, True])
@pytest.mark.parametrize("draw", [tf.random.stateless_normal, tf.random.stateless_uniform])
def test_many_numbers_from_a_known_seed_in_a_compiled_function(draw, jit_compile):
    shape = [400, 200]  # more than NumPy draws faster than an executable of their own
    scale = tf.Variable(2.0)
    function = tf.function(lambda: draw(shape, [1, 2]) * scale, jit_compile=jit_compile)
    wanted = draw(shape, [1, 2]).numpy() * 2.0
    for _ in range(3):
        np.testing.assert_allclose(function().numpy(), wanted, rtol=1e-6)


def test_what_is_refused_draws_nothing():
    given = {"shape": [3], "minval": 0, "maxval": 9, "seed": 1, "seed2": 2}
    state = tf.Variable([1, 2, 3], dtype=tf.int64)
    tf.random.set_seed(1)
    wanted = [tf.raw_ops.RandomUniformInt(**given).numpy() for _ in range(2)]
    tf.random.set_seed(1)
    for each in wanted:
        np.testing.assert_array_equal(tf.raw_ops.RandomUniformInt(**given), each)
        with pytest.raises(errors.InvalidArgumentError, match="minval < maxval"):
            tf.raw_ops.RandomUniformInt(**{**given, "maxval": 0})
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="minval < maxval"):
            tf.raw_ops.StatefulUniformInt(
                resource=state.handle, algorithm=1, shape=[3], minval=1, maxval=1
            )
    np.testing.assert_array_equal(state, [1, 2, 3])


@pytest.mark.parametrize("native", ["1", "0"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000, 70_001])
def test_a_compiled_shuffle_has_the_order_of_an_eager_one(
    count: int, native: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """70,001 rows of a quadratic loop would take seconds."""
    rows = tf.range(count)
    wanted = tf.random.experimental.stateless_shuffle(rows, [1, 2]).numpy()
    assert sorted(wanted) == list(range(count))
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", native)

    @tf.function(jit_compile=True)
    def stateless(x):  # type: ignore[no-untyped-def]
        return tf.random.experimental.stateless_shuffle(x, [1, 2])

    @tf.function(jit_compile=True)
    def stateful(x):  # type: ignore[no-untyped-def]
        return tf.random.shuffle(x, seed=1)

    np.testing.assert_array_equal(stateless(rows), wanted)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        drawn = session.run(tf.random.shuffle(tf.range(count), seed=1))
    assert sorted(drawn) == sorted(stateful(rows).numpy()) == list(range(count))
