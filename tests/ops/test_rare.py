"""Operations that few programs use, as far as a table cannot say what they do."""

import itertools
from typing import Any

import numpy as np
import pytest

import penstock as tf

r = tf.raw_ops


def sparse(rows: list[list[Any]], width: int = 4) -> Any:
    places = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    values = [v for row in rows for v in row]
    return tf.SparseTensor(places, values, [len(rows), width])


def distance(a: str, b: str) -> int:
    """By the definition: the cheapest of three ways to end."""
    if not a or not b:
        return len(a) + len(b)
    if a[-1] == b[-1]:
        return distance(a[:-1], b[:-1])
    return 1 + min(distance(a[:-1], b), distance(a, b[:-1]), distance(a[:-1], b[:-1]))


def test_edit_distance() -> None:
    words = ["", "a", "ab", "ba", "abc", "cab", "bbb"]
    pairs = list(itertools.product(words[1:], words[1:]))
    one, other = (sparse([list(p[i]) for p in pairs]) for i in range(2))
    wanted = [distance(a, b) for a, b in pairs]
    assert tf.edit_distance(one, other, normalize=False).numpy().tolist() == wanted
    lengths = [len(b) for _, b in pairs]
    np.testing.assert_allclose(tf.edit_distance(one, other), np.divide(wanted, lengths))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        one, other = (sparse([list(p[i]) for p in pairs]) for i in range(2))
        built = tf.edit_distance(one, other, False)
        assert built.shape == (len(pairs),)
        assert session.run(built).tolist() == wanted


def test_edit_distance_of_shapes_that_differ() -> None:
    a = tf.SparseTensor([[0, 0]], ["x"], [2, 2])
    b = tf.SparseTensor([[2, 0]], ["x"], [4, 2])
    assert tf.edit_distance(a, b).numpy().tolist() == [np.inf, 0, 1, 0]
    a = tf.SparseTensor([[0, 0, 0], [1, 0, 1]], [1, 2], [2, 2, 2])
    b = tf.SparseTensor([[0, 0, 0], [1, 1, 0]], [1, 3], [2, 2, 2])
    assert tf.edit_distance(a, b).numpy().tolist() == [[0, 0], [np.inf, 1]]


