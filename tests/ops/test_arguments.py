"""Arguments in forms that are seldom met: axes that are tensors, lists of nothing, odd dtypes."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

CUBE = np.arange(24.0).reshape(2, 3, 4)


def test_tensordot_takes_axes_that_a_graph_computes() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        axes = tf.compat.v1.placeholder(tf.int32, [2, None])
        product = tf.tensordot(CUBE, CUBE, axes)
        found = session.run(product, {axes: [[1, 2], [1, -1]]})
        known = tf.tensordot(CUBE, CUBE, tf.constant([[2], [2]]))
        assert known.shape == (2, 3, 2, 3)
        np.testing.assert_allclose(session.run(known), np.tensordot(CUBE, CUBE, [[2], [2]]))
    np.testing.assert_allclose(found, np.tensordot(CUBE, CUBE, [[1, 2], [1, 2]]))


@pytest.mark.parametrize("axes", [np.array(1), tf.constant(1), tf.constant([1, 1])])
def test_tensordot_refuses_tensors_of_axes_without_two_sides(axes: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"`axes` of shape \[2, n\]"):
        tf.tensordot(CUBE, CUBE, axes)
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"`axes` of shape \[2, n\]"):
        tf.tensordot(CUBE, CUBE, np.array(axes))


def test_tensordot_refuses_other_axes() -> None:
    with pytest.raises(ValueError, match="None"):
        tf.tensordot(CUBE, CUBE, None)
    with pytest.raises(ValueError, match="int32"):
        tf.tensordot(CUBE, CUBE, tf.constant([[1], [1]], tf.int64))
    with pytest.raises(TypeError, match="got a number and a list"):
        tf.tensordot(CUBE, CUBE, (1, [1]))


def test_linspace_takes_an_axis_that_is_a_tensor() -> None:
    wanted = tf.linspace([0.0, 1.0], [1.0, 2.0], 3, axis=1).numpy().tolist()
    for axis in (tf.constant(1), tf.Variable(1), np.int64(-1)):
        assert tf.linspace([0.0, 1.0], [1.0, 2.0], 3, axis=axis).numpy().tolist() == wanted
    with tf.Graph().as_default(), pytest.raises(ValueError, match="known now"):
        tf.linspace([0.0], [1.0], 3, axis=tf.compat.v1.placeholder(tf.int32, []))


def test_a_variable_is_an_attribute_eagerly() -> None:
    axis = tf.Variable(1)
    assert tf.stack([[1, 2], [3, 4]], axis=axis).numpy().tolist() == [[1, 3], [2, 4]]
    with tf.Graph().as_default(), pytest.raises(TypeError):
        tf.stack([[1], [2]], axis=tf.Variable(1))


def test_unstack_of_nothing_is_an_empty_list_in_a_graph() -> None:
    with tf.Graph().as_default():
        assert tf.unstack(tf.zeros([0, 3])) == []


@pytest.mark.parametrize("axis", [1.0, "1"])
def test_axes_that_are_no_integers(axis: Any) -> None:
    with pytest.raises(TypeError, match="axis"):
        tf.repeat(CUBE, 2, axis)
    with pytest.raises(TypeError, match="axis"):
        tf.boolean_mask(CUBE, [True, False, True], axis=axis)


@pytest.mark.parametrize("axis", [np.int64(1), tf.constant(1), np.float32(1)])
def test_repeat_takes_a_python_integer_as_axis(axis: Any) -> None:
    with pytest.raises(TypeError, match="`axis` must be an int"):
        tf.repeat(CUBE, 2, axis)


def test_repeat_takes_integers_of_one_axis() -> None:
    with pytest.raises(TypeError, match="expected integers as `repeats`"):
        tf.repeat(CUBE, tf.constant(2.0), 0)
    with pytest.raises(ValueError, match="rank 0 or 1"):
        tf.repeat(CUBE, [[2]], 0)
    for axis in (None, 0, -1):
        assert tf.repeat(3.0, 2, axis).numpy().tolist() == [3.0, 3.0]


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shape", [[None, None], [2, None], None])
@pytest.mark.parametrize("times", [[None], None])
def test_repeats_of_sizes_that_are_known_late(axis: Any, shape: Any, times: Any) -> None:
    x, size = np.arange(6).reshape(2, 3), {0: 2, 1: 3, None: 6}[axis]
    f = tf.function(
        lambda x, r: tf.repeat(x, r, axis=axis),
        input_signature=[tf.TensorSpec(shape, tf.int64), tf.TensorSpec(times, tf.int32)],
    )
    for given in ([2], list(range(size))):
        np.testing.assert_array_equal(f(x, np.int32(given)), np.repeat(x, given, axis))
    for wrong in ([], [1] * (size - 1), [1] * (size + 1)):
        if len(wrong) != 1:
            with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
                f(x, np.int32(wrong))


def test_repeats_of_a_scalar_of_unknown_rank() -> None:
    function = tf.function(
        lambda x, n: tf.repeat(x, n, axis=0),
        input_signature=[tf.TensorSpec(None), tf.TensorSpec([None], tf.int32)],
    )
    assert function(5.0, [2]).numpy().tolist() == [5, 5]
    assert function([5.0, 6.0], [2, 1]).numpy().tolist() == [5, 5, 6]


def test_negative_repeats_count_as_none() -> None:
    for repeats in ([3, -1, 2], [-1, -1, -1]):
        want = np.repeat([1, 2, 3], np.maximum(repeats, 0))
        np.testing.assert_array_equal(tf.repeat([1, 2, 3], repeats), want)


@pytest.mark.parametrize("axis", [np.int64(1), 1.0, np.array([1]), [1], [0, 1]])
def test_argmax_takes_a_python_integer_or_an_integer_tensor(axis: Any) -> None:
    """TensorFlow's `argmin` leaves it to the operation."""
    with pytest.raises(TypeError, match="axis must be int or Tensor with integer"):
        tf.argmax(CUBE, axis)
    with tf.Graph().as_default():
        for wrong in (axis, tf.constant(1.0)):
            with pytest.raises(TypeError, match="axis must be int or Tensor with integer"):
                tf.argmax(CUBE, wrong)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_argmax_takes_axes_of_any_integer_dtype(dtype: str) -> None:
    found = tf.argmax(CUBE, tf.constant(1, dtype))
    np.testing.assert_array_equal(found, np.argmax(CUBE, 1))


