"""Ordinary operations on ragged tensors, and `tf.ragged.*`; results as TensorFlow 2.21 gives them.

Cases are expressions over a few tensors, with their value as nested lists.
"""

import numpy as np
import pytest

import penstock as tf

C = tf.ragged.constant
R, R3 = C([[1, 2], [], [3]]), C([[[1, 2], []], [], [[3]]])
X, X3 = C([[1.0, 2.0], [], [3.0]]), C([[[1.0, 2.0], []], [], [[3.0]]])
B = C([[True, False], [], [True]])
D = tf.RaggedTensor.from_row_splits(tf.reshape(tf.range(6), [3, 2]), [0, 2, 2, 3])

CASES = {
    "tf.reduce_sum(X, axis=0)": [4, 2],
    "tf.reduce_sum(X3, axis=0)": [[4, 2], []],
    "tf.reduce_sum(X, axis=[0, 0])": 6,
    "tf.reduce_sum(X3, axis=1)": [[1, 2], [], [3]],
    "tf.reduce_sum(X3, axis=[1, 2])": [3, 0, 3],
    "tf.reduce_sum(D, axis=2)": [[1, 5], [], [9]],
    "tf.reduce_sum(X, axis=1, keepdims=True)": [[3], [0], [3]],
    "tf.reduce_mean(X3)": 2,
    "tf.reduce_max(R, 1)": [2, -2147483648, 3],
    "tf.reduce_prod(X3, axis=-1)": [[2, 1], [], [3]],
    "tf.math.reduce_variance(X, axis=0)": [1, 0],
    "tf.reduce_any(B, axis=1)": [True, False, True],
    "tf.reduce_all(B, axis=1)": [False, True, True],
    "tf.concat([R, R], 0)": [[1, 2], [], [3], [1, 2], [], [3]],
    "tf.concat([R, [[5], [6], [7]]], 1)": [[1, 2, 5], [6], [3, 7]],
    "tf.concat([R3, R3], 2)": [[[1, 2, 1, 2], []], [], [[3, 3]]],
    "tf.stack([R, R], 1)": [[[1, 2], [1, 2]], [[], []], [[3], [3]]],
    "tf.ragged.stack([[1, 2], [3]])": [[1, 2], [3]],
    "tf.tile(R, [2, 3])": [
        [1, 2, 1, 2, 1, 2], [], [3, 3, 3], [1, 2, 1, 2, 1, 2], [], [3, 3, 3],
    ],
    "tf.tile(R3, [1, 2, 2])": [[[1, 2, 1, 2], [], [1, 2, 1, 2], []], [], [[3, 3], [3, 3]]],
    "tf.tile(R, [1, 0])": [[], [], []],
    "tf.split(R, [1, 2])[1]": [[], [3]],
    "tf.split(D, 2, axis=2)[0]": [[[0], [2]], [], [[4]]],
    "tf.gather(R, [2, 0])": [[3], [1, 2]],
    "tf.gather(R, [[0, 2], [1, 1]])": [[[1, 2], [3]], [[], []]],
    "tf.gather([10, 20, 30], C([[0], [2, 0]]))": [[10], [30, 10]],
    "tf.gather(R, C([[0], [2, 0]]))": [[[1, 2]], [[3], [1, 2]]],
    "tf.gather(R, C([[1, 0], [], [0]]), batch_dims=1)": [[2, 1], [], [3]],
    "tf.gather(R3, [0], axis=2)": [[[1], [3]], [], [[3]]],
    "tf.gather([[1, 2, 3], [4, 5, 6]], C([[0], [2, 0]]), axis=1)": [
        [[1], [3, 1]], [[4], [6, 4]],
    ],
    "tf.gather([[1, 2], [4, 5]], C([[[0]], [[1, 0], [1]]]), axis=-1)": [
        [[[1]], [[2, 1], [2]]], [[[4]], [[5, 4], [5]]],
    ],
    "tf.gather(D, C([[1], [1, 0]]), axis=2)": [[[[1], [1, 0]], [[3], [3, 2]]], [], [[[5], [5, 4]]]],
    "tf.gather(D, C([[1], [], [1, 0]]), axis=2, batch_dims=1)": [[[1], [3]], [], [[5, 4]]],
    "tf.compat.v1.batch_gather(R, C([[1, 0], [], [0]]))": [[2, 1], [], [3]],
    "tf.gather_nd(R3, [[0, 0, 1], [2, 0, 0]])": [2, 3],
    "tf.gather_nd(R, [[0], [2]])": [[1, 2], [3]],
    "tf.where(B)": [[0, 0], [2, 0]],
    "tf.where(B, R, [[10], [20], [30]])": [[1, 10], [], [3]],
    "tf.where(B, 1, 2)": [[1, 2], [], [1]],
    "tf.compat.v1.where([True, False, True], R, R + 10)": [[1, 2], [], [3]],
    "tf.expand_dims(R3, 2)": [[[[1, 2]], [[]]], [], [[[3]]]],
    "tf.squeeze(tf.expand_dims(R, 1), 1)": [[1, 2], [], [3]],
    "tf.squeeze(C([[[1]]]), [0, 1])": [1],
    "tf.reverse(R3, [1, 2])": [[[], [2, 1]], [], [[3]]],
    "tf.size(R)": 3,
    "tf.rank(D)": 3,
    "tf.one_hot(R, 2)": [[[0, 1], [0, 0]], [], [[0, 0]]],
    "tf.cumsum(X, 1, exclusive=True)": [[0, 1], [], [0]],
    "tf.cumsum(X3, 0)": [[[1, 2], []], [], [[4]]],
    "tf.cumsum(D, 2)": [[[0, 1], [2, 5]], [], [[4, 9]]],
    "tf.add_n([R, R, R])": [[3, 6], [], [9]],
    "tf.math.unsorted_segment_sum(X3, [1, 0, 1], 2)": [[], [[4, 2], []]],
    "tf.math.unsorted_segment_mean(X, C([[1, 0], [], [1]]), 2)": [2, 2],
    "tf.matmul(C([[[1., 2], [3, 4]], [[5, 6]]]), C([[[1.], [2.]], [[3.], [4.]]]))": [
        [[5], [11]], [[39]],
    ],
    "tf.nn.embedding_lookup(tf.constant([[1, 2], [3, 4], [5, 6], [7, 8]]), R)": [
        [[3, 4], [5, 6]], [], [[7, 8]],
    ],
    "tf.nn.dropout(X, 0.0)": [[1, 2], [], [3]],
    "tf.nn.relu(X - 2)": [[0, 0], [], [1]],
    "tf.clip_by_value(X, 1.5, 2.5)": [[1.5, 2], [], [2.5]],
    "tf.maximum(2, R)": [[2, 2], [], [3]],
    "tf.identity(R)": [[1, 2], [], [3]],
    "tf.math.bincount(R, axis=-1)": [[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]],
    "tf.math.bincount(R)": [0, 1, 1, 1],
    "tf.sparse.bincount(R, axis=-1).indices": [[0, 1], [0, 2], [2, 3]],
    "tf.sparse.bincount(R, weights=X, axis=-1).values": [1, 2, 3],
    "tf.sparse.bincount(R).dense_shape": [4],
    "tf.map_fn(lambda v: v * 2, R, fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))": [
        [2, 4], [], [6],
    ],
    "tf.map_fn(lambda v: v[:1], R3, fn_output_signature=tf.RaggedTensorSpec([None, None], "
    "tf.int32))": [[[1, 2]], [], [[3]]],
    "tf.map_fn(tf.reduce_sum, R, fn_output_signature=tf.int32)": [3, 0, 3],
    "tf.map_fn(tf.range, tf.constant([3, 0, 2]), "
    "fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))": [[0, 1, 2], [], [0, 1]],
    "tf.dynamic_partition(R, [1, 0, 1], 2)[1]": [[1, 2], [3]],
    "tf.linalg.matvec(C([[[1., 2]]]), C([[1., 2]]))": [[5]],
    "tf.reshape(R, [3])": [1, 2, 3],
    "tf.broadcast_to([[1], [2], [3]], tf.shape(R))": [[1, 1], [], [3]],
    "tf.broadcast_to([5, 6], tf.shape(D))": [[[5, 6], [5, 6]], [], [[5, 6]]],
    "tf.reshape(R, tf.shape(R3))": [[[1, 2], []], [], [[3]]],
    "tf.fill(tf.shape(R), 7)": [[7, 7], [], [7]],
    "D + [10, 20]": [[[10, 21], [12, 23]], [], [[14, 25]]],
    "tf.ragged.range([0, 5, 8], [3, 3, 12], 2)": [[0, 2], [], [8, 10]],
    "tf.ragged.boolean_mask(R3, C([[True, False], [], [True]]))": [[[1, 2]], [], [[3]]],
    "tf.ragged.boolean_mask([[1, 2, 3], [4, 5, 6]], [True, False])": [[1, 2, 3]],
    "tf.ragged.map_flat_values(tf.add_n, [R, R])": [[2, 4], [], [6]],
    "tf.ragged.stack_dynamic_partitions(R, [1, 0, 1], 2)": [[[]], [[1, 2], [3]]],
    "tf.ragged.stack_dynamic_partitions([[1, 2], [3, 4]], [[0, 1], [1, 0]], 2)": [[1, 4], [2, 3]],
    "tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5])": [0, 0, 0, 2, 2],
    "tf.ragged.segment_ids_to_row_splits([0, 0, 2], 5)": [0, 2, 2, 3, 3, 3],
}  # fmt: skip


