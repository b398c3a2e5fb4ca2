"""Structured tensors; what is expected is what TensorFlow 2.21 answers, where it answers."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

Structured = tf.experimental.StructuredTensor
Partition = tf.experimental.RowPartition
Shape = tf.experimental.DynamicRaggedShape
RECORD = {"a": 1, "b": [1, 2, 3], "c": {"d": "x"}}
TABLE = [{"a": 1, "b": [1, 2]}, {"a": 2, "b": []}]
TABLES = [[{"a": 1}, {"a": 2}], [{"a": 3}]]


def table() -> Any:
    return Structured.from_pyval(TABLE)


def spec(fields: dict[str, Any], *dims: int | None) -> Any:
    """The spec of a table of so many rows."""
    shape = Shape.Spec([], tf.TensorShape(dims), tf.int64)
    return Structured.Spec(_fields=fields, _ragged_shape=shape)


ROWS = spec({"a": tf.TensorSpec([None], tf.int64), "b": tf.RaggedTensorSpec([None, None])}, None)


@pytest.mark.parametrize(
    ("value", "shape", "names"),
    [
        (RECORD, [], ("a", "b", "c")),
        (TABLE, [2], ("a", "b")),
        (TABLES, [2, None], ("a",)),
        ([{"a": [{"b": 1}]}, {"a": []}], [2], ("a",)),
        ([{}, {}], [2], ()),
        ({}, [], ()),
        ([{"a": [[1], [2, 3]]}, {"a": []}], [2], ("a",)),
    ],
)
def test_python_values(value: Any, shape: Any, names: Any) -> None:
    """Dicts in lists come back as they were; text as bytes."""
    made = Structured.from_pyval(value)
    assert made.shape.as_list() == shape
    assert (made.rank, made.field_names()) == (len(shape), names)
    assert str(made.to_pyval()).replace("b'x'", "'x'").replace("np.int32(1)", "1") == str(value)


def test_python_values_without_dicts() -> None:
    assert Structured.from_pyval(3).numpy() == 3
    assert Structured.from_pyval([1, 2]).numpy().tolist() == [1, 2]
    nested = Structured.from_pyval([[1, 2], [3, 4]])
    assert isinstance(nested, tf.RaggedTensor)
    assert Structured.from_pyval({"b": np.array([[1, 2], [3, 4]])}).field_value("b").shape == [2, 2]
    assert Structured.from_pyval([]).shape == [0]


@pytest.mark.parametrize(
    ("value", "kind", "match"),
    [
        (None, ValueError, r"Error parsing path \(\)"),
        ([{"a": 1}, {"a": "x"}], ValueError, r"Error parsing path \('a',\)"),
        ({"a": {"b": [1, "x"]}}, ValueError, r"Error parsing path \('a', 'b'\)"),
        ([{"a": 1}, {"b": 2}], KeyError, "[ab]"),
        ([{"a": 1}, [{"a": 1}]], ValueError, "Inconsistent depth of dictionaries"),
        ([[{"a": 1}], {"a": 1}], ValueError, "Inconsistent depth of dictionaries"),
        ([{"a": 1}, 3], ValueError, "Expected dict or nested list/tuple of dict"),
        ({1: 2}, TypeError, "Unexpected type for key in `fields`: 1"),
        ({"a.b": 2}, ValueError, "Field name 'a.b' is not currently allowed"),
        ({"_x": 2}, ValueError, "not currently allowed"),
        ({"": 2}, ValueError, "not currently allowed"),
    ],
)
def test_python_values_that_do_not_fit(value: Any, kind: Any, match: str) -> None:
    with pytest.raises(kind, match=match):
        Structured.from_pyval(value)


def test_specs_of_python_values() -> None:
    """A spec gives the dtypes, and refuses what does not fit it."""
    made = Structured.from_pyval([{"a": 1, "b": [1, 2]}], typespec=ROWS)
    assert [made.field_value(n).dtype for n in "ab"] == [tf.int64, tf.float32]
    assert ROWS.is_compatible_with(tf.type_spec_from_value(made))
    empty = Structured.from_pyval([], typespec=ROWS)
    assert (empty.shape, empty.field_value("b").to_list()) == ([0], [])
    assert (ROWS.shape.as_list(), ROWS.rank) == ([None], 1)
    assert tf.type_spec_from_value(Structured.from_pyval(TABLES)).shape.as_list() == [2, None]
    for value, match in (
        ([{"a": 1}], r"Error parsing path \(\)"),
        ([{"a": "x", "b": []}], r"Error parsing path \('a',\)"),
        ({"a": 1, "b": []}, r"Value at \(\) does not match typespec"),
        ([1, 2], r"Value at \(\) does not match typespec"),
    ):
        with pytest.raises(ValueError, match=match):
            Structured.from_pyval(value, typespec=ROWS)
    vector = tf.TensorSpec([2], tf.int64)
    assert Structured.from_pyval([1, 2], typespec=vector).dtype is tf.int64
    with pytest.raises(ValueError, match="does not match typespec"):
        Structured.from_pyval([1, 2, 3], typespec=vector)


def test_from_fields() -> None:
    """Shapes come from fields, from what is given, or from both."""
    ragged = tf.ragged.constant([[1, 2], [3]])
    assert Structured.from_fields({"x": 1, "y": [1, 2, 3]}).shape == []
    assert Structured.from_fields({"x": [1, 2], "y": ragged}, shape=[None]).shape == [2]
    square = Structured.from_fields({"x": [[1, 2], [3, 4]]}, shape=[2, 2])
    assert square.row_partitions[0].uniform_row_length() == 2
    both = Structured.from_fields({"x": ragged}, shape=[2, None])
    assert both.row_partitions[0].row_splits().numpy().tolist() == [0, 2, 3]
    assert Structured.from_fields({}, shape=[None], nrows=3).nrows() == 3
    parts = [Partition.from_row_lengths([2, 1])]
    bare = Structured.from_fields({}, shape=[2, None], row_partitions=parts)
    assert bare.to_pyval() == [[{}, {}], [{}]]
    assert (bare[0].shape, bare[:, :1].to_pyval()) == ([2], [[{}], [{}]])
    assert Structured.from_shape(Shape.from_lengths([2, (1, 2)])).shape.as_list() == [2, None]
    assert Structured.from_fields({"x": 1}).nrows() is None


@pytest.mark.parametrize(
    ("fields", "options", "kind", "match"),
    [
        ({"x": [1, 2, 3]}, {"shape": [2]}, ValueError, r"shape of x: expected \(2,\), got \[3\]"),
        ({"x": [1, 2, 3], "y": [1, 2]}, {"shape": [None]}, ValueError, "Error in shape of y"),
        ({"x": [1]}, {"shape": None}, ValueError, "must have known rank"),
        ({}, {"shape": [None]}, ValueError, "Must specify `nrows`"),
        ({}, {"shape": [2, None]}, ValueError, "Must specify row_partitions"),
        ({"x": 1}, {"nrows": 3}, ValueError, "nrows must be None if shape.rank==0"),
        ({"x": [1, 2]}, {"shape": [2], "nrows": 3}, ValueError, "shape of row_partitions"),
        ({"x": [[1]]}, {"shape": [1, 1], "row_partitions": ()}, ValueError, "must be shape.rank-1"),
        ([1], {}, TypeError, "fields must be a dictionary, got list"),
        ({"x": tf.sparse.from_dense([1])}, {"shape": [1]}, TypeError, "type for value in `fields`"),
        (
            {"x": tf.ragged.constant([[1, 2], [3]]), "y": tf.ragged.constant([[1], [2, 3]])},
            {"shape": [2, None]}, ValueError, r"of y: expected \[2, \(2, 1\)\], got",
        ),
    ],
)  # fmt: skip
def test_from_fields_refuses(fields: Any, options: Any, kind: Any, match: str) -> None:
    with pytest.raises(kind, match=match):
        Structured.from_fields(fields, **options)


def test_from_fields_and_rank() -> None:
    fields = {"x": [[1, 2], [3, 4]], "y": tf.zeros([2, 2, 3])}
    for rank, shape in ((2, [2, 2]), (1, [2])):
        assert Structured.from_fields_and_rank(fields, rank=rank).shape == shape
    assert Structured.from_fields_and_rank(fields, 1, dtype=tf.int32).nrows().dtype is tf.int32
    for given, rank, match in (
        ({}, 0, "at least one field"),
        ({"x": [1]}, 2, "a field of rank at least 2"),
        ({"x": [1]}, -1, "rank must be nonnegative"),
        ({"x": [1, 2], "y": [1, 2, 3]}, 1, "Error in shape of y"),
    ):
        with pytest.raises(ValueError, match=match):
            Structured.from_fields_and_rank(given, rank)


def test_shapes_are_compared_when_it_runs() -> None:
    """With `validate`, what a graph cannot compare is compared by its steps."""
    vector = tf.TensorSpec([None], tf.int32)

    @tf.function(input_signature=[vector, vector])
    def count(x: Any, y: Any) -> Any:
        return Structured.from_fields({"x": x, "y": y}, [None], validate=True).nrows()

    assert count([1, 2], [3, 4]) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="Error in shape of y"):
        count([1, 2], [3])


def test_fields() -> None:
    nested = Structured.from_pyval(RECORD)
    assert nested.field_value(("c", "d")).numpy() == b"x"
    assert nested.field_value(()) is nested
    for path in ("q", ("c", "q"), ("a", "q")):
        with pytest.raises(KeyError, match="q"):
            nested.field_value(path)


@pytest.mark.parametrize(
    ("value", "key", "expected"),
    [
        (TABLE, 0, {"a": 1, "b": [1, 2]}),
        (TABLE, -1, {"a": 2, "b": []}),
        (TABLE, slice(1, None), TABLE[1:]),
        (TABLE, slice(None, None, 2), TABLE[::2]),
        (TABLE, (), TABLE),
        (TABLES, (0, 1), {"a": 2}),
        (TABLES, 0, TABLES[0]),
        (TABLES, (slice(None), slice(1)), [[{"a": 1}], [{"a": 3}]]),
        (RECORD, "c", {"d": b"x"}),
        (RECORD, slice(None), {"a": 1, "b": [1, 2, 3], "c": {"d": b"x"}}),
    ],
)
def test_rows(value: Any, key: Any, expected: Any) -> None:
    assert Structured.from_pyval(value)[key].to_pyval() == expected


def test_fields_of_rows() -> None:
    rows = table()
    assert rows[0, "a"].numpy() == 1
    assert rows[:, "a"].numpy().tolist() == [1, 2]
    assert rows[0, "b", 1].numpy() == 2
    assert rows[:, "b", :1].to_list() == [[1], []]
    assert rows[tf.constant(1), "a"].numpy() == 2
    assert Structured.from_pyval(TABLES)[1, 0, "a"].numpy() == 3
    assert Structured.from_pyval({"a": {"b": [1, 2]}})["a", "b", 1].numpy() == 2
    assert [row.to_pyval() for row in rows] == TABLE


@pytest.mark.parametrize(
    ("value", "key", "kind", "match"),
    [
        (TABLE, "a", TypeError, "valid indices, got 'a'"),
        (TABLE, slice("a", None), TypeError, "valid indices, got 'a'"),
        (TABLE, ..., ValueError, "Slicing not supported for Ellipsis"),
        (TABLE, None, ValueError, "Slicing not supported for tf.newaxis"),
        (TABLE, (0, 0), ValueError, "must be a string, got 0"),
        (TABLES, (slice(None), 0), ValueError, "Cannot index into an inner ragged dimension"),
        (RECORD, 0, ValueError, "a string or a full slice"),
    ],
)
def test_rows_refuse(value: Any, key: Any, kind: Any, match: str) -> None:
    with pytest.raises(kind, match=match):
        Structured.from_pyval(value)[key]


def test_dimensions_as_one_and_as_two() -> None:
    tables = Structured.from_pyval(TABLES)
    rows = [{"a": 1}, {"a": 2}, {"a": 3}]
    assert tables.merge_dims(0, 1).to_pyval() == tables.merge_dims(-2, -1).to_pyval() == rows
    assert tables.merge_dims(1, 1).to_pyval() == TABLES
    back = tables.merge_dims(0, 1).partition_outer_dimension(Partition.from_row_lengths([2, 1]))
    assert (back.to_pyval(), back.shape.as_list()) == (TABLES, [2, None])
    deep = Structured.from_pyval([{"a": [{"b": 1}]}, {"a": []}])
    once = deep.partition_outer_dimension(Partition.from_row_lengths([2]))
    assert once.merge_dims(0, 1).to_pyval() == deep.to_pyval()
    for call, kind, match in (
        (lambda: tables.merge_dims(0, 2), ValueError, "inner_axis=2 out of bounds: expected -2<="),
        (lambda: tables.merge_dims(1, 0), ValueError, r"outer_axis \(1\) to be less than or equal"),
        (lambda: table().partition_outer_dimension([0, 2]), TypeError, "must be a RowPartition"),
        (
            lambda: Structured.from_pyval({}).partition_outer_dimension(back.row_partitions[0]),
            ValueError, "must have rank at least 1",
        ),
        (
            lambda: table().partition_outer_dimension(Partition.from_row_splits([0, 1])),
            tf.errors.InvalidArgumentError, "valid RaggedTensor",
        ),
    ):  # fmt: skip
        with pytest.raises(kind, match=match):
            call()


def test_promote() -> None:
    deep = Structured.from_pyval([{"x": {"a": [{"b": [1, 2]}, {"b": [3]}]}}])
    assert deep.promote(("x", "a", "b"), "n").field_value(("x", "n")).to_list() == [[1, 2, 3]]
    flat = Structured.from_pyval({"a": [{"b": 1}, {"b": 2}]})
    assert flat.promote(("a", "b"), "n").field_value("n").numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="length at least two"):
        flat.promote(("a",), "n")
    with pytest.raises(KeyError, match="q"):
        flat.promote(("q", "b"), "n")


def test_updates() -> None:
    rows, nested = table(), Structured.from_pyval(RECORD)
    assert rows.with_updates({"c": [5, 6]}).field_value("c").numpy().tolist() == [5, 6]
    assert rows.with_updates({"a": None}).field_names() == ("b",)
    assert rows.with_updates({("a",): lambda x: x * 2})[:, "a"].numpy().tolist() == [2, 4]
    assert nested.with_updates({("c", "e"): 5}).field_value(("c", "e")).numpy() == 5
    assert rows.with_updates({"s": rows})[0, "s"].to_pyval() == TABLE[0]
    assert rows.with_updates({"a": None, "b": None}).to_pyval() == [{}, {}]
    for value, updates, match in (
        (rows, {"c": [1, 2, 3]}, r"with_updates` failed: Error in shape of c"),
        (rows, {"z": None}, r"cannot delete field \('z',\)"),
        (rows, {"z": lambda x: x}, r"cannot update the field \('z',\)"),
        (nested, {"c": None, ("c", "d"): 3}, "both parent and child nodes"),
        (nested, {("q", "d"): 3}, r"if parent field \('q',\) is not set"),
        (nested, {("a", "d"): 3}, "is not a `StructuredTensor` that can contain"),
        (nested, {(): 3}, "does not allow empty names"),
    ):
        with pytest.raises(ValueError, match=match):
            value.with_updates(updates)


def test_dtype_of_the_shape() -> None:
    narrow = table().with_shape_dtype(tf.int32)
    assert narrow.nrows().dtype is tf.int32
    assert narrow.field_value("b").row_splits.dtype is tf.int32
    with pytest.raises(ValueError, match="must be int32 or int64"):
        narrow.with_shape_dtype(tf.float32)


def test_text() -> None:
    text = repr(Structured.from_pyval({"b": 1, "a": {"c": [[1]]}}))
    assert text == (
        '<StructuredTensor(\n    fields={\n        "a": <StructuredTensor(\n'
        '                fields={\n                    "c": <tf.RaggedTensor [[1]]>},\n'
        '                shape=())>,\n        "b": tf.Tensor(1, shape=(), dtype=int32)},\n'
        "    shape=())>"
    )


def test_functions_and_loops() -> None:
    """It passes through functions, conditionals, loops and `map_fn` like other values."""
    rows = table()

    @tf.function
    def more(value: Any, yes: Any) -> Any:
        def step(i: Any, v: Any) -> Any:
            return i + 1, v.with_updates({"a": lambda a: a + 1})

        _, value = tf.while_loop(lambda i, v: i < 2, step, [0, value])
        return tf.cond(yes, lambda: value, lambda: rows)

    assert more(rows, tf.constant(True))[:, "a"].numpy().tolist() == [3, 4]
    assert more(rows, tf.constant(False)).to_pyval() == TABLE
    doubled = tf.map_fn(lambda r: r.field_value("a") * 2, rows, fn_output_signature=tf.int32)
    assert doubled.numpy().tolist() == [2, 4]
    assert tf.map_fn(lambda r: r, rows).to_pyval() == TABLE

    @tf.function(input_signature=[ROWS])
    def first(value: Any) -> Any:
        assert value.shape.as_list() == [None]
        with pytest.raises(ValueError, match="only supported in eager mode"):
            value.to_pyval()
        return value[0, "b"], value.nrows()

    values, count = first(Structured.from_pyval([{"a": 1, "b": [1, 2]}], typespec=ROWS))
    assert (values.numpy().tolist(), int(count)) == ([1, 2], 1)
