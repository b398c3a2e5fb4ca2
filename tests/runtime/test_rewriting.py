"""Attention found in programs: every form, what is left alone, and that results stay."""

import itertools

import numpy as np
import pytest
from tests.runtime.rewritten import FED, fed, planned_types

import penstock as tf
from penstock.core import native
from penstock.core.patterns import Rewrite, Template
from penstock.graph.graph import Graph
from penstock.ops.nn_attention import templates
from penstock.runtime.program import FEED, build
from penstock.runtime.rewriting import _rewritten
from penstock.runtime.simplify import simplify
from penstock.runtime.templates import parsed

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")
FORWARD, BACKWARD = "PenstockAttention", "PenstockAttentionGrad"
LEAD, ROWS, DEPTH = (2, 2), 64, 32
CAUSAL = np.tril(np.ones((ROWS, ROWS), bool))
ADDED = np.where(np.arange(ROWS) < 50, 0, -1e9).astype(np.float32)[None, None, None]


def draw(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def arrays(dtype=np.float32, rows=ROWS):
    return [draw(*LEAD, rows, DEPTH, seed=seed, dtype=dtype) for seed in range(3)]


SCALES = {
    "": lambda x: x,
    "times": lambda x: x * 0.25,
    "divided": lambda x: x / 5.0,
    "by the root of a size": lambda x: x / tf.sqrt(tf.cast(tf.shape(x)[-1], tf.float32)),
}
MASKS = {
    "": lambda x: x,
    "where": lambda x: tf.where(CAUSAL, x, -1e9),
    "plus": lambda x: x + ADDED,
    "plus, other order": lambda x: tf.constant(ADDED) + x,
}


def attention(query, key, value, scale="times", mask="where"):
    scores = MASKS[mask](SCALES[scale](tf.matmul(query, key, transpose_b=True)))
    return tf.matmul(tf.nn.softmax(scores), value)


def planned(make):
    """How often the program has the two operations; values are compared with the plain ones."""
    types = planned_types(make, 1e-5)
    assert ("Softmax" in types) != (FORWARD in types)
    return types.count(FORWARD), types.count(BACKWARD)


def with_gradients(make):
    """What `make` gives for placeholders' values, and its gradients by the three arrays."""

    def both():
        inputs = [fed(a) for a in arrays()]
        result = make(*inputs)
        return [result, *tf.gradients(result * draw(*LEAD, ROWS, DEPTH, seed=7), inputs)]

    return both


@pytest.mark.parametrize(("scale", "mask"), list(itertools.product(SCALES, MASKS)))
def test_every_form(scale, mask):
    assert planned(lambda: attention(*map(fed, arrays()), scale, mask)) == (1, 0)


@pytest.mark.parametrize(
    ("scale", "mask"),
    [("", ""), ("times", ""), ("divided", "where"), ("times", "plus"), ("", "where")],
)
def test_every_form_with_gradients(scale, mask):
    assert planned(with_gradients(lambda *a: attention(*a, scale, mask))) == (1, 1)


def test_two_layers():
    def layers(query, key, value):
        return attention(attention(query, key, value), key, value)

    assert planned(with_gradients(layers)) == (2, 2)


def heads_apart():
    x = fed(draw(2, ROWS, 3, 2, DEPTH))
    query, key, value = tf.unstack(tf.transpose(x, [2, 0, 3, 1, 4]))
    return tf.transpose(attention(query, key, value), [0, 2, 1, 3])


def test_heads_that_were_moved_apart_are_read_where_they_lie():
    assert planned(heads_apart) == (1, 0)
    FED.clear()
    with Graph().as_default():
        moved = heads_apart()
        program = simplify(build([moved], list(FED), ()))
        (node,) = (n for n in program.nodes if n.type == FORWARD)
        assert node.attrs["interleaved"]


def softmax_used_twice():
    query, key, value = map(fed, arrays())
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))
    return [tf.matmul(weights, value), tf.reduce_sum(weights)]


