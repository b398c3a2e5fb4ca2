"""Pipelines for files, Examples and slices: ParseExampleDataset ParseExampleDatasetV2
ExperimentalParseExampleDataset SparseTensorSliceDataset.
"""

import collections
import functools
import gzip
import operator
import zlib

import numpy as np
import pytest
from tests.data.file_checks import check_everywhere, outcomes, values

import penstock as tf
from penstock.data.base import dataset_class
from penstock.data.structure import Structure

D = tf.data.Dataset
S = tf.TensorSpec
make_csv = tf.data.experimental.make_csv_dataset
ONCE = {"shuffle": False, "num_epochs": 1}
shuffled = pytest.mark.skipif(not hasattr(D, "shuffle"), reason="datasets are not shuffled yet")


@pytest.fixture
def tables(tmp_path):
    made = []
    texts = 'a,b,c,d\n1,2.5,x,9999999999\n3,4,"y,z",1\n', "a,b,c,d\n5,6,w,2\n"
    for name, text in zip(("a.csv", "b.csv"), texts, strict=True):
        (tmp_path / name).write_text(text)
        made.append(str(tmp_path / name))
    return made


FIRST = {"a": [1, 3], "b": [2.5, 4.0], "c": [b"x", b"y,z"], "d": [9999999999, 1]}


def test_columns_of_csv_files(tables):
    dataset = make_csv(tables, 2, **ONCE)
    kinds = (tf.int32, tf.float32, tf.string, tf.int64)
    spec = collections.OrderedDict((n, S([None], t)) for n, t in zip("abcd", kinds, strict=True))
    assert dataset.element_spec == spec
    assert isinstance(next(iter(dataset)), collections.OrderedDict)
    make = lambda: make_csv(tables, 2, **ONCE)  # noqa: E731
    assert check_everywhere(make) == [FIRST, {"a": [5], "b": [6.0], "c": [b"w"], "d": [2]}]
    endless = make_csv(tables[0], 2, shuffle=False)
    assert endless.element_spec["a"] == S([2], tf.int32)
    assert values(endless.take(2)) == [FIRST, FIRST]
    turns = make_csv(tables, 2, num_parallel_reads=2, **ONCE)
    assert [row["a"] for row in values(turns)] == [[1, 5], [3]]
    assert [r["a"] for r in values(make_csv(tables[0][:-5] + "[ab].csv", 9, **ONCE))] == [[1, 3, 5]]


def test_some_columns_of_csv_files(tables):
    path = tables[0]
    some = {k: FIRST[k] for k in "ac"}
    assert values(make_csv(path, 2, select_columns=["c", "a"], **ONCE)) == [some]
    assert values(make_csv(path, 2, select_columns=[0, 2], **ONCE)) == [some]
    defaults = [tf.int64, ""]
    found = make_csv(path, 2, column_defaults=defaults, select_columns=["a", "c"], **ONCE)
    assert found.element_spec["a"].dtype == tf.int64
    assert values(found) == [some]
    row, label = values(make_csv(path, 2, label_name="b", **ONCE))[0]
    assert (sorted(row), label) == (["a", "c", "d"], [2.5, 4.0])
    renamed = make_csv(path, 2, column_names=["p", "q", "r", "s"], **ONCE)
    assert list(values(renamed)[0]) == ["p", "q", "r", "s"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"label_name": "z"}, "must be one of the columns"),
        ({"select_columns": ["z"]}, "Column z specified in `select_columns`"),
        ({"select_columns": [4]}, "Column index 4"),
        ({"select_columns": ["a", "a"]}, "specified once"),
        ({"select_columns": ["a"], "label_name": "b"}, "must be one of the columns"),
        ({"column_names": ["p", "p", "q", "r"]}, "duplicate column names"),
        ({"column_names": ["p"]}, "CSV row 2 has 4 number of fields"),
        ({"header": False}, "Neither is provided"),
        ({"column_defaults": [tf.int32]}, "expected a default for each"),
        ({"file_pattern": "/no/such*"}, "No files match `file_pattern`"),
    ],
)
def test_columns_that_are_none(tables, given, text):
    with pytest.raises(ValueError, match=text):
        make_csv(**{"file_pattern": tables[0], "batch_size": 2, **ONCE, **given})


