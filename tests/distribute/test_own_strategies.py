"""Strategies of the program's own: their scopes, their variables and what they are asked."""

import copy
import gc
import threading

import pytest

import penstock as tf
from penstock.distribute import stack

D = tf.distribute
STRATEGY = D.get_strategy()
SUM = D.ReduceOp.SUM


class Extended(tf.compat.v1.distribute.StrategyExtended):
    """Has one replica, and tells what it is asked."""

    _num_replicas_in_sync = 2

    def _call_for_each_replica(self, fn, args, kwargs):
        with D.ReplicaContext(self._container_strategy(), 0):
            return fn(*args, **kwargs)

    def _create_variable(self, next_creator, **kwargs):
        return next_creator(**kwargs)

    def _reduce_to(self, reduce_op, value, destinations, options):
        return "reduced", reduce_op, value, destinations, options

    def _gather_to(self, value, destinations, axis, options=None):
        return "gathered", value, destinations, axis, options

    def _broadcast_to(self, tensor, destinations):
        return "broadcast", tensor, destinations

    def _update(self, var, fn, args, kwargs, group):
        return fn(var, *args, **kwargs), group

    def _update_non_slot(self, colocate_with, fn, args, kwargs, group):
        return colocate_with, fn(*args, **kwargs), group

    def _experimental_distribute_dataset(self, dataset, options):
        return "dataset", dataset, options

    def _distribute_datasets_from_function(self, dataset_fn, options):
        return "datasets", dataset_fn(), options

    def _experimental_distribute_values_from_function(self, value_fn):
        return "values", value_fn()

    def _make_dataset_iterator(self, dataset):
        return "iterator", dataset

    def _make_input_fn_iterator(self, input_fn, replication_mode):
        return "iterators", input_fn(), replication_mode

    def _experimental_make_numpy_dataset(self, numpy_input, session):
        return "numpy", numpy_input, session

    def _experimental_run_steps_on_iterator(self, fn, iterator, iterations, initial_loop_values):
        return "steps", iterator, iterations, initial_loop_values

    def _configure(self, session_config, cluster_spec, task_type, task_id):
        return "configured", session_config, cluster_spec, task_type, task_id

    def _update_config_proto(self, config_proto):
        return "updated", config_proto


class Own(D.Strategy):
    """A strategy of the program's own."""

    def __init__(self, extended=Extended):
        super().__init__(extended(self))


def place():
    """Where the program is."""
    replica = D.get_replica_context()
    return (
        "none" if replica is None else type(replica).__name__,
        D.in_cross_replica_context(),
        D.has_strategy(),
    )


DEFAULT = ("DefaultReplicaContext", False, False)
ACROSS = ("none", True, True)
REPLICA = ("ReplicaContext", False, True)


def within(strategy, function):
    """What a function returns in a scope."""
    with strategy.scope():
        return function()


@pytest.fixture(autouse=True)
def _left():
    yield
    D.experimental_set_strategy(None)
    assert place() == DEFAULT


def test_what_a_strategy_does_not_define_is_refused():
    class Silent(D.StrategyExtended):
        """Says nothing of its own."""

    own = Own(Silent)
    with own.scope() as entered:
        assert entered is own
        assert D.get_strategy() is own
        assert place() == ACROSS
        with tf.Graph().as_default():
            assert place() == DEFAULT
        with pytest.raises(NotImplementedError, match="_create_variable"):
            tf.Variable(1.0)
    with pytest.raises(NotImplementedError, match="_num_replicas_in_sync"):
        _ = own.num_replicas_in_sync
    with pytest.raises(NotImplementedError, match="_reduce_to"):
        own.reduce(SUM, tf.constant([1]), 0)
    with pytest.raises(NotImplementedError, match="_gather_to"):
        own.gather(tf.constant([1]), 0)
    with pytest.raises(AttributeError, match="get_strategy"):
        D.Strategy(None)


