"""Fuzzed work on rows through the handlers: attention, layer normalisation, recurrences, updates,
special functions, the largest of rows and random numbers, beside float64 or NumPy's own results."""

import numpy as np
from tests.ops.native_draws import UNIT, assert_near, compiled, each, result
from tests.ops.native_fuzz_sums import ignoring, wide

from penstock.core import native_random, native_special, updates
from penstock.core.lazy import jax, jnp
from penstock.core.products import Product
from penstock.ops.kernels import cpu_attention, cpu_norm, cpu_recurrent
from penstock.ops.nn_recurrent_steps import LSTM, lstm_sequence


class Context:
    """What the kernels ask of a trace."""

    def __init__(self, **attrs):
        self.attrs = attrs


# attention


def mask_of(draw, lead, queries, keys):
    """None, or one that repeats to the scores: of booleans, or numbers to add."""
    if draw.often(0.3):
        return []
    shape = [draw.one(1, n) for n in (*lead, queries)] + [keys]
    shape = shape[draw.one(0, len(shape) - 2) :] if draw.often() else shape
    if draw.often():
        return [draw.rng.random(shape) < draw.one(0.0, 0.3, 0.9, 1.0)]
    added = np.where(draw.rng.random(shape) < 0.3, np.float32(-1e9), np.float32(0))
    added[..., 0] = 0  # beside -1e9 alone float32 has no room for the scores
    return [added]


def attended(q, k, v, grad, scale, mask, low):
    """The output, the gradients, and bounds of what is summed up for each."""
    scores = q @ k.swapaxes(-1, -2) * scale
    chosen = mask[0] if mask and mask[0].dtype == bool else np.bool_(True)
    if mask and mask[0].dtype != bool:
        scores = scores + mask[0]
    scores = np.where(chosen, scores, np.float32(low))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    by_weights = grad @ v.swapaxes(-1, -2)
    by_scores = (by_weights - (by_weights * weights).sum(-1, keepdims=True)) * weights
    by_scores = np.where(chosen, by_scores, 0) * scale
    largest = np.abs(grad) @ np.abs(v).swapaxes(-1, -2)
    largest = (largest + largest.max(-1, keepdims=True)) * weights * abs(scale)
    return (
        [
            weights @ v, by_scores @ k, by_scores.swapaxes(-1, -2) @ q,
            weights.swapaxes(-1, -2) @ grad,
        ],
        [
            weights @ np.abs(v), largest @ np.abs(k), largest.swapaxes(-1, -2) @ np.abs(q),
            weights.swapaxes(-1, -2) @ np.abs(grad),
        ],
    )  # fmt: skip


@ignoring
def attention(draw):
    interleaved = draw.often()
    lead = (
        (draw.one(1, 2, 3), draw.one(1, 2, 5)) if interleaved else draw.one((), (1,), (3,), (2, 2))
    )
    queries, keys, depth, width = draw.size(), draw.size(), draw.size(65), draw.size(65)
    q, k = draw.floats(*lead, queries, depth), draw.floats(*lead, keys, depth)
    v, grad = draw.floats(*lead, keys, width), draw.floats(*lead, queries, width)
    mask, low = mask_of(draw, lead, queries, keys), draw.one(-1e9, 0.25, np.float32(-3.4e38))
    scale = np.float32(depth**-0.5)
    context = Context(divides=False, low=float(low), interleaved=interleaved)

    def both(q, k, v, grad):
        held = q, k, v, [scale], [jnp.asarray(m) for m in mask]
        output, statistics = cpu_attention.attention(context, *held)
        return [output, *cpu_attention.attention_grad(context, *held, statistics, grad)]

    run = jax.jit(both)
    wanted, sizes = attended(*wide(q, k, v, grad), np.float64(scale), mask, low)
    powers = 8 + np.abs(q @ k.swapaxes(-1, -2)).max() * float(
        scale
    )  # errors of scores, as of powers
    for found in each(lambda: [np.asarray(a) for a in run(q, k, v, grad)]):
        for got, right, size in zip(found, wanted, sizes, strict=True):
            assert_near(got, right, size, 4 * powers + 2 * np.sqrt(keys + queries))


# layer normalisation