def value_of(found):
    return found.to_list() if isinstance(found, tf.RaggedTensor) else found.numpy().tolist()


@pytest.mark.parametrize("text", CASES)
def test_results(text):
    assert value_of(eval(text)) == CASES[text]


@pytest.mark.parametrize("text", [t for t in CASES if "split(" not in t])
def test_results_of_a_function_of_unknown_shapes(text):
    """The same with rows that are not known while the graph is built."""
    used = [n for n in ("R", "R3", "X", "X3", "B", "D") if n in text.replace("RaggedTensor", "")]
    specs = []
    for name in used:
        value = globals()[name]
        inner = value.flat_values.shape[1:]
        shape = tf.TensorShape([None] * (value.ragged_rank + 1)).concatenate(inner)
        specs.append(tf.RaggedTensorSpec(shape, value.dtype, value.ragged_rank))

    @tf.function(input_signature=specs, autograph=False)
    def traced(*values):
        return eval(text, globals() | dict(zip(used, values, strict=True)))

    assert value_of(traced(*[globals()[n] for n in used])) == CASES[text]


REFUSED = {
    "tf.concat([R, R3], 0)": ValueError,
    "tf.concat([R, R], 2)": ValueError,
    "tf.concat([R, C([[1], [2]])], 1)": tf.errors.InvalidArgumentError,
    "tf.ragged.stack([])": ValueError,
    "tf.split(R, 3, axis=1)": ValueError,
    "tf.split(R, 2)": tf.errors.InvalidArgumentError,
    "tf.gather(R, [5])": tf.errors.InvalidArgumentError,
    "tf.gather_nd(R3, [[0, 1]], batch_dims=1)": ValueError,
    "tf.where(B, R)": ValueError,
    "tf.where([True, False, True], R, R)": tf.errors.InvalidArgumentError,
    "tf.expand_dims(R, 5)": ValueError,
    "tf.squeeze(R)": ValueError,
    "tf.squeeze(R, 1)": tf.errors.InvalidArgumentError,
    "tf.reverse(R, 0)": TypeError,
    "tf.one_hot(R, 4, axis=1)": ValueError,
    "tf.reduce_sum(R, axis=3)": ValueError,
    "tf.reduce_sum(R, tf.constant(1))": TypeError,
    "tf.matmul(X, X)": tf.errors.InvalidArgumentError,
    "tf.add_n([R, C([[1], [2], [3]])])": tf.errors.InvalidArgumentError,
    "tf.function(lambda: tf.add_n([tf.sparse.from_dense([1]), C([1])]))()": ValueError,
    "tf.math.accumulate_n([tf.sparse.from_dense([1])])": ValueError,
    "tf.nn.embedding_lookup(C([[1]]), tf.ragged.constant([[0.0]]))": ValueError,
    "tf.debugging.assert_equal(R, R + 1)": tf.errors.InvalidArgumentError,
    "tf.ragged.range([5], [0], 0)": tf.errors.InvalidArgumentError,
    "tf.ragged.range(['a'])": AssertionError,
    "tf.ragged.boolean_mask([1, 2], True)": ValueError,
    "tf.ragged.boolean_mask(R, C([[True], [], [True]]))": tf.errors.InvalidArgumentError,
    "tf.ragged.map_flat_values(lambda x: x[:1], R)": ValueError,
    "tf.ragged.map_flat_values(tf.add, R, R3)": ValueError,
    "tf.ragged.stack_dynamic_partitions([1], [5], 3)": tf.errors.InvalidArgumentError,
    "tf.ragged.row_splits_to_segment_ids([])": ValueError,
    "tf.ragged.segment_ids_to_row_splits([0.5])": TypeError,
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text):
    with pytest.raises(REFUSED[text]):
        eval(text)


