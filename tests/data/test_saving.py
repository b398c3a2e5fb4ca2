"""Datasets in folders: SaveDataset SaveDatasetV2 LoadDataset SnapshotDatasetV2
SnapshotChunkDataset SnapshotDatasetReader SnapshotNestedDatasetReader."""

import contextlib
import io
import os
import pathlib
import threading

import numpy as np
import pytest
from tests.data.file_checks import check_everywhere, in_session, outcomes, saved, values

import penstock as tf
from penstock import proto
from penstock.core import snappy
from penstock.data import chunks
from penstock.data.base import dataset_class
from penstock.data.structure import Structure

D = tf.data.Dataset
KINDS = ("", "GZIP", "ZLIB", "SNAPPY")


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_what_is_saved_is_loaded(tmp_path, kind):
    rows = tf.ragged.constant([[1], [2, 3]])
    element = {
        "text": tf.constant(["a", "bb"]),
        "half": tf.constant([1.5, -2.0], tf.bfloat16),
        "none": tf.zeros([0, 3]),
        "flag": tf.constant(True),
    }
    dataset = D.from_tensors((tf.sparse.from_dense([[1, 0]]), rows, element)).repeat(3)
    path = str(tmp_path / "deep" / "saved")
    assert dataset.save(path, kind) is None
    loaded = D.load(path, compression=kind)
    assert loaded.element_spec == dataset.element_spec
    assert int(loaded.cardinality()) == 3
    assert values(loaded) == values(dataset)
    assert values(D.load(path, dataset.element_spec, kind, wait=True)) == values(dataset)


def test_saved_in_each_place(tmp_path):
    D.range(7).save(tmp_path / "s", shard_func=lambda x: x % 3)
    names = sorted(p.name for p in (tmp_path / "s").glob("*/*.shard"))
    assert names == ["00000000.shard", "00000001.shard", "00000002.shard"]
    path = str(tmp_path / "s")
    in_order = lambda shards: shards.flat_map(lambda x: x)  # noqa: E731
    assert sorted(values(D.load(path))) == list(range(7))
    make = lambda: D.load(path, reader_func=in_order)  # noqa: E731
    assert check_everywhere(make) == in_session(make) == [0, 3, 6, 1, 4, 2, 5]
    check_everywhere(lambda: D.load(path))


def test_a_new_run_replaces_the_last(tmp_path):
    path = str(tmp_path / "s")
    D.range(3).save(path)
    D.range(5).save(path)
    assert values(D.load(path)) == list(range(5))
    tf.data.experimental.save(D.range(2), path, "GZIP")
    assert values(tf.data.experimental.load(path, compression="GZIP")) == [0, 1]
    D.range(0).save(path)
    assert values(D.load(path)) == []


def test_functions_and_graphs_save(tmp_path):
    @tf.function
    def save():
        D.range(4).save(str(tmp_path / "f"))

    save()
    assert values(D.load(str(tmp_path / "f"))) == list(range(4))
    with tf.Graph().as_default():
        done = D.range(3).save(str(tmp_path / "g"))
        with tf.compat.v1.Session() as session:
            session.run(done)
    assert values(D.load(str(tmp_path / "g"))) == list(range(3))


def _failing(fails):
    def function(x):
        if fails and int(x) == fails[0]:
            raise ValueError("not this one")
        return x

    options = tf.data.Options()
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    dataset = D.range(10).map(lambda x: tf.py_function(function, [x], tf.int64))
    return dataset.with_options(options)


