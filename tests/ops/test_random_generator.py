"""Generators, and numbers drawn by rejection: TensorFlow's where they are the same by design."""

import math

import numpy as np
import pytest

import penstock as tf

Generator = tf.random.Generator
DRAWS = 20_000


def state(generator):
    return generator.state.numpy().tolist()


def test_numbers_and_states_are_tensorflows():
    g = Generator.from_seed(1234)
    assert (state(g), g.algorithm, int(g.key)) == ([1234, 0, 0], 1, 0)
    np.testing.assert_allclose(g.normal([3]), [0.9356609, 1.0854305, -0.93788373], rtol=1e-6)
    assert state(g) == [2002, 0, 0]
    rows = [[0.31073415, 0.3681823, 0.96182954], [0.31345785, 0.85380936, 0.62378836]]
    np.testing.assert_array_equal(g.uniform([2, 3]), np.float32(rows))
    assert int(g.uniform([], maxval=10, dtype=tf.int32)) == 2
    whole = [4288978007584066042, 7759893060715269298]
    assert g.uniform_full_int([2]).numpy().tolist() == whole
    np.testing.assert_allclose(g.truncated_normal([2]), [-0.47656408, -1.604162], rtol=2e-6)
    g.binomial([2], [5.0, 7.0], [0.3, 0.6])
    assert state(g) == [107218, 0, 0]
    seeds = [-6637468634535171440, 1886355148945475096, -3091546739796184002]
    assert g.make_seeds(3).numpy().tolist() == [seeds, [0, 0, 0]]
    g.skip(5)
    assert state(g) == [109266, 0, 0]
    keys = [5767299171196879409, -4800011764631107624, -8707056248163125804]
    assert [state(part) for part in g.split(3)] == [[0, 0, key] for key in keys]


def test_operations_on_a_state_are_tensorflows():
    v = tf.Variable([1234, 0, 0], dtype=tf.int64)

    def run(name, **arguments):
        v.assign([1234, 0, 0])
        found = getattr(tf.raw_ops, name)(resource=v.handle, algorithm=1, shape=[3], **arguments)
        assert v.numpy().tolist() == [2002, 0, 0]
        return found.numpy()

    uniform = [0.3581475, 0.11322761, 0.56670904]
    np.testing.assert_allclose(run("StatefulUniform", dtype=tf.float32), uniform, rtol=1e-7)
    normal = [0.9356609, 1.0854305, -0.93788373]
    for name in ("StatefulStandardNormalV2", "StatefulTruncatedNormal"):
        np.testing.assert_allclose(run(name, dtype=tf.float32), normal, rtol=1e-6)
    whole = [472453817354278855, 4059409125917362668, 18380845769304944363]
    assert run("StatefulUniformFullInt", dtype=tf.uint64).tolist() == whole
    low, high = tf.constant(0, tf.int64), tf.constant(100, tf.int64)
    assert run("StatefulUniformInt", minval=low, maxval=high).tolist() == [55, 68, 63]
    v.assign([1234, 0, 0])
    tf.raw_ops.RngSkip(resource=v.handle, algorithm=tf.constant(1, tf.int64), delta=3)
    assert v.numpy().tolist() == [2002, 0, 0]


def test_ways_to_make_one():
    assert state(Generator.from_key_counter(5, [1, 2], "philox")) == [1, 2, 5]
    assert state(Generator.from_seed([1, 2])) == [0, 1, 2]
    assert state(Generator.from_seed(-5)) == [-5, -1, -1]
    g = Generator.from_state([7, 8, 9], "philox")
    assert state(Generator(copy_from=g)) == [7, 8, 9]
    g.reset_from_seed(7)
    assert state(g) == [7, 0, 0]
    g.reset_from_key_counter(3, [4, 5])
    assert state(g) == [4, 5, 3]
    g.reset([1, 2, 3])
    assert state(g) == [1, 2, 3]
    first, second = (Generator.from_non_deterministic_state() for _ in range(2))
    assert state(first) != state(second)
    assert tf.random.create_rng_state(1, "philox").numpy().tolist() == [1, 0, 0]


def test_functions_move_the_state_on():
    g = Generator.from_seed(1)

    @tf.function
    def draw():
        return g.normal([2])

    first, second = draw().numpy(), draw().numpy()
    assert first.tolist() != second.tolist()
    eager = Generator.from_seed(1)
    np.testing.assert_allclose([first, second], [eager.normal([2]), eager.normal([2])], rtol=1e-6)
    assert state(g) == state(eager)


