"""trace_on, trace_off, trace_export: graphs of functions that ran, as TensorBoard reads them."""

import pytest
from tests.summary.events import events, tensorboard

import penstock as tf
from penstock import proto
from penstock.runtime import watching


@pytest.fixture
def writer(tmp_path):
    made = tf.summary.create_file_writer(str(tmp_path))
    with made.as_default():
        yield made
    made.close()
    tf.summary.trace_off()
    assert watching.state.functions is None
    assert watching.state.steps is None


@tf.function
def double(x):
    return tf.multiply(x, 2.0, name="doubled")


@tf.function
def call(x):
    return double(x) - 1.0


def exported(folder):
    (event,) = events(folder)
    (value,) = event.summary.value
    plugin = value.metadata.plugin_data
    message = proto.config_pb2.RunMetadata.FromString(value.tensor.string_val[0])
    return event.step, value.tag, plugin.plugin_name, plugin.content, message


def test_graphs_of_functions_that_ran_are_exported(tmp_path, writer):
    double(tf.constant([1.0, 2.0, 3.0]))  # before: it is not in it
    tf.summary.trace_on()
    double(tf.constant(1.0))
    double(tf.constant(2.0))
    call(tf.constant([1.0]))
    tf.summary.trace_export("net", step=3)
    double(tf.constant([1.0, 2.0]))  # after: neither
    writer.flush()
    step, tag, plugin, content, message = exported(tmp_path)
    assert (step, tag, plugin, content) == (3, "net", "graph_run_metadata_graph", b"1")
    names = [{n.name for n in g.node} for g in message.partition_graphs]
    assert len(names) == 2
    assert "doubled" in names[0]
    assert "sub" in names[1]
    graphs = [g.pre_optimization_graph for g in message.function_graphs]
    assert graphs == list(message.partition_graphs)
    board = tensorboard(tmp_path)
    assert board.SummaryMetadata("net").plugin_data.plugin_name == "graph_run_metadata_graph"


def test_an_export_ends_the_trace(writer):
    with pytest.raises(ValueError, match=r"Must enable trace before export.*trace_on.*'a'"):
        tf.summary.trace_export("a", step=0)
    tf.summary.trace_on()
    tf.summary.trace_export("a", step=0)
    with pytest.raises(ValueError, match="Must enable trace before export"):
        tf.summary.trace_export("b", step=0)
    tf.summary.trace_on()
    tf.summary.trace_off()
    with pytest.raises(ValueError, match="Must enable trace before export"):
        tf.summary.trace_export("c", step=0)


def test_an_export_needs_a_step_and_leaves_the_trace_on_without(tmp_path, writer):
    tf.summary.trace_on()
    double(tf.constant(1.0))
    with pytest.raises(ValueError, match="No step set"):
        tf.summary.trace_export("a")
    tf.summary.trace_export("a", step=1)
    writer.flush()
    assert len(exported(tmp_path)[4].partition_graphs) == 1


def test_a_profile_goes_with_it(tmp_path, writer):
    tf.summary.trace_on(profiler=True, profiler_outdir=str(tmp_path))
    double(tf.constant(1.0))
    tf.summary.trace_export("a", step=4)
    writer.flush()
    assert exported(tmp_path)[2] == "graph_run_metadata"
    (profile,) = (tmp_path / "plugins" / "profile").iterdir()
    assert list(profile.glob("*.steps.json"))


def test_a_profile_needs_a_folder(writer, caplog):
    tf.summary.trace_on(profiler=True)
    assert "expected profiler_outdir" in caplog.text
    assert watching.state.steps is None


def test_only_one_trace_at_a_time(writer, caplog):
    tf.summary.trace_on()
    tf.summary.trace_on(graph=False)
    assert "trace_off before trace_on" in caplog.text
    assert watching.state.functions is not None


def test_in_graphs_nothing_is_traced(writer, caplog):
    with tf.Graph().as_default():
        tf.summary.trace_on()
        tf.summary.trace_export("a", step=0)
    assert caplog.text.count("it does nothing there") == 2
    assert watching.state.functions is None


def test_without_a_writer_an_export_ends_the_trace():
    tf.summary.trace_on()
    tf.summary.trace_export("a", step=0)
    assert watching.state.functions is None
