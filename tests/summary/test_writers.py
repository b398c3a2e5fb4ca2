"""Writers and what they write: eagerly, in functions, in graphs; as TensorBoard reads it."""

import gc
import io
import subprocess
import sys
import threading

import numpy as np
import pytest
from PIL import Image
from tests.summary.events import events, files, scalars, tensorboard, values

import penstock as tf
from penstock import proto


@pytest.fixture
def writer(tmp_path):
    made = tf.summary.create_file_writer(str(tmp_path))
    yield made
    made.close()


def test_scalars_as_tensorboard_reads_them(tmp_path, writer):
    with writer.as_default():
        for step in range(3):
            assert tf.summary.scalar("loss", 0.5 * step, step=step, description="how wrong").numpy()
    board = tensorboard(tmp_path)
    assert [(e.step, tf.make_ndarray(e.tensor_proto).item()) for e in board.Tensors("loss")] == [
        (0, 0.0), (1, 0.5), (2, 1.0),
    ]  # fmt: skip
    metadata = board.SummaryMetadata("loss")
    assert metadata.plugin_data.plugin_name == "scalars"
    assert metadata.summary_description == "how wrong"


def test_names_of_scopes_are_in_the_tag(tmp_path, writer):
    with writer.as_default(step=4), tf.name_scope("outer"), tf.name_scope("inner"):
        tf.summary.scalar("loss rate", 2)
    assert scalars(tmp_path) == [(4, "outer/inner/loss rate", 2.0)]


def test_text_of_a_scalar_must_be_one(writer):
    with writer.as_default(step=0), pytest.raises(ValueError, match=r"scalar shape, saw.*\(1,\)"):
        tf.summary.scalar("loss", [1.0])


def test_without_a_writer_nothing_is_needed():
    assert not tf.summary.write("loss", lambda: pytest.fail("called")).numpy()
    assert not tf.summary.image("pictures", "no picture").numpy()
    assert not tf.summary.should_record_summaries().numpy()


def test_scalars_and_texts_are_looked_at_without_a_writer_too():
    with pytest.raises(ValueError, match="Expected scalar shape"):
        tf.summary.scalar("loss", [1.0])
    with pytest.raises(tf.errors.UnimplementedError):
        tf.summary.scalar("loss", "text")
    with pytest.raises(TypeError):
        tf.summary.text("words", 3)


@pytest.mark.parametrize(
    ("step", "error"), [("a", TypeError), (2.0, TypeError), (tf.constant(2), ValueError)]
)
def test_a_step_is_an_int64(writer, step, error):
    with writer.as_default(), pytest.raises(error):
        tf.summary.scalar("loss", 1.0, step=step)


def test_a_closed_writer_is_not_made_again(writer):
    writer.close()
    with pytest.raises(RuntimeError, match="already closed"):
        writer.init()
    with pytest.raises(RuntimeError, match="already closed"), writer.as_default():
        pass


def test_a_writer_that_is_closed_within_its_scope_writes_no_more(writer):
    with writer.as_default(step=1):
        writer.close()
        with pytest.raises(tf.errors.NotFoundError, match="is closed"):
            tf.summary.scalar("loss", 1.0)


def test_a_single_number_is_written_as_bytes(tmp_path, writer):
    with writer.as_default(step=1):
        tf.summary.scalar("a", 1.5)
    writer.close()
    (path,) = tmp_path.glob("**/*tfevents*")
    *_, event = tf.compat.v1.train.summary_iterator(str(path))
    assert event.summary.value[0].tensor.tensor_content == np.float32(1.5).tobytes()


def test_a_writer_needs_a_step(writer):
    with writer.as_default(), pytest.raises(ValueError, match="No step set"):
        tf.summary.scalar("loss", 1.0)


def test_the_step_may_be_set_for_the_thread(tmp_path, writer):
    tf.summary.experimental.set_step(7)
    try:
        with writer.as_default():
            tf.summary.scalar("a", 1.0)
        with writer.as_default(step=9):
            tf.summary.scalar("b", 1.0)
        assert tf.summary.experimental.get_step() == 7
        threads = []
        thread = threading.Thread(target=lambda: threads.append(tf.summary.experimental.get_step()))
        thread.start()
        thread.join()
        assert threads == [None]
    finally:
        tf.summary.experimental.set_step(None)
    assert [(step, tag) for step, tag, _ in values(tmp_path)] == [(7, "a"), (9, "b")]


