"""Accumulators, barriers, staging areas, mutexes and critical sections."""

import threading

import numpy as np
import pytest

import penstock as tf
from penstock import errors

v1 = tf.compat.v1
raw = tf.raw_ops


@pytest.fixture
def session():
    with tf.Graph().as_default(), v1.Session() as made:
        yield made


def soon():
    return v1.RunOptions(timeout_in_ms=20)


# ---- accumulators


def test_a_mean_of_gradients():
    gradients = v1.ConditionalAccumulator(tf.float32, shape=[2])
    gradients.apply_grad([1.0, 2.0])
    gradients.apply_grad([3.0, 4.0])
    assert int(gradients.num_accumulated()) == 2
    assert gradients.take_grad(1).numpy().tolist() == [2.0, 3.0]
    gradients.apply_grad([3.0, 4.0], local_step=0)  # stale: the step is 1
    assert int(gradients.num_accumulated()) == 0
    gradients.apply_grad([3.0, 4.0], local_step=1)
    gradients.set_global_step(5)
    gradients.apply_grad([30.0, 4.0], local_step=4)
    assert gradients.take_grad(1).numpy().tolist() == [3.0, 4.0]


def test_a_sum_of_gradients():
    gradients = v1.ConditionalAccumulator(tf.int32, reduction_type="SUM")
    gradients.apply_grad([1, 2])
    gradients.apply_grad([2, -5])
    assert gradients.take_grad(2).numpy().tolist() == [3, -3]


def test_gradients_that_do_not_fit():
    gradients = v1.ConditionalAccumulator(tf.float32, shape=[2])
    with pytest.raises(ValueError, match=r"Shapes \(3,\) and \(2,\)"):
        gradients.apply_grad([1.0, 2.0, 3.0])
    with pytest.raises(errors.InvalidArgumentError, match="num_required >= 1, got 0"):
        gradients.take_grad(0)
    with pytest.raises(errors.InvalidArgumentError, match="MAX"):
        v1.ConditionalAccumulator(tf.float32, reduction_type="MAX")
    free = v1.ConditionalAccumulator(tf.float32)
    free.apply_grad([1.0, 2.0])
    with pytest.raises(errors.InvalidArgumentError, match=r"shape \(2,\), got shape \(1,\)"):
        free.apply_grad([1.0])


def test_stale_gradients_are_dropped_whatever_they_are_like():
    with tf.Graph().as_default(), v1.Session() as session:
        gradients = v1.ConditionalAccumulator(tf.float32, shape=[2], shared_name="dense")
        other = v1.placeholder_with_default(np.ones(3, np.float32), None)
        session.run(gradients.set_global_step(5))
        session.run(gradients.apply_grad(other, local_step=4))
        with pytest.raises(errors.InvalidArgumentError, match=r"got shape \(3,\)"):
            session.run(gradients.apply_grad(other, local_step=5))
        rows = v1.SparseConditionalAccumulator(tf.float32, shape=[None, 2], shared_name="rows")
        place = np.zeros(1, np.int64)
        wide = v1.placeholder_with_default(np.ones([1, 3], np.float32), None)
        session.run(rows.set_global_step(5))
        session.run(rows.apply_grad(place, wide, local_step=4))
        with pytest.raises(errors.InvalidArgumentError):
            session.run(rows.apply_grad(place, wide, local_step=5))
        assert session.run([gradients.num_accumulated(), rows.num_accumulated()]) == [0, 0]


