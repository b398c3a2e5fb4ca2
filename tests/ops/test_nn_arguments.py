"""Arguments of functions of families: tensors in place of numbers, old names beside new ones."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
IMAGE = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)
FILTER = np.arange(24, dtype=np.float32).reshape(2, 2, 2, 3)


def test_sigmoid_cross_entropy_slopes_at_zero() -> None:
    logits = tf.constant([0.0, -0.0, 1.0, -2.0])
    for label in (0.0, 0.3, 1.0):
        labels = tf.constant([label] * 4)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        slope = tape.gradient(loss, logits).numpy()
        np.testing.assert_allclose(slope, tf.sigmoid(logits).numpy() - label, rtol=1e-6)


@pytest.mark.parametrize("specs", [(None, None), ([None, None], [None, None, None])])
@pytest.mark.parametrize("compiled", [False, True])
def test_sparse_cross_entropy_finds_that_late_shapes_differ(specs: Any, compiled: bool) -> None:
    signature = [tf.TensorSpec(specs[0], tf.int64), tf.TensorSpec(specs[1])]
    function = tf.nn.sparse_softmax_cross_entropy_with_logits
    late = tf.function(function, input_signature=signature, jit_compile=compiled)
    assert late(np.zeros((2, 3), np.int64), np.zeros((2, 3, 4), np.float32)).shape == (2, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"without the last.*\[2 3\].*\[3 2\]"):
        late(np.zeros((2, 3), np.int64), np.zeros((3, 2, 4), np.float32))


@pytest.mark.parametrize("axis", [2, -3])
def test_cross_entropy_refuses_an_axis_beyond_the_rank(axis: int) -> None:
    function = functools.partial(tf.nn.softmax_cross_entropy_with_logits, axis=axis)
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"\[-2, 2\).*{axis}"):
        function(tf.ones([2, 3]), tf.ones([2, 3]))
    with pytest.raises(ValueError, match=rf"\[-2, 2\).*{axis}"):
        tf.function(function)(tf.ones([2, 3]), tf.ones([2, 3]))


def test_sparse_cross_entropy_of_unknown_ranks() -> None:
    """Labels and logits may have any rank where neither is known."""
    function = tf.nn.sparse_softmax_cross_entropy_with_logits
    signature = [tf.TensorSpec(None, tf.int64), tf.TensorSpec(None)]
    concrete = tf.function(function, input_signature=signature).get_concrete_function()
    assert concrete.output_shapes.rank is None
    for labels in (1, [1, 2], [[1, 2], [0, 1]]):
        logits = np.arange(np.size(labels) * 3, dtype=np.float32) ** 2
        logits = logits.reshape(*np.shape(labels), 3)
        found = concrete(tf.constant(labels, tf.int64), tf.constant(logits))
        np.testing.assert_allclose(found, function(labels, logits), rtol=1e-6)


def test_weighted_cross_entropy_slopes_at_zero() -> None:
    logits = tf.constant([0.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.nn.weighted_cross_entropy_with_logits(tf.zeros(2), logits, 3.0)
    np.testing.assert_allclose(tape.gradient(loss, logits), tf.sigmoid(logits), rtol=1e-6)


def _largest(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_max(x)
    return tape.gradient(y, x)


def test_nan_is_kept_where_bools_become_floats() -> None:
    x = tf.constant([[np.nan, 1.0]])
    assert np.isnan(_largest(x)).all()
    for compiled in (None, True):
        assert np.isnan(tf.function(_largest, jit_compile=compiled)(x)).all()

    def scaled(mask: Any, factor: Any) -> Any:
        return tf.cast(mask, factor.dtype) * factor

    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
        factor = tf.constant(np.nan, dtype)
        got = tf.function(scaled, jit_compile=True)(tf.constant([True, False]), factor)
        assert np.isnan(tf.cast(got, tf.float32)).all()


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: v1.nn.l2_normalize([1.0], axis=0, dim=0), "'dim' and 'axis'"),
        (
            lambda: v1.nn.convolution(IMAGE, FILTER, "SAME", dilations=1, dilation_rate=1),
            "'dilation_rate' and 'dilations'",
        ),
        (
            lambda: v1.nn.depthwise_conv2d(
                IMAGE, FILTER, [1, 1, 1, 1], "SAME", rate=[1, 1], dilations=[1, 1]
            ),
            "'rate' and 'dilations'",
        ),
        (lambda: v1.nn.max_pool(IMAGE, 2, 2, "SAME", input=IMAGE), "'value' and 'input'"),
        (lambda: v1.nn.avg_pool(IMAGE, 2, 2, "SAME", input=IMAGE), "'value' and 'input'"),
        (
            lambda: v1.nn.pool(IMAGE, [2, 2], "MAX", "SAME", dilations=1, dilation_rate=1),
            "'dilation_rate' and 'dilations'",
        ),
        (
            lambda: v1.nn.dilation2d(
                IMAGE, FILTER[..., 0], [1, 1, 1, 1], [1, 1, 1, 1], "SAME", dilations=[1, 1, 1, 1]
            ),
            "'rates' and 'dilations'",
        ),
        (
            lambda: v1.nn.conv2d_transpose(IMAGE, FILTER, [1, 8, 8, 2], 2, filters=FILTER),
            "'filter' and 'filters'",
        ),
        (
            lambda: v1.nn.moments(tf.ones(2), [0], keepdims=True, keep_dims=True),
            "'keep_dims' and 'keepdims'",
        ),
        (
            lambda: v1.batch_to_space(
                np.zeros((4, 2, 2, 1)), [[0, 0], [0, 0]], block_size=2, block_shape=2
            ),
            "'block_size' and 'block_shape'",
        ),
        (
            lambda: v1.nn.batch_norm_with_global_normalization(
                IMAGE, [0.0] * 2, [1.0] * 2, [0.0] * 2, [1.0] * 2, 0.1, True, mean=[0.0] * 2
            ),
            "'m' and 'mean'",
        ),
    ],
)
def test_old_and_new_name_together_are_refused(call: Any, names: str) -> None:
    with pytest.raises(ValueError, match=f"Cannot specify both {names}"):
        call()


def _in_all_modes(function: Any, *arrays: Any) -> list[np.ndarray[Any, Any]]:
    """Results of an eager call, a traced one, and a step with everything fed."""
    eager = function(*map(tf.constant, arrays))
    traced = tf.function(function)(*map(tf.constant, arrays))
    with tf.Graph().as_default(), v1.Session() as session:
        fed = [v1.placeholder(np.asarray(a).dtype, np.shape(a)) for a in arrays]
        step = session.run(function(*fed), dict(zip(fed, arrays, strict=True)))
    return [eager.numpy(), traced.numpy(), step]


def test_tensordot_of_axes_in_a_tensor() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = np.arange(12, dtype=np.float32).reshape(3, 4)
    for got in _in_all_modes(tf.tensordot, a, b, np.array([[-1], [0]], np.int32)):
        np.testing.assert_allclose(got, a @ b)
    for got in _in_all_modes(tf.tensordot, a, a, np.array([[1, 0], [-1, -2]], np.int32)):
        np.testing.assert_allclose(got, (a * a).sum())
    with tf.Graph().as_default():
        fixed = tf.tensordot(a, b, tf.constant([[1], [0]]))
        assert fixed.shape == (2, 4)
        with pytest.raises(ValueError, match=r"shape \[2, n\]"):
            tf.tensordot(a, b, v1.placeholder(tf.int32, []))


def test_softmax_along_an_axis_in_a_tensor() -> None:
    x = np.array([[1.0, 2.0], [3.0, 1.0]], np.float32)
    for axis in (0, 1, -2):
        wanted = tf.nn.softmax(x, axis).numpy()
        for got in _in_all_modes(lambda x, axis: tf.nn.softmax(x, axis=axis), x, np.int32(axis)):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
        for got in _in_all_modes(tf.nn.log_softmax, x, np.int32(axis)):
            np.testing.assert_allclose(got, np.log(wanted), rtol=1e-5)


def test_silu_with_a_variable_as_beta() -> None:
    beta, x = tf.Variable(0.5), tf.constant([1.0, -2.0])
    wanted = (x * tf.sigmoid(0.5 * x)).numpy()
    np.testing.assert_allclose(tf.nn.silu(x, beta), wanted, rtol=1e-6)
    np.testing.assert_allclose(tf.function(lambda: tf.nn.silu(x, beta))(), wanted, rtol=1e-6)


def test_moments_over_all_axes_and_over_axes_in_a_tensor() -> None:
    x = np.array([[1.0, 2.0, 4.0], [3.0, 0.0, 5.0]], np.float32)
    average, variance = tf.nn.moments(x, None)
    assert average.shape == ()
    np.testing.assert_allclose([average, variance], [x.mean(), x.var()], rtol=1e-6)
    for keep in (False, True):
        both = functools.partial(_stacked_moments, keepdims=keep)
        wanted = [x.mean(0, keepdims=keep), x.var(0, keepdims=keep)]
        for got in _in_all_modes(both, x, np.array([0])):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)


def _stacked_moments(x: Any, axes: Any, keepdims: bool) -> Any:
    return tf.stack(tf.nn.moments(x, axes, keepdims=keepdims))


def test_batch_normalization_with_epsilon_in_a_tensor() -> None:
    x = np.array([[1.0, 2.0]], np.float32)

    def normalized(x: Any, epsilon: Any) -> Any:
        return tf.nn.batch_normalization(x, 1.0, 2.0, 0.5, None, epsilon)

    for got in _in_all_modes(normalized, x, np.float32(0.5)):
        np.testing.assert_allclose(got, (x - 1) / np.sqrt(2.5) + 0.5, rtol=1e-6)


def test_average_loss_of_no_examples_is_zero() -> None:
    assert tf.nn.compute_average_loss([1.0, 2.0], global_batch_size=0).numpy() == 0
    assert tf.nn.compute_average_loss(tf.zeros(0)).numpy() == 0
    assert tf.nn.compute_average_loss([1, 2]).dtype == tf.float64
    assert tf.nn.compute_average_loss(np.array([1, 2], np.int8)).dtype == tf.float32


def test_general_dropout_draws_from_a_generator() -> None:
    generator = tf.random.Generator.from_seed(1)
    drawn = tf.random.Generator.from_seed(1).uniform([3])
    got = tf.nn.experimental.general_dropout(tf.ones(3), 0.5, generator.uniform)
    np.testing.assert_array_equal(got, np.where(drawn >= 0.5, 2.0, 0.0))


def test_searchsorted_refuses_scalars() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank at least 1"):
        tf.searchsorted([1.0, 3.0], 2.0)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="rank at least 1"):
        tf.searchsorted(tf.constant([1.0, 3.0]), tf.constant(2.0))


def test_batch_scatter_update_refuses_plain_tensors() -> None:
    with pytest.raises(TypeError, match=r"must be a `tf.IndexedSlices`"):
        tf.Variable([1.0]).batch_scatter_update(tf.constant([1.0]))


def test_zeros_and_ones_like_sparse_tensors() -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0, 1]], [2.0], [1, 2])
        zeros, ones = tf.zeros_like(sparse), tf.ones_like(sparse, tf.int32)
        assert (zeros.shape, zeros.dtype) == ((1, 2), tf.float32)
        assert (ones.shape, ones.dtype) == ((1, 2), tf.int32)
        fed = tf.compat.v1.sparse_placeholder(tf.float32, [1, 2])
        assert tf.zeros_like(fed).shape == (1, 2)
    with pytest.raises(ValueError, match="SparseTensor"):  # a single call takes none in TensorFlow
        tf.ones_like(tf.SparseTensor([[0, 1]], [2.0], [1, 2]))


def test_unstack_of_no_slices_is_an_empty_list_in_a_graph() -> None:
    with tf.Graph().as_default():
        assert tf.unstack(tf.zeros((0, 2))) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ([1, 4, 4, 3], 0, "SAME"),
        ([1, 4, 4, 3], 2, "EXPLICIT"),
        ([1, 4, 4], 2, "SAME"),
        ([1, 4, 4, 2], 2, "SAME"),
    ],
)
def test_atrous_convolutions_refuse_what_cannot_be(arguments: Any) -> None:
    filters = np.ones((2, 2, 3, 2), np.float32)
    with pytest.raises(ValueError, match="Received"):
        tf.nn.atrous_conv2d_transpose(IMAGE, filters, *arguments)
    with pytest.raises(ValueError, match="must be positive"):
        tf.nn.atrous_conv2d(IMAGE, FILTER, 0, "SAME")


def test_names_of_moments_in_graphs() -> None:
    with tf.Graph().as_default():
        kept = tf.nn.moments(tf.ones((2, 3)), [0], keepdims=True)
        assert [t.name for t in kept] == ["moments/mean:0", "moments/variance:0"]
        sums = tf.nn.sufficient_statistics(tf.ones((2, 3)), [0])[1:3]
        assert [t.op.name.split("/")[-1] for t in sums] == ["mean_ss", "var_ss"]
        normal = tf.nn.normalize_moments(2.0, tf.ones(3), tf.ones(3), None)
        assert [t.name for t in normal] == ["normalize/mean:0", "normalize/variance:0"]


def test_stateless_numbers_without_an_algorithm() -> None:
    for draw in (
        tf.random.stateless_normal,
        tf.random.stateless_uniform,
        tf.random.stateless_truncated_normal,
    ):
        np.testing.assert_array_equal(draw([2], [1, 2], alg=None), draw([2], [1, 2]))


def test_unique_labels_are_a_list() -> None:
    assert isinstance(tf.nn.ctc_unique_labels([[1, 2]]), list)


def test_linspace_between_arrays_of_other_ranks() -> None:
    tnp = tf.experimental.numpy
    for ends in ((0.0, [1.0, 2.0]), ([1.0, 2.0], [[3.0], [5.0]]), ([[1.0], [2.0]], 4.0)):
        for axis in (0, 1, -1):
            for endpoint in (True, False):
                wanted = np.linspace(*map(np.asarray, ends), 3, endpoint=endpoint, axis=axis)
                arrays = [tf.constant(end) for end in ends]
                got = tnp.linspace(*arrays, 3, endpoint=endpoint, axis=axis)
                np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_names_of_unsorted_means_in_graphs() -> None:
    with tf.Graph().as_default():
        mean = tf.math.unsorted_segment_mean(tf.ones(2), [0, 1], 2)
        root = tf.math.unsorted_segment_sqrt_n(tf.ones(2), [0, 1], 2, name="k")
        assert (mean.name, root.name) == ("UnsortedSegmentMean/truediv:0", "k/truediv:0")


def test_slopes_of_complex_signs() -> None:
    x = tf.constant([1 + 2j, 0.5 - 1j, 0j], tf.complex64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sign(x)
    wanted = [0.35777 - 0.17889j, 0.71554 + 0.35777j, 0]
    np.testing.assert_allclose(tape.gradient(y, x), wanted, rtol=1e-4)


def test_slices_that_gather_nd_gives_back_have_sizes_of_the_indices_dtype() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.gather_nd(x, tf.constant([[1], [2]], tf.int64))
    assert tape.gradient(y, x).dense_shape.dtype == tf.int64


def test_an_atrous_transpose_takes_tensors_among_sizes_and_as_its_rate() -> None:
    filters = np.ones((2, 2, 3, 2), np.float32)
    wanted = tf.nn.atrous_conv2d_transpose(IMAGE, filters, [1, 4, 4, 3], 2, "SAME").numpy()

    @tf.function
    def computed(image: Any) -> Any:
        sizes = [tf.shape(image)[0], 4, 4, 3]
        with pytest.raises(ValueError, match="channel count 2"):
            tf.nn.atrous_conv2d_transpose(image, filters, [*sizes[:3], 2], 2, "SAME")
        return tf.nn.atrous_conv2d_transpose(image, filters, sizes, 2, "SAME")

    np.testing.assert_array_equal(computed(IMAGE), wanted)
    sizes, rate = np.array([1, 4, 4, 3]), tf.constant(2)
    found = tf.nn.atrous_conv2d_transpose(IMAGE, filters, sizes, rate, "SAME")
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("function", [tf.nn.softmax, tf.nn.log_softmax])
def test_softmax_takes_no_fraction_of_an_axis(function: Any) -> None:
    for axis in (0.5, np.float32(0), 0.0):
        with pytest.raises(tf.errors.InvalidArgumentError, match="integer axis"):
            function([[1.0, 2.0]], axis=axis)
        with tf.Graph().as_default(), pytest.raises(TypeError, match="integer axis"):
            function([[1.0, 2.0]], axis=axis)
    for axis in (1.0, np.array([1]), tf.constant([1])):  # the last one is only compared
        np.testing.assert_array_equal(function([[1.0, 2.0]], axis=axis), function([[1.0, 2.0]]))


@pytest.mark.parametrize("axes", [1.5, [0.0], tf.constant([1.0])])
def test_moments_take_no_fractions_of_axes(axes: Any) -> None:
    x = tf.ones((2, 3))
    with pytest.raises(TypeError, match="integers"):
        tf.nn.sufficient_statistics(x, axes)
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
        tf.nn.moments(x, axes)


@pytest.mark.parametrize("dtype", [tf.complex64, tf.complex128])
def test_a_false_that_became_complex_keeps_nan_in_compiled_code(dtype: Any) -> None:
    @tf.function
    def masked(mask: Any, x: Any) -> Any:
        return tf.cast(mask, dtype) * tf.cast(x, dtype)

    found = masked(tf.constant([False, True]), tf.constant([np.nan, 2.0])).numpy()
    assert np.isnan(found[0].real)
    assert found[1] == 2


def test_what_dropout_leaves_has_the_shape_of_its_input():
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec(None)])
    def traced(x, rate):
        shapes.append(tf.nn.dropout(x, rate).shape.as_list())
        with pytest.raises(ValueError, match="not compatible"):
            tf.nn.dropout(x[0], 0.5, noise_shape=[2, 1])

    traced.get_concrete_function()
    assert shapes == [[None, 3]]
    with pytest.raises(ValueError, match="unsupported value 0"):
        tf.nn.experimental.stateless_dropout(tf.ones([4]), 0.5, [1, 2], rng_alg=0)


def test_gradients_of_depthwise_convolutions_refuse_filters_of_another_depth():
    given = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    for depth, sizes in ((500, (1, 1, 1, 999)), (4, (3, 3, 1, 3)), (4, (1, 1, 2, 2))):
        size = 6 - sizes[0]
        grad = tf.ones([1, size, size, sizes[2] * sizes[3]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="third size"):
            tf.raw_ops.DepthwiseConv2dNativeBackpropFilter(
                input=tf.ones([1, 5, 5, depth]), filter_sizes=sizes, out_backprop=grad, **given
            )
        with pytest.raises(tf.errors.InvalidArgumentError, match="third size"):
            tf.raw_ops.DepthwiseConv2dNativeBackpropInput(
                input_sizes=[1, 5, 5, depth], filter=tf.ones(sizes), out_backprop=grad, **given
            )
