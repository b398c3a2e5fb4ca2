"""Datasets that work on several elements at once, and older forms that graphs hold.

BatchDataset ParallelBatchDataset ParallelMapDataset MapAndBatchDataset
ExperimentalMapAndBatchDataset ParallelFilterDataset FilterByLastComponentDataset
"""

from typing import Any

import pytest

import penstock as tf
from penstock.core.execute import execute

D = tf.data.Dataset
AUTOTUNE = tf.data.AUTOTUNE


def source(count: int) -> Any:
    """Elements that are not stacked."""
    return D.range(count).flat_map(D.from_tensors)


def numbers(dataset: Any) -> list[Any]:
    return [x.tolist() for x in dataset.as_numpy_iterator()]


def derived(name: str, dataset: Any, inputs: tuple[Any, ...], spec: Any, **attrs: Any) -> Any:
    return dataset._derived(name, (dataset._variant_tensor, *inputs), spec, attrs)


def body(dataset: Any, function: Any) -> Any:
    """The traced function that a method gave to its operation."""
    graph = tf.Graph()
    with graph.as_default():
        dataset().map(function)
    return [op for op in graph.get_operations() if op.type == "MapDataset"][-1].attrs["f"]


@pytest.mark.parametrize("make", [D.range, source])
@pytest.mark.parametrize("calls", [1, 2, AUTOTUNE])
def test_stacks(make: Any, calls: int) -> None:
    assert numbers(make(5).batch(2, num_parallel_calls=calls)) == [[0, 1], [2, 3], [4]]
    whole = make(5).batch(2, True, calls)
    assert numbers(whole) == [[0, 1], [2, 3]]
    assert whole.element_spec == tf.TensorSpec([2], tf.int64)
    assert int(whole.cardinality()) == (2 if make is D.range else -2)
    loose = make(8).batch(2, num_parallel_calls=calls, deterministic=False)
    assert sorted(numbers(loose)) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_stacks_of_other_shapes_cost_themselves() -> None:
    rows = source(6).map(lambda x: tf.zeros([x // 3 + tf.cast(x > 4, tf.int64)]))
    iterator = iter(rows.batch(2, num_parallel_calls=2))
    assert next(iterator).shape == (2, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="different shapes"):
        next(iterator)
    with pytest.raises(tf.errors.InvalidArgumentError, match="different shapes"):
        next(iterator)
    assert next(iterator, None) is None


@pytest.mark.parametrize("position", range(4))
def test_stacks_go_on_from_anywhere(position: int) -> None:
    iterator = iter(source(7).batch(2, num_parallel_calls=2))
    for _ in range(position):
        next(iterator)
    other = iter(source(7).batch(2, num_parallel_calls=2))
    other._state.restore(iterator._state.save())
    wanted = [[0, 1], [2, 3], [4, 5], [6]][position:]
    assert [x.numpy().tolist() for x in other] == wanted
    assert [x.numpy().tolist() for x in iterator] == wanted


def test_calls_are_some() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero, got 0"):
        D.range(3).batch(2, num_parallel_calls=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Batch size .* got 0"):
        D.range(3).batch(0, num_parallel_calls=1)


def test_order_without_parallel_calls_is_warned_of() -> None:
    for make in (lambda **k: D.range(3).batch(2, **k), lambda **k: D.range(3).map(abs, **k)):
        with pytest.warns(UserWarning, match="no effect unless the `num_parallel_calls`"):
            make(deterministic=True)


@pytest.mark.parametrize("make", [D.range, source])
def test_older_forms(make: Any) -> None:
    one, many = tf.TensorSpec([], tf.int64), tf.TensorSpec([None], tf.int64)
    double = body(lambda: make(9), lambda x: x * 2)
    even = body(lambda: make(9), lambda x: x % 2 == 0)
    assert numbers(derived("BatchDataset", make(3), (2,), many)) == [[0, 1], [2]]
    for sloppy in (False, True):
        old = derived("ParallelMapDataset", make(4), ([], 2), one, f=double, sloppy=sloppy)
        assert sorted(numbers(old)) == [0, 2, 4, 6]
    for name in ("MapAndBatchDataset", "ExperimentalMapAndBatchDataset"):
        for drops, wanted in ((False, [[0, 2], [4]]), (True, [[0, 2]])):
            made = derived(name, make(3), ([], 2, 2, drops), many, f=double)
            assert numbers(made) == wanted
            assert int(made.cardinality()) == (len(wanted) if make is D.range else -2)
    for calls in (1, 2):
        made = derived("ParallelFilterDataset", make(5), ([], calls), one, predicate=even)
        assert numbers(made) == [0, 2, 4]


def test_the_last_component_chooses() -> None:
    pairs = D.range(4).map(lambda x: (x, x > 1))
    made = derived("FilterByLastComponentDataset", pairs, (), tf.TensorSpec([], tf.int64))
    assert numbers(made) == [2, 3]
    assert int(execute("DatasetCardinality", (made._variant_tensor,))) == -2
