"""Iterators of graphs: one-shot, initializable, of a structure, by a string.

OneShotIterator IteratorToStringHandle IteratorFromStringHandle IteratorFromStringHandleV2
IteratorGetDevice ExperimentalIteratorGetDevice
"""

import threading
import time

import pytest

import penstock as tf

v1 = tf.compat.v1
D = v1.data.Dataset


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def taken(session, element, count, feeds=None):
    return [int(session.run(element, feeds)) for _ in range(count)]


def test_one_shot():
    limit = tf.constant(2, tf.int64) + 1
    element = D.range(limit).map(lambda x: x + 1).make_one_shot_iterator().get_next()
    assert (element.name, element.op.inputs[0].op.type) == ("IteratorGetNext:0", "OneShotIterator")
    with v1.Session() as session, v1.Session() as other:
        assert taken(session, element, 3) == [1, 2, 3]
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            session.run(element)
        assert taken(other, element, 1) == [1]


def test_one_shot_depends_on_nothing_that_changes():
    limit = v1.placeholder(tf.int64, [])
    with pytest.raises(ValueError, match="Cannot capture a placeholder"):
        D.range(limit).make_one_shot_iterator()
    v = v1.get_variable("v", shape=[], dtype=tf.int64)
    with pytest.raises(ValueError, match=r"a stateful node \(name:v,"):
        D.range(3).map(lambda x: x + v).make_one_shot_iterator()


def test_initializable():
    limit = v1.placeholder(tf.int64, [])
    iterator = v1.data.make_initializable_iterator(D.range(limit))
    element = iterator.get_next()
    assert (iterator.initializer.type, iterator.initializer.name) == ("MakeIterator",) * 2
    with v1.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="not been initialized"):
            session.run(element)
        session.run(iterator.initializer, {limit: 2})
        assert taken(session, element, 2) == [0, 1]
        session.run(iterator.initializer, {limit: 1})
        assert taken(session, element, 1) == [0]


def test_sessions_have_iterators_of_their_own():
    iterator = v1.data.make_initializable_iterator(D.range(5))
    element = iterator.get_next()
    with v1.Session() as one, v1.Session() as two:
        one.run(iterator.initializer)
        two.run(iterator.initializer)
        assert taken(one, element, 2) + taken(two, element, 1) == [0, 1, 0]


def test_iterators_share_a_name():
    iterator = v1.data.make_initializable_iterator(D.range(5), shared_name="shared")
    other = v1.data.Iterator.from_structure(tf.int64, tf.TensorShape([]), shared_name="shared")
    with v1.Session() as session:
        session.run(iterator.initializer)
        assert taken(session, iterator.get_next(), 1) + taken(session, other.get_next(), 1) == [
            0,
            1,
        ]


def test_one_of_a_structure():
    iterator = v1.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    low, high = iterator.make_initializer(D.range(2)), iterator.make_initializer(D.range(8, 9))
    element = iterator.get_next(name="element")
    assert (low.name, element.name) == ("make_initializer", "element:0")
    with v1.Session() as session:
        session.run(low)
        assert taken(session, element, 1) == [0]
        session.run(high)
        assert taken(session, element, 1) == [8]
    with pytest.raises(ValueError, match="does not have an initializer"):
        _ = iterator.initializer
    with pytest.raises(TypeError, match=r"output types tf\.int64 but got"):
        iterator.make_initializer(D.range(3, output_type=tf.int32))
    with pytest.raises(TypeError, match="output shapes compatible with"):
        iterator.make_initializer(D.range(3).batch(2))
    with pytest.raises(TypeError, match="output structure"):
        iterator.make_initializer(D.zip((D.range(3), D.range(2))))


def test_structures_are_told():
    types = (tf.int64, {"a": tf.string})
    iterator = v1.data.Iterator.from_structure(types, (tf.TensorShape([]), {"a": [None]}))
    assert iterator.output_types == types
    assert iterator.output_shapes == (tf.TensorShape([]), {"a": tf.TensorShape([None])})
    assert iterator.output_classes == (tf.Tensor, {"a": tf.Tensor})
    assert v1.data.Iterator.from_structure(tf.int64).output_shapes.rank is None
    sparse = v1.data.Iterator.from_structure(
        tf.int64, tf.TensorShape([None]), output_classes=tf.sparse.SparseTensor
    )
    assert sparse.element_spec == tf.SparseTensorSpec([None], tf.int64)
    dataset = D.range(3).batch(2)
    assert (dataset.output_types, dataset.output_classes) == (tf.int64, tf.Tensor)
    assert v1.data.get_output_shapes(dataset).as_list() == [None]


