"""Gamma, Exponential, Beta, StudentT, Dirichlet and counts: SciPy, and TensorFlow 2.21's draws."""

import numpy as np
import pytest
import scipy.stats

import penstock as tf

D = tf.compat.v1.distributions
SHAPE, RATE = np.array([0.5, 3.0]), np.array([2.0, 0.5])
DF, LOC = np.array([3.0, 5.0]), np.array([1.0, -1.0])
REAL = {
    "Gamma": (D.Gamma(SHAPE, RATE), scipy.stats.gamma(SHAPE, scale=1 / RATE)),
    "Exponential": (D.Exponential(RATE), scipy.stats.expon(scale=1 / RATE)),
    "Beta": (D.Beta(SHAPE, RATE), scipy.stats.beta(SHAPE, RATE)),
    "StudentT": (D.StudentT(DF, LOC, -RATE), scipy.stats.t(DF, LOC, RATE)),
}
WEIGHTS = np.array([1.5, 2.0, 3.0])


@pytest.mark.parametrize("name", REAL)
def test_densities_tails_and_statistics(name):
    ours, reference = REAL[name]
    x = np.array([[0.5], [0.25], [0.9]])
    for method, theirs in {
        "prob": "pdf", "log_prob": "logpdf", "cdf": "cdf", "survival_function": "sf",
        "log_survival_function": "logsf",
    }.items():  # fmt: skip
        expected = getattr(reference, theirs)(x)
        np.testing.assert_allclose(getattr(ours, method)(x), expected, 1e-9, 1e-12, err_msg=method)
    for method, theirs in {
        "mean": "mean", "stddev": "std", "variance": "var", "entropy": "entropy",
    }.items():  # fmt: skip
        expected = getattr(reference, theirs)()
        np.testing.assert_allclose(getattr(ours, method)(), expected, 1e-9, err_msg=method)


@pytest.mark.parametrize("name", REAL)
def test_draws_have_the_distribution(name):
    ours, reference = REAL[name]
    drawn = np.asarray(ours.sample([30, 40], seed=3))
    assert drawn.shape == (30, 40, 2)
    for i, below in enumerate(np.moveaxis(reference.cdf(drawn), -1, 0)):
        assert scipy.stats.kstest(below.ravel(), "uniform").pvalue > 1e-3, i


def test_modes_and_where_there_is_none():
    np.testing.assert_allclose(D.Beta([1.5, 3.0], [2.5, 0.5]).mode(), [0.25, np.nan])
    np.testing.assert_allclose(D.Gamma([0.5, 3.0], 2.0).mode(), [np.nan, 1.0])
    t = D.StudentT([1.0, 1.5, 3.0], 2.0, 3.0)
    np.testing.assert_allclose(t.mean(), [np.nan, 2.0, 2.0])
    np.testing.assert_allclose(t.variance(), [np.nan, np.inf, 27.0])
    assert float(t.mode()) == 2.0
    modes = D.Dirichlet([[1.0, 2.0, 3.0], [2.0, 2.0, 4.0]]).mode()
    np.testing.assert_allclose(modes, [[np.nan] * 3, [0.2, 0.2, 0.6]])


def test_dirichlet():
    ours, reference = D.Dirichlet(WEIGHTS), scipy.stats.dirichlet(WEIGHTS)
    x = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(ours.log_prob(x), reference.logpdf(x))
    np.testing.assert_allclose(ours.mean(), reference.mean())
    np.testing.assert_allclose(ours.variance(), reference.var())
    np.testing.assert_allclose(ours.covariance(), reference.cov())
    np.testing.assert_allclose(ours.entropy(), reference.entropy())
    drawn = np.asarray(ours.sample(4000, seed=1))
    np.testing.assert_allclose(drawn.sum(-1), 1.0)
    np.testing.assert_allclose(drawn.mean(0), reference.mean(), atol=0.01)
    assert (ours.batch_shape.as_list(), ours.event_shape.as_list()) == ([], [3])
    assert float(ours.total_concentration) == 6.5