def test_argmin_refuses_several_axes_while_a_graph_is_built() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="rank 0"):
        tf.argmin(tf.compat.v1.placeholder(tf.float32), [0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.argmin(CUBE, [0])


@pytest.mark.parametrize("rate", [[2], [2, 2], (1, 2), np.array([2]), np.array(2), 2.5])
def test_atrous_convolutions_take_a_rate_for_each_axis(rate: Any) -> None:
    image, window = np.ones((1, 7, 7, 1), np.float32), np.ones((2, 2, 1, 1), np.float32)
    rates = [int(r) for r in np.broadcast_to(rate, 2)]
    wanted = tf.nn.convolution(image, window, dilations=rates)
    np.testing.assert_array_equal(tf.nn.atrous_conv2d(image, window, rate, "VALID"), wanted)
    for wrong in ([0], "a", [1, 2, 3]):
        with pytest.raises(ValueError):
            tf.nn.atrous_conv2d(image, window, wrong, "VALID")


def test_concat_takes_a_vector_of_one_axis_eagerly_alone() -> None:
    assert tf.concat([CUBE, CUBE], [1]).shape == (2, 6, 4)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="rank 0"):
        tf.concat([CUBE, CUBE], [1])


def test_means_of_no_complex_numbers_are_zero() -> None:
    for dtype, wanted in ((tf.complex64, 0), (tf.complex128, 0), (tf.float32, np.nan)):
        for compiled in (False, True):
            mean = tf.function(tf.reduce_mean, jit_compile=True) if compiled else tf.reduce_mean
            np.testing.assert_array_equal(mean(tf.zeros([0], dtype)), wanted)


def test_one_hot_refuses_a_depth_of_another_dtype() -> None:
    with pytest.raises(ValueError, match="int32 for Tensor with dtype int64"):
        tf.one_hot([0, 1], tf.constant(2, tf.int64))


def test_eye_takes_sizes_of_64_bits_in_a_graph() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        size = tf.compat.v1.placeholder(tf.int64, [])
        assert session.run(tf.eye(size), {size: 2}).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("value", [[[7.0]], [[[7.0]]], [7.0], 7.0])
def test_a_value_loses_leading_axes_of_one_when_a_slice_takes_it(value: Any) -> None:
    variable = tf.Variable([1.0, 2.0])
    variable[:1].assign(value)
    assert variable.numpy().tolist() == [7.0, 2.0]
    variable[1].assign(value)
    assert variable.numpy().tolist() == [7.0, 7.0]
    updated = tf.raw_ops.TensorStridedSliceUpdate(
        input=[1.0, 2.0], begin=[0], end=[2], strides=[1], value=value
    )
    assert updated.numpy().tolist() == [7.0, 7.0]

    @tf.function(jit_compile=True)
    def compiled(x: Any) -> Any:
        return tf.raw_ops.TensorStridedSliceUpdate(
            input=x, begin=[1], end=[2], strides=[1], value=value, shrink_axis_mask=1
        )

    assert compiled(tf.constant([1.0, 2.0])).numpy().tolist() == [1.0, 7.0]


def test_other_leading_axes_are_refused() -> None:
    variable = tf.Variable([1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(2, 1\) into final shape \(2,\)"):
        variable[:2].assign([[1.0], [2.0]])


def test_names_in_a_graph() -> None:
    with tf.Graph().as_default():
        assert tf.abs(tf.constant([1j])).op.name == "Abs"
        assert tf.concat([[1, 2]], 0, name="c").op.name == "c/c"
        assert tf.sort(tf.constant([2, 1])).op.name == "sort/sub_1"


def test_assertions_of_order_want_real_numbers() -> None:
    for x in ("a", True, 1j):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in list of allowed"):
            tf.debugging.assert_less_equal(x, x)
        with tf.Graph().as_default(), pytest.raises(TypeError, match="not in list of allowed"):
            tf.debugging.assert_greater(x, x)
    with pytest.raises(TypeError, match="bool"):
        tf.debugging.assert_positive(True)


def test_assert_near_takes_complex_numbers() -> None:
    tf.debugging.assert_near(1j, 1j)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.debugging.assert_near(1j, 2j)


def test_static_assertions_return_nothing_in_version_2() -> None:
    old = tf.compat.v1
    with tf.Graph().as_default():
        assert tf.debugging.assert_type(1, tf.int32) is None
        assert tf.debugging.assert_integer(1) is None
        assert tf.debugging.assert_scalar(1) is None
        assert tf.debugging.assert_shapes([(1, ())]) is None
        assert old.assert_type(1, tf.int32).type == "NoOp"
        assert old.debugging.assert_integer(1).type == "NoOp"
        assert old.assert_scalar(1).dtype is tf.int32
        assert old.debugging.assert_shapes([(1, ())]).type == "NoOp"


def test_assertions_of_shapes_and_ranks() -> None:
    tf.debugging.assert_shapes([(CUBE, (..., 4))])
    tf.debugging.assert_type(tf.ragged.constant([[1]]), tf.int32)
    assert tf.debugging.assert_same_float_dtype([None, tf.constant(1.0)]) is tf.float32
    with pytest.raises(ValueError, match=r"rank in \(\)"):
        tf.debugging.assert_rank_in(1.0, [])


def test_nothing_is_cast_to_a_resource() -> None:
    for dtype in (tf.resource, tf.variant):
        with pytest.raises(tf.errors.UnimplementedError, match=dtype.name):
            tf.cast([1.0], dtype)


def test_a_constant_fills_parts_only_when_it_is_meant_to() -> None:
    part = {"partition_shape": [1, 2], "partition_offset": [0, 0]}
    whole = tf.constant_initializer(1.5)
    with pytest.raises(ValueError, match="support_partition=True"):
        whole([2, 2], **part)
    assert tf.constant_initializer(1.5, support_partition=True)([2, 2], **part).shape == (1, 2)


def test_gradients_of_eager_tensors_inside_a_function() -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])

    @tf.function
    def derived() -> Any:
        assert tf.gradients(x, []) == []
        by_x, by_y = tf.gradients([x * x, x], [x, y])
        assert by_y is None
        return by_x

    assert derived().numpy().tolist() == [3.0, 5.0]


def test_a_tape_wants_one_gradient_for_each_target() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="for each of 1 targets, got 2"):
        tape.gradient(y, x, output_gradients=[1.0, 2.0])


