"""Synchronous replicas: gradients of several steps make one update, in one process."""

import threading

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def model(aggregate, total=None, rate=0.5, **options):
    """A variable v whose gradient is fed, and the optimizer's step."""
    step = v1.train.create_global_step()
    v = v1.get_variable("v", initializer=[8.0, 8.0])
    factor = v1.placeholder_with_default(1.0, [])
    inner = v1.train.MomentumOptimizer(rate, 0.0)
    optimizer = v1.train.SyncReplicasOptimizer(inner, aggregate, total, **options)
    train = optimizer.minimize(tf.reduce_sum(v) * factor, global_step=step)
    return v, step, factor, optimizer, train


def session_of(optimizer, tokens):
    hook = optimizer.make_session_run_hook(is_chief=True, num_tokens=tokens)
    # The chief's thread waits for gradients that do not come, until its session is closed.
    return v1.train.MonitoredTrainingSession(hooks=[hook], stop_grace_period_secs=0)


def test_an_update_takes_the_mean_of_several_gradients():
    with tf.Graph().as_default():
        v, step, factor, optimizer, train = model(2, total=1)
        with session_of(optimizer, tokens=1) as session:
            session.run(train, {factor: 2.0})  # the first token is there already
            session.run(train, {factor: 4.0})  # waits for the update: 0.5 * (2 + 4) / 2
            assert session.run([v, step])[0].tolist() == [6.5, 6.5]
            assert session.run(step) == 1
            session.run(train, {factor: 1.0})  # the update gave two tokens
            session.run(train, {factor: 1.0})
            assert session.run(v).tolist() == [6.0, 6.0]


