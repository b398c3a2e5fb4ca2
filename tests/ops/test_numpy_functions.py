"""tf.experimental.numpy: NumPy itself says the values; the dtypes are TensorFlow 2.21's."""

import warnings

import numpy as np
import pytest

import penstock as tf
from penstock.ops import numpy_behavior

tnp = tf.experimental.numpy

UNARY = """abs arcsin arcsinh arctan cbrt ceil conj cos cosh deg2rad exp exp2 expm1 fabs fix floor
    isfinite isinf isnan isneginf isposinf isreal iscomplex logical_not negative positive rad2deg
    real imag sign signbit sin sinc sinh square tan tanh around ravel flip fliplr flipud transpose
    sum prod mean max min any all std var argmax argmin argsort sort cumsum cumprod nansum nanprod
    nanmean count_nonzero ptp diag diagonal trace tril triu rot90 atleast_3d squeeze diff average"""
BINARY = """add subtract multiply divide floor_divide mod power maximum minimum arctan2 hypot
    heaviside logaddexp logaddexp2 logical_and logical_or logical_xor equal less greater_equal
    nextafter inner outer vdot kron isclose append"""
MATRIX = np.array([[-0.5, 0.25, 1.0], [0.75, -1.0, 0.0]])


@pytest.mark.parametrize("name", UNARY.split())
def test_functions_of_one_argument_are_numpys(name):
    expected = getattr(np, name)(MATRIX)
    found = getattr(tnp, name)(MATRIX)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert found.dtype.as_numpy_dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("name", BINARY.split())
def test_functions_of_two_arguments_are_numpys(name):
    left, right = np.abs(MATRIX), np.full((2, 3), 2.5)
    expected = getattr(np, name)(left, right)
    found = getattr(tnp, name)(left, right)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.dtype.as_numpy_dtype == np.asarray(expected).dtype


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (np.int8(1), 1, "int8"),
        (np.int8(1), [1, 2], "int8"),
        (np.uint8(1), np.int8(1), "int16"),
        (np.int32(1), np.float32(1), "float64"),
        (np.float32(1), 1.5, "float32"),
        (np.float16(1), np.int32(1), "float64"),
        (np.uint64(1), np.int8(1), "float64"),
        (1, 1, "int64"),
        (1.0, True, "float64"),
        (np.complex64(1), 1.0, "complex64"),
        (np.complex64(1), np.int64(1), "complex128"),
        (tf.constant(1.0, tf.bfloat16), 1, "bfloat16"),
        (tf.constant(1.0, tf.bfloat16), np.float32(1), "float32"),
        (tf.Variable(1), 2.5, "float64"),
    ],
)
def test_promotion(left, right, expected):
    assert tnp.add(left, right).dtype.name == expected
    assert tnp.add(right, left).dtype.name == expected
    assert tnp.result_type(left, right).name == expected


def test_what_has_no_common_dtype_is_a_type_error():
    with pytest.raises(TypeError):
        tnp.add(tf.constant(1.0, tf.bfloat16), np.int64(1))


def test_integers_become_floats_and_sums_are_wide():
    assert tnp.sqrt(np.int8([4])).dtype.name == "float64"
    assert tnp.divide(np.int8([4]), np.int8([2])).dtype.name == "float32"
    assert tnp.sum(np.int8([100, 100])).numpy() == 200
    assert tnp.prod(np.uint8([100, 100])).dtype.name == "uint64"
    assert tnp.mean([1, 2]).dtype.name == "float64"


def test_makers():
    for found, expected in [
        (tnp.arange(1, 2, 0.25), np.arange(1, 2, 0.25)),
        (tnp.arange(5, 1), np.arange(5, 1)),
        (tnp.linspace(0, 1, 5, endpoint=False), np.linspace(0, 1, 5, endpoint=False)),
        (tnp.linspace([0, 1], [1, 3], 3, axis=1), np.linspace([0, 1], [1, 3], 3, axis=1)),
        (tnp.geomspace(-1, -100, 3), np.geomspace(-1, -100, 3)),
        (tnp.logspace(0, 2, 3, base=2), np.logspace(0, 2, 3, base=2)),
        (tnp.eye(2, 3, k=1), np.eye(2, 3, k=1)),
        (tnp.tri(2, 4, k=1), np.tri(2, 4, k=1)),
        (tnp.vander([1, 2, 3], N=2), np.vander([1, 2, 3], N=2)),
        (tnp.full((2, 3), 7), np.full((2, 3), 7)),
        (tnp.array([1, 2.5], ndmin=2), np.array([1, 2.5], ndmin=2)),
        (tnp.identity(2), np.identity(2)),
    ]:
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert found.dtype.as_numpy_dtype == expected.dtype


