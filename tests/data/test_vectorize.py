"""Functions of one element as functions of rows give the same, bit for bit, or there are none."""

import os
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.core.execute import execute
from penstock.core.resources import eager_resources
from penstock.data.operations import held
from penstock.data.row_graph import RULES
from penstock.data.run import Run

_rng = np.random.default_rng(7)
F = (_rng.standard_normal((5, 3, 4)) * 3).astype(np.float32)
F[0, 0, :3] = np.nan, np.inf, -0.0
D = (_rng.standard_normal((37,)) * 4).astype(np.float64)
H = _rng.standard_normal((20,)).astype(np.float16)
N = _rng.integers(-9, 9, (5, 3)).astype(np.int64)
J = _rng.integers(1, 4, (5,)).astype(np.int32)
S = np.array([b"7", b" a1 ", b"", b"Zz 9", b"\xc3\xa4"], object)
W = np.array([[b"a", b"bc"], [b"d", b""], [b"x y", b"z"]], object)
C = (F[..., 1] + 1j * F[..., 2])[1:].astype(np.complex64)
B = N > 0


def op(name: str, *inputs: Any, **attrs: Any) -> Any:
    return execute(name, inputs, attrs)


UNARY = (
    "Neg IsNan IsInf IsFinite Exp Expm1 Log Log1p Square Sqrt Rsqrt Reciprocal Inv Sigmoid Tanh Sin"
    " Cos Tan Atan Sinh Cosh Asinh Acosh Atanh Ceil Floor Rint Round Sign Abs Erf Erfc Erfinv Ndtri"
    " Lgamma Digamma BesselI0 BesselI1 BesselI0e BesselI1e Spence Expint Dawsn FresnelCos"
    " FresnelSin Relu Relu6 Elu Selu LeakyRelu Softplus Softsign Identity StopGradient"
    " PreventGradient Snapshot ZerosLike OnesLike Asin Acos"
).split()
BINARY = (
    "AddV2 Add Sub Mul MulNoNan SquaredDifference Maximum Minimum Pow Less LessEqual Greater"
    " GreaterEqual RealDiv Div DivNoNan FloorDiv FloorMod TruncateMod Mod Xlogy Xlog1py Xdivy"
    " Atan2 NextAfter Igamma Igammac Zeta Polygamma Equal NotEqual"
).split()

