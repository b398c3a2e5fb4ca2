"""SaveV2, RestoreV2 and the others, eagerly and in graphs."""

import os

import numpy as np
import pytest

import penstock as tf

raw = tf.raw_ops


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "a")


def save(prefix, names, tensors, slices=None):
    raw.SaveV2(
        prefix=prefix,
        tensor_names=names,
        shape_and_slices=slices or [""] * len(names),
        tensors=tensors,
    )


def restore(prefix, names, dtypes, slices=None):
    return raw.RestoreV2(
        prefix=prefix,
        tensor_names=names,
        shape_and_slices=slices or [""] * len(names),
        dtypes=dtypes,
    )


def test_both_ways(prefix):
    save(prefix, ["x", "s"], [tf.constant([1.0, 2.0]), tf.constant([b"a", b"bc"])])
    x, s = restore(prefix, ["x", "s"], [tf.float32, tf.string])
    assert x.numpy().tolist() == [1.0, 2.0]
    assert s.numpy().tolist() == [b"a", b"bc"]


def test_in_a_graph(prefix):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        path = tf.compat.v1.placeholder(tf.string, [])
        rows = tf.compat.v1.placeholder(tf.int64, [2, 2])
        saved = raw.SaveV2(
            prefix=path, tensor_names=["m"], shape_and_slices=["3 2 1,2:-"], tensors=[rows]
        )
        (part,) = raw.RestoreV2(
            prefix=path,
            tensor_names=["m"],
            shape_and_slices=["3 2 2,1:0,1"],
            dtypes=[tf.int64],
        )
        (whole,) = raw.RestoreV2(
            prefix=path, tensor_names=["m"], shape_and_slices=[""], dtypes=[tf.int64]
        )
        assert part.shape == [1, 1]
        assert whole.shape.rank is None
        session.run(saved, {path: prefix, rows: [[1, 2], [3, 4]]})
        assert session.run(part, {path: prefix}).tolist() == [[3]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="sufficient slices"):
            session.run(whole, {path: prefix})


def test_in_a_function(prefix):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def both():
        save(prefix, ["v"], [v])
        v.assign([0.0, 0.0])
        (value,) = restore(prefix, ["v"], [tf.float32])
        v.assign(value)

    both()
    assert v.numpy().tolist() == [1.0, 2.0]


def test_counts(prefix):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"elements: 1 vs\. 2"):
        save(prefix, ["x"], [1], ["", ""])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Got 1 tensor names, but 2 expected"):
        save(prefix, ["x"], [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Got 2 tensor names, but 1 expected"):
        restore(prefix, ["x", "y"], [tf.int32])
    with pytest.raises(tf.errors.InvalidArgumentError, match="duplicate key: x"):
        save(prefix, ["x", "x"], [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"prefix.*rank 0"):
        save([prefix], ["x"], [1])


def test_slices_must_fit(prefix):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"4 0,2, tensor: \[3\]"):
        save(prefix, ["x"], [[1, 2, 3]], ["4 0,2"])
    save(prefix, ["x"], [[1, 2, 3]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"spec \[2\] .*checkpoint: \[3\]"):
        restore(prefix, ["x"], [tf.int32], ["2 0,1"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Need least two elements"):
        restore(prefix, ["x"], [tf.int32], ["garbage"])
    (part,) = restore(prefix, ["x"], [tf.int32], ["3 1,2"])
    assert part.numpy().tolist() == [2, 3]


def test_missing(prefix):
    with pytest.raises(tf.errors.NotFoundError, match="any matching files for"):
        restore(prefix, ["x"], [tf.int32])
    save(prefix, ["x"], [1])
    with pytest.raises(tf.errors.NotFoundError, match="Key y not found in checkpoint"):
        restore(prefix, ["x", "y"], [tf.int32, tf.int32])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"x; expected dtype float32 .* int32"):
        restore(prefix, ["x"], [tf.float32])


def test_merge(tmp_path):
    first, second, target = (str(tmp_path / n) for n in ("t/0", "t/1", "all"))
    os.mkdir(tmp_path / "t")
    save(first, ["x"], [1])
    save(second, ["y"], [2])
    raw.MergeV2Checkpoints(checkpoint_prefixes=[first, second], destination_prefix=target)
    assert [int(v) for v in restore(target, ["y", "x"], [tf.int32] * 2)] == [2, 1]
    assert sorted(os.listdir(tmp_path)) == [
        "all.data-00000-of-00002",
        "all.data-00001-of-00002",
        "all.index",
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not exist"):
        raw.MergeV2Checkpoints(checkpoint_prefixes=[first], destination_prefix=target)


def test_reads_never_copy():
    v = tf.Variable(1.0)
    raw.DisableCopyOnRead(resource=v.handle)
    assert float(v) == 1.0


def test_names_of_parts():
    assert raw.ShardedFilename(basename="a/b", shard=1, num_shards=12).numpy() == (
        b"a/b-00001-of-00012"
    )
    assert raw.ShardedFilespec(basename="a/b", num_shards=12).numpy() == b"a/b-?????-of-00012"
    with pytest.raises(tf.errors.InvalidArgumentError, match="basename"):
        raw.ShardedFilename(basename=["a/b"], shard=1, num_shards=12)


def test_first_format(prefix):
    raw.Save(filename=prefix, tensor_names=["a", "b"], data=[tf.constant([1.0, 2.0]), 3])
    assert raw.Restore(file_pattern=prefix, tensor_name="b", dt=tf.int32).numpy() == 3
    (a,) = restore(prefix, ["a"], [tf.float32])
    assert a.numpy().tolist() == [1.0, 2.0]
    with pytest.raises(tf.errors.NotFoundError, match='Tensor name "q" not found'):
        raw.Restore(file_pattern=prefix, tensor_name="q", dt=tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"type float32, got .* int32 instead"):
        raw.Restore(file_pattern=prefix, tensor_name="b", dt=tf.float32)
    with pytest.raises(tf.errors.NotFoundError, match="matching files"):
        raw.Restore(file_pattern=prefix + "b", tensor_name="b", dt=tf.float32)


def test_first_format_in_parts(tmp_path):
    for i, part in enumerate(([1.0, 2.0], [3.0, 4.0])):
        raw.SaveSlices(
            filename=raw.ShardedFilename(basename=str(tmp_path / "a"), shard=i, num_shards=2),
            tensor_names=["x"],
            shapes_and_slices=[f"4 {2 * i},2"],
            data=[tf.constant(part)],
        )
    pattern = raw.ShardedFilespec(basename=str(tmp_path / "a"), num_shards=2)
    part = raw.RestoreSlice(
        file_pattern=pattern, tensor_name="x", shape_and_slice="4 1,2", dt=tf.float32
    )
    assert part.numpy().tolist() == [2.0, 3.0]
    whole = raw.Restore(file_pattern=pattern, tensor_name="x", dt=tf.float32)
    assert np.array_equal(whole, [1.0, 2.0, 3.0, 4.0])
