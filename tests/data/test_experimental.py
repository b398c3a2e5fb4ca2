"""Functions about datasets and iterators; tables that a dataset fills; no data service.

IteratorGetModelProto WrapDatasetVariant UnwrapDatasetVariant InitializeTableFromDataset
"""

import pytest

import penstock as tf
from penstock.core import deprecation

D = tf.data.Dataset
E = tf.data.experimental


def test_what_datasets_are_told_by():
    dataset = D.range(4)
    assert int(E.cardinality(dataset)) == 4
    assert E.get_structure(iter(dataset)) == dataset.element_spec
    again = E.from_variant(E.to_variant(dataset), tf.TensorSpec([], tf.int64))
    assert [int(x) for x in again] == [0, 1, 2, 3]
    assert bool(E.get_next_as_optional(iter(D.range(0))).has_value()) is False
    assert E.Optional is tf.experimental.Optional
    with pytest.raises(TypeError, match="must be a"):
        E.get_structure(3)
    with pytest.raises(TypeError, match="Invalid `dataset`"):
        E.get_single_element(3)


def test_wrapping():
    variant = tf.raw_ops.WrapDatasetVariant(input_handle=D.range(2)._variant_tensor)
    found = tf.raw_ops.UnwrapDatasetVariant(input_handle=variant)
    assert [int(x) for x in E.from_variant(found, tf.TensorSpec([], tf.int64))] == [0, 1]


def test_devices():
    dataset = D.range(3)
    for placed in (
        dataset.apply(E.copy_to_device("/cpu:0")) if hasattr(dataset, "apply") else dataset,
        E.prefetch_to_device("/cpu:0", 2)(dataset),
    ):
        assert [int(x) for x in placed] == [0, 1, 2]
        assert next(iter(placed)).device.endswith("CPU:0")


def test_stages_are_listed():
    iterator = iter(D.range(3).map(lambda x: x).prefetch(1))
    message = E.get_model_proto(iterator)
    names = [message.nodes[n].name for n in sorted(message.nodes)]
    assert names == ["Range", "Map", "Prefetch"]
    assert list(message.nodes[message.output].inputs) == [2]
    with pytest.raises(ValueError, match="Can only get the model proto"):
        E.get_model_proto(3)


def test_tables():
    words = D.from_tensor_slices(["a", "b", "c"])
    pairs = D.zip((words, D.from_tensor_slices([5, 6, 7])))
    table = E.table_from_dataset(pairs, vocab_size=2, default_value=-3, key_dtype=tf.string)
    assert table.lookup(tf.constant(["a", "b", "c"])).numpy().tolist() == [5, 6, -3]
    index = E.index_table_from_dataset(words)
    assert index.lookup(tf.constant(["c", "x"])).numpy().tolist() == [2, -1]
    buckets = E.index_table_from_dataset(words, num_oov_buckets=2)
    assert int(buckets.lookup(tf.constant("x"))) in (3, 4)
    with pytest.raises(ValueError, match="num_oov_buckets"):
        E.table_from_dataset(pairs, num_oov_buckets=-1)
    with pytest.raises(ValueError, match="int64"):
        E.table_from_dataset(pairs, num_oov_buckets=1)
    with pytest.raises(TypeError, match="Only integer and string"):
        E.table_from_dataset(pairs, key_dtype=tf.float32)
    with pytest.raises(ValueError, match="pairs"):
        E.DatasetInitializer(words)
    with pytest.raises(ValueError, match="scalars"):
        E.DatasetInitializer(pairs.batch(2))


def test_a_table_of_a_graph():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        pairs = D.zip((D.from_tensor_slices(["a", "b"]), D.range(2)))
        table = tf.lookup.StaticHashTable(E.DatasetInitializer(pairs), -1)
        found = table.lookup(tf.constant(["b"]))
        session.run(v1.tables_initializer())
        assert session.run(found).tolist() == [1]


def test_there_is_no_service():
    service = E.service
    assert service.DispatcherConfig(port=5).port == 5
    assert service.ShardingPolicy.OFF == 0
    for call in (
        lambda: service.DispatchServer(),
        lambda: service.WorkerServer(service.WorkerConfig("a:1")),
        lambda: service.distribute("parallel_epochs", "grpc://a:1"),
        lambda: service.from_dataset_id("parallel_epochs", "grpc://a:1", 1),
        lambda: service.register_dataset("grpc://a:1", D.range(1)),
        lambda: E.distributed_save(D.range(1), "/tmp/x", "grpc://a:1"),
    ):
        with pytest.raises(tf.errors.UnimplementedError, match=r"Dataset\.shard"):
            call()


def test_functions_run_as_python_in_debug_mode(monkeypatch):
    module = pytest.importorskip("penstock.data.functions")
    monkeypatch.setattr(module.debugging, "on", False)
    seen = []

    def function(parts):
        seen.append(hasattr(parts["x"], "numpy"))
        return parts["x"] * 2, {"y": parts["y"]}

    E.enable_debug_mode()
    words = D.from_tensor_slices(["a", "b"])
    dataset = D.zip({"x": D.range(2), "y": words}).map(function)
    assert [(int(a), b["y"].numpy()) for a, b in dataset] == [(0, b"a"), (2, b"b")]
    assert seen == [False, True, True]
    assert dataset.element_spec[0] == tf.TensorSpec([], tf.int64)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="eager mode"):
        E.enable_debug_mode()


def test_structures_of_the_old_api():
    old = tf.compat.v1.data.experimental
    assert old.TensorStructure(tf.int32, []) == tf.TensorSpec([], tf.int32)
    assert old.SparseTensorStructure(tf.int32, [None]) == tf.SparseTensorSpec([None], tf.int32)
    ragged = old.RaggedTensorStructure(tf.int32, [None, None], 1)
    assert ragged == tf.RaggedTensorSpec([None, None], tf.int32, 1)
    array = old.TensorArrayStructure(tf.int32, [], True, True)
    assert array == tf.TensorArraySpec([], tf.int32, True, True)
    assert issubclass(tf.TensorSpec, old.Structure)
    assert old.DatasetStructure is tf.data.DatasetSpec
    assert old.OptionalStructure is tf.OptionalSpec


def test_deprecated_functions_say_so_once(monkeypatch, caplog):
    monkeypatch.setattr(deprecation, "_said", set())
    monkeypatch.setattr(tf.get_logger(), "propagate", True)
    old = tf.compat.v1.data.Dataset.range(4)
    functions = {
        "unbatch": lambda: E.unbatch(),
        "enumerate_dataset": lambda: E.enumerate_dataset(),
        "Counter": lambda: E.Counter(),
        "get_single_element": lambda: E.get_single_element(D.range(1)),
        "DatasetV1.output_types": lambda: old.output_types,
        "TFRecordWriter.__init__": lambda: E.TFRecordWriter("x"),
        "choose_from_datasets": lambda: tf.compat.v1.data.experimental.choose_from_datasets(
            [old, old], old
        ),
    }
    for name, call in functions.items():
        caplog.clear()
        for _ in range(3):
            call()
        (record,) = caplog.records
        text = record.getMessage()
        assert f"From {__file__}:" in text
        assert name.lower() in text.lower()
        assert "is deprecated. Use `tf." in text
    caplog.clear()
    D.range(4).batch(2).unbatch().group_by_window(lambda x: x, lambda k, w: w, 2)
    D.range(3).scan(0, lambda s, x: (s, x)).unique().take_while(lambda x: x > 0).enumerate()
    D.range(4).map(lambda x: {"x": x}).ignore_errors()
    assert not caplog.records
