"""The first generation: summaries as operations, and FileWriter."""

import io
import warnings

import numpy as np
import pytest
from PIL import Image
from tests.summary.events import events, files, tensorboard, values

import penstock as tf
from penstock import proto

v1 = tf.compat.v1
DOUBLE_MAX = np.finfo(np.float64).max


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def run(tensor):
    with v1.Session() as session:
        return session.run(tensor)


def summary(tensor, op=None):
    assert op is None or tensor.op.type == op
    return list(proto.summary_pb2.Summary.FromString(run(tensor)).value)


def test_scalar():
    (value,) = summary(v1.summary.scalar("x y", 2.0), "ScalarSummary")
    assert (value.tag, value.simple_value) == ("x_y", 2.0)


def test_tags_have_the_scopes_and_the_family():
    with tf.name_scope("scope"):
        tensors = [v1.summary.scalar("a", 1.0), v1.summary.scalar("a", 1.0, family="F")]
    assert [tensor.name for tensor in tensors] == ["scope/a:0", "scope/F/a:0"]
    assert [summary(tensor)[0].tag for tensor in tensors] == ["scope/a", "F/scope/F/a"]


def test_a_scalar_is_one_number():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not the same shape.*\[\].*\[1\]"):
        run(v1.summary.scalar("x", [1.0]))


@pytest.mark.parametrize(
    ("values", "limits", "counts"),
    [
        ([], [DOUBLE_MAX], [0]),
        (
            [1.0, 2.0, -5.0, 0.0],
            [-5.09981, -4.63619, 0, 1e-12, 0.917246, 1.00897, 1.9662, 2.16282, DOUBLE_MAX],
            [0, 1, 0, 1, 0, 1, 0, 1, 0],
        ),
        (
            [1e-13, 1e30, 3.0, 3.0, -1e-13, -0.0],
            [-1e-12, 0, 1e-12, 2.87871, 3.16658, 9.92078e19, DOUBLE_MAX],
            [0, 1, 2, 0, 2, 0, 1],
        ),
    ],
)
def test_histogram(values, limits, counts):
    (value,) = summary(
        v1.summary.histogram("h", tf.constant(values, tf.float64)), "HistogramSummary"
    )
    np.testing.assert_allclose(value.histo.bucket_limit, limits, rtol=1e-5)
    assert list(value.histo.bucket) == counts
    assert value.histo.num == len(values)
    np.testing.assert_allclose(value.histo.sum, sum(values))


@pytest.mark.parametrize(("bad", "name"), [(np.nan, "Nan"), (np.inf, "Infinity")])
def test_a_histogram_holds_finite_numbers(bad, name):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name} in summary histogram for: h"):
        run(v1.summary.histogram("h", [bad]))


@pytest.mark.parametrize(
    ("pixels", "wanted"),
    [([-1.0, 0.5], [1, 191]), ([0.2, 0.5], [102, 255]), ([2.0, np.nan], [255, 255]), ([0.0], [0])],
)
def test_image(pixels, wanted):
    batch = np.array(pixels, np.float32).reshape(1, 1, -1, 1)
    (value,) = summary(v1.summary.image("i", batch, max_outputs=1))
    assert (value.tag, value.image.width) == ("i/image", len(pixels))
    with Image.open(io.BytesIO(value.image.encoded_image_string)) as picture:
        assert np.asarray(picture).ravel().tolist() == wanted


def test_what_is_not_finite_is_red_by_default():
    batch = np.full([1, 1, 1, 3], np.inf, np.float32)
    for made in (
        v1.summary.image("i", batch, max_outputs=1),
        tf.raw_ops.ImageSummary(tag="i", tensor=batch, max_images=1),
    ):
        (value,) = summary(made)
        with Image.open(io.BytesIO(value.image.encoded_image_string)) as picture:
            assert picture.getpixel((0, 0)) == (255, 0, 0)


def test_a_meta_graph_holds_the_default_color_of_images():
    red = [255, 0, 0, 255]
    with tf.Graph().as_default():
        tf.raw_ops.ImageSummary(tag="i", tensor=np.zeros([1, 1, 1, 3], np.float32), name="i")
        message = v1.train.export_meta_graph()
    (node,) = [n for n in message.graph_def.node if n.name == "i"]
    assert tf.make_ndarray(node.attr["bad_color"].tensor).tolist() == red
    (op,) = [o for o in message.meta_info_def.stripped_op_list.op if o.name == "ImageSummary"]
    (attr,) = [a for a in op.attr if a.name == "bad_color"]
    assert tf.make_ndarray(attr.default_value.tensor).tolist() == red


def test_images_are_numbered_and_bounded():
    found = summary(v1.summary.image("i", np.zeros([4, 2, 2, 3], np.uint8), max_outputs=2))
    assert [value.tag for value in found] == ["i/image/0", "i/image/1"]


def test_audio():
    found = summary(v1.summary.audio("a", np.zeros([2, 4, 1], np.float32), 8.0), "AudioSummaryV2")
    assert [value.tag for value in found] == ["a/audio/0", "a/audio/1"]
    assert (found[0].audio.length_frames, found[0].audio.num_channels) == (4, 1)