def test_checkpoints_keep_the_state(tmp_path):
    g = Generator.from_seed(1)
    checkpoint = tf.train.Checkpoint(g=g)
    path = checkpoint.write(str(tmp_path / "g"))
    wanted = g.uniform([3]).numpy()
    checkpoint.read(path)
    np.testing.assert_array_equal(g.uniform([3]), wanted)


def test_the_global_generator():
    before = tf.random.get_global_generator()
    mine = Generator.from_seed(3)
    tf.random.set_global_generator(mine)
    assert tf.random.get_global_generator() is mine
    tf.random.set_global_generator(before)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Generator.from_seed(1, alg="x"), ValueError),
        (lambda: Generator.from_state([1, 2], "philox"), ValueError),
        (lambda: Generator.from_seed(1).uniform([2], maxval=None, dtype=tf.int32), ValueError),
        (
            lambda: Generator.from_seed(1, alg="threefry").uniform([2]),
            tf.errors.UnimplementedError,
        ),
    ],
)
def test_wrong_use(call, error):
    with pytest.raises(error):
        call()


def test_binomial_numbers_without_end_or_place_are_refused():
    """Infinitely many trials were drawn for ever."""
    never = tf.random.stateless_binomial([2], [1, 2], [np.inf, np.inf], [0.0, 0.5], tf.float32)
    assert np.isnan(never).all()
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"must end with broadcasted shape \(1,\)"
    ):
        tf.random.Generator.from_seed(1).binomial([4], [5.0], [0.3])


def test_numbers_by_rejection_are_tensorflows():
    seed = [1, 2]
    gamma = tf.random.stateless_gamma([4], seed, alpha=[0.5, 1.0, 2.0, 5.0])
    np.testing.assert_allclose(gamma, [0.06695361, 1.7193093, 3.3360066, 5.5542407], rtol=1e-6)
    halved = tf.random.stateless_gamma([2, 2], seed, alpha=[0.5, 1.0], beta=2.0)
    np.testing.assert_allclose(
        halved, [[0.03347681, 1.1243676], [0.31411773, 0.9467546]], rtol=1e-6
    )
    poisson = tf.random.stateless_poisson([4], seed, lam=[0.5, 1.0, 2.0, 50.0])
    assert poisson.numpy().tolist() == [3, 3, 3, 58]
    binomial = tf.random.stateless_binomial([12], seed, counts=100.0, probs=0.3)
    assert binomial.numpy().tolist() == [36, 33, 37, 42, 26, 34, 30, 30, 24, 32, 30, 28]
    counts, probs = [1.0, 5.0, 20.0, 100.0, 1000.0], [0.3, 0.8, 0.1, 0.3, 0.999]
    mixed = tf.random.stateless_binomial([200, 5], seed, counts, probs).numpy()
    assert mixed[7:10].tolist() == [[0, 4, 0, 26, 1000], [1, 2, 3, 27, 1000], [0, 5, 2, 29, 1000]]
    assert mixed.sum(0).tolist() == [66, 803, 389, 5973, 199781]
    generator = tf.random.Generator.from_seed(7)
    drawn = generator.binomial([3, 2], [5.0, 60.0], [0.3, 0.5])
    assert drawn.numpy().tolist() == [[1, 30], [0, 29], [2, 33]]
    assert generator.binomial([4], 5.0, 0.3).numpy().tolist() == [1, 2, 0, 1]
    assert generator.state.numpy().tolist() == [243207, 0, 0]
    tf.random.set_seed(3)
    np.testing.assert_allclose(
        tf.random.gamma([3], [1.0, 2.0], seed=1),
        [[2.9314536e-04, 2.0395558], [2.0297372, 3.2610383], [0.09021977, 0.16976507]],
        rtol=1e-5,
    )
    tf.random.set_seed(3)
    poisson = tf.random.poisson([3], [1.0, 20.0], seed=1)
    assert poisson.numpy().tolist() == [[0, 15], [1, 26], [0, 21]]


