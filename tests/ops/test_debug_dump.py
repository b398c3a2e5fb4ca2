"""Files of debuggers: what TensorFlow's readers find there, by our own messages of their format."""

import glob
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import proto
from penstock.core.record_files import read_file
from penstock.graph.tensor_proto import make_ndarray

dump = tf.debugging.experimental
HERE = os.path.basename(__file__)


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    yield
    dump.disable_dump_debug_info()


def read(folder: Path, suffix: str) -> list[Any]:
    """The messages of a file."""
    (path,) = glob.glob(f"{folder}/tfdbg_events.*.{suffix}")
    events = [proto.debug_event_pb2.DebugEvent.FromString(r) for r in read_file(path)]
    assert all(event.wall_time > 1e9 for event in events)
    return [getattr(event, event.WhichOneof("what")) for event in events]


def traces(folder: Path) -> list[tuple[str, int, list[float]]]:
    """Operation, output and values of what graphs computed."""
    return [
        (t.op_name, t.output_slot, np.ravel(make_ndarray(t.tensor_proto)).tolist())
        for t in read(folder, "graph_execution_traces")
    ]


def lines_of(folder: Path, location: Any) -> list[str]:
    """The program's lines at a code location; none of code that has no file."""
    sources = read(folder, "source_files")
    frames = {frame.id: frame.file_line_col for frame in read(folder, "stack_frames")}
    places = [frames[number] for number in location.stack_frame_ids]
    files = [(sources[place.file_index].lines, place.line) for place in places]
    return [lines[number - 1].strip() for lines, number in files if lines]


def test_eager_operations_are_executions_with_their_lines(tmp_path: Path) -> None:
    dump.enable_dump_debug_info(str(tmp_path), "FULL_HEALTH")
    product = tf.constant([1.0, -1.0]) * 3.0
    tf.unique(product)
    dump.disable_dump_debug_info()
    tf.sqrt(product)
    multiply, unique = read(tmp_path, "execution")
    assert (multiply.op_type, unique.op_type) == ("Mul", "Unique")
    assert make_ndarray(multiply.tensor_protos[0]).tolist() == [-1, -1, 1, 1, 2, 0, 0, 0, 1, 0, 1]
    assert multiply.output_tensor_ids[0] == unique.input_tensor_ids[0]
    assert unique.num_outputs == 2
    assert unique.tensor_protos[1].dtype == 0  # indices are no floating-point numbers
    assert lines_of(tmp_path, multiply.code_location)[-1].startswith("product =")
    (metadata,) = read(tmp_path, "metadata")
    assert metadata.file_version == "debug.Event:1"
    assert metadata.tfdbg_run_id


def test_functions_write_their_graphs_and_what_they_compute(tmp_path: Path) -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = tf.math.log(x)
        for _ in tf.range(2):
            y = y + 1.0
        return y

    f(tf.constant([1.0]))  # traced without
    dump.enable_dump_debug_info(str(tmp_path), "CONCISE_HEALTH", 0)
    result = f(tf.constant([0.0, 1.0]))
    dump.disable_dump_debug_info()
    assert result.numpy().tolist() == [-np.inf, 2.0]
    graphs = [m for m in read(tmp_path, "graphs") if m.DESCRIPTOR.name == "DebuggedGraph"]
    assert graphs[0].graph_name == "f"
    assert {g.outer_context_id for g in graphs[1:]} == {graphs[0].graph_id}
    creations = {
        m.op_name: m for m in read(tmp_path, "graphs") if m.DESCRIPTOR.name == "GraphOpCreation"
    }
    assert list(creations["Log"].input_names) == ["x:0"]
    assert not any("Debug" in m.op_type for m in creations.values())
    assert lines_of(tmp_path, creations["Log"].code_location)[-1] == "y = tf.math.log(x)"
    (call,) = read(tmp_path, "execution")
    assert call.graph_id == graphs[0].graph_id
    found = traces(tmp_path)
    assert [name for name, _, _ in found] == ["Log", "add", "add"]
    (number,) = creations["Log"].output_tensor_ids
    assert found[0][2] == [number, 2, 1, 0, 0]
    f(tf.constant([0.0, 1.0]))  # traced again, and closed files take nothing
    assert len(traces(tmp_path)) == 3


