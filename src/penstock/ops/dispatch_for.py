"""`tf.experimental.dispatch_for_*`: users' own functions in place of public operations.

The element-wise functions are listed here by module: those of one argument, of two, and the
assertions that compare two.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from penstock.core import dispatch
from penstock.core.context import state

UNARY = {
    "array_fill": "ones_like ones_like_v1 zeros_like zeros_like_v1",
    "array_identity": "check_numerics",
    "math_arithmetic": "negative",
    "math_bessel": (
        "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn "
        "fresnel_cos fresnel_sin"
    ),
    "math_cast": (
        "abs angle cast conj imag real saturate_cast to_bfloat16 to_complex128 "
        "to_complex64 to_double to_float to_int32 to_int64"
    ),
    "math_compare": "clip_by_value invert is_finite is_inf is_nan logical_not",
    "math_division": "reciprocal_no_nan",
    "math_elementwise": (
        "acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor log log1p "
        "reciprocal rint round rsqrt sigmoid sign sin sinh sqrt square tan tanh"
    ),
    "math_norms": "nextafter",
    "math_special": (
        "bessel_i0 bessel_i0e bessel_i1 bessel_i1e digamma erf erfc erfcinv erfinv expint "
        "lgamma ndtri spence"
    ),
    "nn_activations": "elu gelu leaky_relu log_sigmoid relu relu6 selu silu softplus softsign",
    "nn_losses": "log_softmax log_softmax_v1",
    "string_basics": "length length_v1 lower strip substr substr_v1 upper",
    "string_decode": "decode_base64 decode_compressed encode_base64",
    "string_numbers": "as_string to_number to_number_v1",
    "string_regex": "regex_full_match regex_replace",
    "string_to_hash": (
        "to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong to_hash_bucket_v1"
    ),
    "string_unicode": "unicode_script unicode_transcode",
}
BINARY = {
    "math_arithmetic": (
        "add maximum minimum multiply multiply_no_nan pow scalar_mul squared_difference subtract"
    ),
    "math_cast": "complex",
    "math_compare": (
        "bitwise_and bitwise_or bitwise_xor equal greater greater_equal left_shift less "
        "less_equal logical_and logical_or logical_xor not_equal right_shift"
    ),
    "math_division": (
        "div divide divide_no_nan floor_div floordiv floormod real_div truediv truncatediv "
        "truncatemod xdivy xlog1py xlogy"
    ),
    "math_norms": "atan2",
    "math_special": "zeta",
    "nn_losses": "sigmoid_cross_entropy_with_logits",
}
ASSERTS = {
    "debug_asserts": (
        "assert_equal assert_equal_v1 assert_greater assert_greater_equal "
        "assert_greater_equal_v1 assert_greater_v1 assert_less assert_less_equal "
        "assert_less_equal_v1 assert_less_v1 assert_near assert_near_v1 assert_none_equal "
        "assert_none_equal_v1"
    ),
}

for _kind, _modules in (("unary", UNARY), ("binary", BINARY), ("assert", ASSERTS)):
    dispatch.add_elementwise(_kind, (f"{m}.{f}" for m, fs in _modules.items() for f in fs.split()))

Function = Callable[..., Any]


def dispatch_for_api(
    api: Function, *signatures: Mapping[str, Any]
) -> Callable[[Function], Function]:
    """Decorator: the function runs instead of `api` for arguments of the types it names.

    The types come from the annotations of the decorated function, or from `signatures`. A type is a
    class, a union of classes, or `list[C]`. Parameters without one take anything.

    Args:
      api: a public operation, such as `tf.concat`.
      *signatures: for each way to call it, parameter name -> type.

    Returns:
      The decorator; it returns the function unchanged.

    Raises:
      ValueError: `api` is no public operation, the parameters differ from those of `api`, or no
        type is given.

    Example:
        @tf.experimental.dispatch_for_api(tf.shape)
        def masked_shape(input: MaskedTensor, out_type=None, name=None):
            return tf.shape(input.values)
    """
    key = _key(api)
    parameters = inspect.signature(api)

    def decorate(function: Function) -> Function:
        own, wanted = inspect.signature(function), list(parameters.parameters)
        names = list(own.parameters)
        if names != wanted and [*names, "name"] != wanted:
            raise ValueError(
                f"Dispatch function's signature {own} does not match API's signature {parameters}:"
                f" {_name(function)} cannot stand in for {_name(api)}. Give it the same parameter"
                " names in the same order, of which `name` may be left out."
            )
        chosen = [dict(s) for s in signatures] or [_annotations(function)]
        for signature in chosen:
            _check_signature(api, parameters, signature)
        accepts = _acceptor(parameters, chosen)
        run = function if names == wanted else _in_scope(function, parameters)
        dispatch.add_signature_handler(key, accepts, run)
        return function

    return decorate


def _in_scope(function: Function, parameters: inspect.Signature) -> Function:
    """A function that has no parameter `name`, in the scope of the name that a call gives."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = parameters.bind(*args, **kwargs)
        name = given.arguments.pop("name", None)
        if name is None or state.graph is None:
            return function(*given.args, **given.kwargs)
        with state.graph.name_scope(name):
            return function(*given.args, **given.kwargs)

    return run


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", repr(function))


