"""`tf.TensorArray`, at once and in functions. Errors and values were seen in TensorFlow 2.21."""

import numpy as np
import pytest

import penstock as tf

InvalidArgument = tf.errors.InvalidArgumentError
OutOfRange = tf.errors.OutOfRangeError


def array(size=2, **options):
    return tf.TensorArray(tf.float32, size=size, **options)


VALUES = {
    "write": (lambda: array().write(0, 2.0).write(1, 1.0).write(0, 3.0).stack(), [3, 1]),
    "grows": (lambda: array(dynamic_size=True).write(4, 1.0).stack(), [0, 0, 0, 0, 1]),
    "unset": (lambda: array().write(0, [1.0, 2.0]).stack(), [[1, 2], [0, 0]]),
    "unset read": (lambda: array(element_shape=[2]).read(0), [0, 0]),
    "empty": (lambda: array(0, element_shape=[3]).stack(), np.zeros((0, 3))),
    "gather": (lambda: array(3).unstack([1.0, 2.0, 3.0]).gather([2, 0]), [3, 1]),
    "unstack grows": (
        lambda: array(2, dynamic_size=True).unstack([1.0, 2.0, 3.0]).stack(),
        [1, 2, 3],
    ),
    "scatter": (lambda: array(4).scatter([0, 3], [1.0, 2.0]).stack(), [1, 0, 0, 2]),
    "scatter over": (
        lambda: array(3).write(0, 5.0).scatter([1, 2], [1.0, 2.0]).stack(),
        [5, 1, 2],
    ),
    "split": (lambda: array().split([1.0, 2.0, 3.0], [1, 2]).concat(), [1, 2, 3]),
    "split read": (lambda: array().split([1.0, 2.0, 3.0, 4.0], [2, 2]).read(1), [3, 4]),
    "pieces": (
        lambda: array(infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0]).concat(),
        [1, 1, 2],
    ),
    "size": (lambda: array(dynamic_size=True).write(4, 1.0).size(), 5),
    "fixed size": (lambda: array(3).size(), 3),
    "again": (
        lambda: (lambda a: a.read(0) + a.read(0))(array(1, clear_after_read=False).write(0, 1.0)),
        2,
    ),
    "identity": (lambda: array(1).write(0, 1.0).identity().read(0), 1),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    call, wanted = VALUES[name]
    np.testing.assert_allclose(call(), wanted)
    traced = tf.function(call, autograph=False)
    for _ in range(2):
        np.testing.assert_allclose(traced(), wanted)


