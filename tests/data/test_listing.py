"""Datasets of names, lists and random numbers: MatchingFilesDataset ListDataset RandomDataset
ExperimentalMatchingFilesDataset ExperimentalRandomDataset RandomDatasetV2 AnonymousSeedGenerator
DummySeedGenerator DeleteSeedGenerator.
"""

import pytest
from tests.data.file_checks import (
    check_everywhere,
    in_function,
    in_session,
    outcomes,
    saved,
    values,
)

import penstock as tf
from penstock.data.base import dataset_class
from penstock.data.structure import Structure

D = tf.data.Dataset
NUMBER = {"output_types": [tf.int64], "output_shapes": [[]]}


def dataset_of(variant, dtype):
    return dataset_class()(variant, Structure(tf.TensorSpec([], dtype)))


@pytest.fixture
def folder(tmp_path):
    for name in ("l1", "l2", "m1"):
        (tmp_path / name).touch()
    return tmp_path


def names(folder, *found):
    return [str(folder / name).encode() for name in found]


def test_names_in_order(folder):
    patterns = [str(folder / "m*"), str(folder / "l*"), str(folder / "l1")]
    make = lambda: D.list_files(patterns, shuffle=False)  # noqa: E731
    wanted = names(folder, "l1", "l1", "l2", "m1")
    assert check_everywhere(make) == wanted
    assert in_function(make, 4) == in_session(make) == wanted
    assert int(make().cardinality()) == 4
    assert values(D.list_files(str(folder / "m*"), False)) == names(folder, "m1")


@pytest.mark.skipif(not hasattr(D, "shuffle"), reason="datasets are not shuffled yet")
def test_names_in_a_random_order(folder):
    pattern = str(folder / "*")
    assert sorted(values(D.list_files(pattern))) == names(folder, "l1", "l2", "m1")
    first, again = (values(D.list_files(pattern, seed=3, name="names")) for _ in range(2))
    assert first == again
    assert int(D.list_files(pattern).cardinality()) == 3


