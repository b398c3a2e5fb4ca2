"""Shuffled and interleaved datasets. The orders are TensorFlow's for these seeds.

ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3 ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2
AnonymousRandomSeedGenerator DeleteRandomSeedGenerator ParallelInterleaveDatasetV2
ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4 ParallelInterleaveDataset
ExperimentalParallelInterleaveDataset LegacyParallelInterleaveDatasetV2
"""

import numpy as np
import pytest
from tests.data.checks import check_dataset, values

import penstock as tf
from penstock.core.execute import execute
from penstock.data.base import dataset_class
from penstock.data.structure import Structure

D = tf.data.Dataset
E = tf.data.experimental

ORDERS = {
    1: list(range(20)),
    2: [0, 2, 1, 3, 5, 6, 4, 7, 8, 10, 9, 12, 13, 14, 15, 16, 11, 17, 19, 18],
    3: [1, 2, 0, 3, 6, 4, 8, 5, 9, 10, 7, 12, 14, 15, 16, 13, 18, 17, 19, 11],
    5: [2, 4, 0, 3, 8, 1, 9, 10, 5, 13, 12, 14, 15, 7, 6, 19, 16, 17, 11, 18],
    8: [4, 0, 6, 7, 9, 10, 5, 1, 12, 8, 3, 2, 15, 17, 19, 14, 16, 13, 11, 18],
    17: [14, 1, 15, 8, 9, 18, 10, 4, 12, 0, 3, 5, 2, 17, 19, 7, 16, 13, 6, 11],
    20: [12, 5, 8, 2, 9, 18, 10, 4, 0, 14, 3, 1, 15, 17, 19, 7, 16, 13, 6, 11],
}
ORDERS[1000] = ORDERS[-2] = ORDERS[20]


@pytest.fixture(autouse=True)
def _no_global_seed():
    tf.random.set_seed(None)
    yield
    tf.random.set_seed(None)


def made(op, inputs, spec=None, **attrs):
    structure = Structure(tf.TensorSpec([], tf.int64) if spec is None else spec)
    return dataset_class()(execute(op, inputs, {**structure.attrs, **attrs}), structure)


@pytest.mark.parametrize("size", ORDERS)
def test_shuffle_has_tensorflows_order(size):
    assert values(D.range(20).shuffle(size, seed=7)) == ORDERS[size]
    plain = D.range(20).map(lambda x: x).filter(lambda x: True)  # not stacked
    assert values(plain.shuffle(size, seed=7)) == ORDERS[size]


def test_shuffle_over_iterations():
    dataset = D.range(8).shuffle(8, seed=7)
    orders = [[4, 5, 2, 3, 1, 6, 0, 7], [5, 1, 3, 7, 6, 2, 0, 4], [7, 4, 6, 0, 1, 5, 2, 3]]
    assert [values(dataset) for _ in range(3)] == orders
    assert values(D.range(8).shuffle(8, seed=7).repeat(3)) == [x for order in orders for x in order]
    same = D.range(8).shuffle(8, seed=7, reshuffle_each_iteration=False)
    assert values(same) == values(same) == [7, 5, 3, 0, 4, 2, 6, 1]
    assert values(D.range(8).repeat(2).shuffle(3, seed=7)) == (
        [1, 2, 0, 3, 6, 4, 0, 5, 1, 2, 7, 4, 6, 7, 5, 3]
    )  # fmt: skip


def test_shuffle_and_the_global_seed():
    tf.random.set_seed(5)
    assert values(D.range(8).shuffle(8)) == [1, 5, 2, 0, 3, 6, 4, 7]
    tf.random.set_seed(5)
    assert values(D.range(8).shuffle(8, seed=3)) == [4, 6, 0, 7, 5, 3, 2, 1]
    tf.random.set_seed(0)
    for seed, expected in {
        0: [2, 3, 1, 7, 5, 0, 4, 6], -1: [6, 5, 2, 1, 4, 7, 3, 0], 2**40: [1, 7, 4, 3, 0, 2, 6, 5],
    }.items():  # fmt: skip
        assert values(D.range(8).shuffle(8, seed=seed)) == expected


