"""Datasets and iterators in tf.function: loops, built-ins, arguments, results."""

import numpy as np
import pytest

import penstock as tf
from penstock.data import run

D = tf.data.Dataset


@tf.function
def total(dataset):
    result = tf.constant(0, tf.int64)
    for x in dataset:
        result += x
    return result


def test_a_dataset_is_looped_over():
    assert int(total(D.range(5))) == 10
    assert int(total(D.range(7).map(lambda x: x * 2))) == 42
    assert int(total(D.range(0))) == 0
    assert total.experimental_get_tracing_count() == 1


def test_an_iterator_stands_behind_the_last_element_of_a_round():
    @tf.function
    def until_two(iterator):
        result = tf.constant(0, tf.int64)
        for x in iterator:
            result += x
            if x >= 2:
                break
        return result

    iterator = iter(D.range(6))
    assert int(until_two(iterator)) == 3
    assert int(next(iterator)) == 3
    assert int(until_two(iterator)) == 4
    assert int(next(iterator)) == 5
    assert int(until_two(iterator)) == 0


def test_continue_break_and_return():
    @tf.function
    def f(dataset):
        result = tf.constant(0, tf.int64)
        for x in dataset:
            if x == 2:
                continue
            if x > 5:
                break
            result += x
        return result

    @tf.function
    def first_above(dataset, limit):
        for x in dataset:
            if x > limit:
                return x * 10
        return tf.constant(-1, tf.int64)

    assert int(f(D.range(10))) == 13
    assert int(first_above(D.range(10), 3)) == 40
    assert int(first_above(D.range(2), 3)) == -1


def test_nested_loops_and_structures():
    @tf.function
    def f(dataset):
        result = tf.constant(0, tf.int64)
        for parts in dataset:
            for y in D.range(parts["n"]):
                result += y * parts["by"][0]
        return result

    dataset = D.zip({"n": D.range(4), "by": (D.range(1, 5),)})
    assert int(f(dataset)) == 1 * 3 + 3 * 4


def test_a_dataset_of_datasets():
    @tf.function
    def f(dataset):
        result = tf.constant(0, tf.int64)
        for inner in dataset:
            for y in inner:
                result += y
        return result

    assert int(f(D.range(6).map(D.range))) == 20


def test_values_that_a_round_gives_stay_after_the_loop():
    @tf.function
    def last(dataset):
        for x in dataset:
            y = x * 2
        return y, x

    assert [int(v) for v in last(D.range(5))] == [8, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least once to initialize"):
        last(D.range(0))


def test_sizes_that_change_are_left_open():
    @tf.function
    def gathered(dataset):
        found = tf.zeros([0], tf.int64)
        for x in dataset:
            found = tf.concat([found, [x]], 0)
        return found

    @tf.function
    def declared(iterator):
        found = tf.zeros([0], tf.int64)
        for x in iterator:
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(found, tf.TensorShape([None]))]
            )
            found = tf.concat([found, [x]], 0)
        return found

    assert gathered(D.range(4)).numpy().tolist() == [0, 1, 2, 3]
    assert declared(iter(D.range(4))).numpy().tolist() == [0, 1, 2, 3]


def test_gradients_through_the_loop():
    v = tf.Variable(2.0)

    @tf.function
    def loss(dataset):
        result = 0.0
        for x in dataset:
            result += v * v * tf.cast(x, tf.float32)
        return result

    with tf.GradientTape() as tape:
        y = loss(D.range(5))
    assert float(tape.gradient(y, v)) == 40.0


def test_a_training_loop():
    v = tf.Variable(2.0)

    @tf.function
    def train(dataset):
        for x in dataset:
            with tf.GradientTape() as tape:
                y = v * v * x
            v.assign_sub(0.01 * tape.gradient(y, v))

    train(D.from_tensor_slices([0.0, 1.0, 2.0]))
    assert np.isclose(float(v), 2.0 * 0.98 * 0.96)


def test_builtins():
    @tf.function
    def f(dataset):
        zipped = mapped = filtered = tf.constant(0, tf.int64)
        for x, y in zip(dataset, dataset):  # noqa: B905
            zipped += x * y
        for x in map(lambda a: a + 1, dataset):  # noqa: C417
            mapped += x
        for x in filter(lambda a: a > 2, dataset):
            filtered += x
        return zipped, mapped, filtered, len(dataset)

    assert [int(x) for x in f(D.range(5))] == [30, 15, 7, 5]