@pytest.mark.parametrize("reference", [False, True])
def test_taking_waits_for_enough(session, reference):
    if reference:
        handle = raw.ConditionalAccumulator(dtype=tf.float32, shape=[2])
        gradients = v1.ConditionalAccumulator.__new__(v1.ConditionalAccumulator)
        v1.ConditionalAccumulatorBase.__init__(gradients, tf.float32, [2], handle)
    else:
        gradients = v1.ConditionalAccumulator(tf.float32, shape=[2])
    put, taken = gradients.apply_grad([1.0, 2.0]), gradients.take_grad(3)
    with pytest.raises(errors.DeadlineExceededError):
        session.run(taken, options=soon())
    threads = [threading.Thread(target=lambda: session.run(put)) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert session.run(taken).tolist() == [1.0, 2.0]
    assert session.run(gradients.num_accumulated()) == 0
    session.run(gradients.set_global_step(9))
    session.run(put)
    assert session.run(gradients.num_accumulated()) == 0
    used = {op.type for op in session.graph.get_operations()}
    assert ("AccumulatorTakeGradient" in used) == reference
    assert ("ResourceAccumulatorApplyGradient" in used) != reference


def test_rows_of_gradients(session):
    rows = v1.SparseConditionalAccumulator(tf.float32, shape=[None, 2])
    session.run(rows.apply_grad([0, 3], [[1.0, 2.0], [3.0, 4.0]]))
    session.run(rows.apply_grad([1, 3], [[30.0, 40.0], [10.0, 20.0]], grad_shape=[5, 2]))
    assert session.run(rows.num_accumulated()) == 2
    indices, values, shape = session.run(rows.take_grad(2))
    assert indices.tolist() == [0, 1, 3]
    assert values.tolist() == [[1.0, 2.0], [30.0, 40.0], [6.5, 12.0]]
    assert shape.tolist() == [5, 2]
    slices = tf.IndexedSlices(tf.constant([[1.0, 1.0]] * 2), tf.constant([3, 3], tf.int64))
    session.run(rows.apply_indexed_slices_grad(slices, local_step=1))
    found = rows.take_indexed_slices_grad(1)
    assert session.run([found.indices, found.values])[1].tolist() == [[2.0, 2.0]]


@pytest.mark.parametrize(
    ("indices", "values", "shape", "text"),
    [
        ([0, 3], [[1.0, 2.0]], None, "as many rows"),
        ([0], [[1.0, 2.0, 3.0]], None, r"rows of shape \(2,\), got \(3,\)"),
        ([0], [[1.0, 2.0]], [3, 3], r"got shape \(3, 3\)"),
        ([7], [[1.0, 2.0]], [3, 2], r"indices in \[0, 3\), got 7"),
        ([-1], [[1.0, 2.0]], None, "got -1"),
    ],
)
def test_rows_that_do_not_fit(session, indices, values, shape, text):
    rows = v1.SparseConditionalAccumulator(tf.float32, shape=[None, 2])
    with pytest.raises(errors.InvalidArgumentError, match=text):
        session.run(rows.apply_grad(indices, values, shape))
    assert session.run(rows.num_accumulated()) == 0


def test_sparse_accumulators_need_a_graph():
    with pytest.raises(RuntimeError, match="eager"):
        v1.SparseConditionalAccumulator(tf.float32)


# ---- barriers


def test_elements_are_taken_when_they_are_complete(session):
    barrier = raw.Barrier(component_types=[tf.int32, tf.string], shapes=[[2], []])

    def insert(keys, values, component):
        return raw.BarrierInsertMany(
            handle=barrier, keys=keys, values=values, component_index=component
        )

    def take(count, fewer=False):
        found = raw.BarrierTakeMany(
            handle=barrier,
            num_elements=count,
            component_types=[tf.int32, tf.string],
            allow_small_batch=fewer,
        )
        return [*found[:2], *found[2]]

    sizes = [raw.BarrierReadySize(handle=barrier), raw.BarrierIncompleteSize(handle=barrier)]
    session.run(insert(["a", "b"], [[1, 2], [3, 4]], 0))
    session.run(insert(["b"], ["B"], 1))
    assert session.run(sizes) == [1, 1]
    with pytest.raises(errors.InvalidArgumentError, match="which has it"):
        session.run(insert(["a"], [[1, 2]], 0))
    number, keys, first, second = session.run(take(1))
    assert (number.tolist(), keys.tolist()) == ([-(1 << 63)], [b"b"])
    assert (first.tolist(), second.tolist()) == ([[3, 4]], [b"B"])
    session.run(insert(["c", "a"], ["C", "A"], 1))
    with pytest.raises(errors.DeadlineExceededError):
        session.run(take(3), options=soon())
    session.run(raw.BarrierClose(handle=barrier))
    with pytest.raises(errors.CancelledError, match="is closed"):
        session.run(insert(["new"], ["N"], 1))
    session.run(insert(["c"], [[5, 6]], 0))
    with pytest.raises(errors.OutOfRangeError, match="requested 3, total size 2"):
        session.run(take(3))
    number, keys, *_ = session.run(take(5, fewer=True))
    assert (number.tolist(), keys.tolist()) == ([-(1 << 63), 1 - (1 << 63)], [b"a", b"c"])
    with pytest.raises(errors.OutOfRangeError):
        session.run(take(5, fewer=True))


def test_a_barrier_refuses_what_does_not_fit(session):
    barrier = raw.Barrier(component_types=[tf.int32], shapes=[[2]])
    for keys, values, component, text in [
        (["q"], [[1, 2, 3]], 0, r"shape \(2,\) for component 0, got \(3,\)"),
        (["q"], [[1, 2]], 2, r"component_index in \[0, 1\), got 2"),
        (["q"], ["x"], 0, "dtype int32 for component 0, got string"),
    ]:
        put = raw.BarrierInsertMany(
            handle=barrier, keys=keys, values=values, component_index=component
        )
        with pytest.raises(errors.InvalidArgumentError, match=text):
            session.run(put)


# ---- staging areas


def test_a_staging_area(session):
    kind = {"dtypes": [tf.int32, tf.string], "shared_name": "area"}
    for number, word in [(1, "x"), (2, "y")]:
        session.run(raw.Stage(values=[number, word], shared_name="area"))
    assert session.run(raw.StageSize(**kind)) == 2
    assert session.run(raw.StagePeek(index=1, **kind)) == [2, b"y"]
    assert session.run(raw.Unstage(**kind)) == [1, b"x"]
    session.run(raw.StageClear(**kind))
    with pytest.raises(errors.DeadlineExceededError):
        session.run(raw.Unstage(**kind), options=soon())


def test_bounds_of_a_staging_area(session):
    put = raw.Stage(values=[[1, 2]], shared_name="one", capacity=1)
    session.run(put)
    with pytest.raises(errors.DeadlineExceededError):
        session.run(put, options=soon())
    large = raw.Stage(values=[np.zeros(100, np.int32)], shared_name="small", memory_limit=100)
    with pytest.raises(errors.ResourceExhaustedError, match="400 bytes"):
        session.run(large)
    taken = raw.Unstage(dtypes=[tf.int32], shared_name="one", capacity=1)
    thread = threading.Thread(target=lambda: session.run(put))
    thread.start()
    assert session.run([taken])[0][0].tolist() == [1, 2]
    thread.join()


@pytest.mark.parametrize("kind", ["Map", "OrderedMap"])
def test_a_staging_area_with_keys(session, kind):
    def op(name, **more):
        full = {"dtypes": [tf.int32, tf.string], "shared_name": kind, **more}
        return getattr(raw, kind + name)(**full)

    def put(key, indices, values):
        return op("Stage", key=np.int64(key), indices=indices, values=values)

    sizes = [op("Size"), op("IncompleteSize")]
    for key in (5, 3, 9):
        session.run(put(key, [0, 1], [key * 10, str(key)]))
    assert session.run(op("Unstage", key=np.int64(3), indices=[0, 1])) == [30, b"3"]
    assert session.run(op("Peek", key=np.int64(9), indices=[1, 0], dtypes=[tf.string, tf.int32]))
    session.run(put(1, [0], [7]))
    assert session.run(sizes) == [2, 1]
    with pytest.raises(errors.InvalidArgumentError, match="does not have yet"):
        session.run(put(1, [0], [7]))
    session.run(put(1, [1], ["one"]))
    assert session.run(sizes) == [3, 0]
    key, values = session.run(op("UnstageNoKey", indices=[0, 1]))
    assert (key, values[1]) == ((1, b"one") if kind == "OrderedMap" else (5, b"5"))
    part = op("Unstage", key=np.int64(9), indices=[1], dtypes=[tf.string])
    assert session.run(part) == [b"9"]
    assert session.run(sizes) == [2, 0]
    session.run(op("Clear"))
    assert session.run(sizes) == [0, 0]
    with pytest.raises(errors.InvalidArgumentError, match=r"index in \[0, 2\)"):
        session.run(put(4, [0, 2], [1, "x"]))


# ---- mutexes and critical sections


def test_one_holder_at_a_time(session):
    mutex = raw.MutexV2(shared_name="m")
    token = raw.MutexLock(mutex=mutex)
    session.run(raw.ConsumeMutexLock(mutex_lock=token))
    session.run(raw.MutexLock(mutex=mutex).op)  # given back with its step
    session.run(raw.ConsumeMutexLock(mutex_lock=token))


def test_a_critical_section_eagerly():
    section, total = tf.CriticalSection(), tf.Variable(0)
    assert [int(section.execute(lambda: total.assign_add(1))) for _ in range(3)] == [1, 2, 3]
    assert section.execute(lambda: None) is None
    with pytest.raises(ZeroDivisionError):
        section.execute(lambda: 1 / 0)
    assert int(section.execute(lambda: total.assign_add(1))) == 4

    @tf.function
    def twice():
        add = lambda: total.assign_add(10)  # noqa: E731
        return section.execute(add), section.execute(add)

    assert [int(x) for x in twice()] == [14, 24]
    values = section.execute(lambda: tf.TensorArray(tf.int32, 1).write(0, 3))
    assert values.stack().numpy().tolist() == [3]
    with pytest.raises(ValueError, match="while inside of it"):
        section.execute(tf.function(lambda: section.execute(lambda: total.assign_add(1))))
    with pytest.raises(tf.errors.FailedPreconditionError, match="wait for itself"):
        section.execute(twice)  # traced before
    assert [int(x) for x in twice()] == [34, 44]


def test_a_critical_section_orders_reads_and_writes(session):
    section = tf.CriticalSection()
    total = v1.Variable(0, use_resource=True)

    def add():
        before = total.read_value()
        with tf.control_dependencies([before]):
            return total.assign(before + 1, read_value=False)

    adds = [section.execute(add) for _ in range(8)]
    session.run(v1.global_variables_initializer())
    for _ in range(3):
        session.run(adds)
    assert session.run(total) == 24
    found = section.execute(lambda: (tf.constant(1), {"a": total.read_value()}))
    assert session.run(found) == (1, {"a": 24})


def test_sections_that_would_wait_for_each_other_are_refused(session):
    one, other = tf.CriticalSection(), tf.CriticalSection(name="other")
    total = v1.Variable(0, use_resource=True)
    with pytest.raises(ValueError, match="while inside of it"):
        one.execute(lambda: one.execute(lambda: tf.constant(1)))
    one.execute(lambda: total.assign_add(1))
    with pytest.raises(ValueError, match="expected exclusive access"):
        other.execute(lambda: total.assign_add(1))


def test_kernels_that_wait_do_not_hold_up_what_they_wait_for(session):
    """What comes after different waits is never compiled into one region."""
    first, second = (v1.FIFOQueue(1, tf.float32, shapes=[()]) for _ in range(2))
    value = tf.exp(first.dequeue()) * 2
    put = second.enqueue(value)
    result = tf.exp(second.dequeue()) * 2
    session.run(first.enqueue(0.0))
    with tf.control_dependencies([put]):
        both = tf.identity(value)
    found = session.run([result, both], options=v1.RunOptions(timeout_in_ms=20000))
    np.testing.assert_allclose(found, [2 * np.exp(2.0), 2.0], rtol=1e-6)


def test_one_thread_is_enough():
    with tf.Graph().as_default():
        queue = v1.FIFOQueue(1, tf.int32, shapes=[()])
        taken, put = queue.dequeue(), queue.enqueue(3)
        config = v1.ConfigProto(inter_op_parallelism_threads=1)
        with v1.Session(config=config) as made:
            options = v1.RunOptions(timeout_in_ms=20000)
            assert made.run([taken, put], options=options)[0] == 3


def test_sections_eagerly_give_tensors_and_do_not_wait_for_themselves():
    section, other = tf.CriticalSection(), tf.CriticalSection()
    found = section.execute(lambda: [1, None, {"a": np.ones(2)}])
    assert found[0].numpy() == 1
    assert found[1] is None
    assert isinstance(found[2]["a"], tf.Tensor)
    assert section.execute(lambda: other.execute(lambda: 3)).numpy() == 3
    with pytest.raises(ValueError, match="while inside of it"):
        section.execute(lambda: section.execute(lambda: 1))
    assert section.execute(lambda: 2).numpy() == 2


def test_sections_of_a_graph_have_its_names(session):
    section, shared = tf.CriticalSection(name="cs"), tf.CriticalSection(shared_name="q")
    assert (section.name, shared.name) == ("cs", "CriticalSection")
    found = {op.name: op.get_attr("shared_name") for op in session.graph.get_operations()}
    assert found == {"cs": b"cs/", "CriticalSection": b"q"}
    assert v1.get_collection("critical_sections") == [section, shared]


def test_a_barrier_is_cancelled_once(session):
    barrier = raw.Barrier(component_types=[tf.int32], shapes=[[]])
    close = raw.BarrierClose(handle=barrier)
    cancel = raw.BarrierClose(handle=barrier, cancel_pending_enqueues=True)
    for step in (close, close, cancel):
        session.run(step)
    for step in (close, cancel):
        with pytest.raises(errors.CancelledError, match="already closed"):
            session.run(step)


def test_a_padding_queue_has_a_shape_for_each_component():
    with pytest.raises(ValueError, match="expected 2 shapes"):
        tf.queue.PaddingFIFOQueue(5, [tf.int32, tf.int32], [[None]])
