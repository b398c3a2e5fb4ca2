"""tf.profiler.experimental: the files of a profile, what is in them, and the errors."""

import json
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.core.context import state
from penstock.runtime import watching

profiler = tf.profiler.experimental


@pytest.fixture(autouse=True)
def none_left():
    yield
    left = watching.state.steps is not None
    if left:
        profiler.stop(save=False)
    assert not left


def folder_of(logdir):
    (folder,) = (logdir / "plugins" / "profile").iterdir()
    return folder


def trace_of(logdir):
    (path,) = folder_of(logdir).glob("*.steps.json")
    return json.loads(path.read_text())["traceEvents"]


@tf.function
def work(x):
    return tf.reduce_sum(tf.matmul(x, x) + 1.0)


def test_a_profile_holds_steps_of_all_threads_and_what_is_marked(tmp_path):
    x = tf.ones([64, 64])
    profiler.start(str(tmp_path))
    with profiler.Trace("train", step_num=7, _r=1) as mark:
        work(x)
        mark.set_metadata(loss=0.5)
    other = threading.Thread(target=work, args=(x,))
    other.start()
    other.join()
    profiler.stop()
    events = trace_of(tmp_path)
    rows = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert "Python" in rows
    assert any("CPU:0" in row for row in rows)
    (span,) = [e for e in events if e.get("cat") == "Trace"]
    assert (span["name"], span["args"]) == ("train", {"step_num": "7", "_r": "1", "loss": "0.5"})
    bars = [e for e in events if e.get("cat") == "Op"]
    inside = [e for e in bars if span["ts"] - 1 <= e["ts"] <= span["ts"] + span["dur"]]
    assert inside
    assert len(inside) < len(bars)  # the other thread's came later
    names = {p.name.split(".", 1)[1] for p in folder_of(tmp_path).iterdir()}
    assert {"xplane.pb", "steps.json", "operations.txt"} <= names
    (table,) = folder_of(tmp_path).glob("*.operations.txt")
    header, *lines = table.read_text().splitlines()
    assert header.split()[:3] == ["operation", "type", "runs"]
    assert any("region of" in line and "CPU:0" in line for line in lines)


def test_sessions_are_in_it_with_a_row_for_each_device_and_thread(tmp_path):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        fed = tf.compat.v1.placeholder(tf.string, [2])
        words = tf.strings.join([fed, "c"], name="joined")
        length = tf.strings.length(words, name="length")
        with profiler.Profile(str(tmp_path)):
            for _ in range(3):
                np.testing.assert_array_equal(session.run(length, {fed: ["a", "b"]}), [2, 2])
    bars = [e for e in trace_of(tmp_path) if e.get("cat") == "Op"]
    assert [e["args"]["name"] for e in bars].count("length") == 3
    (table,) = folder_of(tmp_path).glob("*.operations.txt")
    (line,) = [x for x in table.read_text().splitlines() if x.startswith("length ")]
    name, kind, runs, *_ = line.split()
    assert (name, kind, runs) == ("length", "StringLength", "3")
    assert line.split()[6] == "2"  # one for each element
    assert line.split()[5] == "24"  # three times two int32


def test_a_failed_step_is_in_it_and_later_steps_run(tmp_path):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.string)
        number = tf.strings.to_number(tf.strings.join([x, "0"], name="joined"))
        with profiler.Profile(tmp_path):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(number, {x: "a"})
            assert session.run(number, {x: "1"}) == 10.0
        assert session.run(number, {x: "2"}) == 20.0
    names = [e["args"]["name"] for e in trace_of(tmp_path) if e.get("cat") == "Op"]
    assert names.count("joined") == 2