def test_shapes_and_choices():
    m = np.arange(24).reshape(2, 3, 4)
    n = np.array([[3, 1, 2], [6, 5, 4]])
    for found, expected in [
        (tnp.moveaxis(m, (0, 1), (2, 0)), np.moveaxis(m, (0, 1), (2, 0))),
        (tnp.swapaxes(m, 0, -1), np.swapaxes(m, 0, -1)),
        (tnp.reshape(n, (3, 2), order="F"), np.reshape(n, (3, 2), order="F")),
        (tnp.diagonal(m, 1, 0, 2), np.diagonal(m, 1, 0, 2)),
        (tnp.rot90(n, -1), np.rot90(n, -1)),
        (tnp.roll(n, 1), np.roll(n, 1)),
        (tnp.tile(n, 2), np.tile(n, 2)),
        (tnp.pad(n, ((1, 0), (0, 2)), "reflect"), np.pad(n, ((1, 0), (0, 2)), "reflect")),
        (tnp.diff(n, n=2), np.diff(n, n=2)),
        (
            tnp.take_along_axis(n, [[-1, 2, 0]], 1)[0],
            np.take_along_axis(n[:1], n[:1] * 0 + [[-1, 2, 0]], 1)[0],
        ),
        (tnp.take(n, [7, -1], mode="wrap"), np.take(n, [7, -1], mode="wrap")),
        (tnp.compress([0, 1, 1], n, axis=1), np.compress([0, 1, 1], n, axis=1)),
        (tnp.where([1, 0, 2], n, 0), np.where([1, 0, 2], n, 0)),
        (tnp.select([n > 4, n > 2], [n, -n]), np.select([n > 4, n > 2], [n, -n])),
        (tnp.dot(np.ones((2, 4)), m[0].T), np.dot(np.ones((2, 4)), m[0].T)),
        (tnp.matmul([1, 2], n), np.matmul([1, 2], n)),
        (tnp.cross(n, [1, 2, 3]), np.cross(n, [1, 2, 3])),
        (tnp.einsum("ij,kj->ik", n, n), np.einsum("ij,kj->ik", n, n)),
        (tnp.gcd([12, 18, 0], [8, 27, 5]), np.gcd([12, 18, 0], [8, 27, 5])),
        (tnp.lcm([4, 6], [6, 0]), np.lcm([4, 6], [6, 0])),
        (tnp.polyval([1, 2, 3], [1.0, 2.0]), np.polyval([1, 2, 3], [1.0, 2.0])),
        (tnp.average(n, axis=1, weights=[1, 2, 3]), np.average(n, axis=1, weights=[1, 2, 3])),
    ]:
        np.testing.assert_allclose(found, expected)


def test_lists_of_results():
    assert [p.numpy().tolist() for p in tnp.split(np.arange(6), [2, 3])] == [[0, 1], [2], [3, 4, 5]]
    assert [p.numpy().tolist() for p in tnp.nonzero([[1, 0], [0, 2]])] == [[0, 1], [0, 1]]
    assert [p.shape.as_list() for p in tnp.meshgrid([1, 2], [3, 4, 5])] == [[3, 2], [3, 2]]
    assert [p.shape.as_list() for p in tnp.ix_([True, False], [2, 3])] == [[1, 1], [1, 2]]
    assert [p.numpy() for p in tnp.divmod(7, 3)] == [2, 1]


def test_bad_arguments():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"axis in \[-2, 2\), got axis 2"):
        tnp.argmax([[1, 2]], axis=2)
    with pytest.raises(ValueError, match="both x and y"):
        tnp.where([True], 1)
    with pytest.raises(ValueError, match="expected integers, got float64"):
        tnp.gcd([1.5], 2)
    with pytest.raises(NotImplementedError, match="axis=0"):
        tnp.size([1], axis=0)
    with pytest.raises(ValueError, match="mode='edge'"):
        tnp.pad([1], 1, "edge")
    with pytest.raises(ValueError, match=r"got shapes \(2,\) and \(\)"):
        tnp.matmul([1, 2], 3)