@pytest.mark.parametrize("condition", [False, lambda: False, np.bool_(False)])
def test_record_if(tmp_path, writer, condition):
    with writer.as_default(step=0):
        with tf.summary.record_if(condition):
            assert not tf.summary.scalar("a", 1.0).numpy()
            assert not tf.summary.should_record_summaries().numpy()
        assert tf.summary.scalar("b", 1.0).numpy()
    assert [tag for _, tag, _ in values(tmp_path)] == ["b"]


def test_in_a_function_each_call_writes_in_order(tmp_path, writer):
    @tf.function
    def step_of(x, step):
        tf.summary.scalar("first", x, step=step)
        tf.summary.scalar("second", x + 1.0, step=step)
        return x

    with writer.as_default():
        for step in range(3):
            step_of(tf.constant(float(step)), tf.constant(step, tf.int64))
    wanted = [(s, t, s + d) for s in range(3) for t, d in (("first", 0.0), ("second", 1.0))]
    assert scalars(tmp_path) == wanted


def test_in_a_graph_the_operations_are_collected(tmp_path):
    with tf.Graph().as_default():
        writer = tf.summary.create_file_writer(str(tmp_path))
        step = tf.compat.v1.placeholder(tf.int64, [])
        with writer.as_default(step=step):
            tf.summary.scalar("loss", tf.cast(step, tf.float32) * 2.0)
            tf.summary.experimental.write_raw_pb("")
        written = tf.compat.v1.summary.all_v2_summary_ops()
        operations = [t.op.control_inputs[0].type for t in written]
        assert operations == ["WriteSummary", "WriteRawProtoSummary"]
        assert writer.init().type == "CreateSummaryFileWriter"
        types = [op.type for op in tf.compat.v1.get_default_graph().get_operations()]
        assert "FlushSummaryWriter" not in types
        with tf.compat.v1.Session() as session:
            close = writer.close()
            assert close.type == "CloseSummaryWriter"
            for call in (written, writer.flush(), close):
                with pytest.raises(tf.errors.NotFoundError, match="init"):
                    session.run(call, {step: 1})
            session.run(writer.init())
            session.run(written, {step: 5})
            session.run(close)
            with pytest.raises(tf.errors.NotFoundError, match="is closed"):
                session.run(written, {step: 6})
    assert len(events(tmp_path)) == 2
    assert scalars(tmp_path) == [(5, "loss", 10.0)]
    assert tf.compat.v1.summary.all_v2_summary_ops() is None


def test_a_graph_as_tensorboard_reads_it(tmp_path, writer):
    @tf.function
    def double(x):
        return tf.multiply(x, 2.0, name="twice")

    graph = double.get_concrete_function(tf.TensorSpec([2], tf.float32)).graph
    with writer.as_default():
        assert tf.summary.graph(graph)
    nodes = {node.name: node.op for node in tensorboard(tmp_path).Graph().node}
    assert nodes["twice"] == "Mul"


def test_a_graph_must_be_one(writer):
    with writer.as_default(), pytest.raises(ValueError, match=r"tf\.Graph or a GraphDef, got int"):
        tf.summary.graph(3)


def test_text(tmp_path, writer):
    with writer.as_default(step=1):
        tf.summary.text("words", ["one", "two"])
    ((step, tag, value),) = values(tmp_path)
    assert (step, tag, value.tolist()) == (1, "words", [b"one", b"two"])


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (np.array([[[0.0], [0.5], [1.0], [2.0]]]), [0, 127, 255, 255]),
        (np.array([[[0], [7], [255]]], np.uint8), [0, 7, 255]),
        (np.array([[[-5], [128], [32767]]], np.int16), [0, 1, 255]),
        (np.array([[[0], [127]]], np.int8), [0, 254]),
    ],
)
def test_images(tmp_path, writer, data, wanted):
    with writer.as_default(step=1):
        tf.summary.image("digit", np.stack([data] * 4), max_outputs=2)
    ((_, _, value),) = values(tmp_path)
    width, height, *pictures = value.tolist()
    assert (width, height, len(pictures)) == (str(data.shape[1]).encode(), b"1", 2)
    with Image.open(io.BytesIO(pictures[0])) as picture:
        assert np.asarray(picture).ravel().tolist() == wanted


