"""The strategy of programs that enter none: one replica, which every answer is about."""

import copy
import pickle

import numpy as np
import pytest

import penstock as tf

D = tf.distribute
STRATEGY = D.get_strategy()
SUM, MEAN = D.ReduceOp.SUM, D.ReduceOp.MEAN


def place():
    """Where the program is."""
    replica = D.get_replica_context()
    return (
        "none" if replica is None else type(replica).__name__,
        D.in_cross_replica_context(),
        D.has_strategy(),
        D.get_strategy() is STRATEGY,
    )


def test_the_program_is_in_the_default_replica():
    assert place() == ("DefaultReplicaContext", False, False, True)
    assert D.get_replica_context() is D.get_replica_context()
    with STRATEGY.scope() as entered:
        assert entered is STRATEGY
        assert place() == ("DefaultReplicaContext", False, False, True)
    assert isinstance(STRATEGY, D.Strategy)
    assert not isinstance(STRATEGY, tf.compat.v1.distribute.Strategy)
    assert tf.compat.v1.distribute.get_strategy() is STRATEGY
    assert copy.deepcopy(STRATEGY) is STRATEGY
    assert STRATEGY.num_replicas_in_sync == 1
    assert STRATEGY.cluster_resolver is None


def test_run_is_in_a_replica_of_its_own():
    def step(x, by=1):
        replica = D.get_replica_context()
        assert replica is not outside
        assert replica.strategy is STRATEGY
        assert replica.num_replicas_in_sync == 1
        assert replica.replica_id_in_sync_group.dtype == tf.int32
        assert int(replica.replica_id_in_sync_group) == 0
        return x * by, place()

    outside = D.get_replica_context()
    assert outside.replica_id_in_sync_group == 0
    assert STRATEGY.run(step, (3,), {"by": 2}) == (6, ("ReplicaContext", False, False, True))
    assert STRATEGY.run(step, [3])[0] == 3
    assert STRATEGY.run(step, args=(3,), options=D.RunOptions())[0] == 3
    with pytest.raises(ValueError, match="list or tuple, got <class 'int'>"):
        STRATEGY.run(step, 3)
    with pytest.raises(TypeError):
        STRATEGY.run(step, (3,), kwargs=7)
    with pytest.raises(TypeError):
        STRATEGY.run(5)
    with pytest.raises(RuntimeError, match="cross-replica"):
        STRATEGY.run(lambda: STRATEGY.run(step, (1,)))
    assert place()[0] == "DefaultReplicaContext"


def test_merge_calls_are_across_replicas():
    across = ("none", True, False, True)
    outside = D.get_replica_context()
    assert outside.merge_call(lambda s, x, y: (s is STRATEGY, x, y, place()), (1,), {"y": 2}) == (
        True,
        1,
        2,
        across,
    )
    assert STRATEGY.run(lambda: D.get_replica_context().merge_call(lambda s: place())) == across
    assert outside.merge_call(lambda s: s.run(place))[0] == "ReplicaContext"
    assert int(outside.merge_call(lambda s: s.reduce(SUM, tf.constant([1, 2]), 0))) == 3
    with pytest.raises(RuntimeError, match="cross-replica context"):
        outside.merge_call(lambda s: outside.merge_call(lambda s: 1))
    with pytest.raises(RuntimeError, match="one of another"):
        D.ReplicaContext(STRATEGY, 0).merge_call(lambda s: 1)
    with D.ReplicaContext(STRATEGY, 0) as entered:
        assert entered is None
        assert place()[0] == "ReplicaContext"
    assert place()[0] == "DefaultReplicaContext"


def test_steps_are_converted_as_the_function_around_them():
    def step(x):
        if x > 0:
            return x * 2
        return x

    @tf.function
    def converted(x):
        return STRATEGY.run(step, (x,)), D.get_replica_context().merge_call(
            lambda s, v: step(v), (x,)
        )

    @tf.function(autograph=False)
    def plain(x):
        return STRATEGY.run(step, (x,))

    @tf.function
    def unasked(x):
        return STRATEGY.extended.call_for_each_replica(step, (x,))

    assert [float(v) for v in converted(tf.constant(1.5))] == [3.0, 3.0]
    for function in (plain, unasked):
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
            function(tf.constant(1.5))


