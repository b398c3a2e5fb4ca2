"""The hooks: when they act, and what they write."""

import json
import logging
import os

import numpy as np
import pytest

import penstock as tf
from penstock.core.context import graph_scope

tf1 = tf.compat.v1
train = tf1.train


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made
    tf1.summary.FileWriterCache.clear()


@pytest.fixture
def logged(caplog):
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel(logging.INFO)
    yield lambda: [r.getMessage() for r in caplog.records]
    logger.setLevel(level)


def events(folder):
    tf1.summary.FileWriterCache.clear()
    return [
        event
        for name in sorted(os.listdir(folder))
        if "tfevents" in name
        for event in train.summary_iterator(f"{folder}/{name}")
    ]


def run_steps(hooks, count, fetch=None):
    update = train.get_or_create_global_step().assign_add(1)
    with train.MonitoredSession(hooks=hooks) as session:
        for _ in range(count):
            session.run([update, fetch] if fetch is not None else update)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: train.StopAtStepHook(), "One of num_steps or last_step"),
        (lambda: train.StopAtStepHook(1, 2), "Only one of num_steps or last_step"),
        (lambda: train.CheckpointSaverHook("x"), "Either every_secs or every_steps"),
        (lambda: train.CheckpointSaverHook("x", 1, 1), "both every_secs and every_steps"),
        (
            lambda: train.CheckpointSaverHook("x", 1, saver=1, scaffold=1),
            "both saver and scaffold",
        ),
        (lambda: train.LoggingTensorHook([]), "exactly one of every_n_iter and every_n_secs"),
        (lambda: train.LoggingTensorHook(["a"], 1, 1), "exactly one of every_n_iter"),
        (lambda: train.LoggingTensorHook(["a"], 0), "invalid every_n_iter=0"),
        (lambda: train.StepCounterHook(None), "exactly one of every_n_steps and every_n_secs"),
        (lambda: train.StepCounterHook(1, 1), "exactly one of every_n_steps and every_n_secs"),
        (lambda: train.SummarySaverHook(1), "Exactly one of scaffold or summary_op"),
        (lambda: train.SecondOrStepTimer(), "Either every_secs or every_steps"),
    ],
)
def test_arguments_that_exclude_each_other(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda p: train.StopAtStepHook(1),
        lambda p: train.CheckpointSaverHook(p, 1),
        lambda p: train.StepCounterHook(),
        lambda p: train.SummarySaverHook(1, output_dir=p, summary_op=tf.constant("a")),
        lambda p: train.GlobalStepWaiterHook(3),
        lambda p: train.ProfilerHook(1, output_dir=p),
    ],
)
def test_a_global_step_is_asked_for(make, tmp_path):
    with pytest.raises(RuntimeError, match="Global step should be created to use"):
        make(str(tmp_path)).begin()


def test_timers_of_seconds():
    timer = train.SecondOrStepTimer(every_secs=0.0)
    assert timer.should_trigger_for_step(0)
    timer.update_last_triggered_step(0)
    assert not timer.should_trigger_for_step(0)
    assert timer.should_trigger_for_step(1)
    seconds, steps = timer.update_last_triggered_step(4)
    assert seconds >= 0
    assert steps == timer.last_triggered_step() == 4
    slow = train.SecondOrStepTimer(every_secs=1e6)
    slow.update_last_triggered_step(0)
    assert not slow.should_trigger_for_step(5)


def test_tensors_are_logged(logged):
    a = tf1.placeholder(tf.float32, [])
    loss = tf.identity(a * 2, name="loss")
    twice = tf.stack([a, a], name="vec")
    hooks = [
        train.LoggingTensorHook(["loss:0", "vec:0"], every_n_iter=2),
        train.LoggingTensorHook({"x": loss}, every_n_secs=1e6),
        train.LoggingTensorHook([twice], every_n_iter=3, formatter=lambda d: f"F{d[twice]}"),
    ]
    with train.MonitoredSession(hooks=hooks) as session:
        for i in range(4):
            session.run(loss, {a: i})
    found = [m for m in logged() if "=" in m or m.startswith("F")]
    assert found[:2] == ["loss:0 = 0.0, vec:0 = [0. 0.]", "x = 0.0"]
    assert found[2] == "F[0. 0.]"
    assert found[3].startswith("loss:0 = 4.0, vec:0 = [2. 2.] (")
    assert found[4] == "F[3. 3.]"
    assert len(found) == 5


def test_a_name_stands_for_an_operation_s_only_output(logged):
    a, _ = tf.constant(2.0, name="a"), tf.unstack(tf.constant([1, 2]), name="u")
    with pytest.raises(ValueError, match="Name u is ambiguous"):
        train.LoggingTensorHook(["u"], every_n_iter=1).begin()
    hooks = [train.LoggingTensorHook([tensor], at_end=True) for tensor in ("a", a)]
    with train.MonitoredSession(hooks=hooks):
        pass
    assert logged()[-2:] == ["a = 2.0", f"{a} = 2.0"]


