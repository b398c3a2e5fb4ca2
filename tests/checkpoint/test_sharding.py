"""Checkpoints in several data files, as callbacks decide."""

import os
import pathlib

import numpy as np
import pytest

import penstock as tf

te = tf.train.experimental
RECORDED = pathlib.Path(__file__).parents[1] / "data" / "checkpoints"
KEY = "v/{}/.ATTRIBUTES/VARIABLE_VALUE"


def checkpoint():
    values = [
        tf.Variable(np.arange(1000, dtype=np.float32).reshape(10, 100)),
        tf.Variable(3.0),
        tf.Variable(np.ones([5, 5], np.int64)),
        tf.Variable("text"),
    ]
    return tf.train.Checkpoint(v=values), values


def data_files(folder):
    return sorted(name for name in os.listdir(folder) if ".data-" in name)


def check(saved, values, prefix):
    before = [v.numpy() for v in values]
    for v in values:
        v.assign(tf.zeros_like(v))
    saved.read(prefix).assert_consumed()
    for v, expected in zip(values, before, strict=True):
        np.testing.assert_array_equal(v, expected)


@pytest.mark.parametrize("size", [1, 100, 1500, 3000, 10**6])
def test_data_files_of_at_most_some_bytes(tmp_path, size):
    saved, values = checkpoint()
    options = tf.train.CheckpointOptions(experimental_sharding_callback=te.MaxShardSizePolicy(size))
    prefix = saved.write(tmp_path / "ck", options)
    names = data_files(tmp_path)
    count = len(names)
    assert names == [f"ck.data-{i:05d}-of-{count:05d}" for i in range(count)]
    assert sorted(os.listdir(tmp_path)) == [*names, "ck.index"]
    sizes = [(tmp_path / name).stat().st_size for name in names]
    known = {1500: [1480, 1500, 1550], 3000: [3000, 1530], 10**6: [4530]}  # TensorFlow's
    assert known.get(size, sizes) == sizes
    assert size < 4 or max(sizes[:-1], default=0) <= size
    reader = tf.train.load_checkpoint(prefix)
    np.testing.assert_array_equal(reader.get_tensor(KEY.format(0)), values[0])
    check(saved, values, prefix)


# What TensorFlow 2.21 gave: shapes, dtype, limit, and the shapes in each file.
CUTS = [
    ([(10,)], "f4", 16, [[(4,)], [(3,), (1,)], [(2,)]]),
    ([(7,)], "f4", 10, [[(2,)], [(2,)], [(2,)], [(1,)]]),
    ([(6,), (2,), (9,)], "f4", 24, [[(6,)], [(2,), (3,), (1,)], [(5,)]]),
    ([(4, 10)], "f4", 40, [[(1, 10)]] * 4),
    ([(7, 5)], "f4", 64, [[(3, 5)], [(2, 5), (1, 5), (1, 1)], [(1, 4)]]),
    (
        [(3, 5, 7)],
        "f4",
        100,
        [[(3, 1, 7)], [(3, 1, 7)], [(1, 3, 7)], [(1, 3, 7), (1, 3, 1)], [(1, 3, 6)]],
    ),
    (
        [(1, 4), (1, 6, 5)],
        "f8",
        94,
        [[(1, 4), (1, 6, 1)], [(1, 2, 4)], [(1, 2, 4), (1, 2, 1)], [(1, 2, 3)]],
    ),
    ([(), (3,)], "f4", 6, [[()], [(1,)], [(1,)], [(1,)]]),
    ([(), (3,), ()], "f8", 4, [[], [()], [(1,)], [(1,)], [(1,)], [()]]),  # ours: it never ends
]


@pytest.mark.parametrize(("shapes", "dtype", "limit", "wanted"), CUTS)
def test_where_tensors_are_cut(shapes, dtype, limit, wanted):
    cpu = tf.DeviceSpec.from_string("/job:localhost/replica:0/task:0/device:CPU:0")
    tensors = []
    for i, shape in enumerate(shapes):
        value = tf.constant(np.arange(np.prod(shape), dtype=dtype).reshape(shape))
        tensors.append(
            te.ShardableTensor(value, value.dtype, cpu, "", value.shape, "", str(i), tf.Module())
        )
    shards = te.MaxShardSizePolicy(limit)(tensors)
    found = [[tuple(v.shape) for d in shard.values() for v in d.values()] for shard in shards]
    assert found == wanted
    for i, each in enumerate(tensors):
        parts = [v for shard in shards for v in shard.get(str(i), {}).values()]
        numbers = np.concatenate([np.ravel(part) for part in parts])
        np.testing.assert_array_equal(np.sort(numbers), np.ravel(each.tensor))


def test_what_tensorflow_cut_is_put_together():
    v = tf.Variable(tf.zeros([10, 25]))
    tf.train.Checkpoint(v=v).read(RECORDED / "cut").assert_consumed()
    np.testing.assert_array_equal(v, np.arange(250).reshape(10, 25))


