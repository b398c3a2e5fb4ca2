"""Parsing of SequenceExamples: contexts and feature lists, eagerly and in graphs."""

from typing import Any

import numpy as np
import pytest
from tests.ops.parse_messages import everywhere, plain, sequence

import penstock as tf

io = tf.io
Fixed, Rows, Var = io.FixedLenFeature, io.FixedLenSequenceFeature, io.VarLenFeature
Ragged = io.RaggedFeature
INT, FLOAT, STRING = tf.int64, tf.float32, tf.string
LISTS = {
    "f": [[1.0, 2.0], [3.0, 4.0]],
    "g": [[1], [2], [3]],
    "w": [[b"a"], [b"b", b"c"], []],
}
A = sequence({"c": [1, 2], "s": [b"x"]}, LISTS)
B = sequence({"c": [3]}, {"f": [[5.0, 6.0]], "g": [[4]]})


def of_context(strings: Any, features: Any) -> Any:
    return everywhere(lambda s: io.parse_sequence_example(s, features)[0], strings)


def of_lists(strings: Any, features: Any) -> Any:
    return everywhere(lambda s: io.parse_sequence_example(s, None, features)[1:], strings)


def test_contexts() -> None:
    features = {"c": Var(INT), "s": Fixed([1], STRING, b"-")}
    found = of_context([A, B], features)
    assert found["s"] == ("string", (2, 1), [[b"x"], [b"-"]])
    assert found["c"][1][2] == [[0, 0], [0, 1], [1, 0]]
    assert found["c"][2][2] == [1, 2, 3]
    assert of_context([A, B], {"c": Ragged(INT)})["c"][3] == [[1, 2], [3]]
    parts = sequence({"v": [1, 2, 3], "l": [1, 2]}, {})
    feature = Ragged(INT, "v", [Ragged.RowLengths("l")])
    assert of_context([parts], {"r": feature})["r"][3] == [[[1], [2, 3]]]
    assert of_context(A, {"c": Ragged(INT)})["c"] == ("int64", (2,), [1, 2])


def test_dense_lists_are_padded_and_counted() -> None:
    features = {"f": Rows([2], FLOAT), "g": Rows([], INT)}
    values, lengths = of_lists([A, B], features)
    assert values["f"][1:] == ((2, 2, 2), [[[1, 2], [3, 4]], [[5, 6], [0, 0]]])
    assert values["g"] == ("int64", (2, 3), [[1, 2, 3], [4, 0, 0]])
    assert lengths == {"f": ("int64", (2,), [2, 1]), "g": ("int64", (2,), [3, 1])}
    values, lengths = of_lists([A, B], {"zz": Rows([3], STRING, True)})
    assert values["zz"] == ("string", (2, 0, 3), [[], []])
    assert lengths["zz"][2] == [0, 0]


def test_lists_of_any_size() -> None:
    values, lengths = of_lists([A, B], {"w": Var(STRING), "g": Var(INT)})
    assert lengths == {}
    _, indices, found, shape = values["w"]
    assert indices[2] == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert found[2] == [b"a", b"b", b"c"]
    assert shape[2] == [2, 3, 2]
    values, _ = of_lists([A, B], {"w": Ragged(STRING), "f": Ragged(FLOAT, row_splits_dtype=INT)})
    assert values["w"][3] == [[[b"a"], [b"b", b"c"], []], []]
    assert values["f"][2:] == ("int64", [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]])


def test_partitions_split_each_step() -> None:
    row = sequence({}, {"v": [[1, 2, 3], [4]], "l": [[1, 2], [1]]})
    feature = Ragged(INT, "v", [Ragged.RowLengths("l")])
    assert of_lists([row, row], {"r": feature})[0]["r"][3] == [[[[1], [2, 3]], [[4]]]] * 2
    uniform = Ragged(FLOAT, "f", [Ragged.UniformRowLength(2)])
    assert of_lists([A], {"f": uniform})[0]["f"][3] == [[[[1.0, 2.0]], [[3.0, 4.0]]]]
    found = io.parse_single_sequence_example(row, None, {"r": feature})[1]["r"]
    assert found.to_list() == [[[1], [2, 3]], [[4]]]


def test_one_example() -> None:
    context = {"c": Var(INT), "s": Fixed([], STRING)}
    lists = {"f": Rows([2], FLOAT), "w": Var(STRING), "g": Ragged(INT)}
    found = everywhere(lambda s: io.parse_single_sequence_example(s, context, lists), A)
    assert found[0]["s"] == ("string", (), b"x")
    assert found[0]["c"][3][2] == [2]
    assert found[1]["f"] == ("float32", (2, 2), [[1.0, 2.0], [3.0, 4.0]])
    assert found[1]["w"][1][2] == [[0, 0], [1, 0], [1, 1]]
    assert found[1]["g"][3] == [[1], [2], [3]]
    values, lengths = of_lists(A, {"f": Rows([2], FLOAT)})
    assert lengths["f"] == ("int64", (), 2)
    assert values["f"][1] == (2, 2)
    old = tf.compat.v1.parse_single_sequence_example(A, {"s": Fixed([1], STRING)})
    assert plain(old[0]["s"])[2] == [b"x"]