def test_tensors_are_logged_at_the_end(logged):
    hook = train.LoggingTensorHook({"x": tf.constant(3)}, at_end=True)
    with train.MonitoredSession(hooks=[hook]) as session:
        session.run([])
        assert "x = 3" not in logged()
    assert "x = 3" in logged()


def test_nan_stops_or_fails():
    a = tf1.placeholder(tf.float32, [])
    loss = tf.identity(a, name="loss")
    with train.MonitoredSession(hooks=[train.NanTensorHook(loss, False)]) as session:
        session.run(loss, {a: 1.0})
        assert not session.should_stop()
        session.run(loss, {a: np.nan})
        assert session.should_stop()
    with (
        pytest.raises(train.NanLossDuringTrainingError, match=r"NaN loss.*'loss:0'"),
        train.MonitoredSession(hooks=[train.NanTensorHook(loss)]) as session,
    ):
        session.run(loss, {a: np.nan})


def test_final_values():
    a = tf1.placeholder(tf.float32, [])
    hook = train.FinalOpsHook({"a": a + 1}, {a: 2.0})
    with train.MonitoredSession(hooks=[hook]):
        assert hook.final_ops_values is None
    assert hook.final_ops_values == {"a": 3.0}


def test_the_waiter_lets_a_step_pass(monkeypatch):
    step = train.create_global_step()
    update, naps = step.assign_add(5), []

    class Hook(train.GlobalStepWaiterHook):
        def before_run(self, run_context):
            session = run_context.session
            monkeypatch.setattr(
                "penstock.train.basic_session_run_hooks.time.sleep",
                lambda secs: naps.append(session.run(update)),
            )
            super().before_run(run_context)

    with train.MonitoredSession(hooks=[Hook(10)]) as session:
        assert session.run(step) == 10
        assert naps == [5, 10]
        session.run(update)


def test_checkpoints_and_listeners(tmp_path):
    calls = []

    class Listener(train.CheckpointSaverListener):
        def begin(self):
            calls.append("begin")

        def before_save(self, session, global_step_value):
            calls.append(("before", global_step_value))

        def after_save(self, session, global_step_value):
            calls.append(("after", global_step_value))
            return global_step_value == 4

        def end(self, session, global_step_value):
            calls.append(("end", global_step_value))

    update = train.create_global_step().assign_add(1)
    hook = train.CheckpointSaverHook(
        tmp_path, save_steps=2, saver=train.Saver(), listeners=[Listener()]
    )
    with train.MonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            last = session.run(update)
    assert last == 4
    saves = [(what, step) for step in (0, 2, 4) for what in ("before", "after")]
    assert calls == ["begin", *saves, ("end", 4)]
    names = set(os.listdir(tmp_path))
    assert {"graph.pbtxt", "checkpoint", "model.ckpt-2.meta", "model.ckpt-4.index"} <= names
    logs = [e for e in events(tmp_path) if e.WhichOneof("what") == "session_log"]
    assert [(e.step, e.session_log.status) for e in logs] == [(0, 3), (2, 3), (4, 3)]


def test_the_end_saves_what_is_not_saved(tmp_path):
    train.create_global_step()
    saver = train.Saver()
    hook = train.CheckpointSaverHook(tmp_path, save_steps=10, saver=saver, save_graph_def=False)
    run_steps([hook], 3)
    assert [os.path.basename(p) for p in saver.last_checkpoints] == ["model.ckpt-0", "model.ckpt-3"]
    assert not any(n.endswith((".meta", ".pbtxt")) for n in os.listdir(tmp_path))


def test_summaries_of_a_training_session(tmp_path, logged):
    step = train.create_global_step()
    update = step.assign_add(1)
    with tf.control_dependencies([update]):
        tf1.summary.scalar("s", tf.constant(2.0))
    with train.MonitoredTrainingSession(
        checkpoint_dir=tmp_path,
        hooks=[train.StopAtStepHook(num_steps=5)],
        save_summaries_steps=2,
        log_step_count_steps=2,
    ) as session:
        while not session.should_stop():
            session.run(update)
    found = events(tmp_path)
    tags = [(v.tag, e.step) for e in found for v in e.summary.value]
    assert [s for tag, s in tags if tag == "s"] == [1, 3, 5]
    assert [s for tag, s in tags if tag == "global_step/sec"] == [3, 5]
    assert any(m.startswith("global_step/sec: ") for m in logged())
    kinds = [e.WhichOneof("what") for e in found]
    assert kinds[0] == "file_version"
    assert {"graph_def", "meta_graph_def"} <= set(kinds)
    starts = [e.step for e in found if e.session_log.status == 1]
    assert starts == [1]


