"""Distributions against SciPy, and figures recorded from TensorFlow 2.21."""

import numpy as np
import pytest
import scipy.stats

import penstock as tf

D = tf.compat.v1.distributions
LOC, SCALE = np.array([0.0, 1.0]), np.array([1.0, 2.0])
REAL = {
    "Normal": (D.Normal(LOC, SCALE), scipy.stats.norm(LOC, SCALE)),
    "Laplace": (D.Laplace(LOC, SCALE), scipy.stats.laplace(LOC, SCALE)),
    "Uniform": (D.Uniform(LOC, LOC + SCALE), scipy.stats.uniform(LOC, SCALE)),
}
PROBS = np.array([[0.2, 0.8], [0.5, 0.5]])


@pytest.mark.parametrize("name", REAL)
def test_densities_and_tails(name):
    ours, reference = REAL[name]
    x = np.array([[0.5, 1.25], [-0.75, 2.5], [-30.0, 40.0]])
    x = x[:2] if name == "Uniform" else x
    with np.errstate(divide="ignore"):
        pairs = {
            "prob": reference.pdf(x),
            "log_prob": reference.logpdf(x),
            "cdf": reference.cdf(x),
            "log_cdf": reference.logcdf(x),
            "survival_function": reference.sf(x),
            "log_survival_function": reference.logsf(x),
        }
    for method, expected in pairs.items():
        np.testing.assert_allclose(getattr(ours, method)(x), expected, 1e-9, 1e-12, err_msg=method)


@pytest.mark.parametrize("name", REAL)
def test_statistics(name):
    ours, reference = REAL[name]
    for method, expected in {
        "mean": reference.mean(),
        "stddev": reference.std(),
        "variance": reference.var(),
        "entropy": reference.entropy(),
    }.items():
        np.testing.assert_allclose(getattr(ours, method)(), expected, 1e-12, err_msg=method)
    if name != "Uniform":
        np.testing.assert_array_equal(ours.mode(), LOC)


@pytest.mark.parametrize("name", REAL)
def test_draws_have_the_distribution(name):
    ours, reference = REAL[name]
    drawn = np.asarray(ours.sample([40, 50], seed=3))
    assert drawn.shape == (40, 50, 2)
    for i in range(2):
        one = type(ours)(*(float(p[i]) for p in ours._given.values()))
        test = scipy.stats.kstest(drawn[..., i].ravel(), lambda x, one=one: np.asarray(one.cdf(x)))
        assert test.pvalue > 1e-3
    again = ours.sample(3, seed=1).shape
    assert again == (3, 2)
    assert ours.sample().shape == (2,)
    assert reference.mean().shape == (2,)