@pytest.mark.parametrize(
    ("dtype", "mean"),
    [
        ("int8", "float32"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("uint32", "float64"),
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("float32", "float32"),
        ("complex64", "complex64"),
    ],
)
def test_reduce_over_a_dimension(dtype, mean):
    value = tf.cast([1, 2], dtype)
    total = STRATEGY.reduce("sum", value, axis=0)
    assert (total.dtype.name, complex(total.numpy())) == (dtype, 3)
    average = STRATEGY.reduce("Mean", value, axis=-1)
    assert (average.dtype.name, complex(average.numpy())) == (mean, 1.5)


def test_reduce_takes_what_it_can_reduce():
    rows = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    assert STRATEGY.reduce(SUM, rows, axis=None) is rows
    assert STRATEGY.reduce(MEAN, 3, axis=None) == 3
    np.testing.assert_array_equal(STRATEGY.reduce(SUM, rows, axis=1), [3, 8])
    np.testing.assert_array_equal(STRATEGY.reduce(MEAN, rows, axis=(0, 1)), 2.75)
    np.testing.assert_array_equal(STRATEGY.reduce(SUM, np.ones((2, 3)), axis=0), [2, 2, 2])
    np.testing.assert_array_equal(STRATEGY.reduce(MEAN, tf.Variable([1.0, 2.0]), axis=0), 1.5)
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(STRATEGY.reduce(MEAN, ragged, axis=0), [1.5, 1.5])
    assert np.isnan(STRATEGY.reduce(MEAN, tf.zeros([0]), axis=0))

    @tf.function(input_signature=[tf.TensorSpec(None)])
    def unknown(x):
        return STRATEGY.reduce(MEAN, x, axis=0)

    np.testing.assert_array_equal(unknown(rows), [2, 3.5])


@pytest.mark.parametrize(
    ("operation", "value", "axis", "error", "words"),
    [
        ("xx", 1, None, ValueError, r"\['SUM', 'MEAN'\], got 'xx'"),
        (None, 1, 0, TypeError, "got None of NoneType"),
        (3, 1, 0, TypeError, "got 3 of int"),
        (SUM, [1, 2], [0], TypeError, r"got the list \[0\]"),
        (MEAN, [1, 2], 0, AttributeError, "got a list"),
        (SUM, [{"a": 1}], 0, TypeError, "got a list"),
        (SUM, [True], 0, TypeError, "got bool"),
        (SUM, [[1], [2, 3]], 0, ValueError, "shape"),
        (SUM, tf.sparse.from_dense([1.0]), 0, TypeError, "got a SparseTensor"),
        (SUM, {"a": 1}, 0, TypeError, "got a dict"),
        (SUM, np.array(["a"]), 0, TypeError, "got string"),
        (SUM, np.array([True]), 0, TypeError, "got bool"),
        (SUM, np.ones(2), 1, ValueError, r"\[-1, 1\), got 1"),
        (MEAN, np.ones(2), -2, ValueError, r"\[-1, 1\), got -2"),
        (MEAN, 2.0, 0, ValueError, r"\[-0, 0\), got 0"),
    ],
)
def test_reduce_refuses(operation, value, axis, error, words):
    with pytest.raises(error, match=words):
        STRATEGY.reduce(operation, value, axis=axis)


@pytest.mark.parametrize(
    ("value", "axis", "total"),
    [
        ([1.0, 2.0], 0, 3.0),
        ((1.0, 2.0), -1, 3.0),
        ([[1, 2], [3, 4]], 0, [4, 6]),
        ([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])], 1, [3.0, 7.0]),
        ([], 0, 0.0),
        ((), (), []),
    ],
)
def test_lists_are_added(value, axis, total):
    result = STRATEGY.reduce(SUM, value, axis=axis)
    np.testing.assert_array_equal(result, total)
    np.testing.assert_array_equal(
        STRATEGY.reduce(MEAN, value, axis=()), np.asarray(value, np.float64)
    )


def test_means_over_no_dimension_and_over_unknown_ranks():
    for dtype, mean in (("int8", "float32"), ("int32", "float64"), ("float16", "float16")):
        result = STRATEGY.reduce(MEAN, tf.ones([2, 2], dtype), axis=())
        assert result.dtype.name == mean
        np.testing.assert_array_equal(result, np.ones([2, 2]))
    x = tf.reshape(tf.range(24.0), [2, 3, 4])
    for axis in (-1, (), (0, -1), (-1, -2), 0, -3):

        @tf.function(input_signature=[tf.TensorSpec(None)])
        def unknown(x, axis=axis):
            return STRATEGY.reduce(MEAN, x, axis=axis)

        np.testing.assert_allclose(unknown(x), np.mean(x.numpy(), axis=axis), rtol=1e-6)
    for axis in (3, -4):
        with pytest.raises(tf.errors.InvalidArgumentError, match="reduction dimension"):
            tf.function(
                lambda x, axis=axis: STRATEGY.reduce(MEAN, x, axis=axis),
                input_signature=[tf.TensorSpec(None)],
            )(x)


