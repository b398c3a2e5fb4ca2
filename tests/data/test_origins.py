"""Datasets as GraphDefs and in SavedModels: DatasetToGraph DatasetToGraphV2 DatasetFromGraph."""

from pathlib import Path

import pytest

import penstock as tf

D = tf.data.Dataset


def again(data):
    return tf.data.experimental.from_variant(
        tf.raw_ops.DatasetFromGraph(graph_def=data), tf.TensorSpec(None, tf.int64)
    )


def test_a_dataset_becomes_a_graph_and_comes_back():
    offset = tf.constant(5, tf.int64)
    inner = D.range(4).map(lambda x: x + offset)
    dataset = inner.concatenate(D.from_tensor_slices(tf.constant([1, 2], tf.int64))).batch(3)
    wanted = [x.numpy().tolist() for x in dataset]
    for data in (
        tf.raw_ops.DatasetToGraphV2(input_dataset=dataset._variant_tensor),
        tf.raw_ops.DatasetToGraph(input_dataset=dataset._variant_tensor),
    ):
        assert [x.numpy().tolist() for x in again(data)] == wanted == [[5, 6, 7], [8, 1, 2]]


def test_what_is_no_graph():
    v = tf.Variable(1, dtype=tf.int64)
    kept = D.range(3).map(lambda x: x + v)._variant_tensor
    for policy in (1, 2):
        with pytest.raises(tf.errors.FailedPreconditionError):
            tf.raw_ops.DatasetToGraphV2(input_dataset=kept, external_state_policy=policy)
    returned = tf.function(lambda: D.range(3))()
    with pytest.raises(tf.errors.UnimplementedError, match=r"methods of tf\.data\.Dataset"):
        tf.raw_ops.DatasetToGraphV2(input_dataset=returned._variant_tensor)
    empty = tf.constant(tf.compat.v1.GraphDef().SerializeToString())
    with pytest.raises(tf.errors.InvalidArgumentError, match="one node _Retval"):
        tf.raw_ops.DatasetFromGraph(graph_def=empty)


def test_a_saved_model_captures_a_dataset(tmp_path):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.dataset = D.range(4).map(lambda x: x * 2)

        @tf.function(input_signature=[])
        def captured(self):
            result = tf.constant(0, tf.int64)
            for x in self.dataset:
                result += x
            return result

    tf.saved_model.save(Model(), tmp_path)
    assert int(tf.saved_model.load(tmp_path).captured()) == 12


FOLDER = Path(__file__).parent / "tf_datasets"
# What TensorFlow 2.21 wrote of: range(10), doubled, those above 2, in pairs, three at most,
# prefetched, taken apart by flat_map, with options, then range(2).
RECORDED = [4, 6, 8, 10, 12, 14, 0, 1]


def test_a_graph_that_tensorflow_wrote_runs():
    v1 = tf.compat.v1
    message = v1.GraphDef.FromString((FOLDER / "graph.pb").read_bytes())
    with tf.Graph().as_default(), v1.Session() as session:
        names = ["out1:0", "out2:0", "init"]
        one_shot, initializable, begin = tf.import_graph_def(message, return_elements=names)
        assert [int(session.run(one_shot)) for _ in RECORDED] == RECORDED
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(one_shot)
        session.run(begin)
        assert [int(session.run(initializable)) for _ in range(3)] == RECORDED[:3]


def test_a_dataset_that_tensorflow_wrote_is_read():
    assert [int(x) for x in again((FOLDER / "dataset.pb").read_bytes())] == RECORDED