def test_sounds(tmp_path, writer):
    sound = np.zeros([2, 10, 1], np.float32)
    sound[0, 3] = 1.0
    with writer.as_default(step=1):
        tf.summary.audio("beep", sound, 8000)
    ((_, _, value),) = values(tmp_path)
    assert value.shape == (2, 2)
    assert value[0, 0].startswith(b"RIFF")
    assert value[0, 0][-20:] == np.array([0, 0, 0, 32767, *[0] * 6], "<i2").tobytes()


def test_a_closed_writer_refuses(writer):
    writer.close()
    writer.close()
    writer.flush()
    with pytest.raises(RuntimeError, match="already closed"), writer.as_default():
        pass


def test_a_noop_writer_writes_nothing():
    with tf.summary.create_noop_writer().as_default():
        assert not tf.summary.should_record_summaries().numpy()
        assert not tf.summary.scalar("a", 1.0).numpy()


def test_a_folder_is_needed():
    with pytest.raises(ValueError, match="`logdir` cannot be None"):
        tf.summary.create_file_writer(None)


def test_the_queue_is_written_when_it_is_full(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path), max_queue=2)
    writer.set_as_default(step=0)
    try:
        for count, there in ((1, 0), (2, 0), (3, 3), (4, 3)):
            tf.summary.scalar(f"s{count}", 1.0)
            assert len(events(tmp_path)) == there
    finally:
        tf.summary.create_noop_writer().set_as_default()
        tf.summary.experimental.set_step(None)
    writer.flush()
    assert len(events(tmp_path)) == 4
    writer.close()