def test_means_of_ragged_tensors():
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
    for axis in (1, -1, (0, 1), (1,)):
        with pytest.raises(ValueError, match=r"axis 1 .* not uniform"):
            STRATEGY.reduce(MEAN, ragged, axis=axis)
    np.testing.assert_array_equal(STRATEGY.reduce(SUM, ragged, axis=1), [1, 5])
    deep = tf.ragged.constant([[[1.0], []], [[2.0, 3.0]]])
    with pytest.raises(ValueError, match=r"axis 2 .* not uniform"):
        STRATEGY.reduce(MEAN, deep, axis=-1)
    inner = tf.RaggedTensor.from_row_lengths(tf.ones([3, 2]), [1, 2])
    assert STRATEGY.reduce(MEAN, inner, axis=2).to_list() == [[1.0], [1.0, 1.0]]
    uniform = tf.RaggedTensor.from_uniform_row_length(tf.range(4.0), 2)
    np.testing.assert_array_equal(STRATEGY.reduce(MEAN, uniform, axis=1), [0.5, 2.5])

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None])])
    def traced(x):
        return STRATEGY.reduce(MEAN, x, axis=1)

    with pytest.raises(ValueError, match="not uniform"):
        traced(ragged)


def test_ragged_tensors_are_what_replicas_give_back():
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])

    def step():
        replica = D.get_replica_context()
        summed = replica.all_reduce(SUM, {"a": ragged})["a"]
        return summed, replica.all_reduce(MEAN, ragged), replica.all_gather(ragged, 0)

    for call in (step, lambda: STRATEGY.run(step), tf.function(step)):
        for result in call():
            assert result.to_list() == [[1.0], [2.0, 3.0]]


def test_replicas_reduce_where_they_are():
    outer = D.get_replica_context()
    other = D.ReplicaContext(STRATEGY, 0)
    for value in ([], [tf.constant(1)]):
        for ask in (
            lambda r, value=value: r.all_reduce(SUM, value),
            lambda r, value=value: r.all_gather(value, 0),
        ):
            with pytest.raises(RuntimeError, match="get_replica_context"):
                STRATEGY.run(lambda ask=ask: ask(outer))
            with pytest.raises(RuntimeError, match="cross-replica"):
                outer.merge_call(lambda s, ask=ask: ask(outer))
            with pytest.raises(RuntimeError, match="one of another"):
                ask(other)
    with pytest.raises(ValueError, match="got 'bad'"):
        other.all_reduce("bad", [])


def test_there_is_one_default_strategy():
    with pytest.raises(RuntimeError, match="Must only deepcopy"):
        copy.copy(STRATEGY)
    replica = D.get_replica_context()
    for value in (STRATEGY, replica, STRATEGY.extended):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(value)
    assert copy.deepcopy([STRATEGY])[0] is STRATEGY
    assert copy.deepcopy(replica) is copy.copy(replica) is replica


def test_replicas_reduce_and_gather_what_is_theirs():
    def both(call):
        def inside():
            return call(D.get_replica_context())

        return call(D.get_replica_context()), STRATEGY.run(inside)

    for result in both(lambda r: r.all_reduce("sum", {"a": tf.constant(1.0), "b": [2]})):
        assert float(result["a"]) == 1.0
        assert result["b"][0].dtype == tf.int32
    for result in both(lambda r: r.all_gather([tf.constant([1.0])], axis=0)):
        np.testing.assert_array_equal(result[0], [1.0])
    for result in both(lambda r: r.all_reduce(MEAN, [])):
        assert result == []
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([2, 2]))
    for result in both(lambda r: r.all_reduce(SUM, slices)):
        assert isinstance(result, tf.IndexedSlices)
    replica = D.get_replica_context()
    with pytest.raises(NotImplementedError, match="IndexedSlices"):
        replica.all_gather(slices, axis=0)
    with pytest.raises(NotImplementedError, match="IndexedSlices"):
        STRATEGY.gather(slices, axis=0)
    with pytest.raises(ValueError, match="got 'bad'"):
        replica.all_reduce("bad", 1)
    value = tf.constant([1, 2])
    assert STRATEGY.gather(value, axis=0) is value
    for refused in (
        lambda: STRATEGY.gather(value, axis=0),
        lambda: STRATEGY.reduce(SUM, value, axis=None),
        lambda: STRATEGY.extended.reduce_to(SUM, 3, None),
        lambda: STRATEGY.extended.batch_reduce_to(SUM, [(3, None)]),
    ):
        with pytest.raises(RuntimeError, match="get_replica_context"):
            STRATEGY.run(refused)


