"""The dtype conversion modes "safe" and "all": what public functions do with weak values.

Three rules. A function of UNARY gives a weak result for a weak first argument, which may be a
Python number. One of BINARY promotes its first two arguments by `weak_dtypes`, and its result is
weak when their common kind is. Every other function sees the tensors inside of weak ones, except
where values pass through it untouched. `promote_call` is what `penstock.core.dispatch` asks while a
mode is on.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from penstock.core import dispatch
from penstock.core.composite import CompositeTensor
from penstock.core.tensor import Tensor
from penstock.core.weak_tensor import WeakTensor, strong, weak
from penstock.ops import weak_dtypes
from penstock.ops.weak_dtypes import Kind, common_kind, kind_of
from penstock.types.dtypes import as_dtype

Function = Callable[..., Any]

_UNARY = {
    "array_bands": "tensor_diag_part",
    "array_basics": "identity reshape",
    "array_diag": "diag diag_part trace",
    "array_fill": "ones_like ones_like_v1 zeros_like zeros_like_v1",
    "array_identity": "check_numerics stop_gradient",
    "array_order": "matrix_transpose transpose transpose_v1",
    "array_shape": "expand_dims expand_dims_v1 squeeze squeeze_v1",
    "array_space": "depth_to_space space_to_depth space_to_depth_v1",
    "image_patches": "extract_image_patches_v1 extract_patches",
    "math_arithmetic": "negative",
    "math_bessel": (
        "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn"
        " fresnel_cos fresnel_sin"
    ),
    "math_cast": "abs angle conj imag real",
    "math_division": "reciprocal_no_nan",
    "math_elementwise": (
        "acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor log log1p reciprocal rint"
        " round rsqrt sigmoid sign sin sinh sqrt square tan tanh"
    ),
    "math_reduce": (
        "reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod"
        " reduce_std reduce_sum reduce_variance"
    ),
    "math_special": (
        "bessel_i0 bessel_i0e bessel_i1 bessel_i1e digamma erf erfc erfcinv erfinv expint lgamma"
        " ndtri spence"
    ),
    "nn_activations": "gelu leaky_relu log_sigmoid relu6 silu softplus",
    "nn_losses": "log_softmax",
    "numpy_arrays": (
        "atleast_1d atleast_2d atleast_3d expand_dims flatten moveaxis ravel reshape squeeze"
        " swapaxes transpose"
    ),
    "numpy_creation": (
        "array asanyarray asarray ascontiguousarray copy diag diagflat empty_like full_like"
        " ones_like triu zeros_like"
    ),
    "numpy_elementwise": (
        "abs absolute angle arccos arcsin arcsinh arctan arctanh around bitwise_not cbrt ceil conj"
        " conjugate cos cosh deg2rad exp exp2 expm1 fabs fix floor imag log log10 log1p log2"
        " negative positive rad2deg real reciprocal round sign sin sinc sinh sqrt square tan tanh"
    ),
    "numpy_joining": "ix_ repeat",
    "numpy_order": "sort",
    "numpy_products": "trace vander",
    "numpy_reductions": (
        "amax amin average cumprod cumsum max mean min nanmean prod ptp std sum var"
    ),
    "numpy_turning": "diagonal diff flip fliplr flipud rot90",
    "penstock.core.convert": "convert_to_tensor",  # of what functions return
}
_BINARY = {
    "debug_asserts": "assert_equal assert_equal_v1",
    "math_arithmetic": "add multiply multiply_no_nan pow subtract",
    "math_compare": "equal",
    "math_division": (
        "divide divide_no_nan floordiv floormod mod real_div truediv truncatediv truncatemod"
    ),
    "math_matmul": "matmul matvec",
    "numpy_elementwise": "hypot",
    "numpy_products": "matmul",
}
_PASSING = {  # functions that take values of any kind and hand them on
    "conditionals": "case case_v1 cond cond_v1 switch_case",
    "conversion": "is_tensor",
    "debug_print": "print_v2",
    "functional_loops": "map_fn",
    "loops": "while_loop while_loop_v1",
}


def _keys(table: dict[str, str]) -> frozenset[str]:
    return frozenset(
        f"{module}.{name}" for module, names in table.items() for name in names.split()
    )


UNARY, BINARY, PASSING = _keys(_UNARY), _keys(_BINARY), _keys(_PASSING)


# ---- calls of public functions


def promote_call(
    function: Function, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of a public function, or UNHANDLED where the arguments may stay as they are.

    Some functions ask again when they are called with what came out, and are then left alone.
    """
    function = inspect.unwrap(function)
    rule = _SPECIAL.get(key) or (_unary if key in UNARY else _binary if key in BINARY else None)
    if rule is not None:
        return rule(function, _signature(function).bind(*args, **kwargs))
    if key in PASSING or key.startswith("numpy_"):  # those ask `numpy_dtypes`
        return dispatch.UNHANDLED
    return _with_insides(function, _signature(function).bind(*args, **kwargs))


def _with_insides(function: Function, bound: inspect.BoundArguments) -> Any:
    """The function of the tensors inside of weak ones; UNHANDLED where there are none."""
    if not any(map(_holds_weak, bound.arguments.values())):
        return dispatch.UNHANDLED
    return _call(function, bound)


def _holds_weak(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_weak, value))
    if isinstance(value, dict):
        return any(map(_holds_weak, value.values()))
    return isinstance(value, WeakTensor)