def test_a_writer_that_is_let_go_of_writes_the_rest(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    writer.set_as_default(step=0)
    tf.summary.scalar("a", 1.0)
    tf.summary.create_noop_writer().set_as_default()
    tf.summary.experimental.set_step(None)
    assert events(tmp_path) == []
    del writer
    gc.collect()
    assert len(events(tmp_path)) == 1


def test_two_writers_in_one_second_have_two_files(tmp_path):
    for _ in range(2):
        tf.summary.create_file_writer(str(tmp_path)).close()
    assert len(files(tmp_path)) == 2


def test_what_is_in_memory_is_written_at_exit(tmp_path):
    code = (
        "import sys, penstock as tf\n"
        "tf.summary.create_file_writer(sys.argv[1]).set_as_default(step=3)\n"
        "tf.summary.scalar('a', 2.0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
    assert scalars(tmp_path) == [(3, "a", 2.0)]


def test_the_first_generations_writer_needs_a_graph(tmp_path):
    with pytest.raises(RuntimeError, match="not compatible with eager"):
        tf.compat.v1.summary.FileWriter(tmp_path)
    assert files(tmp_path) == []


def serialized(message):
    return message.SerializeToString()


def test_messages_are_written_as_they_are(tmp_path, writer):
    value = proto.summary_pb2.Summary()
    value.value.add(tag="a", simple_value=1.5)
    with writer.as_default(step=2):
        tf.summary.experimental.write_raw_pb([serialized(value), serialized(value)])
    event = proto.event_pb2.Event(step=7, wall_time=1.0, summary=value)
    tf.raw_ops.ImportEvent(writer=writer.resource, event=serialized(event))
    writer.flush()
    assert scalars(tmp_path) == [(2, "a", 1.5), (2, "a", 1.5), (7, "a", 1.5)]
    assert events(tmp_path)[-1].wall_time == 1.0


def test_bytes_that_are_no_message_are_refused(tmp_path, writer):
    bad = tf.constant(b"\xff\xff\xff")
    with writer.as_default(step=2), pytest.raises(tf.errors.DataLossError, match="a serialised Su"):
        tf.summary.experimental.write_raw_pb(bad)
    with pytest.raises(tf.errors.DataLossError, match="a serialised GraphDef, got 3"):
        tf.raw_ops.WriteGraphSummary(writer=writer.resource, step=1, tensor=bad)
    writer.flush()
    assert events(tmp_path) == []


def test_only_a_writer_is_written_to():
    variable = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[])
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected the resource of a summary"):
        tf.raw_ops.FlushSummaryWriter(writer=variable)


def test_png_takes_batches_and_one_to_four_channels():
    for channels, mode in ((1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")):
        pixels = np.arange(2 * 3 * 5 * channels, dtype=np.uint8).reshape(2, 3, 5, channels)
        found = tf.io.encode_png(pixels)
        assert found.shape == (2,)
        with Image.open(io.BytesIO(found.numpy()[1])) as picture:
            assert picture.mode == mode
            np.testing.assert_array_equal(np.asarray(picture).reshape(3, 5, channels), pixels[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="1, 2, 3 or 4 channels"):
        tf.raw_ops.EncodePng(image=np.zeros([3, 5, 5], np.uint8))


def test_wav_needs_numbers_that_its_header_holds():
    for channels in (2, 65535):
        sound = np.zeros([3, channels], np.float32)
        found = tf.audio.encode_wav(sound, 8000).numpy()
        assert (found[:4], len(found)) == (b"RIFF", 44 + 2 * sound.size)
    for channels, rate in ((2, 0), (2, -1), (0, 8000), (65536, 8000)):
        sound = np.zeros([1, channels], np.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"{channels} channels and {rate}"):
            tf.raw_ops.EncodeWav(audio=sound, sample_rate=rate)
    for channels, rate in ((1, 1e12), (65536, 8000.0), (0, 8000.0)):
        sound = np.zeros([1, 3, channels], np.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected 1 to 65535 channels"):
            tf.raw_ops.AudioSummaryV2(tag="a", tensor=sound, sample_rate=rate)


def test_every_kind_in_a_function(tmp_path, writer):
    @tf.function(input_signature=[tf.TensorSpec([None, 2, 3, 1], tf.float32)])
    def write_all(x):
        tf.summary.scalar("scalar", tf.reduce_sum(x), step=1)
        tf.summary.histogram("histogram", x, step=1, buckets=2)
        tf.summary.image("image", x, step=1)
        tf.summary.text("text", tf.constant("hello"), step=1)
        tf.summary.audio("audio", tf.ensure_shape(x[:, :, 0], [2, 2, 1]), 8, step=1)

    with writer.as_default():
        write_all(tf.ones([2, 2, 3, 1]))
    found = {tag: value for _, tag, value in values(tmp_path)}
    assert list(found) == ["scalar", "histogram", "image", "text", "audio"]
    assert found["scalar"] == 12.0
    np.testing.assert_array_equal(found["histogram"], [[1, 1, 0], [1, 1, 12]])
    assert len(found["image"]) == 4
    assert found["audio"].shape == (2, 2)


def test_sizes_may_be_told_by_the_run(tmp_path, writer):
    @tf.function(input_signature=[tf.TensorSpec([None, None, None], tf.float32)])
    def write(x):
        tf.summary.image("image", x[..., None], step=1)
        tf.summary.audio("audio", x[..., :1], 8, step=1, max_outputs=2)

    with writer.as_default():
        write(tf.ones([3, 4, 5]))
    found = {tag: value for _, tag, value in values(tmp_path)}
    assert found["image"][:2].tolist() == [b"5", b"4"]
    assert len(found["image"]) == 2 + 3
    assert found["audio"].shape == (2, 2)
    assert found["audio"][0, 0] == tf.audio.encode_wav(np.ones([4, 1], np.float32), 8).numpy()


def test_each_run_decides_by_the_condition_that_a_function_computes(tmp_path, writer):
    @tf.function
    def write(x, step):
        with tf.summary.record_if(x > 0.0):
            return tf.summary.scalar("a", x, step=step)

    with writer.as_default():
        wrote = [
            bool(write(tf.constant(x), tf.constant(i, tf.int64)))
            for i, x in enumerate((1.0, -1.0, 2.0))
        ]
    assert wrote == [True, False, True]
    assert scalars(tmp_path) == [(0, "a", 1.0), (2, "a", 2.0)]


def test_each_step_decides_by_the_condition_that_a_graph_computes(tmp_path):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        writer = tf.summary.create_file_writer(str(tmp_path))
        step = tf.compat.v1.train.create_global_step()
        bump = step.assign_add(1)
        with writer.as_default(step=step), tf.summary.record_if(lambda: tf.equal(step % 2, 0)):
            tf.summary.scalar("a", tf.cast(step, tf.float32))
        session.run([tf.compat.v1.global_variables_initializer(), writer.init()])
        for _ in range(4):
            session.run(tf.compat.v1.summary.all_v2_summary_ops())
            session.run(bump)
        session.run(writer.close())
    assert scalars(tmp_path) == [(0, "a", 0.0), (2, "a", 2.0)]


def test_media_check_their_arguments(writer):
    pictures, sounds = np.zeros([2, 2, 2, 1], np.float32), np.zeros([2, 4, 1], np.float32)
    with writer.as_default(step=1):
        assert tf.summary.image("i", pictures, max_outputs=0).numpy()
        for bad in (
            lambda: tf.summary.image("i", pictures, max_outputs=-1),
            lambda: tf.summary.audio("a", sounds, 8000, max_outputs=-1),
            lambda: tf.summary.audio("a", sounds.astype(np.int16), 8000),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Op:|expected max_outputs"):
                bad()


def test_raw_operations_write_what_merged_summaries_hold(tmp_path, writer):
    raw, step = tf.raw_ops, tf.constant(3, tf.int64)
    handle = writer.resource
    numbers = tf.constant([1.0, 2.0, 2.0, -3.0])
    pictures = tf.reshape(tf.range(12.0), [2, 2, 3, 1])
    sounds, red = tf.constant([[0.1, 0.2, -0.5]]), tf.constant([255, 0, 0], tf.uint8)
    about = {"writer": handle, "step": step}
    raw.WriteScalarSummary(tag="s", value=7, **about)
    raw.WriteHistogramSummary(tag="h", values=numbers, **about)
    raw.WriteImageSummary(tag="i", tensor=pictures, bad_color=red, **about)
    raw.WriteAudioSummary(tag="a", tensor=sounds, sample_rate=8000.0, **about)
    writer.flush()
    wanted = [
        raw.ScalarSummary(tags="s", values=7),
        raw.HistogramSummary(tag="h", values=numbers),
        raw.ImageSummary(tag="i", tensor=pictures),
        raw.AudioSummaryV2(tag="a", tensor=sounds, sample_rate=8000.0),
    ]
    written = [e for e in events(tmp_path) if e.HasField("summary")]
    assert [e.step for e in written] == [3] * 4
    assert [e.summary for e in written] == [
        proto.summary_pb2.Summary.FromString(each.numpy()) for each in wanted
    ]


@pytest.mark.parametrize(
    ("op", "arguments", "match"),
    [
        ("Scalar", {"value": [1.0]}, "value of rank 0"),
        ("Histogram", {"values": [np.nan]}, "Nan in summary histogram for: t"),
        ("Image", {"tensor": np.zeros((1, 1, 1, 2)), "bad_color": np.uint8([0])}, "1, 3 or 4"),
        ("Image", {"tensor": np.zeros((1, 1, 1, 3)), "bad_color": np.uint8([0])}, "at least 3"),
        ("Audio", {"tensor": [[0.0]], "sample_rate": 0.0}, "sample_rate > 0"),
        ("Audio", {"tensor": [0.0], "sample_rate": 1.0}, "at least 2"),
    ],
)
def test_raw_operations_refuse(writer, op, arguments, match):
    call = getattr(tf.raw_ops, f"Write{op}Summary")
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        call(writer=writer.resource, step=tf.constant(0, tf.int64), tag="t", **arguments)


def test_tensors_under_the_name_of_their_operation():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        made = session.run(tf.raw_ops.TensorSummary(tensor=[1.0, 2.0], name="mine"))
    (value,) = proto.summary_pb2.Summary.FromString(made).value
    assert (value.node_name, value.tag) == ("mine", "")
    assert tf.make_ndarray(value.tensor).tolist() == [1.0, 2.0]
