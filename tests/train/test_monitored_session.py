"""Monitored sessions: their life, their end, and what they survive."""

import threading
import types

import numpy as np
import pytest

import penstock as tf

tf1 = tf.compat.v1
train = tf1.train


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


class Recorder(train.SessionRunHook):
    def __init__(self, calls, name="", fetch=None):
        self.calls, self.name, self.fetch = calls, name, fetch

    def begin(self):
        self.calls.append(f"{self.name}begin")

    def after_create_session(self, session, coord):
        self.coord = coord
        self.calls.append(f"{self.name}created")

    def before_run(self, run_context):
        self.calls.append(f"{self.name}before")
        return None if self.fetch is None else train.SessionRunArgs(self.fetch)

    def after_run(self, run_context, run_values):
        self.calls.append(f"{self.name}after {run_values.results}")

    def end(self, session):
        self.calls.append(f"{self.name}end")


class FailOnce(train.SessionRunHook):
    def __init__(self, error, at):
        self.error, self.left = error, at

    def after_run(self, run_context, run_values):
        self.left -= 1
        if self.left == 0:
            raise self.error


def lost(kind=tf.errors.AbortedError):
    return kind(None, None, "the machine is gone")


def test_hooks_are_called_in_order(graph):
    calls = []
    a = tf.constant(1)
    hooks = [Recorder(calls, "a "), Recorder(calls, "b ", {"x": a})]
    with train.MonitoredSession(hooks=hooks) as session:
        assert graph.finalized
        assert session.graph is graph
        assert session.run(a) == 1
    assert session.graph is None
    assert not graph.finalized
    assert calls[:6] == ["a begin", "b begin", "a created", "b created", "a before", "b before"]
    assert calls[6:] == ["a after None", f"b after {{'x': {np.int32(1)!r}}}", "a end", "b end"]


def test_a_graph_that_was_final_stays_final(graph):
    train.Scaffold().finalize()
    with train.MonitoredSession(train.ChiefSessionCreator()):
        pass
    assert graph.finalized


def test_variables_tables_and_local_variables_have_values():
    v = tf1.get_variable("v", initializer=2.0)
    local = tf1.get_variable("l", initializer=3.0, collections=[tf1.GraphKeys.LOCAL_VARIABLES])
    with train.MonitoredSession() as session:
        assert session.run([v, local]) == [2.0, 3.0]


@pytest.mark.parametrize("error", [StopIteration(), tf.errors.OutOfRangeError(None, None, "x")])
def test_the_end_of_data_ends_the_session_well(error):
    calls = []
    with train.MonitoredSession(hooks=[Recorder(calls)]):
        raise error
    assert calls[-1] == "end"


@pytest.mark.parametrize("error", [ValueError("x"), lost()])
def test_another_error_goes_through_and_hooks_do_not_end(error):
    calls = []
    with pytest.raises(type(error)), train.MonitoredSession(hooks=[Recorder(calls)]):
        raise error
    assert "end" not in calls


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_training_goes_on_from_the_checkpoint(tmp_path, kind):
    step = train.create_global_step()
    weight = tf1.get_variable("w", initializer=0.0)
    update = [step.assign_add(1), weight.assign_add(10.0)]
    calls, seen = [], []
    hooks = [Recorder(calls), FailOnce(lost(kind), 4), train.StopAtStepHook(last_step=6)]
    with train.MonitoredTrainingSession(
        checkpoint_dir=tmp_path, hooks=hooks, save_checkpoint_steps=2
    ) as session:
        while not session.should_stop():
            seen.append(tuple(session.run(update)))
    # Step 4 was saved before the hook failed; its run is repeated as step 5.
    assert seen == [(1, 10.0), (2, 20.0), (3, 30.0), (5, 50.0), (6, 60.0)]
    assert calls.count("begin") == 1
    assert calls.count("created") == 2
    assert train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-6")


def test_a_second_program_goes_on_where_the_first_ended(tmp_path):
    for expected in (3, 6):
        with tf.Graph().as_default():
            update = train.create_global_step().assign_add(1)
            with train.MonitoredTrainingSession(
                checkpoint_dir=tmp_path, hooks=[train.StopAtStepHook(num_steps=3)]
            ) as session:
                while not session.should_stop():
                    last = session.run(update)
        assert last == expected


def test_other_errors_and_singular_sessions_do_not_recover():
    a = tf.constant(1)
    problem = tf.errors.InternalError(None, None, "x")
    with (
        pytest.raises(tf.errors.InternalError),
        train.MonitoredSession(hooks=[FailOnce(problem, 1)]) as session,
    ):
        session.run(a)
    with (
        pytest.raises(tf.errors.AbortedError),
        train.SingularMonitoredSession(hooks=[FailOnce(lost(), 1)]) as session,
    ):
        session.run(a)


