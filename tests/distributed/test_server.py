"""Servers of one task: sessions with their target share its variables, queues and tables."""

import threading

import pytest

import penstock as tf

v1 = tf.compat.v1
LOCAL = tf.distribute.Server.create_local_server


@pytest.fixture(scope="module")
def server():
    return LOCAL()


def counting():
    """A graph with a variable, what makes it and what adds to it."""
    with tf.Graph().as_default() as graph:
        v = v1.get_variable("v", initializer=1.0)
        return graph, v, v.initializer, v1.assign_add(v, 1.0)


def test_sessions_with_one_target_share_variables_and_keep_them():
    graph, v, init, add = counting()
    target = LOCAL().target
    with v1.Session(target, graph=graph) as first, v1.Session(target, graph=graph) as second:
        first.run(init)
        first.run(add)
        assert second.run(v) == 2.0
        assert second.run(add) == 3.0
        assert first.run(v) == 3.0
        assert first.sess_str.decode() == target
    with v1.Session(target, graph=graph) as third:
        assert third.run(v) == 3.0
    config = v1.ConfigProto(isolate_session_state=True)
    for other in (v1.Session(graph=graph), v1.Session(target, graph, config)):
        with pytest.raises(tf.errors.FailedPreconditionError, match="variable v"):
            other.run(v)
    with pytest.raises(tf.errors.FailedPreconditionError):
        v1.Session(LOCAL().target, graph=graph).run(v)


def test_variables_are_found_by_name_from_other_graphs(server):
    graph, _, init, add = counting()
    with v1.Session(server.target, graph=graph) as session:
        session.run([init])
        session.run(add)
    graph, v, *_ = counting()
    with v1.Session(server.target, graph=graph) as session:
        assert session.run(v) == 2.0


def test_named_queues_are_shared_and_others_are_not(server):
    with tf.Graph().as_default() as graph:
        for shared in ("q", None):
            queue = v1.FIFOQueue(3, tf.float32, shared_name=shared)
            put, size = queue.enqueue(2.0), queue.size()
            with (
                v1.Session(server.target, graph=graph) as first,
                v1.Session(server.target, graph=graph) as second,
            ):
                first.run(put)
                assert first.run(size) == 1
                assert second.run(size) == (1 if shared else 0)


def test_reset_clears_containers_and_ends_the_sessions_of_the_target():
    server = LOCAL()
    with tf.Graph().as_default() as graph:
        v = v1.get_variable("v", initializer=1.0)
        with v1.container("kept"):
            w = v1.get_variable("w", initializer=2.0)
        init = v1.global_variables_initializer()
    session, apart = v1.Session(server.target, graph=graph), v1.Session(graph=graph)
    session.run(init)
    apart.run(init)
    v1.Session.reset(server.target, ["localhost"])
    with pytest.raises(tf.errors.AbortedError, match="is not found"):
        session.run(v)
    session.close()
    assert apart.run(v) == 1.0
    session = v1.Session(server.target, graph=graph)
    assert session.run(w) == 2.0
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(v)
    v1.Session.reset(server.target)
    with v1.Session(server.target, graph=graph) as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(w)
        assert apart.run(w) == 2.0


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_what_waits_is_cancelled(server, ending):
    with tf.Graph().as_default() as graph:
        take = v1.FIFOQueue(3, tf.float32, shared_name=f"empty_{ending}").dequeue()
    session = v1.Session(server.target, graph=graph)
    found = []

    def wait():
        with pytest.raises(tf.errors.CancelledError) as problem:
            session.run(take)
        found.append(problem.value)

    thread = threading.Thread(target=wait)
    thread.start()
    while not session._direct._steps:
        pass
    if ending == "close":
        session.close()
    else:
        v1.Session.reset(server.target)
    thread.join(30)
    assert found


def test_operations_are_placed_on_the_task():
    server = tf.distribute.Server({"worker": ["localhost:0"]})
    place = "/job:worker/replica:0/task:0/device:CPU:0"
    with tf.Graph().as_default() as graph:
        with tf.device("/job:worker/task:0"):
            x = v1.placeholder(tf.float32, [])

            @tf.function
            def double(x):
                with tf.device("/job:worker/task:0/cpu:0"):
                    return tf.cond(x > 1, lambda: x * 2, lambda: x)

            y = double(x)
        with v1.Session(server.target) as session:
            assert session.run(y, {x: 3.0}) == 6.0
            assert [d.name for d in session.list_devices()] == [place]
            metadata = v1.RunMetadata()
            options = v1.RunOptions(trace_level=3)
            session.run(y + 1, {x: 3.0}, options, metadata)
            assert [d.device for d in metadata.step_stats.dev_stats] == [place]
        with (
            v1.Session(LOCAL().target, graph=graph) as session,
            pytest.raises(tf.errors.InvalidArgumentError, match="available devices are"),
        ):
            session.run(y, {x: 3.0})


