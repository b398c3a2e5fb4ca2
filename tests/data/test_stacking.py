"""Padded stacks, rows and windows: PaddedBatchDataset PaddedBatchDatasetV2 UnbatchDataset
ExperimentalUnbatchDataset RebatchDataset ExperimentalRebatchDataset WindowDataset
SlidingWindowDataset ExperimentalSlidingWindowDataset.
"""

import pytest
from tests.data.checks import check_dataset, plain, values
from tests.data.test_ordering import made
from tests.data.test_selecting import failing

import penstock as tf
from penstock.core.execute import execute

D = tf.data.Dataset
E = tf.data.experimental
VECTOR = tf.TensorSpec([None], tf.int64)


def lengths(count=6):
    rows = tf.ragged.constant([[x] * x for x in range(count)], tf.int64, ragged_rank=1)
    return D.from_tensor_slices(rows).map(lambda x: x)


def nested():
    return D.range(4).map(
        lambda x: {"a": tf.fill([x], "s"), "b": (tf.fill([x, 2], 1.5), x)}
    )  # fmt: skip


def test_padded_batch():
    expected = [
        [[0, 0, 0], [1, 0, 0], [2, 2, 0], [3, 3, 3]],
        [[4, 4, 4, 4, 0], [5, 5, 5, 5, 5]],
    ]
    check_dataset(lambda: lengths().padded_batch(4), expected)
    check_dataset(lambda: lengths().padded_batch(4, drop_remainder=True), expected[:1])
    assert lengths().padded_batch(4).element_spec == tf.TensorSpec([None, None], tf.int64)
    dropped = lengths().padded_batch(4, drop_remainder=True)
    assert dropped.element_spec == tf.TensorSpec([4, None], tf.int64)
    small = [[[0, 0], [1, 0]]]
    for shape in ([None], [-1], tf.TensorShape([None])):
        check_dataset(lambda s=shape: lengths(2).padded_batch(2, s), [[[0], [1]]])
    for shape in ([2], tf.constant([2], tf.int64), tf.constant([2]), (2,)):
        dataset = lengths(2).padded_batch(2, shape)
        assert values(dataset) == small
        assert dataset.element_spec == tf.TensorSpec([None, 2], tf.int64)
    nine = tf.constant(9, tf.int64)
    assert values(lengths(3).padded_batch(3, padding_values=nine)) == [[[9, 9], [1, 9], [2, 2]]]


def test_padded_batch_of_structures():
    check_dataset(lambda: nested().padded_batch(3))
    shapes = {"a": [5], "b": ([None, 3], [])}
    dataset = nested().padded_batch(2, shapes, {"a": "z", "b": (2.5, None)})
    assert values(dataset)[0] == {
        "a": [[b"z"] * 5, [b"s", *[b"z"] * 4]],
        "b": ([[[2.5] * 3], [[1.5, 1.5, 2.5]]], [0, 1]),
    }
    assert dataset.element_spec["b"][0] == tf.TensorSpec([None, None, 3], tf.float32)
    for value, padded in (
        ([True], [[True, False]]),
        (tf.constant([1j]), [[1j, 0j]]),
        (tf.constant([1], tf.bfloat16), [[1.0, 0.0]]),
        (["s"], [[b"s", b""]]),
    ):
        assert values(D.from_tensors(value).padded_batch(1, [2])) == [padded]


def test_padded_batch_in_graphs_of_unknown_shapes():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def first(shape):
        dataset = lengths(3).padded_batch(3, shape)
        assert dataset.element_spec.shape.rank is None
        return next(iter(dataset))

    assert first(tf.constant([4], tf.int64)).shape == (3, 4)


def test_padded_batch_errors():
    for kwargs, kind in (
        ({"padding_values": 9}, TypeError),
        ({"padding_values": 9.5}, TypeError),
        ({"padding_values": tf.constant([9], tf.int64)}, ValueError),
        ({"padded_shapes": [2, 2]}, ValueError),
        ({"padded_shapes": [-3]}, ValueError),
        ({"padded_shapes": tf.constant([1.0])}, TypeError),
        ({"padded_shapes": tf.constant([[1]])}, ValueError),
    ):
        with pytest.raises(kind):
            lengths().padded_batch(3, **kwargs)
    with pytest.raises(TypeError, match="sequence type"):
        nested().padded_batch(2, ([5], [None, 3], []))
    with pytest.raises(TypeError, match="padding_values"):
        nested().padded_batch(2, padding_values=0)
    for value in (tf.ragged.constant([[1], [2, 3]]), tf.sparse.from_dense([[1, 0]])):
        with pytest.raises(TypeError, match="TensorSpec"):
            D.from_tensor_slices(value).padded_batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero"):
        lengths().padded_batch(0)
    found = values(lengths().padded_batch(3, [3]))
    assert found == [[[0, 0, 0], [1, 0, 0], [2, 2, 0]], "DataLossError"]