@ignoring
def layer_norm(draw):
    lead = draw.one((0,), (1,), (5,), (64,), (3, 7), (2, 0))
    width = draw.size(97) if draw.often() else draw.one(128, 255, 512, 1000)
    x, grad, beside = (draw.floats(*lead, width) for _ in range(3))
    x = x * draw.one(1, 3) + draw.one(0, 2)
    gain, bias = draw.floats(width), draw.floats(width)
    gain, bias, beside = ([a] if draw.often() else [] for a in (gain, bias, beside))
    epsilon = draw.one(1e-3, 1e-6, 0.5)

    def both(x, grad):
        y, mean, inverse = cpu_norm.layer_norm(Context(epsilon=epsilon), x, gain, bias)
        return [y, *cpu_norm.layer_norm_grad(None, x, mean, inverse, gain, grad, beside)]

    run = jax.jit(both)
    wanted, sizes = normalised(*wide(x, grad), gain, bias, beside, epsilon)
    for found in each(lambda: [np.asarray(a) for a in run(x, grad)]):
        for got, right, size in zip(found, wanted, sizes, strict=True):
            assert_near(got, right, size, 16 + 2 * np.sqrt(width))


def normalised(x, grad, gain, bias, beside, epsilon):
    """y and the gradients by x, gain and bias, with sizes of what errors grow with."""
    inverse = 1 / np.sqrt(x.var(-1, keepdims=True) + epsilon)
    unit = (x - x.mean(-1, keepdims=True)) * inverse
    rough = 1 + np.abs(unit) + np.abs(x).max(-1, keepdims=True, initial=0) * inverse
    scale = np.float64(gain[0]) if gain else np.ones(x.shape[-1])
    y, by_unit = unit * scale + sum(bias), grad * scale
    slope = (by_unit * unit).mean(-1, keepdims=True)
    by_x = (by_unit - by_unit.mean(-1, keepdims=True) - unit * slope) * inverse + sum(beside)
    rows = tuple(range(x.ndim - 1))
    most = np.abs(by_unit).max(-1, keepdims=True, initial=0)
    sizes = [
        rough * np.abs(scale) + np.abs(y),
        (np.abs(by_unit) + 2 * most * rough**2) * inverse + np.abs(sum(beside)),
        (np.abs(grad) * rough).sum(rows) + 0 * x.sum(rows),
        np.abs(grad).sum(rows) + 0 * x.sum(rows),
    ]
    return [y, by_x, (grad * unit).sum(rows), grad.sum(rows)], sizes


# rounds in one call


@ignoring
def recurrence(draw):
    steps, batch, inputs = draw.one(1, 2, 3, 6), draw.size(33), draw.size(17)
    units = 8 * draw.one(1, 2, 3, 5)
    shapes = [(steps, batch, inputs), (batch, units), (batch, units), (inputs + units, 4 * units)]
    x, cs, h, w, *peepholes, b = (
        draw.floats(*s) / 3 for s in (*shapes, *[(units,)] * 3, (4 * units,))
    )
    form = LSTM(draw.one("icfo", "ifco"), draw.often(), draw.one(0.0, 1.0), draw.one(0.0, 0.3))
    length = draw.one(steps, max(steps - 1, 0))

    def sequence(x, cs, h, w, b):
        held = (jnp, form, length, x, (cs, h), w, peepholes, b)
        return cpu_recurrent.native_lstm_sequence(*held)

    run = jax.jit(sequence)
    x64, cs64, h64, w64, b64, *rest = wide(x, cs, h, w, b, *peepholes)
    wanted = lstm_sequence(np, form, length, x64, (cs64, h64), w64, rest, b64)
    for found in each(lambda: [np.asarray(a) for a in run(x, cs, h, w, b)]):
        for got, right in zip(found, wanted, strict=True):
            error = np.abs(got - right)
            assert (error <= 64 * steps * (1 + np.sqrt(inputs + units)) * UNIT).all(), error.max()


# updates


FUNCTIONS = {  # instructions of an update, and NumPy's functions
    "ADD": np.add, "SUBTRACT": np.subtract, "MULTIPLY": np.multiply, "DIVIDE": np.divide,
    "MAXIMUM": np.maximum, "MINIMUM": np.minimum, "NEGATIVE": np.negative, "SQUARE_ROOT": np.sqrt,
    "ABSOLUTE": np.abs, "SIGN": np.sign, "SELECT": np.where,
    "GREATER": lambda a, b: np.greater(a, b).astype(np.float32),
}  # fmt: skip
OPERANDS = {"SELECT": 3, **dict.fromkeys(("NEGATIVE", "SQUARE_ROOT", "ABSOLUTE", "SIGN"), 1)}