def test_any_and_all():
    @tf.function
    def f(dataset):
        return any(dataset), all(dataset)

    found = [f(D.from_tensor_slices(v)) for v in ([True, False], [True, True], [False, False])]
    assert [[bool(x) for x in r] for r in found] == [[True, False], [True, True], [False, False]]
    with pytest.raises(ValueError, match=r"expected elements that are bool\[\]"):
        f(D.range(3))


def test_a_length_that_is_not_known():
    @tf.function
    def f(dataset):
        return len(dataset)

    with pytest.raises(tf.errors.InvalidArgumentError, match="infinite"):
        f(D.range(5).repeat())
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown"):
        f(D.range(5).filter(lambda x: x > 2))


def test_next():
    @tf.function
    def f(iterator):
        return next(iterator)

    @tf.function
    def g(iterator):
        return next(iterator, -7)

    iterator = iter(D.range(2))
    assert [int(f(iterator)), int(g(iterator)), int(g(iterator))] == [0, 1, -7]
    with pytest.raises(tf.errors.OutOfRangeError):
        f(iterator)


def test_a_default_of_another_structure():
    @tf.function
    def f(iterator):
        return next(iterator, tf.constant("a"))

    with pytest.raises(TypeError, match="expected an element like TensorSpec"):
        f(iter(D.range(1)))


def test_optionals():
    @tf.function
    def f(iterator):
        result = tf.constant(0, tf.int64)
        optional = iterator.get_next_as_optional()
        while optional.has_value():
            result += optional.get_value()
            optional = iterator.get_next_as_optional()
        return result

    assert int(f(iter(D.range(5)))) == 10


def test_datasets_and_iterators_are_made_captured_and_returned():
    outside, iterator = D.range(4), iter(D.range(9))

    @tf.function
    def captured():
        return total(outside), iterator.get_next()

    @tf.function
    def made(n):
        dataset = D.range(n).map(lambda x: x + n)
        return dataset, iter(dataset)

    assert [int(x) for _ in range(2) for x in captured()] == [6, 0, 6, 1]
    assert int(next(iterator)) == 2
    dataset, begun = made(tf.constant(3, tf.int64))
    assert [int(x) for x in dataset] == [int(x) for x in begun] == [3, 4, 5]


def test_traces_differ_by_the_elements_alone():
    @tf.function
    def f(dataset):
        return next(iter(dataset))

    @tf.function
    def g(iterator):
        return next(iterator)

    for dataset in (D.range(3), D.range(4).map(lambda x: x)):
        f(dataset)
        g(iter(dataset))
    assert (f.experimental_get_tracing_count(), g.experimental_get_tracing_count()) == (1, 1)
    narrow = D.range(3, output_type=tf.int32)
    assert f(narrow).dtype is g(iter(narrow)).dtype is tf.int32
    f(D.range(4).batch(3))
    f(D.range(4).batch(2, drop_remainder=True))  # served by the more general trace
    assert (f.experimental_get_tracing_count(), g.experimental_get_tracing_count()) == (3, 2)


def test_a_trace_is_told_apart_by_what_an_optional_holds():
    @tf.function
    def f(optional):
        return optional.get_value()

    assert f(tf.experimental.Optional.from_value(1)).dtype is tf.int32
    assert f(tf.experimental.Optional.from_value(1.5)).dtype is tf.float32


def test_signatures():
    @tf.function(input_signature=[tf.data.DatasetSpec(tf.TensorSpec([None], tf.int64))])
    def f(dataset):
        result = tf.constant(0, tf.int64)
        for x in dataset:
            result += tf.reduce_sum(x)
        return result

    @tf.function(input_signature=[tf.data.IteratorSpec(tf.TensorSpec([], tf.int64))])
    def g(iterator):
        return next(iterator)

    assert int(f(D.range(4).batch(2))) == int(f(D.range(4).batch(2, drop_remainder=True))) == 6
    assert int(g(iter(D.range(4)))) == 0