def test_graphs_of_sessions_and_their_gradients(tmp_path: Path) -> None:
    dump.enable_dump_debug_info(str(tmp_path), "FULL_TENSOR", -1)
    with tf.compat.v1.Graph().as_default(), tf.compat.v1.Session() as session:
        p = tf.compat.v1.placeholder(tf.float32, [2], name="p")
        q = tf.exp(p)
        (slope,) = tf.compat.v1.gradients(q, p)
        got = session.run([q, slope], {p: [0.0, 1.0]})
    np.testing.assert_allclose(got, [np.exp([0, 1])] * 2, rtol=1e-6)
    dump.disable_dump_debug_info()
    found = {name: values for name, _, values in traces(tmp_path)}
    assert found["p"] == [0, 1]
    assert found["Exp"] == got[0].tolist()
    assert "gradients/Exp_grad/Mul" in found


@pytest.mark.parametrize("mode", ["NO_TENSOR", "CURT_HEALTH", "SHAPE"])
def test_modes_in_functions_and_sessions(tmp_path: Path, mode: str) -> None:
    wanted = {"NO_TENSOR": [], "CURT_HEALTH": [1], "SHAPE": [1, 1, 2, 2, 0, 0, 0, 0, 0]}[mode]
    dump.enable_dump_debug_info(str(tmp_path), mode)
    tf.function(lambda x: tf.sqrt(x, "one"))(tf.constant([-1.0, 4.0]))
    with tf.compat.v1.Graph().as_default(), tf.compat.v1.Session() as session:
        two = tf.sqrt(tf.compat.v1.placeholder_with_default([-1.0, 4.0], [2]), "two")
        np.testing.assert_array_equal(session.run(two), [np.nan, 2.0])
    dump.disable_dump_debug_info()
    found = {name: values[1:] for name, _, values in traces(tmp_path)}
    assert found["one"] == found["two"] == wanted


def test_only_what_is_asked_for_is_looked_at(tmp_path: Path) -> None:
    dump.enable_dump_debug_info(
        str(tmp_path), op_regex="(Sq|Cast)", tensor_dtypes=["float32", tf.int32]
    )

    @tf.function
    def f(x: Any) -> Any:
        return tf.cast(tf.sqrt(tf.square(x) + 1.0), tf.float64), tf.cast(x, tf.int32)

    f(tf.constant(2.0))
    dump.enable_dump_debug_info(str(tmp_path), tensor_dtypes=lambda dtype: dtype == tf.float64)
    f(tf.constant(2.0))
    dump.disable_dump_debug_info()
    assert {name for name, _, _ in traces(tmp_path)} == {"Square", "Sqrt", "Cast_1", "Cast"}


def test_the_last_records_are_kept(tmp_path: Path) -> None:
    writer = dump.enable_dump_debug_info(str(tmp_path), circular_buffer_size=2)
    x = tf.constant(1.0)
    for _ in range(3):
        x = x + 1.0
    x = tf.sqrt(x)
    assert read(tmp_path, "execution") == []
    writer.FlushExecutionFiles()
    assert [e.op_type for e in read(tmp_path, "execution")] == ["AddV2", "Sqrt"]