BODIES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    **{f"{n} float32": (lambda x, n=n: op(n, x), (F,)) for n in UNARY},
    **{f"{n} float64": (lambda x, n=n: op(n, x), (D,)) for n in UNARY},
    **{f"{n} float64": (lambda x, y, n=n: op(n, x, y), (D, D[::-1].copy())) for n in BINARY},
    **{
        f"{n} float32": (lambda x, n=n: op(n, x, tf.constant(1.5)), (F,))
        for n in BINARY
        if n != "NextAfter"
    },
    "exp half": (lambda x: tf.exp(x), (H,)),
    "ranks": (lambda x, y, z: x + y * z, (F, F[:, 0], F[:, 0, 0])),
    "ranks and constants": (lambda x: x + tf.constant(F[0]), (F[:, 0],)),
    "more axes than rows": (lambda x: x * tf.constant(N), (N[:, 0],)),
    "same": (lambda x: x * x, (N,)),
    "integers": (lambda x, y: (x // y, x % y, x * y - 3), (N[:, 0].astype(np.int32), J)),
    "truncated": (lambda x: op("TruncateDiv", x, tf.constant(2, tf.int64)), (N,)),
    "bits": (
        lambda x: (
            op("BitwiseAnd", x, 5), op("BitwiseOr", x, 5), op("BitwiseXor", x, 5), op("Invert", x),
            op("LeftShift", x, tf.constant(2, tf.int64)), op("PopulationCount", x),
            op("RightShift", x, tf.constant(1, tf.int64)),
        ),
        (N,),
    ),
    "logic": (lambda x: ((x & ~x) | True, tf.logical_not(x)), (B,)),
    "casts": (lambda x: (tf.cast(x, tf.int32), tf.cast(x, tf.float16), tf.cast(x, tf.bool)), (D,)),
    "complex": (
        lambda x: (
            tf.math.real(x), tf.math.imag(x), tf.math.angle(x), tf.math.conj(x), tf.abs(x),
            tf.complex(tf.math.real(x), tf.math.imag(x)), op("ConjugateTranspose", x, [0]),
        ),
        (C,),
    ),
    "bitcast": (lambda x: (tf.bitcast(x, tf.float32), tf.bitcast(x, tf.float64)), (N,)),
    "buckets": (lambda x: op("Bucketize", x, boundaries=[0.0, 1.0]), (F,)),
    "checked": (
        lambda x: (op("CheckNumericsV2", x, message="x"), op("CheckNumerics", x, message="y")), (D,)
    ),
    "select": (lambda c, x: tf.where(c, x, 0), (B, N)),
    "select ranks": (lambda c, x: tf.where(c, x, tf.constant(N)), (B[:, 0], N)),
    "old select": (lambda c, x: op("Select", c, x, x + 1), (B, N)),
    "old select of numbers": (lambda c, x: op("Select", c, x, tf.zeros_like(x)), (B[:, 0], N)),
    "clip": (lambda x: op("ClipByValue", x, -1.0, 1.0), (F,)),
    "sums": (lambda x: op("AddN", [x, x, tf.constant(N[0])]), (N,)),
    "near": (lambda x: op("ApproximateEqual", x, x + 1, tolerance=2.0), (N,)),
    "strings": (
        lambda s: (
            op("StringLower", s), op("StringUpper", s), tf.strings.strip(s), tf.strings.length(s),
            op("StringToHashBucket", s, num_buckets=7), tf.strings.to_hash_bucket_fast(s, 9),
            tf.strings.to_hash_bucket_strong(s, 9, [1, 2]), op("EncodeBase64", s),
            op("DecodeBase64", op("EncodeBase64", s)), tf.strings.regex_replace(s, "[0-9]", "#"),
            tf.strings.regex_full_match(s, "[a-z ]+"), tf.strings.substr(s, 0, 1),
            tf.strings.unicode_transcode(s, "UTF-8", "UTF-16-BE"), s + "!",
            tf.strings.join([s, "x", s], "-"), tf.strings.unicode_script(tf.strings.length(s)),
        ),
        (np.append(S[:1], S[3:]),),
    ),
    "patterns": (
        lambda s: (
            op("RegexReplace", s, tf.constant("a"), tf.constant("b")),
            op("RegexFullMatch", s, tf.constant("a.*")),
        ),
        (W,),
    ),
    "vectors of strings": (lambda s: tf.strings.join([s, tf.constant(["p", "q"]), "z"]), (W,)),
    "numbers and strings": (
        lambda x: (tf.strings.as_string(x), tf.strings.to_number(tf.strings.as_string(x))), (D,)
    ),
    "raw": (
        lambda s: (
            tf.io.decode_raw(s, tf.uint8), op("DecodePaddedRaw", s, 4, out_type=tf.uint8),
            op("DecodeCompressed", s),
        ),
        (np.array([b"ab", b"cd"], object),),
    ),
    "lines": (
        lambda s: tf.io.decode_csv(s, [[0], [""], [1.5]]),
        (np.array([b"1,a,", b",b c,2", b"7,,0.1"], object),),
    ),
    "sizes": (
        lambda x: (op("Shape", x), op("Size", x), op("Rank", x), tf.shape_n([x, x])[1], x), (F,)
    ),
    "shared alone": (lambda x: (tf.constant([1, 2]), tf.constant("a"), x), (N,)),
    "shapes": (
        lambda x: (
            tf.reshape(x, [-1]), tf.reshape(x, [2, 6]), tf.reshape(x, tf.shape(x)[::-1]),
            tf.expand_dims(x, 0), tf.expand_dims(x, -1), tf.transpose(x), x[1], x[..., 2:0:-1],
            x[:, tf.newaxis, 1:], tf.slice(x, [1, 0], [-1, 2]), tf.tile(x, [1, 2]),
            tf.pad(x, [[1, 0], [0, 2]]), tf.pad(x, [[0, 1], [0, 0]], constant_values=7.0),
            tf.pad(x, [[0, 1], [1, 0]], "REFLECT"), tf.reverse(x, [0, -1]),
            tf.ensure_shape(x, [3, None]),
            tf.broadcast_to(x, [2, 3, 4]), tf.squeeze(x[:1], [0]), tf.squeeze(x[:1]),
        ),
        (F,),
    ),
    "joined": (
        lambda x, y: (
            tf.concat([x, tf.constant(N[0])], 0), tf.stack([x, y], -1), tf.stack([x, x + 1], 1),
            *tf.unstack(x), *tf.split(x, 3), *tf.split(x, [1, 2], -1),
            tf.concat([x[None], y[None]], -1),
        ),
        (N, N[::-1].copy()),
    ),
    "chosen": (
        lambda x, i: (
            tf.gather(tf.constant(F), i - 1), tf.gather(x, [2, 0]), tf.gather(x, i - 1),
            tf.gather(x, [1], axis=-1), op("Gather", tf.constant(F), i - 1),
            tf.gather_nd(tf.constant(F), [[i - 1, 0]]), tf.one_hot(i, 4),
            tf.one_hot([i, i], 4, axis=0),
        ),
        (F, J),
    ),
    "best": (lambda x: tf.math.top_k(x, 2), (F[1:],)),
    "reduced": (
        lambda x: (
            tf.reduce_max(x), tf.reduce_min(x, 0, True), tf.reduce_sum(x), tf.reduce_prod(x, 0),
            tf.argmax(x), tf.argmin(x, -1), tf.cumsum(x), tf.math.cumprod(x, exclusive=True),
        ),
        (N,),
    ),
    "all and any": (lambda x: (tf.reduce_all(x), tf.reduce_any(x, 0)), (B,)),
    "many identities": (lambda x, y: op("IdentityN", [x, y]), (N, F)),
    "called": (tf.function(lambda x: x * 2 + 1, autograph=False), (N,)),
}  # fmt: skip


def example(i: int) -> bytes:
    features = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, 2 * i])),
        "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