def test_other_headers_are_refused(tables, tmp_path):
    (tmp_path / "z.csv").write_text("z,b,c,d\n1,2,3,4\n")
    with pytest.raises(ValueError, match="same column names in the header row"):
        make_csv([tables[0], str(tmp_path / "z.csv")], 2, **ONCE)


def test_dtypes_of_columns(tmp_path):
    path = tmp_path / "k.csv"

    def kinds(text, **given):
        path.write_text(text)
        spec = make_csv(str(path), 2, **ONCE, **given).element_spec
        return [each.dtype for each in spec.values()]

    assert kinds("a,b\nNA,1\n2,NA\n", na_value="NA") == [tf.int32, tf.int32]
    assert kinds("a,b\n,1\n,1e300\n") == [tf.string, tf.float64]
    assert kinds("a\n1\n1.5\n", num_rows_for_inference=1) == [tf.int32]
    assert kinds("a\n1\n1.5\n", num_rows_for_inference=None) == [tf.float32]
    assert kinds("1|x\n", header=False, column_names=["p", "q"], field_delim="|") == [
        tf.int32, tf.string,
    ]  # fmt: skip
    for kind, pack in (("GZIP", gzip.compress), ("ZLIB", zlib.compress)):
        path.write_bytes(pack(b"a\n1\n2\n"))
        assert values(make_csv(str(path), 2, compression_type=kind, **ONCE)) == [{"a": [1, 2]}]


@shuffled
def test_shuffled_files(tables):
    rows = [row["a"] for row in values(make_csv(tables, 2, num_epochs=1, shuffle_seed=1))]
    assert sorted(functools.reduce(operator.iadd, rows, [])) == [1, 3, 5]


# ---- Examples


def example(number):
    values_ = tf.train.Feature(int64_list=tf.train.Int64List(value=[1] * number))
    one = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
    features = tf.train.Features(feature={"x": one, "v": values_})
    return tf.train.Example(features=features).SerializeToString()


FEATURES = {"x": tf.io.FixedLenFeature([], tf.int64), "v": tf.io.VarLenFeature(tf.int64)}
TWO = [{"v": [[0], [1]], "x": [0, 1]}, {"v": [[1, 1]], "x": [2]}]