# name: (call, error at once, its text, error in a function, its text)
REFUSED = {
    "past the end": (
        lambda: array().write(2, 1.0).stack(),
        OutOfRange, "index 2 but array is not resizeable and size is: 2",
        InvalidArgument, "modify element 2 in a list with 2 elements",
    ),
    "negative write": (
        lambda: array().write(-1, 1.0).stack(),
        OutOfRange, "index -1", InvalidArgument, "modify element -1",
    ),
    "read past the end": (
        lambda: array().write(0, 1.0).read(2),
        OutOfRange, "index 2 but array size is: 2",
        InvalidArgument, "access element 2 in a list with 2 elements",
    ),
    "negative read": (
        lambda: array().write(0, 1.0).read(-1),
        OutOfRange, "index -1", InvalidArgument, "access element -1",
    ),
    "never set": (
        lambda: array().read(0),
        ValueError, "partially known TensorShape", InvalidArgument, "no list element is set",
    ),
    "stack of nothing": (
        lambda: array().stack(),
        ValueError, "partially known TensorShape", InvalidArgument, "no list element is set",
    ),
    "dtype": (
        lambda: array().write(0, tf.constant(1)),
        InvalidArgument, "dtype is float32 but Op is trying to write dtype int32",
        InvalidArgument, "dtype is float32 but Op is trying to write dtype int32",
    ),
    "shape": (
        lambda: array().write(0, [1.0]).write(1, [1.0, 2.0]),
        ValueError, r"saw \(2,\) but expected \(1,\)",
        ValueError, r"saw \(2,\) but expected \(1,\)",
    ),
    "too many": (
        lambda: array().unstack([1.0, 2.0, 3.0]).stack(),
        ValueError, "Cannot unstack 3 tensors into a TensorArray of static size 2",
        InvalidArgument, "expected a list with 2 elements but got a list with 3",
    ),
    "scatter": (
        lambda: array().scatter([1, 3], [1.0, 2.0]).stack(),
        OutOfRange, "index 3 but array is not resizeable and size is: 2",
        InvalidArgument, "expected a list with 2 elements but got a list with 4",
    ),
    "gather": (
        lambda: array().unstack([1.0, 2.0]).gather([2]),
        OutOfRange, "index 2 but array size is: 2",
        InvalidArgument, "Index 2 out of range; list only has 2",
    ),
    "lengths": (
        lambda: array().split([1.0, 2.0, 3.0], [1, 1]).concat(),
        InvalidArgument, "sum of lengths is 2", InvalidArgument, "Values used: 2",
    ),
    "scalars": (
        lambda: array().write(0, 1.0).write(1, 1.0).concat(),
        InvalidArgument, "scalar shape at index 0", InvalidArgument, "scalar shape at index 0",
    ),
    "no size": (
        lambda: tf.TensorArray(tf.float32),
        ValueError, "Size must be declared", ValueError, "`size` must be provided",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, at_once, text, in_function, its_text = REFUSED[name]
    with pytest.raises(at_once, match=text):
        call()
    with pytest.raises(in_function, match=its_text):
        tf.function(lambda: tf.reduce_sum(call()), autograph=False)()


def test_reading_clears_at_once_only():
    def twice():
        filled = array().write(0, 1.0).write(1, 2.0)
        return filled.read(0) + filled.read(0)

    with pytest.raises(InvalidArgument, match="index 0 twice because it was cleared"):
        twice()
    assert tf.function(twice)().numpy() == 2.0


def test_attributes_and_spec():
    made = array(element_shape=[None, 2])
    assert (made.dtype, made.dynamic_size, made.handle) == (tf.float32, False, None)
    assert made.element_shape.as_list() == [None, 2]
    made = made.write(0, tf.zeros([3, 2]))
    assert made.element_shape.as_list() == [3, 2]
    spec = tf.type_spec_from_value(made)
    assert spec == tf.TensorArraySpec([3, 2], tf.float32)
    assert spec.is_compatible_with(array())
    assert not spec.is_compatible_with(tf.TensorArray(tf.int32, size=1))
    wider = spec.most_specific_compatible_type(tf.TensorArraySpec([None, 2]))
    assert wider.element_shape.as_list() == [None, 2]
    with pytest.raises(TypeError, match="Expected value to be a TensorArray"):
        tf.TensorArraySpec.from_value(1)
    assert array().close() is None


def test_functions_take_and_give_arrays():
    traces = []

    @tf.function
    def fill(given):
        traces.append(1)
        return given.write(1, [3.0, 3.0])

    for first in (1.0, 2.0):
        filled = fill(array().write(0, [first, 2.0]))
        assert isinstance(filled, tf.TensorArray)
        np.testing.assert_allclose(filled.stack(), [[first, 2], [3, 3]])
    assert len(traces) == 1


def test_conditionals_take_arrays():
    @tf.function
    def run(flag, x):
        start = tf.TensorArray(tf.float32, size=2, element_shape=[]).write(0, x)
        filled = tf.cond(flag, lambda: start.write(1, 2.0 * x), lambda: start)
        return filled.stack()

    for _ in range(2):
        np.testing.assert_allclose(run(tf.constant(True), tf.constant(3.0)), [3, 6])
        np.testing.assert_allclose(run(tf.constant(False), tf.constant(3.0)), [3, 0])


def fill_in_loop(x, size, bound=None, dynamic=False):
    """Sum of elements that a loop reads from one array and writes to another."""
    source = tf.TensorArray(tf.float32, size=4, clear_after_read=False).unstack(x)
    target = tf.TensorArray(tf.float32, size=0 if dynamic else 4, dynamic_size=dynamic)

    def body(i, state, target):
        value = source.read(i)
        state = tf.sin(state) * value + 0.1 * state * state
        return i + 1, state, target.write(i, state * value)

    _, state, target = tf.while_loop(
        lambda i, *_: i < size, body, (0, x[0], target), maximum_iterations=bound
    )
    return tf.reduce_sum(target.stack() * [1.0, 2.0, 3.0, 4.0]) + state


X = tf.constant([0.5, 1.0, -0.3, 0.7])


@pytest.mark.parametrize("bound", [None, 4])
@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_through_loops_to_order_two(bound, dynamic):
    def second(x, size):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = fill_in_loop(x, size, bound, dynamic)
            grad = inner.gradient(y, x)
            total = tf.reduce_sum(grad * [1.0, -1.0, 2.0, 0.5])
        return y, grad, outer.gradient(total, x)

    at_once = second(X, 4)
    traced = tf.function(second, autograph=False)
    for size in (4, tf.constant(4)):
        for got, wanted in zip(traced(X, size), at_once, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(X.numpy())
        y = fill_in_loop(x, 4, bound, dynamic)
        (grad,) = tf.gradients(y, x)
        (then,) = tf.gradients(tf.reduce_sum(grad * [1.0, -1.0, 2.0, 0.5]), x)
        with tf.compat.v1.Session(graph=graph) as session:
            results = session.run([y, grad, then])
    for got, wanted in zip(results, at_once, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_elements_of_other_shapes_run_too():
    @tf.function
    def run(n):
        pieces = tf.TensorArray(tf.int32, size=n, infer_shape=False, element_shape=[None])
        _, pieces = tf.while_loop(
            lambda i, _: i < n, lambda i, p: (i + 1, p.write(i, tf.range(i))), (0, pieces)
        )
        return pieces.concat()

    for _ in range(2):
        assert run(tf.constant(4)).numpy().tolist() == [0, 0, 1, 0, 1, 2]


def test_static_shapes_after_a_loop():
    @tf.function
    def run():
        made = tf.TensorArray(tf.float32, size=3)
        _, made = tf.while_loop(
            lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, [1.0, 2.0])), (0, made)
        )
        stacked = made.stack()
        assert stacked.shape.as_list()[1:] == [2]
        return stacked

    np.testing.assert_allclose(run(), [[1, 2]] * 3)


def test_a_scalar_has_no_rows_to_set():
    def unstack():
        return tf.TensorArray(tf.float32, 1).unstack(1.0).stack()

    for call in (unstack, tf.function(unstack)):
        with pytest.raises(ValueError, match="with rows, got the scalar"):
            call()


def test_one_element_is_its_own_concatenation():
    made = tf.TensorArray(tf.float32, 1).split([1.0, 2.0], [2])
    np.testing.assert_array_equal(made.concat(), [1.0, 2.0])


@pytest.mark.parametrize(
    ("value", "lengths", "words"), [(1.0, [1], "t least a vector|at least 1"), ([1.0], 1, "engths")]
)
def test_only_vectors_are_split_by_vectors(value, lengths, words):
    def split():
        return tf.TensorArray(tf.float32, 1).split(value, lengths).stack()

    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        split()
    with pytest.raises(ValueError, match=words):
        tf.function(split)()