@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        (lambda: tf.random.stateless_gamma([DRAWS], [1, 2], 0.3), 0.3, 0.3),
        (lambda: tf.random.stateless_gamma([DRAWS], [1, 2], 7.0, 2.0), 3.5, 1.75),
        (lambda: tf.random.stateless_poisson([DRAWS], [1, 2], 3.0), 3.0, 3.0),
        (lambda: tf.random.stateless_poisson([DRAWS], [1, 2], 200.0), 200.0, 200.0),
        (lambda: tf.random.stateless_binomial([DRAWS], [1, 2], 10.0, 0.3), 3.0, 2.1),
        (lambda: tf.random.stateless_binomial([DRAWS], [1, 2], 200.0, 0.9), 180.0, 18.0),
        (
            lambda: tf.random.stateless_parameterized_truncated_normal(
                [DRAWS], [1, 2], 1.0, 2.0, 0.0, 3.0
            ),
            1.4027,
            0.6983,
        ),
        (
            lambda: tf.random.stateless_parameterized_truncated_normal(
                [DRAWS], [1, 2], 0.0, 1.0, 3.0, 9.0
            ),
            3.2831,
            0.0706,
        ),
    ],
)
def test_moments(draw, mean, variance):
    found = draw().numpy().astype(np.float64)
    assert abs(found.mean() - mean) < 5 * np.sqrt(variance / DRAWS)
    assert found.var() == pytest.approx(variance, rel=0.1)


def test_bounds_hold_on_every_side():
    for mean, low, high in ((0.0, -1.0, 0.5), (0.0, -9.0, -4.0), (5.0, -1.0, 0.0), (0.0, 2.0, 2.1)):
        drawn = tf.random.stateless_parameterized_truncated_normal(
            [500], [3, 4], mean, 1.0, low, high
        )
        assert low <= float(tf.reduce_min(drawn)) <= float(tf.reduce_max(drawn)) <= high
    raw = tf.raw_ops.ParameterizedTruncatedNormal(
        shape=[2, 300],
        means=[0.0, 9.0],
        stdevs=[1.0, 1.0],
        minvals=[-1.0, 8.0],
        maxvals=[1.0, 10.0],
    ).numpy()
    assert np.abs(raw[0]).max() <= 1 <= 8 <= raw[1].min() <= raw[1].max() <= 10
    with pytest.raises(tf.errors.InvalidArgumentError, match="Swap the bounds"):
        tf.random.stateless_parameterized_truncated_normal([2], [1, 2], 0.0, 1.0, 2.0, 1.0)


def test_gamma_numbers_move_with_their_parameters():
    alpha = tf.constant([0.5, 2.0, 9.0], tf.float64)
    for draw in (
        lambda: tf.random.stateless_gamma([4000, 3], [1, 2], alpha, dtype=tf.float64),
        lambda: tf.random.gamma([4000], alpha, dtype=tf.float64, seed=1),
    ):
        with tf.GradientTape() as tape:
            tape.watch(alpha)
            total = tf.reduce_mean(tf.reduce_sum(draw(), 1))
        # The mean of gamma numbers is their parameter.
        np.testing.assert_allclose(tape.gradient(total, alpha), [1 / 1] * 3, atol=0.1)


def test_shapes_end_with_those_of_the_parameters():
    for call in (
        lambda: tf.random.stateless_gamma([3], [1, 2], [1.0, 2.0]),
        lambda: tf.random.stateless_poisson([3], [1, 2], [1.0, 2.0]),
        lambda: tf.random.stateless_binomial([3], [1, 2], [1.0, 2.0], 0.5),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="end with"):
            call()
    assert tf.compat.v1.random_poisson([1.0, 2.0], [3]).shape == (3, 2)
    old = tf.raw_ops.RandomPoisson(shape=[3], rate=[1.0, 2.0])
    assert old.dtype == tf.float32
    v2 = tf.raw_ops.StatelessRandomGammaV2(shape=[2], seed=[1, 2], alpha=[1.0, 2.0])
    assert v2.shape == (2,)
    ints = tf.raw_ops.NonDeterministicInts(shape=[4], dtype=tf.int32)
    assert (ints.dtype, ints.shape) == (tf.int32, (4,))


def test_parameters_out_of_range_give_nan():
    assert np.isnan(tf.random.stateless_gamma([2], [1, 2], [-1.0, np.inf])).all()


