"""AutoShardDataset ExperimentalAutoShardDataset GlobalShuffleDataset IndexFlatMapDataset
ChooseFastestBranchDataset."""

import pytest
from tests.data.checks import check_dataset, take, values

import penstock as tf

D = tf.data.Dataset
E = tf.data.experimental
INT = {"output_types": [tf.int64], "output_shapes": [[]]}
VECTOR = {"output_types": [tf.int64], "output_shapes": [[None]]}
TEXT = {"output_types": [tf.string], "output_shapes": [[]]}
SPEC = tf.TensorSpec([], tf.int64)


def int64(*values):
    return [tf.constant(v, tf.int64) for v in values]


def shard(dataset, count, index, policy, old=False):
    count, index = int64(count, index)
    spec = dataset.element_spec
    attrs = {"output_types": [spec.dtype], "output_shapes": [spec.shape]}
    op = tf.raw_ops.ExperimentalAutoShardDataset if old else tf.raw_ops.AutoShardDataset
    variant = op(
        input_dataset=dataset._variant_tensor, num_workers=count, index=index,
        auto_shard_policy=policy, **attrs,
    )  # fmt: skip
    return E.from_variant(variant, spec)


@pytest.fixture
def files(tmp_path):
    paths = [str(tmp_path / f"f{k}") for k in range(3)]
    for k, path in enumerate(paths):
        with tf.io.TFRecordWriter(path) as writer:
            for j in range(3):
                writer.write(b"%d%d" % (k, j))
    return paths


OFF, AUTO, FILE, DATA, HINT = -1, 0, 1, 2, 3


def test_by_data():
    for policy in (AUTO, DATA):
        assert values(shard(D.range(10), 2, 0, policy)) == [0, 2, 4, 6, 8]
        assert values(shard(D.range(10), 2, 1, policy, old=True)) == [1, 3, 5, 7, 9]
        stacks = D.range(10).batch(4).map(lambda x: x + 1).prefetch(2)
        assert values(shard(stacks, 2, 1, policy)) == [[5, 6, 7, 8]]
    for policy in (OFF, HINT):
        assert values(shard(D.range(4), 2, 1, policy)) == [0, 1, 2, 3]
    check_dataset(lambda: shard(D.range(7).shuffle(3, seed=1), 3, 1, DATA))


def test_by_file(files):
    records = tf.data.TFRecordDataset(files)
    names = D.from_tensor_slices(files).interleave(tf.data.TFRecordDataset, cycle_length=2)
    listed = D.list_files(files, shuffle=False).flat_map(tf.data.TFRecordDataset).map(lambda x: x)
    turns = [b"00", b"20", b"01", b"21", b"02", b"22"]
    for policy in (AUTO, FILE):
        for dataset in (records, names, listed, records.batch(2).unbatch().prefetch(1)):
            expected = turns if dataset is names else sorted(turns)
            assert values(shard(dataset, 2, 0, policy)) == expected
            assert values(shard(dataset, 2, 1, policy)) == [b"10", b"11", b"12"]
    assert values(shard(records, 2, 0, DATA)) == [b"00", b"02", b"11", b"20", b"22"]
    assert values(records) == sorted([*turns, b"10", b"11", b"12"])  # as it was


def test_what_depends_on_all_elements_is_not_divided_by_file(files, tmp_path):
    records = tf.data.TFRecordDataset(files)
    several = (
        records.snapshot(str(tmp_path / "snapshot")),
        records.unique().map(lambda x: x),
        records.concatenate(D.from_tensors(b"x")),
        D.zip((D.range(9), records)).map(lambda _, x: x),
        D.choose_from_datasets([records, records], D.range(2).repeat(3)),
        E.CsvDataset(files, [tf.string]).map(lambda x: x),
    )
    for dataset in several[:-1]:
        parts = [values(shard(dataset, 2, k, AUTO)) for k in range(2)]
        assert sorted(parts[0] + parts[1]) == sorted(values(dataset))
    for dataset in several:
        with pytest.raises(tf.errors.NotFoundError, match="unshardable source"):
            shard(dataset, 2, 0, FILE)
    counted = records.apply(E.assert_cardinality(9)).batch(2).unbatch()
    assert values(shard(counted, 2, 1, FILE)) == [b"10", b"11", b"12"]
    both = records.concatenate(records)
    assert values(shard(both, 2, 1, FILE)) == [b"10", b"11", b"12"] * 2