def test_shuffle_in_graphs_and_functions():
    tf.random.set_seed(5)

    @tf.function
    def read():
        iterator = iter(D.range(8).shuffle(8, seed=7).repeat(2))
        return tf.stack([next(iterator) for _ in range(16)])

    expected = [3, 5, 2, 1, 7, 4, 0, 6, 2, 7, 6, 0, 4, 5, 1, 3]
    assert read().numpy().tolist() == read().numpy().tolist() == expected
    tf.random.set_seed(None)
    with tf.Graph().as_default():
        seed = tf.compat.v1.placeholder(tf.int64, [])
        dataset = D.range(8).shuffle(8, seed=seed)
        attrs = dataset._structure.attrs
        iterator = execute("IteratorV2", (), {**attrs, "shared_name": "", "container": ""})
        begin = execute("MakeIterator", (dataset._variant_tensor, iterator))
        (element,) = execute("IteratorGetNext", (iterator,), attrs)
        with tf.compat.v1.Session() as session:
            for _ in range(2):  # each initialization begins with the same order
                session.run(begin, {seed: 7})
                assert [int(session.run(element)) for _ in range(8)] == [4, 5, 2, 3, 1, 6, 0, 7]


def test_shuffle_is_saved_at_every_position():
    check_dataset(lambda: D.range(12).shuffle(5, seed=3).repeat(2))
    check_dataset(lambda: D.range(9).shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(2))
    ragged = tf.ragged.constant([[1], [2, 3], [], [4]])
    check_dataset(lambda: D.from_tensor_slices((ragged, ["a", "b", "c", "d"])).shuffle(2, seed=1))


def test_shuffle_errors():
    for size in (0, -1, -3):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"greater than zero.*{size}"):
            D.range(3).shuffle(size)
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
        D.range(3).shuffle([2])
    for seed in ("a", 1.5):
        with pytest.raises(TypeError):
            D.range(3).shuffle(2, seed=seed)
    with pytest.raises(ValueError):
        D.range(3).shuffle(2, seed=tf.constant(7))
    with pytest.raises(TypeError, match="reshuffle_each_iteration"):
        D.range(3).shuffle(2, reshuffle_each_iteration="x")
    failing = D.range(4).map(
        lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x - 1, "float"), "")
    )
    found = values(failing.shuffle(2, seed=1))
    assert found.count("InvalidArgumentError") == 1
    assert len(found) == 4


def test_shuffle_and_repeat():
    first = [1, 3, 5, 4, 0, 2, 5, 1, 3, 0, 4, 2, 0, 3, 4, 2, 5, 1]
    tf.random.set_seed(0)
    dataset = D.range(6).apply(E.shuffle_and_repeat(10, 3, seed=7))
    assert values(dataset) == first
    assert values(dataset) == [2, 5, 1, 0, 3, 4, 0, 4, 3, 2, 1, 5, 0, 4, 2, 5, 3, 1]
    tf.random.set_seed(None)
    check_dataset(lambda: D.range(5).apply(E.shuffle_and_repeat(3, 2, seed=7)))
    assert values(D.range(0).apply(E.shuffle_and_repeat(3, -1))) == []
    with pytest.raises(tf.errors.InvalidArgumentError, match="count must be"):
        D.range(3).apply(E.shuffle_and_repeat(3, 0))
    numbers = [tf.constant(n, tf.int64) for n in (10, 87654321, 7, 2)]
    variant = D.range(6)._variant_tensor
    old = made("ShuffleAndRepeatDataset", (variant, *numbers))
    assert values(old) == values(D.range(6).shuffle(10, seed=7).repeat(2))


def test_generators_of_seeds_are_shared():
    three, four = tf.constant(3, tf.int64), tf.constant(4, tf.int64)
    handle, deleter = execute("AnonymousSeedGenerator", (three, four, True))
    size = tf.constant(5, tf.int64)
    variant = D.range(10)._variant_tensor
    found = [values(made("ShuffleDatasetV2", (variant, size, handle))) for _ in range(3)]
    assert found == [
        [2, 0, 6, 5, 8, 3, 7, 4, 1, 9], [4, 1, 5, 3, 0, 7, 2, 9, 6, 8],
        [4, 1, 6, 2, 3, 7, 0, 5, 8, 9],
    ]  # fmt: skip
    execute("DeleteSeedGenerator", (handle, deleter))
    handle, deleter = execute("AnonymousRandomSeedGenerator", (three, four))
    assert values(made("ShuffleDatasetV2", (variant, size, handle))) == found[0]
    execute("DeleteRandomSeedGenerator", (handle, deleter))
    with pytest.raises(tf.errors.InvalidArgumentError, match="seed generator"):
        made("ShuffleDatasetV2", (variant, size, execute("DummySeedGenerator", ())))