def test_gradients_pass_through_reductions():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        outside = D.get_replica_context().all_reduce(SUM, x * x)
        inside = STRATEGY.run(lambda: D.get_replica_context().all_reduce(MEAN, x * x))
    assert float(tape.gradient([outside, inside], x)) == 12.0


def test_datasets_are_what_they_were():
    dataset = tf.data.Dataset.range(4).batch(2)
    assert STRATEGY.experimental_distribute_dataset(dataset) is dataset
    options = D.InputOptions(experimental_place_dataset_on_device=True)
    assert STRATEGY.experimental_distribute_dataset(dataset, options) is dataset
    assert not isinstance(dataset, D.DistributedDataset)
    contexts = []

    def make(context):
        contexts.append(context)
        return dataset

    assert STRATEGY.distribute_datasets_from_function(make) is dataset
    assert STRATEGY.experimental_distribute_datasets_from_function(make, options) is dataset
    iterator = STRATEGY.make_input_fn_iterator(make)
    np.testing.assert_array_equal(iterator.get_next(), [0, 1])
    for context in contexts:
        assert isinstance(context, D.InputContext)
        assert str(context) == "tf.distribute.InputContext(input pipeline id 0, total: 1)"
    with pytest.raises(ValueError, match="PER_REPLICA"):
        STRATEGY.make_input_fn_iterator(make, D.InputReplicationMode.PER_REPLICA)
    iterator = STRATEGY.make_dataset_iterator(tf.data.Dataset.range(1))
    assert int(STRATEGY.experimental_run(lambda x: x + 1, iterator)) == 1
    assert not iterator.get_next_as_optional().has_value()
    assert iterator.initialize() == []
    assert int(iterator.get_next()) == 0
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()
    made = STRATEGY.experimental_distribute_values_from_function(
        lambda c: (str(c), c.num_replicas_in_sync, c.replica_id_in_sync_group)
    )
    assert made == (
        "tf.distribute.ValueContext(replica id 0,  total replicas in sync: 1)",
        1,
        0,
    )
    for part in (D.DistributedDataset(), D.DistributedIterator()):
        with pytest.raises(NotImplementedError, match="descendants"):
            next(iter(part))


def test_iterators_in_graphs():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        iterator = STRATEGY.make_dataset_iterator(tf.data.Dataset.range(4))
        assert iterator.initialize() == []
        assert session.run(iterator.get_next()) == 0


def test_groups_are_one_value_or_operation():
    one, two = tf.constant(1), tf.constant(2)
    assert STRATEGY.group(one) is STRATEGY.group((one,)) is STRATEGY.group({"a": [one]}) is one
    assert STRATEGY.group((one, two)) is None
    assert STRATEGY.group([]) is None
    assert STRATEGY.group(one, name="all") is None
    assert STRATEGY.group(None) is None
    with tf.Graph().as_default():
        one, two = tf.constant(1), tf.constant(2)
        assert STRATEGY.group(one) is STRATEGY.group([one]) is STRATEGY.group(one.op) is one.op
        assert STRATEGY.group(3) == 3
        for value in ((one, two), []):
            assert isinstance(STRATEGY.group(value), tf.Operation)
        assert STRATEGY.group({"a": one}, name="all").name == "all"


