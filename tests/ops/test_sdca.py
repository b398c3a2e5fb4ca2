"""Dual coordinate ascent, fingerprints of 128 bits: figures of TensorFlow 2.21, in float32."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
raw = tf.raw_ops
INF = float("inf")
LOSSES = ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss")
SPARSE = ("sparse_example_indices", "sparse_feature_indices", "sparse_feature_values",
          "sparse_indices", "sparse_weights")  # fmt: skip


def train(loss, x, y, w=None, dense_weights=None, state=None, sparse=(), op="", **attrs):
    """The states, and what the weights gain."""
    x, y = np.float32(x), np.float32(y)
    start = np.zeros(x.shape[1]) if dense_weights is None else dense_weights
    made = getattr(raw, f"SdcaOptimizer{op}")(
        **dict(zip(SPARSE, sparse or [[]] * 5, strict=True)),
        dense_features=[x] if x.size else [],
        dense_weights=[np.float32(start)] if x.size else [],
        example_weights=np.ones(len(y), np.float32) if w is None else np.float32(w),
        example_labels=y,
        example_state_data=np.zeros((len(y), 4), np.float32) if state is None else state,
        loss_type=loss,
        **{"l1": 0.0, "l2": 1.0, "num_loss_partitions": 1, "num_inner_iterations": 1} | attrs,
    )
    return made[0].numpy().tolist(), [d.numpy().tolist() for d in [*made[1], *made[2]]]


# loss -> (label 0, features 1 2), (label 1, features 1/2 -1), (label 1, with weights and L1)
ONE = {
    "logistic_loss": (
        ([-0.235501051, 0.693147182, 0, 1], [-0.235501051, -0.471002102]),
        ([0.382650524, 0.693147182, 0, 1], [0.191325262, -0.382650524]),
        ([0.37900427, 3.75482273, -0.812707424, 2.5], [0.34875533, 0.69751066]),
    ),
    "squared_loss": (
        ([0, 0, 0, 1], [0, 0]),
        ([0.444444448, 0.5, 0, 1], [0.222222224, -0.444444448]),
        ([0.396551728, 6.328125, -0.2375, 2.5], [0.37068966, 0.741379321]),
    ),
    "hinge_loss": (
        ([-0.2, 1, 0, 1], [-0.2, -0.4]),
        ([0.8, 1, 0, 1], [0.4, -0.8]),
        ([0.46, 5.625, -0.25, 2.5], [0.45, 0.9]),
    ),
    "smooth_hinge_loss": (
        ([-0.166666672, 0.5, 0, 1], [-0.166666672, -0.333333343]),
        ([0.444444448, 0.5, 0, 1], [0.222222224, -0.444444448]),
        ([0.396551728, 4.375, -0.2375, 2.5], [0.37068966, 0.741379321]),
    ),
    "poisson_loss": (
        ([-0.265344948, 1, 0, 1], [-0.265344948, -0.530689895]),
        ([0, 1, -1, 1], [0, 0]),
        ([0.253271431, 3.84126210, -2.48706126, 2.5], [0.191589296, 0.383178592]),
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_one_example(loss):
    known = {"w": [2.5], "dense_weights": [0.5, -1.0], "state": np.float32([[0.1, 0.2, 0.3, 0.4]])}
    calls = [
        train(loss, [[1, 2]], [0], op="V2"),
        train(loss, [[0.5, -1]], [1], adaptative=True),
        train(loss, [[1, 2]], [1], l1=0.5, l2=2.0, op="V2", adaptive=True, **known),
    ]
    for (states, [gains]), (state, gain) in zip(calls, ONE[loss], strict=True):
        np.testing.assert_allclose(states[0], state, rtol=2e-6, atol=1e-7)
        np.testing.assert_allclose(gains, gain, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("loss", "y", "dual", "lost"),
    [
        ("logistic_loss", 0, 0.1, 0.262102991),
        ("hinge_loss", 0, 0.1, INF),
        ("smooth_hinge_loss", 0, 0.1, INF),
        ("poisson_loss", 0, 0.1, INF),
        ("poisson_loss", 0, -0.5, 2.5 * -0.84657359),
    ],
)
def test_a_dual_variable_that_cannot_be_costs_without_bound(loss, y, dual, lost):
    state = np.float32([[dual, 0, 0, 0]])
    states, _ = train(loss, [[1, 2]], [y], [2.5], [0.5, -1.0], state, l1=0.5, l2=2.0)
    np.testing.assert_allclose(states[0][2], lost, rtol=1e-6)


def test_examples_without_common_features_do_not_know_of_each_other():
    states, [gains] = train("squared_loss", [[1, 0], [0, 2]], [0.5, 1])
    np.testing.assert_allclose([s[0] for s in states], [0.25, 0.2])
    np.testing.assert_allclose(gains, [0.25, 0.4])


def test_passes_find_the_ridge_regression():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    weights, state = np.zeros(3), np.zeros((20, 4), np.float32)
    for _ in range(60):
        found, [gains] = train("squared_loss", x, y, None, weights, state, l2=2.0)
        weights, state = weights + gains, np.float32(found)
    best = np.linalg.solve(x.T @ x + 2.0 * np.eye(3), x.T @ y)
    np.testing.assert_allclose(weights, best, rtol=1e-4)


def test_sparse_features():
    known = ([[0, 1]], [[5, 7]], [[1.0, 2.0]], [[7, 5]], [[0.0, 0.0]])
    states, [gains] = train("squared_loss", np.zeros((2, 0)), [3.5, 1], sparse=known)
    np.testing.assert_allclose([s[0] for s in states], [1.75, 0.2])
    np.testing.assert_allclose(gains, [0.4, 1.75])
    ones = (*known[:2], [], *known[3:])
    assert train("squared_loss", np.zeros((2, 0)), [3.5, 1], sparse=ones)[1] == [[0.5, 1.75]]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"y": [0.5]}, "Only labels of 0.0 or 1.0"),
        ({"loss": "poisson_loss", "y": [-1]}, "Only non-negative labels"),
        ({"x": np.zeros((1, 0))}, "at least one feature"),
        ({"state": np.zeros((1, 3), np.float32)}, r"Expected shape \[1,4\]"),
        ({"w": [1, 2]}, "Expected 2 example labels but got 1"),
        ({"y": [0, 1]}, "a row for each of 2 examples"),
        ({"dense_weights": [1.0]}, "More dense features than we have parameters for: 2"),
        ({"sparse": ([[0]], [[8]], [], [[7]], [[0.0]])}, "out of valid range: 8"),
        ({"sparse": ([[0, 0]], [[7, 7]], [], [[7]], [[0.0]])}, "Duplicate index"),
        ({"sparse": ([[0]], [[7, 7]], [], [[7]], [[0.0]])}, "mismatched example_indices"),
        ({"sparse": ([[0]], [[7]], [[1.0, 2.0]], [[7]], [[0.0]])}, "Found 2 sparse feature values"),
        ({"sparse": ([[0]], [[7]], [], [[7, 8]], [[0.0]])}, "Found 2 sparse indices for 1"),
    ],
)
def test_what_is_refused(change, text):
    call = {"loss": "hinge_loss", "x": [[1, 2]], "y": [1]} | change
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        train(**call)


def test_weights_are_moved_towards_zero():
    with tf.Graph().as_default(), v1.Session() as session:
        a, b = raw.VariableV2(shape=[3], dtype="float"), raw.VariableV2(shape=[2, 1], dtype="float")
        session.run([raw.Assign(ref=a, value=[1.0, -2.0, 0.1]),
                     raw.Assign(ref=b, value=[[0.3], [-5.0]])])  # fmt: skip
        session.run(v1.train.sdca_shrink_l1([a, b], l1=0.5, l2=2.0))
        first, second = session.run([a, b])
        np.testing.assert_allclose(first, [0.75, -1.75, 0])
        np.testing.assert_allclose(second, [[0.05], [-4.75]], rtol=1e-6)
    with pytest.raises(RuntimeError, match="does not support eager execution"):
        raw.SdcaShrinkL1(weights=[tf.zeros(3)], l1=1.0, l2=1.0)


def test_public_functions():
    made = v1.train.sdca_optimizer([], [], [], [[[1.0, 2.0]]], [1.0], [1.0], [], [], [[0.0, 0.0]],
                                   [[0.0] * 4], "squared_loss", 0.0, 1.0, 1, 1)  # fmt: skip
    np.testing.assert_allclose(made.out_delta_dense_weights[0], [1 / 6, 1 / 3], rtol=1e-6)
    assert made.out_delta_sparse_weights == []
    text = "hello world, this is a longer string than sixteen bytes"
    assert v1.train.sdca_fprint(["abc", text]).numpy().tolist() == [
        [4143508125394299908, -6879828354153669051],
        [-357899284061324709, 4721859054265866874],
    ]
    assert raw.SdcaFprint(input=["long " * 60]).numpy().tolist() == [
        [-2594286718116851510, 3292352626166768217]
    ]
    assert raw.SdcaFprint(input=["", "a"]).numpy().tolist() == [
        [4463240938071824939, 4374473821787594281],
        [7969074168056553668, 5955762262185338209],
    ]
    with pytest.raises(tf.errors.InvalidArgumentError):
        raw.SdcaFprint(input="a")