@pytest.mark.parametrize("interval", [None, 3])
def test_a_saving_goes_on_from_its_checkpoint(tmp_path, interval):
    path, fails = str(tmp_path / "s"), [7]
    step = tf.Variable(0, dtype=tf.int64)
    args = {"directory": str(tmp_path / "c"), "max_to_keep": 2, "step_counter": step}
    if interval is not None:
        args["checkpoint_interval"] = interval
    with pytest.raises(tf.errors.OpError, match="not this one"):
        _failing(fails).save(path, checkpoint_args=args)
    assert int(step) == 7
    kept = sorted(p.name for p in (tmp_path / "c").glob("*.index"))
    assert kept == (
        ["ckpt-6.index", "ckpt-7.index"] if interval is None else ["ckpt-2.index", "ckpt-3.index"]
    )
    assert D.load(path).cardinality() == 0  # as it is not at its end

    fails.clear()
    assert _failing(fails).save(path, checkpoint_args=args) is None
    assert sorted(values(D.load(path))) == list(range(10))
    assert D.load(path).cardinality() == 10


def test_a_saving_with_checkpoints_passes_over_what_is_written(tmp_path):
    path, fails = str(tmp_path / "s"), [7]
    args = {"directory": str(tmp_path / "c"), "max_to_keep": None}
    with pytest.raises(tf.errors.OpError):
        _failing(fails).save(path, checkpoint_args=args)
    seen = []

    def see(x):
        seen.append(int(x))
        return x

    fails.clear()
    options = tf.data.Options()
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    again = D.range(10).map(lambda x: tf.py_function(see, [x], tf.int64)).with_options(options)
    again.save(path, checkpoint_args=args)
    assert seen == [7, 8, 9] or seen == [8, 9]
    again.save(path, checkpoint_args=args)  # from the end
    assert len(seen) <= 3


def test_arguments_of_checkpoints_of_a_saving(tmp_path):
    path = str(tmp_path / "s")
    checkpoint = tf.train.Checkpoint()
    with pytest.raises(ValueError, match="not allowed to include 'checkpoint'"):
        D.range(3).save(path, checkpoint_args={"checkpoint": checkpoint})
    with pytest.raises(TypeError, match="max_to_keep"):
        D.range(3).save(path, checkpoint_args={"directory": path})
    with pytest.raises(ValueError, match="`step_counter` should be passed"):
        D.range(3).save(
            path,
            checkpoint_args={"directory": path, "max_to_keep": 1, "checkpoint_interval": 2},
        )
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="outside of graphs"):
        D.range(3).save(path, checkpoint_args={"directory": path, "max_to_keep": 1})
    D.range(3).save(path, checkpoint_args={})
    assert values(D.load(path)) == [0, 1, 2]