def test_padded_batch_where_ranks_are_found_while_it_runs():
    unknown = D.range(3).map(lambda x: tf.numpy_function(lambda v: v, [x], tf.int64))
    with pytest.raises(ValueError, match="unknown rank"):
        unknown.padded_batch(2)
    assert values(unknown.padded_batch(2, [])) == [[0, 1], [2]]
    assert values(unknown.padded_batch(3, [2])) == ["InvalidArgumentError"]


def test_unbatch():
    dataset = check_dataset(lambda: D.range(10).batch(4).unbatch(), list(range(10)))
    assert len(dataset) == 10
    assert len(D.range(10).batch(4, drop_remainder=True).unbatch()) == 8
    check_dataset(lambda: D.from_tensors([[1, 2], [3, 4]]).repeat(2).unbatch())
    check_dataset(
        lambda: D.from_tensors(([1, 2], {"s": ["a", "b"]})).unbatch(),
        [(1, {"s": b"a"}), (2, {"s": b"b"})],
    )
    assert values(lengths(4).apply(E.unbatch())) == [1, 2, 2, 3, 3, 3]


def test_unbatch_of_ragged_and_sparse_tensors():
    def parts():
        ragged, sparse = tf.ragged.constant([[1], [2, 3]]), tf.sparse.from_dense([[1, 0], [2, 3]])
        return (sparse, [1, 2], ragged)

    rows = [(([[0]], [1], [2]), 1, [1]), (([[0], [1]], [2, 3], [2]), 2, [2, 3])]
    check_dataset(lambda: D.from_tensors(parts()).unbatch(), rows)
    assert len(D.from_tensors(parts()).unbatch()) == 2
    deep = tf.ragged.constant([[[1]], [[2, 3], [4]], []])
    check_dataset(lambda: D.from_tensors(deep).unbatch(), [[[1]], [[2, 3], [4]], []])
    check_dataset(lambda: lengths(4).ragged_batch(2).unbatch(), values(lengths(4)))


def test_unbatch_errors():
    with pytest.raises(ValueError, match="scalar"):
        D.range(3).unbatch()
    with pytest.raises(ValueError, match="leading dimension"):
        D.from_tensors(([1, 2], [1, 2, 3])).unbatch()
    found = values(
        D.range(1, 4).map(lambda x: (tf.fill([x], x), tf.fill([x + x % 2], x))).unbatch()
    )
    assert found == ["InvalidArgumentError", (2, 2), (2, 2), "InvalidArgumentError"]
    scalars = D.range(2).map(lambda x: tf.numpy_function(lambda v: v, [x], tf.int64))
    assert values(scalars.unbatch()) == ["InvalidArgumentError"] * 2


def test_window():
    check_dataset(lambda: D.range(7).window(3), [[0, 1, 2], [3, 4, 5], [6]], windows=True)
    for arguments, expected in {
        (3, 2, 1, False): [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8], [8]],
        (3, 2, 1, True): [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8]],
        (3, 1, 4, True): [[0, 4, 8]],
        (2, 5, 2, False): [[0, 2], [5, 7]],
        (2, 7, 1, False): [[0, 1], [7, 8]],
        (3, None, 2, False): [[0, 2, 4], [3, 5, 7], [6, 8]],
        (4, 3, 3, False): [[0, 3, 6], [3, 6], [6]],
        (4, 3, 3, True): [],
    }.items():
        check_dataset(lambda a=arguments: D.range(9).window(*a), expected, windows=True)