def test_gradients_reach_the_flat_values():
    flat = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(flat)
        x = tf.RaggedTensor.from_row_splits(flat, [0, 2, 2, 3])
        total = tf.reduce_sum(tf.concat([x * x, x[:, ::-1]], 1), axis=1)
        loss = tf.reduce_sum(total * [1.0, 10.0, 100.0])
    assert tape.gradient(loss, flat).numpy().tolist() == [3, 5, 700]


def test_softmax_of_rows():
    found = tf.nn.softmax(X).flat_values.numpy()
    np.testing.assert_allclose(found, [0.26894143, 0.7310586, 1], rtol=1e-6)
    logs = tf.nn.log_softmax(X).flat_values.numpy()
    np.testing.assert_allclose(logs, np.log([0.26894143, 0.7310586, 1]), atol=1e-6)
    total = tf.reduce_logsumexp(X, 1).numpy()
    np.testing.assert_allclose(total, [2.3132617, -np.inf, 3], rtol=1e-6)


def test_gradients_of_ragged_sources_are_ragged():
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = X * X
    found = tape.gradient(y, X)
    assert found.to_list() == [[2, 4], [], [6]]


def test_loops_and_branches_carry_ragged_tensors():
    @tf.function(autograph=False)
    def grown(x):
        _, x = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + 1.0), [0, x])
        return tf.cond(tf.size(x) > 0, lambda: x * 2.0, lambda: x)

    assert grown(X).to_list() == [[8, 10], [], [12]]


