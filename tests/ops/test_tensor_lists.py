"""Lists of tensors: each operation at once, in a function, compiled, and its gradient."""

import numpy as np
import pytest

import penstock as tf

ops = tf.raw_ops
ANY = np.int32(-1)


def reserve(count, shape=ANY, dtype=tf.float32):
    return ops.TensorListReserve(element_shape=shape, num_elements=count, element_dtype=dtype)


def stack(handle, shape=ANY, dtype=tf.float32, **attrs):
    return ops.TensorListStack(
        input_handle=handle, element_shape=shape, element_dtype=dtype, **attrs
    )


def of(tensor):
    return ops.TensorListFromTensor(tensor=tensor, element_shape=ANY)


def get(handle, index, shape=ANY, dtype=tf.float32):
    return ops.TensorListGetItem(
        input_handle=handle, index=index, element_shape=shape, element_dtype=dtype
    )


def put(handle, index, item, grows=False):
    return ops.TensorListSetItem(
        input_handle=handle, index=index, item=item, resize_if_index_out_of_bounds=grows
    )


def push_and_pop(x):
    made = ops.EmptyTensorList(element_shape=ANY, max_num_elements=-1, element_dtype=tf.float32)
    for i in range(3):
        made = ops.TensorListPushBack(input_handle=made, tensor=x[i] * x[i])
    made, last = ops.TensorListPopBack(
        input_handle=made, element_shape=np.int32([2]), element_dtype=tf.float32
    )
    return tf.concat([stack(made), last[None] * 2.0], 0)


def set_and_get(x):
    made = put(put(reserve(3), 2, x[0] * x[1]), 0, x[1])
    return tf.stack([get(made, 2) * get(made, 0), get(made, 1)]) + tf.reduce_sum(stack(made))


def resize(x):
    made = ops.TensorListResize(input_handle=of(x), size=2)
    made = ops.TensorListResize(input_handle=made, size=4)
    return stack(put(made, 3, x[2] * x[2]), np.int32([2]))


def grow(x):
    return stack(put(of(x), 4, x[0] * 3.0, grows=True), np.int32([2]))


def gather(x):
    return ops.TensorListGather(
        input_handle=of(x * x), indices=[2, 0, 2], element_shape=ANY, element_dtype=tf.float32
    )


def scatter(x):
    made = ops.TensorListScatterV2(tensor=x, indices=[3, 0, 1], element_shape=ANY, num_elements=-1)
    made = ops.TensorListScatterIntoExistingList(
        input_handle=made, tensor=x[:2] * x[1:], indices=[2, 0]
    )
    return stack(made, np.int32([2]))


def scatter_old(x):
    return stack(
        ops.TensorListScatter(tensor=x * x, indices=[2, 0, 1], element_shape=np.int32([2]))
    )


def split_and_concat(x):
    made = ops.TensorListSplit(tensor=x * x, element_shape=ANY, lengths=np.int64([1, 2]))
    joined, lengths = ops.TensorListConcatV2(
        input_handle=made, element_shape=ANY, leading_dims=np.int64([]), element_dtype=tf.float32
    )
    return joined * tf.cast(lengths[1], tf.float32)


def concat_equal(x):
    joined, _ = ops.TensorListConcat(
        input_handle=of(x[:, None] * x[:, None]), element_dtype=tf.float32
    )
    return joined


def added_twice(x):
    made = of(x)
    return tf.stack([get(made, 0) * get(made, 1), get(made, 0) * get(made, 2)])


PROGRAMS = (
    push_and_pop,
    set_and_get,
    resize,
    grow,
    gather,
    scatter,
    scatter_old,
    split_and_concat,
    concat_equal,
    added_twice,
)
X = tf.constant([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]])


