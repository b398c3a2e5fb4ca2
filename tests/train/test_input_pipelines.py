"""Input pipelines of graph mode: producers, batches, queue runners."""

import contextlib

import numpy as np
import pytest

import penstock as tf
from penstock import errors

v1 = tf.compat.v1
train = v1.train


def until_the_end(session, tensors, limit):
    try:
        for _ in range(limit):
            yield session.run(tensors)
    except errors.OutOfRangeError:
        return


def results(build, limit=50):
    """What a pipeline gives until its end."""
    with tf.Graph().as_default():
        v1.set_random_seed(5)
        tensors = build()
        with v1.Session() as session:
            session.run(v1.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = train.start_queue_runners(session, coord)
            found = list(until_the_end(session, tensors, limit))
            assert len(found) < limit
            coord.request_stop()
            coord.join(threads)
            return found


def numbers(count, epochs=1, **options):
    options = {"shuffle": False, **options}
    return train.range_input_producer(count, num_epochs=epochs, **options).dequeue()


def test_integers_epoch_by_epoch():
    assert results(lambda: numbers(4, 2)) == [0, 1, 2, 3, 0, 1, 2, 3]


def test_the_shuffled_order_is_tensorflows():
    found = results(lambda: numbers(6, 2, shuffle=True, seed=3))
    assert found == [2, 0, 4, 5, 1, 3, 0, 5, 1, 2, 3, 4]


def test_strings():
    def build():
        return train.string_input_producer(["a", "b"], num_epochs=1, shuffle=False).dequeue()

    assert results(build) == [b"a", b"b"]
    with pytest.raises(ValueError, match="non-null"), tf.Graph().as_default():
        train.string_input_producer([])


def test_an_empty_tensor_of_strings_is_refused_when_it_runs():
    with tf.Graph().as_default(), v1.Session() as session:
        taken = train.string_input_producer(tf.constant([], tf.string), shuffle=False).dequeue()
        coord = tf.train.Coordinator()
        threads = train.start_queue_runners(session, coord)
        with pytest.raises(errors.OpError):
            session.run(taken)
        with pytest.raises(errors.InvalidArgumentError, match="non-null"):
            coord.join(threads)


def rows():
    columns = [tf.constant([1, 2, 3, 4, 5]), tf.constant(list("abcde"))]
    return train.slice_input_producer(columns, num_epochs=1, shuffle=False)


def test_batches_keep_the_structure():
    def build():
        number, word = rows()
        made = train.batch({"n": number, "w": word}, 2)
        assert {k: (t.name, t.shape.as_list()) for k, t in made.items()} == {
            "n": ("batch:0", [2]),
            "w": ("batch:1", [2]),
        }
        return made

    found = results(build)
    assert [f["n"].tolist() for f in found] == [[1, 2], [3, 4]]
    assert found[1]["w"].tolist() == [b"c", b"d"]


def test_the_last_batch_may_be_smaller():
    found = results(lambda: train.batch(rows(), 2, allow_smaller_final_batch=True))
    assert [f[0].tolist() for f in found] == [[1, 2], [3, 4], [5]]


def test_batches_of_many():
    def build():
        table = tf.constant([[1, 2], [3, 4]])
        source = train.input_producer(table, num_epochs=2, shuffle=False)
        return train.batch(source.dequeue_many(2), 3, enqueue_many=True, num_threads=1)

    assert [f.tolist() for f in results(build)] == [[[1, 2], [3, 4], [1, 2]]]


def test_padding():
    def build():
        return train.batch([tf.ones([numbers(4)], tf.int32)], 2, dynamic_pad=True)

    assert [f.tolist() for f in results(build)] == [[[0], [1]], [[1, 1, 0], [1, 1, 1]]]
    with pytest.raises(ValueError, match="All shapes must be fully defined"):
        results(lambda: train.batch([tf.ones([numbers(4)])], 2))


def test_shuffled_batches_hold_everything_once():
    def build():
        return train.shuffle_batch([numbers(10)], 3, 10, 4, seed=7, allow_smaller_final_batch=True)

    found = np.concatenate(results(build)).tolist()
    assert sorted(found) == list(range(10))
    with pytest.raises(ValueError, match="capacity 3 must be bigger"), tf.Graph().as_default():
        train.shuffle_batch([tf.constant(1)], 2, 3, 3)


@pytest.mark.parametrize("shuffle", [False, True])
def test_several_sources(shuffle):
    def build():
        sources = [[numbers(4) + 10 * i] for i in range(2)]
        if shuffle:
            return train.shuffle_batch_join(sources, 2, 8, 1)
        return train.batch_join(sources, 2)

    found = np.concatenate(results(build)).tolist()
    assert sorted(found) == [0, 1, 2, 3, 10, 11, 12, 13]


def test_some_are_left_out():
    def one():
        number = numbers(10)
        return train.maybe_batch([number], number % 2 > 0, 2)

    def many():
        source = train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue_many(5)
        return train.maybe_batch([source], source % 2 > 0, 2, enqueue_many=True)

    def joined():
        number = numbers(10)
        return train.maybe_batch_join([[number]], number % 2 > 0, 2)

    for build in (one, many, joined):
        assert [f.tolist() for f in results(build)] == [[1, 3], [5, 7]]

    def shuffled(join):
        number = numbers(10)
        if join:
            return train.maybe_shuffle_batch_join([[number]], 5, 20, 1, number % 2 > 0)
        return train.maybe_shuffle_batch([number], 5, 20, 1, number % 2 > 0)

    for join in (False, True):
        found = results(lambda join=join: shuffled(join))
        assert sorted(np.concatenate(found).tolist()) == [1, 3, 5, 7, 9]


def test_an_error_of_a_source_reaches_the_coordinator():
    with tf.Graph().as_default(), v1.Session() as session:
        bad = tf.debugging.check_numerics(1.0 / tf.zeros([]), "no number")
        made = train.batch([bad], 1)
        coord = tf.train.Coordinator()
        threads = train.start_queue_runners(session, coord)
        with pytest.raises((errors.OutOfRangeError, errors.CancelledError)):
            session.run(made)
        with pytest.raises(errors.InvalidArgumentError, match="no number"):
            coord.join(threads)


def test_without_a_coordinator_errors_are_kept():
    with tf.Graph().as_default(), v1.Session() as session:
        queue = v1.FIFOQueue(3, tf.float32)
        put = queue.enqueue(tf.debugging.check_numerics(1.0 / tf.zeros([]), "no number"))
        runner = train.QueueRunner(queue, [put])
        for thread in runner.create_threads(session, start=True):
            thread.join()
        assert [type(e) for e in runner.exceptions_raised] == [errors.InvalidArgumentError]


def test_threads_start_once_for_a_session():
    with tf.Graph().as_default(), v1.Session() as session:
        numbers(3, None)
        coord = tf.train.Coordinator()
        assert len(train.start_queue_runners(session, coord)) == 2
        assert train.start_queue_runners(session, coord) == []
        coord.request_stop()
        coord.join()


def test_queue_runners_travel_with_a_meta_graph():
    with tf.Graph().as_default():
        source = train.string_input_producer(["a", "b"], num_epochs=1, shuffle=False)
        name = train.batch([source.dequeue()], 2, name="pair").name
        message = train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        train.import_meta_graph(message)
        runners = graph.get_collection("queue_runners")
        assert [r.name for r in runners] == ["input_producer", "pair/fifo_queue"]
        assert runners[0].queue_closed_exception_types == (errors.OutOfRangeError,)
        with v1.Session() as session:
            session.run(v1.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = train.start_queue_runners(session, coord)
            assert session.run(name).tolist() == [b"a", b"b"]
            coord.request_stop()
            coord.join(threads)


def test_wrong_arguments():
    with tf.Graph().as_default():
        queue = v1.FIFOQueue(3, tf.int32)
        with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
            train.QueueRunner(queue)
        with pytest.raises(TypeError, match=r"tuple of tf\.error types"):
            train.QueueRunner(queue, [1], queue_closed_exception_types=5)
        with pytest.raises(ValueError, match="No default session"):
            train.start_queue_runners()
        with pytest.raises(TypeError, match=r"tf\.Session"):
            train.start_queue_runners(5)
        with pytest.raises(ValueError, match="num_epochs must be > 0"):
            train.limit_epochs(tf.constant(1), 0)
        with pytest.raises(ValueError, match="at least one tensor"):
            train.batch([], 2)
        row = tf.SparseTensor([[0]], [1], [3])
        with pytest.raises(ValueError, match="Inconsistent SparseTensors list"):
            train.batch_join([[row], [tf.constant(1)]], 2)


def test_graphs_only():
    with pytest.raises(RuntimeError, match=r"tf\.data"):
        train.range_input_producer(3)
    with pytest.raises(ValueError, match=r"tf\.data"):
        train.batch([1], 2)
    with pytest.raises(RuntimeError, match=r"tf\.data"):
        train.QueueRunner()


def sparse_row(number):
    """A vector of ten with `number` at that place."""
    at = tf.cast(number, tf.int64)
    return tf.SparseTensor([[at]], [tf.cast(number, tf.float32)], [10])


def as_matrix(row):
    return tf.sparse.reshape(tf.sparse.expand_dims(row, 0), [1, 10])


@pytest.mark.parametrize(
    ("take", "rows"),
    [
        (lambda n, x: train.batch([n, x], 3), [[0, 1, 2], [3, 4, 5]]),
        (
            lambda n, x: train.batch([n, x], 4, allow_smaller_final_batch=True),
            [[0, 1, 2, 3], [4, 5]],
        ),
        (
            lambda n, x: train.batch([tf.reshape(n, [1]), as_matrix(x)], 3, enqueue_many=True),
            [[0, 1, 2], [3, 4, 5]],
        ),
        (lambda n, x: train.batch([n, x], 3, dynamic_pad=True), [[0, 1, 2], [3, 4, 5]]),
        (lambda n, x: train.maybe_batch([n, x], n % 2 < 1, 3), [[0, 2, 4]]),
        (lambda n, x: train.batch_join([[n, x], [n, x]], 3), None),
        (lambda n, x: train.shuffle_batch([n, x], 3, 8, 1), None),
    ],
)
def test_sparse_tensors_in_batches(take, rows):
    """Values as TensorFlow 2.21 gives them."""
    with tf.Graph().as_default(), v1.Session() as session:
        number = train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
        fetches = take(number, sparse_row(number))
        assert fetches[1].shape.rank == 2
        session.run(v1.local_variables_initializer())
        coord = train.Coordinator()
        threads = train.start_queue_runners(session, coord)
        found = []
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while len(found) < 9:
                numbers, sparse = session.run(fetches)
                found.append(numbers.tolist())
                assert sparse.indices.tolist() == [[i, n] for i, n in enumerate(found[-1])]
                assert sparse.values.tolist() == found[-1]
                assert sparse.dense_shape.tolist() == [len(found[-1]), 10]
        coord.request_stop()
        coord.join(threads)
    assert found == rows or (rows is None and sorted([*found[0], *found[1]]) == list(range(6)))


def test_sparse_tensors_by_name():
    with tf.Graph().as_default(), v1.Session() as session:
        number = train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
        found = train.batch({"row": sparse_row(number), "number": number}, 2)
        assert isinstance(found["row"], tf.SparseTensor)
        session.run(v1.local_variables_initializer())
        coord = train.Coordinator()
        threads = train.start_queue_runners(session, coord)
        assert session.run(found)["row"].values.tolist() == [0.0, 1.0]
        coord.request_stop()
        coord.join(threads)


def test_names_of_files_that_match():
    with tf.Graph().as_default():
        found = v1.train.match_filenames_once("*.txt")
        named = v1.train.match_filenames_once(["*.txt", "*.csv"], name="mine")
        assert [found.name, named.name] == ["matching_filenames:0", "mine:0"]
        assert v1.local_variables() == [found, named]


def test_records_of_readers_have_names():
    with tf.Graph().as_default():
        reader, queue = v1.TextLineReader(), v1.FIFOQueue(2, tf.string, shapes=[()])
        assert reader.read(queue)._fields == ("key", "value")
        assert reader.read_up_to(queue, 2)._fields == ("keys", "values")


@pytest.mark.parametrize("name", ["batch", "shuffle_batch", "batch_join", "shuffle_batch_join"])
def test_batches_that_leave_out_have_the_names_of_those_that_do_not(name):
    with tf.Graph().as_default():
        one = [tf.constant(1)]
        tensors = [one, one] if name.endswith("join") else one
        rest = (2, 10, 3) if name.startswith("shuffle") else (2,)
        plain = getattr(v1.train, name)(tensors, *rest)
        keep = tf.constant(True)
        arguments = (*rest, keep) if name.startswith("shuffle") else (keep, *rest)
        some = getattr(v1.train, f"maybe_{name}")(tensors, *arguments)
    assert (plain.name, some.name) == (f"{name}:0", f"{name}_1:0")