def scores_fetched():
    query, key, value = map(fed, arrays())
    scores = tf.matmul(query, key, transpose_b=True)
    return [tf.matmul(tf.nn.softmax(scores), value), scores]


def with_dropout():
    query, key, value = map(fed, arrays())
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))
    return tf.matmul(weights * draw(ROWS, ROWS), value)


def learned_mask():
    inputs = [fed(a) for a in arrays()]
    bias = fed(draw(ROWS, ROWS))
    scores = tf.matmul(inputs[0], inputs[1], transpose_b=True) + bias
    result = tf.matmul(tf.nn.softmax(scores), inputs[2])
    return tf.gradients(result, [*inputs, bias])


def masked_by_an_array():
    query, key, value = map(fed, arrays())
    scores = tf.matmul(query, key, transpose_b=True)
    scores = tf.where(CAUSAL, scores, draw(ROWS, ROWS))
    return tf.matmul(tf.nn.softmax(scores), value)


def scaled_by_an_array():
    query, key, value = map(fed, arrays())
    scores = tf.matmul(query, key, transpose_b=True) * draw(ROWS, 1)
    return tf.matmul(tf.nn.softmax(scores), value)


def mask_of_more_axes():
    query, key, value = map(fed, arrays())
    scores = tf.matmul(query, key, transpose_b=True) + np.zeros((3, 1, 1, 1, 1), np.float32)
    return tf.matmul(tf.nn.softmax(scores), value[None])


def products_of_halves():
    query, key, value = (fed(a.astype("bfloat16")) for a in arrays())
    scores = tf.raw_ops.BatchMatMulV3(x=query, y=key, Tout=tf.float32, adj_y=True)
    return tf.raw_ops.BatchMatMulV3(x=tf.nn.softmax(scores), y=value, Tout=tf.float32)


def numbers_of_more_axes(scale, low):
    query, key, value = map(fed, arrays())
    scores = tf.matmul(query, key, transpose_b=True) * np.float32(scale)
    return tf.matmul(tf.nn.softmax(tf.where(CAUSAL, scores, np.float32(low))), value)


LEFT = {
    "weights are used": softmax_used_twice,
    "scores are fetched": scores_fetched,
    "dropout": with_dropout,
    "the mask's gradient": learned_mask,
    "a mask that puts different numbers": masked_by_an_array,
    "a scale for each row": scaled_by_an_array,
    "a mask of more axes": mask_of_more_axes,
    "a scale of more axes": lambda: numbers_of_more_axes([[[[[0.25]]]]], -1e9),
    "a mask that puts a number of more axes": lambda: numbers_of_more_axes(0.25, [[[[[-1e9]]]]]),
    "products of bfloat16 in float32": products_of_halves,
    "double": lambda: attention(*map(fed, arrays(np.float64)), ""),
    "little work": lambda: attention(*map(fed, arrays(rows=8)), "times", ""),
    "keys repeated": lambda: attention(*(fed(a[:1] if i else a) for i, a in enumerate(arrays()))),
    "a matrix": lambda: attention(*(fed(draw(400, 32)) for _ in range(3)), "", ""),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(name):
    assert planned(LEFT[name]) == (0, 0)


def test_the_switch(monkeypatch):
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "attention")
    assert planned(lambda: attention(*map(fed, arrays()))) == (0, 0)


def test_without_the_library_nothing_is_rewritten(monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert planned(lambda: attention(*map(fed, arrays()))) == (0, 0)


def test_what_waits_for_a_part_keeps_it():
    FED.clear()
    with Graph().as_default():
        query, key, value = map(fed, arrays())
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))
        with tf.control_dependencies([weights]):
            other = tf.identity(tf.constant(1.0))
        program = simplify(build([tf.matmul(weights, value), other], list(FED), ()))
        assert FORWARD not in [n.type for n in program.nodes]