def test_scopes_nest_in_their_own_strategy_alone():
    own, other = Own(), Own()
    assert within(own, lambda: within(own, place)) == ACROSS
    assert within(STRATEGY, lambda: within(own, place)) == ACROSS
    assert STRATEGY.run(lambda: within(own, place)) == ACROSS
    assert D.get_replica_context().merge_call(lambda s: within(own, place)) == ACROSS
    assert own.run(place) == REPLICA
    merged = own.run(lambda: D.get_replica_context().merge_call(lambda s: within(own, place)))
    assert merged == ACROSS
    value = tf.constant([1])
    for refused in (
        lambda: within(own, lambda: within(other, place)),
        lambda: own.run(lambda: within(other, place)),
        lambda: within(own, lambda: other.reduce(SUM, value, None)),
        lambda: within(own, lambda: STRATEGY.reduce(SUM, value, 0)),
        lambda: within(own, lambda: STRATEGY.gather(value, 0)),
        lambda: within(own, lambda: STRATEGY.extended.reduce_to(SUM, value, None)),
        lambda: within(own, lambda: STRATEGY.extended.call_for_each_replica(place)),
        lambda: within(own, lambda: STRATEGY.extended.update(1, lambda v: 3)),
        lambda: within(own, lambda: STRATEGY.extended.update_non_slot(1, place)),
        lambda: own.run(lambda: STRATEGY.reduce(SUM, value, 0)),
    ):
        with pytest.raises(RuntimeError, match="mixing different"):
            refused()
    for refused in (
        lambda: within(own, lambda: within(STRATEGY, place)),
        lambda: within(own, lambda: STRATEGY.run(place)),
        lambda: own.run(lambda: within(STRATEGY, place)),
    ):
        with pytest.raises(RuntimeError, match="must not nest"):
            refused()
    for refused in (
        lambda: own.run(lambda: within(own, place)),
        lambda: own.run(lambda: own.run(place)),
        lambda: own.run(lambda: own.reduce(SUM, value, None)),
    ):
        with pytest.raises(RuntimeError, match="merge_call"):
            refused()
    for outside in (STRATEGY.run, lambda f: D.get_replica_context().merge_call(lambda s: f())):
        with pytest.raises(RuntimeError, match="Enter the scope"):
            outside(lambda: own.reduce(SUM, value, None))
    assert own.extended.call_for_each_replica(place) == REPLICA


def test_scopes_are_left_as_they_were_entered():
    own = Own()
    with pytest.raises(RuntimeError, match="that was entered, got one that was not"):
        own.scope().__exit__(None, None, None)
    scope = own.scope()
    with scope, scope:
        assert place() == ACROSS
    with pytest.raises(RuntimeError, match="left already"):
        scope.__exit__(None, None, None)
    with scope, tf.Graph().as_default():
        assert place() == DEFAULT
        with scope:
            assert place() == ACROSS
        assert place() == DEFAULT
    outer, inner = STRATEGY.scope(), own.scope()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="entered last"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)


def test_a_scope_that_nobody_holds_is_not_left():
    own = Own()
    own.scope().__enter__()
    gc.collect()
    assert place() == ACROSS
    assert own.extended.variable_created_in_scope(tf.Variable(1.0))
    stack.current().scope.__exit__(None, None, None)


def test_scopes_that_are_dropped_open_change_nothing_elsewhere():
    own = Own()
    creators = [tf.variable_creator_scope(lambda following, **kwargs: following(**kwargs))]

    def leave_open():
        creators[0].__enter__()
        Own().scope().__enter__()

    thread = threading.Thread(target=leave_open)
    thread.start()
    thread.join()
    with own.scope():
        creators.clear()
        gc.collect()
        assert own.extended.variable_created_in_scope(tf.Variable(1.0))
    assert not own.extended.variable_created_in_scope(tf.Variable(1.0))