def expected(program, x):
    a = x.numpy()
    return {
        push_and_pop: lambda: np.stack([a[0] ** 2, a[1] ** 2, a[2] ** 2 * 2]),
        set_and_get: lambda: np.stack([a[0] * a[1] * a[1], a[0] * 0]) + (a[0] * a[1] + a[1]).sum(),
        resize: lambda: np.stack([a[0], a[1], a[0] * 0, a[2] ** 2]),
        grow: lambda: np.concatenate([a, a[:1] * 0, a[:1] * 3]),
        gather: lambda: (a * a)[[2, 0, 2]],
        scatter: lambda: np.stack([a[1] * a[2], a[2], a[0] * a[1], a[0]]),
        scatter_old: lambda: (a * a)[[1, 2, 0]],
        split_and_concat: lambda: a * a * 2,
        concat_equal: lambda: a * a,
        added_twice: lambda: np.stack([a[0] * a[1], a[0] * a[2]]),
    }[program]()


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_at_once_and_in_functions(program):
    wanted = expected(program, X)
    np.testing.assert_allclose(program(X), wanted, rtol=1e-6)
    traced = tf.function(program)
    for _ in range(2):
        np.testing.assert_allclose(traced(X), wanted, rtol=1e-6)


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_to_order_two(program):
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = program(x)
                y = tf.reduce_sum(y * y)
            grad = inner.gradient(y, x)
            total = tf.reduce_sum(tf.sin(grad))
        return grad, outer.gradient(total, x)

    first, then = second(X)
    for got, wanted in zip(tf.function(second)(X), (first, then), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    direction = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float64)

    def value(step):
        a = tf.constant(X.numpy() + step * direction, tf.float32)
        y = expected(program, a).astype(np.float64)
        return (y * y).sum()

    slope = (value(1e-2) - value(-1e-2)) / 2e-2
    np.testing.assert_allclose((first.numpy() * direction).sum(), slope, rtol=2e-2)

    def slope_of_first(step):
        a = tf.constant(X.numpy() + step * direction, tf.float32)
        return np.sin(second(a)[0].numpy()).sum(dtype=np.float64)

    slope = (slope_of_first(1e-3) - slope_of_first(-1e-3)) / 2e-3
    np.testing.assert_allclose((then.numpy() * direction).sum(), slope, rtol=3e-2, atol=0.3)


@pytest.mark.parametrize("through", ["nothing", "identity", "resize"])
def test_a_graph_refuses_other_dtypes(through):
    @tf.function
    def program():
        handle = reserve(2)
        if through == "identity":
            handle = tf.identity(handle)
        elif through == "resize":
            handle = tf.raw_ops.TensorListResize(input_handle=handle, size=3)
        return get(handle, 0, dtype=tf.int32)

    with pytest.raises(ValueError, match="op elements int32 but list elements float32"):
        program.get_concrete_function()


REFUSED = (
    (lambda: get(reserve(2), 2), "access element 2 in a list with 2 elements"),
    (lambda: get(reserve(2), -1), "access element -1 in a list with 2 elements"),
    (lambda: get(reserve(2), 0), "uninitialized tensor but element_shape is not fully defined"),
    (lambda: get(reserve(2), 0, dtype=tf.int32), "op elements int32 but list elements float32"),
    (lambda: put(reserve(2), 2, 1.0), "modify element 2 in a list with 2 elements"),
    (lambda: put(reserve(2, np.int32([2])), 0, [1.0]), r"shape: \(1,\) list shape: \(2,\)"),
    (lambda: reserve(-1), "non negative number, but got -1"),
    (lambda: stack(of([1.0]), num_elements=2), "expected a list with 2 elements but got .* 1"),
    (lambda: stack(reserve(0)), "empty list with non-fully-defined element_shape"),
    (lambda: stack(put(put(reserve(2), 0, [1.0]), 1, [1.0, 2.0])), r"\(1,\) and \(2,\)"),
    (lambda: ops.TensorListResize(input_handle=reserve(1), size=-1), "Got: -1"),
    (
        lambda: ops.TensorListScatterV2(
            tensor=[1.0], indices=[2], element_shape=ANY, num_elements=2
        ),
        "index 2 in list with size 2",
    ),
    (
        lambda: ops.TensorListScatter(tensor=[1.0], indices=[0, 1], element_shape=ANY),
        "Expected: 2 Actual: 1",
    ),
    (
        lambda: ops.TensorListSplit(tensor=[1.0, 2.0], element_shape=ANY, lengths=np.int64([1, 2])),
        r"slice \[1, 3\] from tensor with length 2",
    ),
    (
        lambda: ops.TensorListSplit(tensor=[1.0, 2.0], element_shape=ANY, lengths=np.int64([1])),
        "Length of tensor: 2 Values used: 1",
    ),
)


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_refusals(call, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        call()

    @tf.function(autograph=False)
    def traced():
        made = call()
        return stack(made) if made.dtype is tf.variant else made

    # a dtype is refused while the function is traced, as in TensorFlow
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=text):
        traced()


