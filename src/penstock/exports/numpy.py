"""Public names of tf.experimental.numpy."""

_NAMES = {
    "penstock.ops.numpy_arrays": (
        "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to expand_dims flatten "
        "moveaxis ravel reshape shape size squeeze swapaxes transpose"
    ),
    "penstock.ops.numpy_choosing": ("compress nonzero select take take_along_axis where"),
    "penstock.ops.numpy_joining": (
        "append concatenate dsplit dstack hsplit hstack ix_ meshgrid repeat split stack tile "
        "vsplit vstack"
    ),
    "penstock.ops.numpy_turning": ("diagonal diff flip fliplr flipud pad roll rot90"),
    "penstock.ops.numpy_behavior": ("experimental_enable_numpy_behavior"),
    "penstock.ops.numpy_creation": (
        "arange array asanyarray asarray ascontiguousarray copy diag diag_indices diagflat empty "
        "empty_like eye full full_like geomspace linspace logspace ones ones_like tri tril triu "
        "zeros zeros_like"
    ),
    "penstock.ops.numpy_dtypes": (
        "bool_ complex128 complex64 complex_ e finfo float16 float32 float64 float_ iinfo inexact "
        "inf int16 int32 int64 int8 int_ issubdtype ndarray newaxis object_ pi promote_types "
        "result_type string_ uint16 uint32 uint64 uint8 unicode_"
    ),
    "penstock.ops.numpy_elementwise": (
        "abs absolute add angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh around "
        "bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil clip conj conjugate cos cosh "
        "deg2rad divide divmod equal exp exp2 expm1 fabs fix float_power floor floor_divide gcd "
        "greater greater_equal heaviside hypot imag isclose iscomplex iscomplexobj isfinite isinf "
        "isnan isneginf isposinf isreal isrealobj isscalar lcm less less_equal log log10 log1p "
        "log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum "
        "mod multiply negative nextafter not_equal positive power rad2deg real reciprocal "
        "remainder round sign signbit sin sinc sinh sqrt square subtract tan tanh true_divide"
    ),
    "penstock.ops.numpy_order": "argmax argmin argsort sort",
    "penstock.ops.numpy_products": (
        "cross dot einsum inner kron matmul outer polyval tensordot trace vander vdot"
    ),
    "penstock.ops.numpy_reductions": (
        "all allclose amax amin any array_equal average count_nonzero cumprod cumsum max mean "
        "min nanmean nanprod nansum ndim prod ptp std sum var"
    ),
}
_RANDOM = "poisson rand randint randn random seed standard_normal uniform"

EXPORTS: dict[str, dict[str, list[str]]] = {
    module: {name: [f"experimental.numpy.{name}"] for name in names.split()}
    for module, names in _NAMES.items()
}
EXPORTS["penstock.ops.numpy_creation"]["identity_matrix"] = ["experimental.numpy.identity"]
EXPORTS["penstock.ops.numpy_random"] = {
    name: [f"experimental.numpy.random.{name}"] for name in _RANDOM.split()
}

# The Array API standard: what it adds, and its names for what is there.
_STANDARD = (
    "__array_api_version__ __array_namespace_info__ astype bitwise_left_shift bitwise_right_shift"
    " broadcast_shapes can_cast copysign cumulative_prod cumulative_sum from_dlpack isdtype isin"
    " matrix_transpose searchsorted trunc unique_all unique_counts unique_inverse unique_values"
    " unstack vecdot"
)
_OTHER_NAMES = {
    "penstock.ops.numpy_arrays": {"transpose": "permute_dims"},
    "penstock.ops.numpy_joining": {"concatenate": "concat"},
    "penstock.ops.numpy_dtypes": {"bool_": "bool", "nan": "nan"},
    "penstock.ops.numpy_elementwise": {
        "arccos": "acos",
        "arccosh": "acosh",
        "arcsin": "asin",
        "arcsinh": "asinh",
        "arctan": "atan",
        "arctan2": "atan2",
        "arctanh": "atanh",
        "bitwise_not": "bitwise_invert",
        "power": "pow",
    },
}
EXPORTS["penstock.ops.numpy_array_api"] = {
    name: [f"experimental.numpy.{name}"] for name in _STANDARD.split()
}
for _module, _others in _OTHER_NAMES.items():
    for _name, _other in _others.items():
        EXPORTS[_module].setdefault(_name, []).append(f"experimental.numpy.{_other}")

_EXTENSIONS = {
    "fft": (
        "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn"
    ),
    "linalg": (
        "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank"
        " matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot"
        " vector_norm"
    ),
}
for _module, _names in _EXTENSIONS.items():
    EXPORTS[f"penstock.ops.numpy_{_module}"] = {
        name: [f"experimental.numpy.{_module}.{name}"] for name in _names.split()
    }