def test_no_examples() -> None:
    none = np.zeros(0, object)
    lists = {"f": Rows([2], FLOAT), "w": Ragged(STRING), "g": Var(INT)}
    values, lengths = of_lists(none, lists)
    assert values["f"] == ("float32", (0, 0, 2), [])
    assert values["w"][3] == []
    assert values["g"][3][2] == [0, 0, 0]
    assert lengths["f"] == ("int64", (0,), [])


REFUSED = [
    (
        {"s": Fixed([1], STRING)},
        None,
        "Name: <unknown>, Feature: s .data type: string. is required",
    ),
    ({"c": Fixed([1], INT)}, None, "Context feature: c.*Values size: 2"),
    (
        {"c": Fixed([2], FLOAT)},
        None,
        "Context feature: c.*Expected type: float, Actual type: int64",
    ),
    ({"c": Var(FLOAT)}, None, "Context feature: c.*Expected type: float"),
    (None, {"w": Rows([], STRING)}, "Feature list '?w.*required"),
    (None, {"f": Rows([3], FLOAT)}, "Feature list: f, Index: 0.*Values size: 2"),
    (None, {"f": Rows([2], INT)}, "Feature list: f, Index: 0.*Expected type: int64"),
    (None, {"w": Var(INT)}, "Feature list: w, Index: 0.*Expected type: int64, Actual type: string"),
    (None, {"w": Ragged(INT)}, "Feature list: w, Index: 0"),
    (None, {"f": Rows([None], FLOAT)}, "fully known shape"),
]


@pytest.mark.parametrize(("context", "lists", "words"), REFUSED)
def test_what_does_not_fit(context: Any, lists: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        io.parse_sequence_example([A, B], context, lists)


def test_errors_name_the_row_and_the_step() -> None:
    row = sequence({}, {"f": [[1.0, 2.0], [3.0]]})
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Name: two, Feature list: f, Index: 1"
    ):
        io.parse_sequence_example([A, row], None, {"f": Rows([2], FLOAT)}, ["one", "two"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: two, Feature list 'w'"):
        io.parse_sequence_example(
            [sequence({}, {"w": [[b"a"]]}), B], None, {"w": Rows([1], STRING)}, ["one", "two"]
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        io.parse_sequence_example([A, b"\x12\x05ab"], None, {"w": Var(STRING)})


def test_bad_descriptions() -> None:
    cases: list[tuple[Any, Any, str]] = [
        (None, None, "at least one should have"),
        ({}, {}, "at least one should have"),
        ({"c": Rows([], INT)}, None, "Unsupported FixedLenSequenceFeature"),
        ({"s": io.SparseFeature("c", "c", INT, 3)}, None, "Unsupported SparseFeature"),
        (None, {"f": Fixed([2], FLOAT)}, "Unsupported FixedLenFeature"),
        (None, {"f": Rows([2], FLOAT, default_value=1.0)}, "must be None"),
        (None, {"f": Rows(None, FLOAT)}, "Missing shape"),
        (None, {"f": Rows([], None)}, "Missing type"),
    ]
    for context, lists, words in cases:
        with pytest.raises(ValueError, match=words):
            io.parse_sequence_example([A], context, lists)
        with pytest.raises(ValueError, match=words):
            io.parse_single_sequence_example(A, context, lists)
    with pytest.raises(ValueError, match="must be a scalar"):
        io.parse_single_sequence_example([A], {"c": Var(INT)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar or vector"):
        io.parse_sequence_example([[A]], {"c": Var(INT)})


def test_older_operations() -> None:
    none = tf.constant([], STRING)
    attrs = {
        "context_sparse_types": [INT], "context_dense_shapes": [[2]],
        "context_dense_defaults": [np.zeros(0, np.int64)], "feature_list_dense_types": [FLOAT],
        "feature_list_sparse_types": [FLOAT], "feature_list_dense_shapes": [[2]],
        "context_sparse_keys": ["c"], "context_dense_keys": ["c"],
        "feature_list_sparse_keys": ["f"], "feature_list_dense_keys": ["z"],
    }  # fmt: skip
    found = tf.raw_ops.ParseSequenceExample(
        serialized=[A], debug_name=none, feature_list_dense_missing_assumed_empty=["z"],
        Ncontext_sparse=1, Ncontext_dense=1, Nfeature_list_sparse=1, Nfeature_list_dense=1, **attrs,
    )  # fmt: skip
    assert plain(found.context_dense_values[0])[2] == [[1, 2]]
    assert plain(found.feature_list_sparse_shapes[0])[2] == [1, 2, 2]
    assert plain(found.feature_list_dense_values[0])[1] == (1, 0, 2)
    assert plain(found.feature_list_dense_lengths[0])[2] == [0]
    found = tf.raw_ops.ParseSingleSequenceExample(
        serialized=A, debug_name="", feature_list_dense_missing_assumed_empty=["z"], **attrs
    )
    assert plain(found.context_sparse_values[0])[2] == [1, 2]
    assert plain(found.feature_list_sparse_indices[0])[2] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert plain(found.feature_list_dense_values[0])[1] == (0, 2)