SHAPE = tf.experimental.DynamicRaggedShape


def test_dynamic_ragged_shapes():
    shape = SHAPE.from_lengths([2, (2, 1), 3])
    assert repr(shape) == "<DynamicRaggedShape lengths=[2, (2, 1), 3] num_row_partitions=1>"
    assert (shape.rank, shape.inner_rank, shape.num_row_partitions) == (3, 2, 1)
    assert shape.static_lengths(ragged_lengths=False) == [2, None, 3]
    assert [int(shape[0]), int(shape[-1])] == [2, 3]
    assert [shape.is_uniform(i) for i in range(3)] == [True, False, True]
    assert shape[:2].static_lengths() == [2, (2, 1)]
    assert SHAPE.from_tensor(R3).static_lengths() == [3, (2, 0, 1), (2, 0, 1)]
    both = tf.broadcast_dynamic_shape(shape, SHAPE.from_lengths([3]))
    assert both.static_lengths() == [2, (2, 1), 3]
    for bad, error in ((lambda: shape[1], ValueError), (lambda: shape[5], IndexError),
                       (lambda: shape[1:], ValueError), (lambda: shape[::2], IndexError),
                       (lambda: SHAPE.from_lengths([2, (1,)]), ValueError)):  # fmt: skip
        with pytest.raises(error):
            bad()


# ---- unknown ranks


def unknown(function, *ranks, dtype=tf.float32):
    """A function of ragged tensors, of whose shape the ragged rank alone is known."""
    specs = [
        tf.RaggedTensorSpec(None, dtype, r) if r else tf.TensorSpec(None, dtype) for r in ranks
    ]
    return tf.function(function, input_signature=specs)


def test_stack_of_tensors_of_unknown_rank():
    x = tf.reshape(tf.range(6.0), [2, 3])
    stacked = unknown(lambda x: tf.ragged.stack([x, x]), 0)(x)
    assert stacked.ragged_rank == 2
    assert stacked.to_list() == [x.numpy().tolist()] * 2
    beside = unknown(lambda x, y: tf.ragged.stack([x, y], axis=1), 0, 0)(x, x[:, :1])
    assert beside.to_list() == [[[0, 1, 2], [0]], [[3, 4, 5], [3]]]


def test_means_of_segments_of_unknown_rank():
    x = tf.ragged.constant([[1.0, 2.0], [3.0], [4.0, 5.0]])
    for function in (tf.math.unsorted_segment_mean, tf.math.unsorted_segment_sqrt_n):
        call = unknown(lambda x, f=function: f(x, [0, 0, 1], 2), 1)
        assert call(x).to_list() == function(x, [0, 0, 1], 2).to_list()


def test_where_of_compat_v1_takes_ragged_tensors_of_one_shape():
    x = tf.ragged.constant([[1.0, 2.0], [3.0]])
    call = unknown(
        lambda x, y: tf.compat.v1.where(x.with_flat_values(x.flat_values > 2.0), x, y), 1, 1
    )
    assert call(x, tf.ragged.constant([[5.0, 1.0], [2.0]])).to_list() == [[5, 1], [3]]
    for y in (tf.constant([[1.0], [2.0]]), 1.0, tf.ragged.constant([[1.0], [2.0]])):
        with pytest.raises(ValueError, match=r"same|not match"):
            tf.compat.v1.where(x > 1.0, x, y)
    with pytest.raises(ValueError, match="rank 1"):
        tf.compat.v1.where([[True], [False]], x, x)


def test_gathering_by_batches_needs_the_rank_of_the_indices():
    call = unknown(lambda x, i: tf.gather(x, tf.cast(i, tf.int32), batch_dims=1), 1, 1)
    with pytest.raises(ValueError, match="rank of the indices"):
        call.get_concrete_function()