def expression(draw, leaves, depth):
    """A random term over (term, value) pairs, with its value by NumPy in float32."""
    if depth == 0 or draw.often(0.2):
        return leaves[int(draw.rng.integers(len(leaves)))]
    code = draw.one(*FUNCTIONS)
    of = [expression(draw, leaves, depth - 1) for _ in range(OPERANDS.get(code, 2))]
    head, *rest = (term for term, _ in of)
    values = [np.asarray(value) for _, value in of]
    return head.apply(code, *rest), FUNCTIONS[code](*values).astype(np.float32)


def group_of(draw):
    """A group, its new values, and all arrays that it is given."""
    shape = draw.one((), (draw.size(),), (draw.size(), draw.size()), (0, 3), (1500,))
    arrays = [draw.floats(*shape, special=0.3) for _ in range(draw.one(1, 2, 4))]
    numbers = [draw.floats() for _ in range(2)]
    leaves = [(updates.Term("ARRAY", shape, (), a), a) for a in arrays]
    leaves += [(updates.Term("NUMBER", shape, (), n), np.broadcast_to(n, shape)) for n in numbers]
    leaves += [(updates.Term("FILL", shape, (), 0.5), np.full(shape, np.float32(0.5)))]
    written = arrays[: draw.one(1, len(arrays))]
    made = [expression(draw, leaves, 3) for _ in written]
    return updates.Group(written, [term for term, _ in made]), [value for _, value in made]


@ignoring
def update(draw):
    """Bit by bit what NumPy gives, for several groups in one call; or nothing changes."""
    groups = [group_of(draw) for _ in range(draw.one(1, 2, 3))]
    written = [updates.written(group) for group, _ in groups]
    if None in written:
        return
    wanted, does = [value for _, values in groups for value in values], draw.often(0.9)
    before = [a for each_one in written for a in each_one.arrays[: each_one.count]]

    @jax.jit
    def run(does):
        return updates.call(written, does)

    for found in each(lambda: [np.asarray(a) for a in run(does)]):
        for got, right, old in zip(found, wanted, before, strict=True):
            np.testing.assert_array_equal(got, right if does else old)


@ignoring
def update_by_product(draw):
    """A gradient that a product gives, where the update wants it."""
    m, n, k = (draw.size() for _ in "mnk")
    adj_a, adj_b = draw.often(), draw.often()
    a = draw.floats(*((k, m) if adj_a else (m, k)))
    b = draw.floats(*((n, k) if adj_b else (k, n)))
    left, right = (a.T if adj_a else a), (b.T if adj_b else b)
    p, g = draw.floats(m, n), np.zeros((m, n), np.float32)
    terms = [updates.Term("ARRAY", (m, n), (), x) for x in (p, g)]
    made = updates.written(updates.Group([p], [terms[0] - 0.5 * terms[1]]))
    product = Product(a, b, adj_a, adj_b)
    fused = updates.Written(made.count, made.program, made.arrays, made.numbers, (1, product))
    run = jax.jit(lambda: updates.call([fused], True))
    wanted = wide(p)[0] - 0.5 * (wide(left)[0] @ wide(right)[0])
    size = np.abs(p) + np.abs(left) @ np.abs(right)
    for found in each(lambda: [np.asarray(x) for x in run()]):
        assert_near(found[0], wanted, size, 8 + 2 * np.sqrt(k))


# what host code calls too


@ignoring
def special(draw):
    """The numbers that host code gets: of whole arrays, whatever the threads."""
    name = draw.one(*native_special.FUNCTIONS)
    number = native_special.FUNCTIONS.index(name)
    count = 3 if number == 29 else 2 if number >= 23 else 1
    dtype, shape = (
        draw.one(np.float32, np.float64),
        draw.one((), (1,), (33,), (9000,), (3, 41), (0,)),
    )
    arrays = [draw.floats(*shape, special=0.3).astype(dtype) for _ in range(count)]
    given = [np.asarray(np.abs(a)) for a in arrays]
    wanted = native_special.function(name)(*given)
    call = compiled("special", result(shape, dtype), *given, number=np.int32(number))
    for found in each(call):
        np.testing.assert_array_equal(found[0], wanted)


def rows_of(draw, kinds):
    """Rows of a kind of numbers, with equal ones among them."""
    shape = (*draw.one((), (1,), (0,), (50,), (3, 4)), draw.size() if draw.often() else 700)
    kind = draw.one(*kinds)
    if np.issubdtype(kind, np.integer):
        return draw.rng.integers(-9, 9, shape).astype(kind)
    x = draw.floats(*shape, special=0.3).astype(kind)
    return np.round(x) if draw.often() else x