def test_none_switches_what_a_training_session_writes_off(tmp_path):
    run = train.create_global_step().assign_add(1)
    with train.MonitoredTrainingSession(
        checkpoint_dir=tmp_path,
        save_checkpoint_secs=None,
        save_summaries_steps=None,
        log_step_count_steps=None,
    ) as session:
        session.run(run)
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="both every_secs and every_steps"):
        train.MonitoredTrainingSession(
            checkpoint_dir=tmp_path, save_checkpoint_secs=1, save_checkpoint_steps=1
        )


def test_timelines_are_written(tmp_path):
    train.create_global_step()
    run_steps([train.ProfilerHook(save_steps=2, output_dir=tmp_path)], 6, tf.constant(1) + 1)
    names = [n for n in os.listdir(tmp_path) if n.startswith("timeline-")]
    assert sorted(names) == [f"timeline-{step}.json" for step in (2, 4, 6)]  # as in TensorFlow
    assert json.loads((tmp_path / names[0]).read_text())["traceEvents"]
    tagged = [e for e in events(tmp_path) if e.WhichOneof("what") == "tagged_run_metadata"]
    assert len(tagged) == len(names)


def test_programs_may_do_something_else_with_counted_steps():
    seen = []

    class Counter(train.StepCounterHook):
        def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
            seen.append((elapsed_steps, elapsed_time > 0, global_step))

    train.create_global_step()
    run_steps([Counter(every_n_steps=2)], 5, tf.constant(1) + 1)
    assert seen == [(2, True, 3), (2, True, 5)]


def every_hook(folder, loss):
    return [
        train.StopAtStepHook(last_step=4),
        train.CheckpointSaverHook(folder, save_steps=2),
        train.StepCounterHook(every_n_steps=2, output_dir=folder),
        train.SummarySaverHook(2, output_dir=folder, summary_op=tf1.summary.scalar("loss", loss)),
        train.ProfilerHook(2, output_dir=folder),
        train.LoggingTensorHook({"loss": loss}, every_n_iter=2),
        train.NanTensorHook(loss),
    ]


def test_hooks_do_not_race_with_the_update(tmp_path):
    checks = tf.debugging.experimental
    step = train.get_or_create_global_step()
    weights = tf1.get_variable("w", [3], initializer=tf1.ones_initializer())
    loss = tf.reduce_sum(tf.square(weights))
    update = train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    checks.set_race_checks("error")
    try:
        with train.MonitoredSession(hooks=every_hook(str(tmp_path), loss)) as session:
            while not session.should_stop():
                session.run(update)
        with (
            tf1.Session() as session,
            pytest.raises(tf.errors.InvalidArgumentError, match="race on 'global_step'"),
        ):
            session.run([step, update])  # a read of the program's own is still found
    finally:
        checks.set_race_checks(None)


def test_hooks_see_the_step_before_the_update():
    seen = []

    class Look(train.SessionRunHook):
        def before_run(self, run_context):
            (read,) = tf1.get_collection("global_step_read_op_cache")
            return train.SessionRunArgs(read)

        def after_run(self, run_context, run_values):
            seen.append(int(run_values.results))

    run_steps([train.StopAtStepHook(last_step=5), Look()], 5)
    assert seen == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("grows", [True, False])
def test_a_step_that_does_not_grow_is_warned_about(grows, logged):
    hook = train.StepCounterHook(every_n_steps=3)
    step = train.get_or_create_global_step()
    update = step.assign_add(1) if grows else tf.constant(1) + 1
    with train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(9):
            session.run(update)
    found = [text for text in logged() if "has not been increased" in text]
    assert len(found) == (0 if grows else 5)  # TensorFlow's number
    assert all("got 0 twice" in text for text in found)


def test_a_profiler_hook_needs_one_period():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="every_secs or every_steps"):
        tf.compat.v1.train.ProfilerHook()


def test_a_global_step_is_found_by_name_too():
    with tf.Graph().as_default():
        tf.compat.v1.get_variable("global_step", initializer=1)
        with pytest.raises(TypeError, match="does not have integer type"):
            tf.compat.v1.train.get_or_create_global_step()


def test_a_global_step_of_a_program_without_resource_variables():
    tf.compat.v1.disable_resource_variables()
    try:
        with tf.Graph().as_default():
            step = tf.compat.v1.Variable(1, name="global_step", trainable=False)
            assert tf.compat.v1.train.get_or_create_global_step() is step
    finally:
        tf.compat.v1.enable_resource_variables()


def test_monitored_sessions_want_a_graph():
    for make in (tf.compat.v1.train.MonitoredSession, tf.compat.v1.train.SingularMonitoredSession):
        with graph_scope(None), pytest.raises(RuntimeError, match="expected a graph"):
            make()
