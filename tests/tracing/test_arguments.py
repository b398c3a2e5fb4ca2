"""Arguments beside input signatures, relaxed signatures, and bodies that change their arguments."""

import numpy as np
import pytest

import penstock as tf

NESTED = [
    {
        "a": tf.TensorSpec([None], tf.float32),
        "b": (tf.TensorSpec([], tf.int32), [tf.TensorSpec([], tf.bool)]),
    }
]


@pytest.mark.parametrize(
    "a", [[1.0], (1.0,), [1], np.ones([1], np.float32), tf.constant([1.0]), [tf.constant(1.0)]]
)
def test_a_list_of_numbers_is_one_tensor_inside_of_a_nest_too(a):
    f = tf.function(lambda d: (d["a"] * 2, d["b"][0], d["b"][1][0]), input_signature=NESTED)
    doubled, number, flag = f({"b": (7, [True]), "a": a})
    assert doubled.numpy().tolist() == [2.0]
    assert (int(number), bool(flag)) == (7, True)
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1.0], "b": [7, [True]]},
        {"a": [1.0], "b": (7, (True,))},
        {"a": [1.0], "b": (7.5, [True])},
        {"a": [[1.0]], "b": (7, [True])},
        {"a": [1.0]},
        {"a": [1.0], "b": (7, [True]), "c": 0},
        [1.0, 2.0],
    ],
)
def test_a_nest_of_another_form_than_the_signature_is_refused(value):
    f = tf.function(lambda d: d, input_signature=NESTED)
    with pytest.raises(TypeError, match="input_signature says"):
        f(value)


def test_a_composite_beside_a_list_in_a_signature():
    ragged = tf.RaggedTensorSpec([None, None], tf.int32)
    f = tf.function(
        lambda x, r: x[0] + tf.cast(tf.reduce_sum(r), tf.float32),
        input_signature=[[tf.TensorSpec([None], tf.float32)], ragged],
    )
    assert f([[1.0]], tf.ragged.constant([[1], [2, 3]])).numpy().tolist() == [7.0]
    with pytest.raises(TypeError, match="input_signature says"):
        f([[1.0]], [[1], [2, 3]])


def test_more_arguments_than_the_signature_has_for_a_starred_parameter_are_refused():
    number = tf.TensorSpec([], tf.int32)
    f = tf.function(lambda a, *b: a + sum(b), input_signature=[number, number])
    assert int(f(1, 2)) == 3
    with pytest.raises(TypeError, match="too many positional arguments"):
        f(1, 2, 3)


def test_reduce_retracing_relaxes_beside_an_argument_that_is_none():
    shapes = []

    @tf.function(reduce_retracing=True)
    def f(x, y=None):
        shapes.append(x.shape)
        return x

    for n in (1, 2, 3, 4):
        f(tf.ones([n]))
    assert [s.as_list() for s in shapes] == [[1], [None]]


def _put(d):
    d["new"] = 1


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        (lambda d: d.append(1), [1, 2]),
        (lambda d: d.reverse(), [tf.constant(1), tf.constant(2)]),
        (_put, {"a": tf.constant(1)}),
        (lambda d: d.pop("a"), {"a": 1}),
        (lambda d: d[0].append(3), ([1],)),
    ],
)
def test_a_body_that_changes_its_argument_is_refused(body, argument):
    size = len(argument)
    f = tf.function(lambda changed, other: (body(changed), other)[1])
    with pytest.raises(ValueError, match=r"should not modify.*others in changed\. Modifying"):
        f(argument, [0])
    assert len(argument) == size


def test_a_body_may_change_a_copy_of_its_argument_and_objects():
    class Counter:
        calls = 0

    @tf.function
    def f(numbers, counter, **more):
        counter.calls += 1
        more["b"] = 0  # a dictionary of the call's own
        numbers = [*numbers]
        numbers.append(5)
        return sum(numbers)

    counter = Counter()
    assert int(f([tf.constant(1), 2], counter, a=1)) == 8
    assert counter.calls == 1


PAIR = tf.TensorSpec([2], tf.float32)
RAGGED, SPARSE = tf.RaggedTensorSpec([None, None], tf.int32), tf.SparseTensorSpec([None, 3])


