"""Parsing of Examples: values, shapes, dtypes, errors, eagerly and in graphs.

What is expected follows from the messages; the values of TensorFlow 2.21 were looked at for each.
"""

from typing import Any

import numpy as np
import pytest
from tests.ops.parse_messages import everywhere, example, example_of, plain, sized

import penstock as tf

io = tf.io
Fixed, Rows, Var = io.FixedLenFeature, io.FixedLenSequenceFeature, io.VarLenFeature
Sparse, Ragged = io.SparseFeature, io.RaggedFeature
INT, FLOAT, STRING = tf.int64, tf.float32, tf.string
A = example(a=[1, 2], b=[1.5], c=[b"x", b"yy"])
B = example(a=[3, 4], c=[b"z"])
EMPTY_LIST = example_of(b"\x1a\x00")
NO_KIND = example_of(b"")


def parsed(strings: Any, feature: Any, key: str = "a") -> Any:
    return everywhere(lambda s: io.parse_example(s, {key: feature})[key], strings)


def sparse_of(indices: Any, values: Any, shape: Any, dtype: str = "int64") -> Any:
    rank = len(shape)
    return (
        "sparse", ("int64", (len(values), rank), indices), (dtype, (len(values),), values),
        ("int64", (rank,), shape),
    )  # fmt: skip


def test_fixed_shapes() -> None:
    assert parsed([A, B], Fixed([2], INT)) == ("int64", (2, 2), [[1, 2], [3, 4]])
    assert parsed([A, B], Fixed([1, 2], INT)) == ("int64", (2, 1, 2), [[[1, 2]], [[3, 4]]])
    assert parsed([A, B], Fixed([], FLOAT, 7.0), "b") == ("float32", (2,), [1.5, 7.0])
    assert parsed([A, B], Fixed([2], STRING, ["p", "q"]), "zz")[2] == [[b"p", b"q"]] * 2
    assert parsed(A, Fixed([2], INT)) == ("int64", (2,), [1, 2])
    assert parsed([EMPTY_LIST], Fixed([0], INT)) == ("int64", (1, 0), [[]])
    assert parsed([A, NO_KIND], Fixed([2], INT, [9, 8]))[2] == [[1, 2], [9, 8]]


def test_rows_are_padded() -> None:
    assert parsed([A, B], Rows([], STRING, True), "c")[2] == [[b"x", b"yy"], [b"z", b""]]
    assert parsed([A, B], Rows([], STRING, True, b"-"), "c")[2] == [[b"x", b"yy"], [b"z", b"-"]]
    assert parsed([A, B], Rows([2], INT, True)) == ("int64", (2, 1, 2), [[[1, 2]], [[3, 4]]])
    assert parsed([A, B], Rows([3], FLOAT, True), "zz") == ("float32", (2, 0, 3), [[], []])
    assert parsed(A, Rows([], INT, True)) == ("int64", (2,), [1, 2])


def test_values_of_any_number() -> None:
    wanted = sparse_of([[0, 0], [0, 1], [1, 0]], [b"x", b"yy", b"z"], [2, 2], "string")
    assert parsed([A, B], Var(STRING), "c") == wanted
    assert parsed(A, Var(STRING), "c") == sparse_of([[0], [1]], [b"x", b"yy"], [2], "string")
    assert parsed([A, B], Var(FLOAT), "zz") == sparse_of([], [], [2, 0], "float32")
    assert parsed([A, B], Ragged(STRING), "c")[3] == [[b"x", b"yy"], [b"z"]]
    assert parsed([A, B], Ragged(INT, row_splits_dtype=INT))[2] == "int64"
    assert parsed(A, Ragged(INT)) == ("int64", (2,), [1, 2])
    assert parsed([A, B], Ragged(INT, "a"), "renamed")[3] == [[1, 2], [3, 4]]