def _key(api: Any) -> str:
    target = inspect.unwrap(api) if callable(api) else api
    if not inspect.isfunction(target) or not target.__module__.startswith(dispatch.PREFIX):
        raise ValueError(
            f"{api!r} does not support dispatch. Expected a public operation such as tf.concat;"
            " raw_ops, classes and methods have no handlers."
        )
    return dispatch.key_of(target)


def _annotations(function: Function) -> dict[str, Any]:
    hints = typing.get_type_hints(function)
    hints.pop("return", None)
    return hints


def _check_signature(
    api: Function, parameters: inspect.Signature, signature: Mapping[str, Any]
) -> None:
    if not signature:
        raise ValueError(
            "The dispatch_for_api decorator must be called with at least one signature, or applied"
            f" to a function that has type annotations on its parameters: {_name(api)} got no"
            " types. Give a signature such as {'x': MyTensor}."
        )
    for name, annotation in signature.items():
        if name not in parameters.parameters:
            raise ValueError(
                f"signature includes annotation for unknown parameter {name!r}: expected parameters"
                f" of {_name(api)}, {', '.join(parameters.parameters)}."
            )
        dispatch.add_kinds(_classes_of(annotation))


def _classes_of(annotation: Any) -> list[type]:
    """The classes of values that an annotation speaks of, beside tensors and plain Python's."""
    arguments = typing.get_args(annotation)
    if arguments:
        return [c for a in arguments for c in _classes_of(a)]
    plain = not isinstance(annotation, type) or annotation.__module__ == "builtins"
    return [] if plain else [annotation]


def _acceptor(
    parameters: inspect.Signature, signatures: list[dict[str, Any]]
) -> Callable[[tuple[Any, ...], dict[str, Any]], bool]:
    def accepts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        try:
            given = parameters.bind(*args, **kwargs).arguments
        except TypeError:
            return False
        return any(
            all(n in given and dispatch.matches(given[n], t) for n, t in signature.items())
            for signature in signatures
        )

    return accepts


def dispatch_for_unary_elementwise_apis(x_type: Any) -> Callable[[Function], Function]:
    """Decorator: `function(api, x)` runs for every element-wise operation of one `x_type`.

    Args:
      x_type: a class, or a union of classes. `api` comes with the call's other arguments bound.

    Returns:
      The decorator; it returns the function unchanged.

    Raises:
      ValueError: there is such a function for this type.
    """
    return _pattern("unary", (x_type,))


def dispatch_for_binary_elementwise_apis(
    x_type: Any, y_type: Any
) -> Callable[[Function], Function]:
    """Decorator: `function(api, x, y)` runs for every element-wise operation of these two types.

    Args:
      x_type: a class, or a union of classes.
      y_type: a class, or a union of classes.

    Returns:
      The decorator; it returns the function unchanged.

    Raises:
      ValueError: there is such a function for these types.
    """
    return _pattern("binary", (x_type, y_type))


def dispatch_for_binary_elementwise_assert_apis(
    x_type: Any, y_type: Any
) -> Callable[[Function], Function]:
    """Decorator: `function(api, x, y)` runs for every assertion that compares these two types.

    Args:
      x_type: a class, or a union of classes.
      y_type: a class, or a union of classes.

    Returns:
      The decorator; it returns the function unchanged.

    Raises:
      ValueError: there is such a function for these types.
    """
    return _pattern("assert", (x_type, y_type))


def _pattern(kind: str, classes: tuple[Any, ...]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        dispatch.add_pattern(kind, classes, function)
        for annotation in classes:
            dispatch.add_kinds(_classes_of(annotation))
        return function

    return decorate


def unregister_dispatch_for(dispatch_target: Function) -> None:
    """Takes away what a `dispatch_for_*` decorator registered.

    Args:
      dispatch_target: the decorated function.

    Raises:
      ValueError: it was not registered.
    """
    if not dispatch.remove(dispatch_target):
        raise ValueError(
            f"{_name(dispatch_target)} was not registered by a tf.experimental.dispatch_for_*"
            " decorator. Pass the function that was decorated."
        )