def test_a_string_chooses_an_iterator():
    handle = v1.placeholder(tf.string, [])
    chosen = v1.data.Iterator.from_string_handle(handle, tf.int64, tf.TensorShape([]))
    element = chosen.get_next()
    narrow = v1.data.Iterator.from_string_handle(handle, tf.int32).get_next()
    one = D.range(3).make_one_shot_iterator()
    two = v1.data.make_initializable_iterator(D.range(10, 13))
    with v1.Session() as session:
        handles = session.run([one.string_handle(), two.string_handle("named")])
        session.run(two.initializer)
        found = [int(session.run(element, {handle: handles[i % 2]})) for i in range(4)]
        assert found == [0, 10, 1, 11]
        with pytest.raises(tf.errors.InvalidArgumentError, match="types do not match"):
            session.run(narrow, {handle: handles[0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="not represent a valid"):
            session.run(element, {handle: b"abc"})
    with v1.Session() as other, pytest.raises(tf.errors.NotFoundError, match="does not exist"):
        other.run(element, {handle: handles[0]})


def test_devices_and_old_handles():
    iterator = D.range(3).make_one_shot_iterator()
    resource = iterator._iterator_resource
    old = tf.raw_ops.IteratorFromStringHandle(string_handle=iterator.string_handle())
    attrs = {"output_types": [tf.int64], "output_shapes": [[]]}
    element = tf.raw_ops.IteratorGetNext(iterator=old, **attrs)[0]
    devices = [
        tf.raw_ops.IteratorGetDevice(resource=resource),
        tf.raw_ops.ExperimentalIteratorGetDevice(resource=resource),
    ]
    with v1.Session() as session:
        assert set(session.run(devices)) == {b"/job:localhost/replica:0/task:0/device:CPU:0"}
        assert taken(session, element, 2) == [0, 1]


def test_classes():
    dataset = D.range(3)
    assert isinstance(dataset, tf.data.Dataset)
    assert type(dataset.map(lambda x: x).batch(2)) is D
    assert not isinstance(tf.data.Dataset.range(3), D)
    assert type(D.from_tensor_slices([1, 2])) is type(D.from_tensors(1)) is D
    legacy = dataset.map_with_legacy_function(lambda x: x * 2)
    element = legacy.filter_with_legacy_function(lambda x: x > 1).make_one_shot_iterator()
    assert type(legacy) is D
    with v1.Session() as session:
        assert taken(session, element.get_next(), 2) == [2, 4]


def test_many_calls_are_worth_a_warning():
    iterator = D.range(3).make_one_shot_iterator()
    for _ in range(32):
        iterator.get_next()
    with pytest.warns(UserWarning, match="unusually high number"):
        iterator.get_next()


def test_a_monitored_session_begins_it():
    iterator = v1.data.make_initializable_iterator(D.range(3))
    element = iterator.get_next()
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    found = []
    with v1.train.MonitoredTrainingSession() as session:
        while not session.should_stop():
            found.append(int(session.run(element)))
    assert found == [0, 1, 2]


def test_a_graph_is_written_and_read(graph):
    element = D.range(4).map(lambda x: x * 3).batch(2).make_one_shot_iterator().get_next()
    tf.identity(element, "out")
    message = graph.as_graph_def()
    with tf.Graph().as_default():
        (out,) = tf.import_graph_def(message, return_elements=["out:0"])
        with v1.Session() as session:
            assert [session.run(out).tolist() for _ in range(2)] == [[0, 3], [6, 9]]


def test_a_step_that_waits_for_an_element_ends_in_time():
    queue = tf.queue.FIFOQueue(2, [tf.int64], [[]])
    element = queue.enqueue(7)
    plain = D.range(3).map(lambda x: x + queue.dequeue())
    ahead = D.range(3).map(lambda x: x + queue.dequeue(), num_parallel_calls=2).prefetch(2)
    for dataset in (plain, ahead):
        iterator = v1.data.make_initializable_iterator(dataset)
        taken_ = iterator.get_next()
        with v1.Session() as session:
            session.run(iterator.initializer)
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(taken_, options=v1.RunOptions(timeout_in_ms=200))
            waiting = threading.Thread(target=_ends, args=(session, taken_))
            waiting.start()
            time.sleep(0.1)
            session.close()
            waiting.join(20)
            assert not waiting.is_alive()
    del element


def _ends(session, element):
    with pytest.raises((tf.errors.CancelledError, RuntimeError)):
        session.run(element)


def test_datasets_of_files_have_the_old_methods(tmp_path):
    path = tmp_path / "lines.csv"
    path.write_text("1,a\n2,b\n")
    lines = v1.data.TextLineDataset(str(path))
    rows = v1.data.experimental.CsvDataset(str(path), [tf.int32, tf.string])
    pairs = v1.data.FixedLengthRecordDataset(str(path), 4)
    counted = v1.data.experimental.Counter(5)
    assert isinstance(lines, tf.data.TextLineDataset)
    assert all(isinstance(d.take(1), D) for d in (lines, rows, pairs, counted))
    elements = [
        d.make_one_shot_iterator().get_next() for d in (lines, rows, pairs, counted.take(1))
    ]
    with v1.Session() as session:
        assert session.run(elements) == [b"1,a", (1, b"a"), b"1,a\n", 5]


def test_random_numbers():
    experimental = v1.data.experimental
    dataset = experimental.RandomDataset(3)
    assert isinstance(dataset, tf.data.experimental.RandomDataset)
    element = dataset.take(2).make_one_shot_iterator().get_next()
    with v1.Session() as session:
        one, other = taken(session, element, 2)
        assert one != other
    legacy = experimental.map_and_batch_with_legacy_function(lambda x: x + 1, 2)
    element = D.range(4).apply(legacy).make_one_shot_iterator().get_next()
    with v1.Session() as session:
        assert session.run(element).tolist() == [1, 2]


def test_one_shot_iterators_of_shuffled_and_cached_datasets():
    dataset = D.range(4).cache().shuffle(4, seed=1).repeat(2)
    element = dataset.make_one_shot_iterator().get_next()
    with v1.Session() as session:
        assert sorted(taken(session, element, 8)) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_rows_of_a_sparse_tensor():
    sparse = tf.sparse.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 2])
    element = D.from_sparse_tensor_slices(sparse).make_one_shot_iterator().get_next()
    with v1.Session() as session:
        found = [[x.tolist() for x in session.run(element)] for _ in range(3)]
    assert found == [[[[0], [1]], [1, 2], [2]], [[], [], [2]], [[[0]], [3], [2]]]
    with pytest.raises(TypeError, match="Invalid `sparse_tensor`"):
        D.from_sparse_tensor_slices([[1]])