def test_what_cannot_be_saved_or_loaded(tmp_path):
    path = str(tmp_path / "s")
    for function in (lambda x: 1.5, lambda x: (x, x), lambda x: tf.constant(1)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="must return a scalar int64"):
            D.range(3).save(path, shard_func=function)
    with pytest.raises(tf.errors.InvalidArgumentError, match='got "FOO"'):
        D.range(3).save(path, "FOO")
    with pytest.raises(tf.errors.UnimplementedError, match="holds tensors, ragged and sparse"):
        D.from_tensors(D.range(2)).save(path)
    with pytest.raises(tf.errors.NotFoundError, match=r"element_spec file not found: .*no/dataset"):
        D.load(str(tmp_path / "no"))
    number = tf.TensorSpec([], tf.int64)
    with pytest.raises(tf.errors.NotFoundError, match="Could not find metadata file"):
        D.load(str(tmp_path / "no"), number)
    D.range(3).save(path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected int32 but got int64"):
        values(D.load(path, tf.TensorSpec([], tf.int32)))
    assert "DataLossError" in outcomes(D.load(path, (number, number)))
    assert "DataLossError" in outcomes(D.load(path, compression="GZIP"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected `reader_func` to return"):
        D.load(path, reader_func=lambda shards: shards)


def test_damaged_folders(tmp_path):
    path = tmp_path / "s"
    D.range(3).save(path)
    (chunk,) = path.glob("*/*/*.snapshot")
    data = bytearray(chunk.read_bytes())
    data[50] ^= 1
    chunk.write_bytes(data)
    assert outcomes(D.load(str(path))) == [0, "DataLossError"]
    for name, content in (("snapshot.metadata", b"\xff\xff"), ("dataset_spec.pb", b"\xff")):
        (path / name).write_bytes(content)
        with pytest.raises(tf.errors.DataLossError, match=name):
            D.load(str(path), tf.TensorSpec([], tf.int64) if name[0] == "s" else None)
    evil = chunks.Metadata("../s", 1, (9,), 1, True)
    chunks.write_metadata(str(path), evil)
    with pytest.raises(tf.errors.DataLossError, match="a run called"):
        D.load(str(path), tf.TensorSpec([], tf.int64))


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"\x10\x05",  # the run as a number
        b"\x12\x01a\x28\x05",  # a number for the types
        b"\x12\x01a\x32\x01z",  # text for the count
        b"\x12\x01a\x30" + b"\xff" * 9 + b"\x7f",  # more than can be
        b"\x12\x01a\xc2\x3e\x01z",
        b"\x12\x01a\x18",
        b"\x12\x02..",
    ],
)
def test_damaged_metadata(tmp_path, metadata):
    (tmp_path / chunks.METADATA).write_bytes(metadata)
    with pytest.raises(tf.errors.DataLossError, match="expected the metadata of a saved dataset"):
        tf.data.Dataset.load(str(tmp_path), tf.TensorSpec([], tf.int64))


def test_damaged_structures(tmp_path):
    dataset = tf.data.Dataset.range(3)
    dataset.save(str(tmp_path))
    where = tmp_path / chunks.SPEC
    nothing = proto.struct_pb2.StructuredValue()
    nothing.tuple_value.values.add().none_value.SetInParent()
    for wrong in (nothing.SerializeToString(), b"\xff\xff"):
        where.write_bytes(wrong)
        with pytest.raises(tf.errors.DataLossError, match="expected the structure of elements"):
            tf.data.Dataset.load(str(tmp_path))
    where.unlink()
    where.mkdir()
    with pytest.raises(tf.errors.FailedPreconditionError, match="directory"):
        tf.data.Dataset.load(str(tmp_path))


def test_metadata_that_cannot_be_read(tmp_path):
    (tmp_path / chunks.METADATA).mkdir()
    with pytest.raises(tf.errors.FailedPreconditionError, match="directory"):
        tf.data.Dataset.load(str(tmp_path), tf.TensorSpec([], tf.int64))


def test_threads_that_write_the_same_metadata(tmp_path):
    made = [chunks.Metadata(str(i) * 2000, i, (9,), i, True) for i in range(4)]
    failed = []

    def write(metadata):
        try:
            for _ in range(50):
                chunks.write_metadata(str(tmp_path), metadata)
        except Exception as problem:
            failed.append(problem)

    threads = [threading.Thread(target=write, args=(each,)) for each in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert chunks.read_metadata(str(tmp_path)) in made
    assert os.listdir(tmp_path) == [chunks.METADATA]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
@pytest.mark.parametrize("kind", ["SNAPPY", ""])
def test_chunks_on_a_full_device(kind):
    writer = chunks.ChunkWriter("/dev/full", kind, [tf.int64])
    with pytest.raises(tf.errors.ResourceExhaustedError):
        writer.write((np.zeros(100_000, np.int64),))
    with contextlib.suppress(tf.errors.ResourceExhaustedError):
        writer.close()
    with pytest.raises(tf.errors.NotFoundError):
        chunks.ChunkWriter("/no/such/folder", kind, [tf.int64])


def test_elements_that_pass_are_saved(tmp_path):
    dataset = D.range(5)

    def passing(path):
        f = tf.function(lambda x: x % 2).get_concrete_function(tf.TensorSpec([], tf.int64))
        variant = tf.raw_ops.SaveDatasetV2(
            input_dataset=dataset._variant_tensor, path=str(path), shard_func_other_args=[],
            shard_func=f, output_types=[tf.int64], output_shapes=[[]],
        )  # fmt: skip
        return dataset_class()(variant, Structure(tf.TensorSpec([], tf.int64)))

    first = iter(passing(tmp_path / "s"))
    assert [int(next(first)) for _ in range(3)] == [0, 1, 2]
    state = saved(first)
    assert [int(x) for x in first] == [3, 4]
    again = iter(passing(tmp_path / "s"))
    again._state.restore(state)
    assert [int(x) for x in again] == [3, 4]
    assert len(list((tmp_path / "s").glob("*"))) == 2  # one run, and the metadata
    loaded = D.load(str(tmp_path / "s"), tf.TensorSpec([], tf.int64))
    assert sorted(values(loaded)) == list(range(5))


def test_parts_of_what_was_saved(tmp_path):
    D.range(7).save(tmp_path, "SNAPPY", shard_func=lambda x: x % 2)
    number = tf.TensorSpec([], tf.int64)
    kinds = {"output_types": [tf.int64], "output_shapes": [[]]}
    shards = sorted(str(p) for p in tmp_path.glob("*/*.shard"))

    def read(folder, start=0):
        return tf.raw_ops.SnapshotDatasetReader(
            shard_dir=folder, start_index=start, compression="SNAPPY", version=2, **kinds
        )

    def dataset_of(variant, spec=number):
        return dataset_class()(variant, Structure(spec))

    assert check_everywhere(lambda: dataset_of(read(shards[0]))) == [0, 2, 4, 6]
    assert check_everywhere(lambda: dataset_of(read(shards[1], 2))) == [5]
    with pytest.raises(tf.errors.NotFoundError, match="folder of a shard"):
        read(str(tmp_path / "no"))
    (chunk,) = tmp_path.glob("*/00000001.shard/*")
    variant = tf.raw_ops.SnapshotChunkDataset(chunk_file=str(chunk), compression="SNAPPY", **kinds)
    assert values(dataset_of(variant)) == [1, 3, 5]
    nested = tf.raw_ops.SnapshotNestedDatasetReader(inputs=[read(s) for s in shards], **kinds)
    both = dataset_of(nested, tf.data.DatasetSpec(number))
    assert values(both.flat_map(lambda x: x)) == [0, 2, 4, 6, 1, 3, 5]


# ---- snapshots


def counting(log, count=5):
    def note(x):
        log.append(int(x))
        return x

    def counted(x):
        y = tf.py_function(note, [x], tf.int64)
        y.set_shape([])
        return y

    return D.range(count).map(counted)


@pytest.mark.parametrize("kind", ["AUTO", None, "GZIP"])
def test_elements_are_made_once(tmp_path, kind):
    log = []
    dataset = counting(log).snapshot(str(tmp_path), kind)
    assert values(dataset.take(2)) == [0, 1]
    log.clear()
    assert values(dataset) == values(dataset) == list(range(5))
    assert log == list(range(5))
    assert check_everywhere(lambda: dataset) == list(range(5))
    assert log == list(range(5))
    applied = D.range(3).apply(tf.data.experimental.snapshot(str(tmp_path))) if hasattr(
        D, "apply"
    ) else D.range(3).snapshot(str(tmp_path))  # fmt: skip
    assert values(applied) == [0, 1, 2]
    assert len(os.listdir(tmp_path)) == 2


def test_other_datasets_have_other_folders(tmp_path):
    path = str(tmp_path)
    made = [
        D.range(3), D.range(4), D.range(3).map(lambda x: x + 1), D.range(3).map(lambda x: x + 2),
        D.from_tensors([1]), D.from_tensors(["a"]), D.from_tensors(["b"]), D.range(3).batch(2),
    ]  # fmt: skip
    for dataset in made:
        assert values(dataset.snapshot(path)) == values(dataset.snapshot(path)) == values(dataset)
    assert len(os.listdir(tmp_path)) == len(made)


def test_a_snapshot_goes_on_from_a_saved_place(tmp_path):
    log = []
    dataset = counting(log).snapshot(str(tmp_path))
    first = iter(dataset)
    assert [int(next(first)) for _ in range(2)] == [0, 1]
    state = saved(first)
    assert [int(x) for x in first] == [2, 3, 4]
    second = iter(dataset)  # reads, and then goes on writing
    second._state.restore(state)
    assert [int(x) for x in second] == [2, 3, 4]
    assert values(dataset) == list(range(5))


def test_other_files_beside_chunks_stay_when_a_run_goes_on(tmp_path):
    dataset = tf.data.Dataset.range(6).snapshot(str(tmp_path))
    iterator = iter(dataset)
    assert [int(next(iterator)) for _ in range(2)] == [0, 1]
    place = saved(iterator)
    shard = next(tmp_path.glob("*/*/*.shard"))
    (shard / "note.snapshot").write_bytes(b"")
    assert int(next(iterator)) == 2
    iterator._state.restore(place)
    assert [int(x) for x in iterator] == [2, 3, 4, 5]
    assert (shard / "note.snapshot").exists()


def test_a_shard_that_is_no_folder(tmp_path):
    tf.data.Dataset.range(3).save(str(tmp_path))
    run = next(path for path in tmp_path.iterdir() if path.is_dir())
    (run / "00000001.shard").write_bytes(b"")
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"00000001\.shard; Not a dir"):
        values(tf.data.Dataset.load(str(tmp_path)))


def test_a_shard_without_chunks(tmp_path):
    tf.data.Dataset.range(3).save(str(tmp_path))
    (chunk,) = tmp_path.glob("*/*/*.snapshot")
    chunk.unlink()
    with pytest.raises(tf.errors.NotFoundError, match=r"00000000\.shard: expected the chunks"):
        values(tf.data.Dataset.load(str(tmp_path)))


def test_shards_of_snapshots(tmp_path):
    def made():
        return D.range(6).snapshot(
            str(tmp_path), shard_func=lambda x: x % 2,
            reader_func=lambda shards: shards.flat_map(lambda x: x), name="kept",
        )  # fmt: skip

    assert values(made()) == list(range(6))
    assert values(made()) == [0, 2, 4, 1, 3, 5]
    assert int(made().cardinality()) == 6


# ---- Snappy


def test_blocks_of_snappy():
    data = os.urandom(300_000)
    packed = snappy.pack(data)
    reader = snappy.Unpacking(io.BytesIO(packed), "data")
    found = b""
    while piece := reader.read(1000):
        found += piece
    assert found == data
    copies = b"\x0e" + b"\x08abc" + bytes([0b00001101, 3]) + bytes([0b00001110, 2, 0])
    assert snappy.unpacked(copies) == b"abc" + b"abcabca" + b"caca"
    for block in (b"", b"\x05\x00a", b"\x03\x08ab", b"\x04\x00a\x01\x09", b"\x01\x04ab"):
        with pytest.raises((IndexError, ValueError)):
            snappy.unpacked(block)
    for cut in (packed[:2], packed[:100], b"\xff\xff\xff\xff"):
        with pytest.raises(tf.errors.DataLossError):
            snappy.Unpacking(io.BytesIO(cut), "data").read(10)


def test_messages_are_tensorflows(tmp_path):
    D.range(3).save(str(tmp_path))
    (chunk,) = pathlib.Path(tmp_path).glob("*/00000000.shard/00000000.snapshot")
    data = chunk.read_bytes()
    assert len(data) == 90
    assert data[12:26] == b'\x08\t\x12\x00"\x08' + np.int64(0).tobytes()
    assert (tmp_path / "dataset_spec.pb").read_bytes() == b"\x8a\x02\x04\x12\x00\x18\t"
    metadata = (tmp_path / "snapshot.metadata").read_bytes()
    assert metadata.endswith(b" \x02*\x01\t0\x03\xc0>\x01")
