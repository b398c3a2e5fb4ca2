"""Wrong constants that a graph holds all the same: the step that runs the operation refuses them.

Programs build such graphs, in branches that are never taken, say, and expect the class of a step's
error: InvalidArgumentError, where a wrong graph is a ValueError.
"""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
INVALID = tf.errors.InvalidArgumentError
X = np.ones((2, 3), np.float32)
LARGE = np.ones((300, 300), np.float32)  # regions of such values are compiled
CALLS = {
    "tile": (lambda x: tf.tile(x, [-1, 2]), r"Expected multiples\[0\] >= 0, but got -1"),
    "begin": (lambda x: tf.slice(x, [-1, 0], [1, 1]), r"Expected begin\[0\] in"),
    "size": (lambda x: tf.slice(x, [0, 0], [4000, 1]), r"Expected size\[0\] in"),
    "transpose": (lambda x: tf.transpose(x, [0, 0]), "1 is missing from {0,0}"),
    "pad": (lambda x: tf.pad(x, [[999, 0], [0, 0]], "REFLECT"), "must be less than the dimension"),
    "symmetric": (lambda x: tf.pad(x, [[999, 0], [0, 0]], "SYMMETRIC"), "must be no greater"),
    "roll": (lambda x: tf.roll(x, 1, 5), "axis 5 is out of range"),
    "cumsum": (lambda x: tf.cumsum(x, 5), "Expected scan axis in the range"),
    "cumprod of axes": (lambda x: tf.math.cumprod(x, [0, 1]), "axis must be a scalar, not"),
    "one_hot": (lambda x: tf.one_hot(tf.cast(x, tf.int32), 3, axis=4), "Expected axis to be -1 or"),
    "gather": (lambda x: tf.gather(x, [[0]], batch_dims=1), "should be equal to indices.shape"),
    "band": (lambda x: tf.linalg.band_part(x[0], 0, 0), "input must be at least 2-dim"),
    "set_diag": (lambda x: tf.linalg.set_diag(x, tf.ones([7])), "Either first dimensions of"),
    "resize": (
        lambda x: tf.image.resize(x[None, :, :, None], [0, 2]),
        "output dimensions must be positive",
    ),
    "random": (lambda x: tf.random.uniform([-1, 2]) + x[0, 0], "Dimension -1 must be >= 0"),
    "search": (lambda x: tf.searchsorted(x, x[:1]), "Leading dim_size of both tensors must match"),
    "reshape": (lambda x: tf.reshape(x, [-1, -1]), "Only one input size may be -1, not both 0"),
    "unique": (lambda x: tf.unique_with_counts(x)[0], "unique expects a 1D vector"),
    "transposed convolution": (
        lambda x: tf.nn.conv2d_transpose(
            x[None, :, :, None], tf.ones([2, 2, 1, 1]), [1, 5, 4, 1], 2, "SAME"
        ),
        "Size of out_backprop doesn't match computed",
    ),
}
NAMES = list(CALLS)


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_takes_it_and_a_step_refuses_it(name):
    call, phrase = CALLS[name]
    with v1.Graph().as_default(), v1.Session() as session:
        made = call(tf.constant(X))
        with pytest.raises(INVALID, match=phrase):
            session.run(made)