def test_one_profile_at_a_time(tmp_path):
    profiler.start(tmp_path)
    with pytest.raises(tf.errors.AlreadyExistsError, match="Another profiler is running"):
        profiler.start(tmp_path)
    profiler.stop(save=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(tf.errors.UnavailableError, match=r"No profiler is running.*start\("):
        profiler.stop()


def test_steps_during_the_delay_are_left_out(tmp_path):
    profiler.start(tmp_path, profiler.ProfilerOptions(delay_ms=3_600_000))
    work(tf.ones([4, 4]))
    profiler.stop()
    assert [e for e in trace_of(tmp_path) if e.get("cat") == "Op"] == []


def test_options_have_tensorflows_defaults():
    assert profiler.ProfilerOptions() == (2, 0, 1, None)
    with pytest.raises(TypeError, match="ProfilerOptions, got dict"):
        profiler.start("x", {"host_tracer_level": 2})
    with pytest.raises(TypeError):
        profiler.start(None)


def test_a_trace_without_a_profile_does_nothing():
    with profiler.Trace("free", step_num=1) as mark:
        mark.set_metadata(more=2)
    assert watching.state.steps is None


def test_two_profiles_in_one_second_have_folders_of_their_own(tmp_path):
    for _ in range(2):
        with profiler.Profile(tmp_path):
            pass
    assert len(list((tmp_path / "plugins" / "profile").iterdir())) == 2


def test_other_processes_are_refused_by_name():
    with pytest.raises(tf.errors.UnimplementedError, match="localhost:1"):
        profiler.client.trace("localhost:1", "d", 10)
    with pytest.raises(tf.errors.UnimplementedError, match="localhost:1"):
        profiler.client.monitor("localhost:1", 10)
    with pytest.raises(TypeError, match="integer port, got 'x'"):
        profiler.server.start("x")


def test_a_full_profile_says_what_it_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "LIMIT", 2)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        fed = tf.compat.v1.placeholder(tf.string, [1])
        length = tf.strings.length(tf.strings.join([fed, "c"]))
        profiler.start(tmp_path)
        for _ in range(3):
            session.run(length, {fed: ["a"]})
        found = watching.state.steps
        profiler.stop()
    assert len(found.events) == 2
    (table,) = folder_of(tmp_path).glob("*.operations.txt")
    assert f"{found.dropped} more operations ran" in table.read_text()


def test_the_table_says_what_a_region_computes(tmp_path):
    with profiler.Profile(tmp_path):
        work(tf.ones([64, 64]))
    (table,) = folder_of(tmp_path).glob("*.operations.txt")
    (line,) = [x for x in table.read_text().splitlines() if x.startswith("region of")]
    flops = int(line.split()[-2])
    assert flops == 2 * 64**3 + 64**2 + 64**2  # the product, the addition, the sum


def test_the_table_shares_a_region_s_time_among_its_operations(tmp_path):
    with profiler.Profile(tmp_path):
        work(tf.ones([64, 64]))
    (table,) = folder_of(tmp_path).glob("*.operations.txt")
    lines = table.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("region of"))
    total = int(lines[at].split()[-5])
    parts = [line.split() for line in lines[at + 1 :] if line.startswith("  ")]
    assert parts[0][1:3] == ["MatMul", "1"]
    assert parts[0][-1] == str(2 * 64**3)
    times = [float(part[3].removeprefix("~")) for part in parts]
    assert times == sorted(times, reverse=True)
    assert abs(sum(times) - total) <= 0.01 * len(times) * total + len(times)


def lines_of(logdir):
    (table,) = folder_of(logdir).glob("*.operations.txt")
    rows = [line.split() for line in table.read_text().splitlines()]
    return {row[0]: row[1:] for row in rows[1:]}


def test_eager_operations_are_named_after_the_line_that_ran_them(tmp_path):
    x, v = tf.ones([64, 64]), tf.Variable(tf.zeros([2]))
    with profiler.Profile(tmp_path):
        for rows in (1, 3):
            tf.matmul(tf.ones([rows, 64]), x)
        x + x
        v.assign([1.0, 2.0])
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.reshape(x, [3])
    x + x
    found = {name.partition("/")[2]: row for name, row in lines_of(tmp_path).items()}
    assert all(name.startswith("test_experimental.py:") for name in lines_of(tmp_path))
    assert set(found) == {"MatMul", "AddV2", "AssignVariableOp"}  # what failed is not in it
    kind, runs, _, _, size, flops, device = found["MatMul"]
    assert (kind, runs) == ("MatMul", "2")
    assert size == str(4 * 64 * (1 + 3))  # bytes of both results
    assert flops == str(2 * 64 * 64 * 2)  # the mean of 1 and 3 rows
    assert device == x.device
    assert found["AddV2"][1] == "1"  # the one after the profile is not in it


def test_eager_operations_of_threads_under_way_are_in_it(tmp_path):
    x, begin, done = tf.ones([4]), threading.Event(), []

    def work():
        done.append(x * 2.0)  # before the profile: this thread's state is known by now
        begin.wait()
        done.append(x * 2.0)

    thread = threading.Thread(target=work)
    thread.start()
    with profiler.Profile(tmp_path):
        begin.set()
        thread.join()
    bars = [e for e in trace_of(tmp_path) if e.get("cat") == "Op"]
    assert [bar["args"]["op"] for bar in bars] == ["Mul"]
    np.testing.assert_array_equal(done[0], done[1])


def test_scopes_that_are_left_during_a_profile_leave_threads_as_they_were(tmp_path):
    x = tf.ones([2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        profiler.start(tmp_path)
        y = x * x
    assert not state.plain
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 2.0])
    profiler.stop()
    assert state.plain