def order_of(x):
    """NaN is the largest; -0 and 0 are alike."""
    return np.where(np.isnan(x), np.inf, x + 0), np.isnan(x)


def top(draw):
    x = rows_of(draw, (np.float32, np.int32))
    k = int(draw.rng.integers(0, x.shape[-1] + 1))
    numbers, nans = order_of(x)
    places = np.lexsort((np.broadcast_to(np.arange(x.shape[-1]), x.shape), -numbers, ~nans))[
        ..., :k
    ]
    shape = (*x.shape[:-1], k)
    for values, found in each(
        compiled("top", [result(shape, x.dtype), result(shape, np.int64)], x)
    ):
        np.testing.assert_array_equal(found, places)
        np.testing.assert_array_equal(values, np.take_along_axis(x, places, -1))


def extreme(draw):
    x, least = rows_of(draw, (np.float32, np.float64, np.int32, np.int64)), draw.often()
    bound = np.inf if least else -np.inf
    filled = np.where(np.isnan(x), bound, x)
    wanted = (np.argmin if least else np.argmax)(filled, -1)
    numbers = ~np.isnan(x).all(-1)  # rows without a number have no first one
    out = result(x.shape[:-1], np.int64)
    for (found,) in each(compiled("extreme", out, x, least=np.bool_(least))):
        taken = np.take_along_axis(filled, found[..., None], -1)[..., 0] if found.size else wanted
        best = np.take_along_axis(filled, wanted[..., None], -1)[..., 0] if found.size else wanted
        np.testing.assert_array_equal(taken[numbers], best[numbers])


def nth(draw):
    x = rows_of(draw, (np.float32, np.float64, np.int32, np.int64))
    place = int(draw.rng.integers(0, x.shape[-1]))
    wanted = np.sort(x, -1)[..., place]
    for (found,) in each(compiled("nth", result(x.shape[:-1], x.dtype), x, place=np.int64(place))):
        np.testing.assert_array_equal(found, wanted)


@ignoring
def among(draw):
    x = draw.floats(draw.one(0, 1, 50), draw.size(), special=0.3)
    targets = draw.rng.integers(-2, x.shape[1] + 2, x.shape[0]).astype(draw.one(np.int32, np.int64))
    k = draw.one(0, 1, 3, 200)
    inside = (targets >= 0) & (targets < x.shape[1])
    own = np.take_along_axis(x, np.where(inside, targets, 0)[:, None].astype(np.int64), 1)
    larger, usual = (x > own).sum(1), np.isfinite(x).all(1)
    call = compiled("among", result(targets.shape, np.bool_), x, targets, np.int64(k))
    for (found,) in each(call):
        np.testing.assert_array_equal(found[usual], (inside & (larger < k))[usual])
        assert not found[~inside].any()


def truncated(draw):
    """The numbers that single calls give."""
    dtype, groups = np.dtype(draw.one(np.float32, np.float64)), draw.one(0, 1, 5, 700)
    low = draw.one(0, 7, 2**64 - 3)  # the counter's halves carry
    stream, width = (draw.one(1, 2**63), low, draw.one(0, 9)), 16 // dtype.itemsize
    words = np.array(stream, np.uint64)
    wanted = native_random.truncated(stream, groups, 64 * width, dtype)
    attrs = {"reserved": np.int64(64 * width)}
    for (found,) in each(compiled("truncated", result((groups, width), dtype), words, **attrs)):
        np.testing.assert_array_equal(found, wanted)


def places(draw):
    """Positions, some of them outside, and the rows that stand at them."""
    depth, width = draw.one(1, 2, 3), draw.one((), (1,), (7,), (2, 3))
    sizes = tuple(int(draw.rng.integers(1, 30)) for _ in range(depth))
    params = draw.rng.integers(0, 100, (*sizes, *width))
    params = params.astype(draw.one(np.float32, np.int8, np.float16, np.int64, np.complex128))
    count, kind = draw.one(0, 1, 50, 20_000), draw.one(np.int32, np.int64)
    where = np.stack([draw.rng.integers(0, n, count) for n in sizes], -1).astype(kind)
    for _ in range(draw.one(0, 0, 2) if count else 0):
        where[draw.rng.integers(0, count), draw.rng.integers(0, depth)] = draw.one(
            -1, 30, 2**31 - 1
        )
    low, high = where < 0, where >= np.array(sizes)
    bad = (low | high).any(-1)
    wanted = params[tuple(np.where(bad[:, None], 0, where).T)]
    wanted[bad] = 0
    first = int(bad.argmax()) if bad.any() else -1
    above = high.any(-1)
    outs = [result(wanted.shape, params.dtype), result((), np.int64)]
    for rows, found in each(compiled("taken", outs, params, where)):
        np.testing.assert_array_equal(rows, wanted)
        assert found == first
    limits = np.array(sizes, np.int64)
    for below, marked in ((False, bad), (True, above)):
        call = compiled("outside", outs[1], where, sizes=limits, below=np.bool_(below))
        for (found,) in each(call):
            assert found == (int(marked.argmax()) if marked.any() else -1)