def test_raw_operations_on_a_state_run_in_functions():
    """The dtype of the numbers is not that of the state."""
    generator = tf.random.Generator.from_seed(1)
    state = generator.state.handle
    draw = tf.function(lambda: tf.raw_ops.StatefulUniform(resource=state, algorithm=1, shape=[2]))
    drawn = draw()
    generator.reset_from_seed(1)
    np.testing.assert_array_equal(drawn, generator.uniform([2]))


def test_large_seeds_are_positive():
    assert tf.random.create_rng_state(2**64 - 1, 1).numpy().tolist() == [-1, 0, 0]
    assert tf.random.create_rng_state(-1, 1).numpy().tolist() == [-1, -1, -1]


def test_bounded_numbers_move_with_their_parameters():
    def draw(means, deviations, low, high):
        return tf.random.stateless_parameterized_truncated_normal(
            [4, 2], [1, 2], means, deviations, low, high
        )

    parameters = [tf.constant(v, tf.float64) for v in ([0.1, 1.0], [1.0, 2.0], [-1.0, -2.0], 3.0)]
    with tf.GradientTape() as tape:
        tape.watch(parameters)
        drawn = draw(*parameters)
    found = tape.gradient(drawn, parameters)
    means, deviations, low, high = (p.numpy() for p in parameters)
    places = (drawn.numpy() - means) / deviations
    start, stop = (low - means) / deviations, (high - means) / deviations
    bell = [np.exp(-(b**2) / 2) / np.exp(-(places**2) / 2) for b in (start, stop)]
    below = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2)
    share = (below(places) - below(start)) / (below(stop) - below(start))
    wanted = [[4.0, 4.0], places.sum(0), (bell[0] * (1 - share)).sum(0), (bell[1] * share).sum()]
    for gradient, value in zip(found, wanted, strict=True):
        np.testing.assert_allclose(gradient, value, rtol=1e-9)


def test_seeds_of_any_shape_fill_the_state_from_its_end():
    def words(seed, alg=1):
        return tf.random.create_rng_state(seed, alg).numpy().tolist()

    assert words([[1, 2]]) == [0, 1, 2]
    assert words([1, 2, 3, 4]) == [1, 2, 3]
    assert words([1, 2, 3], 2) == [1, 2]
    assert words(tf.constant(3)) == words(np.uint64(3)) == [0, 0, 3]
    assert words(3) == [3, 0, 0]
    dynamic = tf.function(
        lambda seed: tf.random.create_rng_state(seed, 1), input_signature=[tf.TensorSpec(None)]
    )
    assert dynamic(3.0).shape == [3]
    assert dynamic([[1.0], [2.0]]).numpy().tolist() == [0, 1, 2]


def test_the_algorithm_is_the_one_that_was_given():
    assert Generator.from_seed(3, alg="auto_select").algorithm == 3
    assert Generator.from_seed(3, alg=3).split(2)[1].algorithm == 3
    by_tensor = Generator.from_seed(3, alg=tf.constant(1))
    assert by_tensor.algorithm.dtype == tf.int32
    np.testing.assert_array_equal(by_tensor.normal([2]), Generator.from_seed(3).normal([2]))
    assert int(Generator.from_seed([4, 5], alg="threefry").key) == 5
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported algorithm id: 2"):
        tf.random.stateless_normal([2], [1, 2], alg="threefry")


def test_a_generator_made_in_a_function():
    made = []

    @tf.function
    def draw(seed):
        if not made:
            made.append(Generator.from_seed(seed))
        return made[0].uniform([2])

    wanted = Generator.from_seed([0, 0, 3])
    for _ in range(2):
        np.testing.assert_array_equal(draw(tf.constant(3)), wanted.uniform([2]))


def test_an_algorithm_that_there_is_not():
    with pytest.raises(ValueError, match="Argument `alg` got unsupported value 7"):
        tf.random.stateless_uniform([2], [1, 2], alg=7)


def test_large_seeds_fill_one_word_after_the_other():
    state = tf.random.create_rng_state
    assert state(2**64 + 5, "philox").numpy().tolist() == [5, 1, 0]
    assert state(-(2**64) - 5, "PHILOX").numpy().tolist() == [-5, -2, -1]
    assert state(2**128 + 7, "threefry").numpy().tolist() == [7, 0]
    assert state([2**64 + 5], "philox").numpy().tolist() == [0, 0, 5]