def test_functions_and_gradients():
    @tf.function
    def loss(x):
        return tnp.mean(tnp.hypot(x, 4.0)) + tnp.polyval([1.0, 2.0], x[0])

    x = tf.constant([3.0, 0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loss(x)
    np.testing.assert_allclose(y, 4.5 + 5.0)
    np.testing.assert_allclose(tape.gradient(y, x), [1.3, 0.0], rtol=1e-6)


def test_random_numbers_are_those_of_tf_random():
    tnp.random.seed(3)
    first = tnp.random.rand(2)
    tf.random.set_seed(3)
    np.testing.assert_array_equal(first, tf.random.uniform([2], dtype=tf.float64))
    assert tnp.random.randint(5, size=(2,), dtype=np.int8).dtype.name == "int8"
    assert tnp.random.poisson([1.0, 2.0], (3,)).shape == [3, 2]
    with pytest.raises(ValueError, match="float32"):
        tnp.random.randint(5, dtype=np.float32)


@pytest.fixture
def as_arrays():
    tnp.experimental_enable_numpy_behavior()
    yield
    numpy_behavior.restore()


@pytest.mark.usefixtures("as_arrays")
def test_products_of_vectors_are_those_of_numpy():
    v, a, stack = tf.constant([1.0, 2.0, 3.0]), tf.ones([2, 3]), tf.ones([4, 3, 2])
    assert (v @ v).numpy() == 14
    assert (a @ v).tolist() == (v @ tf.transpose(a)).tolist() == [6, 6]
    assert (v @ stack).tolist() == [[6, 6]] * 4
    assert (tf.Variable(v) @ v).numpy() == 14
    assert (a @ tf.transpose(a)).tolist() == [[3, 3], [3, 3]]
    late = tf.function(lambda x: x @ x, input_signature=[tf.TensorSpec(None)])
    assert late(v).numpy() == 14
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="3 != 2"):
        v @ tf.ones([2])


@pytest.mark.usefixtures("as_arrays")
def test_tensors_behave_as_arrays():
    x, i = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1, 2], [3, 4]])
    assert (x + i).dtype.name == "float64"
    assert (2.5 * i).dtype.name == "float64"
    assert (i / 2).numpy().tolist() == [[0.5, 1.0], [1.5, 2.0]]
    assert (x == i).numpy().all()
    assert x.T.numpy().tolist() == [[1, 3], [2, 4]]
    assert x.reshape(-1).shape == [4]
    assert x.reshape((4,), order="F").numpy().tolist() == [1, 3, 2, 4]
    assert i.astype(np.float32).dtype is tf.float32
    assert x.size == 4
    assert x.clip(2, 3).tolist() == [[2, 2], [3, 3]]
    assert x.mean(axis=0).tolist() == [2, 3]
    assert (tf.Variable(1) + 2.5).dtype.name == "float64"
    assert (x + tf.Variable(1)).dtype.name == "float64"


@pytest.mark.usefixtures("as_arrays")
@pytest.mark.parametrize(
    "index",
    [
        ([0, 1],),
        (slice(None), [1, 0]),
        ([1, 0], slice(None), [0, 3]),
        (Ellipsis, [1, -1]),
        (None, [0, 1]),
        (slice(None), [0, 1], slice(None, 2)),
        (slice(None), [True, False, True]),
        ([[0], [1]], [0, 2]),
        (1, [0, 2]),
    ],
)
def test_advanced_indices_are_numpys(index):
    values = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(tf.constant(values)[index], values[index])


@pytest.mark.usefixtures("as_arrays")
@pytest.mark.parametrize(
    "at",
    [
        lambda x, i, j: x[i],
        lambda x, i, j: x[:, i, None],
        lambda x, i, j: x[i, :, j],
        lambda x, i, j: x[..., i[:, None], j],
        lambda x, i, j: x[i > 0],
    ],
)
def test_advanced_indices_of_sizes_that_a_trace_does_not_know(at):
    values, i, j = np.arange(8).reshape(2, 2, 2), np.array([1, -1]), np.array([0])
    unknown = [tf.TensorSpec([None] * 3, tf.int64), *2 * [tf.TensorSpec([None], tf.int64)]]
    found = tf.function(at, input_signature=unknown)(values, i, j)
    np.testing.assert_array_equal(found, at(values, i, j))


