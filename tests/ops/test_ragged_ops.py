"""The raw operations of ragged tensors."""

import numpy as np
import pytest

import penstock as tf

RAW = tf.raw_ops


def dense(shape, values, default, parts, kinds):
    return RAW.RaggedTensorToTensor(
        shape=shape, values=values, default_value=default, row_partition_tensors=parts,
        row_partition_types=kinds,
    )  # fmt: skip


def test_RaggedTensorToTensor_takes_every_kind_of_partition():
    want = [[1, 2], [-1, -1], [3, -1]]
    by_splits = dense(-1, [1, 2, 3], -1, [np.array([0, 2, 2, 3])], ["ROW_SPLITS"])
    ids = [np.int64(3), np.array([0, 0, 2])]
    by_ids = dense(-1, [1, 2, 3], -1, ids, ["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
    assert by_splits.numpy().tolist() == by_ids.numpy().tolist() == want


@pytest.mark.parametrize(
    ("shape", "want"),
    [([2, -1], [[1, 2], [9, 9]]), ([-1, 1], [[1], [9], [3]]), ([1, 3], [[1, 2, 9]])],
)
def test_RaggedTensorToTensor_pads_and_cuts(shape, want):
    found = dense(shape, [1, 2, 3], 9, [np.array([0, 2, 2, 3])], ["ROW_SPLITS"])
    assert found.numpy().tolist() == want


@pytest.mark.parametrize(
    ("shape", "default", "kinds", "words"),
    [
        ([3], 0, ["ROW_SPLITS"], "rt_input.rank = 2 but shape.rank = 1"),
        (-1, [1, 2, 3], ["ROW_SPLITS"], "incompatible"),
        (-1, 0, ["ROW_LENGTHS"], "Unsupported partition type"),
    ],
)
def test_RaggedTensorToTensor_refuses(shape, default, kinds, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        dense(shape, [1, 2, 3], default, [np.array([0, 2, 2, 3])], kinds)


def test_RaggedTensorToTensor_gradient_goes_to_values_and_default():
    values, default = tf.constant([[1.0, 2], [3, 4], [5, 6]]), tf.constant([0.5])
    with tf.GradientTape() as tape:
        tape.watch([values, default])
        out = dense([3, 1, 2], values, default, [np.array([0, 2, 2, 3])], ["ROW_SPLITS"])
        loss = tf.reduce_sum(out * tf.reshape(tf.range(6.0), [3, 1, 2]))
    by_value, by_default = tape.gradient(loss, [values, default])
    assert tf.convert_to_tensor(by_value).numpy().tolist() == [[0, 1], [0, 0], [4, 5]]
    assert by_default.numpy().tolist() == [5]  # the cells 2 and 3


def test_RaggedTensorToSparse():
    splits = [np.array([0, 2, 2]), np.array([0, 1, 3])]
    values = tf.constant([1.0, 2, 3])
    with tf.GradientTape() as tape:
        tape.watch(values)
        indices, found, shape = RAW.RaggedTensorToSparse(
            rt_nested_splits=splits, rt_dense_values=values
        )
        loss = tf.reduce_sum(found * [1.0, 10, 100])
    assert indices.numpy().tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert found.numpy().tolist() == [1, 2, 3]
    assert shape.numpy().tolist() == [2, 2, 2]
    assert tape.gradient(loss, values).numpy().tolist() == [1, 10, 100]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must match the length"):
        RAW.RaggedTensorToSparse(rt_nested_splits=[np.array([0, 2])], rt_dense_values=values)


def test_RaggedTensorToVariant_and_back():
    splits = [np.array([0, 2, 2]), np.array([0, 1, 3])]
    one = RAW.RaggedTensorToVariant(
        rt_nested_splits=splits, rt_dense_values=[1, 2, 3], batched_input=False
    )
    assert one.shape == []
    outer, inner = RAW.RaggedTensorFromVariant(
        encoded_ragged=one, input_ragged_rank=2, output_ragged_rank=2, Tvalues=tf.int32,
        Tsplits=tf.int64,
    )[0]  # fmt: skip
    assert (outer.numpy().tolist(), inner.numpy().tolist()) == ([0, 2, 2], [0, 1, 3])
    rows = RAW.RaggedTensorToVariant(
        rt_nested_splits=splits, rt_dense_values=[1, 2, 3], batched_input=True
    )
    assert rows.shape == [2]
    back = RAW.RaggedTensorFromVariant(
        encoded_ragged=rows, input_ragged_rank=1, output_ragged_rank=2, Tvalues=tf.int32,
        Tsplits=tf.int32,
    )  # fmt: skip
    assert [s.numpy().tolist() for s in back[0]] == [[0, 2, 2], [0, 1, 3]]
    assert back[0][0].dtype == tf.int32
    assert back[1].numpy().tolist() == [1, 2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"ragged_rank=1[.] Expected"):
        RAW.RaggedTensorFromVariant(
            encoded_ragged=rows, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.int32
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected values Tensor dtype"):
        RAW.RaggedTensorFromVariant(
            encoded_ragged=one, input_ragged_rank=2, output_ragged_rank=2, Tvalues=tf.float32
        )


def test_RaggedTensorToVariantGradient_collects_the_rows():
    values = tf.constant([1.0, 2, 3])
    with tf.GradientTape() as tape:
        tape.watch(values)
        rows = RAW.RaggedTensorToVariant(
            rt_nested_splits=[np.array([0, 2, 2, 3])], rt_dense_values=values, batched_input=True
        )
        flat = RAW.RaggedTensorFromVariant(
            encoded_ragged=rows, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32
        )[1]
        loss = tf.reduce_sum(flat * flat)
    assert tape.gradient(loss, values).numpy().tolist() == [2, 4, 6]


def test_RaggedRange():
    splits, values = RAW.RaggedRange(starts=[0, 5, 8], limits=[3, 3, 12], deltas=2)
    assert splits.numpy().tolist() == [0, 2, 2, 4]
    assert values.numpy().tolist() == [0, 2, 8, 10]
    _, down = RAW.RaggedRange(starts=[5.0], limits=[3.0], deltas=[-0.75])
    assert down.numpy().tolist() == [5, 4.25, 3.5]
    for bad in ({"deltas": 0}, {"starts": [1, 2]}, {"starts": [[1]]}):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"delta|same shape|vector"):
            RAW.RaggedRange(**({"starts": [0], "limits": [1, 2, 3], "deltas": 1} | bad))


def gather(splits, values, indices, rank):
    splits = [np.array(s) for s in splits]
    return RAW.RaggedGather(
        params_nested_splits=splits, params_dense_values=values, indices=indices,
        OUTPUT_RAGGED_RANK=rank,
    )  # fmt: skip


def test_RaggedGather():
    splits, flat = gather([[0, 2, 3], [0, 1, 1, 3]], [1, 2, 3], [1, 0, 1], 2)
    assert [s.numpy().tolist() for s in splits] == [[0, 1, 3, 4], [0, 2, 3, 3, 5]]
    assert flat.numpy().tolist() == [2, 3, 1, 2, 3]
    splits, flat = gather([[0, 2, 2, 3]], [1, 2, 3], [[0, 2], [1, 1]], 2)
    assert [s.numpy().tolist() for s in splits] == [[0, 2, 4], [0, 2, 3, 3, 3]]
    splits, flat = gather([[0, 2, 2, 3]], [1, 2, 3], 0, 0)
    assert (splits, flat.numpy().tolist()) == ([], [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 3 is not in"):
        gather([[0, 2, 2, 3]], [1, 2, 3], [3], 1)
    values = tf.constant([1.0, 2, 3])
    with tf.GradientTape() as tape:
        tape.watch(values)
        loss = tf.reduce_sum(gather([[0, 2, 3]], values, [1, 0, 1], 1)[-1])
    assert tape.gradient(loss, values).numpy().tolist() == [1, 1, 2]


def test_RaggedBincount():
    def count(values, weights, **options):
        return RAW.RaggedBincount(
            splits=np.array([0, 2, 2, 3]), values=values, size=4, weights=weights, **options
        )

    none = np.zeros(0, np.int32)
    assert count([1, 2, 3], none).numpy().tolist() == [[0, 1, 1, 0], [0] * 4, [0, 0, 0, 1]]
    assert count([1, 1, 3], [0.5, 1.0, 2.0]).numpy().tolist()[0] == [0, 1.5, 0, 0]
    assert count([1, 1, 9], none, binary_output=True).numpy().tolist()[0] == [0, 1, 0, 0]
    for bad in ([1, -1, 3], [1, 2]):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"non-negative|Splits must end"):
            count(bad, none)


@pytest.mark.parametrize(
    ("options", "shape", "found"),
    [({}, [3, 6], [2, 1]), ({"minlength": 9}, [3, 9], [2, 1]), ({"maxlength": 3}, [3, 3], [2])],
)
def test_RaggedCountSparseOutput(options, shape, found):
    indices, counts, dense = RAW.RaggedCountSparseOutput(
        splits=np.array([0, 2, 2, 3]), values=[1, 1, 5], weights=np.zeros(0, np.float32),
        binary_output=False, **options,
    )  # fmt: skip
    assert indices.numpy().tolist() == [[0, 1], [2, 5]][: len(found)]
    assert (counts.numpy().tolist(), dense.numpy().tolist()) == (found, shape)


def test_RaggedFillEmptyRows_and_RaggedFillEmptyRowsGrad():
    values, default = tf.constant([1.0, 2, 3]), tf.constant(9.0)
    with tf.GradientTape() as tape:
        tape.watch([values, default])
        ids, filled, empty, places = RAW.RaggedFillEmptyRows(
            value_rowids=np.array([0, 0, 2]), values=values, nrows=np.int64(4),
            default_value=default,
        )  # fmt: skip
        loss = tf.reduce_sum(filled * [1.0, 10, 100, 1000, 10000])
    assert ids.numpy().tolist() == [0, 0, 1, 2, 3]
    assert filled.numpy().tolist() == [1, 2, 9, 3, 9]
    assert empty.numpy().tolist() == [False, True, False, True]
    assert places.numpy().tolist() == [0, 1, 3]
    found = tape.gradient(loss, [values, default])
    assert [g.numpy().tolist() for g in found] == [[1, 10, 1000], 10100]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be in"):
        RAW.RaggedFillEmptyRowsGrad(reverse_index_map=np.array([7]), grad_values=[1.0])


C = tf.ragged.constant


def test_RaggedCross():
    strings = C([["a"], ["b", "c"]])
    found = tf.ragged.cross([strings, C([[1], [2]]), [["f"], ["g"]]])
    assert found.to_list() == [[b"a_X_1_X_f"], [b"b_X_2_X_g", b"c_X_2_X_g"]]
    sparse = tf.SparseTensor([[0, 0], [1, 0]], ["x", "y"], [2, 1])
    assert tf.ragged.cross([sparse, strings]).to_list() == [[b"x_X_a"], [b"y_X_b", b"y_X_c"]]
    assert tf.ragged.cross([]).to_list() == []


def test_RaggedCross_hashes_as_TensorFlow_does():
    columns = [C([["a"], ["b", "c"]]), C([["d"], ["e"]])]
    whole = [[1584069791037555375], [4171697120956746554, 1746051686049959641]]
    assert tf.ragged.cross_hashed(columns).to_list() == whole
    assert tf.ragged.cross_hashed(columns, num_buckets=100).to_list() == [[82], [61, 41]]
    keyed = tf.ragged.cross_hashed([C([[1], [2, 3]]), columns[1]], hash_key=5)
    assert keyed.to_list()[0] == [691191830782259542]


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ([[[1.5]]], ValueError),
        ([[1, 2]], tf.errors.InvalidArgumentError),
        ([C([["a"], ["b"]]), C([["d"]])], tf.errors.InvalidArgumentError),
    ],
)
def test_RaggedCross_refuses(inputs, error):
    with pytest.raises(error):
        tf.ragged.cross(inputs)


def test_as_many_positions_of_each_row_are_dense():
    rows = tf.ragged.constant([[1, 2], [3]])
    for gather in (tf.gather, tf.function(tf.gather)):
        found = gather(rows, [[1, 0], [0, 0]], batch_dims=1)
        assert found.numpy().tolist() == [[2, 1], [3, 3]]
    deep = tf.ragged.constant([[[1, 2], [3]], [[4]]])
    assert tf.gather(deep, [[1], [0]], batch_dims=1).to_list() == [[[3]], [[4]]]
    with pytest.raises(ValueError, match="does not match params shape"):
        tf.gather(rows, [[0]], batch_dims=1)


def test_what_ragged_functions_take_and_refuse():
    rows = tf.ragged.constant([[1, 2], [3]])
    assert tf.split(rows, 1, axis=1)[0].to_list() == [[1, 2], [3]]
    splits = tf.ragged.segment_ids_to_row_splits([0, 0, 2], num_segments=2)
    assert splits.numpy().tolist() == [0, 2, 2]
    with pytest.raises(TypeError, match="must be of type integer"):
        tf.ragged.segment_ids_to_row_splits([0], num_segments=1.5)
    stacked = tf.ragged.stack_dynamic_partitions([1.0, 2.0], [1, 0], np.int64(2))
    assert stacked.to_list() == [[2.0], [1.0]]
    with pytest.raises(TypeError, match="axis must be an int"):
        tf.ragged.stack([rows, rows], axis="x")
    with pytest.raises(TypeError, match="list of columns"):
        tf.ragged.cross(None)
    with pytest.raises(ValueError, match="expected fn to return a value of shape"):
        tf.map_fn(tf.reduce_sum, tf.ragged.constant([[[1], [2, 3]], []]))


def test_images_of_different_sizes_are_resized_to_one():
    first = np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    second = np.ones([4, 2, 1], np.float32)
    images = tf.ragged.stack([first, second])
    for method in ("bilinear", "nearest"):
        expected = tf.stack([tf.image.resize(i, [2, 2], method) for i in (first, second)])
        assert expected.shape == [2, 2, 2, 1]
        for resize in (tf.image.resize, tf.function(tf.image.resize)):
            np.testing.assert_array_equal(resize(images, [2, 2], method), expected)
    v1 = tf.compat.v1.image.resize
    expected = tf.stack([v1(i, [3, 2], align_corners=True) for i in (first, second)])
    np.testing.assert_array_equal(v1(images, [3, 2], align_corners=True), expected)
    none = tf.RaggedTensor.from_tensor(np.ones([0, 3, 3, 1], np.float32))
    assert tf.image.resize(none, [2, 2]).shape == [0, 2, 2, 1]
    with pytest.raises(ValueError, match="rank must be 4 if images is ragged"):
        tf.image.resize(tf.ragged.constant([[1.0]]), [2, 2])


@pytest.mark.parametrize(("shape", "kept"), [(None, [0, 1, 2]), ([1, 1], [0])])
def test_gradients_of_to_tensor_are_slices_of_what_was_kept(shape, kept):
    values = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        dense = tf.RaggedTensor.from_row_splits(values, [0, 2, 3]).to_tensor(shape=shape) * 2.0
    found = tape.gradient(dense, values)
    assert isinstance(found, tf.IndexedSlices)
    assert found.indices.dtype == tf.int32
    assert found.indices.numpy().tolist() == kept
    assert found.values.numpy().tolist() == [2.0] * len(kept)
    expected = [2.0 if i in kept else 0.0 for i in range(3)]
    assert tf.convert_to_tensor(found).numpy().tolist() == expected


@pytest.mark.filterwarnings("error")
def test_second_derivatives_of_to_tensor_in_functions_of_any_size():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def second(values):
        with tf.GradientTape() as outer:
            outer.watch(values)
            with tf.GradientTape() as inner:
                inner.watch(values)
                wide = tf.cast(values * values, tf.float64)
                cubes = tf.RaggedTensor.from_row_splits(wide, [0, 2, 2, 3]).to_tensor() ** 3
            first = inner.gradient(cubes, values)
        return outer.gradient(first, values)

    assert second(tf.constant([1.0, 2.0, 3.0])).numpy().tolist() == [30.0, 480.0, 2430.0]


LAST, FIRST = 2**63 - 1, -(2**63)


@pytest.mark.parametrize("native", ["1", "0"])
@pytest.mark.parametrize(
    ("start", "limit", "delta", "row"),
    [
        (LAST - 2, LAST, 1, [LAST - 2, LAST - 1]),
        (FIRST, FIRST + 2, 1, [FIRST, FIRST + 1]),
        (FIRST, LAST, LAST, [FIRST, -1, LAST - 1]),
        (FIRST, LAST, 2**62, [FIRST, -(2**62), 0, 2**62]),
        (LAST, FIRST, FIRST, [LAST, -1]),
        (LAST, FIRST, -LAST, [LAST, 0, -LAST]),
        (LAST, LAST - 3, -1, [LAST, LAST - 1, LAST - 2]),
        (0, FIRST, FIRST, [0]),
        (LAST, FIRST, 1, []),
    ],
)
def test_ranges_up_to_the_ends_of_int64(start, limit, delta, row, native, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", native)
    numbers = {n: np.int64(v) for n, v in (("starts", start), ("limits", limit), ("deltas", delta))}
    for call in (RAW.RaggedRange, tf.function(RAW.RaggedRange)):
        splits, values = call(**numbers)
        assert splits.numpy().tolist() == [0, len(row)]
        assert values.numpy().tolist() == row


@pytest.mark.parametrize("native", ["1", "0"])
def test_a_step_of_zero_is_none_where_there_are_no_rows(native, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", native)
    none = np.zeros(0, np.int32)
    splits, values = RAW.RaggedRange(starts=none, limits=none, deltas=0)
    assert splits.numpy().tolist() == [0]
    assert values.shape == [0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Requires delta != 0"):
        RAW.RaggedRange(starts=np.zeros(1, np.int32), limits=np.zeros(1, np.int32), deltas=0)


def test_sizes_that_no_memory_holds():
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating"):
        tf.ragged.range(np.int64(2**62))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating"):
        RAW.SparseFillEmptyRows(
            indices=np.zeros((0, 2), np.int64), values=np.zeros(0, np.float32),
            dense_shape=np.array([2**62, 1]), default_value=0.0,
        )  # fmt: skip


@pytest.mark.parametrize("native", ["1", "0"])
@pytest.mark.parametrize("count", [2, 4])
def test_weights_of_a_bincount_are_as_many_as_the_values(count, native, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", native)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"one for each of 3 .* got {count}"):
        RAW.RaggedBincount(splits=[0, 2, 3], values=[0, 1, 2], size=3, weights=[1.0] * count)