def test_edit_distance_refuses() -> None:
    flat = tf.SparseTensor([[0]], ["x"], [2])
    matrix = tf.SparseTensor([[0, 0]], ["x"], [1, 1])
    with pytest.raises(TypeError, match="Hypothesis must be a SparseTensor"):
        tf.edit_distance(tf.constant([[1]]), matrix)
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank at least 2"):
        tf.edit_distance(flat, flat)
    with pytest.raises(tf.errors.InvalidArgumentError, match="matching ranks"):
        tf.edit_distance(matrix, tf.SparseTensor([[0, 0, 0]], ["x"], [1, 1, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="inside of"):
        tf.edit_distance(tf.SparseTensor([[5, 0]], ["x"], [2, 2]), matrix)


def test_sobol_points() -> None:
    wanted = [[0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75], [0.375, 0.375, 0.625]]
    assert tf.math.sobol_sample(3, 4).numpy().tolist() == wanted
    later = tf.math.sobol_sample(3, 2, skip=2, dtype=tf.float64)
    assert later.numpy().tolist() == wanted[2:]
    points = tf.math.sobol_sample(8, 255).numpy()
    for column in points.T:  # with the origin each 256th of the axis has one point
        assert sorted(np.floor(column * 256).astype(int)) == list(range(1, 256))
    for bad, words in (
        ((0, 1), "at least one"),
        ((1, 0), "at least one"),
        ((21_201, 1), "at most"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            tf.math.sobol_sample(*bad)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        tf.math.sobol_sample(1, 1, skip=-1)


def test_isotonic_regression_of_other_dtypes_and_axes() -> None:
    values, segments = tf.nn.isotonic_regression([3, 1, 2, 4])
    assert values.dtype == tf.float64
    np.testing.assert_allclose(values, [3, 7 / 3, 7 / 3, 7 / 3])
    assert segments.numpy().tolist() == [0, 1, 1, 1]
    values, _ = tf.nn.isotonic_regression([3.0, 1.0, 2.0, 4.0], decreasing=False)
    assert values.numpy().tolist() == [2.0, 2.0, 2.0, 4.0]
    values, segments = tf.nn.isotonic_regression([[3.0, 1.0], [2.0, 4.0]], axis=0)
    assert values.numpy().tolist() == [[3.0, 2.5], [2.0, 2.5]]
    assert segments.numpy().tolist() == [[0, 0], [1, 0]]
    assert tf.nn.isotonic_regression(tf.constant([1, 2], tf.int8))[0].dtype == tf.float32


def test_names_of_dilation_in_compat_v1() -> None:
    image = np.arange(9.0, dtype=np.float32).reshape(1, 3, 3, 1)
    window = np.ones((2, 2, 1), np.float32)
    ones = [1, 1, 1, 1]
    new = tf.nn.dilation2d(image, window, ones, "SAME", "NHWC", ones).numpy()
    assert new[0, :, :, 0].tolist() == [[5, 6, 6], [8, 9, 9], [8, 9, 9]]
    nn = tf.compat.v1.nn
    np.testing.assert_array_equal(nn.dilation2d(image, window, ones, ones, "SAME"), new)
    old = nn.dilation2d(image, filters=window, strides=ones, dilations=ones, padding="SAME")
    np.testing.assert_array_equal(old, new)
    eroded = nn.erosion2d(image, window, ones, ones, "VALID").numpy()
    assert eroded[0, :, :, 0].tolist() == [[-1, 0], [2, 3]]
    with pytest.raises(ValueError, match="NHWC"):
        tf.nn.dilation2d(image, window, ones, "SAME", "NCHW", ones)


def test_gradients_of_dilation_go_to_the_first_largest_place() -> None:
    image = np.float32([[0, 1, 0, 1], [1, 2, 0, 2], [0, 0, 0, 2], [1, 2, 2, 0]])
    attrs: dict[str, Any] = {"strides": [1] * 4, "rates": [1] * 4, "padding": "SAME"}
    inputs = {
        "input": image.reshape(1, 4, 4, 1), "filter": np.zeros((2, 2, 1), np.float32),
        "out_backprop": np.ones((1, 4, 4, 1), np.float32),
    }  # fmt: skip
    by_input = r.Dilation2DBackpropInput(**inputs, **attrs).numpy().reshape(4, 4)
    assert by_input.tolist() == [[0, 0, 0, 0], [0, 4, 0, 4], [0, 0, 0, 2], [0, 4, 1, 1]]
    by_filter = r.Dilation2DBackpropFilter(**inputs, **attrs).numpy().reshape(-1)
    assert by_filter.tolist() == [6, 4, 3, 3]


# ---- fractional pooling

VOLUME = np.random.default_rng(2).normal(size=(2, 7, 9, 3)).astype(np.float32)


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_fractional_pooling(mean: bool, pseudo_random: bool, overlapping: bool) -> None:
    pool = r.FractionalAvgPool if mean else r.FractionalMaxPool
    reduce = np.mean if mean else np.max
    seen = set()
    for seed in range(1, 6):
        output, rows, columns = pool(
            value=VOLUME, pooling_ratio=[1, 1.4, 1.7, 1], pseudo_random=pseudo_random,
            overlapping=overlapping, deterministic=True, seed=seed, seed2=3,
        )  # fmt: skip
        edges = [rows.numpy().tolist(), columns.numpy().tolist()]
        for places, size, count in zip(edges, (7, 9), (5, 5), strict=True):
            assert places[0] == 0
            assert places[-1] == size
            assert len(places) == count + 1
            assert set(np.diff(places)) <= {size // count, size // count + 1}
        seen.add(str(edges))
        for i, j in np.ndindex(5, 5):
            ends = [min(e[k + 1] + overlapping, e[-1]) for e, k in zip(edges, (i, j), strict=True)]
            cell = VOLUME[:, edges[0][i] : ends[0], edges[1][j] : ends[1]]
            wanted = reduce(cell.astype(np.float64), axis=(1, 2))
            np.testing.assert_allclose(output[:, i, j], wanted, rtol=1e-6)
    assert len(seen) > 1


def test_fractional_pooling_repeats_by_seed() -> None:
    for pool in (tf.nn.fractional_max_pool, tf.nn.fractional_avg_pool):
        one, other = (pool(VOLUME, 1.5, seed=4) for _ in range(2))
        assert one.output.shape == (2, 4, 6, 3)
        np.testing.assert_array_equal(one.output, other.output)
        unseeded = {str(pool(VOLUME, 1.3).row_pooling_sequence.numpy()) for _ in range(30)}
        assert len(unseeded) > 1
    old = tf.compat.v1.nn.fractional_max_pool(VOLUME, [1.0, 2.0, 2.0, 1.0], deterministic=True)
    assert old[1].numpy().tolist()[-1] == 7


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_gradients_of_fractional_pooling(mean: bool, overlapping: bool) -> None:
    """By finite differences: the cells stay, since they do not depend on the values."""
    pool = r.FractionalAvgPool if mean else r.FractionalMaxPool
    value = np.random.default_rng(3).permutation(35).reshape(1, 5, 7, 1) / 3.0
    weights = np.random.default_rng(4).normal(size=(1, 3, 4, 1))

    def total(x: Any) -> Any:
        made = pool(
            value=x, pooling_ratio=[1, 1.5, 1.7, 1], overlapping=overlapping, deterministic=True,
            seed=5,
        )  # fmt: skip
        return tf.reduce_sum(made[0] * weights)

    theory, number = tf.test.compute_gradient(total, [tf.constant(value)], delta=1e-4)
    np.testing.assert_allclose(theory, number, rtol=1e-6, atol=1e-8)


def test_gradient_operations_of_fractional_pooling() -> None:
    x = np.float32([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).reshape(1, 3, 3, 1)
    y = np.float32([[5, 6], [8, 9]]).reshape(1, 2, 2, 1)
    grad = np.float32([[1, 2], [3, 4]]).reshape(1, 2, 2, 1)
    edges = {"row_pooling_sequence": [0, 1, 3], "col_pooling_sequence": [0, 1, 3]}
    given: dict[str, Any] = {"orig_input": x, "out_backprop": grad, "overlapping": True, **edges}
    found = r.FractionalMaxPoolGrad(orig_output=y, **given).numpy().reshape(3, 3)
    assert found.tolist() == [[0, 0, 0], [0, 1, 2], [0, 3, 4]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="pooled orig_input"):
        r.FractionalMaxPoolGrad(orig_output=y + 1, **given)
    found = r.FractionalAvgPoolGrad(
        orig_input_tensor_shape=[1, 3, 3, 1], out_backprop=grad, overlapping=True, **edges
    )
    wanted = [[0.25, 0.75, 0.5], [1.0, 2.5, 1.5], [0.75, 1.75, 1.0]]
    assert found.numpy().reshape(3, 3).tolist() == wanted
    edges["row_pooling_sequence"] = [0, 3, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="row_pooling_sequence"):
        r.FractionalAvgPoolGrad(
            orig_input_tensor_shape=[1, 3, 3, 1], out_backprop=grad, overlapping=True, **edges
        )


def test_fractional_pooling_refuses() -> None:
    pool = tf.nn.fractional_max_pool
    for ratio, words in (
        (0.5, ">= 1.0"),
        ([2, 1.5, 1.5, 1], "first and last"),
        ([1, 2.0, 3.0], "first"),
    ):
        with pytest.raises(ValueError, match=words):
            pool(VOLUME, ratio)
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank 4"):
        pool(VOLUME[0], 2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="dimension 1"):
        pool(VOLUME[:, :2], 3.0)


# ---- maps of tensors


def test_maps_keep_values_by_key() -> None:
    empty = r.EmptyTensorMap()
    one = r.TensorMapInsert(input_handle=empty, key=3, value=[1.0, 2.0])
    two = r.TensorMapInsert(input_handle=one, key=[1, 2], value="text")
    again = r.TensorMapInsert(input_handle=two, key=3, value=[5.0])
    assert [int(r.TensorMapSize(input_handle=m)) for m in (empty, one, two, again)] == [0, 1, 2, 2]
    lookup = r.TensorMapLookup
    assert lookup(input_handle=one, key=3, value_dtype=tf.float32).numpy().tolist() == [1.0, 2.0]
    assert lookup(input_handle=again, key=3, value_dtype=tf.float32).numpy().tolist() == [5.0]
    assert lookup(input_handle=two, key=[1, 2], value_dtype=tf.string).numpy() == b"text"
    assert bool(r.TensorMapHasKey(input_handle=two, key=3))
    assert not bool(r.TensorMapHasKey(input_handle=two, key=np.int64(3)))
    left = r.TensorMapErase(input_handle=two, key=3, value_dtype=tf.float32)
    assert not bool(r.TensorMapHasKey(input_handle=left, key=3))
    assert r.TensorMapStackKeys(input_handle=one, key_dtype=tf.int32).numpy().tolist() == [3]


def test_maps_in_functions() -> None:
    @tf.function
    def found(key: Any) -> Any:
        made = r.EmptyTensorMap()
        for i in range(3):
            made = r.TensorMapInsert(input_handle=made, key=i, value=float(i * i))
        return r.TensorMapLookup(input_handle=made, key=key, value_dtype=tf.float32)

    assert float(found(2)) == 4.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-existent key"):
        found(7)


def test_maps_refuse() -> None:
    one = r.TensorMapInsert(input_handle=r.EmptyTensorMap(), key=3, value=1.0)
    cases = [
        (lambda: r.TensorMapLookup(input_handle=one, key=4, value_dtype=tf.float32), 'key "4"'),
        (lambda: r.TensorMapLookup(input_handle=one, key=3, value_dtype=tf.int32), "mismatch"),
        (lambda: r.TensorMapErase(input_handle=one, key=4, value_dtype=tf.float32), "erase"),
        (
            lambda: r.TensorMapStackKeys(input_handle=r.EmptyTensorMap(), key_dtype=tf.int32),
            "empty",
        ),
        (lambda: r.TensorMapStackKeys(input_handle=one, key_dtype=tf.float32), "requested dtype"),
    ]
    for call, words in cases:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            call()
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        made = r.TensorMapInsert(input_handle=r.EmptyTensorMap(), key=3, value=x)
        y = r.TensorMapLookup(input_handle=made, key=3, value_dtype=tf.float32)
    with pytest.raises(LookupError):
        tape.gradient(y, x)


# ---- sparse tensors in maps of a task


def test_sparse_tensors_are_kept_under_numbers() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        one = r.AddSparseToTensorsMap(
            sparse_indices=[[2]], sparse_values=[9.0], sparse_shape=[5], shared_name="m"
        )
        many = r.AddManySparseToTensorsMap(
            sparse_indices=[[0, 0], [2, 1], [2, 2]], sparse_values=[1.0, 2.0, 3.0],
            sparse_shape=[3, 4], shared_name="m",
        )  # fmt: skip
        assert one.shape == ()
        assert many.shape == (3,)
        numbers = [session.run(one), *session.run(many)]
        assert len(set(numbers)) == 4
        fed = tf.compat.v1.placeholder(tf.int64, [None])

        def taken(dtype: Any = tf.float32, name: str = "m") -> Any:
            return r.TakeManySparseFromTensorsMap(sparse_handles=fed, dtype=dtype, shared_name=name)

        found = session.run(taken(), {fed: numbers})
        assert found.sparse_indices.tolist() == [[0, 2], [1, 0], [3, 1], [3, 2]]
        assert found.sparse_values.tolist() == [9.0, 1.0, 2.0, 3.0]
        assert found.sparse_shape.tolist() == [4, 5]
        refused = [
            (taken(), numbers[:1], "Unable to find"),
            (taken(name="other"), [0], "Unable to find"),
            (taken(tf.int32), [session.run(one)], "type int32"),
            (taken(), [], "at least one"),
        ]
        for call, given, words in refused:
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(call, {fed: given})
        own = r.AddSparseToTensorsMap(
            sparse_indices=[[0]], sparse_values=[1.0], sparse_shape=[1], name="own"
        )
        found = session.run(taken(name="own"), {fed: [session.run(own)]})
        assert found.sparse_values.tolist() == [1.0]


def test_sparse_tensors_that_do_not_fit_a_map() -> None:
    for indices, shape, words in (
        ([[5, 0]], [2, 2], "inside of"),
        ([[1, 0], [0, 1]], [2, 2], "order"),
        ([[0]], [2], "rank"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            r.AddManySparseToTensorsMap(
                sparse_indices=indices, sparse_values=[1.0] * len(indices), sparse_shape=shape
            )


@pytest.mark.parametrize("shape", [[0, 3], [2, 0, 3]])
def test_edit_distances_of_no_rows_are_refused(shape: list[int]) -> None:
    none = tf.SparseTensor(np.zeros((0, len(shape)), np.int64), tf.constant([], tf.string), shape)
    for run in (tf.edit_distance, tf.function(tf.edit_distance)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="which has 0 elements"):
            run(none, none)
    empty = tf.SparseTensor(np.zeros((0, 2), np.int64), tf.constant([], tf.string), [2, 0])
    assert tf.edit_distance(empty, empty).numpy().tolist() == [0, 0]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("batch", [0, 2])
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_volumes_windows_side_by_side(compiled, batch, padding):
    """Each number of the gradient is at its element's place alone, a NaN too."""
    x = tf.constant(np.random.default_rng(0).normal(size=(batch, 3, 4, 5, 2)))
    numbers = tf.reshape(tf.range(tf.size(x), dtype=tf.float64), x.shape)
    sizes = {"ksizes": [1, 2, 3, 2, 1], "strides": [1, 2, 3, 2, 1], "padding": padding}

    def gradient(x, given):
        with tf.GradientTape() as tape:
            tape.watch(x)
            patches = tf.extract_volume_patches(x, **sizes)
        return tape.gradient(patches, x, given)

    given = tf.extract_volume_patches(numbers + 1, **sizes).numpy()  # what pads is 0
    if batch:
        given[given == 1] = np.nan
    found = (tf.function(gradient, jit_compile=True) if compiled else gradient)(
        x, tf.constant(given)
    )
    wanted = numbers.numpy() + 1
    if padding == "VALID":  # some elements are in no window
        wanted[:, 2:], wanted[:, :, 3:], wanted[:, :, :, 4:] = 0, 0, 0
    if batch:
        wanted[0, 0, 0, 0, 0] = np.nan
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dims", [(0, 6, 7, 1), (5, 6, 7, 0), (1, 6, 7, 2)])
def test_gradients_of_volumes_without_elements_or_windows(dims):
    window = [1, 4, 3, 2, 1]

    @tf.function(input_signature=[tf.TensorSpec([None, *dims], tf.float32)])
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            patches = tf.extract_volume_patches(x, window, window, "VALID")
            total = tf.reduce_sum(patches)
        return tape.gradient(total, x)

    for batch in (2, 5, 0):
        np.testing.assert_array_equal(gradient(tf.ones([batch, *dims])), np.zeros([batch, *dims]))
