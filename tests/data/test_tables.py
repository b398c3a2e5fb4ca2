"""Datasets of tables: CSVDataset CSVDatasetV2 ExperimentalCSVDataset SqlDataset
ExperimentalSqlDataset.
"""

import gzip
import os
import sqlite3

import numpy as np
import pytest
from tests.data.file_checks import check_everywhere, outcomes, values

import penstock as tf
from penstock.data.base import dataset_class
from penstock.data.structure import Structure

Csv = tf.data.experimental.CsvDataset
Sql = tf.data.experimental.SqlDataset
TEXT = '1,2.5,x\n3,,"y,z"\n,4,\n'
BAD = "InvalidArgumentError"


@pytest.fixture
def write(tmp_path):
    def make(content, name="some.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return make


def test_defaults(write):
    path = write(TEXT)
    make = lambda: Csv([path, path], [[7], [0.5], ["q"]])  # noqa: E731
    wanted = [[1, 2.5, b"x"], [3, 0.5, b"y,z"], [7, 4.0, b"q"]]
    assert check_everywhere(make) == wanted * 2
    required = Csv(path, [tf.int32, tf.float32, tf.string])
    assert outcomes(required) == [wanted[0], BAD, BAD]
    assert required.element_spec == tuple(
        tf.TensorSpec([], t) for t in (tf.int32, tf.float32, tf.string)
    )
    assert int(required.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    headed = lambda: Csv([path, path], [[7], [0.5], ["q"]], header=True)  # noqa: E731
    assert check_everywhere(headed) == wanted[1:] * 2


@pytest.mark.parametrize("size", [1, 2, 5, None])
@pytest.mark.parametrize(
    ("text", "given", "wanted"),
    [
        ("1|2\n3|4", {"field_delim": "|"}, [[b"1", b"2"], [b"3", b"4"]]),
        ("1\t2\r\n3\t4\r\n", {"field_delim": "\t"}, [[b"1", b"2"], [b"3", b"4"]]),
        ("1,2\r3,4\r", {}, [[b"1", b"2"], [b"3", b"4"]]),
        ('"a",b\n', {"use_quote_delim": False}, [[b'"a"', b"b"]]),
        ('"a""b","c\nd"\n"x",y', {}, [[b'a"b', b"c\nd"], [b"x", b"y"]]),
        ('"x","y"', {}, [[b"x", b"y"]]),
        ('a"b,c\nd,e\n', {}, [BAD, [b"d", b"e"]]),
        ('"a"b,c\nd,e\n', {}, [BAD, [b"d", b"e"]]),
        ('"ab,c\n', {}, [BAD]),
        ("1,2\n3\n4,5,6\n7,8\n", {}, [[b"1", b"2"], BAD, BAD, [b"7", b"8"]]),
        ("1,2\n\n3,4\n", {}, [[b"1", b"2"], BAD, [b"3", b"4"]]),
        ("0,1,2,3\n4,5,6,7\n", {"select_cols": [1, 3]}, [[b"1", b"3"], [b"5", b"7"]]),
        ("0,1,2\n4,5,6\n", {"exclude_cols": [1]}, [[b"0", b"2"], [b"4", b"6"]]),
        ("0,1,2\n", {"select_cols": [0, 9]}, [BAD]),
        ("", {}, []),
        ("", {"header": True}, [BAD]),
        ("a,b", {"header": True}, []),
    ],
)
def test_forms_of_records(write, size, text, given, wanted):
    dataset = Csv(write(text), [tf.string, tf.string], buffer_size=size, **given)
    assert outcomes(dataset) == wanted


def test_numbers(write):
    kinds = [tf.int32, tf.int64, tf.float32, tf.float64]
    good = " 1,-9999999999, 2.5 ,1e3\n+1,0,inf,.5\n"
    assert values(Csv(write(good), kinds)) == [[1, -9999999999, 2.5, 1e3], [1, 0, np.inf, 0.5]]
    for text in ("x,1,1,1", "9999999999,1,1,1", "1.0,1,1,1", "1,1,1_0,1", "1,1,1,0x1", "1,1,--1,1"):
        assert outcomes(Csv(write(text), kinds)) == [BAD]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Field 1 .* not a valid int64: y"):
        values(Csv(write("1,y,1,1"), kinds))
    missing = Csv(write("NA,1\n2,NA\n"), [[9], [8]], na_value="NA")
    assert values(missing) == [[9, 1], [2, 8]]


@pytest.mark.filterwarnings("error")
def test_long_numbers(write):
    """One that is refused takes no longer than one that is read."""
    nines = "9" * 300_000
    for kind in (tf.int64, tf.float64):
        assert outcomes(Csv(write(f"{nines}x\n1\n"), [kind])) == [BAD, [1]]
    assert outcomes(Csv(write(f"{nines}\n-{nines}\n"), [tf.int64])) == [BAD, BAD]
    zeros = "0" * 5000
    assert values(Csv(write(f"-{zeros}12\n"), [tf.int64])) == [[-12]]
    assert values(Csv(write("1e300\n3.4028234e38\n"), [tf.float32])) == [
        [np.inf],
        [float(np.finfo(np.float32).max)],
    ]


def test_a_header_that_cannot_be_read_leaves_no_file_open(write):
    path = write(b"none", "z")
    before = len(os.listdir("/proc/self/fd"))
    iterator = iter(Csv([path] * 3, [tf.int32], "GZIP", header=True))
    kept = []
    for _ in range(3):
        with pytest.raises(tf.errors.DataLossError) as caught:
            next(iterator)
        kept.append(caught)
    assert len(os.listdir("/proc/self/fd")) == before


def test_compressed_records(write):
    path = write(gzip.compress(TEXT.encode()), "z")
    make = lambda: Csv(path, [[7], [0.5], ["q"]], "GZIP", 3)  # noqa: E731
    assert check_everywhere(make) == [[1, 2.5, b"x"], [3, 0.5, b"y,z"], [7, 4.0, b"q"]]
    missing = path + "no"
    plain = write("1\n")
    assert outcomes(Csv([missing, plain], [[0]])) == ["NotFoundError", [1]]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"select_cols": [1, 0]}, "strictly increasing"),
        ({"select_cols": [1, 1]}, "strictly increasing"),
        ({"exclude_cols": [-1]}, "non-negative"),
        ({"select_cols": [1]}, "should match output size"),
        ({"select_cols": [0, 1], "exclude_cols": [3]}, "Either select_cols or exclude_cols"),
        ({"compression_type": "FOO"}, "Unsupported compression_type"),
        ({"buffer_size": 0}, "buffer_size should be positive"),
        ({"field_delim": "||"}, "only 1 char"),
        ({"record_defaults": [[1, 2], [0]]}, "1 default per field but field 0 has 2"),
    ],
)
def test_arguments_that_do_not_fit(write, given, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        Csv(**{"filenames": write(TEXT), "record_defaults": [[0], [0]], **given})
    with pytest.raises(ValueError, match="expected defaults of"):
        Csv(write(TEXT), [tf.bool])


@pytest.mark.parametrize("op", ["CSVDataset", "ExperimentalCSVDataset"])
def test_old_operations_on_csv(write, op):
    variant = getattr(tf.raw_ops, op)(
        filenames=write("1,2\n3,4\n"), compression_type="", buffer_size=10, header=False,
        field_delim=",", use_quote_delim=True, na_value="", select_cols=[1],
        record_defaults=[tf.constant([0])], output_shapes=[[]],
    )  # fmt: skip
    dataset = dataset_class()(variant, Structure((tf.TensorSpec([], tf.int32),)))
    assert values(dataset) == [[2], [4]]


# ---- queries


@pytest.fixture
def base(tmp_path):
    path = str(tmp_path / "some#1.db")
    connection = sqlite3.connect(path)
    connection.execute("create table t (a integer, b real, c text, e blob)")
    rows = [(1, 1.5, "x", b"\x01"), (2, 2.5, "12z", None), (None, None, None, None)]
    connection.executemany("insert into t values (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path


def test_rows_of_a_query(base):
    query = "select a, b, c, e from t order by rowid"
    make = lambda: Sql("sqlite", base, query, (tf.int32, tf.float64, tf.string, tf.string))  # noqa: E731
    wanted = [[1, 1.5, b"x", b"\x01"], [2, 2.5, b"12z", b""], [0, 0.0, b"", b""]]
    assert check_everywhere(make) == wanted
    assert int(make().cardinality()) == tf.data.UNKNOWN_CARDINALITY
    named = Sql("sqlite", base, "select a from t limit 1", {"n": tf.bool})
    assert values(named) == [{"n": True}]
    assert values(Sql("sqlite", base, "select 300", tf.int8)) == [44]
    assert values(Sql("sqlite", base, "select c from t", tf.int64)) == [0, 12, 0]
    assert values(Sql("sqlite", base, "select a from t", tf.string)) == [b"1", b"2", b""]


@pytest.mark.parametrize(
    ("field", "whole", "real"),
    [
        ("nan", 0, 0.0),
        ("inf", 0, 0.0),
        ("9007199254740993", 9007199254740993, 9007199254740992.0),
        (" 1e3", 1, 1000.0),
        ("1_0", 1, 1.0),
        ("0x10", 0, 0.0),
        ("1.9", 1, 1.9),
        (".5.", 0, 0.5),
        ("9" * 5000, 2**63 - 1, np.inf),
        ("-" + "9" * 20 + "x" * 100_000, -(2**63), -1e20),
        (float("inf"), 2**63 - 1, np.inf),
        (-1e30, -(2**63), -1e30),
        (1e19, 2**63 - 1, 1e19),
    ],
)
def test_numbers_of_a_query(tmp_path, field, whole, real):
    path = str(tmp_path / "some.db")
    connection = sqlite3.connect(path)
    connection.execute("create table t (a)")
    connection.execute("insert into t values (?)", (field,))
    connection.commit()
    connection.close()
    query = "select a, a from t"
    assert values(Sql("sqlite", path, query, (tf.int64, tf.float64))) == [[whole, real]]


def test_queries_that_fail(base, tmp_path):
    one = (tf.int32,)
    assert outcomes(Sql("sqlite", base, "selec", one)) == ["UnknownError"]
    assert outcomes(Sql("sqlite", base, "select a, b from t", one)) == [BAD]
    assert outcomes(Sql("sqlite", str(tmp_path / "no"), "select 1", one)) == ["NotFoundError"]
    assert outcomes(Sql("sqlite", base, "delete from t", one)) == ["UnknownError"]
    assert not (tmp_path / "no").exists()
    with pytest.raises(tf.errors.InvalidArgumentError, match="database type mysql"):
        Sql("mysql", base, "select 1", one)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be one of"):
        Sql("sqlite", base, "select 1", (tf.float32,))


def test_the_old_operation_on_queries(base):
    variant = tf.raw_ops.ExperimentalSqlDataset(
        driver_name="sqlite", data_source_name=base, query="select 1", output_types=[tf.int32],
        output_shapes=[[]],
    )  # fmt: skip
    assert values(dataset_class()(variant, Structure(tf.TensorSpec([], tf.int32)))) == [1]
    variant = tf.raw_ops.SqlDataset(
        driver_name="sqlite", data_source_name=base, query="select 2", output_types=[tf.int32],
        output_shapes=[[]],
    )  # fmt: skip
    assert values(dataset_class()(variant, Structure(tf.TensorSpec([], tf.int32)))) == [2]