@pytest.mark.usefixtures("as_arrays")
def test_advanced_indices_of_arrays_without_width():
    x = tf.zeros((3, 0))
    assert x[[0, -1]].shape == (2, 0)
    assert x[tf.constant([True, False, True])].shape == (2, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, 3\)"):
        x[[3]]


def test_behavior_is_off_until_asked_for():
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
        tf.constant([1]) + tf.constant([1.0])
    assert not hasattr(tf.constant(1), "T")


@pytest.mark.usefixtures("as_arrays")
def test_modes():
    tnp.experimental_enable_numpy_behavior(prefer_float32=True)
    assert tnp.array(1.5).dtype.name == "float32"
    assert tnp.zeros(2).dtype.name == "float64"
    assert tnp.linspace(0, 1, 3).dtype.name == "float32"
    assert tnp.add(np.ones(1), 1.5).dtype.name == "float64"
    assert tnp.add(np.ones(1, np.int32), 1.5).dtype.name == "float64"
    assert tnp.add(np.float64(1), 1).dtype.name == "float32"
    tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="off")
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
        tf.constant([1]) + tf.constant([1.0])
    with pytest.raises(ValueError, match="'x'"):
        tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="x")


def test_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tnp.log([0.0, -1.0])
        tnp.nanmean([np.nan])


# ---- shapes that are known late


class Names(dict):
    """Arguments, and the functions of NumPy."""

    def __missing__(self, name):
        return getattr(tnp, name)


UNKNOWN = [
    "argmax(x)", "argmax(x, 1)", "argmin(x, -1)", "argmax(x, keepdims=True)", "argsort(x)",
    "argsort(x, 0)", "atleast_1d(x)", "atleast_2d(y)", "atleast_3d(y)", "atleast_3d(x)",
    "atleast_3d(y[0])", "average(x, 1, y)", "average(x, weights=x, axis=0)",
    "average(x, 1, y, returned=True)", "average(x, returned=True)", "broadcast_arrays(x, y)",
    "cumsum(x, 1)", "cumprod(x, -1)", "diag(y)", "diag(x)", "diag(x, 1)", "diag(x, -1)",
    "diag(x, 9)", "diagonal(x)", "diagonal(x, -1)", "diagonal(x, 0, 1, 0)", "trace(x)",
    "dot(x, y)", "dot(y, y)", "dot(y[0], x)", "dot(y, x[0])", "dot(z, z)", "inner(x, x)",
    "inner(x, y)", "inner(y[0], y)", "matmul(x, y)", "matmul(y, y)", "matmul(z, z)",
    "matmul(y, transpose(x))", "kron(x, y)", "kron(y, y)", "kron(y[0], x)", "cross(x, x)",
    "cross(y, y)", "cross(z, z)", "cross(z, x)", "cross(x, x, axisc=0)", "dstack([x, x])",
    "hstack([x, x])", "hstack([y, y])", "vstack([y, y])", "flip(x)", "flip(x, 1)", "flip(x, -2)",
    "fliplr(x)", "flipud(y)", "hsplit(x, 3)", "hsplit(y, 3)", "split(x, [1], -1)",
    "split(x, [1], 0)", "ix_(y, y)", "linspace(y, y + 1.0, 3)", "linspace(y, y + 1.0, 3, axis=-1)",
    "geomspace(y, y + 1.0, 3, axis=1)", "moveaxis(x, 0, 1)", "moveaxis(x, -1, 0)",
    "swapaxes(x, 0, -1)", "swapaxes(x, 1, 1)", "pad(x, 1, 'constant')",
    "pad(x, [[0, 1], [2, 0]], 'constant')", "roll(x, 1)", "roll(x, 1, 1)", "rot90(x)",
    "rot90(x, 2)", "rot90(x, 3)", "stack(x)", "stack(x, 1)", "take(x, [1, 7])",
    "take(x, [1, 7], 1, mode='wrap')", "take(x, [0], -1)",
    "take_along_axis(x, [[0, 2], [1, -1]], 1)",
    "take_along_axis(x, [[0, 1, 0]], 0)", "take_along_axis(x, [4], None)", "tile(x, 2)",
    "tile(y, (2, 2))", "tile(x, (1, 2, 1, 1))", "transpose(x, (1, 0))", "transpose(x, (-1, 0))",
    "vander(y)", "vander(y, increasing=True)", "vander(y, 2)", "array(y, ndmin=3)",
]  # fmt: skip
X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]], np.float32)
LATE = (X, np.array([2.0, 0.5, 1.0], np.float32), np.array([[1.0, 2.0], [3.0, 5.0]], np.float32))