def test_tensor_and_text():
    tensor = v1.summary.tensor_summary("t", [1.0, 2.0], display_name="shown")
    (value,) = summary(tensor, "TensorSummaryV2")
    assert tf.make_ndarray(value.tensor).tolist() == [1.0, 2.0]
    assert value.metadata.display_name == "shown"
    (value,) = summary(v1.summary.text("words", tf.constant("hello")))
    assert value.metadata.plugin_data.plugin_name == "text"
    with pytest.raises(ValueError, match="to have dtype string, got float32"):
        v1.summary.text("words", 1.0)


def test_merge_all():
    assert v1.summary.merge_all() is None
    v1.summary.scalar("a", 1.0)
    v1.summary.scalar("elsewhere", 1.0, collections=["other"])
    v1.summary.histogram("b", [1.0])
    merged = v1.summary.merge_all()
    assert merged.op.type == "MergeSummary"
    assert [value.tag for value in summary(merged)] == ["a", "b"]


def test_a_tag_occurs_once():
    one = v1.summary.scalar("a", 1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag a found"):
        run(v1.summary.merge([one, one]))


def test_merging_bytes_that_are_none():
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 bytes that are none"):
        run(v1.summary.merge([tf.constant(b"\xff\xff\xff")]))


def test_file_writer(tmp_path, graph):
    tensor = v1.summary.text("words", tf.constant("hello"))
    with v1.Session() as session, v1.summary.FileWriter(tmp_path, graph) as writer:
        for step in (3, 4):
            writer.add_summary(session.run(tensor), step)
    first, meta, *rest = events(tmp_path)
    held = proto.meta_graph_pb2.MetaGraphDef.FromString(meta.meta_graph_def)
    assert held.graph_def == graph.as_graph_def(add_shapes=True)
    assert held.collection_def["summaries"].node_list.value == [tensor.name]
    assert {node.name for node in proto.graph_pb2.GraphDef.FromString(first.graph_def).node} == {
        op.name for op in graph.get_operations()
    }
    assert [event.step for event in rest] == [3, 4]
    assert [event.summary.value[0].HasField("metadata") for event in rest] == [True, False]
    assert tensorboard(tmp_path).Tags()["tensors"] == ["words"]


def test_a_closed_file_writer_can_be_opened_again(tmp_path):
    writer = v1.summary.FileWriter(tmp_path, filename_suffix=".end")
    value = proto.summary_pb2.Summary()
    value.value.add(tag="a", simple_value=1.0)
    writer.add_summary(value, 1)
    writer.close()
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_summary(value, 2)
    writer.reopen()
    writer.add_summary(value, 3)
    writer.close()
    assert [step for step, _, _ in values(tmp_path)] == [1, 3]
    assert files(tmp_path)[0].name.endswith(".end")


def test_run_metadata_and_session_log(tmp_path):
    with v1.summary.FileWriter(tmp_path) as writer:
        writer.add_run_metadata(proto.config_pb2.RunMetadata(), "step1", 1)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(proto.config_pb2.RunMetadata(), "step1", 2)
        writer.add_session_log(
            proto.event_pb2.SessionLog(status=proto.event_pb2.SessionLog.START), 2
        )
        writer.add_meta_graph(proto.meta_graph_pb2.MetaGraphDef(), 3)
    assert [event.WhichOneof("what") for event in events(tmp_path)] == [
        "tagged_run_metadata", "session_log", "meta_graph_def",
    ]  # fmt: skip


def test_the_cache_has_one_writer_for_a_folder(tmp_path):
    folder = str(tmp_path)
    try:
        assert v1.summary.FileWriterCache.get(folder) is v1.summary.FileWriterCache.get(folder)
    finally:
        v1.summary.FileWriterCache.clear()
    kinds = [event.WhichOneof("what") for event in events(tmp_path)]
    assert kinds == ["graph_def", "meta_graph_def"]


def test_no_warning_while_open(tmp_path):
    with warnings.catch_warnings(), v1.summary.FileWriter(tmp_path) as writer:
        warnings.simplefilter("error")
        writer.add_event(proto.event_pb2.Event(step=1))
    assert len(events(tmp_path)) == 1


def test_numbers_of_audio_stand_in_its_scope():
    with tf.Graph().as_default() as graph:
        v1.summary.audio("a", np.zeros([2, 4, 1], np.float32), 8.0)
        names = {op.name for op in graph.get_operations()}
    assert names == {"a/tag", "a/tensor", "a/sample_rate", "a"}


def test_values_without_a_tag_do_not_exclude_each_other():
    one = v1.Summary(value=[v1.Summary.Value(simple_value=1.0)]).SerializeToString()
    with v1.Session() as session:
        merged = session.run(tf.raw_ops.MergeSummary(inputs=[one, one]))
    assert [v.simple_value for v in v1.Summary.FromString(merged).value] == [1.0, 1.0]