@pytest.mark.parametrize(
    ("signature", "given"),
    [
        (PAIR, tf.ones([2])),
        (PAIR, [1, 2]),
        (PAIR, tf.TensorSpec([2])),
        (PAIR, tf.Variable([1.0, 2.0])),
        ([PAIR, (PAIR,)], [[1.0, 2.0], (PAIR,)]),
        (RAGGED, tf.RaggedTensorSpec([2, None], tf.int32)),
        (SPARSE, tf.SparseTensorSpec([2, 3])),
        (SPARSE, tf.sparse.from_dense([[1.0, 0.0, 2.0]])),
    ],
)
def test_a_trace_is_asked_for_by_what_fits_the_signature(signature, given):
    f = tf.function(lambda x: x, input_signature=[signature])
    assert f.get_concrete_function(given) is f.get_concrete_function()
    assert f.get_concrete_function(x=given) is f.get_concrete_function()


@pytest.mark.parametrize(
    ("signature", "given"),
    [
        (PAIR, tf.ones([3])),
        (PAIR, tf.ones([2], tf.float64)),
        (PAIR, [1, 2, 3]),
        (PAIR, 1.0),
        (PAIR, None),
        (PAIR, "a"),
        (PAIR, tf.TensorSpec([None])),
        (PAIR, tf.Variable([1, 2])),
        (PAIR, SPARSE),
        ([PAIR, (PAIR,)], [PAIR, [PAIR]]),
        ({"a": PAIR}, {"a": PAIR, "b": PAIR}),
        (RAGGED, tf.RaggedTensorSpec([None, None, None], tf.int32)),
        (RAGGED, tf.RaggedTensorSpec([None, None], tf.int64)),
        (SPARSE, tf.SparseTensorSpec([2, 4])),
        (SPARSE, tf.SparseTensorSpec(None)),
    ],
)
def test_a_trace_asked_for_by_what_does_not_fit_the_signature_is_refused(signature, given):
    f = tf.function(lambda x: x, input_signature=[signature])
    with pytest.raises(TypeError, match=r"Binding inputs to tf.function failed.*input_signature"):
        f.get_concrete_function(given)
    assert f.experimental_get_tracing_count() == 0


def test_a_trace_is_not_asked_for_by_another_default():
    f = tf.function(lambda x, k=3: x * k, input_signature=[PAIR])
    assert f.get_concrete_function(PAIR, 3) is f.get_concrete_function()
    with pytest.raises(TypeError, match=r"Can not cast 4 to Literal\[3\]"):
        f.get_concrete_function(PAIR, 4)


@pytest.mark.parametrize(
    ("signature", "given"),
    [
        ([PAIR, (PAIR,)], [[1.0, 2.0], [[1.0, 2.0]]]),
        ([PAIR], ([1.0, 2.0],)),
        ([PAIR, PAIR], [tf.constant([1, 2]), [1.0, 2.0]]),
        (RAGGED, tf.ragged.constant([[[1]], [[2], [3]]])),
        (RAGGED, tf.ragged.constant([[1.0], [2.0, 3.0]])),
        (SPARSE, tf.sparse.from_dense([[1, 0, 2]])),
    ],
)
def test_a_concrete_function_refuses_arguments_of_another_structure(signature, given):
    f = tf.function(lambda x: x, input_signature=[signature])
    with pytest.raises(TypeError, match="Fallback to flat signature also failed"):
        f.get_concrete_function()(given)


def test_a_concrete_function_refuses_a_tensor_where_it_was_traced_for_a_number():
    f = tf.function(lambda x, k: x * k).get_concrete_function(PAIR, 2)
    assert f(tf.ones([2]), 2).numpy().tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="Literal"):
        f(tf.ones([2]), tf.constant(2))


def test_the_number_of_values_of_ragged_and_sparse_tensors_is_open():
    shapes = []

    @tf.function
    def ragged(x):
        shapes.append((x.flat_values.shape.as_list(), x.row_splits.shape.as_list()))
        return tf.reduce_sum(x, 1)

    for rows in ([[1]], [[1, 2]], [[5, 6, 7]]):
        assert ragged(tf.ragged.constant(rows)).numpy().tolist() == [sum(rows[0])]
    assert shapes == [([None], [2])]
    assert ragged(tf.ragged.constant([[1, 2], [3]])).numpy().tolist() == [3, 3]
    assert shapes == [([None], [2]), ([None], [3])]

    @tf.function
    def sparse(x):
        shapes.append((x.indices.shape.as_list(), x.values.shape.as_list()))
        return tf.sparse.reduce_sum(x)

    shapes.clear()
    for count in (1, 2, 3):
        x = tf.SparseTensor([[i, i] for i in range(count)], [1.0] * count, [4, 4])
        assert sparse(x).numpy() == count
    assert shapes == [([None, 2], [None])]