def test_an_optional_holds_tensors() -> None:
    with pytest.raises(TypeError, match="TypeSpec"):
        tf.experimental.Optional.from_value(object())
    with tf.Graph().as_default(), pytest.raises(ValueError, match="at least one tensor"):
        tf.experimental.Optional.from_value(None)


def test_devices_are_named_tuples() -> None:
    (name, kind), *_ = tf.config.list_physical_devices("CPU")
    assert (name, kind) == ("/physical_device:CPU:0", "CPU")
    assert tf.config.LogicalDevice("n", "CPU")._replace(name="m") == ("m", "CPU")
    assert tf.config.LogicalDeviceConfiguration(1) == (1, None, None)


def test_the_shape_of_a_dense_tensor_is_int32() -> None:
    shape = tf.experimental.DynamicRaggedShape.from_tensor(tf.zeros([2, 3]))
    assert shape.dtype is tf.int32
    assert shape[0].dtype is tf.int32


def test_types_have_numbers_and_messages() -> None:
    assert int(tf.float16) == 19
    assert tf.DType(tf.float16) is tf.float16
    message = tf.float16.experimental_as_proto()
    assert isinstance(message, tf.DType.experimental_type_proto())
    assert tf.DType.experimental_from_proto(message) is tf.float16


def test_files_take_text_and_folders(tmp_path: Any) -> None:
    name = str(tmp_path / "file")
    with tf.io.gfile.GFile(name, "w") as file, pytest.raises(TypeError, match="text or bytes"):
        file.write(1)
    (tmp_path / "file").touch()
    with pytest.raises(tf.errors.FailedPreconditionError):
        tf.io.gfile.makedirs(name)
    assert tf.io.gfile.glob("") == []


