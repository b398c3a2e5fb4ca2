"""Options of datasets, and operations that change how a dataset runs.

OptionsDataset ModelDataset FinalizeDataset OptimizeDataset OptimizeDatasetV2 RewriteDataset
AssertNextDataset AssertPrevDataset LatencyStatsDataset BytesProducedStatsDataset
NonSerializableDataset PrivateThreadPoolDataset MaxIntraOpParallelismDataset
ExperimentalPrivateThreadPoolDataset ExperimentalMaxIntraOpParallelismDataset
ExperimentalNonSerializableDataset ExperimentalAssertNextDataset ExperimentalLatencyStatsDataset
ExperimentalBytesProducedStatsDataset
"""

import pytest

import penstock as tf

D = tf.data.Dataset
E = tf.data.experimental


def full():
    options = tf.data.Options()
    options.deterministic = True
    options.autotune.enabled = True
    options.autotune.autotune_algorithm = E.AutotuneAlgorithm.GRADIENT_DESCENT
    options.experimental_distribute.auto_shard_policy = E.AutoShardPolicy.DATA
    options.experimental_distribute.num_devices = 2
    options.experimental_external_state_policy = E.ExternalStatePolicy.FAIL
    options.experimental_slack = True
    options.threading.max_intra_op_parallelism = 1
    return options


def test_the_bytes_are_tensorflows():
    empty = tf.data.Options()._to_proto().SerializeToString(deterministic=True)
    assert empty == b"\x12\x00\x1a\x00*\x00:\x00b\x00"
    data = full()._to_proto().SerializeToString(deterministic=True)
    assert (
        data
        == b"\x08\x01\x12\x04\x08\x02\x10\x02\x1a\x00 \x01*\x02\x08\x010\x02:\x04\x08\x01 \x02b\x00"
    )
    found = D.range(3).with_options(full()).options()
    assert found == full()
    assert found.experimental_distribute.auto_shard_policy is E.AutoShardPolicy.DATA
    assert found.experimental_external_state_policy is E.ExternalStatePolicy.FAIL


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("deterministic", 1),
        ("deterministic", None),
        ("threading", 3),
        ("experimental_threading", None),
        ("framework_type", "x"),
    ],
)
def test_values_have_their_class(name, value):
    with pytest.raises(TypeError, match="must be of type"):
        setattr(tf.data.Options(), name, value)


def test_names_that_are_none():
    with pytest.raises(AttributeError, match="Cannot set the property foo on Options"):
        tf.data.Options().foo = 1
    with pytest.raises(AttributeError, match="autotune on OptimizationOptions"):
        tf.data.Options().experimental_optimization.autotune = True
    with pytest.raises(TypeError, match="auto_shard_policy"):
        tf.data.Options().experimental_distribute.auto_shard_policy = 1


def test_aliases():
    options = tf.data.Options()
    options.experimental_deterministic = False
    assert options.deterministic is False
    options.experimental_threading.private_threadpool_size = 2
    assert options.threading.private_threadpool_size == 2
    assert options.experimental_distribute.auto_shard_policy is E.AutoShardPolicy.AUTO
    assert tf.data.Options().deterministic is None


def test_merging():
    one, two = tf.data.Options(), tf.data.Options()
    one.deterministic = False
    two.threading.private_threadpool_size = 3
    assert one.merge(two) == two.merge(one)
    assert one != two
    two.deterministic = True
    assert one.merge(two).deterministic is True
    assert two.merge(one).deterministic is False
    assert two.merge(one).threading.private_threadpool_size == 3
    with pytest.raises(TypeError, match="Could not merge"):
        one.merge(3)
    with pytest.raises(TypeError):
        hash(one)
    dataset = D.range(3).with_options(one)
    assert dataset.map(lambda x: x).with_options(two).options().deterministic is True
    zipped = D.zip(dataset, D.range(3).with_options(two)).options()
    assert (zipped.deterministic, zipped.threading.private_threadpool_size) == (True, 3)


def test_options_of_a_dataset_are_read():
    found = D.range(3).options()
    assert found == tf.data.Options()
    for options in (found, found.threading):
        name = "deterministic" if options is found else "private_threadpool_size"
        with pytest.raises(ValueError, match="has no effect"):
            setattr(options, name, 1)
    with pytest.raises(TypeError, match=r"expected tf\.data\.Options"):
        D.range(3).with_options(3)


def test_options_in_a_graph():
    with tf.Graph().as_default() as graph:
        dataset = D.range(3).with_options(full()).map(lambda x: x)
        assert dataset.options() == full()
        op = next(o for o in graph.get_operations() if o.type == "OptionsDataset")
        assert op.get_attr("serialized_options") == full()._to_proto().SerializeToString()


def test_elements_stay():
    options = full()
    options.threading.private_threadpool_size = 2
    options.experimental_external_state_policy = E.ExternalStatePolicy.IGNORE
    dataset = D.range(20).map(lambda x: x * 2, num_parallel_calls=4).with_options(options)
    assert [int(x) for x in dataset] == list(range(0, 40, 2))
    options.deterministic = False
    assert sorted(int(x) for x in dataset.with_options(options)) == list(range(0, 40, 2))
    assert len(dataset.with_options(options)) == 20


TYPES = {"output_types": [tf.int64], "output_shapes": [[]]}


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("PrivateThreadPoolDataset", {"num_threads": 2}),
        ("MaxIntraOpParallelismDataset", {"max_intra_op_parallelism": 1}),
        ("NonSerializableDataset", {}),
        ("RewriteDataset", {"rewrite_name": "x"}),
        ("OptimizeDataset", {"optimizations": ["map_fusion"]}),
        (
            "OptimizeDatasetV2",
            {
                "optimizations_enabled": [],
                "optimizations_disabled": [],
                "optimizations_default": ["a"],
            },
        ),
        ("AssertNextDataset", {"transformations": ["Map"]}),
        ("AssertPrevDataset", {"transformations": ["Map"]}),
        ("LatencyStatsDataset", {"tag": "t"}),
        ("BytesProducedStatsDataset", {"tag": "t"}),
        ("ModelDataset", {"cpu_budget": 2}),
        ("FinalizeDataset", {}),
    ],
)
def test_what_old_graphs_hold(name, inputs):
    for prefix in ("", "Experimental"):
        raw = getattr(tf.raw_ops, prefix + name, None)
        if raw is not None:
            given = {k: tf.constant(v, tf.string) if v == [] else v for k, v in inputs.items()}
            variant = raw(input_dataset=D.range(3)._variant_tensor, **given, **TYPES)
            made = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))._from_components(variant)
            assert [int(x) for x in made] == [0, 1, 2]
            assert len(made) == 3


def test_bytes_that_are_no_options():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Options message"):
        tf.raw_ops.OptionsDataset(
            input_dataset=D.range(3)._variant_tensor, serialized_options=b"\xff\xff", **TYPES
        )