def test_what_libraries_ask():
    extended = STRATEGY.extended
    v = tf.Variable([1.0, 2.0])
    extended.update(v, lambda var, by: var.assign_add(by), args=([1.0, 1.0],))
    assert extended.update(v, lambda var, by: by, kwargs={"by": 3}, group=False) == (3,)
    pairs = extended.update(v, lambda var: (1, {"a": 2}), group=False)
    assert pairs == ((1,), {"a": (2,)})
    assert extended.update_non_slot(v, lambda x: x, args=(1,)) == 1
    a, b = tf.Variable(1.0, name="b"), tf.Variable(1.0, name="a")
    assert extended.non_slot_devices([a, b]) is b
    np.testing.assert_array_equal(extended.read_var(v), [2, 3])
    assert extended.reduce_to("MEAN", v, v) is v
    assert extended.batch_reduce_to(SUM, [(1, v), (2, v)]) == [1, 2]
    assert extended.call_for_each_replica(place)[0] == "ReplicaContext"
    assert extended.variable_created_in_scope(v)
    assert extended.value_container(v) is v
    with extended.colocate_vars_with(v):
        pass
    rows = extended.experimental_make_numpy_dataset((np.arange(2), np.ones(2)))
    assert [int(i) for i, _ in rows] == [0, 1]
    assert (extended.should_checkpoint, extended.should_save_summary) == (True, True)
    assert not extended.experimental_require_static_shapes
    assert STRATEGY.experimental_local_results([1, 2]) == ([1, 2],)
    assert STRATEGY.group(3) == 3


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("worker_devices", RuntimeError),
        ("parameter_devices", RuntimeError),
        ("experimental_between_graph", NotImplementedError),
        ("experimental_should_init", NotImplementedError),
    ],
)
def test_what_it_has_none_of(name, error):
    with pytest.raises(error, match=name):
        getattr(STRATEGY.extended, name)


def test_broadcasts_need_other_strategies():
    with pytest.raises(NotImplementedError, match="'CPU:0'"):
        STRATEGY.extended.broadcast_to(tf.constant(1), "CPU:0")
    for nowhere in (None, [], ["CPU:0"], ()):
        with pytest.raises(AssertionError, match="got"):
            STRATEGY.extended.broadcast_to(tf.constant(1), nowhere)
    with pytest.raises(NotImplementedError, match="experimental_run_steps_on_iterator"):
        STRATEGY.extended.experimental_run_steps_on_iterator(place, None)


def test_a_strategy_for_the_rest_of_the_program():
    D.experimental_set_strategy(None)
    D.experimental_set_strategy(STRATEGY)
    assert not D.has_strategy()
    D.experimental_set_strategy(None)
    with pytest.raises(AttributeError):
        D.experimental_set_strategy(5)
    with pytest.raises(RuntimeError, match="experimental_set_strategy"), STRATEGY.scope():
        D.experimental_set_strategy(STRATEGY)
    D.experimental_set_strategy(None)
    scope = STRATEGY.scope()
    scope.__exit__(None, None, None)


def test_updates_without_merge_calls():
    internal = tf.__internal__.distribute
    assert internal.strategy_supports_no_merge_call()
    called = internal.interim.maybe_merge_call(
        lambda strategy, x, y: (strategy is STRATEGY, x, y, place()), STRATEGY, 1, y=2
    )
    assert called == (True, 1, 2, ("DefaultReplicaContext", False, False, True))


def test_descriptions():
    context = D.InputContext(2, 1, 4)
    assert (context.num_input_pipelines, context.input_pipeline_id) == (2, 1)
    assert context.get_per_replica_batch_size(8) == 2
    assert int(context.get_per_replica_batch_size(tf.constant(8))) == 2
    with pytest.raises(ValueError, match="`num_replicas_in_sync` 4, got 9"):
        context.get_per_replica_batch_size(9)
    assert tuple(D.InputOptions()) == (True, D.InputReplicationMode.PER_WORKER, False, 1)
    assert tuple(D.RunOptions()) == (True, False, None)
    assert [op.value for op in D.ReduceOp] == ["SUM", "MEAN"]
    assert D.ReduceOp("SUM") is SUM
    assert tf.compat.v1.distribute.get_loss_reduction() is SUM
    assert not isinstance(tf.Variable(1.0), D.DistributedValues)
    with pytest.raises(ValueError, match="replica_id_in_sync_group"):
        D.ReplicaContext(STRATEGY, "a")
    number = tf.Variable(3)
    assert D.ReplicaContext(STRATEGY, number).replica_id_in_sync_group is number


def test_the_first_generation_lacks_what_came_later():
    first = tf.compat.v1.distribute
    assert not hasattr(first.Strategy, "gather")
    for name in ("DistributedDataset", "DistributedIterator", "DistributedValues", "InputOptions"):
        assert hasattr(tf.compat.v2.distribute, name)
        assert not hasattr(first, name)
        assert name not in dir(first)
    assert not hasattr(first.experimental, "ValueContext")
    assert first.InputContext is D.InputContext
