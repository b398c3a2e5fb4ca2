"""Caches: CacheDataset CacheDatasetV2 AnonymousMemoryCache DummyMemoryCache DeleteMemoryCache."""

import os

import pytest
from tests.data.checks import check_dataset, check_iterator_checkpointing, take, values
from tests.data.test_ordering import made
from tests.data.test_selecting import failing

import penstock as tf
from penstock.core.execute import execute

D = tf.data.Dataset


def counted():
    """A dataset, and the list of what was made for it."""
    log = []

    def note(x):
        log.append(int(x))
        return x

    def each(x):
        y = tf.py_function(note, [x], tf.int64)
        y.set_shape([])
        return y

    return D.range(4).map(each), log


def test_elements_are_made_once(tmp_path):
    for name in ("", str(tmp_path / "c")):
        dataset, log = counted()
        dataset = dataset.cache(name)
        assert values(dataset) == values(dataset) == [0, 1, 2, 3]
        assert log == [0, 1, 2, 3]
        assert values(dataset.repeat(2)) == [0, 1, 2, 3] * 2


def test_memory_is_saved_at_every_position():
    check_dataset(lambda: D.range(5).cache())
    check_dataset(lambda: D.range(4).map(lambda x: (x, "s")).cache().repeat(2))
    check_dataset(lambda: D.range(5).cache().skip(2))
    ragged, sparse = tf.ragged.constant([[1], [2, 3]]), tf.sparse.from_dense([[1, 0], [2, 3]])
    check_dataset(lambda: D.from_tensor_slices((ragged, sparse)).cache().repeat(2))


def test_what_was_not_finished_is_not_kept():
    dataset, log = counted()
    dataset = dataset.cache()
    take(iter(dataset), 2)
    assert values(dataset) == [0, 1, 2, 3]
    assert log == [0, 1, 0, 1, 2, 3]


def test_two_iterators_fill_a_memory():
    dataset = D.range(3).cache()
    both = [iter(dataset), iter(dataset)]
    assert [int(next(i)) for _ in range(3) for i in both] == [0, 0, 1, 1, 2, 2]
    assert [take(i) for i in both] == [[], []]


def test_errors_are_not_kept():
    dataset = failing(2, 4).cache()
    assert values(dataset) == [-0.5, -1.0, "InvalidArgumentError", 1.0]
    assert values(dataset) == [-0.5, -1.0, 1.0]


def test_files(tmp_path):
    prefix = str(tmp_path / "c")
    dataset = D.range(3).map(lambda x: (x, "s")).cache(prefix)
    iterator = iter(dataset)
    assert take(iterator, 2) == [(0, b"s"), (1, b"s")]
    assert os.listdir(tmp_path) == ["c_0.lockfile"]
    other = iter(dataset)
    with pytest.raises(tf.errors.AlreadyExistsError, match=r"concurrent.*c_0\.lockfile"):
        next(other)
    assert take(iterator) == [(2, b"s")]
    assert sorted(os.listdir(tmp_path)) == ["c.data-00000-of-00001", "c.index"]
    assert take(other) == [(0, b"s"), (1, b"s"), (2, b"s")]  # it reads by now
    names = tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
    assert sorted(names) == [f"      {e}_{c}" for e in range(3) for c in range(2)]
    assert values(D.range(9).map(lambda x: (x, "t")).cache(prefix)) == values(dataset)


def test_files_that_are_given_up_go(tmp_path):
    iterator = iter(D.range(3).cache(str(tmp_path / "c")))
    next(iterator)
    del iterator
    assert os.listdir(tmp_path) == []


def test_files_are_saved_at_every_position(tmp_path):
    numbers = iter(range(100))
    prefixes = {}

    def make():
        prefix = prefixes.setdefault("now", str(tmp_path / f"c{next(numbers)}"))
        return D.range(4).cache(prefix)

    check_iterator_checkpointing(make)
    ragged, sparse = tf.ragged.constant([[1], [2, 3]]), tf.sparse.from_dense([[1, 0], [2, 3]])
    rows = D.from_tensor_slices((ragged, sparse)).cache(str(tmp_path / "r"))
    assert values(rows) == values(rows) == values(D.from_tensor_slices((ragged, sparse)))


def test_a_writer_goes_on_where_it_was(tmp_path):
    dataset = D.range(4).cache(str(tmp_path / "c"))
    iterator = iter(dataset)
    take(iterator, 2)
    state = iterator._serialize_to_tensors()
    del iterator
    fresh = iter(dataset)
    fresh._restore_from_tensors(state)
    assert take(fresh) == [2, 3]
    assert values(dataset) == [0, 1, 2, 3]
    assert sorted(os.listdir(tmp_path)) == ["c.data-00000-of-00001", "c.index"]


def test_a_writer_goes_back(tmp_path):
    iterator = iter(D.range(4).cache(str(tmp_path / "c")))
    take(iterator, 2)
    state = iterator._serialize_to_tensors()
    take(iterator, 1)
    iterator._restore_from_tensors(state)
    assert take(iterator) == [2, 3]
    assert sorted(os.listdir(tmp_path)) == ["c.data-00000-of-00001", "c.index"]


def test_file_errors(tmp_path):
    prefix = str(tmp_path / "c")
    values(D.range(2).cache(prefix))
    with pytest.raises(tf.errors.InvalidArgumentError, match="another dataset"):
        next(iter(D.from_tensors("s").cache(prefix)))
    with pytest.raises(tf.errors.NotFoundError):
        next(iter(D.range(2).cache(str(tmp_path / "no" / "c"))))
    with pytest.raises(TypeError):
        D.range(2).cache(3)


def test_a_memory_that_is_named():
    handle, deleter = execute("AnonymousMemoryCache", ())
    first = made("CacheDatasetV2", (D.range(3)._variant_tensor, "", handle))
    second = made("CacheDatasetV2", (D.range(9)._variant_tensor, "", handle))
    assert values(first) == values(second) == [0, 1, 2]
    execute("DeleteMemoryCache", (handle, deleter))
    assert values(made("CacheDataset", (D.range(3)._variant_tensor, ""))) == [0, 1, 2]
    dummy = execute("DummyMemoryCache", ())
    assert values(made("CacheDatasetV2", (D.range(9)._variant_tensor, "", dummy)))[-1] == 8


def test_a_cache_is_named_with_a_scheme(tmp_path):
    dataset = tf.data.Dataset.range(3).cache(f"file://{tmp_path}/c")
    for _ in range(2):
        assert [int(x) for x in dataset] == [0, 1, 2]
    assert (tmp_path / "c.index").exists()


def test_a_lock_file_of_other_bytes(tmp_path):
    (tmp_path / "c_0.lockfile").write_bytes(b"\xff\xfe")
    with pytest.raises(tf.errors.AlreadyExistsError, match="concurrent caching iterator"):
        next(iter(tf.data.Dataset.range(3).cache(str(tmp_path / "c"))))