COUNTS = {
    "Multinomial": (
        lambda total: D.Multinomial(total, probs=WEIGHTS / 6.5),
        lambda total: scipy.stats.multinomial(total, WEIGHTS / 6.5),
    ),
    "DirichletMultinomial": (
        lambda total: D.DirichletMultinomial(total, WEIGHTS),
        lambda total: scipy.stats.dirichlet_multinomial(WEIGHTS, total),
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    ours, reference = COUNTS[name][0](np.float64(5)), COUNTS[name][1](5)
    counts = np.array([[1, 2, 2], [0, 0, 5]])
    np.testing.assert_allclose(ours.log_prob(counts.astype(float)), reference.logpmf(counts))
    mean = 5 * WEIGHTS / 6.5
    np.testing.assert_allclose(ours.mean(), mean)
    np.testing.assert_allclose(ours.covariance(), reference.cov(), 1e-9)
    np.testing.assert_allclose(ours.variance(), np.diag(reference.cov()), 1e-9)
    drawn = np.asarray(ours.sample(3000, seed=4))
    assert set(drawn.sum(-1)) == {5.0}
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.15)
    np.testing.assert_allclose(np.cov(drawn.T), reference.cov(), atol=0.3)


@pytest.mark.parametrize("name", COUNTS)
def test_numbers_of_draws_that_differ_within_a_batch(name):
    ours = COUNTS[name][0](np.array([[1.0], [4.0]]))
    assert ours.batch_shape.as_list() == [2, 1]
    drawn = np.asarray(ours.sample([5, 2], seed=1))
    assert drawn.shape == (5, 2, 2, 1, 3)
    np.testing.assert_array_equal(drawn.sum(-1), np.broadcast_to([[1.0], [4.0]], (5, 2, 2, 1)))
    np.testing.assert_allclose(np.asarray(ours.mean()).sum(-1), [[1.0], [4.0]])
    assert ours.covariance().shape == (2, 1, 3, 3)


F = np.float32
# The first of 4 draws with the global seed 7 and the seed 11, as TensorFlow 2.21 gives them.
DRAWN = {
    "Gamma": (lambda: D.Gamma(F([0.5, 3.0, 1.0]), F([2.0, 0.5, 1.0])),
              [0.030893730, 4.9020705, 0.10459548]),
    "Exponential": (lambda: D.Exponential(F([2.0, 0.5, 1.0])), [1.8820963, 4.6154456, 0.5636526]),
    "Beta": (lambda: D.Beta(F([1.5, 3.0]), F([2.5, 0.5])), [0.02237624, 0.78025854]),
    "StudentT": (lambda: D.StudentT(F([0.5, 1, 2, 3, 5]), F([0, 1, 2, 3, 4]), F([1, 2, 1, 2, 0.5])),
                 [431.18750, 6.0697465, 1.5330118, -0.13432980, 4.6039205]),
    "Dirichlet": (lambda: D.Dirichlet(F([0.5, 2.0, 3.0])), [0.01115118, 0.2702554, 0.7185934]),
    "Multinomial": (lambda: D.Multinomial(F(3.0), logits=F([1.0, 2.0, 0.0])), [1.0, 2.0, 0.0]),
    "DirichletMultinomial": (lambda: D.DirichletMultinomial(F(3.0), F([1.0, 2.0])), [2.0, 1.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_draws_are_tensorflows(name):
    make, expected = DRAWN[name]
    tf.random.set_seed(7)
    np.testing.assert_allclose(make().sample([4], seed=11)[0], expected, 2e-5)


def test_draws_move_with_the_parameters():
    shape = tf.Variable([0.5, 3.0])
    with tf.GradientTape() as tape:
        drawn = tf.reduce_mean(D.Gamma(shape, 1.0).sample(3000, seed=2), 0)
    np.testing.assert_allclose(tape.gradient(drawn, shape), [1.0, 1.0], atol=0.1)  # mean = shape


# Of TensorFlow 2.21.
PAIRS = {
    "Beta": ([1.5, 3.0], [2.5, 0.5], [2.5, 1.0], [1.5, 5.0], [0.66666687, 11.765282]),
    "Gamma": ([1.5, 3.0], [2.5, 0.5], [2.5, 1.0], [1.5, 5.0], [1.0460393, 25.849836]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_divergences(name):
    a, b, c, d, expected = PAIRS[name]
    kind = getattr(D, name)
    np.testing.assert_allclose(D.kl_divergence(kind(a, b), kind(c, d)), expected, 1e-5)


def test_other_divergences():
    np.testing.assert_allclose(
        D.kl_divergence(D.Dirichlet([1.5, 3.0]), D.Dirichlet([2.5, 1.0])), 1.3852885, 1e-5
    )
    mixed = D.kl_divergence(D.Exponential([1.5, 3.0]), D.Gamma([2.5, 1.0], [1.5, 5.0]))
    np.testing.assert_allclose(mixed, [1.1505066, 0.155841], 1e-5)
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(D.StudentT(1.0, 1.0, 1.0), D.StudentT(1.0, 1.0, 1.0))


def _checked(kind, *args, **kwargs):
    return kind(*args, validate_args=True, **kwargs)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: D.Beta(), ValueError, "concentration1 and concentration0"),
        (lambda: D.Beta(1, 1), ValueError, "floating"),
        (lambda: D.Gamma(F(1), np.float64(1)), ValueError, "same type|float"),
        (lambda: _checked(D.Gamma, -1.0, 1.0), "invalid", "concentration must be positive"),
        (lambda: _checked(D.Gamma, 1.0, -1.0), "invalid", "rate must be positive"),
        (lambda: _checked(D.Gamma, 1.0, 1.0).prob(0.0), "invalid", "value must be positive"),
        (lambda: _checked(D.Exponential, 0.0), "invalid", "rate must be positive"),
        (lambda: _checked(D.StudentT, 0.0, 1.0, 1.0), "invalid", "df must be positive"),
        (lambda: _checked(D.Beta, 1.0, 2.0).prob(1.0), "invalid", "less than `1`"),
        (lambda: D.Gamma(1.0, 1.0, allow_nan_stats=False).mode(), "invalid", "concentration <= 1"),
        (lambda: D.StudentT(1.0, 0.0, 1.0, allow_nan_stats=False).mean(), "invalid", "df <= 1"),
        (lambda: D.Beta(2.0, 1.0, allow_nan_stats=False).mode(), "invalid", "concentration0 <= 1"),
        (lambda: D.Gamma(1.0, 1.0).quantile(0.5), NotImplementedError, "quantile is not"),
        (lambda: D.Dirichlet(1.0), ValueError, "one dimension at least"),
        (lambda: _checked(D.Dirichlet, [1.0]), "invalid", "event_size >= 2"),
        (lambda: _checked(D.Dirichlet, [1.0, 0.0]), "invalid", "must be positive"),
        (lambda: _checked(D.Dirichlet, [1.0, 1.0]).prob([0.3, 0.3]), "invalid", "sum to `1`"),
        (lambda: D.Dirichlet.param_shapes([2]), NotImplementedError, "param_shapes"),
        (lambda: D.Multinomial(1.0), ValueError, "probs or logits"),
        (lambda: D.Multinomial(2, probs=[0.5, 0.5]).mean(), "invalid", "Mul|dtype|int32"),
        (lambda: _checked(D.Multinomial, -1.0, probs=[0.5, 0.5]), "invalid", "non-negative"),
        (lambda: _checked(D.Multinomial, 1.5, probs=[0.5, 0.5]), "invalid", "fractional"),
        (lambda: _checked(D.Multinomial, 1.0, probs=[1.0]), ValueError, "at least 2 events, got 1"),
        (lambda: _checked(D.Multinomial, 1.0, probs=[0.5, 0.6]), "invalid", "does not sum to 1"),
        (lambda: _checked(D.Multinomial, 2.0, probs=[0.5, 0.5]).prob([1.0, 2.0]), "invalid",
         "sum to `self.total_count`"),
        (lambda: _checked(D.DirichletMultinomial, 2.0, [1.0, 1.0]).prob([0.5, 1.5]), "invalid",
         "fractional"),
        (lambda: _checked(D.Categorical, probs=[0.5, 0.7]), "invalid", "does not sum to 1"),
        (lambda: _checked(D.Categorical, probs=[0.5, 0.5]).cdf(0.5), "invalid", "fractional"),
        (lambda: _checked(D.Categorical, probs=[0.5, 0.5]).cdf(2), "invalid", "largest class"),
    ],
)  # fmt: skip
def test_what_is_refused(make, error, text):
    wanted = tf.errors.InvalidArgumentError if error == "invalid" else error
    with pytest.raises(wanted, match=text):
        make()


def test_unknown_batches_in_a_graph():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        total = tf.compat.v1.placeholder(tf.float32, None)
        weights = tf.compat.v1.placeholder(tf.float32, [None, None])
        ours = D.DirichletMultinomial(total, weights, validate_args=True)
        drawn = ours.sample([2, 3], seed=1)
        shape, counts = session.run(
            [ours.event_shape_tensor(), drawn], {total: [3.0, 4.0], weights: np.ones((2, 5))}
        )
        assert shape.tolist() == [5]
        assert counts.sum(-1).tolist() == [[[3.0, 4.0]] * 3] * 2
        with pytest.raises(tf.errors.InvalidArgumentError, match="event_size >= 2"):
            session.run(drawn, {total: [3.0, 4.0], weights: np.ones((2, 1))})