def test_no_examples() -> None:
    none = np.zeros(0, object)
    features = {"f": Fixed([2], INT), "v": Var(FLOAT), "r": Ragged(INT), "q": Rows([3], INT, True)}
    found = everywhere(lambda s: io.parse_example(s, features), none)
    assert found["f"] == ("int64", (0, 2), [])
    assert found["v"] == sparse_of([], [], [0, 0], "float32")
    assert found["r"] == ("ragged", "int64", "int32", [])
    assert found["q"] == ("int64", (0, 0, 3), [])


def test_positions_and_values() -> None:
    rows = [example(i=[4, 3], j=[0, 1], v=[1.0, 2.0]), example(i=[5], j=[1], v=[3.0])]
    feature = Sparse("i", "v", FLOAT, 10)
    assert parsed(rows, feature, "s") == sparse_of(
        [[0, 3], [0, 4], [1, 5]], [2.0, 1.0, 3.0], [2, 10], "float32"
    )
    feature = Sparse("i", "v", FLOAT, 10, already_sorted=True)
    assert parsed(rows, feature, "s")[1][2] == [[0, 4], [0, 3], [1, 5]]
    feature = Sparse(["i", "j"], "v", FLOAT, [10, 2])
    assert parsed(rows, feature, "s") == sparse_of(
        [[0, 3, 1], [0, 4, 0], [1, 5, 1]], [2.0, 1.0, 3.0], [2, 10, 2], "float32"
    )
    assert parsed(rows[0], feature, "s")[3][2] == [10, 2]


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("RowSplits", [0, 1, 4], [0, 0, 1]),
        ("RowLengths", [1, 3], [0, 1]),
        ("RowStarts", [0, 1], [0, 0]),
        ("RowLimits", [1, 4], [0, 1]),
        ("ValueRowIds", [0, 1, 1, 1], [1]),
    ],
)
@pytest.mark.parametrize("splits", [tf.int32, tf.int64])
def test_partitions(kind: str, first: list[int], second: list[int], splits: Any) -> None:
    rows = [example(v=[1, 2, 3, 4], p=first), example(v=[5], p=second), example()]
    partition = getattr(Ragged, kind)("p")
    feature = Ragged(INT, "v", [partition], splits, validate=True)
    found = parsed(rows, feature, "r")
    assert found == ("ragged", "int64", splits.name, [[[1], [2, 3, 4]], [[], [5]], []])
    assert parsed(rows[0], feature, "r")[3] == [[1], [2, 3, 4]]


def test_partitions_in_partitions() -> None:
    values = list(range(1, 9))
    two = {
        "RowLengths": ([1, 3, 0, 4], [1, 3], [1], [0, 1]),
        "RowSplits": ([0, 1, 4, 4, 8], [0, 1, 4], [0, 1], [0, 0, 1]),
        "ValueRowIds": ([0, 1, 1, 1, 3, 3, 3, 3], [0, 1, 1, 1], [0], [1]),
    }
    wanted = [[[[1]], [[2, 3, 4], [], [5, 6, 7, 8]]], [[], [[9]]]]
    for kind, (p, q, p2, q2) in two.items():
        rows = [example(v=values, p=p, q=q), example(v=[9], p=p2, q=q2)]
        make = getattr(Ragged, kind)
        assert parsed(rows, Ragged(INT, "v", [make("q"), make("p")]), "r")[3] == wanted
    uniform = Ragged.UniformRowLength(2)
    rows = [example(v=[1, 2, 3, 4], p=[1, 3]), example(v=[5, 6], p=[0, 2])]
    assert parsed(rows, Ragged(INT, "v", [uniform]), "r")[3] == [[[1, 2], [3, 4]], [[5, 6]]]
    both = Ragged(INT, "v", [uniform, Ragged.RowLengths("p")])
    assert parsed(rows, both, "r")[3] == [[[[1], [2, 3, 4]]], [[[], [5, 6]]]]