SPEC = {
    "x": tf.io.FixedLenFeature([2], tf.float32),
    "y": tf.io.FixedLenFeature([], tf.int64),
    "z": tf.io.FixedLenFeature([], tf.string, "none"),
}
EXAMPLES = np.array([example(i) for i in range(5)], object)
BODIES["examples"] = (lambda s: tf.io.parse_single_example(s, SPEC), (EXAMPLES,))
BODIES["old examples"] = (
    lambda s: op(
        "ParseSingleExample", s, [tf.constant([], tf.int64)], num_sparse=0, sparse_keys=[],
        dense_keys=["y"], sparse_types=[], Tdense=[tf.int64], dense_shapes=[[]],
    ),
    (EXAMPLES,),
)  # fmt: skip


def mapped(function: Any, columns: Any, unknown: bool = False) -> Any:
    """The description of a dataset of rows with a function."""
    rows = tf.data.Dataset.from_tensor_slices(columns if len(columns) > 1 else columns[0])
    if unknown:
        return held(rows.batch(1).map(lambda *x: x).map(function)._variant_tensor._array)
    return held(rows.map(tf.autograph.experimental.do_not_convert(function))._variant_tensor._array)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, bytes):
        return a == np.asarray(b).item()
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == object:
        return a.shape == b.shape and a.tolist() == b.tolist()
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def check(function: Any, columns: Any) -> None:
    description = mapped(function, columns)
    assert description.of_rows is not None
    run = Run(eager_resources)
    with mock.patch.dict(os.environ, PENSTOCK_EXECUTOR="reference"):  # nothing is compiled
        rows, one = description.of_rows.bind(run), description.function.bind(run)
    whole = rows(columns)
    each = [one([np.asarray(c[i], c.dtype) for c in columns]) for i in range(len(columns[0]))]
    assert all(len(w) == len(each) for w in whole)
    for number, column in enumerate(whole):
        for i, results in enumerate(each):
            assert same(column[i], results[number]), (number, i, column[i], results[number])


@pytest.mark.parametrize("name", BODIES)
def test_rows_give_what_single_elements_give(name: str) -> None:
    check(*BODIES[name])


def test_every_rule_is_checked() -> None:
    seen: set[str] = set()
    for function, columns in BODIES.values():
        body = mapped(function, columns).function.body
        seen.update(o.type for o in body.graph.get_operations())
    called = {"PartitionedCall", "StatefulPartitionedCall"}
    assert set(RULES) - seen == set(), set(RULES) - seen
    assert seen & called


@pytest.mark.parametrize(
    ("function", "columns"),
    [
        (lambda x: x + tf.random.uniform([]), (F,)),
        (lambda x: tf.reduce_sum(x), (F,)),
        (lambda x: tf.matmul(x, x, transpose_b=True), (F,)),
        (lambda x: tf.cond(x > 0, lambda: x, lambda: -x), (J,)),
        (lambda x: tf.py_function(lambda v: v, [x], tf.int32), (J,)),
        (lambda s: tf.strings.split(s), (S,)),
        (lambda x: tf.asin(x), (H,)),
        (lambda x: tf.range(x), (J,)),
    ],
)
def test_others_have_none(function: Any, columns: Any) -> None:
    assert mapped(function, columns).of_rows is None


def test_variables_are_read_at_each_element() -> None:
    v = tf.Variable(1, dtype=tf.int64)
    iterator = iter(tf.data.Dataset.range(3).map(lambda x: x + v))
    assert int(next(iterator)) == 1
    v.assign(10)
    assert [int(x) for x in iterator] == [11, 12]


def test_large_elements_have_none() -> None:
    assert mapped(lambda x: x + 1, (np.zeros((2, 300, 300), np.float32),)).of_rows is None