def test_no_names(folder):
    for patterns in (str(folder / "no*"), [str(folder / "no*"), str(folder / "none")]):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"No files matched pattern: .*/no"
        ):
            D.list_files(patterns)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched pattern"):
        D.list_files([])
    with pytest.raises(tf.errors.InvalidArgumentError, match="No files matched pattern"):
        in_session(lambda: D.list_files(str(folder / "no*"), shuffle=False))
    with pytest.raises(TypeError, match="Cannot convert 3"):
        D.list_files(3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar or vector"):
        D.list_files([[str(folder / "l*")]], shuffle=False)


@pytest.mark.parametrize("op", ["MatchingFilesDataset", "ExperimentalMatchingFilesDataset"])
def test_matching_files(folder, op):
    def read(*patterns):
        return dataset_of(getattr(tf.raw_ops, op)(patterns=list(patterns)), tf.string)

    some = [str(folder / "m*"), str(folder / "no"), str(folder / "l*"), str(folder / "l1")]
    wanted = names(folder, "m1", "l1", "l2", "l1")
    assert check_everywhere(lambda: read(*some)) == wanted
    assert outcomes(read(str(folder / "no*"))) == ["NotFoundError"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar or a vector"):
        getattr(tf.raw_ops, op)(patterns=[["a"]])


# ---- lists


def test_lists():
    from_list = tf.data.experimental.from_list
    assert check_everywhere(lambda: from_list([1, 2, 3])) == [1, 2, 3]
    assert in_function(lambda: from_list([1, 2, 3]), 3) == [1, 2, 3]
    assert in_session(lambda: from_list([1, 2, 3])) == [1, 2, 3]
    assert values(from_list([(1, "a"), (2, "b")])) == [[1, b"a"], [2, b"b"]]
    assert values(from_list([{"a": 1}, {"a": 2}], name="listed")) == [{"a": 1}, {"a": 2}]
    rows = from_list([[1], [1, 2]])
    assert rows.element_spec == tf.TensorSpec([None], tf.int32)
    assert values(rows) == [[1], [1, 2]]
    assert int(rows.cardinality()) == 2
    ragged = tf.ragged.constant([[1], [2, 3]])
    assert values(from_list([ragged, ragged])) == [[[1], [2, 3]]] * 2
    assert values(from_list([D.range(2), D.range(3)]).flat_map(lambda x: x)) == [0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ([], ValueError, "should not be empty"),
        (None, ValueError, "should not be empty"),
        ((1, 2), ValueError, "must be a list"),
        ([1, (2, 3)], ValueError, "same nested structure"),
        ([1, "a"], TypeError, "incompatible"),
        ([1, 2.5], TypeError, "incompatible"),
    ],
)
def test_lists_that_are_none(given, kind, text):
    with pytest.raises(kind, match=text):
        tf.data.experimental.from_list(given)


def test_a_list_of_too_few_tensors():
    two = {"output_types": [tf.int32] * 2, "output_shapes": [[]] * 2}
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected 2 tensors for each"):
        tf.raw_ops.ListDataset(tensors=[1, 2, 3], **two)


# ---- random numbers


@pytest.fixture
def seed():
    def set_seed(value):
        tf.random.set_seed(value)

    yield set_seed
    tf.random.set_seed(None)


def test_random_numbers_are_tensorflows(seed):
    seed(None)
    first = [3128586565, 2023892699, 452966358]
    make = lambda: D.random(seed=4).take(3)  # noqa: E731
    assert check_everywhere(make) == first
    assert in_function(make, 3) == first
    assert in_session(make) == first
    assert values(D.random(seed=4).skip(1).batch(2).take(1)) == [first[1:]]
    assert values(D.random(seed=4).skip(300).take(1)) == values(D.random(seed=4).take(301))[300:]
    dataset = D.random(seed=4)
    assert int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY
    assert dataset.element_spec == tf.TensorSpec([], tf.int64)
    seed(7)
    assert values(make()) == [3004760025, 2982476881, 1015416266]
    assert values(D.random().take(3)) == [1105907554, 2543705845, 1425053807]


def test_other_numbers_each_time(seed):
    seed(None)
    dataset = D.random(seed=4, rerandomize_each_iteration=True).take(2)
    assert values(dataset) == [1905554911, 4215726141]
    assert values(dataset.repeat(2)) == [1683472663, 2279948892, 3140632116, 4291497019]
    iterator = iter(dataset)
    before = int(next(iterator))
    state = saved(iterator)
    other = iter(dataset)
    assert int(next(other)) != before
    other._state.restore(state)
    assert [int(x) for x in other] == [int(x) for x in iterator]


def test_numbers_that_nobody_chose(seed):
    seed(None)
    dataset = D.random(name="numbers").take(4)
    assert values(dataset) == values(dataset)
    assert values(dataset) != values(D.random().take(4))


@pytest.mark.parametrize("op", ["RandomDataset", "ExperimentalRandomDataset"])
def test_operations_on_random_numbers(op):
    variant = getattr(tf.raw_ops, op)(seed=1, seed2=2, **NUMBER)
    found = values(dataset_of(variant, tf.int64).take(4))
    assert found == [3878945999, 2364392915, 1057429302, 168492509]


def test_generators_of_seeds():
    def numbers(handle, **given):
        variant = tf.raw_ops.RandomDatasetV2(
            seed=1, seed2=2, seed_generator=handle, **NUMBER, **given
        )
        return dataset_of(variant, tf.int64).take(2)

    handle, deleter = tf.raw_ops.AnonymousSeedGenerator(seed=87654321, seed2=4, reshuffle=True)
    assert values(numbers(handle)) == [1905554911, 4215726141]
    assert values(numbers(handle)) == [1683472663, 2279948892]
    tf.raw_ops.DeleteSeedGenerator(handle=handle, deleter=deleter)
    handle, _ = tf.raw_ops.AnonymousSeedGenerator(seed=1, seed2=2, reshuffle=False)
    assert values(numbers(handle)) == values(numbers(handle)) == [3878945999, 2364392915]
    assert values(numbers(tf.raw_ops.DummySeedGenerator())) == [3878945999, 2364392915]
    iterator = tf.raw_ops.AnonymousIteratorV3(**NUMBER)
    with pytest.raises(tf.errors.InvalidArgumentError, match="handle of a seed generator"):
        numbers(iterator)


# ---- counting


@pytest.mark.skipif(not hasattr(D, "scan"), reason="datasets are not scanned yet")
def test_counts():
    assert check_everywhere(lambda: D.counter(2, 3).take(3)) == [2, 5, 8]
    assert values(D.counter(2, -3, tf.int32).take(3)) == [2, -1, -4]
    assert values(D.counter(2.5, 0.5, tf.float32).take(3)) == [2.5, 3.0, 3.5]
    assert values(D.counter(100, 20, tf.int8, name="counts").take(3)) == [100, 120, -116]
    assert values(tf.data.experimental.Counter(step=2).take(2)) == [0, 2]
    assert int(D.counter().cardinality()) == tf.data.INFINITE_CARDINALITY
    assert D.counter().element_spec == tf.TensorSpec([], tf.int64)
    with pytest.raises(ValueError, match="dtype int64"):
        D.counter(tf.constant([1, 2], tf.int32))
