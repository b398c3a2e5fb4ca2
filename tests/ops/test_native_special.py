"""Special functions with the native library: shapes, dtypes and edges as those without it."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_special
from penstock.core.op_def import lookup
from penstock.core.prepared import prepare

FLOATS = [0.0, -0.0, 0.3, 1.0, 1.7, 2.5, 6.0, 8.5, 20.0, 60.0, np.inf, -np.inf, np.nan, -0.4, -3.0]
# TensorFlow's results are those of the library here, and XLA's are not.
OTHER_WITHOUT = {"Expint": {0.0, np.inf, -0.4, -3.0, -np.inf}, "FresnelCos": {np.inf}}
ONE = native_special.FUNCTIONS[:23]
TWO = ("Zeta", "Polygamma", "Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad")


@pytest.fixture(autouse=True)
def needs_the_library():
    if not native_special.LIBRARY.is_in_use():
        pytest.skip("no native special functions here")


def without(op_name, *arrays):
    """The operation's result by the kernels that serve where there is no library."""
    op = lookup(op_name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
        op.prepared.clear()
        try:
            return execute(op_name, *arrays)
        finally:
            op.prepared.clear()


def execute(op_name, *arrays):
    names = [arg.name for arg in lookup(op_name).inputs]
    call = getattr(tf.raw_ops, op_name)
    return call(**dict(zip(names, map(tf.constant, arrays), strict=True))).numpy()


def kernel_of(op_name, *arrays):
    flat = tuple(map(tf.constant, arrays))
    return prepare(lookup(op_name), flat, None, {}, "CPU").host_kernel


def test_the_library_has_every_function_and_no_more():
    for name in native_special.FUNCTIONS:
        count = len(lookup(name).inputs)
        result = native_special.function(name)(*[np.full(3, 0.5)] * count)
        assert result.shape == (3,)
    run = native_special.LIBRARY.library().penstock_special_run
    assert run(len(native_special.FUNCTIONS), 0, 1, 1, None, None, None) >= 0


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_one_number_as_without_the_library(name, dtype):
    left_out = OTHER_WITHOUT.get(name, set())
    x = np.array([v for v in FLOATS if v not in left_out], dtype)
    assert kernel_of(name, x).available is not None
    wanted = without(name, x)
    tolerance = 2e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(execute(name, x), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", TWO)
def test_of_two_numbers_as_without_the_library(name):
    a, x = np.meshgrid([0.4, 1.0, 2.0, 7.0, 150.0], [0.01, 0.9, 1.6, 4.0, 30.0])
    # XLA's own derivative of a draw has four digits where the draw is far below its order.
    tolerance = 1e-4 if name == "RandomGammaGrad" else 1e-9
    wanted = without(name, a, x)
    np.testing.assert_allclose(execute(name, a, x), wanted, rtol=tolerance, atol=1e-14)


def test_betainc_as_without_the_library():
    a, b = np.meshgrid([0.3, 2.0, 40.0], [0.2, 3.0, 60.0])
    for x in (0.0, 0.2, 0.7, 1.0, np.nan, -1.0, 2.0):
        given = a, b, np.full_like(a, x)
        wanted = without("Betainc", *given)
        np.testing.assert_allclose(execute("Betainc", *given), wanted, rtol=1e-9)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_numbers_of_16_bits_are_computed_in_float32(dtype):
    x = tf.cast([0.3, 1.0, 2.5, 9.0], dtype)
    result = tf.math.special.bessel_j0(x)
    assert result.dtype == dtype
    wanted = tf.cast(tf.math.special.bessel_j0(tf.cast(x, tf.float32)), dtype)
    np.testing.assert_array_equal(result.numpy(), wanted.numpy())


def test_inputs_broadcast_and_may_be_empty_or_strided():
    a = np.linspace(0.5, 4.0, 12, dtype=np.float32).reshape(3, 4)
    x = np.float32(1.5)
    whole = execute("Igamma", np.broadcast_to(a, (2, 3, 4)).copy(), np.full((2, 3, 4), x))
    np.testing.assert_array_equal(execute("Igamma", a, x), whole[0])
    np.testing.assert_array_equal(execute("Igamma", a, np.full((2, 1, 1), x)), whole)
    assert execute("Igamma", a[:0], x).shape == (0, 4)
    strided = native_special.function("BesselJ0")(a.T)
    np.testing.assert_array_equal(strided, execute("BesselJ0", a).T)


def test_results_do_not_depend_on_the_size():
    """Large arrays are shared among threads; numbers alone are the rest of a vector."""
    x = np.random.default_rng(0).uniform(0.1, 30, 20_000).astype(np.float32)
    for name in ("BesselY1", "Spence", "Digamma"):
        function = native_special.function(name)
        whole = function(x)
        pieces = [function(x[i : i + 997]) for i in range(0, len(x), 997)]
        np.testing.assert_array_equal(whole, np.concatenate(pieces))
        alone = [function(x[i : i + 1])[0] for i in range(5)]
        np.testing.assert_array_equal(whole[:5], alone)


@pytest.mark.parametrize(
    ("a", "x", "value", "slope"),
    [
        # the integral of the density and its derivative by a, by mpmath 1.3 with 30 digits
        (1e6, 1e6, 0.500132980760872591, -0.000398942313646559),
        (1.5e6, 1501000.0, 0.792917859017090802, -0.00023335613132509),
        (2e7, 19995000.0, 0.131772257059294123, -4.77496358150688e-05),
    ],
)
def test_incomplete_gamma_functions_of_large_orders(a, x, value, slope):
    a, x = np.float64(a), np.float64(x)
    assert execute("Igamma", a, x) == pytest.approx(value, rel=1e-12)
    assert execute("Igammac", a, x) == pytest.approx(1 - value, rel=1e-12)
    assert execute("IgammaGradA", a, x) == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize("x", [1e154, 1e200, np.finfo(np.float64).max])
def test_the_part_above_what_is_huge_is_0(x):
    for a in (0.5, 1.0, 30.0):
        assert execute("Igammac", np.float64(a), np.float64(x)) == 0
        assert execute("Igamma", np.float64(a), np.float64(x)) == 1


def test_igamma_is_smooth_where_the_expansion_changes():
    """The series serves up to an order of 10**6, the uniform expansion beyond."""
    for off in (-2000.0, 0.0, 2000.0):
        orders = np.array([1e6, np.nextafter(1e6, 2e6)])
        below, above = execute("Igamma", orders, orders + off)
        assert below == pytest.approx(above, rel=1e-11)