NUMBERS = [
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: tf.maximum(x, -y),
    lambda x, y: tf.where(x < y, x, y),
    lambda x, y: tf.stack([x, y])[0] - 1,
    lambda x, y: x - y,
    lambda x, y: (
        tf.clip_by_value(x, tf.constant(-3, x.dtype), tf.constant(3, x.dtype))
        + tf.cast(x > y, x.dtype)
    ),
    lambda x, y: tf.sign(x) * tf.abs(y) + tf.ones_like(x),
    lambda x, y: tf.expand_dims(x, 0)[0] + tf.zeros_like(y),
]
SHAPES = st.lists(st.integers(0, 3), max_size=2)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(range(len(NUMBERS))), min_size=1, max_size=3),
    SHAPES,
    st.booleans(),
    st.integers(1, 5),
    st.sampled_from(["int32", "int64", "float32", "float64", "int8"]),
    st.integers(0, 2**16),
)
def test_random_bodies(
    steps: list[int], dims: list[int], fewer_axes: bool, rows: int, dtype: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((rows, *dims)) * 9).astype(dtype)
    y = (rng.standard_normal((rows, *dims[1 if fewer_axes else 0 :])) * 9).astype(dtype)
    if dtype.startswith("f") and x.size:
        x.reshape(-1)[0] = np.nan

    def body(a: Any, b: Any) -> Any:
        for number in steps:
            b = NUMBERS[number](a, b + tf.zeros_like(a))
        return b

    check(body, (x, y))


def lists(dataset: Any) -> list[Any]:
    """The elements and the errors of a dataset."""
    found, iterator = [], iter(dataset)
    while True:
        try:
            found.append(next(iterator).numpy().tolist())
        except StopIteration:
            return found
        except tf.errors.InvalidArgumentError:
            found.append("error")


FAILS = tf.autograph.experimental.do_not_convert(lambda x: 12 // (x - 3))


def test_an_element_that_fails_takes_no_other_with_it() -> None:
    numbers = tf.data.Dataset.range(6).map(FAILS)
    assert lists(numbers) == [-4, -6, -12, "error", 12, 6]
    assert lists(numbers.map(lambda x: x + 1)) == [-3, -5, -11, "error", 13, 7]
    assert lists(numbers.filter(lambda x: x > -7)) == [-4, -6, "error", 12, 6]
    assert lists(numbers.batch(2)) == [[-4, -6], "error", [12, 6]]
    assert lists(numbers.prefetch(2)) == [-4, -6, -12, "error", 12, 6]
    pairs = tf.data.Dataset.zip(tf.data.Dataset.range(6), numbers).map(lambda a, b: a * 100 + b)
    assert lists(pairs) == [-4, 94, 188, "error", 412, 506]
    assert lists(pairs.batch(3)) == [[-4, 94, 188], "error", [412, 506]] or lists(
        pairs.batch(3)
    ) == [[-4, 94, 188], "error"]
    swapped = tf.data.Dataset.zip(numbers, tf.data.Dataset.range(6)).map(lambda a, b: b * 100 + a)
    assert lists(swapped) == [-4, 94, 188, "error", 412, 506]


@pytest.mark.parametrize("position", range(12))
def test_stages_of_rows_go_on_from_any_element(position: int) -> None:
    def make() -> Any:
        numbers = tf.data.Dataset.range(7).map(lambda x: x * 3).filter(lambda x: x % 2 == 0)
        both = tf.data.Dataset.zip(numbers.repeat(3), tf.data.Dataset.range(9).map(lambda x: x + 1))
        return both.map(lambda a, b: a * 10 + b).concatenate(tf.data.Dataset.range(3)).prefetch(3)

    every = [int(x) for x in make()]
    iterator = iter(make())
    for _ in range(position):
        next(iterator)
    state = iterator._state.save()
    other = iter(make())
    other._state.restore(state)
    assert [int(x) for x in other] == every[position:]
    assert [int(x) for x in iterator] == every[position:]


def test_generators_are_not_read_ahead() -> None:
    asked: list[int] = []

    def slow(x: Any) -> Any:
        asked.append(int(x))
        return x

    source = tf.data.Dataset.range(9).map(lambda x: tf.py_function(slow, [x], tf.int64))
    iterator = iter(source.map(lambda x: x + 1).filter(lambda x: x > 1))
    assert int(next(iterator)) == 2
    assert asked == [0, 1]


def test_floating_point_bodies_give_the_same_in_every_block() -> None:
    def long(x: Any) -> Any:
        for _ in range(6):
            x = x * 1.1 + tf.sin(x) / 3
        return x

    values = np.linspace(-3, 3, 64).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(values).repeat(6).map(long).batch(64)
    first, *others = [x.numpy() for x in dataset]
    assert all(same(first, other) for other in others)