def test_a_far_tail_of_float32_and_its_gradient():
    x = tf.constant([-50.0, -9.9, -10.1, 0.0, 12.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = D.Normal(0.0, 1.0).log_cdf(x)
    wide = np.asarray(x, np.float64)
    np.testing.assert_allclose(y, scipy.stats.norm.logcdf(wide), 2e-6, 1e-30)
    slope = np.exp(scipy.stats.norm.logpdf(wide) - scipy.stats.norm.logcdf(wide))
    np.testing.assert_allclose(tape.gradient(y, x), slope, 2e-4, 1e-30)


def test_quantiles_of_what_is_no_probability():
    p = tf.constant([-0.1, 0.0, 0.5, 1.0, 1.1, np.nan, np.inf])
    with tf.GradientTape() as tape:
        tape.watch(p)
        quantiles = D.Normal(1.0, 2.0).quantile(p)
    infinity = np.inf
    np.testing.assert_array_equal(
        quantiles, [-infinity, -infinity, 1, infinity, infinity, np.nan, infinity]
    )
    slope = 2 * np.sqrt(2 * np.pi)
    np.testing.assert_allclose(tape.gradient(quantiles, p), [0, 0, slope, 0, 0, np.nan, 0], 1e-6)


def test_bernoulli():
    for ours in (D.Bernoulli(probs=PROBS[0]), D.Bernoulli(logits=np.log([0.25, 4.0]))):
        np.testing.assert_allclose(ours.prob([0, 1]), [0.8, 0.8], 1e-12)
        np.testing.assert_allclose(ours.entropy(), scipy.stats.bernoulli(PROBS[0]).entropy())
        np.testing.assert_allclose(ours.variance(), [0.16, 0.16])
        np.testing.assert_allclose(ours.mean(), PROBS[0])
        assert ours.mode().numpy().tolist() == [0, 1]
        drawn = ours.sample(4000, seed=2)
        assert drawn.dtype is tf.int32
        np.testing.assert_allclose(np.mean(drawn, 0), PROBS[0], atol=0.03)


def test_categorical():
    for ours in (D.Categorical(probs=PROBS), D.Categorical(logits=np.log(PROBS) + 3)):
        np.testing.assert_allclose(ours.prob([0, 1]), [0.2, 0.5])
        np.testing.assert_allclose(ours.log_prob([[1], [0]]), np.log([[0.8, 0.5], [0.2, 0.5]]))
        np.testing.assert_allclose(ours.cdf([0, 1]), [0.0, 0.5])  # TensorFlow leaves k out
        np.testing.assert_allclose(ours.entropy(), scipy.stats.entropy(PROBS, axis=-1))
        assert ours.mode().numpy().tolist() == [1, 0]
        assert int(ours.event_size) == 2
        drawn = np.asarray(ours.sample([1000, 4], seed=2))
        assert drawn.shape == (1000, 4, 2)
        np.testing.assert_allclose(drawn.mean((0, 1)), [0.8, 0.5], atol=0.03)


def test_divergences():
    a, b = D.Normal(LOC, SCALE), D.Normal(np.float64(1.0), np.float64(3.0))
    expected = np.log(3 / SCALE) + (SCALE**2 + (LOC - 1) ** 2) / 18 - 0.5
    np.testing.assert_allclose(D.kl_divergence(a, b), expected)
    np.testing.assert_allclose(a.cross_entropy(b), a.entropy() + expected)
    p, q = D.Categorical(probs=PROBS), D.Categorical(probs=[0.3, 0.7])
    q64 = D.Categorical(probs=np.array([0.3, 0.7]))
    np.testing.assert_allclose(p.kl_divergence(q64), scipy.stats.entropy(PROBS, [0.3, 0.7], axis=1))
    assert q.dtype is tf.int32
    found = D.kl_divergence(D.Bernoulli(probs=[0.2, 0.7]), D.Bernoulli(logits=[0.2, 0.7]))
    np.testing.assert_allclose(found, [0.2577364, 0.0023217], 1e-3)


def test_registered_divergences():
    class Narrow(D.Normal):
        pass

    assert float(D.kl_divergence(Narrow(0.0, 1.0), D.Normal(1.0, 1.0))) == 0.5
    with pytest.raises(NotImplementedError, match="type Narrow and distribution_b type Laplace"):
        D.kl_divergence(Narrow(0.0, 1.0), D.Laplace(0.0, 1.0))

    @D.RegisterKL(Narrow, D.Laplace)
    def rule(a, b, name=None):
        return tf.constant([1.0, np.nan])

    assert np.isnan(D.kl_divergence(Narrow(0.0, 1.0), D.Laplace(0.0, 1.0))[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN values"):
        D.kl_divergence(Narrow(0.0, 1.0), D.Laplace(0.0, 1.0), allow_nan_stats=False)
    with pytest.raises(ValueError, match="already been registered"):
        D.RegisterKL(Narrow, D.Laplace)(rule)
    with pytest.raises(TypeError, match="kl_fn must be callable"):
        D.RegisterKL(Narrow, Narrow)(3)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: D.Bernoulli(), ValueError, "probs or logits"),
        (lambda: D.Categorical(logits=0.5), ValueError, "axis of classes"),
        (lambda: D.Normal(0, 1), ValueError, "floating"),
        (lambda: D.Normal(0.0, tf.constant(1.0, tf.float64)), ValueError, "same type|float"),
        (lambda: D.Normal([0.0, 1.0], [1.0, 2.0, 3.0]), ValueError, "broadcast"),
        (lambda: D.Normal(0.0, -1.0, validate_args=True), "invalid", "x > 0|> 0"),
        (lambda: D.Uniform(1.0, 0.0, validate_args=True), "invalid", "low >= high"),
        (lambda: D.Bernoulli(probs=1.5, validate_args=True), "invalid", "greater than 1"),
        (lambda: D.Bernoulli(probs=0.5, validate_args=True).prob(2), "invalid", "cannot exceed 1"),
        (lambda: D.Categorical(logits=[0.0, 1.0]).prob(5), "invalid", "5"),
        (lambda: D.Uniform().mode(), NotImplementedError, "mode is not implemented: Uniform"),
        (lambda: D.Bernoulli(probs=0.5).cdf(1), NotImplementedError, "cdf is not implemented"),
        (lambda: D.Normal(0.0, 1.0).copy(bad=1), TypeError, "bad"),
    ],
)
def test_what_is_refused(make, error, text):
    wanted = tf.errors.InvalidArgumentError if error == "invalid" else error
    with pytest.raises(wanted, match=text):
        make()


def test_names_and_unknown_batches_in_a_graph():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        fed = tf.compat.v1.placeholder(tf.float32, [None])
        normal = D.Normal(fed, 1.0)
        assert (normal.name, normal.loc.name.split("/")[0]) == ("Normal/", fed.name)
        assert normal.prob(1.0).name.startswith("Normal/prob")
        assert D.Normal(0.0, 1.0).name == "Normal_1/"
        assert normal.batch_shape.as_list() == [None]
        drawn = normal.sample([2, 3], seed=1)
        logits = D.Categorical(logits=tf.compat.v1.placeholder_with_default([[0.0, 1.0]], None))
        shapes = session.run([tf.shape(drawn), normal.batch_shape_tensor()], {fed: [1.0, 2.0]})
        assert [s.tolist() for s in shapes] == [[2, 3, 2], [2]]
        assert session.run(logits.sample(5)).shape == (5, 1)


def test_draws_are_differentiable_and_those_of_tensorflows_random_numbers():
    scale = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        drawn = D.Normal(1.0, scale).sample(3, seed=1)
    np.testing.assert_allclose(tape.gradient(drawn, scale), np.sum((drawn - 1) / 2), 1e-5)
    tf.random.set_seed(5)
    ours = D.Normal(0.0, 1.0).sample(3, seed=1)
    tf.random.set_seed(5)
    np.testing.assert_array_equal(ours, tf.random.normal([3], seed=1))


def test_what_a_distribution_says_of_itself():
    normal = D.Normal([0.0], 1.0, name="n")
    assert normal.parameters["scale"] == 1.0
    assert set(normal.parameters) == {"loc", "scale", "validate_args", "allow_nan_stats", "name"}
    assert float(normal.copy(scale=3.0).stddev()[0]) == 3.0
    assert normal.reparameterization_type is D.FULLY_REPARAMETERIZED
    assert D.Bernoulli(probs=0.5).reparameterization_type is D.NOT_REPARAMETERIZED
    assert not normal.is_scalar_batch()
    assert normal.is_scalar_event()
    assert D.Normal.param_static_shapes([2]) == {"loc": [2], "scale": [2]}
    assert D.Normal.param_shapes([2])["loc"].numpy().tolist() == [2]
    assert "Normal 'n'" in repr(normal)