@pytest.mark.parametrize("x", [X, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("name", NAMES)
def test_a_call_refuses_it(name, x):
    call, phrase = CALLS[name]

    def used(x):
        return tf.reduce_sum(tf.sin(tf.cast(call(x), tf.float32))) * 2.0

    for function in (call, tf.function(call), tf.function(used)):
        with pytest.raises(INVALID, match=phrase):
            function(tf.constant(x))


@pytest.mark.parametrize("x", [X, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("name", NAMES)
def test_a_branch_refuses_it_when_it_is_taken(name, x):
    call, phrase = CALLS[name]

    @tf.function
    def function(x, wrong):
        return tf.cond(
            wrong,
            lambda: tf.reduce_sum(tf.cast(call(x), tf.float32)),
            lambda: tf.reduce_sum(x),
        )

    x = tf.constant(x)
    for _ in range(3):
        assert float(function(x, tf.constant(False))) == float(tf.reduce_sum(x))
    with pytest.raises(INVALID, match=phrase):
        function(x, tf.constant(True))


@pytest.mark.parametrize("name", NAMES)
def test_a_function_compiled_as_a_whole_refuses_it(name):
    call, _ = CALLS[name]
    with pytest.raises(INVALID, match="unsupported operations"):
        tf.function(call, jit_compile=True)(tf.constant(LARGE))


def _number(call):
    return lambda x: tf.reduce_sum(tf.cast(call(x), tf.float32))


def _branch(call):
    """A conditional with a wrong branch, as a function."""
    return lambda x, wrong: tf.cond(wrong, lambda: _number(call)(x), lambda: tf.reduce_sum(x))


def _in_conditional(call):
    inner = _branch(call)
    return lambda x, wrong: tf.cond(
        tf.size(x) > 0, lambda: inner(x, wrong), lambda: tf.reduce_max(x)
    )


def _in_case(call):
    inner = _branch(call)
    others = [lambda: 0.0, lambda: 1.0]
    return lambda x, wrong: (
        tf.switch_case(tf.constant(2), [*others, lambda: inner(x, wrong)])
        + tf.case([(tf.size(x) < 0, others[0])], lambda: 0.0 * inner(x, wrong))
    )


def _in_loop(call):
    inner = _branch(call)
    return lambda x, wrong: tf.while_loop(
        lambda i, _: i < 2, lambda i, _: (i + 1, inner(x, wrong)), [0, 0.0]
    )[1]


def _in_map(call):
    inner = _branch(call)
    return lambda x, wrong: tf.map_fn(lambda n: n * inner(x, wrong), tf.ones([2]))[0]


def _in_scan(call):
    inner = _branch(call)
    return lambda x, wrong: tf.scan(lambda _, n: n * inner(x, wrong), tf.ones([2]), 0.0)[0]


def _in_functions(call):
    inner = tf.function(_branch(call))
    middle = tf.function(lambda x, wrong: tf.sin(inner(x, wrong)) * 0.0 + inner(x, wrong))
    return lambda x, wrong: middle(x, wrong) + 0.0


def _deep(call):
    return _in_conditional(lambda x: _in_loop(_branch_of(call))(x, tf.size(x) > 0))


def _branch_of(call):
    return lambda x: _branch(call)(x, tf.size(x) > 0)


NESTS = [_in_conditional, _in_case, _in_loop, _in_map, _in_scan, _in_functions, _deep]


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("name", NAMES)
def test_no_depth_lets_it_through(name, nest):
    call, phrase = CALLS[name]
    function = tf.function(nest(call))
    x = tf.constant(X)
    for _ in range(2):
        assert float(function(x, tf.constant(False))) == 6.0
    for _ in range(2):
        with pytest.raises(INVALID, match=phrase):
            function(x, tf.constant(True))
    assert float(function(x, tf.constant(False))) == 6.0


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("name", ["tile", "cumsum", "set_diag"])
def test_no_depth_lets_large_values_through(name, nest):
    call, phrase = CALLS[name]
    function = tf.function(nest(call))
    with pytest.raises(INVALID, match=phrase):
        function(tf.constant(LARGE), tf.constant(True))
    for _ in range(2):
        assert float(function(tf.constant(LARGE), tf.constant(False))) == 90000.0


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("name", ["tile", "begin", "pad", "gather"])
def test_no_depth_of_a_first_graph_lets_it_through(name, nest):
    call, phrase = CALLS[name]
    with v1.Graph().as_default(), v1.Session() as session:
        wrong = v1.placeholder(tf.bool, [])
        made = nest(call)(tf.constant(X), wrong)
        assert session.run(made, {wrong: False}) == 6.0
        with pytest.raises(INVALID, match=phrase):
            session.run(made, {wrong: True})


@pytest.mark.parametrize("nest", NESTS)
def test_no_depth_of_a_loaded_model_lets_it_through(nest, tmp_path):
    call, phrase = CALLS["cumsum"]
    model = tf.Module()
    signature = [tf.TensorSpec([2, 3]), tf.TensorSpec([], tf.bool)]
    model.f = tf.function(nest(call), input_signature=signature)
    tf.saved_model.save(model, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert float(loaded.f(tf.constant(X), tf.constant(False))) == 6.0
    with pytest.raises(INVALID, match=phrase):
        loaded.f(tf.constant(X), tf.constant(True))


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("name", ["tile", "cumsum"])
def test_no_depth_of_a_function_compiled_as_a_whole_lets_it_through(name, nest):
    function = tf.function(nest(CALLS[name][0]), jit_compile=True)
    with pytest.raises(INVALID):
        function(tf.constant(LARGE), tf.constant(True))


@pytest.mark.parametrize("x", [X, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("name", NAMES)
def test_sizes_that_only_the_step_knows_are_refused_by_it(name, x):
    call, phrase = CALLS[name]
    shape = tf.TensorSpec(x.shape if name in ("band", "resize", "transposed convolution") else None)
    function = tf.function(_number(call), input_signature=[shape])
    branch = tf.function(_branch(call), input_signature=[shape, tf.TensorSpec([], tf.bool)])
    for _ in range(3):
        with pytest.raises(INVALID, match=phrase):
            function(tf.constant(x))
    assert float(branch(tf.constant(x), tf.constant(False))) == x.size
    for _ in range(3):
        with pytest.raises(INVALID, match=phrase):
            branch(tf.constant(x), tf.constant(True))


@pytest.mark.parametrize("x", [X, LARGE], ids=["small", "large"])
def test_values_from_outside_of_a_branch_are_refused_in_it(x):
    @tf.function
    def function(x, wrong):
        begin = tf.constant([-1, 0])
        return tf.cond(
            wrong, lambda: tf.reduce_sum(tf.slice(x, begin, [1, 1])), lambda: tf.reduce_sum(x)
        )

    assert float(function(tf.constant(x), tf.constant(False))) == x.size
    with pytest.raises(INVALID, match="expected begin"):
        function(tf.constant(x), tf.constant(True))


def test_what_a_step_refuses_is_not_compiled_for_each_value():
    """A size that is refused is no value that a trace lacks."""

    @tf.function
    def function(x, times, wrong):
        return tf.cond(wrong, lambda: tf.reduce_sum(tf.tile(x, times)), lambda: tf.reduce_sum(x))

    for times in ([1, 1], [-1, 1], [2, 1]):
        if times[0] > 0:
            wanted = 90000.0 * times[0]
            got = function(tf.constant(LARGE), tf.constant(times), tf.constant(True))
            assert float(got) == wanted
        else:
            with pytest.raises(INVALID, match="multiples"):
                function(tf.constant(LARGE), tf.constant(times), tf.constant(True))


def test_an_imported_graph_takes_it_too():
    with v1.Graph().as_default() as graph:
        tf.tile(tf.constant(X), [-1, 2], name="wrong")
    with v1.Graph().as_default() as other, v1.Session() as session:
        tf.import_graph_def(graph.as_graph_def(), name="")
        with pytest.raises(INVALID, match="Expected multiples"):
            session.run(other.get_tensor_by_name("wrong:0"))


def test_what_is_known_of_the_shape_is_kept():
    with v1.Graph().as_default():
        assert tf.tile(tf.constant(X), [-1, 2]).shape.rank == 2
        assert tf.slice(tf.constant(X), [-1, 0], [1, 1]).shape.rank == 2
        assert tf.cumsum(tf.constant(X), 5).shape == [2, 3]


REFUSED_WHEN_BUILT = {
    "random sizes": (
        lambda: tf.random.uniform([-3], 0, 5, tf.int32),
        "Invalid value in tensor used for shape: -3",
    ),
    "random normals": (lambda: tf.random.truncated_normal([-3]), "used for shape: -3"),
    "seeded sizes": (lambda: tf.random.stateless_uniform([-3], [1, 2]), "used for shape: -3"),
    "samples": (lambda: tf.random.poisson([-3], [1.0, 2.0]), "used for shape: -3"),
    "scattered": (lambda: tf.scatter_nd([[0]], [1.0], [-3]), "used for shape: -3"),
    "size of a slice": (lambda: tf.slice(tf.ones([2, 3]), [0, 0], [-2, 1]), "for shape: -2"),
    "rest of a slice": (
        lambda: tf.slice(tf.ones([2, 3]), [3, 0], [-1, 1]),
        "Negative dimension size caused by subtracting 3 from 2",
    ),
    "batches": (
        lambda: tf.nn.conv2d_transpose(
            tf.ones([1, 2, 3, 1]), tf.ones([2, 2, 1, 1]), [3, 4, 6, 1], 2, "SAME"
        ),
        "Dimensions must be equal, but are 3 and 1",
    ),
    "rank of a diagonal": (
        lambda: tf.linalg.set_diag(tf.ones([3, 3]), tf.ones([2, 3])),
        "Shape must be rank 1 but is rank 2",
    ),
    "rank of diagonals": (
        lambda: tf.linalg.set_diag(tf.ones([3, 3]), tf.ones([3]), k=(0, 1)),
        "Shape must be rank 2 but is rank 1",
    ),
    "batches of sizes that are partly known": (
        lambda: tf.linalg.set_diag(v1.placeholder(tf.float32, [2, None, None]), tf.ones([4, 3])),
        "Dimension 0 in both shapes must be equal, but are 2 and 4",
    ),
    "length of a diagonal of the first version": (
        lambda: tf.raw_ops.MatrixSetDiag(input=tf.ones([3, 3]), diagonal=tf.ones([7])),
        "Dimensions must be equal, but are 3 and 7",
    ),
    "axis": (lambda: tf.one_hot([1], 3, axis=-2), "axis must be >= -1"),
    "axis of unknown indices": (
        lambda: tf.one_hot(v1.placeholder(tf.int32, None), 3, axis=-2),
        "axis must be >= -1",
    ),
    "sizes below -1": (lambda: tf.broadcast_to([1.0], [-3]), "Invalid value in tensor used for"),
    "groups of sets": (
        lambda: tf.sets.intersection(tf.ones([2, 3], tf.int32), tf.ones([3, 3], tf.int32)),
        "Dimension 0 in both shapes must be equal, but are 2 and 3",
    ),
    "known depth": (lambda: tf.one_hot([1], tf.constant([1, 2])), "Shape must be rank 0 but is"),
    "channels": (
        lambda: tf.nn.conv2d_transpose(
            tf.ones([1, 4, 4, 3]), tf.ones([2, 2, 1, 2]), [1, 4, 4, 1], 1
        ),
        "Dimensions must be equal, but are",
    ),
}


@pytest.mark.parametrize("name", list(REFUSED_WHEN_BUILT))
def test_a_graph_refuses_it(name):
    call, phrase = REFUSED_WHEN_BUILT[name]
    with v1.Graph().as_default(), pytest.raises(ValueError, match=phrase):
        call()


LEFT_TO_THE_STEP = {
    "random": (lambda: tf.random.uniform([2, -1]), [2, None], "Dimension -1 must be >= 0"),
    "samples": (lambda: tf.random.poisson([-1], [1.0, 2.0]), [None, 2], "Dimension -1 must be"),
    "scattered": (lambda: tf.scatter_nd([[0]], [[1.0]], [3, -1]), [3, None], "Dimension -1 must"),
    "broadcast": (lambda: tf.broadcast_to([1.0], [2, -1]), [2, None], "Dimension -1 must be >= 0"),
    "begin": (lambda: tf.slice(tf.ones([2, 3]), [-1, 0], [-1, 1]), [None, 1], "Expected begin"),
    "size": (lambda: tf.slice(tf.ones([2, 3]), [0, 0], [3, 1]), [3, 1], "Expected size"),
    "batches of a diagonal": (
        lambda: tf.linalg.set_diag(tf.ones([2, 3, 3]), tf.ones([4, 3])),
        [2, 3, 3],
        "Either first dimensions of",
    ),
    "batches of a diagonal of the first version": (
        lambda: tf.raw_ops.MatrixSetDiag(input=tf.ones([2, 3, 3]), diagonal=tf.ones([4, 3])),
        [2, 3, 3],
        "Either first dimensions of",
    ),
    "batches of volumes": (
        lambda: tf.nn.conv3d_transpose(
            tf.ones([1, 2, 2, 3, 1]), tf.ones([2, 2, 2, 1, 1]), [3, 4, 4, 6, 1], 2, "SAME"
        ),
        [3, 4, 4, 6, 1],
        "input and out_backprop must have the same batch size. Input batch: 3",
    ),
}


@pytest.mark.parametrize("name", list(LEFT_TO_THE_STEP))
def test_a_graph_knows_the_rest_of_the_shape(name):
    call, known, phrase = LEFT_TO_THE_STEP[name]
    with v1.Graph().as_default(), v1.Session() as session:
        made = call()
        assert made.shape.as_list() == known
        with pytest.raises(INVALID, match=phrase):
            session.run(made)


def test_a_scatter_of_open_sizes_compares_the_others():
    with v1.Graph().as_default(), pytest.raises(ValueError, match="must match"):
        tf.scatter_nd([[0]], [[1.0]], [-1, 2])


def test_values_of_unknown_shape_are_not_stacked():
    @tf.function(input_signature=[tf.TensorSpec(None)] * 2)
    def function(a, b):
        return tf.parallel_stack([a, b])

    with pytest.raises(ValueError, match="a shape that is known"):
        function(1.0, 2.0)


def test_sizes_that_another_reshape_forgets_are_refused_too():
    """As docs/differences.md says."""

    @tf.function
    def function(x):
        return tf.reshape(tf.reshape(x, [-1, -1]), [6])

    with pytest.raises(INVALID, match="Only one input size may be -1"):
        function(tf.constant(X))
