"""Datasets of files: TFRecordDataset TFRecordDatasetV2 TextLineDataset FixedLengthRecordDataset
FixedLengthRecordDatasetV2 DatasetToTFRecord ExperimentalDatasetToTFRecord.
"""

import contextlib
import gzip
import os
import pathlib
import zlib

import numpy as np
import pytest
from tests.data.file_checks import check_everywhere, in_function, in_session, outcomes, values

import penstock as tf
from penstock.core import native_records
from penstock.data import reading
from penstock.data.base import dataset_class
from penstock.data.structure import Structure

D = tf.data.Dataset
STRING = tf.TensorSpec([], tf.string)


def dataset_of(variant, spec=STRING):
    return dataset_class()(variant, Structure(spec))


@pytest.fixture(params=[True, False], ids=["native", "plain"])
def native(request, monkeypatch):
    if not request.param:
        monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    elif not native_records.LIBRARY.is_in_use():
        pytest.skip("the library is not built")


def write(path, records, options=None):
    with tf.io.TFRecordWriter(str(path), options) as writer:
        for record in records:
            writer.write(record)
    return str(path)


@pytest.fixture
def two(tmp_path):
    a = write(tmp_path / "a", [b"a%d" % i for i in range(5)])
    return a, write(tmp_path / "b", [b"b0", b"", b"b2"])


BOTH = [b"a0", b"a1", b"a2", b"a3", b"a4", b"b0", b"", b"b2"]


def test_files_are_named_in_many_ways(native, two):
    a, b = two
    for given in (
        [a, b], (a, b), tf.constant([a, b]), tf.constant([[a], [b]]), list(map(pathlib.Path, two)),
        D.from_tensor_slices([a, b]),
    ):  # fmt: skip
        assert values(tf.data.TFRecordDataset(given)) == BOTH
    assert values(tf.data.TFRecordDataset(a)) == BOTH[:5]
    assert values(tf.data.TFRecordDataset(pathlib.Path(a))) == BOTH[:5]
    assert values(tf.data.TFRecordDataset([])) == []
    dataset = tf.data.TFRecordDataset(a, buffer_size=0, name="records")
    assert isinstance(dataset, D)
    assert dataset.element_spec == STRING
    assert int(dataset.cardinality()) == tf.data.UNKNOWN_CARDINALITY


@pytest.mark.parametrize("given", [3, [1, 2], 2.5])
def test_files_that_are_no_strings(given):
    with pytest.raises(TypeError, match=r"must contain `tf.string` elements. Got"):
        tf.data.TFRecordDataset(given)


def test_datasets_that_name_no_files():
    with pytest.raises(TypeError, match=r"Got a dataset of `tf.int64` elements"):
        tf.data.TextLineDataset(D.range(3))
    with pytest.raises(TypeError, match=r"of shape \[\] \(i.e. scalars\)"):
        tf.data.TextLineDataset(D.from_tensors(["a", "b"]))


def test_records_everywhere(native, two):
    def make():
        return tf.data.TFRecordDataset(list(two))

    assert check_everywhere(make) == BOTH
    assert in_function(make, 8) == in_session(make) == BOTH

    def batches():
        return make().batch(3)

    assert check_everywhere(batches) == [BOTH[:3], BOTH[3:6], BOTH[6:]]
    assert values(make().skip(4)) == BOTH[4:]


@pytest.mark.parametrize("kind", ["ZLIB", "GZIP"])
def test_compressed_records(native, tmp_path, kind):
    records = [bytes([i]) * 1000 * i for i in range(9)]
    path = write(tmp_path / "c", records, kind)
    assert check_everywhere(lambda: tf.data.TFRecordDataset([path], kind)) == records


def test_an_unknown_compression_of_records_is_none(two):
    assert values(tf.data.TFRecordDataset(list(two), "NONE")) == BOTH


def test_files_in_turns(two):
    mixed = [b"a0", b"b0", b"a1", b"", b"a2", b"b2", b"a3", b"a4"]
    assert values(tf.data.TFRecordDataset(list(two), num_parallel_reads=2)) == mixed
    assert values(tf.data.TFRecordDataset(list(two), num_parallel_reads=1)) == BOTH
    automatic = tf.data.TFRecordDataset(list(two), num_parallel_reads=tf.data.AUTOTUNE)
    assert sorted(values(automatic)) == sorted(BOTH)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cycle_length"):
        tf.data.TFRecordDataset(list(two), num_parallel_reads=0)


def damaged(path, place, change=1):
    data = bytearray(pathlib.Path(path).read_bytes())
    data[place] ^= change
    pathlib.Path(path).write_bytes(data)


@pytest.mark.parametrize("place", [36, 44, 48, 49, 50])  # length, its checksum, data, checksum
def test_a_damaged_record_ends_its_file(native, two, place):
    damaged(two[0], place)
    dataset = tf.data.TFRecordDataset(list(two))
    assert outcomes(dataset) == [*BOTH[:2], "DataLossError", *BOTH[5:]]
    with pytest.raises(tf.errors.DataLossError, match=rf"corrupted record at 36 of {two[0]}"):
        values(dataset.batch(100))