def test_partitions_are_checked_when_asked() -> None:
    row = [example(v=[1, 2], p=[1, 3])]
    feature = Ragged(INT, "v", [Ragged.RowLengths("p")], validate=True)
    with pytest.raises(tf.errors.InvalidArgumentError):
        io.parse_example(row, {"r": feature})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Reshape"):
        io.parse_example([example(v=[1])], {"v": Ragged(INT, None, [Ragged.UniformRowLength(2)])})


def test_many_features_at_once() -> None:
    features = {"a": Var(INT), "b": Fixed([1], FLOAT, [0.5]), "c": Ragged(STRING)}
    assert list(io.parse_example([A, B], features)) == ["a", "b", "c"]
    found = everywhere(lambda s: io.parse_example(s, features), [A, B, b""])
    assert found["b"][2] == [[1.5], [0.5], [0.5]]
    assert found["c"][3] == [[b"x", b"yy"], [b"z"], []]
    old = tf.compat.v1.parse_example([A], {"a": Fixed([2], INT)}, "name", ["example"])
    assert plain(old["a"])[2] == [[1, 2]]


def test_large_batches_equal_small_ones() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(300):
        ints = rng.integers(-(2**63), 2**63 - 1, rng.integers(0, 5)).tolist()
        texts = [rng.bytes(rng.integers(0, 300)) for _ in range(rng.integers(0, 3))]
        rows.append(example(a=ints, b=rng.normal(size=3).tolist(), c=texts))
    features = {"a": Ragged(INT), "b": Fixed([3], FLOAT), "c": Var(STRING)}
    found = io.parse_example(rows, features)
    one_by_one = [io.parse_single_example(row, features) for row in rows]
    assert found["a"].to_list() == [one["a"].numpy().tolist() for one in one_by_one]
    np.testing.assert_array_equal(found["b"], [one["b"] for one in one_by_one])
    flat = [v for one in one_by_one for v in one["c"].values.numpy().tolist()]
    assert found["c"].values.numpy().tolist() == flat


REFUSED = [
    (
        [A, B],
        {"b": Fixed([1], FLOAT)},
        "Name: <unknown>, Feature: b .data type: float. is required",
    ),
    (
        [A, B],
        {"a": Fixed([2], FLOAT)},
        "Key: a, Index: 0.*Expected type: float, Actual type: int64",
    ),
    ([A, B], {"a": Var(FLOAT)}, "Key: a, Index: 0.*don't match"),
    ([A, B], {"a": Ragged(STRING)}, "Key: a, Index: 0.*don't match"),
    ([A, B], {"c": Fixed([2], STRING)}, "Key: c, Index: 1.*Values size: 1 but output shape: .2,"),
    ([A, B], {"a": Fixed([], INT)}, "Key: a, Index: 0.*Values size: 2"),
    ([A, B], {"c": Rows([2], STRING, True)}, "Key: c, Index: 1.*Saw 1 values"),
    (A, {"zz": Fixed([], INT)}, "ParseExampleV2: Feature: zz .data type: int64. is required"),
    (A, {"a": Fixed([3], INT)}, "Key: a. .*Values size: 2"),
    ([A, b"\x0a\x05ab"], {"a": Var(INT)}, "Name: <unknown>, Could not parse.*ab"),
    (b"\xff\xfe", {"a": Var(INT)}, "Could not parse"),
    ([A, example_of(b"\x1a\x05")], {"a": Var(INT)}, "Could not parse"),
    ([example_of(b"\x1a" + sized(b"\x0a\x02\x05\x80"))], {"a": Var(INT)}, "its list is broken"),
    ([EMPTY_LIST], {"a": Fixed([1], INT, [9])}, "Values size: 0"),
    ([NO_KIND], {"a": Fixed([1], INT)}, "required"),
    ([[A]], {"a": Var(INT)}, "scalar or vector"),
    ([A], {"a": Rows([None], INT, True)}, "unknown inner dimensions"),
]