def inside(value: Any) -> Any:
    """A value, or a list or slice of values, with the tensors inside of weak ones."""
    if isinstance(value, slice):
        return slice(*map(strong, (value.start, value.stop, value.step)))
    if value.__class__ is list or value.__class__ is tuple:
        return value.__class__([inside(v) for v in value])
    return strong(value)


@functools.cache
def _signature(function: Function) -> inspect.Signature:
    return inspect.signature(function)


def _call(function: Function, bound: inspect.BoundArguments) -> Any:
    return function(*map(inside, bound.args), **{n: inside(v) for n, v in bound.kwargs.items()})


def is_other(value: Any) -> bool:
    """Whether a class of its own handles the value: a ragged or sparse tensor."""
    return isinstance(value, CompositeTensor) and not isinstance(value, WeakTensor)


def _unary(function: Function, bound: inspect.BoundArguments) -> Any:
    first, value = next(iter(bound.arguments.items()))
    several = _signature(function).parameters[first].kind is inspect.Parameter.VAR_POSITIONAL
    values = value if several else (value,)
    if any(map(is_other, values)):
        return dispatch.UNHANDLED
    kinds = [kind_of(v) for v in values]
    if not any(map(_changes, values, kinds)):
        return _with_insides(function, bound)
    converted = tuple(map(_converted, values, kinds))
    bound.arguments[first] = converted if several else converted[0]
    result = _call(function, bound)
    return result if bound.arguments.get("dtype") is not None else _weakened(result, kinds)


def _changes(value: Any, kind: Kind | None) -> bool:
    return kind is not None and (kind.weak or _holds_weak(value))


def _converted(value: Any, kind: Kind | None) -> Any:
    return value if kind is None else weak_dtypes.convert(value, kind.dtype)


def _weakened(result: Any, kinds: list[Kind | None]) -> Any:
    """A result, or each of several, weak where the argument that it comes from is."""
    if isinstance(result, (list, tuple)):
        kinds = kinds if len(kinds) == len(result) else kinds * len(result)
        return type(result)(map(_as_weak, result, kinds))
    return _as_weak(result, kinds[0])


def _as_weak(result: Any, kind: Kind | None) -> Any:
    return weak(result) if kind is not None and kind.weak else result


def _binary(function: Function, bound: inspect.BoundArguments) -> Any:
    left, right = list(bound.arguments)[:2]
    values = bound.arguments[left], bound.arguments[right]
    if any(map(is_other, values)):
        return dispatch.UNHANDLED
    kind = common_kind(*values)
    if kind is None or all(isinstance(v, Tensor) and v.dtype is kind.dtype for v in values):
        return _with_insides(function, bound)
    for name, value in zip((left, right), values, strict=True):
        bound.arguments[name] = weak_dtypes.convert(value, kind.dtype)
    result = _call(function, bound)
    return _as_weak(result, kind)


def _never_weak(function: Function, bound: inspect.BoundArguments) -> Any:
    """`maximum` and `minimum` promote, and their results are not weak."""
    return strong(_binary(function, bound))


def _constant(function: Function, bound: inspect.BoundArguments) -> Any:
    value, dtype = bound.arguments["value"], bound.arguments.get("dtype")
    if isinstance(value, WeakTensor) and dtype is not None:
        bound.arguments["value"] = weak_dtypes.convert(value, as_dtype(dtype))
    kind = kind_of(value) if dtype is None and not is_other(value) else None
    if kind is None:
        return _with_insides(function, bound)
    if weak_dtypes.is_plain(value):
        bound.arguments["value"] = weak_dtypes.host_array(value, kind.dtype)
    elif not kind.weak:
        return _with_insides(function, bound)
    result = _call(function, bound)
    return _as_weak(result, kind)


def _arange(function: Function, bound: inspect.BoundArguments) -> Any:
    given = [bound.arguments.get(n) for n in ("start", "stop", "step")]
    kind = common_kind(*(v for v in given if v is not None))
    result = _call(function, bound)
    is_weak = kind is not None and kind.weak and bound.arguments.get("dtype") is None
    return weak(result) if is_weak else result


def _scalar_mul(function: Function, bound: inspect.BoundArguments) -> Any:
    value = bound.arguments["x"]
    kind = None if is_other(value) else kind_of(value)
    if kind is None or not kind.weak:
        return _with_insides(function, bound)
    bound.arguments["x"] = weak_dtypes.convert(value, kind.dtype)
    return weak(_call(function, bound))


def _clip(function: Function, bound: inspect.BoundArguments) -> Any:
    """`clip_by_value`: values and bounds are promoted; values that are weak stay so."""
    names = list(bound.arguments)[:3]
    values = [bound.arguments[n] for n in names]
    if any(map(is_other, values)):
        return dispatch.UNHANDLED
    first, common = kind_of(values[0]), common_kind(*values)
    if first is None or common is None:
        return _with_insides(function, bound)
    for name, value in zip(names, values, strict=True):
        bound.arguments[name] = weak_dtypes.convert(value, common.dtype)
    result = _call(function, bound)
    return _as_weak(result, first)


_SPECIAL: dict[str, Function] = {
    "array_basics.constant": _constant,
    "math_arithmetic.maximum": _never_weak,
    "math_arithmetic.minimum": _never_weak,
    "math_arithmetic.scalar_mul": _scalar_mul,
    "math_compare.clip_by_value": _clip,
    "numpy_creation.arange": _arange,
}