def test_by_hint(files):
    hint = E.SHARD_HINT
    dataset = tf.data.TFRecordDataset(files).shard(hint, hint).map(lambda x: x)
    assert values(shard(dataset, 2, 0, HINT)) == [b"00", b"02", b"11", b"20", b"22"]
    assert values(shard(dataset, 2, 1, HINT)) == [b"01", b"10", b"12", b"21"]
    with pytest.raises(tf.errors.FailedPreconditionError, match="SHARD_HINT"):
        values(shard(dataset, 2, 0, FILE))


def test_what_cannot_be_sharded(files):
    with pytest.raises(tf.errors.NotFoundError, match="unshardable source"):
        shard(D.range(4), 2, 0, FILE)
    with pytest.raises(tf.errors.InvalidArgumentError, match="only has 3 file"):
        shard(tf.data.TFRecordDataset(files), 4, 0, FILE)
    for count, index, why in ((0, 0, "num_workers"), (2, 2, "between 0 and 1"), (2, -1, "between")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=why):
            shard(D.range(4), count, index, DATA)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"DATA = 2.*got 9"):
        shard(D.range(4), 2, 0, 9)


def shuffled(dataset, again=True, seeds=(1, 2)):
    first, second = int64(*seeds)
    handle, _ = tf.raw_ops.AnonymousSeedGenerator(seed=first, seed2=second, reshuffle=again)
    variant = tf.raw_ops.GlobalShuffleDataset(
        input_dataset=dataset._variant_tensor, seed=first, seed2=second, seed_generator=handle,
        reshuffle_each_iteration=again, **INT,
    )  # fmt: skip
    return E.from_variant(variant, SPEC)


def test_all_in_random_order():
    fixed = shuffled(D.range(50), again=False)
    first = values(fixed)
    assert first == values(fixed) != list(range(50))
    assert sorted(first) == list(range(50))
    order = tf.raw_ops.RandomIndexShuffle(
        index=tf.range(50, dtype=tf.int64), seed=tf.constant([1, 2, 1], tf.int64),
        max_index=tf.constant(49, tf.int64), rounds=8,
    )  # fmt: skip
    assert first == order.numpy().tolist()
    other = shuffled(D.range(50))
    assert values(other) != values(other)
    check_dataset(lambda: shuffled(D.range(8).map(lambda x: x * 2).repeat(2), again=False))
    assert int(other.cardinality()) == 50
    for endless in (D.range(9).filter(lambda x: x > 1), D.range(3).repeat()):
        with pytest.raises(tf.errors.FailedPreconditionError, match="random access"):
            shuffled(endless)
    checks = D.range(4).map(lambda x: 12 // (x - 1) + 0 * x)
    assert len(take(iter(shuffled(checks)))) == 4


def test_rows_by_their_numbers():
    function = tf.function(lambda x: tf.stack([x, x * 10]), input_signature=[SPEC])
    index = tf.function(lambda i: (i // 2, i % 2), input_signature=[SPEC])

    def make(count=6):
        variant = tf.raw_ops.IndexFlatMapDataset(
            input_dataset=D.range(3)._variant_tensor, map_func_other_args=[],
            index_map_func_other_args=[], output_cardinality=tf.constant(count, tf.int64),
            map_func=function.get_concrete_function(),
            index_map_func=index.get_concrete_function(), **INT,
        )  # fmt: skip
        return E.from_variant(variant, SPEC)

    assert values(make()) == [0, 0, 1, 10, 2, 20]
    assert int(make(-2).cardinality()) == -2


def test_the_first_of_several_branches():
    def branch(change):
        def function(variant):
            return change(E.from_variant(variant, SPEC))._variant_tensor

        signature = [tf.TensorSpec([], tf.variant)]
        return tf.function(function, input_signature=signature).get_concrete_function()

    def make(change, attrs, ratio=(1, 1)):
        numerator, denominator = int64(*ratio)
        return tf.raw_ops.ChooseFastestBranchDataset(
            input_dataset=D.range(9)._variant_tensor, ratio_numerator=numerator,
            ratio_denominator=denominator, other_arguments=[], num_elements_per_branch=2,
            branches=[branch(change)] * 2, other_arguments_lengths=[0, 0], **attrs,
        )  # fmt: skip

    doubled = E.from_variant(make(lambda d: d.map(lambda x: x * 2), INT), SPEC)
    assert values(doubled) == list(range(0, 18, 2))
    vector = tf.TensorSpec([None], tf.int64)
    stacked = E.from_variant(make(lambda d: d.batch(2), VECTOR, (2, 1)), vector)
    assert values(stacked) == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
    assert int(stacked.cardinality()) == 18  # as it is said
    for ratio in ((0, 1), (1, 0)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be greater than zero"):
            make(lambda d: d, INT, ratio)
    wrong = E.from_variant(make(lambda d: d.batch(2), INT), SPEC)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Say output_types"):
        next(iter(wrong))