def test_making_a_session_is_tried_again():
    class Creator(train.SessionCreator):
        tries = 0

        def create_session(self):
            self.tries += 1
            if self.tries < 3:
                raise lost(tf.errors.UnavailableError)
            return tf1.Session()

    creator, a = Creator(), tf.constant(1)
    with train.MonitoredSession(creator) as session:
        assert session.run(a) == 1
    assert creator.tries == 3


def test_an_error_of_a_thread_is_raised_by_should_stop_and_a_loss_is_survived():
    a, calls = tf.constant(1), []
    recorder = Recorder(calls)
    session = train.MonitoredSession(hooks=[recorder])
    recorder.coord.request_stop(lost())
    assert not session.should_stop()
    assert calls.count("created") == 2
    recorder.coord.request_stop(ValueError("mine"))
    assert session.run(a) == 1
    with pytest.raises(ValueError, match="mine"):
        session.should_stop()
    with pytest.raises(ValueError, match="mine"):
        session.close()


def test_queue_runners_feed_the_loop_and_their_end_ends_it():
    before = threading.active_count()
    queue = train.input_producer(tf.constant([1, 2, 3]), num_epochs=1, shuffle=False)
    item, seen = queue.dequeue(), []
    with train.MonitoredSession() as session:
        while not session.should_stop():
            seen.append(int(session.run(item)))
    assert seen == [1, 2, 3]
    assert threading.active_count() == before


def test_run_after_stop_and_after_close():
    a = tf.constant(1)

    class Stop(train.SessionRunHook):
        def after_run(self, run_context, run_values):
            run_context.request_stop()

    session = train.MonitoredSession(hooks=[Stop()])
    session.run(a)
    assert session.should_stop()
    with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
        session.run(a)
    session.close()
    assert session.should_stop()
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.close()
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.run(a)


def test_one_tensor_is_fed_once():
    a = tf1.placeholder(tf.float32, [], name="p")
    b = a + 1
    feed = train.FeedFnHook(lambda: {a: 1.0})
    with train.MonitoredSession(hooks=[feed]) as session:
        assert session.run(b) == 2.0
        with pytest.raises(RuntimeError, match=r"fed by a SessionRunHook and user.*p:0"):
            session.run(b, {a: 2.0})
    with (
        train.MonitoredSession(hooks=[feed, feed]) as session,
        pytest.raises(RuntimeError, match=r"fed by two hooks.*p:0"),
    ):
        session.run(b)


def test_a_hook_that_returns_something_else_is_named():
    a = tf.constant(1)

    class Bad(train.SessionRunHook):
        def before_run(self, run_context):
            return a

    with (
        train.MonitoredSession(hooks=[Bad()]) as session,
        pytest.raises(TypeError, match=r"Bad.before_run: expected a SessionRunArgs"),
    ):
        session.run(a)


def test_options_of_hooks_and_caller_are_joined():
    a, seen = tf1.get_variable("v", initializer=1) + 1, []
    full = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)

    class Tracing(train.SessionRunHook):
        def before_run(self, run_context):
            return train.SessionRunArgs(None, options=full)

        def after_run(self, run_context, run_values):
            seen.append(run_values)

    metadata = tf1.RunMetadata()
    with train.MonitoredSession(hooks=[Tracing()]) as session:
        session.run(a, options=tf1.RunOptions(timeout_in_ms=9000), run_metadata=metadata)
    assert seen[0].options.timeout_in_ms == 9000
    assert seen[0].options.trace_level == tf1.RunOptions.FULL_TRACE
    assert metadata.step_stats.dev_stats
    assert seen[0].run_metadata is metadata


def test_step_functions_run_with_hooks_and_without():
    a, calls = tf.constant(1), []

    def step_fn(step_context):
        step_context.session.run(a)
        return step_context.run_with_hooks(a) + 4

    def stop(step_context):
        step_context.request_stop()

    with train.MonitoredSession(hooks=[Recorder(calls)]) as session:
        assert session.run_step_fn(step_fn) == 5
        assert calls.count("before") == 1
        with pytest.raises(ValueError, match=r"Got \('other',\) instead"):
            session.run_step_fn(lambda other: other)
        with pytest.raises(TypeError, match="got 3"):
            session.run_step_fn(3)
        session.run_step_fn(stop)
    assert calls[-1] == "end"


def test_what_the_manager_misses_is_named():
    tf1.get_variable("v", shape=[])
    nothing = tf.no_op()
    scaffold = train.Scaffold(init_op=nothing)
    with pytest.raises(RuntimeError, match=r"ready for local_init.*Variables not initialized: v"):
        train.MonitoredSession(train.ChiefSessionCreator(scaffold))