def test_the_definition():
    config = v1.ConfigProto(device_count={"CPU": 2})
    server = tf.distribute.Server({"a": {2: "localhost:0"}}, config=config)
    described = server.server_def
    assert (described.job_name, described.task_index, described.protocol) == ("a", 2, "grpc")
    assert described.cluster.job[0].tasks[2] == "localhost:0"
    assert described.default_session_config == config
    assert server.target.startswith("grpc://localhost:")
    with v1.Session(server.target, graph=tf.Graph()) as session:
        assert len(session.list_devices()) == 2
    described.port = 0
    again = tf.distribute.Server(described)
    assert again.target != server.target
    assert v1.train.Server is tf.distribute.Server
    assert LOCAL().server_def.job_name == "localhost"


@pytest.mark.parametrize(
    ("given", "settings", "kind", "text"),
    [
        (3, {}, TypeError, "ClusterSpec"),
        ({"a": ["localhost:0"]}, {"job_name": "b"}, ValueError, "'b'"),
        ({"a": ["x:0"], "b": ["x:0"]}, {}, ValueError, "explicit `job_name`"),
        ({"a": ["x:0", "y:0"]}, {}, ValueError, "explicit `task_index`"),
        ({"a": ["x:0"]}, {"task_index": 3}, tf.errors.InternalError, "Task 3"),
        ({"a": ["x:0"]}, {"protocol": "b"}, tf.errors.NotFoundError, "factory registered"),
        ({"a": ["x"]}, {}, tf.errors.InvalidArgumentError, 'from "x"'),
        ({"a": ["x:" + "9" * 5000]}, {}, tf.errors.InvalidArgumentError, 'from "x:9999'),
        ({"a": ["x:70000"]}, {}, tf.errors.UnknownError, "free port, got x:70000"),
        ({"a": ["x:0"]}, {"config": 3}, TypeError, "ConfigProto"),
        (
            {"a": ["x:0", "y:0"]},
            {"task_index": 1},
            tf.errors.UnimplementedError,
            "1 more than task 1 of job 'a'",
        ),
    ],
)
def test_what_cannot_be_is_refused(given, settings, kind, text):
    with pytest.raises(kind, match=text):
        tf.distribute.Server(given, **settings)


@pytest.mark.parametrize("port", [70000, -1])
def test_a_port_that_cannot_be_is_refused(port):
    described = LOCAL(start=False).server_def
    described.port = port
    with pytest.raises(tf.errors.UnknownError, match=f"free port, got localhost:{port}"):
        tf.distribute.Server(described)


def test_a_taken_port_is_refused(server):
    address = server.target.removeprefix("grpc://")
    with pytest.raises(tf.errors.UnknownError, match="Could not start"):
        tf.distribute.Server({"a": [address]})


def test_starting_and_joining():
    server = LOCAL(start=False)
    with pytest.raises(tf.errors.UnimplementedError, match="runs in this process"):
        v1.Session(server.target, graph=tf.Graph())
    server.start()
    server.start()
    v1.Session(server.target, graph=tf.Graph()).close()
    thread = threading.Thread(target=server.join, daemon=True)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    server = LOCAL(start=False)
    server.join()
    with pytest.raises(tf.errors.FailedPreconditionError, match="has stopped"):
        server.start()


def test_targets_of_nothing_are_refused(server):
    for call in (v1.Session, v1.Session.reset):
        with pytest.raises(tf.errors.UnimplementedError, match=server.target):
            call("grpc://elsewhere:2222")
        with pytest.raises(tf.errors.NotFoundError, match="'foo'"):
            call("foo")


def test_monitored_sessions_go_on_where_the_last_one_was():
    server = LOCAL()
    with tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        add = v1.assign_add(step, 1)
        hooks = [v1.train.StopAtStepHook(last_step=3)]
        with v1.train.MonitoredTrainingSession(server.target, hooks=hooks) as session:
            while not session.should_stop():
                session.run(add)
        with v1.train.MonitoredTrainingSession(server.target, is_chief=False) as session:
            assert session.run(step) == 3
    with tf.Graph().as_default():
        v1.train.get_or_create_global_step()
        v = v1.get_variable("v", initializer=5.0)
        supervisor = v1.train.Supervisor(logdir=None)
        with supervisor.managed_session(server.target) as session:
            assert session.run(v) == 5.0
