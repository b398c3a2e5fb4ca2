"""The extensions fft and linalg of the Array API standard, beside array-api-strict."""

import functools
import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf

tnp = tf.experimental.numpy
strict = pytest.importorskip("array_api_strict")
RANDOM = np.random.RandomState(0)
STACK = RANDOM.randn(2, 3, 4)
SQUARE = RANDOM.randn(2, 3, 3) + 2 * np.eye(3)
WAVES = {
    "real64": STACK,
    "real32": STACK.astype(np.float32),
    "complex128": STACK + 1j * STACK[::-1],
    "complex64": (STACK + 1j * STACK[::-1]).astype(np.complex64),
}


def _same(found, expected, name):
    if isinstance(expected, tuple):
        assert found._fields == expected._fields, name
        for left, right in zip(found, expected, strict=True):
            _same(left, right, name)
        return
    right = np.asarray(expected._array)
    assert found.dtype.name == right.dtype.name, name
    bound = 1e-5 if right.dtype.name in ("float32", "complex64") else 1e-10
    np.testing.assert_allclose(found, right, bound, bound, err_msg=name)


@pytest.mark.parametrize("module", ["fft", "linalg"])
def test_names_and_arguments_are_the_standards(module):
    ours, theirs = getattr(tnp, module), getattr(strict, module)
    for name in theirs.__all__:
        function = getattr(ours, name)
        if name in ("matmul", "tensordot"):  # those of the namespace itself
            continue
        wanted = inspect.signature(getattr(theirs, name)).parameters.values()
        found = inspect.signature(function).parameters.values()
        assert [(p.name, p.kind, p.default) for p in found] == [
            (p.name, p.kind, p.default) for p in wanted
        ], name


# ---- fft

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fftn", "ifftn", "rfftn", "irfftn"]
NORMS = ["backward", "ortho", "forward"]


def _waves(name, kind):
    """Numbers that a transform takes."""
    if name in ("rfft", "rfftn", "ihfft"):
        return WAVES[kind.replace("complex128", "real64").replace("complex64", "real32")]
    if name in ("fft", "ifft", "fftn", "ifftn"):
        return WAVES[kind]
    return WAVES[kind.replace("real64", "complex128").replace("real32", "complex64")]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(ONE), st.sampled_from(sorted(WAVES)), st.sampled_from([None, 2, 3, 6]),
    st.sampled_from([-1, 0, 1]), st.sampled_from(NORMS),
)  # fmt: skip
def test_transforms_of_one_axis(name, kind, n, axis, norm):
    x = _waves(name, kind)
    if name in ("fft", "ifft") and not np.iscomplexobj(x):
        expected = getattr(strict.fft, name)(
            strict.asarray(x.astype(np.result_type(x, np.complex64))), n=n, axis=axis, norm=norm
        )
    else:
        expected = getattr(strict.fft, name)(strict.asarray(x), n=n, axis=axis, norm=norm)
    _same(getattr(tnp.fft, name)(x, n=n, axis=axis, norm=norm), expected, name)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(SEVERAL), st.sampled_from(sorted(WAVES)),
    st.sampled_from([(None, None), (None, (0, 1)), ((5, 2), (2, 0)), ((2, 3), (-2, -1))]),
    st.sampled_from(NORMS),
)  # fmt: skip
def test_transforms_of_several_axes(name, kind, sizes, norm):
    (s, axes), x = sizes, _waves(name, kind)
    given_x = x if name != "fftn" and name != "ifftn" else x.astype(np.result_type(x, np.complex64))
    expected = getattr(strict.fft, name)(strict.asarray(given_x), s=s, axes=axes, norm=norm)
    _same(getattr(tnp.fft, name)(x, s=s, axes=axes, norm=norm), expected, name)


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies_and_shifts(n):
    for name in ("fftfreq", "rfftfreq"):
        _same(getattr(tnp.fft, name)(n, d=0.5), getattr(strict.fft, name)(n, d=0.5), name)
    assert tnp.fft.fftfreq(n, dtype=np.float32, device="/CPU:0").dtype is tf.float32
    x = np.arange(float(2 * n)).reshape(2, n)
    for axes in (None, 1, (0,)):
        moved = tnp.fft.fftshift(x, axes=axes)
        _same(moved, strict.fft.fftshift(strict.asarray(x), axes=axes), "fftshift")
        np.testing.assert_array_equal(tnp.fft.ifftshift(moved, axes=axes), x)