@pytest.mark.parametrize(
    ("strings", "features", "words"), REFUSED, ids=[words for *_, words in REFUSED]
)
def test_what_does_not_fit(strings: Any, features: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        io.parse_example(strings, features)
    if np.ndim(np.array(strings, object)) < 2:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            tf.function(lambda s: io.parse_example(s, features))(tf.constant(strings))


def test_errors_name_the_example() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: second, Feature: b"):
        io.parse_example([A, B], {"b": Fixed([1], FLOAT)}, ["first", "second"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="same shape as serialized"):
        io.parse_example([A, B], {"a": Var(INT)}, ["first"])


BAD_FEATURES = [
    ({}, ValueError, "cannot be None or falsy"),
    (None, ValueError, "cannot be None or falsy"),
    ({"a": 3}, ValueError, "Unsupported int"),
    ({"a": Fixed([2], None)}, ValueError, "Missing type"),
    ({"a": Var(None)}, ValueError, "Missing type"),
    ({"a": Fixed(None, INT)}, ValueError, "Missing shape"),
    ({"a": Fixed([None], INT)}, ValueError, "Consider using FixedLenSequenceFeature"),
    ({"a": Fixed([2, None], INT)}, ValueError, "need to be known"),
    ({"a": Rows([], INT)}, ValueError, "allow_missing"),
    ({"a": Sparse(None, "b", FLOAT, 3)}, ValueError, "Missing index_key"),
    ({"a": Sparse("i", None, FLOAT, 3)}, ValueError, "Missing value_key"),
    ({"a": Sparse("i", "v", FLOAT, None)}, TypeError, "vocab_size"),
    ({"a": Sparse(["i", "j"], "v", FLOAT, [3])}, ValueError, "vocab_size"),
    ({"a": Var(STRING), "s": Sparse("a", "v", INT, 3)}, ValueError, "Conflicting type"),
    ({"a": Fixed([2], INT), "s": Sparse("a", "v", INT, 3)}, ValueError, "Dense and sparse keys"),
    ({"a": Fixed([2], INT), "r": Ragged(INT, "a")}, ValueError, "Dense and ragged keys"),
    ({"a": Var(INT), "r": Ragged(INT, "a")}, ValueError, "Ragged and sparse keys"),
    ({"a": Ragged(FLOAT), "r": Ragged(INT, "a")}, ValueError, "Conflicting type"),
    ({"a": Ragged(INT, None, (), INT), "r": Ragged(INT, "a")}, ValueError, "partition type"),
    ({"a": Fixed([2], INT, ["x", "y"])}, TypeError, "Cannot convert"),
    ({3: Var(INT)}, TypeError, "Cannot convert 3"),
]  # fmt: skip


@pytest.mark.parametrize(("features", "error", "words"), BAD_FEATURES)
def test_bad_descriptions(features: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        io.parse_example([example(a=[1, 2], i=[0], j=[0], v=[1.0])], features)


def test_bad_dtypes_and_partitions() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
        io.parse_example([A], {"a": Fixed([2], tf.int32)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Reshape"):
        io.parse_example([A], {"z": Fixed([2], INT, [1, 2, 3])})
    with pytest.raises(TypeError, match="partitions"):
        Ragged(INT, "v", [3])
    with pytest.raises(TypeError, match="partitions"):
        Ragged(INT, "v", Ragged.RowLengths("p"))
    with pytest.raises(ValueError, match="row_splits_dtype"):
        Ragged(INT, "v", row_splits_dtype=FLOAT)
    with pytest.raises(TypeError):
        Ragged(None, "v")
    with pytest.raises(ValueError, match="string"):
        io.parse_example([1], {"a": Var(INT)})
    with pytest.raises(ValueError, match="must be a scalar"):
        io.parse_single_example([A], {"a": Var(INT)})
    with tf.Graph().as_default():
        unknown = tf.compat.v1.placeholder(STRING, None)
        with pytest.raises(ValueError, match="statically-known rank"):
            io.parse_example(unknown, {"a": Ragged(INT)})
        with pytest.raises(ValueError, match="scalar or vector"):
            io.parse_example(tf.compat.v1.placeholder(STRING, [2, 3]), {"a": Var(INT)})
        single = io.parse_single_example(unknown, {"a": Fixed([2], INT)})["a"]
        assert single.shape == (2,)
        with tf.compat.v1.Session() as session:
            assert session.run(single, {unknown: A}).tolist() == [1, 2]
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(single, {unknown: [A]})


def test_padding_out_of_proportion_is_refused() -> None:
    rows = [example(a=[1] * 20_000), *[b""] * 120_000]
    with pytest.raises(tf.errors.ResourceExhaustedError, match="padded result"):
        io.parse_example(rows, {"a": Rows([], INT, True)})


# ---- raw operations


def _v2(serialized: Any, **given: Any) -> Any:
    none = tf.constant([], STRING)
    wanted = {
        "names": none, "sparse_keys": none, "dense_keys": none, "ragged_keys": none,
        "dense_defaults": [], "num_sparse": 0, "sparse_types": [], "ragged_value_types": [],
        "ragged_split_types": [], "dense_shapes": [], **given,
    }  # fmt: skip
    return tf.raw_ops.ParseExampleV2(serialized=serialized, **wanted)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"dense_keys": ["a"], "dense_defaults": [np.int64([1])], "dense_shapes": [[2]]},
            "def_val",
        ),
        (
            {
                "dense_keys": ["a"],
                "dense_defaults": [np.zeros(0, np.int64)],
                "dense_shapes": [[None]],
            },
            "single element",
        ),
        ({"sparse_keys": ["a", "b"], "num_sparse": 1, "sparse_types": [INT]}, "2.*1|1.*2"),
        ({"sparse_keys": ["a"], "num_sparse": 1, "sparse_types": []}, "sparse_types"),
        ({"ragged_keys": ["a"], "ragged_value_types": [INT]}, "ragged_split_types"),
        ({"names": ["n", "m"], "sparse_keys": tf.constant([], STRING)}, "names"),
    ],
)
def test_lists_of_unequal_length(given: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        _v2([A], **given)


def test_one_example_has_no_ragged_splits() -> None:
    found = _v2(A, ragged_keys=["c"], ragged_value_types=[STRING], ragged_split_types=[tf.int32])
    assert plain(found.ragged_values[0])[2] == [b"x", b"yy"]
    assert plain(found.ragged_row_splits[0]) == ("int32", (0,), [])


def test_older_operations() -> None:
    none = tf.constant([], STRING)
    defaults = {"dense_defaults": [np.zeros(0, np.float32)], "dense_shapes": [[1]]}
    found = tf.raw_ops.ParseExample(
        serialized=[A], names=none, sparse_keys=["a"], dense_keys=["b"], sparse_types=[INT],
        **defaults,
    )  # fmt: skip
    assert plain(found.sparse_indices[0])[2] == [[0, 0], [0, 1]]
    assert plain(found.dense_values[0])[2] == [[1.5]]
    found = tf.raw_ops.ParseSingleExample(
        serialized=A, num_sparse=1, sparse_keys=["a"], dense_keys=["b"], sparse_types=[INT],
        **defaults,
    )  # fmt: skip
    assert plain(found.sparse_shapes[0])[2] == [2]
    assert plain(found.dense_values[0])[2] == [1.5]
    with pytest.raises(tf.errors.InvalidArgumentError, match="serialized"):
        tf.raw_ops.ParseSingleExample(
            serialized=[A], dense_defaults=[], num_sparse=0, sparse_keys=[], dense_keys=[],
            sparse_types=[], dense_shapes=[],
        )  # fmt: skip
