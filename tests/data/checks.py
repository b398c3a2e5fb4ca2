"""What every dataset must do, as functions that tests of transformations call.

`check_dataset` runs all of it for a dataset that a function makes: elements as expected, restored
at every position, as many as the cardinality says, the same in a function and in a session, and of
the shapes and dtypes that the structure says. `plain` is an element as Python values.
"""

import math
from typing import Any

import penstock as tf
from penstock.core.composite import CompositeTensor
from penstock.core.execute import execute
from penstock.data.base import DatasetBase
from penstock.data.structure import Structure, spec_of
from penstock.util import nest

MOST = 50  # elements that are looked at, where there are more or infinitely many


def plain(element: Any) -> Any:
    """An element as nests of numbers, bytes and lists; a dataset as the list of its elements."""
    if isinstance(element, tuple):
        return tuple(plain(e) for e in element)
    if isinstance(element, dict):
        return {k: plain(v) for k, v in element.items()}
    if isinstance(element, DatasetBase):
        return [plain(e) for e in element]
    if isinstance(element, (tf.RaggedTensor, tf.compat.v1.ragged.RaggedTensorValue)):
        return element.to_list()
    if isinstance(element, (tf.SparseTensor, tf.compat.v1.SparseTensorValue)):
        return tuple(plain(p) for p in (element.indices, element.values, element.dense_shape))
    array = element.numpy() if hasattr(element, "numpy") else element
    return array.tolist() if hasattr(array, "tolist") else array


def values(dataset: Any, most: int = MOST) -> list[Any]:
    """The first elements of a dataset, as Python values."""
    return take(iter(dataset), most)


def take(iterator: Any, most: int = MOST) -> list[Any]:
    """The next elements of an iterator; an error stands as its class's name."""
    found: list[Any] = []
    while len(found) < most:
        try:
            found.append(plain(next(iterator)))
        except StopIteration:
            break
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
    return found


def same(a: Any, b: Any) -> bool:
    """Whether two results of `plain` are the same; NaN is NaN."""
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


def check_dataset(make: Any, expected: list[Any] | None = None, **kwargs: Any) -> list[Any]:
    """Runs every check of this module for the datasets that `make()` gives.

    Args:
      make: makes a dataset; each has the same elements.
      expected: the elements as `plain` gives them.
      **kwargs: `windows` for elements that hold datasets, which are read eagerly alone; `errors`
        for elements that fail, where a cardinality counts all; `saved` False for what cannot be.

    Returns:
      The elements.
    """
    dataset = make()
    found = values(dataset)
    assert expected is None or same(found, expected), found
    check_cardinality(dataset, found)
    check_structure(dataset)
    if kwargs.get("saved", True):
        check_iterator_checkpointing(make, found)
    if not kwargs.get("windows") and not kwargs.get("errors"):
        check_in_function(make, found)
        check_in_session(make, found)
    return found


def check_iterator_checkpointing(make: Any, expected: list[Any] | None = None) -> None:
    """A state that was saved at any position gives the rest, in another iterator and in its own."""
    expected = values(make()) if expected is None else expected
    saving = iter(make())
    ends = len(expected) < MOST
    for position in range(len(expected) + ends):
        state = saving._serialize_to_tensors()
        fresh = iter(make())
        if position % 2:
            take(fresh, 1)  # one that has moved
        fresh._restore_from_tensors(state)
        rest = take(fresh, len(expected) - position)
        assert same(rest, expected[position:]), (position, rest, expected[position:])
        again = take(saving, 1)
        assert same(again, expected[position : position + 1]), (position, again)
    if ends:
        state = saving._serialize_to_tensors()  # behind the end
        fresh = iter(make())
        fresh._restore_from_tensors(state)
        assert take(fresh, 1) == []


def check_cardinality(dataset: Any, found: list[Any]) -> None:
    """The cardinality is the number of elements, or unknown."""
    known = int(dataset.cardinality())
    if known == tf.data.INFINITE_CARDINALITY:
        assert len(found) == MOST
    elif known != tf.data.UNKNOWN_CARDINALITY and len(found) < MOST:
        assert known == len(found), (known, len(found))


def check_structure(dataset: Any) -> None:
    """Each element is what `element_spec` says."""
    specs = nest.flatten(dataset.element_spec)
    iterator = iter(dataset)
    for _ in range(MOST):
        try:
            element = next(iterator)
        except StopIteration:
            return
        except tf.errors.OpError:
            continue
        for spec, leaf in zip(specs, nest.flatten(element), strict=True):
            assert spec.is_compatible_with(leaf), (spec, leaf)
            if isinstance(leaf, CompositeTensor):
                assert spec.is_compatible_with(spec_of(leaf)), (spec, leaf)


def check_in_function(make: Any, expected: list[Any]) -> None:
    """A dataset that a function makes and reads has the same elements."""
    count = min(len(expected), 5)

    @tf.function
    def read() -> Any:
        iterator = iter(make())
        first = [iterator.get_next() for _ in range(count)]
        return first, iterator.get_next_as_optional().has_value()

    first, more = read()
    assert same([plain(e) for e in first], expected[:count]), first
    assert bool(more) == (len(expected) > count)


def check_in_session(make: Any, expected: list[Any]) -> None:
    """A dataset of a graph has the same elements."""
    with tf.Graph().as_default():
        dataset = make()
        structure = Structure(dataset.element_spec)
        attrs = {**structure.attrs, "shared_name": "", "container": ""}
        iterator = execute("IteratorV2", (), attrs)
        begin = execute("MakeIterator", (dataset._variant_tensor, iterator))
        parts = execute("IteratorGetNext", (iterator,), structure.attrs)
        element = structure.pack(parts if isinstance(parts, (list, tuple)) else [parts])
        fetches = nest.flatten(element)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.tables_initializer())
            session.run(begin)
            for each in expected[:10]:
                got = nest.pack_sequence_as(element, session.run(fetches))
                assert same(plain(got), each), (got, each)
            if len(expected) < 10:
                try:
                    session.run(fetches)
                except tf.errors.OutOfRangeError:
                    return
                raise AssertionError("expected the end of the elements")