@pytest.fixture
def records(tmp_path):
    path = str(tmp_path / "some.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(3):
            writer.write(example(i))
    return path


def test_examples_are_parsed(records):
    batches = tf.data.TFRecordDataset(records).batch(2)
    parse = tf.data.experimental.parse_example_dataset
    make = lambda: parse(FEATURES)(batches)  # noqa: E731
    assert check_everywhere(make) == TWO
    assert values(parse(FEATURES, num_parallel_calls=2, deterministic=True)(batches)) == TWO
    with pytest.raises(ValueError, match="`features` is required"):
        parse(None)
    for wrong in (tf.data.TFRecordDataset(records), D.range(3).batch(2)):
        with pytest.raises(TypeError, match="should be a dataset of vectors of strings"):
            parse(FEATURES)(wrong)
    assert outcomes(parse(FEATURES)(D.from_tensors([b"zz"]))) == ["InvalidArgumentError"]


def test_batched_features(records):
    make = tf.data.experimental.make_batched_features_dataset
    assert check_everywhere(lambda: make(records, 2, FEATURES, **ONCE)) == TWO
    labelled = values(make(records, 2, FEATURES, label_key="x", **ONCE))
    assert labelled == [[{"v": [[0], [1]]}, [0, 1]], [{"v": [[1, 1]]}, [2]]]
    assert values(make(records, 2, FEATURES, drop_final_batch=True, **ONCE)) == TWO[:1]
    twice = make(
        records, 2, FEATURES, tf.data.TFRecordDataset, reader_args=[""], shuffle=False, num_epochs=2
    )
    assert [row["x"] for row in values(twice)] == [[0, 1], [2, 0], [1, 2]]
    with pytest.raises(ValueError, match=r"The `label_key` provided \(q\) must be one of"):
        make(records, 2, FEATURES, label_key="q")


@pytest.mark.parametrize(
    "op", ["ParseExampleDataset", "ParseExampleDatasetV2", "ExperimentalParseExampleDataset"]
)
def test_operations_on_examples(records, op):
    batches = tf.data.TFRecordDataset(records).batch(2)
    given = {
        "input_dataset": batches._variant_tensor, "num_parallel_calls": 1, "dense_defaults": [
            np.zeros(0, np.int64)], "sparse_keys": ["v"], "dense_keys": ["x"],
        "sparse_types": [tf.int64], "dense_shapes": [[]], "output_types": [tf.variant, tf.int64],
        "output_shapes": [None, [None]],
    }  # fmt: skip
    spec = {"v": tf.SparseTensorSpec([None, None], tf.int64), "x": S([None], tf.int64)}
    make = lambda: dataset_class()(getattr(tf.raw_ops, op)(**given), Structure(spec))  # noqa: E731
    assert check_everywhere(make) == TWO
    if op.startswith("Exp"):
        return
    ragged = {
        "ragged_keys": ["v"], "ragged_value_types": [tf.int64], "ragged_split_types": [tf.int32],
        "sparse_keys": [], "sparse_types": [],
    }  # fmt: skip
    spec["v"] = tf.RaggedTensorSpec([None, None], tf.int64, row_splits_dtype=tf.int32)
    variant = getattr(tf.raw_ops, op)(**{**given, **ragged})
    assert values(dataset_class()(variant, Structure(spec)))[1] == {"v": [[1, 1]], "x": [2]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="one length for sparse features"):
        getattr(tf.raw_ops, op)(**{**given, "sparse_keys": []})


# ---- slices


def test_slices_of_a_sparse_tensor():
    def slices(indices, found, dense):
        variant = tf.raw_ops.SparseTensorSliceDataset(
            indices=np.reshape(indices, (-1, 2)), values=found, dense_shape=dense
        )
        spec = (S([None, 1], tf.int64), S([None], tf.int32), S([1], tf.int64))
        return dataset_class()(variant, Structure(spec))

    make = lambda: slices([[0, 0], [2, 0], [2, 1]], [1, 2, 3], [3, 2])  # noqa: E731
    wanted = [[[[0]], [1], [2]], [[], [], [2]], [[[0], [1]], [2, 3], [2]]]
    assert check_everywhere(make) == wanted
    assert int(make().cardinality()) == 3
    assert values(slices(np.zeros((0, 2), np.int64), np.zeros(0, np.int32), [0, 2])) == []
    for indices in ([[1, 0], [0, 0]], [[0, 0], [3, 0]], [[-1, 0], [0, 0]]):
        with pytest.raises(tf.errors.UnimplementedError, match="must be ordered"):
            slices(indices, [1, 2], [3, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected indices"):
        slices([[0, 0]], [1, 2], [3, 2])


@pytest.mark.parametrize(
    ("content", "kind", "error"),
    [
        (b"a,b\n1,2\n", "GZIP", tf.errors.DataLossError),
        (b"a,b\n1,2\n", "ZLIB", tf.errors.DataLossError),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "GZIP", tf.errors.DataLossError),
        (zlib.compress(b"a,b\n1,2\n")[:-5], "ZLIB", tf.errors.DataLossError),
        (None, "", tf.errors.FailedPreconditionError),
    ],
)
def test_csv_files_that_cannot_be_looked_at(tmp_path, content, kind, error):
    path = tmp_path / "f"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(error, match=str(path)):
        make_csv(str(path), 2, compression_type=kind, **ONCE)


def test_of_a_compressed_file_only_what_is_looked_at_is_decompressed(tmp_path):
    path = tmp_path / "f"
    rows = b"a,b\n" + b"1,2\n" * 200_000
    path.write_bytes(zlib.compress(rows)[:-9])  # the damage is far behind
    dataset = make_csv(str(path), 2, compression_type="ZLIB", num_rows_for_inference=3, **ONCE)
    assert int(next(iter(dataset))["b"][0]) == 2