def test_replicas_wait_for_each_other():
    with tf.Graph().as_default():
        v, step, factor, optimizer, train = model(3)
        with session_of(optimizer, tokens=0) as session:
            threads = [
                threading.Thread(target=session.run, args=(train, {factor: float(i)}))
                for i in range(3)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert session.run(v).tolist() == [7.5, 7.5]
            assert session.run(step) == 1


def test_sparse_gradients_and_averages():
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        rows = v1.get_variable("rows", initializer=[[1.0], [2.0], [3.0]])
        unused = v1.get_variable("unused", initializer=0.0)
        averages = v1.train.ExponentialMovingAverage(0.5)
        optimizer = v1.train.SyncReplicasOptimizer(
            v1.train.GradientDescentOptimizer(1.0), 1, variable_averages=averages,
            variables_to_average=[rows],
        )  # fmt: skip
        loss = tf.reduce_sum(tf.gather(rows, [0, 2, 2]))
        pairs = optimizer.compute_gradients(loss, [rows, unused])
        assert pairs[1][0] is None
        train = optimizer.apply_gradients(pairs, global_step=step)
        with session_of(optimizer, tokens=0) as session:
            session.run(train)
            assert session.run(rows).tolist() == [[0.0], [2.0], [1.0]]
        assert averages.average(rows) is not None
        assert optimizer.get_chief_queue_runner().enqueue_ops[0].name == "ExponentialMovingAverage"


def test_names_in_the_graph():
    with tf.Graph().as_default() as graph:
        v, _, _, optimizer, train = model(2, total=3)
        assert train.op.name == "AssignVariableOp_1"
        assert optimizer.chief_init_op.name == "sync_replicas/group_deps"
        assert optimizer.local_step_init_op.op.name == "AssignVariableOp"
        assert graph.get_operation_by_name("sync_token_q").type == "FIFOQueueV2"
        added = graph.get_operation_by_name("sync_replicas/conditional_accumulator")
        assert added.get_attr("shared_name") == b"v:0/grad_accum"
        (local,) = v1.local_variables()
        assert local.name == "sync_rep_local_step:0"
        assert optimizer.get_slot(v, "momentum").name == "v/Momentum:0"
        assert optimizer.get_slot_names() == ["momentum"]
        assert [s.name for s in optimizer.variables()] == ["v/Momentum:0"]
        assert optimizer.get_init_tokens_op().name == "sync_token_q_EnqueueMany_1"
        assert optimizer.get_init_tokens_op(0).name == "no_init_tokens"
        tokens = graph.get_operation_by_name("sync_token_q_EnqueueMany").inputs[1]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            given = session.run(graph.get_operation_by_name("Fill_1").outputs[0])
        np.testing.assert_array_equal(given, [0, 0])
        assert tokens.op.inputs[0].op.get_attr("value").int_val[:] == [3]


def test_what_is_refused():
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        v = v1.get_variable("v", initializer=1.0)
        optimizer = v1.train.SyncReplicasOptimizer(v1.train.GradientDescentOptimizer(1.0), 4, 2)
        with pytest.raises(ValueError, match="called after apply_gradients"):
            optimizer.get_chief_queue_runner()
        with pytest.raises(ValueError, match="called after apply_gradients"):
            optimizer.get_init_tokens_op()
        with pytest.raises(ValueError, match="before using the hook"):
            optimizer.make_session_run_hook(True).begin()
        pairs = optimizer.compute_gradients(v * v)
        with pytest.raises(ValueError, match="Global step is required"):
            optimizer.apply_gradients(pairs)
        with pytest.raises(ValueError, match="at least one variable"):
            optimizer.apply_gradients([], global_step=step)
        optimizer.apply_gradients(pairs, global_step=step)
        with pytest.raises(ValueError, match=r"Too few tokens .* 1 \(given\) vs 2 \(needed\)"):
            optimizer.get_init_tokens_op(1)


def test_a_replica_that_is_no_chief_waits_for_variables():
    with tf.Graph().as_default():
        *_, optimizer, _ = model(1)
        hook = optimizer.make_session_run_hook(is_chief=False)
        hook.begin()
        with v1.Session() as session:
            with pytest.raises(RuntimeError, match=r"AssignVariableOp, error: .*global_step"):
                hook.after_create_session(session, None)
            session.run(v1.global_variables_initializer())
            session.run(v1.local_variables_initializer())
            hook.after_create_session(session, None)


def worker(number, count, target, found, ready):
    """One of several replicas that train together for four steps."""
    with tf.Graph().as_default():
        x = v1.get_variable("x", initializer=[1.0, 2.0])
        rows = v1.get_variable("rows", [5, 2], initializer=v1.ones_initializer())
        step = v1.train.get_or_create_global_step()
        loss = tf.reduce_sum(x * x) * (number + 1) + tf.reduce_sum(tf.gather(rows, [number, 3]))
        inner = v1.train.GradientDescentOptimizer(0.01)
        optimizer = v1.train.SyncReplicasOptimizer(inner, count, count)
        update = optimizer.minimize(loss, global_step=step)
        hooks = [
            optimizer.make_session_run_hook(number == 0, num_tokens=0),
            v1.train.StopAtStepHook(last_step=4),
        ]
        with v1.train.MonitoredTrainingSession(
            target, number == 0, hooks=hooks, stop_grace_period_secs=0.1
        ) as session:
            ready.set()
            steps = 0
            while not session.should_stop():
                session.run(update)
                steps += 1
        found[number] = steps


@pytest.mark.parametrize("count", [1, 2, 3])
def test_replicas_that_share_a_server(count):
    """Variables take the means of all replicas' gradients, step by step."""
    server, found, ready = tf.distribute.Server.create_local_server(), {}, threading.Event()
    threads = []
    for number in range(count):
        given = (number, count, server.target, found, ready)
        threads.append(threading.Thread(target=worker, args=given, daemon=True))
        threads[-1].start()
        assert ready.wait(60)  # others look every half minute whether the chief is ready
    for thread in threads:
        thread.join(60)
    assert found == dict.fromkeys(range(count), 4)
    shrunk = (1 - 0.01 * 2 * np.mean(np.arange(count) + 1)) ** 4
    with tf.Graph().as_default(), v1.Session(server.target) as session:
        x = v1.get_variable("x", [2])
        rows = v1.get_variable("rows", [5, 2])
        values = session.run([x, rows])
    np.testing.assert_allclose(values[0], shrunk * np.array([1, 2]), rtol=1e-5)
    np.testing.assert_allclose(values[1][3], 0.96, rtol=1e-5)  # every replica has it
    np.testing.assert_allclose(values[1][4], 1.0)