def test_padding_of_a_tensor_of_unknown_rank():
    x = tf.constant([[[1.0, 2.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    call = unknown(lambda x: tf.RaggedTensor.from_tensor(x, padding=[0.0, 1.0]), 0)
    assert call(x).to_list() == [[[1, 2]], []]


def test_rows_side_by_side_are_as_many_as_one_of_them_says():
    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def beside(x):
        joined = tf.concat([x, tf.zeros([2, 1])], 1)
        assert joined.shape.as_list() == [2, None]
        return joined

    assert beside(tf.ragged.constant([[1.0], []])).to_list() == [[1, 0], [0]]


def test_text_needs_a_rank():
    with pytest.raises(ValueError, match="known rank"):
        unknown(lambda x: tf.strings.format("{}", x), 1).get_concrete_function()


def test_a_loop_takes_a_ragged_tensor_of_unknown_rank():
    def double(x):
        shapes = [tf.TensorShape([]), tf.RaggedTensorSpec([None, None], tf.float32)]
        count = tf.constant(0)
        return tf.while_loop(
            lambda i, _: i < 2, lambda i, x: (i + 1, tf.concat([x, x], 0)), [count, x], shapes
        )[1]

    assert unknown(double, 1)(tf.ragged.constant([[1.0], []])).to_list() == [[1], []] * 4
    with pytest.raises(tf.errors.InvalidArgumentError, match="EnsureShape"):
        unknown(double, 1)(tf.ragged.constant([[[1.0]]], ragged_rank=1))


def test_axes_of_ragged_reductions_are_known():
    x = tf.ragged.constant([[1.0], [2.0, 3.0]])
    with pytest.raises(TypeError, match="must be an int"):
        tf.reduce_sum(x, tf.constant(1))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must be known"):
        tf.reduce_sum(tf.ragged.constant([[1.0]]), tf.compat.v1.placeholder(tf.int32, []))


def test_placeholders_say_nothing_of_their_values():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.ragged.placeholder(tf.float32, 1)
        assert (x.shape.rank, x.flat_values.shape.rank) == (None, None)
        fed = tf.compat.v1.ragged.constant_value([[[1.0, 2.0]], []], ragged_rank=1)
        assert session.run(tf.reduce_sum(x, 2), {x: fed}).to_list() == [[3.0], []]


@pytest.mark.parametrize("name", ["row_splits", "row_lengths", "row_starts", "row_limits"])
def test_partitions_of_tensors_of_unknown_rank_are_vectors(name):
    partition = tf.experimental.RowPartition

    @tf.function(input_signature=[tf.TensorSpec(None, tf.int64)] * 2)
    def look(lengths, ids):
        assert getattr(partition.from_row_lengths(lengths), name)().shape == [None]
        rows = 4 if name == "row_splits" else 3
        assert getattr(partition.from_value_rowids(ids, nrows=3), name)().shape == [rows]

    look.get_concrete_function()


def test_means_over_several_axes_of_unknown_rank():
    x = tf.ragged.constant([[[[1.0, 2.0], [3.0]], []], [[[5.0]]]])
    mean = unknown(lambda x: tf.reduce_mean(x, [1, 3]), 3)
    assert mean(x).to_list() == tf.reduce_mean(x, [1, 3]).to_list() == [[1.5, 3.0], [5.0]]


def test_rows_of_values_of_unknown_rank():
    row = unknown(lambda x: tf.RaggedTensor.from_uniform_row_length(x, 2)[1], 0)
    assert row([1.0, 2.0, 3.0, 4.0]).numpy().tolist() == [3, 4]


def test_the_ragged_part_of_a_shape_of_unknown_rank():
    lengths = unknown(lambda x: tf.shape(x)[:2].static_lengths(), 2)
    assert lengths.get_concrete_function() is not None
    with pytest.raises(ValueError, match="Rank must be known"):
        unknown(lambda x: tf.shape(x)[1:].rank, 2).get_concrete_function()


def test_partitions_of_ragged_tensors_may_be_int64():
    x = tf.ragged.constant([[1.0, 2.0], [3.0]])
    parts = tf.dynamic_partition(x, tf.ragged.constant([[0, 1], [1]], dtype=tf.int64), 2)
    assert [p.numpy().tolist() for p in parts] == [[1], [2, 3]]


def test_realdiv_of_ragged_tensors():
    x = tf.ragged.constant([[1.0, 2.0], [3.0]])
    assert tf.realdiv(x, x + 1.0).to_list() == (x / (x + 1.0)).to_list()
