"""Candidate samplers give TensorFlow's classes and expected counts; losses over drawn classes.

The numbers here are TensorFlow 2.21's for the same seeds.
"""

import threading
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops import nn_candidate_samplers as samplers
from penstock.ops.random_philox import Stream

R = tf.raw_ops
INVALID = tf.errors.InvalidArgumentError
TRUE = np.int64([[1, 2], [0, 5]])


def sample(name: str, **options: Any) -> list[Any]:
    given = {
        "true_classes": TRUE,
        "num_true": 2,
        "num_sampled": 6,
        "unique": True,
        "seed": 1,
        "seed2": 2,
    }
    found = getattr(R, f"{name}CandidateSampler")(**{**given, **options})
    return [t.numpy() for t in found]


@pytest.mark.parametrize(
    ("name", "unique", "classes"),
    [
        ("LogUniform", True, [1, 2, 17, 11, 4, 5]),
        ("LogUniform", False, [1, 2, 1, 1, 17, 11]),
        ("Uniform", True, [19, 6, 7, 1, 13, 18]),
        ("LearnedUnigram", True, [19, 15, 2, 9, 11, 6]),
        ("ThreadUnsafeUnigram", False, [19, 15, 2, 9, 11, 6]),
    ],
)
def test_classes_are_tensorflows(name: str, unique: bool, classes: list[int]) -> None:
    tf.random.set_seed(0)  # eager streams start again
    found, true_count, count = sample(name, unique=unique, range_max=20)
    assert found.tolist() == classes
    assert true_count.shape == (2, 2)
    assert count.shape == (6,)


def test_expected_counts() -> None:
    """Of unique classes: by the number of draws when some were drawn again."""
    tf.random.set_seed(0)
    _, true_count, count = sample("LogUniform", range_max=20)
    np.testing.assert_allclose(
        true_count, [[0.68125957, 0.54799885], [0.87340343, 0.3401029]], rtol=1e-6
    )
    np.testing.assert_allclose(count[2:4], [0.13354704, 0.19195704], rtol=1e-6)
    tf.random.set_seed(0)
    _, true_count, _ = sample("LogUniform", range_max=20, unique=False)
    np.testing.assert_allclose(
        true_count, [[0.7990714, 0.56695014], [1.3660215, 0.30379283]], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("options", "classes"),
    [
        ({"range_max": 5, "distortion": 0.75, "num_sampled": 3}, [0, 4, 1]),
        ({"range_max": 6, "num_reserved_ids": 1, "num_sampled": 3}, [5, 3, 4]),
    ],
)
def test_given_weights(options: dict[str, Any], classes: list[int]) -> None:
    tf.random.set_seed(0)
    true = np.int64([[1, 2], [0, 3]])
    found, *_ = sample(
        "FixedUnigram", true_classes=true, unigrams=[0.1, 0.2, 0.3, 0.2, 0.2], **options
    )
    assert found.tolist() == classes


def test_shares_that_come_to_1_but_for_rounding_decide() -> None:
    weights = [6.6, 3.3, 6.6, 6.6, 6.6, 3.3]
    options = {"unigrams": weights, "range_max": 6, "distortion": 0.75, "seed": 2, "seed2": 230}
    tf.random.set_seed(0)
    found, *counts = sample("FixedUnigram", unique=False, num_sampled=3, **options)
    assert found.tolist() == [0, 3, 3]
    bits = [c.view(np.uint32).tolist() for c in counts]
    high, low = 1058275294, 1051721862
    assert bits == [[[low, high], [high, low]], [high] * 3]


def test_weights_of_a_file(tmp_path: Any) -> None:
    path = tmp_path / "vocabulary.csv"
    path.write_text("a,0\nb,3\nc,0\n")
    options = {"range_max": 3, "num_sampled": 1, "vocab_file": str(path)}
    found, true_count, _ = sample("FixedUnigram", true_classes=TRUE[:1], **options)
    assert found.tolist() == [1]
    assert true_count.tolist() == [[1, 0]]


def test_learned_weights_belong_to_the_node() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        _, count, _ = v1.nn.learned_unigram_candidate_sampler([[1]], 1, 4, True, 30, seed=3)
        counts = [session.run(count)[0, 0] for _ in range(3)]
    np.testing.assert_allclose(counts, [0.13333334, 0.25806451, 0.38872012], rtol=1e-6)


def test_public_samplers_go_on_in_their_stream() -> None:
    tf.random.set_seed(5)
    sampler = tf.random.log_uniform_candidate_sampler
    drawn = [
        sampler(tf.constant([[1]], tf.int64), 1, 4, True, 30, seed=3)[0].numpy().tolist()
        for _ in range(3)
    ]
    assert drawn == [[1, 4, 11, 20], [0, 29, 3, 17], [8, 1, 0, 9]]


def test_all_candidates() -> None:
    found, true_count, count = sample("All")
    assert found.tolist() == [0, 1, 2, 3, 4, 5]
    assert true_count.tolist() == [[1, 1], [1, 1]]
    assert count.tolist() == [1] * 6


def test_samplers_refuse() -> None:
    with pytest.raises(INVALID, match=r"range is too small\. Expected num_sampled <= 5, got 6"):
        sample("Uniform", range_max=5)
    with pytest.raises(INVALID, match=r"out of range \[0, 5\), received 5"):
        sample("Uniform", range_max=5, num_sampled=2)
    with pytest.raises(INVALID, match="num_true = 1 columns"):
        sample("Uniform", range_max=20, num_true=1)
    with pytest.raises(INVALID, match="true_classes of rank 2"):
        sample("Uniform", range_max=20, true_classes=[1])
    with pytest.raises(INVALID, match="either vocab_file or unigrams"):
        sample("FixedUnigram", range_max=20)
    with pytest.raises(INVALID, match="range is 20 must be equal to weights size  1"):
        sample("FixedUnigram", range_max=20, unigrams=[1.0])