def test_the_shape_of_a_sparse_tensor_is_that_of_its_trace():
    @tf.function
    def mean(x):
        return tf.sparse.reduce_sum(x) / tf.cast(x.shape[0], tf.float32), tf.sparse.to_dense(x)

    for rows in (2, 3, 4, 3):
        x = tf.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [rows, 2])
        found, dense = mean(x)
        assert float(found) == pytest.approx(3 / rows)
        assert dense.shape == [rows, 2]


def test_relaxed_traces_do_not_know_how_many_rows_there_are():
    shapes = []

    @tf.function(reduce_retracing=True)
    def mean(x):
        shapes.append(x.shape.as_list())
        rows = tf.shape(x.row_lengths())[0] if x.shape[0] is None else x.shape[0]
        return tf.reduce_sum(x.values) / tf.cast(rows, tf.float32)

    rows = [[1.0], [2.0, 3.0], [4.0], [5.0]]
    found = [float(mean(tf.ragged.constant(rows[:n]))) for n in (1, 2, 3, 4)]
    assert found == [1, 3, pytest.approx(10 / 3), 3.75]
    assert shapes == [[1, None], [None, None]]


def test_relaxed_traces_of_ragged_rows_of_other_widths():
    shapes = []

    @tf.function(reduce_retracing=True)
    def total(x):
        shapes.append(x.shape)
        return tf.reduce_sum(x.flat_values)

    for flat in ([[1.0, 2.0]], [[3.0, 4.0, 5.0]], [[6.0]], [7.0]):
        x = tf.RaggedTensor.from_row_splits(tf.constant(flat), [0, 1])
        assert float(total(x)) == np.sum(flat)
    assert [s.as_list() for s in shapes[:2]] == [[1, None, 2], [1, None, None]]
    assert shapes[2].rank is None


def test_a_signature_for_sparse_tensors_of_any_shape():
    spec = tf.SparseTensorSpec([None, None], tf.float32)
    total = tf.function(tf.sparse.reduce_sum, input_signature=[spec])
    for rows in (2, 3):
        assert float(total(tf.SparseTensor([[0, 0]], [2.0], [rows, 2]))) == 2
    concrete = tf.function(tf.sparse.reduce_sum).get_concrete_function(spec)
    assert float(concrete(tf.SparseTensor([[0, 0]], [2.0], [5, 2]))) == 2


def test_composites_in_nests_are_traced_once_for_any_number_of_values():
    function = tf.function(lambda nest: nest["a"][0] * 2)
    for row in ([1], [1, 2], [1, 2, 3]):
        assert function({"a": (tf.ragged.constant([row]),)}).to_list() == [[2 * n for n in row]]
    assert function.experimental_get_tracing_count() == 1


class Scaled(tf.__internal__.CompositeTensor):
    """A tensor and a function, which no file could hold."""

    def __init__(self, values, function):
        self.values, self.function = values, function

    @property
    def _type_spec(self):
        return ScaledSpec(tf.TensorSpec(self.values.shape, self.values.dtype), self.function)


class ScaledSpec(tf.TypeSpec):
    """Specs of `Scaled`, which compare themselves and are not serializable."""

    def __init__(self, values, function):
        self.values, self.function = values, function

    value_type = property(lambda self: Scaled)
    _component_specs = property(lambda self: self.values)

    def _to_components(self, value):
        return value.values

    def _from_components(self, components):
        return Scaled(components, self.function)

    def _serialize(self):
        raise ValueError("functions are not serializable")

    def __eq__(self, other):
        return type(other) is ScaledSpec and vars(other) == vars(self)

    def __hash__(self):
        return hash((self.values, self.function))

    def is_subtype_of(self, other):
        return self == other


def test_specs_that_compare_themselves_are_traced_without_being_serialized():
    f = tf.function(lambda scaled: scaled.function(scaled.values))
    square, double = (lambda x: x * x), (lambda x: x + x)
    assert float(f(Scaled(tf.constant(3.0), square))) == 9.0
    assert float(f(Scaled(tf.constant(4.0), square))) == 16.0
    assert f.experimental_get_tracing_count() == 1
    assert float(f(Scaled(tf.constant(3.0), double))) == 6.0
    assert f.experimental_get_tracing_count() == 2
    assert f(Scaled(tf.constant([3.0]), double)).numpy().tolist() == [6.0]
    nested = tf.function(lambda parts: parts["a"][0].function(parts["a"][0].values))
    assert float(nested({"a": [Scaled(tf.constant(3.0), double)]})) == 6.0