def test_window_of_structures():
    pairs = [([0, 1], {"a": [0, 2]}), ([2, 3], {"a": [4, 6]})]
    check_dataset(
        lambda: D.range(4).map(lambda x: (x, {"a": x * 2})).window(2), pairs, windows=True
    )
    spec = D.range(4).map(lambda x: (x, {"a": x})).window(2).element_spec
    assert spec[1]["a"] == tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
    check_dataset(lambda: D.range(6).window(2).window(2), windows=True)
    ragged = tf.ragged.constant([[1], [2, 3], []])
    check_dataset(
        lambda: D.from_tensor_slices(ragged).window(2), [[[1], [2, 3]], [[]]], windows=True
    )
    check_dataset(lambda: D.range(5).window(3, 1).flat_map(lambda w: w.batch(3)))


def test_window_errors():
    for arguments in ((0,), (3, 0), (3, 1, 0), (-1,)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero"):
            D.range(3).window(*arguments)
    found = values(failing(3, 6).window(2))
    assert found[1] == "InvalidArgumentError"
    assert [len(found[0]), len(found[2])] == [2, 2]


def test_sliding_windows():
    variant = D.range(10)._variant_tensor
    three, two = tf.constant(3, tf.int64), tf.constant(2, tf.int64)
    for name in ("SlidingWindowDataset", "ExperimentalSlidingWindowDataset"):
        found = values(made(name, (variant, three, two, two), VECTOR))
        assert found == [[0, 2, 4], [2, 4, 6], [4, 6, 8]]
    rest = made(
        "SlidingWindowDataset", (variant, three, three, two - 1), VECTOR, drop_remainder=False
    )
    assert values(rest) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


def test_older_operations():
    variant = D.range(10).batch(4)._variant_tensor
    two = tf.constant(2, tf.int64)
    for name in ("RebatchDataset", "ExperimentalRebatchDataset"):
        found = values(made(name, (variant, two), VECTOR))
        assert found == [[0, 1], [2, 3], [4, 5], [6, 7], [8], [9]]
    three = made("RebatchDataset", (D.range(4).batch(2)._variant_tensor, two + 1), VECTOR)
    assert values(three) == [[0], [1], [], [2], [3], []]
    three = made("RebatchDataset", (variant, two + 1), VECTOR)
    assert values(three) == [[0, 1], [2, 3], [], [4, 5], [6, 7], [], [8], [9], []]
    with pytest.raises(tf.errors.InvalidArgumentError):
        made("RebatchDataset", (variant, two - 2), VECTOR)
    assert values(made("ExperimentalUnbatchDataset", (variant,))) == list(range(10))
    shape, zero = tf.constant([-1], tf.int64), tf.constant(0, tf.int64)
    old = execute(
        "PaddedBatchDataset", (lengths(3)._variant_tensor, two, [shape], [zero]),
        {"Toutput_types": [tf.int64], "output_shapes": [[None, None]]},
    )  # fmt: skip
    assert values(E.from_variant(old, tf.TensorSpec([None, None], tf.int64))) == (
        [[[0], [1]], [[2, 2]]]
    )  # fmt: skip


def test_stacks_of_windows():
    stacks = D.range(7).window(3).batch(2)
    spec = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64), [None])
    assert stacks.element_spec == spec
    assert stacks.map(lambda x: x).element_spec == spec
    assert stacks.batch(2).element_spec._dataset_shape.as_list() == [None, None]
    first = next(iter(stacks))
    assert not isinstance(first, tf.Tensor)
    assert tf.type_spec_from_value(first) == spec
    assert tf.function(lambda x: x)(first)._variant_tensor.shape == [2]
    windows = stacks.unbatch()
    assert windows.element_spec == tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
    expected = [[0, 1, 2], [3, 4, 5], [6]]
    assert [plain(window) for window in windows] == expected
    assert [plain(w) for w in stacks.map(lambda x: x).rebatch(3).unbatch()] == expected
    assert values(windows.flat_map(lambda w: w.batch(2))) == [[0, 1], [2], [3, 4], [5], [6]]
    pairs = D.zip((D.range(4).window(2), D.range(2))).batch(2).unbatch()
    assert [(plain(w), int(n)) for w, n in pairs] == [([0, 1], 0), ([2, 3], 1)]
    assert values(stacks.flat_map(lambda x: x)) == ["InvalidArgumentError"] * 2
    assert values(stacks.batch(2)) == ["InvalidArgumentError"]  # one stack has fewer