def test_generators_split_in_a_first_trace_are_drawn_once():
    source, made = tf.random.Generator.from_seed(3), []

    @tf.function(autograph=False)
    def draw():
        if not made:
            made.extend(source.split(3))
        return [generator.uniform([2]) for generator in made]

    draw()
    assert source.state.numpy().tolist() == [771, 0, 0]
    keys = tf.random.Generator.from_seed(3).uniform_full_int([3], tf.int64).numpy().tolist()
    assert [generator.key.numpy() for generator in made] == keys


@pytest.mark.parametrize(
    "draw",
    [
        lambda shape, seed, x: tf.random.uniform(shape, x),
        lambda shape, seed, x: tf.random.stateless_uniform(shape, seed, x),
        lambda shape, seed, x: tf.random.stateless_normal(shape, seed, x),
        lambda shape, seed, x: tf.random.stateless_truncated_normal(shape, seed, 0.0, x),
        lambda shape, seed, x: tf.random.stateless_gamma(shape, seed, x),
        lambda shape, seed, x: tf.random.normal(tf.stack(shape), x),
    ],
)
def test_shapes_are_known_whatever_the_parameters_are(draw):
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec(None)])
    def traced(rows, x):
        shapes.append(draw([rows, 3], [1, 2], x).shape.as_list())

    traced.get_concrete_function()
    assert shapes == [[None, 3]]


def test_parameters_of_more_dimensions_than_the_shape_are_kept():
    x = tf.ones([2, 3])
    assert tf.function(lambda: tf.random.uniform([3], x, 2.0))().shape == [2, 3]


def _drawn_from(handle, algorithm=1):
    raw, shape = tf.raw_ops, tf.constant([5, 3], tf.int64)
    given = {"resource": handle, "algorithm": tf.constant(algorithm, tf.int64), "shape": shape}
    raw.RngSkip(resource=handle, algorithm=given["algorithm"], delta=tf.constant(7, tf.int64))
    return [
        *(raw.StatefulUniform(**given, dtype=d) for d in (tf.float32, tf.float64, tf.bfloat16)),
        *(raw.StatefulStandardNormalV2(**given, dtype=d) for d in (tf.float16, tf.float64)),
        raw.StatefulTruncatedNormal(**given),
        *(raw.StatefulUniformFullInt(**given, dtype=d) for d in (tf.int32, tf.uint64)),
        raw.StatefulUniformInt(**given, minval=tf.constant(-5), maxval=tf.constant(9)),
    ]


@pytest.mark.parametrize("jit_compile", [False, True])
def test_raw_draws_are_the_same_compiled(jit_compile):
    state = np.array([2**63 - 1, -1, 77], np.int64)  # the counter wraps around
    single, staged = tf.Variable(state), tf.Variable(state)
    wanted = _drawn_from(single.handle)
    found = tf.function(lambda: _drawn_from(staged.handle), jit_compile=jit_compile)()
    for mine, other in zip(found, wanted, strict=True):
        if other.dtype.is_floating:
            mine, other = tf.cast(mine, tf.float64), tf.cast(other, tf.float64)
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(staged, single)


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_many_truncated_draws_are_the_same_compiled(dtype):
    state = np.array([5, 6, 77], np.int64)
    single, staged = tf.Variable(state), tf.Variable(state)

    def draw(handle):
        return tf.raw_ops.StatefulTruncatedNormal(
            resource=handle, algorithm=1, shape=[70, 101], dtype=dtype
        )

    found = tf.function(lambda: draw(staged.handle), jit_compile=True)()
    wanted = draw(single.handle)
    np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == tf.float16 else 1e-5, atol=1e-6)
    np.testing.assert_array_equal(staged, single)


def test_a_compiled_draw_that_is_refused_leaves_the_state():
    state = tf.Variable(np.array([1, 2, 3], np.int64))

    @tf.function(jit_compile=True)
    def draw(low):
        return tf.raw_ops.StatefulUniformInt(
            resource=state.handle, algorithm=1, shape=[3], minval=low, maxval=tf.constant(2)
        )

    with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 5 >= 2"):
        draw(tf.constant(5))
    np.testing.assert_array_equal(state, [1, 2, 3])
    with pytest.raises(tf.errors.UnimplementedError, match="ThreeFry"):
        tf.function(lambda: _drawn_from(state.handle, 2), jit_compile=True)()
    np.testing.assert_array_equal(state, [1, 2, 3])
