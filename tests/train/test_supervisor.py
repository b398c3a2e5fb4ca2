"""The supervisor: its session, its threads, its end."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import penstock as tf

tf1 = tf.compat.v1
train = tf1.train


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def statuses(folder):
    return [
        e.session_log.status
        for name in os.listdir(folder)
        if "tfevents" in name
        for e in train.summary_iterator(f"{folder}/{name}")
        if e.WhichOneof("what") == "session_log"
    ]


def test_a_managed_session_saves_and_the_next_restores(tmp_path, graph):
    step = train.create_global_step()
    update = step.assign_add(1)
    supervisor = train.Supervisor(logdir=tmp_path, save_model_secs=0, save_summaries_secs=0)
    assert graph.finalized
    with supervisor.managed_session() as session:
        assert session.run(update) == 1
        supervisor.saver.save(session, supervisor.save_path, global_step=step)
    assert supervisor.should_stop()
    with supervisor.managed_session() as session:
        assert session.run(step) == 1
    assert {"graph.pbtxt", "checkpoint", "model.ckpt-1.index"} <= set(os.listdir(tmp_path))
    assert statuses(tmp_path) == [1, 2, 1, 2]


def test_the_standard_services_write_checkpoints_summaries_and_speed(tmp_path):
    train.create_global_step()
    tf1.summary.scalar("s", tf.constant(2.0))
    supervisor = train.Supervisor(logdir=tmp_path)
    session = supervisor.prepare_or_wait_for_session(start_standard_services=False)
    threads = supervisor.start_standard_services(session)
    assert len(threads) == 3
    for thread in threads:
        assert thread.daemon
    supervisor.stop(threads)
    assert not any(thread.is_alive() for thread in threads)
    session.close()
    with pytest.raises(RuntimeError, match="Session"):
        session.run(supervisor.global_step)


def test_what_the_services_write(tmp_path):
    step = train.create_global_step()
    tf1.summary.scalar("s", tf.constant(2.0))
    supervisor = train.Supervisor(logdir=tmp_path)
    with supervisor.managed_session(start_standard_services=False) as session:
        supervisor._summarize(session)
        supervisor._save(session)
        assert session.run(step) == 0
    name = next(n for n in os.listdir(tmp_path) if "tfevents" in n)
    tags = [v.tag for e in train.summary_iterator(f"{tmp_path}/{name}") for v in e.summary.value]
    assert tags == ["s"]
    assert "model.ckpt-0.index" in os.listdir(tmp_path)
    assert statuses(tmp_path) == [3, 2]


def test_errors_go_through_and_the_end_of_data_does_not():
    train.create_global_step()
    supervisor = train.Supervisor()
    with pytest.raises(ValueError, match="mine"), supervisor.managed_session():
        raise ValueError("mine")
    with supervisor.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "the end")


def test_the_training_loop_ends_at_the_stop():
    update = train.create_global_step().assign_add(1)
    supervisor, seen = train.Supervisor(), []

    def step(session, *args, **kwargs):
        seen.append((int(session.run(update)), args, kwargs))
        if len(seen) == 3:
            supervisor.request_stop()

    train.basic_train_loop(supervisor, step, args=(1,), kwargs={"z": 2})
    assert seen == [(i, (1,), {"z": 2}) for i in (1, 2, 3)]


def test_what_only_the_chief_may_do():
    supervisor = train.Supervisor(is_chief=False, logdir="unused")
    assert supervisor.save_path is supervisor.summary_writer is supervisor.saver is None
    with pytest.raises(RuntimeError, match="Only chief supervisor can start standard services"):
        supervisor.start_standard_services(None)
    with pytest.raises(RuntimeError, match="Writing a summary requires a summary writer"):
        supervisor.summary_computed(None, b"")


def test_eager_execution_is_refused():
    with ThreadPoolExecutor(1) as pool:  # a new thread has no graph
        result = pool.submit(train.Supervisor)
    with pytest.raises(RuntimeError, match="incompatible with eager execution"):
        result.result()