def test_a_function_of_any_batch_takes_it():
    @tf.function(input_signature=[tf.TensorSpec([None, 2, ROWS, DEPTH])] * 3)
    def step(*inputs):
        return attention(*inputs)

    concrete = step.get_concrete_function()
    program = simplify(build(concrete.outputs, concrete.inputs, ()))
    assert FORWARD in [n.type for n in program.nodes]
    plain = [tf.constant(a) for a in arrays()]
    wanted = attention(*plain)
    for _ in range(3):  # on the host first, compiled when the size comes back
        np.testing.assert_allclose(step(*plain), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.bool_, np.float32])
@pytest.mark.parametrize(
    ("lead", "queries", "mask"),
    [
        ((2, 2), ROWS, (1, 1, ROWS, ROWS)),
        ((1, 2), ROWS, (3, 1, ROWS, ROWS)),
        ((2, 1), ROWS, (2, 3, ROWS, ROWS)),
        ((4, 4), 1, (4, 4, 5, 600)),
    ],
)
def test_scores_of_open_sizes_are_repeated_to_a_mask(dtype, lead, queries, mask):
    @tf.function(
        input_signature=[tf.TensorSpec([None, None, None, DEPTH])] * 3
        + [tf.TensorSpec([None] * 4, dtype)]
    )
    def step(query, key, value, mask):
        scores = tf.matmul(query, key, transpose_b=True)
        scores = tf.where(mask, scores, -1e9) if dtype is np.bool_ else scores + mask
        return tf.matmul(tf.nn.softmax(scores), value)

    given = [draw(*lead, n, DEPTH, seed=n) for n in (queries, mask[-1], mask[-1])]
    given.append(draw(*mask) < 0.5 if dtype is np.bool_ else draw(*mask))
    concrete = step.get_concrete_function()
    program = simplify(build(concrete.outputs, concrete.inputs, ()))
    assert FORWARD in [n.type for n in program.nodes]
    wanted = step.python_function(*map(tf.constant, given))
    for _ in range(3):  # on the host first, compiled when the size comes back
        np.testing.assert_allclose(step(*given), wanted, rtol=1e-4, atol=1e-5, strict=True)


def test_a_training_step_takes_it():
    @tf.function
    def step(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = attention(*inputs)
        return tape.gradient(result, inputs)

    plain = [tf.constant(a) for a in arrays()]
    concrete = step.get_concrete_function(*plain)
    program = simplify(build(concrete.outputs, concrete.inputs, ()))
    assert {FORWARD, BACKWARD} <= {n.type for n in program.nodes}
    with tf.GradientTape() as tape:
        tape.watch(plain)
        wanted = attention(*plain)
    for got, each in zip(step(*plain), tape.gradient(wanted, plain), strict=True):
        np.testing.assert_allclose(got, each, rtol=1e-4, atol=1e-5)


def test_all_outputs_of_an_operation_may_be_replaced_each_by_another():
    halves = Template(
        ("first, second = Split(axis, x; num_split=2)",),
        ("first = Neg(x)", "second = Abs(first)"),
    )
    pattern = Rewrite(
        "", "", "", "", ("Split",), lambda: (halves,), lambda facts: {"T": tf.float32}
    )
    with Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [4])
        first, second = tf.split(x, 2)
        program = _rewritten(build([second, first + second], [x], ()), pattern)
    assert [n.type for n in program.nodes] == [FEED, "Neg", "Abs", "AddV2"]
    negative, absolute, total = program.nodes[1:]
    assert program.fetches == [(absolute, 0), (total, 0)]
    assert total.inputs == [(negative, 0), (absolute, 0)]


def test_templates_are_read():
    for template in templates():
        read = parsed(template)
        assert len(read.lines) == len(template.lines)
        assert read.replaced >= {"output"}


def test_a_line_that_hangs_on_nothing_is_refused():
    with pytest.raises(StopIteration):
        parsed(Template(("a = Exp(x)", "b = Exp(y)"), ("a = Exp(x)",)))