def repeated(x):
    return D.from_tensors(x).repeat(x + 1)


INTERLEAVED = {
    (1, 2): [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4],
    (2, None): [0, 1, 1, 2, 2, 3, 2, 3, 3, 4, 3, 4, 4, 4, 4],
    (2, 2): [0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4, 4],
    (3, 1): [0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 3, 4, 4, 4],
    (5, 2): [0, 1, 1, 2, 2, 3, 3, 4, 4, 2, 3, 3, 4, 4, 4],
}


@pytest.mark.parametrize("calls", [None, 1, -1])
@pytest.mark.parametrize("lengths", INTERLEAVED)
def test_interleave(lengths, calls):
    cycle, block = lengths
    check_dataset(
        lambda: D.range(5).interleave(repeated, cycle, block, num_parallel_calls=calls),
        INTERLEAVED[lengths],
    )


def test_interleave_in_any_order_has_every_element():
    dataset = D.range(5).interleave(
        repeated, 3, num_parallel_calls=3, deterministic=False
    )  # fmt: skip
    assert sorted(values(dataset)) == sorted(INTERLEAVED[1, 2])
    assert sorted(values(D.range(5).interleave(repeated))) == sorted(INTERLEAVED[1, 2])


def test_interleave_passes_empty_datasets_and_errors():
    def upto(x):
        return D.range(x % 3)

    for calls in (None, 2):
        dataset = D.range(6).interleave(upto, 2, 2, num_parallel_calls=calls)
        assert values(dataset) == [0, 0, 1, 0, 0, 1]

    def ratios(x):
        return D.range(3).map(
            lambda y: tf.debugging.check_numerics(1.0 / tf.cast(y - x, tf.float32), "")
        )

    bad = "InvalidArgumentError"
    found = values(D.range(2).interleave(ratios, 2))
    assert found == [bad, 1.0, -1.0, 0.5, bad, 1.0]
    found = values(D.range(2).interleave(ratios, 2, num_parallel_calls=2))
    assert found == [bad, -1.0, 1.0, bad, 0.5, 1.0]


def test_interleave_errors():
    for cycle, block, calls in ((0, 1, None), (-2, 1, None), (2, 0, None), (2, 1, 3), (2, 1, 0)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            D.range(5).interleave(repeated, cycle, block, num_parallel_calls=calls)
    with pytest.raises(TypeError, match="must return a `Dataset`"):
        D.range(5).interleave(lambda x: x, 2)


def test_parallel_interleave():
    dataset = D.range(5).apply(E.parallel_interleave(repeated, 2, 2))
    assert values(dataset) == INTERLEAVED[2, 2]
    sloppy = D.range(5).apply(E.parallel_interleave(repeated, 2, 2, sloppy=True))
    assert sorted(values(sloppy)) == sorted(INTERLEAVED[1, 2])
    for name in ("cycle_length", "block_length", "buffer_output_elements"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=name):
            D.range(5).apply(E.parallel_interleave(repeated, **{"cycle_length": 2, name: 0}))


def test_older_parallel_operations():
    body = tf.function(lambda x: repeated(x)._variant_tensor).get_concrete_function(
        tf.TensorSpec([], tf.int64)
    )
    variant = D.range(5)._variant_tensor
    two, one = tf.constant(2, tf.int64), tf.constant(1, tf.int64)
    for name, rest, attrs in (
        ("ParallelInterleaveDatasetV2", (two,), {}),
        ("ParallelInterleaveDatasetV3", (two,), {}),
        ("ParallelInterleaveDataset", (False, one, one), {}),
        ("ExperimentalParallelInterleaveDataset", (False, one, one), {}),
    ):
        found = made(name, (variant, [], two, one, *rest), f=body, **attrs)
        assert values(found) == INTERLEAVED[2, None], name


def test_a_long_shuffle_gives_each_element_once():
    found = np.array([int(x) for x in D.range(20000).shuffle(1000)])
    assert sorted(found.tolist()) == list(range(20000))
    assert (found - np.arange(20000)).max() < 1000  # none before it can be in the buffer