@pytest.mark.parametrize("cut", [1, 4, 5, 6, 13])
def test_a_cut_file_is_noticed(native, two, cut):
    path = pathlib.Path(two[0])
    path.write_bytes(path.read_bytes()[:-cut])
    assert outcomes(tf.data.TFRecordDataset(list(two))) == [*BOTH[:4], "DataLossError", *BOTH[5:]]


def test_what_precedes_a_damaged_record_is_not_lost(native, two):
    damaged(two[0], 54 + 12)
    dataset = tf.data.TFRecordDataset(list(two)).map(lambda x: tf.strings.join([x, "!"]))
    assert outcomes(dataset)[:4] == [b"a0!", b"a1!", b"a2!", "DataLossError"]


def test_other_files_than_records(native, tmp_path, two):
    zipped = write(tmp_path / "z", [b"x"], "GZIP")
    read = tf.data.TFRecordDataset
    assert outcomes(read([zipped, two[1]])) == ["DataLossError", *BOTH[5:]]
    assert outcomes(read([two[0], zipped], "GZIP")) == ["DataLossError", b"x"]
    assert outcomes(read([str(tmp_path / "none"), two[1]])) == ["NotFoundError", *BOTH[5:]]
    assert outcomes(read([str(tmp_path), two[1]])) == ["FailedPreconditionError", *BOTH[5:]]