def test_one_hot_in_a_graph_refuses_a_depth_of_another_dtype_as_an_operation_does() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError):
        tf.one_hot([0, 1], tf.constant(2, tf.int64))


@pytest.mark.parametrize("dtype", [tf.int8, tf.int16, tf.int64, tf.uint8, tf.uint16])
def test_an_axis_of_argmax_is_any_integer_that_fits(dtype):
    axis = tf.cast(1, dtype)
    assert tf.argmax([[1.0, 3.0], [5.0, 2.0]], axis).numpy().tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [tf.uint32, tf.uint64])
def test_an_axis_of_argmax_does_not_lose_bits(dtype):
    axis = tf.cast(1, dtype)
    with pytest.raises(TypeError, match=f"fits into int32 or int64, got {dtype.name}"):
        tf.argmax([[1.0, 3.0], [5.0, 2.0]], axis)
    with pytest.raises(TypeError, match="Cast it with"):
        tf.compat.v1.argmax([[1.0, 3.0], [5.0, 2.0]], axis)


@pytest.mark.parametrize("inputs", [None, 3, "a", {"a": 1}, np.ones([2, 2])])
def test_accumulate_n_takes_lists(inputs):
    with pytest.raises(ValueError, match=f"Got {type(inputs).__name__}. Put the tensors"):
        tf.math.accumulate_n(inputs)


def test_meshgrid_has_one_dtype():
    with pytest.raises(tf.errors.InvalidArgumentError, match="was expected to be a float tensor"):
        tf.meshgrid([1], [2.0])
    with tf.Graph().as_default(), pytest.raises(TypeError, match="type int32"):
        tf.meshgrid([1], [2.0])
    with pytest.raises(TypeError, match="got string and string"):
        tf.meshgrid(["a"], ["b"])
    assert tf.meshgrid([True], [2])[1].numpy().tolist() == [[True]]


@pytest.mark.parametrize("function", ["decode", "decode_with_offsets", "split"])
def test_unicode_functions_of_numbers(function):
    call = getattr(tf.strings, "unicode_" + function)
    with pytest.raises(tf.errors.InvalidArgumentError):
        call([1, 2], "UTF-8")
    with tf.Graph().as_default(), pytest.raises(TypeError):
        call([1, 2], "UTF-8")
    assert tf.strings.unicode_decode([], "UTF-8").shape == [0, None]


@pytest.mark.parametrize("name", ["parse_example", "parse_single_example"])
def test_examples_are_strings(name):
    features = {"a": tf.io.FixedLenFeature([], tf.int64)}
    number = 1 if "single" in name else [1]
    with pytest.raises(ValueError, match="string"):
        getattr(tf.io, name)(number, features)
    with tf.Graph().as_default(), pytest.raises(TypeError, match="string"):
        getattr(tf.io, name)(number, features)


def test_non_max_suppression_padded_takes_boxes_of_integers():
    boxes = tf.constant([[0, 0, 1, 1], [0, 0, 1, 2], [5, 5, 6, 6]])
    found, count = tf.image.non_max_suppression_padded(
        boxes, [0.9, 0.8, 0.7], 2, pad_to_max_output_size=True, iou_threshold=0.4
    )
    assert found.numpy().tolist() == [0, 2]
    assert count == 2


def test_sums_of_slices_ask_for_a_dense_shape():
    """In a graph a TypeError, eagerly a ValueError, as TensorFlow's."""

    def rows():
        return tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([0]))

    with pytest.raises(ValueError, match="dense_shape"):
        tf.add_n([rows(), rows()])
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="dense_shape"):
            tf.add_n([rows(), rows()])
        with pytest.raises(ValueError, match="dense_shape"):
            tf.add_n([rows()])