def test_loops_that_run_eagerly():
    tf.config.run_functions_eagerly(True)
    try:
        assert int(total(D.range(4))) == 6
    finally:
        tf.config.run_functions_eagerly(False)


def test_loops_in_functions_of_elements():
    def digits(n):
        found = tf.constant(0, tf.int64)
        while n > 0:
            found += n % 10
            n //= 10
        if found > 9:
            found = -found
        return found

    assert [int(x) for x in D.from_tensor_slices([12, 305, 99]).map(
        lambda n: digits(tf.cast(n, tf.int64))
    )] == [3, 8, -18]  # fmt: skip


def test_what_functions_of_elements_capture():
    v = tf.Variable(10, dtype=tf.int64)
    dataset = D.range(3).map(lambda x: x + v)
    assert [int(x) for x in dataset] == [10, 11, 12]
    v.assign(20)
    assert [int(x) for x in dataset] == [20, 21, 22]
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.range(3, dtype=tf.int64), ["a", "b", "c"]), "?"
    )
    assert [x.numpy() for x in D.range(4).map(table.lookup)] == [b"a", b"b", b"c", b"?"]
    called = D.range(2).map(lambda x: tf.py_function(lambda y: y.numpy() * 2, [x], tf.int64))
    assert [int(x) for x in called] == [0, 2]
    generator = tf.random.Generator.from_seed(1)
    drawn = [float(x) for x in D.range(3).map(lambda _: generator.uniform([]))]
    assert len(set(drawn)) == 3
    doubled = tf.function(lambda x: x * 2)
    assert [int(x) for x in D.range(3).map(doubled)] == [0, 2, 4]


def test_errors_name_the_line_of_the_function():
    def bad(x):
        return tf.debugging.check_numerics(1.0 / tf.cast(x, tf.float32), "inverse")

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"test_functions\.py"):
        list(D.range(2).map(bad))


def test_a_pair_whose_second_part_is_a_dictionary_of_one():
    (found,) = D.zip((D.range(1), {"y": D.range(5, 6)}))
    assert (int(found[0]), int(found[1]["y"])) == (0, 5)


def test_a_loop_of_python_in_a_graph_ends():
    @tf.function
    @tf.autograph.experimental.do_not_convert
    def f(dataset):
        return list(dataset)

    with pytest.raises(RuntimeError, match="would never end"):
        f(D.range(3))


def test_enumerate_in_a_function():
    @tf.function
    def f(dataset):
        found = tf.constant(0, tf.int64)
        for i, x in enumerate(dataset, 3):
            found += i * x
        return found

    assert int(f(D.range(5))) == 60


def drawn(i):
    return tf.random.uniform([], seed=3)


def checked(i):
    with tf.control_dependencies([tf.debugging.assert_less(i, tf.constant(9, tf.int64))]):
        return tf.cond(i > 1, lambda: tf.random.uniform([], seed=5), lambda: 0.0)


@pytest.mark.parametrize("function", [drawn, checked])
def test_the_next_epoch_makes_no_plan(function, monkeypatch):
    dataset = D.range(4).map(function)
    first = list(dataset.as_numpy_iterator())
    made = []
    make = run.make_plan
    monkeypatch.setattr(run, "make_plan", lambda *a, **k: made.append(a) or make(*a, **k))
    second = list(dataset.as_numpy_iterator())
    assert made == []
    assert first == second


def test_iterators_draw_each_for_itself():
    """Though they share the plan of the function."""
    dataset = D.range(4).map(drawn)
    alone = list(dataset.as_numpy_iterator())
    a, b = iter(dataset), iter(dataset)
    taken = [float(next(each)) for each in (a, b, a, a, b, b)]
    assert len(set(alone)) == 4
    np.testing.assert_array_equal(taken, [alone[i] for i in (0, 0, 1, 2, 1, 2)])


def test_what_a_function_changes_stays_changed():
    total = tf.Variable(0, dtype=tf.int64)
    dataset = D.range(3).map(lambda i: total.assign_add(i))
    assert list(dataset.as_numpy_iterator()) == [0, 1, 3]
    assert list(dataset.as_numpy_iterator()) == [3, 4, 6]