def test_numbers_are_checked_at_the_same_time(tmp_path: Path) -> None:
    dump.enable_dump_debug_info(str(tmp_path), circular_buffer_size=0)
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match='eagerly-executing op "Log"'):
            tf.math.log(tf.constant(-1.0))
    finally:
        tf.debugging.disable_check_numerics()
    tf.math.log(tf.constant(-1.0))
    dump.disable_dump_debug_info()
    assert [e.op_type for e in read(tmp_path, "execution")] == ["Log", "Log"]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (("",), ValueError, "Empty or None dump root"),
        ((3,), TypeError, "dump_root: str"),
        (("x", "BAD"), ValueError, "Valid options"),
        (("x", "FULL_NUMERICS"), NotImplementedError, "FULL_NUMERICS"),
        (("x", "SHAPE", "a"), TypeError, "circular_buffer_size"),
        (("x", "SHAPE", 1, None, 3), ValueError, "tensor_dtypes"),
    ],
)
def test_wrong_arguments(arguments: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        dump.enable_dump_debug_info(*arguments)


def test_other_settings_while_it_is_on(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    writer = dump.enable_dump_debug_info(one)
    assert dump.enable_dump_debug_info(one) is writer
    with pytest.raises(ValueError, match=r"\(NO_TENSOR\).* SHAPE"):
        dump.enable_dump_debug_info(one, "SHAPE")
    with pytest.raises(ValueError, match=r"\(1000\): got 5"):
        dump.enable_dump_debug_info(two, circular_buffer_size=5)
    assert dump.enable_dump_debug_info(two, "SHAPE").dump_root == two


# ---- raw operations ------------------------------------------------------------------------------


def events(folder: Path) -> dict[str, Any]:
    """The first debugger's files: path without the time, and the value."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            event = proto.event_pb2.Event.FromString(path.read_bytes())
            (value,) = event.summary.value
            found[str(path.relative_to(folder)).rpartition("_")[0]] = value
    return found


def test_files_of_the_first_debugger(tmp_path: Path) -> None:
    x = tf.constant([1.0, np.nan])
    about = {
        "tensor_name": "a/b:1",
        "device_name": "/job:localhost/task:0/cpu:0",
        "debug_urls": [f"file://{tmp_path}"],
    }
    assert tf.raw_ops.DebugIdentity(input=x, **about).numpy()[0] == 1
    tf.raw_ops.DebugIdentityV3(input=x, io_of_node="n", is_input=True, io_index=2, **about)
    tf.raw_ops.DebugNanCount(input=x, **about)
    tf.raw_ops.DebugNumericSummary(input=x, mute_if_healthy=True, **about)
    healthy = {**about, "tensor_name": "c"}
    tf.raw_ops.DebugNumericSummary(input=x[:1], mute_if_healthy=True, **healthy)
    found = events(tmp_path)
    start = "_tfdbg_device_,job_localhost,task_0,cpu_0/a/b_1_Debug"
    names = {start + "Identity", start + "NanCount", start + "NumericSummary"}
    assert {name for name in found if "node-io" not in name} == names
    assert next(n for n in found if "node-io" in n).endswith("/n:in:2")
    count = found[start + "NanCount"]
    assert count.node_name == "a/b:1:DebugNanCount"
    assert make_ndarray(count.tensor).tolist() == [1]
    assert b'"outputSlot":1' in count.metadata.plugin_data.content


@pytest.mark.parametrize(
    ("value", "bounds", "wanted"),
    [
        ([1, 0, -2, np.nan, np.inf, -np.inf], {},
         [1, 6, 1, 1, 1, 1, 1, 1, -2, 1, -1 / 3, 14 / 9, 1, 1, 6]),
        ([1, 0, -2], {"lower_bound": -1.0, "upper_bound": 0.5},
         [1, 3, 0, 1, 0, 1, 0, 1, -2, 1, -1 / 3, 14 / 9, 1, 1, 3]),
        (np.zeros((0, 2)), {},
         [1, 0, 0, 0, 0, 0, 0, 0, np.inf, -np.inf, np.nan, np.nan, 1, 2, 0, 2]),
        (2, {}, [1, 1, 0, 0, 0, 0, 1, 0, 2, 2, 2, 0, 1, 0]),
    ],
)  # fmt: skip
def test_numeric_summary(value: Any, bounds: Any, wanted: Any) -> None:
    x = tf.constant(value, tf.float32)
    summary = tf.raw_ops.DebugNumericSummary(input=x, tensor_name="a", **bounds)
    np.testing.assert_allclose(summary, wanted, rtol=1e-7)
    shaped = tf.function(lambda v: tf.raw_ops.DebugNumericSummary(input=v, tensor_name="a"))
    assert shaped.get_concrete_function(x).outputs[0].shape == summary.shape


def test_a_gate_that_no_server_opened_lets_nothing_through() -> None:
    for name in ("Identity", "IdentityV3", "NanCount", "NumericSummary"):
        call = getattr(tf.raw_ops, f"Debug{name}")
        assert call(input=1.0, tensor_name="a", gated_grpc=True).shape == (0,)


def _identity(**attrs: Any) -> Callable[[], Any]:
    return lambda: tf.raw_ops.DebugIdentity(input=tf.constant(1.0), **attrs)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (_identity(), tf.errors.InvalidArgumentError, "parse tensor name"),
        (_identity(tensor_name="a", debug_urls=["foo"]), tf.errors.UnavailableError, "foo"),
        (_identity(tensor_name="a", debug_urls=["grpc://a"]),
         tf.errors.UnimplementedError, "grpc"),
        (lambda: tf.raw_ops.DebugIdentityV2(input=1.0, debug_urls=["foo"]),
         tf.errors.InternalError, "foo"),
        (lambda: tf.raw_ops.CheckPinned(tensor=1.0), tf.errors.FailedPreconditionError, "pinned"),
    ],
)  # fmt: skip
def test_refused(call: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        call()