def combined(draw):
    """Rows brought to positions, one after the other, and the first that is outside."""
    depth, width = draw.one(1, 2, 3), draw.one((), (1,), (7,), (2, 3))
    sizes = tuple(int(draw.rng.integers(1, 30)) for _ in range(depth))
    dtype, count = draw.one(np.float32, np.float64, np.int32, np.int64), draw.one(0, 1, 50, 5_000)
    base, rows = (
        draw.rng.integers(-9, 9, (*shape, *width)).astype(dtype) for shape in (sizes, (count,))
    )
    kind = draw.one(np.int32, np.int64)
    where = np.stack([draw.rng.integers(0, n, count) for n in sizes], -1).astype(kind)
    number = draw.one(0, 2, 3, 4, 6, 7, 8)
    order = draw.one(0, 2, 3) if depth == 1 else 0
    for _ in range(draw.one(0, 0, 2) if count else 0):
        where[draw.rng.integers(0, count), draw.rng.integers(0, depth)] = draw.one(-1, 30)
    low, high = (where < 0).any(-1), (where >= np.array(sizes)).any(-1)
    wrong = (low & (order != 2)) | (high & (order != 3))
    change = {0: np.add, 2: np.maximum, 3: np.minimum, 4: np.subtract, 7: np.maximum, 8: np.minimum}
    wanted = base.copy()
    for place, row in zip(where[~(low | high)], rows[~(low | high)], strict=True):
        at = tuple(place)
        wanted[at] = row if number == 6 else change[number](wanted[at], row)
    outs = [result(base.shape, dtype), result((), np.int64)]
    given = {"operation": np.int64(number), "order": np.int64(order)}
    for found, first in each(compiled("combined", outs, base, where, rows, **given)):
        assert first == (int(wrong.argmax()) if wrong.any() else -1)
        assert wrong.any() or np.array_equal(found, wanted)


def sparse_product(draw):
    """A matrix with values at places times a dense one: the sums of whole numbers."""
    height, inner, width = draw.one(1, 5, 60), draw.one(1, 9, 40), draw.one(0, 1, 3, 16, 33, 70)
    count, turned = draw.one(0, 1, 50, 9_000), draw.one(True, False)
    dtype, kind = draw.one(np.float32, np.float64), draw.one(np.int32, np.int64)
    rows, columns = draw.rng.integers(0, height, count), draw.rng.integers(0, inner, count)
    rows = np.sort(rows) if draw.one(True, False) else rows
    values = draw.rng.integers(-3, 4, count).astype(dtype)
    right = draw.rng.integers(-3, 4, (inner, width)).astype(dtype)
    first, wrong = -1, draw.one(True, False, False) and count
    if wrong:
        first = int(draw.rng.integers(0, count))
        columns[first] = draw.one(-1, inner)
    left = np.zeros((height, inner))
    if not wrong:
        np.add.at(left, (rows, columns), values)
    where = np.stack([columns, rows] if turned else [rows, columns], -1).astype(kind)
    outs = [result((height, width), dtype), result((), np.int64)]
    call = compiled("sparse_product", outs, where, values, right, turned=np.bool_(turned))
    for found, outside in each(call):
        assert outside == first
        assert wrong or np.array_equal(found, left @ right)


CASES = {
    "attention": attention,
    "layer normalisation": layer_norm,
    "recurrence": recurrence,
    "update": update,
    "update by product": update_by_product,
    "special function": special,
    "top of rows": top,
    "extreme of rows": extreme,
    "n-th of rows": nth,
    "among the top of rows": among,
    "truncated normal numbers": truncated,
    "positions": places,
    "rows at positions": combined,
    "sparse product": sparse_product,
}