def test_indices_that_only_the_run_knows_are_checked_in_compiled_regions():
    traced = tf.function(lambda x, i: get(of(x * 2.0), i) + 0.0)
    np.testing.assert_allclose(traced(X, tf.constant(2)), X[2] * 2.0)
    for index in (3, -1):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"element {index} in a list"):
            traced(X, tf.constant(index))


def test_versions_of_a_list_do_not_disturb_each_other():
    base = of([1.0, 2.0, 3.0])
    first, second = put(base, 0, 10.0), put(base, 1, 20.0)
    third = ops.TensorListPushBack(input_handle=first, tensor=4.0)
    fourth = ops.TensorListPushBack(input_handle=first, tensor=5.0)
    for handle, wanted in (
        (first, [10, 2, 3]),
        (base, [1, 2, 3]),
        (fourth, [10, 2, 3, 5]),
        (second, [1, 20, 3]),
        (third, [10, 2, 3, 4]),
        (put(third, 3, 0.0), [10, 2, 3, 0]),
        (third, [10, 2, 3, 4]),
        (base, [1, 2, 3]),
    ):
        assert stack(handle).numpy().tolist() == wanted


def test_bounds_lists_and_batches():
    made = ops.EmptyTensorList(element_shape=ANY, max_num_elements=1, element_dtype=tf.string)
    made = ops.TensorListPushBack(input_handle=made, tensor="a")
    with pytest.raises(tf.errors.InvalidArgumentError, match="list size: 1 max_num_elements: 1"):
        ops.TensorListPushBack(input_handle=made, tensor="b")
    both = ops.TensorListConcatLists(input_a=made, input_b=made, element_dtype=tf.string)
    assert stack(both, dtype=tf.string).numpy().tolist() == [b"a", b"a"]
    assert int(ops.TensorListLength(input_handle=both)) == 2
    batch = tf.stack([reserve(0), of([7.0])])
    batch = ops.TensorListPushBackBatch(input_handles=batch, tensor=[1.0, 2.0])
    assert [stack(h).numpy().tolist() for h in tf.unstack(batch)] == [[1.0], [7.0, 2.0]]


def test_gradients_of_elements_add_up_in_place():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(X.numpy())
        tf.gradients(added_twice(x), x)
    kinds = [op.type for op in graph.get_operations()]
    assert kinds.count("PenstockTensorListAddItem") == 0  # there is no sum that they could join
    with graph.as_default():
        made = of(x)
        tf.gradients(tf.concat([stack(made), get(made, 0)[None], get(made, 1)[None]], 0), x)
    kinds = [op.type for op in graph.get_operations()]
    assert kinds.count("PenstockTensorListAddItem") == 2


def test_shapes_of_elements():
    shape = ops.TensorListElementShape(input_handle=reserve(1), shape_type=tf.int64)
    assert shape.numpy() == -1
    shape = ops.TensorListElementShape(input_handle=of(X), shape_type=tf.int32)
    assert shape.numpy().tolist() == [2]


@pytest.mark.parametrize("traced", [True, False], ids=["traced", "eager"])
def test_gradients_go_through_lists_of_lists(traced):
    """An element that is a list of another dtype is no list of a wrong one."""

    def slopes(x):
        scalar = tf.constant([], tf.int32)
        with tf.GradientTape() as tape:
            tape.watch(x)
            outer = ops.TensorListReserve(
                element_shape=scalar, num_elements=2, element_dtype=tf.variant
            )
            for i in range(2):
                rows = ops.TensorListFromTensor(tensor=x * (i + 1.0), element_shape=[2])
                outer = ops.TensorListSetItem(input_handle=outer, index=i, item=rows)
            total = 0.0
            for i in (0, 1, 0):
                rows = ops.TensorListGetItem(
                    input_handle=outer, index=i, element_shape=scalar, element_dtype=tf.variant
                )
                stacked = ops.TensorListStack(
                    input_handle=rows, element_shape=[2], element_dtype=tf.float32
                )
                total += tf.reduce_sum(stacked**2)
        return tape.gradient(total, x)

    x = tf.reshape(tf.range(6.0), [3, 2])
    found = (tf.function(slopes) if traced else slopes)(x)
    np.testing.assert_allclose(found, [[0, 12], [24, 36], [48, 60]])  # TensorFlow's
