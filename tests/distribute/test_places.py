"""Where the program is: in graphs, functions, threads and `tf.init_scope`."""

import pickle
import subprocess
import sys
import threading

import pytest

import penstock as tf

D = tf.distribute
STRATEGY = D.get_strategy()
SUM, MEAN = D.ReduceOp.SUM, D.ReduceOp.MEAN


class Extended(tf.compat.v1.distribute.StrategyExtended):
    """Runs replicas one after the other: there is one."""

    _num_replicas_in_sync = 4

    def _create_variable(self, next_creator, **kwargs):
        return next_creator(**kwargs)

    def _call_for_each_replica(self, fn, args, kwargs):
        with D.ReplicaContext(self._container_strategy(), 0):
            return fn(*args, **kwargs)


class Own(D.Strategy):
    """A strategy of the program's own."""

    def __init__(self):
        super().__init__(Extended(self))


def place():
    """Where the program is."""
    replica = D.get_replica_context()
    return ("none" if replica is None else type(replica).__name__, D.in_cross_replica_context())


def in_thread(function):
    """What a function returns, or the error that it raises, in another thread."""
    results = []

    def run():
        try:
            results.append(function())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.parametrize(
    "first",
    [
        "import penstock.distribute",
        "from penstock.distribute.values import ReduceOp",
        f"import pickle; pickle.loads({pickle.dumps(D.ReduceOp.SUM)!r})",
    ],
)
def test_names_are_there_whatever_is_imported_first(first):
    code = f"""
import penstock as tf
{first}
print(tf.distribute.Server.__name__, tf.distribute.get_strategy.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Server", "get_strategy"]


def test_functions_are_traced_where_they_are_called():
    seen = []

    @tf.function
    def f(x):
        seen.append(place())
        return x, D.in_cross_replica_context(), D.get_replica_context() is None

    one = tf.constant(1)
    across = D.get_replica_context().merge_call
    for _ in range(2):
        assert [bool(v) for v in f(one)[1:]] == [False, False]
        assert [bool(v) for v in STRATEGY.run(f, (one,))[1:]] == [False, False]
        assert [bool(v) for v in across(lambda s: f(one))[1:]] == [True, True]
    assert seen == [("DefaultReplicaContext", False), ("none", True)]
    assert f.experimental_get_tracing_count() == 2
    assert f.experimental_get_retrace_report() == ()
    assert across(lambda s: f.get_concrete_function(one)) is not f.get_concrete_function(one)


def test_functions_are_traced_across_replicas_first():
    across = D.get_replica_context().merge_call
    f = tf.function(lambda: tf.constant(D.get_replica_context() is None))
    assert [bool(across(lambda s: f())), bool(f())] == [True, False]
    signed = tf.function(
        lambda x: tf.constant(D.in_cross_replica_context()), input_signature=[tf.TensorSpec(None)]
    )
    assert [bool(signed(1.0)), bool(across(lambda s: signed(1.0)))] == [False, True]
    outer = tf.function(lambda: (f(), D.get_replica_context().merge_call(lambda s: f())))
    assert [bool(v) for v in outer()] == [False, True]
    within = tf.function(lambda: STRATEGY.run(lambda: tf.constant(1)))
    assert int(across(lambda s: within())) == 1
    with pytest.raises(RuntimeError, match="cross-replica"):
        STRATEGY.run(within)


def test_functions_are_traced_for_each_strategy():
    f = tf.function(lambda x: x * D.get_strategy().num_replicas_in_sync)
    x, own = tf.constant(2.0), Own()
    assert float(f(x)) == 2.0
    with own.scope():
        assert float(f(x)) == 8.0
    with Own().scope():
        assert float(f(x)) == 8.0
    assert f.experimental_get_tracing_count() == 3
    where = tf.function(lambda: tf.constant(D.in_cross_replica_context()))
    with own.scope():
        assert bool(where())
    assert not bool(own.run(where))
    with tf.Graph().as_default() as graph, own.scope():
        with tf.Graph().as_default():
            assert place() == ("DefaultReplicaContext", False)
            outside = where()
        inside = where()
        with tf.compat.v1.Session(graph=graph) as session:
            assert session.run(inside)
    with tf.compat.v1.Session(graph=outside.graph) as session:
        assert not session.run(outside)


def test_other_threads_are_elsewhere():
    default = ("DefaultReplicaContext", False)
    assert STRATEGY.run(lambda: in_thread(place)) == default
    graph = tf.Graph()

    def in_graph():
        with graph.as_default():
            return place(), STRATEGY.run(lambda: 1)

    with graph.as_default():
        assert STRATEGY.run(place) == ("ReplicaContext", False)
        assert STRATEGY.run(lambda: in_thread(in_graph)) == (default, 1)
        assert place() == default
    f = tf.function(lambda: tf.constant(D.in_cross_replica_context()))
    with Own().scope():
        assert not bool(in_thread(f))
        assert bool(f())


def test_init_scope_goes_on_in_the_replica():
    seen = []

    @tf.function
    def f():
        def step():
            replica = D.get_replica_context()
            with tf.init_scope():
                seen.append(place())
                seen.append(replica.merge_call(lambda s: place()))
            return 1

        def merged(strategy):
            with tf.init_scope():
                seen.append(place())
            return 1

        STRATEGY.run(step)
        return D.get_replica_context().merge_call(merged)

    f()
    assert seen == [("ReplicaContext", False), ("none", True), ("none", True)]
    assert place() == ("DefaultReplicaContext", False)
