"""Datasets of generators: GeneratorDataset."""

import gc

import numpy as np
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

G = tf.data.Dataset.from_generator
S = tf.TensorSpec
INT = S([], tf.int32)


def of(*items):
    return lambda: iter(items)


def test_signatures():
    assert values(G(of(1, 2, 3), tf.int64)) == [1, 2, 3]
    assert G(of(1), tf.int64).element_spec == S(None, tf.int64)
    assert G(of(1), tf.int64, []).element_spec == S([], tf.int64)
    assert G(of(1), output_signature=INT).element_spec == INT
    pairs = G(of((1, "a"), (2, b"b")), (tf.int32, tf.string), ([], []))
    assert pairs.element_spec == (INT, S([], tf.string))
    assert values(pairs) == [[1, b"a"], [2, b"b"]]
    found = G(of({"a": 1, "b": [1.5]}), {"b": tf.float32, "a": tf.int32}, {"a": [], "b": [None]})
    assert found.element_spec == {"a": INT, "b": S([None], tf.float32)}
    assert values(found) == [{"a": 1, "b": [1.5]}]
    assert int(found.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert values(G(lambda: [1, 2], tf.int32, name="listed")) == [1, 2]


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ({"output_types": tf.int32, "output_signature": INT}, TypeError, "`output_types` argument"),
        ({"output_shapes": [], "output_signature": INT}, TypeError, "`output_shapes` argument"),
        ({}, TypeError, "you need to provide either"),
        ({"generator": [1], "output_types": tf.int32}, TypeError, "must be a Python callable"),
        ({"output_signature": tf.int32}, TypeError, "subclass of `tf.TypeSpec` but found"),
        ({"output_signature": [INT]}, TypeError, "subclass of `tf.TypeSpec` but found"),
        ({"output_types": [tf.int32]}, TypeError, "Cannot convert"),
        ({"output_types": tf.int32, "args": 3}, TypeError, "must be a sequence"),
        (
            {"output_types": (tf.int32, tf.int32), "output_shapes": ([],)},
            ValueError,
            "same nested structure",
        ),
    ],
)
def test_signatures_that_are_none(given, kind, text):
    with pytest.raises(kind, match=text):
        G(**{"generator": of(1), **given})


def test_arguments_are_arrays():
    kinds = lambda *args: iter([type(a).__name__ for a in args])  # noqa: E731
    found = values(G(kinds, tf.string, args=([3, 4], tf.constant(1), "text")))
    assert found == [b"ndarray", b"int32", b"bytes"]
    assert values(G(range, tf.int64, [], args=(3,))) == [0, 1, 2]


def test_values_are_converted_as_by_numpy():
    cases = [
        (1.5, tf.int32, 1), (np.float64(1.5), tf.float32, 1.5), ("1", tf.int32, 1),
        (-1, tf.uint8, 255), (True, tf.float32, 1.0), (2, tf.bool, True), (1.5, tf.bfloat16, 1.5),
        (np.str_("a"), tf.string, b"a"), (tf.constant(2.5), tf.int64, 2),
    ]  # fmt: skip
    for value, dtype, wanted in cases:
        assert values(G(of(value), output_signature=S([], dtype))) == [wanted]
    assert values(G(of(np.array(["a", "b"])), tf.string, [2])) == [[b"a", b"b"]]


BAD = "InvalidArgumentError"


@pytest.mark.parametrize(
    ("signature", "items", "wanted"),
    [
        (INT, (1, "x", 3), [1, BAD, 3]),
        (INT, (1, [1, 2], None, 3), [1, BAD, BAD, 3]),
        (S(None, tf.int32), (1, "x", 1.5, tf.constant(2.5), 3), [1, BAD, BAD, BAD, 3]),
        (S(None, tf.int32), ([[1, 2], [3]], None, [4]), [BAD, BAD, [4]]),
        ((INT, INT), ((1, 2), 1, (1, 2, 3), [1, 2]), [[1, 2], BAD, BAD, BAD]),
        ({"a": INT}, ({"a": 1}, {"b": 1}, {"a": 2, "b": 3}), [{"a": 1}, BAD, BAD]),
    ],
)
def test_what_does_not_fit_is_an_error_in_its_place(signature, items, wanted):
    dataset = G(of(*items), output_signature=signature)
    assert outcomes(dataset) == wanted