def test_offsets_of_files(two):
    def read(offsets, kind="", files=two):
        given = {"filenames": files, "compression_type": kind, "buffer_size": 0}
        return dataset_of(tf.raw_ops.TFRecordDatasetV2(**given, byte_offsets=offsets))

    assert values(read([36, 18])) == [*BOTH[2:5], b"", b"b2"]
    assert check_everywhere(lambda: read([36, 18])) == [*BOTH[2:5], b"", b"b2"]
    assert values(read(np.zeros(0, np.int64))) == BOTH
    assert outcomes(read([3, 0])) == ["DataLossError", *BOTH[5:]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="1 `byte_offsets` for 2 files"):
        read([3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be >= 0, got -1"):
        read([-1, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar"):
        read([0, 0], ["", ""])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar or a vector"):
        read([0, 0], files=[list(two)])


def test_large_records(native, tmp_path):
    records = [b"x" * (1 << 20), b"", b"y" * 300_000, *[b"z"] * 9000]
    path = write(tmp_path / "large", records)
    assert values(tf.data.TFRecordDataset(path)) == records
    sizes = [len(x) for x in tf.data.TFRecordDataset(path).batch(1000).as_numpy_iterator()]
    assert sizes == [1000] * 9 + [3]


# ---- writing


def test_a_dataset_is_written(tmp_path):
    for kind in (None, "", "ZLIB", "GZIP"):
        path = str(tmp_path / f"w{kind}")
        writer = tf.data.experimental.TFRecordWriter(path, kind)
        assert writer.write(D.from_tensor_slices([b"x", b"yy"])) is None
        assert values(tf.data.TFRecordDataset(path, kind)) == [b"x", b"yy"]


def test_a_dataset_is_written_in_a_graph(tmp_path):
    path = str(tmp_path / "w")
    with tf.Graph().as_default():
        dataset = D.from_tensor_slices([b"x", b"yy"])
        done = tf.raw_ops.ExperimentalDatasetToTFRecord(
            input_dataset=dataset._variant_tensor, filename=path, compression_type=""
        )
        with tf.compat.v1.Session() as session:
            session.run(done)
    assert values(tf.data.TFRecordDataset(path)) == [b"x", b"yy"]


def test_what_cannot_be_written(tmp_path):
    write = tf.data.experimental.TFRecordWriter(str(tmp_path / "none" / "w")).write
    with pytest.raises(TypeError, match=r"Expected a `tf.data.Dataset` object"):
        write(3)
    for dataset in (D.range(3), D.from_tensors(["a"]), D.from_tensors(("a", "b"))):
        with pytest.raises(TypeError, match=r"scalar `tf.string` elements"):
            write(dataset)
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        write(D.from_tensors("a"))


# ---- lines


def test_lines(tmp_path):
    files = {"a": b"one\ntwo\n\nthree", "b": b"x\r\ny\rz\r\r\nlast\n", "e": b"", "r": b"a\n\r"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    paths = [str(tmp_path / name) for name in files]
    wanted = [b"one", b"two", b"", b"three", b"x", b"yz", b"last", b"a"]
    for size in (None, 0, 1, 5):
        assert values(tf.data.TextLineDataset(paths, buffer_size=size)) == wanted

    def make():
        return tf.data.TextLineDataset(paths)

    assert check_everywhere(make) == in_function(make, 8) == in_session(make) == wanted
    turns = tf.data.TextLineDataset(paths[:2], num_parallel_reads=2)
    assert values(turns)[:4] == [b"one", b"x", b"two", b"yz"]


@pytest.mark.parametrize("fails_at", range(1, 9))
def test_an_error_that_passes_loses_no_bytes(monkeypatch, tmp_path, fails_at):
    path = tmp_path / "f"
    path.write_bytes(b"abcdef\nghijkl\n")

    def open_flaky(path, compression="", offset=0):
        file, calls = open(path, "rb"), []  # noqa: SIM115 - the reader closes it
        file.seek(offset)

        class Flaky:
            close = file.close

            def read(self, size):
                calls.append(size)
                if len(calls) == fails_at:
                    raise tf.errors.UnavailableError(None, None, "later")
                return file.read(min(size, 3))

        return Flaky()

    monkeypatch.setattr(reading, "open_bytes", open_flaky)
    layout = reading._Layout(0, 7, 0, "", 3)
    for reader in (reading.Lines(path, "", 0, 3), reading._Pieces(os.fsencode(path), 0, layout)):
        found = []
        while len(found) < 2:
            with contextlib.suppress(tf.errors.UnavailableError):
                found += reader.take(5)
        assert [item.strip() for item in found] == [b"abcdef", b"ghijkl"]
        assert reader.offset == 14
        reader.close()


def test_many_small_records_of_a_large_block(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"h" + b"".join(n.to_bytes(3, "big") for n in range(5000)) + b"ff")
    make = lambda: tf.data.FixedLengthRecordDataset(str(path), 3, 1, 2, 10_000)  # noqa: E731
    wanted = [n.to_bytes(3, "big") for n in range(5000)]
    assert [x.numpy() for x in make()] == wanted
    assert [y for x in make().batch(999) for y in x.numpy()] == wanted


def test_compressed_lines(tmp_path):
    for kind, pack in (("GZIP", gzip.compress), ("ZLIB", zlib.compress)):
        (tmp_path / kind).write_bytes(pack(b"g1\ng2"))

        def make(kind=kind):
            return tf.data.TextLineDataset(str(tmp_path / kind), kind)

        assert check_everywhere(make) == [b"g1", b"g2"]
    plain = [str(tmp_path / "GZIP"), str(tmp_path / "ZLIB")]
    assert outcomes(tf.data.TextLineDataset(plain, "ZLIB")) == ["DataLossError", b"g1", b"g2"]
    (tmp_path / "cut").write_bytes(gzip.compress(b"line\n" * 50)[:-9])
    assert "DataLossError" in outcomes(tf.data.TextLineDataset(str(tmp_path / "cut"), "GZIP"), 90)


def test_lines_that_cannot_be_read(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    path = str(tmp_path / "a")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported compression_type"):
        values(tf.data.TextLineDataset(path, "FOO"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="`buffer_size` must be >= 0, got -1"):
        values(tf.data.TextLineDataset(path, buffer_size=-1))
    missing = str(tmp_path / "none")
    assert outcomes(tf.data.TextLineDataset([missing, path])) == ["NotFoundError", b"a"]


# ---- records of one length


def fixed(tmp_path, kind=""):
    pack = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind]
    made = []
    for i, data in enumerate((b"HHabcdefFFF", b"HHabcFFF", b"HHFFF")):
        path = tmp_path / f"f{kind}{i}"
        path.write_bytes(pack(data))
        made.append(str(path))
    return made


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_records_of_one_length(tmp_path, kind):
    paths = fixed(tmp_path, kind)
    read = tf.data.FixedLengthRecordDataset
    for size in (None, 1, 0):

        def make(size=size):
            return read(paths, 3, 2, 3, size, kind)

        assert check_everywhere(make) == [b"abc", b"def", b"abc"]
    assert values(make().batch(2)) == [[b"abc", b"def"], [b"abc"]]
    assert values(read(paths, 3, 2, 3, None, kind, 2)) == [b"abc", b"abc", b"def"]
    rest = "DataLossError" if kind else "InvalidArgumentError"
    found = outcomes(read(paths[:2], 2, 2, 2, None, kind))
    assert found == ([b"ab", b"cd", b"ef"] if kind else []) + [rest, b"ab", b"cF"]
    assert outcomes(read(paths[2:], 3, 4, 3, None, kind)) == [rest]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((0,), "`record_bytes` must be > 0, got 0"),
        ((1, -1), "`header_bytes` must be >= 0, got -1"),
        ((1, 0, -2), "`footer_bytes` must be >= 0, got -2"),
        ((1, 0, 0, -9), "`buffer_size` must be >= 0, got -9"),
        ((1, 0, 0, 0, "FOO"), "Unsupported compression_type"),
    ],
)
def test_numbers_that_are_too_small(tmp_path, given, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        values(tf.data.FixedLengthRecordDataset(fixed(tmp_path), *given))


def test_the_old_operation(tmp_path):
    variant = tf.raw_ops.FixedLengthRecordDataset(
        filenames=fixed(tmp_path), header_bytes=2, record_bytes=3, footer_bytes=3, buffer_size=0
    )
    assert values(dataset_of(variant)) == [b"abc", b"def", b"abc"]
    variant = tf.raw_ops.TFRecordDataset(filenames=[], compression_type="", buffer_size=0)
    assert values(dataset_of(variant)) == []
    variant = tf.raw_ops.TextLineDataset(filenames=[], compression_type="", buffer_size=0)
    assert values(dataset_of(variant)) == []