def test_integers_and_gradients_of_transforms():
    np.testing.assert_allclose(tnp.fft.fft([1, 2, 3]), np.fft.fft([1, 2, 3]))
    x = tf.constant(STACK)
    with tf.GradientTape() as tape:
        tape.watch(x)
        energy = tf.reduce_sum(tnp.abs(tnp.fft.fftn(x, norm="ortho")) ** 2)
    np.testing.assert_allclose(tape.gradient(energy, x), 2 * STACK, 1e-9)  # Parseval's theorem


# ---- linalg

POSITIVE = SQUARE @ np.swapaxes(SQUARE, -1, -2)
HERMITIAN = (POSITIVE + 1j * (SQUARE - np.swapaxes(SQUARE, -1, -2))).astype(np.complex128)
CALLS = {
    "cholesky": [(POSITIVE, {}), (POSITIVE, {"upper": True}),
                 (HERMITIAN + 9 * np.eye(3), {"upper": True})],
    "det": [(SQUARE, {}), (SQUARE.astype(np.float32), {})],
    "diagonal": [(STACK, {}), (STACK, {"offset": 1}), (STACK, {"offset": -2})],
    "eigvalsh": [(POSITIVE, {}), (HERMITIAN, {})],
    "inv": [(SQUARE, {}), (HERMITIAN, {})],
    "matrix_norm": [
        (x, {"ord": order, "keepdims": keep})
        for x in (STACK, HERMITIAN)
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
        for keep in (False, True)
    ],
    "matrix_power": [((SQUARE, n), {}) for n in (-2, -1, 0, 1, 2, 5)],
    "matrix_rank": [(np.ones((2, 3, 3)), {}), (STACK, {}), (np.diag([1.0, 0.1]), {"rtol": 0.5})],
    "matrix_transpose": [(STACK, {})],
    "pinv": [(STACK, {}), (np.diag([1.0, 0.1]), {"rtol": 0.5}), (HERMITIAN, {})],
    "slogdet": [(SQUARE, {})],
    "solve": [((SQUARE, STACK), {}), ((SQUARE[0], STACK), {}), ((SQUARE, STACK[0, :, 0]), {})],
    "svdvals": [(STACK, {}), (HERMITIAN, {})],
    "trace": [(STACK, {}), (STACK, {"offset": 1}), (STACK, {"dtype": "float32"})],
    "outer": [((STACK[0, 0], STACK[1, :, 1]), {})],
    "cross": [((SQUARE, SQUARE[::-1].copy()), {}), ((SQUARE, SQUARE[::-1].copy()), {"axis": -2}),
              ((SQUARE, SQUARE[0, 0]), {})],
    "vecdot": [((STACK, STACK), {}), ((HERMITIAN, HERMITIAN), {"axis": -2})],
    "matmul": [((SQUARE, STACK), {})],
    "tensordot": [((SQUARE[0], STACK[0]), {"axes": 1})],
    "vector_norm": [
        (x, {"ord": order, "axis": axis, "keepdims": keep})
        for x in (STACK, HERMITIAN)
        for order in (2, 1, 0, 3, -1, 0.5, np.inf, -np.inf)
        for axis, keep in ((None, False), (-1, True), ((0, 2), False))
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_linear_algebra(name):
    for given_x, options in CALLS[name]:
        arguments = given_x if isinstance(given_x, tuple) else (given_x,)
        theirs = [strict.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
        wanted = {k: getattr(strict, v) if k == "dtype" else v for k, v in options.items()}
        expected = getattr(strict.linalg, name)(*theirs, **wanted)
        _same(getattr(tnp.linalg, name)(*arguments, **options), expected, f"{name} {options}")


UNKNOWN = [name for name in CALLS if name not in ("tensordot", "matmul", "vecdot", "outer")]


@pytest.mark.parametrize("name", UNKNOWN)
def test_linear_algebra_of_unknown_sizes(name):
    for given_x, options in CALLS[name]:
        arguments = given_x if isinstance(given_x, tuple) else (given_x,)
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        call = functools.partial(_with_the_rest, name, arguments[len(arrays) :], options)
        specs = [tf.TensorSpec([None] * a.ndim, a.dtype) for a in arrays]
        traced = tf.function(lambda *xs, call=call: call(xs)).get_concrete_function(*specs)
        results = tf.nest.flatten(traced(*map(tf.constant, arrays)))
        for found, expected in zip(results, tf.nest.flatten(call(arrays)), strict=True):
            assert found.dtype is expected.dtype
            np.testing.assert_allclose(found, expected, 1e-9, 1e-9)


def _with_the_rest(name, rest, options, arrays):
    return getattr(tnp.linalg, name)(*arrays, *rest, **options)


def test_powers_of_matrices_of_no_rows():
    assert tnp.linalg.matrix_power(np.zeros((2, 0, 0)), 0).shape == [2, 0, 0]


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_orthogonal_and_triangular_factors(mode):
    found = tnp.linalg.qr(np.swapaxes(STACK, -1, -2), mode=mode)
    expected = strict.linalg.qr(strict.asarray(np.swapaxes(STACK, -1, -2).copy()), mode=mode)
    assert found._fields == expected._fields
    assert [m.shape.as_list() for m in found] == [list(m.shape) for m in expected]
    np.testing.assert_allclose(found.Q @ found.R, np.swapaxes(STACK, -1, -2), 1e-10, 1e-10)


@pytest.mark.parametrize("full", [True, False])
def test_singular_and_eigen_vectors(full):
    found = tnp.linalg.svd(STACK, full_matrices=full)
    expected = strict.linalg.svd(strict.asarray(STACK), full_matrices=full)
    assert [m.shape.as_list() for m in found] == [list(m.shape) for m in expected]
    again = (found.U * found.S[:, None, :]) @ found.Vh[:, :3]
    np.testing.assert_allclose(again, STACK, 1e-9, 1e-9)
    values, vectors = tnp.linalg.eigh(HERMITIAN)
    assert values.dtype is tf.float64
    np.testing.assert_allclose(HERMITIAN @ vectors, vectors * values.numpy()[:, None], 1e-9, 1e-9)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tnp.fft.fft([1.0], axis=1), "rank 1, as many as sizes"),
        (lambda: tnp.fft.fftn(STACK, s=(1, 2), axes=(0,)), "as many as sizes"),
        (lambda: tnp.fft.fft([1.0], norm="both"), "norm"),
        (lambda: tnp.fft.hfft([1.0, 2.0], norm="both"), "hfft: expected norm"),
        (lambda: tnp.linalg.det([1.0]), "det: expected matrices"),
        (lambda: tnp.linalg.qr(STACK, mode="raw"), "got 'raw'"),
        (lambda: tnp.linalg.matrix_norm(STACK, ord=3), "got 3"),
        (lambda: tnp.linalg.outer(STACK, [1.0]), "expected two vectors"),
        (lambda: tnp.linalg.cross([1.0, 2.0], [1.0, 2.0]), "expected 3 numbers"),
    ],
)
def test_what_is_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_what_has_no_answer():
    with pytest.raises(TypeError, match="expected real numbers"):
        tnp.fft.rfft([1j])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tnp.linalg.inv(np.zeros((2, 2)))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n", [0, -1])
def test_transforms_of_no_points_are_refused(name, n):
    with pytest.raises(ValueError, match=rf"at least 1, got \[{n}\]"):
        getattr(tnp.fft, name)(np.ones(3), n=n)
    assert getattr(tnp.fft, name)(np.ones(3), n=1).shape == [1]