def test_accidental_hits() -> None:
    """ComputeAccidentalHits names the last place of a class."""
    rows, places, weights = tf.nn.compute_accidental_hits(TRUE, np.int64([5, 1, 7, 2, 1]), 2)
    assert rows.numpy().tolist() == [0, 0, 1]
    assert places.numpy().tolist() == [4, 3, 0]
    assert weights.numpy().tolist() == [np.finfo(np.float32).min] * 3


# ---- losses

TABLE = np.linspace(-1, 1, 40).reshape(10, 4).astype(np.float32)
OFFSETS = np.linspace(0, 1, 10).astype(np.float32)
INPUTS = np.linspace(-1, 2, 12).reshape(3, 4).astype(np.float32)
LABELS = np.int64([[1, 2], [4, 0], [7, 9]])
DRAWN = (np.int64([0, 1, 2, 7]), np.full((3, 2), 0.3, np.float32), np.float32([0.1, 0.2, 0.3, 0.4]))


def logits_of(remove: bool) -> tuple[Any, Any]:
    everything = INPUTS @ TABLE.T + OFFSETS
    true = np.take_along_axis(everything, LABELS, 1) - np.log(DRAWN[1])
    drawn = everything[:, DRAWN[0]] - np.log(DRAWN[2])
    if remove:
        drawn[(LABELS[:, :, None] == DRAWN[0]).any(1)] = -np.inf
    labels = np.concatenate([np.full((3, 2), 0.5), np.zeros((3, 4))], 1)
    return np.concatenate([true, drawn], 1).astype(np.float64), labels


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_losses(remove: bool, parts: int) -> None:
    tables = [TABLE] if parts == 1 else [TABLE[:5], TABLE[5:]]
    logits, labels = logits_of(remove)
    given = (OFFSETS, LABELS, INPUTS, 4, 10, 2, DRAWN, remove)
    powers = np.exp(logits)
    shares = np.where(labels, powers / powers.sum(1, keepdims=True), 1)
    softmax = -(labels * np.log(shares)).sum(1)
    np.testing.assert_allclose(
        tf.nn.sampled_softmax_loss(tables, *given).numpy(), softmax, rtol=1e-5
    )
    nce = (np.log1p(powers) - labels * np.where(labels, logits, 0)).sum(1)
    np.testing.assert_allclose(tf.nn.nce_loss(tables, *given).numpy(), nce, rtol=1e-5)


def test_losses_draw_classes_and_train_few_rows() -> None:
    table = tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(
            tf.nn.sampled_softmax_loss(table, OFFSETS, LABELS[:, :1], INPUTS, 3, 10)
        )
    grad = tape.gradient(loss, table)
    assert isinstance(grad, tf.IndexedSlices)
    assert grad.values.shape == [6, 4]
    assert grad.indices.numpy()[:3].tolist() == [1, 4, 7]


DISTRIBUTIONS = {
    "uniform": samplers.Uniform(77),
    "log uniform": samplers.LogUniform(50_000),
    "fixed": samplers.Fixed(np.arange(1, 40, dtype=np.float32)),
    "learned": samplers.Learned(100),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_draws_at_once_are_those_one_by_one(name: str) -> None:
    distribution = DISTRIBUTIONS[name]
    if isinstance(distribution, samplers.Learned):
        distribution.learn(np.array([3, 3, 99, 31, 32, 0] * 50))
    stream = Stream(np.uint64(5), np.uint64(0), np.uint64(9))
    source = samplers.Words(stream)
    one_by_one = [distribution.draw(source) for _ in range(300)]
    assert list(distribution.draw_many(samplers.Words(stream), 300)) == one_by_one
    different = list(dict.fromkeys(one_by_one))[:20]
    drawn, tries = samplers._draw(distribution, stream, 20, unique=True)
    assert list(drawn) == different
    assert len(set(one_by_one[:tries])) == 20
    assert one_by_one[tries - 1] == different[-1]


def test_different_classes_are_found_where_most_draws_are_alike(monkeypatch) -> None:
    distribution = samplers.Fixed(np.array([1e6, 1, 1], np.float32))
    stream = Stream(np.uint64(5), np.uint64(0), np.uint64(9))
    monkeypatch.setattr(samplers, "AT_ONCE", 8)
    drawn, tries = samplers._draw(distribution, stream, 2, unique=True)
    assert len(set(drawn)) == 2
    assert tries > 8


@pytest.mark.parametrize(("classes", "count"), [([[0, 3]], 3), ([[-1, 1]], 3), ([[0, 1]], 1)])
def test_all_candidates_hold_the_true_ones(classes: Any, count: int) -> None:
    with pytest.raises(INVALID, match=rf"out of range \[0, {count}\)"):
        tf.random.all_candidate_sampler(np.int64(classes), 2, count, True)


def test_threads_that_teach_a_sampler_lose_nothing():
    size, count = 256, 20_000
    taught = np.random.default_rng(0).integers(0, size, (count, 1))

    def teach() -> None:
        for _ in range(5):
            sample(
                "LearnedUnigram", true_classes=taught, num_true=1, range_max=size, seed=77, seed2=78
            )

    threads = [threading.Thread(target=teach) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    drawn = sample(
        "LearnedUnigram", true_classes=taught[:1], num_true=1, range_max=size, seed=77, seed2=78
    )
    shares = drawn[2] / 6
    known = np.bincount(taught[:, 0], minlength=size) * 20 + 1
    tries = shares[0] / (known[drawn[0][0]] / known.sum())
    np.testing.assert_allclose(shares, known[drawn[0]] / known.sum() * tries, rtol=1e-3)