def test_a_strategy_for_the_rest_of_the_program():
    own, other = Own(), Own()
    for strategy, there in ((own, ACROSS), (STRATEGY, DEFAULT), (other, ACROSS), (own, ACROSS)):
        D.experimental_set_strategy(strategy)
        assert place() == there
    assert within(own, place) == ACROSS
    with pytest.raises(RuntimeError, match="mixing"):
        within(other, place)
    assert own.extended.variable_created_in_scope(tf.Variable(1.0))
    with own.scope():
        D.experimental_set_strategy(None)
        assert place() == DEFAULT
    for refused in (
        lambda: within(own, lambda: D.experimental_set_strategy(STRATEGY)),
        lambda: within(own, lambda: D.experimental_set_strategy(other)),
        lambda: within(own, lambda: D.experimental_set_strategy(None)),
        lambda: within(STRATEGY, lambda: D.experimental_set_strategy(own)),
        lambda: within(STRATEGY, lambda: D.experimental_set_strategy(STRATEGY)),
        lambda: STRATEGY.run(lambda: D.experimental_set_strategy(own)),
        lambda: own.run(lambda: D.experimental_set_strategy(STRATEGY)),
    ):
        with pytest.raises(RuntimeError, match="Must not be called inside"):
            refused()
        assert place() == DEFAULT
    within(STRATEGY, lambda: D.experimental_set_strategy(None))


def test_strategies_make_variables():
    asked = []

    class Noting(Extended):
        def _create_variable(self, next_creator, **kwargs):
            asked.append((place(), kwargs))
            return next_creator(**kwargs)

    own = Own(Noting)
    with own.scope(), own.scope():
        v = tf.Variable(1.0, name="a")
        with tf.Graph().as_default():
            elsewhere = tf.Variable(1.0)
    assert len(asked) == 1
    assert asked[0][0] == ACROSS
    assert asked[0][1]["name"] == "a"
    assert asked[0][1]["use_resource"] is True
    assert asked[0][1]["distribute_strategy"] is own
    assert own.extended.variable_created_in_scope(v)
    assert not STRATEGY.extended.variable_created_in_scope(v)
    assert copy.deepcopy(v)._distribute_strategy is own
    for plain in (tf.Variable(1.0), elsewhere, within(STRATEGY, lambda: tf.Variable(1.0))):
        assert STRATEGY.extended.variable_created_in_scope(plain)
        assert not own.extended.variable_created_in_scope(plain)
    for extended in (own.extended, STRATEGY.extended):
        with pytest.raises(AttributeError):
            extended.variable_created_in_scope(tf.constant(1))
    assert own.extended.variable_created_in_scope(own.run(lambda: tf.Variable(1.0)))
    assert asked[1][0] == REPLICA
    made = []

    @tf.function
    def f():
        if not made:
            made.append(tf.Variable(2.0))
        return made[0] + 1.0

    with own.scope():
        assert float(f()) == 3.0
    assert own.extended.variable_created_in_scope(made[0])
    with tf.Graph().as_default(), own.scope():
        for use_resource in (True, False):
            name = f"v{use_resource}"
            w = tf.compat.v1.get_variable(name, [2], use_resource=use_resource)
            assert own.extended.variable_created_in_scope(w)
            assert asked[-1][1]["use_resource"] is True
    assert within(own, lambda: tf.compat.v1.get_variable("x", [2])).shape == (2,)


def test_strategies_make_variables_among_other_creators():
    order = []

    def noting(name):
        def creator(next_creator, **kwargs):
            order.append((name, kwargs.get("distribute_strategy"), kwargs.get("colocate_with")))
            return next_creator(**kwargs)

        return creator

    class Noting(Extended):
        _create_variable = staticmethod(noting("own"))

    class Other(Extended):
        def _create_variable(self, next_creator, **kwargs):
            return 5

    own = Own(Noting)
    with tf.variable_creator_scope(noting("outer")), own.scope():
        with tf.variable_creator_scope(noting("inner")):
            first = tf.Variable(1.0)
        assert order == [("inner", None, None), ("own", own, None), ("outer", own, None)]
        order.clear()
        with own.extended.colocate_vars_with(first):
            tf.Variable(2.0)
        assert order == [("own", own, first), ("outer", own, first)]
    with pytest.raises(RuntimeError, match="Enter the scope"):
        own.extended.colocate_vars_with(first)
    assert within(Own(Other), lambda: tf.Variable(1.0)) == 5

    def wrong(next_creator, **kwargs):
        return next_creator(**kwargs, unknown=1)

    with tf.variable_creator_scope(wrong), pytest.raises(TypeError, match="unknown"):
        tf.Variable(1.0)