@pytest.mark.parametrize("ranks", ["unknown", "known"])
@pytest.mark.parametrize("text", UNKNOWN)
def test_functions_of_shapes_that_are_known_late(text, ranks):
    def call(x, y, z):
        return eval(text, {}, Names(x=x, y=y, z=z))

    shapes = [None if ranks == "unknown" else [None] * v.ndim for v in LATE]
    signature = [tf.TensorSpec(shape, tf.float32) for shape in shapes]
    wanted = tf.nest.flatten(call(*map(tf.constant, LATE)))
    found = tf.nest.flatten(tf.function(call, input_signature=signature)(*LATE))
    assert len(found) == len(wanted)
    for value, want in zip(found, wanted, strict=True):
        assert value.dtype is want.dtype
        np.testing.assert_allclose(value, want, rtol=1e-5)


def test_cross_checks_sizes_that_are_known_late():
    call = tf.function(tnp.cross, input_signature=[tf.TensorSpec([None], tf.float32)] * 2)
    for wrong in ([1.0], [1.0, 2.0, 3.0, 4.0]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="vectors of 2 or 3"):
            call(wrong, [1.0, 2.0, 3.0])


def test_moveaxis_checks_axes_that_are_known_late():
    call = tf.function(
        lambda x: tnp.moveaxis(x, 0, 3), input_signature=[tf.TensorSpec(None, tf.float32)]
    )
    with pytest.raises(tf.errors.InvalidArgumentError):
        call([[1.0]])


def test_linspace_keeps_the_dtype_of_its_ends():
    ends = tf.constant([1.0]), tf.constant([2.0])
    assert tnp.linspace(*ends, 3).dtype is tf.float32
    assert tnp.linspace(0, 1, 3).dtype is tf.float64
    assert tnp.linspace(*ends, 3, dtype=tf.float64).dtype is tf.float64


def test_matrices_that_do_not_fit():
    with pytest.raises(ValueError, match="inner sizes"):
        tnp.matmul(X, X)


def test_indices_without_elements_take_none():
    taken = tnp.take_along_axis(np.arange(6.0).reshape(2, 3), np.zeros([2, 0], int), 1)
    assert taken.shape == (2, 0)


def test_diagonals_beyond_the_matrix_are_empty_for_tensors_too():
    for offset in (3, -2, 5):
        assert tnp.diag(np.ones([2, 3]), tf.constant(offset)).shape == (0,)
    found = tf.function(lambda k: tnp.diag(np.arange(6.0).reshape(2, 3), k))(tf.constant(1))
    assert found.numpy().tolist() == [1.0, 5.0]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_known_shapes_take_a_short_way(axis: int) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    places = np.array([[[-1]], [[0]]]) if axis == 1 else np.array([[[1, -1, 0, 0]]])

    @tf.function
    def both(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        taken = tf.experimental.numpy.take_along_axis(values, places, axis)
        return taken, tf.experimental.numpy.diagonal(values, 1)

    taken, diagonals = both(x)
    np.testing.assert_array_equal(taken, np.take_along_axis(x, places, axis))
    np.testing.assert_array_equal(diagonals, np.diagonal(x, 1))
    types = {op.type for op in both.get_concrete_function(x).graph.get_operations()}
    assert not types & {"Shape", "BroadcastArgs", "Prod", "ConcatV2"}


def test_sizes_that_only_the_graph_knows_are_int32():
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def size(x):
        return tnp.size(x)

    assert size(tf.ones([2, 3])).dtype == tf.int32
    assert size(tf.ones([2, 3])) == 6
    assert isinstance(tnp.size(2.5), int)