def test_managers_prepare_recover_and_wait(tmp_path):
    v = tf1.get_variable("v", initializer=1.0)
    init, add = tf1.global_variables_initializer(), v.assign_add(1.0)
    saver, ready = train.Saver(), tf1.report_uninitialized_variables()
    manager = train.SessionManager(ready_op=ready, recovery_wait_secs=0.01)
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        manager.prepare_session("")
    folder = str(tmp_path)
    assert manager.recover_session("", saver, folder)[1] is False
    session = manager.prepare_session("", init, saver, folder)
    session.run(add)
    path = saver.save(session, f"{folder}/m")
    restored, ready_now = manager.recover_session("", saver, folder)
    assert ready_now
    assert restored.run(v) == 2.0
    assert manager.recover_session("", saver, None, path)[0].run(v) == 2.0
    with pytest.raises(ValueError, match="both checkpoint_dir and checkpoint_filename_with_path"):
        manager.recover_session("", saver, folder, path)
    with pytest.raises(tf.errors.DeadlineExceededError, match="not ready after waiting 0 secs"):
        manager.wait_for_session("", max_wait_secs=0)
    with pytest.raises(ValueError, match="must also pass a local_init_op"):
        train.SessionManager(ready_for_local_init_op=ready)


def test_scaffolds_keep_what_they_are_given_and_make_the_rest():
    v = tf1.get_variable("v", initializer=1.0)
    p = tf1.placeholder(tf.float32, [])
    seen = []
    first = train.Scaffold(
        init_op=v.assign(p), init_feed_dict={p: 7.0}, init_fn=lambda s, session: seen.append(s)
    )
    scaffold = train.Scaffold(copy_from_scaffold=first)
    with train.MonitoredSession(train.ChiefSessionCreator(scaffold)) as session:
        assert session.run(v) == 7.0
    assert seen == [scaffold]
    assert scaffold.saver is tf1.get_collection(tf1.GraphKeys.SAVERS)[0]
    assert scaffold.summary_op is None
    assert tf1.get_collection(tf1.GraphKeys.READY_OP) == [scaffold.ready_op]
    assert scaffold.ready_op.name == "concat:0"
    assert scaffold.ready_for_local_init_op.name == "concat_1:0"
    with pytest.raises(TypeError, match="copy_from_scaffold is not a Scaffold instance"):
        train.Scaffold(copy_from_scaffold=3)


def test_two_elements_of_a_scaffolds_collection_are_an_error():
    for name in "ab":
        tf1.add_to_collection(tf1.GraphKeys.SUMMARY_OP, name)
    with pytest.raises(RuntimeError, match='More than one item in the collection "summary_op"'):
        train.Scaffold().finalize()


def test_a_creator_says_how():
    with pytest.raises(TypeError, match="create_session"):
        train.SessionCreator()


def test_workers_wait_for_the_chief_and_say_for_what():
    tf1.get_variable("v", initializer=1.0)
    with pytest.raises(tf.errors.DeadlineExceededError, match="Variables not initialized: v"):
        train.MonitoredTrainingSession(is_chief=False, max_wait_secs=0)


def test_the_error_of_a_queue_runner_is_the_error_of_the_loop():
    zero = tf1.placeholder_with_default(0, [])
    queue = tf1.FIFOQueue(2, tf.int32)
    train.add_queue_runner(train.QueueRunner(queue, [queue.enqueue(1 // zero)]))
    item = queue.dequeue()
    session = train.MonitoredSession()
    with pytest.raises((tf.errors.OutOfRangeError, tf.errors.CancelledError)):
        session.run(item)
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        session.close()
    assert session.should_stop()


@pytest.mark.parametrize("key", ["RESOURCES", "LOCAL_RESOURCES"])
def test_listed_resources_are_made_ready(key):
    """What the operations give is what TensorFlow 2.21 gives."""
    table = tf.raw_ops.MutableHashTableV2(
        key_dtype=tf.int64, value_dtype=tf.int64, shared_name="table"
    )
    flag = tf1.get_variable("flag", initializer=False, collections=[])
    resource = types.SimpleNamespace(
        handle=table, create=flag.assign(True).op, is_initialized=flag.read_value()
    )
    tf1.add_to_collection(getattr(tf1.GraphKeys, key), resource)
    scaffold = train.Scaffold().finalize()
    shared = key == "RESOURCES"
    with tf1.Session() as session:
        session.run(flag.initializer)
        assert session.run(scaffold.ready_op).tolist() == [table.name.encode()]
        expected = [table.name.encode()] if shared else []
        assert session.run(scaffold.ready_for_local_init_op).tolist() == expected
        session.run(scaffold.init_op)
        assert session.run(scaffold.ready_op).size == (0 if shared else 1)
        session.run(scaffold.local_init_op)
        assert session.run(scaffold.ready_op).size == 0