def test_a_file_for_each_tensor(tmp_path):
    seen = []

    class Each(te.ShardingCallback):
        @property
        def description(self):
            return "each"

        def __call__(self, shardable_tensors):
            seen.extend(shardable_tensors)
            return [{each.checkpoint_key: {"": each.tensor}} for each in shardable_tensors]

    saved, values = checkpoint()
    options = tf.train.CheckpointOptions(experimental_sharding_callback=Each(), enable_async=True)
    for _ in range(2):  # the second takes the place of the first
        prefix = saved.write(tmp_path / "ck", options)
        saved.sync()
    assert len(data_files(tmp_path)) == 5
    check(saved, values, prefix)
    first = seen[0]
    assert (first.checkpoint_key, first.name) == (KEY.format(0),) * 2
    assert (first.dtype, first.shape, first.slice_spec) == (tf.float32, [10, 100], "")
    assert first.trackable is values[0]
    assert (first.device.device_type, seen[4].trackable) == ("CPU", None)


def test_a_tensor_in_parts_of_ones_own(tmp_path):
    class Halves(te.ShardByTaskPolicy):
        def __call__(self, shardable_tensors):
            (shard,) = super().__call__(shardable_tensors)
            whole = shard.pop(KEY.format(0))[""]
            upper = {KEY.format(0): {"10 100 0,4:-": whole[:4]}}
            return [{**shard, KEY.format(0): {"10 100 4,6:-": whole[4:]}}, upper]

    saved, values = checkpoint()
    options = tf.train.CheckpointOptions(experimental_sharding_callback=Halves())
    check(saved, values, saved.write(tmp_path / "ck", options))
    assert len(data_files(tmp_path)) == 2


def test_what_a_callback_must_not_do(tmp_path):
    class Dropping(te.ShardByTaskPolicy):
        def __call__(self, shardable_tensors):
            return super().__call__(shardable_tensors[1:])

    saved, _ = checkpoint()
    options = tf.train.CheckpointOptions(experimental_sharding_callback=Dropping())
    with pytest.raises(ValueError, match=r"got 0 elements of 'v/0.*', which has 1000"):
        saved.write(tmp_path / "ck", options)
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="max_shard_size from 1, got 0"):
        te.MaxShardSizePolicy(0)
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="got it in a graph"):
        tf.train.Checkpoint().write(tmp_path / "ck", options)
    with pytest.raises(TypeError, match="abstract"):
        te.ShardingCallback()


def test_a_saved_model_in_several_files(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(np.arange(1000.0))
    policy = te.MaxShardSizePolicy(3000)
    options = tf.saved_model.SaveOptions(experimental_sharding_callback=policy)
    tf.saved_model.save(module, tmp_path, options=options)
    assert len(data_files(tmp_path / "variables")) == 3
    np.testing.assert_array_equal(tf.saved_model.load(tmp_path).v, np.arange(1000.0))
    assert policy.description == "Split tensors into shards with a max shard size."
    with pytest.raises(ValueError, match="must be of type ShardingCallback"):
        tf.saved_model.SaveOptions(experimental_sharding_callback=3)


def test_devices_of_files_are_those_of_this_process(tmp_path):
    saved, _ = checkpoint()
    for make in (
        tf.train.CheckpointOptions,
        tf.saved_model.SaveOptions,
        tf.saved_model.LoadOptions,
    ):
        assert make(experimental_io_device="/job:x").experimental_io_device == "/job:x"
    here = tf.train.CheckpointOptions(experimental_io_device="/job:localhost")
    prefix = saved.write(tmp_path / "ck", here)
    saved.read(prefix, here).assert_consumed()
    there = tf.train.CheckpointOptions(experimental_io_device="/job:worker/task:1")
    for run in (saved.write, saved.read):
        with pytest.raises(tf.errors.InvalidArgumentError, match="got one of another task"):
            run(prefix, there)
    with pytest.raises(ValueError, match="device spec"):
        saved.write(prefix, tf.train.CheckpointOptions(experimental_io_device="gibberish"))
    model, path = tf.Module(), tmp_path / "model"
    there = tf.saved_model.SaveOptions(experimental_io_device="/job:worker")
    with pytest.raises(tf.errors.InvalidArgumentError, match="another task"):
        tf.saved_model.save(model, path, options=there)
    tf.saved_model.save(model, path)
    there = tf.saved_model.LoadOptions(experimental_io_device="/job:worker")
    with pytest.raises(tf.errors.InvalidArgumentError, match="another task"):
        tf.saved_model.load(path, options=there)


def test_options_refuse_what_tensorflow_refuses():
    with pytest.raises(AssertionError, match="one argument or none"):
        tf.train.CheckpointOptions(experimental_write_callbacks=[lambda a, b: None])
    with pytest.raises(TypeError, match="expected functions, got 3"):
        tf.train.CheckpointOptions(experimental_write_callbacks=[3])
    with pytest.raises(ValueError, match="expected strings"):
        tf.saved_model.SaveOptions(namespace_whitelist=[1])
    with pytest.raises(TypeError, match="list of strings"):
        tf.saved_model.SaveOptions(namespace_whitelist="Test")