def test_strategies_are_asked_as_they_are_defined():
    own, here = Own(), "/device:CPU:0"
    extended, x = own.extended, tf.constant([1.0, 2.0])
    for ask in (lambda f: f(), lambda f: within(own, f)):
        assert ask(lambda: own.reduce("sum", x, None)) == ("reduced", SUM, x, here, None)
        assert float(ask(lambda: own.reduce("sum", x, 0))[2]) == 3.0
        assert ask(lambda: own.gather(x, 1)) == ("gathered", x, here, 1, None)
        reduced = ("reduced", SUM, 1, 2, 3)
        assert ask(lambda: extended.reduce_to("sum", 1, 2, 3)) == reduced
        assert ask(lambda: extended.batch_reduce_to("sum", [(1, 2)], 3)) == [reduced]
        assert ask(lambda: extended.broadcast_to(1, 2)) == ("broadcast", 1, 2)
        assert ask(lambda: extended.experimental_make_numpy_dataset(1, 2)) == ("numpy", 1, 2)
        steps = ask(lambda: extended.experimental_run_steps_on_iterator(place, 1, 2, 3))
        assert steps == ("steps", 1, 2, 3)
        assert ask(lambda: extended.update_non_slot(1, place)) == (1, ACROSS, True)
    for ask in (lambda f: f(), lambda f: within(own, f), own.run, STRATEGY.run):
        assert ask(lambda: extended.update(1, lambda v, by: (v, by, place()), (2,))) == (
            (1, 2, ACROSS),
            True,
        )
        assert ask(lambda: extended.update(1, lambda v: v, group=False)) == (1, False)
        assert ask(lambda: own.experimental_distribute_dataset(1, 2)) == ("dataset", 1, 2)
        assert ask(lambda: own.distribute_datasets_from_function(lambda: 1)) == (
            "datasets",
            1,
            None,
        )
        made = ask(lambda: own.experimental_distribute_values_from_function(lambda: 1))
        assert made == ("values", 1)
        assert ask(lambda: own.make_dataset_iterator(1)) == ("iterator", 1)
        assert ask(lambda: own.configure(1, 2, "w", 3)) == ("configured", 1, 2, "w", 3)
        assert ask(lambda: own.update_config_proto(1)) == ("updated", 1)
    mode = D.InputReplicationMode.PER_WORKER
    assert own.make_input_fn_iterator(lambda: 1) == ("iterators", 1, mode)
    for refused in (
        lambda: extended.update_non_slot(1, place),
        lambda: extended.experimental_make_numpy_dataset(1),
        lambda: extended.experimental_run_steps_on_iterator(place, 1),
    ):
        with pytest.raises(RuntimeError, match="merge_call"):
            own.run(refused)
        with pytest.raises(RuntimeError, match="Enter the scope"):
            STRATEGY.run(refused)
    with pytest.raises(NotImplementedError, match="read_var"):
        extended.read_var(tf.Variable(1.0))
    reduced = own.run(lambda: D.get_replica_context().all_reduce("sum", [x]))
    assert reduced == [("reduced", SUM, x, x, None)]
    gathered = own.run(lambda: D.get_replica_context().all_gather([x], 0))
    assert gathered == [("gathered", x, here, 0, None)]


def test_where_the_default_strategy_updates():
    update = STRATEGY.extended.update
    there = ("none", True, False)
    assert update(1, lambda v: place()) == DEFAULT
    assert STRATEGY.run(lambda: update(1, lambda v: place())) == there
    assert D.get_replica_context().merge_call(lambda s: update(1, lambda v: place())) == there


def test_copies_of_strategies():
    own = Own()
    copied = copy.deepcopy(own)
    assert copied is not own
    assert copied.extended is not own.extended
    assert copied.extended._container_strategy() is copied
    assert within(copied, D.get_strategy) is copied
    with pytest.raises(RuntimeError, match="Must only deepcopy"):
        copy.copy(own)
    with pytest.raises(TypeError, match="cannot pickle"):
        own.__reduce__()
    assert copied.num_replicas_in_sync == 2