def test_errors_tell_what_was_expected():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        values(G(of([1, 2]), output_signature=INT))
    assert "of shape (2,) where an element of shape () was expected" in str(caught.value)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("v"), "InvalidArgumentError"),
        (TypeError("t"), "InvalidArgumentError"),
        (MemoryError("m"), "ResourceExhaustedError"),
        (NotImplementedError("n"), "UnimplementedError"),
        (KeyError("k"), "UnknownError"),
        (tf.errors.NotFoundError(None, None, "f"), "UnknownError"),
    ],
)
def test_exceptions_of_the_generator(raised, kind):
    def generate():
        yield 1
        raise raised

    class Going:
        def __init__(self):
            self.count = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.count += 1
            if self.count == 2:
                raise raised
            if self.count > 3:
                raise StopIteration
            return self.count

    def at_once():
        raise raised

    assert outcomes(G(generate, tf.int32)) == [1, kind]
    assert outcomes(G(Going, tf.int32)) == [1, kind, 3]
    assert outcomes(G(at_once, tf.int32)) == [kind]
    assert outcomes(G(lambda: 3, tf.int32)) == [BAD]


def test_an_error_names_the_exception():
    def generate():
        raise KeyError("here")
        yield

    with pytest.raises(tf.errors.UnknownError, match="KeyError: 'here'") as caught:
        values(G(generate, tf.int32))
    assert isinstance(caught.value.__cause__, KeyError) or "generate" in str(caught.value)


def test_composite_tensors():
    rows = tf.ragged.constant([[1], [2, 3]])
    ragged = G(of(rows, rows), output_signature=tf.RaggedTensorSpec([2, None], tf.int32))
    assert values(ragged) == [[[1], [2, 3]]] * 2
    spec = (tf.SparseTensorSpec([1, 2], tf.int32), INT)
    sparse = tf.sparse.from_dense([[1, 0]])
    value = tf.compat.v1.SparseTensorValue([[0, 0]], np.array([1], np.int32), [1, 2])
    dataset = G(of((sparse, 3), (value, 4), (sparse, 1.5)), output_signature=spec)
    assert outcomes(dataset) == [[[[1, 0]], 3], [[[1, 0]], 4], BAD]
    wrong = G(of(3, tf.ragged.constant([["a"]])), output_signature=ragged.element_spec)
    assert outcomes(wrong) == [BAD, BAD]


def counted(log):
    def generate(stop):
        log.append("begun")
        try:
            yield from range(stop)
        finally:
            log.append("closed")

    return G(generate, output_signature=S([], tf.int64), args=(5,))


def test_saved_in_each_place():
    dataset = counted([])
    assert check_everywhere(lambda: dataset) == list(range(5))
    assert check_everywhere(lambda: dataset.map(lambda x: x + 1).batch(2)) == [[1, 2], [3, 4], [5]]

    def failing():
        yield 1
        yield "x"
        yield 3

    iterator = iter(G(failing, output_signature=INT))
    next(iterator)
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(iterator)
    state = saved(iterator)
    again = iter(G(failing, output_signature=INT))
    again._state.restore(state)
    assert [int(x) for x in again] == [3]


def test_a_closed_iterator_goes_nowhere():
    iterator = iter(G(lambda: iter([1, 2]), output_signature=INT))
    next(iterator)
    state = saved(iterator)
    iterator._state.close()
    with pytest.raises(tf.errors.CancelledError):
        iterator._state.restore(state)


def test_a_place_is_not_saved_unasked():
    iterator = iter(counted([]))
    next(iterator)
    with pytest.raises(tf.errors.FailedPreconditionError, match="PyFunc is stateful"):
        iterator._state.save()


def test_functions_and_graphs():
    assert in_function(lambda: counted([]), 5) == in_session(lambda: counted([])) == list(range(5))
    numbers = tf.data.Dataset.range(3).flat_map(lambda n: G(range, tf.int64, [], args=(n,)))
    assert values(numbers) == [0, 0, 1]


def test_a_generator_is_closed_when_nobody_wants_more():
    log = []
    dataset = counted(log)
    iterator = iter(dataset)
    assert log == []
    next(iterator)
    assert log == ["begun"]
    del iterator
    gc.collect()
    assert log == ["begun", "closed"]
    assert values(dataset.take(2).repeat(2)) == [0, 1, 0, 1]
    gc.collect()
    assert log == ["begun", "closed"] * 3
    assert values(dataset) == list(range(5))
    assert log == ["begun", "closed"] * 4
