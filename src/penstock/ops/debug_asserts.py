"""Assertions about values.

`Assert` and `assert_equal`, `assert_less`, `assert_positive`, `assert_near` and the like.

What is known when an assertion is made is checked there and then. In a graph the rest becomes an
Assert operation, which the caller attaches with control dependencies (a `tf.function` does so by
itself). Assertions about shapes and dtypes are in `debug_shapes`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import attributes
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.op_def import define_op
from penstock.core.tensor import EagerTensor, host_array
from penstock.graph.default_graph import get_default_graph
from penstock.graph.static_values import constant_value
from penstock.ops.array_identity import check_numerics, no_op
from penstock.ops.composing import composed
from penstock.ops.text_format import summarize, summarize_flat
from penstock.types.dtypes import DType, as_dtype

Array = Any


def _check_condition(condition: Array) -> None:
    if condition.ndim:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Assert: expected a scalar condition, got shape {condition.shape}. Use "
            "tf.reduce_all(condition).",
        )


ASSERT = define_op(
    "Assert(condition: bool, data: [T]; T: list(type) >= 1, summarize: int = 3) -> ",
    shape=lambda c: [],
    stateful=True,
    fallible=True,
    doc="Fails the step with the data unless the condition holds.",
).not_differentiable("it has no outputs")


@host_kernel(ASSERT, limit=1 << 62)
def _assert(
    ctx: KernelContext, condition: Array, data: list[Array], *, summarize: int
) -> tuple[()]:
    _check_condition(condition)
    if not bool(condition):
        shown = " ".join(f"[{summarize_flat(a, summarize)}]" for a in data)
        raise errors.InvalidArgumentError(None, None, f"assertion failed: {shown}")
    return ()


@compiled_kernel(ASSERT)
def _assert_compiled(
    ctx: KernelContext, condition: Array, data: list[Array], *, summarize: int
) -> tuple[()]:
    """In regions that must compile; others leave assertions, which have texts, to the host."""
    _check_condition(condition)
    texts = {i: a for i, a in enumerate(data) if a.dtype == object}

    def message(*values: Array) -> str:
        rest = iter(values)
        shown = [texts[i] if i in texts else next(rest) for i in range(len(data))]
        return "assertion failed: " + " ".join(f"[{summarize_flat(a, summarize)}]" for a in shown)

    numbers = [a for i, a in enumerate(data) if i not in texts]
    ctx.check(condition, errors.InvalidArgumentError, message, *numbers)
    return ()


@composed("Assert", result="Assert")
def assert_that(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Any:
    """Fails unless a condition holds.

    Args:
      condition: bool scalar.
      data: a list of tensors and values that the error shows.
      summarize: elements shown of each; 3 by default.
      name: the name in a graph.

    Returns:
      None; in a graph the Operation that checks.

    Raises:
      InvalidArgumentError: it does not hold (in a graph when it runs).

    Example:
      >>> assert_that(True, ["never shown"])
    """
    count = 3 if summarize is None else summarize
    if state.graph is None:
        tensor = convert_to_tensor(condition)
        if tensor.dims:
            raise ValueError(
                f"tf.debugging.Assert: expected a scalar condition, got shape {tensor.shape}. Use"
                " tf.reduce_all(condition)."
            )
        if not bool(host_array(tensor)):
            shown = "\n".join(_shown(d, count) for d in data)
            raise errors.InvalidArgumentError(
                None, None, f"Expected '{condition}' to be true. Summarized data: {shown}"
            )
        return None
    if not isinstance(data, (list, tuple)):
        raise TypeError(
            f"tf.debugging.Assert: expected a list of what the error shows, got {data!r}."
        )
    return execute(
        ASSERT, (condition, [convert_to_tensor(d) for d in data]), {"summarize": count}, name
    )


def to_wait_for(condition: Any, data: Any, summarize: int | None = None) -> list[Any]:
    """The checks of a condition, for `control_dependencies`: none where it holds already.

    Raises:
      InvalidArgumentError: it is known not to hold, see `assert_that`.
    """
    return waits(assert_that(condition, data, summarize))


def waits(check: Any) -> list[Any]:
    """What an assertion gave, for `control_dependencies`: none where it holds already."""
    return [] if check is None else [check]


def _shown(value: Any, count: int) -> str:
    if isinstance(value, (str, bytes)):
        return value if isinstance(value, str) else value.decode("utf-8", "replace")
    array = host_array(convert_to_tensor(value))
    flat = array.reshape(-1)
    limit = flat.size if count < 0 else count
    return ", ".join(
        [str(v) for v in flat[:limit].tolist()] + (["..."] if flat.size > limit else [])
    )


def known(tensor: Any) -> Array | None:
    """The value of a tensor when it is known now, else None."""
    return host_array(tensor) if isinstance(tensor, EagerTensor) else constant_value(tensor)


def _label(tensor: Any) -> str:
    return (
        f"({tensor.name})"
        if not isinstance(tensor, EagerTensor)
        else f"(shape={tensor.shape} dtype={tensor.dtype.name})"
    )


# ---- two tensors


def _compare(
    sign: str,
    op: str,
    static: Callable[..., Any],
    x: Any,
    y: Any,
    data: Any,
    summarize: int | None,
    message: str | None,
    name: str,
) -> Any:
    """The assertion that `x sign y` holds everywhere."""
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    if x.dtype is not y.dtype:
        problem = TypeError(
            f"Input 'y' of '{op}' Op has type {y.dtype.name} that does not match type"
            f" {x.dtype.name} of argument 'x'. Use tf.cast(y, tf.{x.dtype.name})."
        )
        raise attributes.user_error(op, problem, eager=state.graph is None)
    _refuse_unordered(op, x.dtype)
    a, b = known(x), known(y)
    if a is not None and b is not None:
        try:
            held = np.asarray(static(a, b))
        except ValueError:
            held = (
                np.asarray(execute(op, (x, y)).numpy())
                if state.graph is None
                else np.asarray(False)
            )
        if not held.all():
            raise errors.InvalidArgumentError(
                None, None, _difference(sign, a, b, held, summarize, message)
            )
        return None if state.graph is None else no_op(f"{name}/NoOp")
    with get_default_graph().name_scope(name):
        condition = _everywhere(execute(op, (x, y)))
        head = [message or "", f"Condition x {sign} y did not hold element-wise:"]
        shown = data or [*head, f"x {_label(x)} = ", x, f"y {_label(y)} = ", y]
        return assert_that(condition, shown, summarize)


def _refuse_unordered(op: str, dtype: DType) -> None:
    """Only real numbers have an order."""
    if op in ("Equal", "NotEqual") or dtype.is_integer or dtype.is_floating or dtype.is_quantized:
        return
    problem = TypeError(
        f"Value passed to parameter 'x' has DataType {dtype.name} not in list of allowed values:"
        " real numbers. Use tf.cast."
    )
    raise attributes.user_error(op, problem, eager=state.graph is None)


def _everywhere(condition: Any) -> Any:
    if condition.dims is not None:
        axes: Any = np.arange(len(condition.dims), dtype=np.int32)
    else:
        axes = execute("Range", (0, execute("Rank", (condition,)), 1))
    return execute("All", (condition, axes))


def _difference(
    sign: str, a: Array, b: Array, held: Array, count: int | None, message: str | None
) -> str:
    """What differs, where, and the first elements of both."""
    limit = 3 if count is None else count
    shown_x, shown_y = np.broadcast_to(a, held.shape), np.broadcast_to(b, held.shape)
    wrong = np.argwhere(~held)
    first = wrong if limit < 0 else wrong[:limit]
    places = tuple(first.T) if held.ndim else ()
    lines = [f"{message}"] if message else []
    lines += [
        f"Condition x {sign} y did not hold.",
        f"Indices of first {len(first)} different values:",
        f"{first}",
        f"Corresponding x values:\n{shown_x[places]}",
        f"Corresponding y values:\n{shown_y[places]}",
    ]
    for label, value in (("x", a), ("y", b)):
        flat = value.reshape(-1) if limit < 0 else value.reshape(-1)[:limit]
        lines.append(f"First {len(flat)} elements of {label}:\n{flat}")
    return "\n".join(lines)


_BINARY = {
    "assert_equal": ("==", "Equal", np.equal, "equal"),
    "assert_none_equal": ("!=", "NotEqual", np.not_equal, "different"),
    "assert_less": ("<", "Less", np.less, "in ascending order"),
    "assert_less_equal": ("<=", "LessEqual", np.less_equal, "in ascending order or equal"),
    "assert_greater": (">", "Greater", np.greater, "in descending order"),
    "assert_greater_equal": (
        ">=",
        "GreaterEqual",
        np.greater_equal,
        "in descending order or equal",
    ),
}

_DOC = """Asserts that {what}.

    Args:
      {args}
      message: the beginning of the error's text.
      summarize: elements shown of each tensor; 3 by default.
      name: the name in a graph.

    Returns:
      None; in a graph an Operation that checks what is not known yet.

    Raises:
      InvalidArgumentError: it does not hold (in a graph, for unknown values, when it runs).
    """


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    sign, op, static, words = _BINARY[name]
    wanted = name

    def v2(
        x: Any,
        y: Any,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> Any:
        return _compare(sign, op, static, x, y, None, summarize, message, name or wanted)

    def v1(
        x: Any,
        y: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        return _compare(sign, op, static, x, y, data, summarize, message, name or wanted)

    args = "x: a numeric tensor.\n      y: a tensor that broadcasts with it."
    for function, suffix in ((v2, ""), (v1, "_v1")):
        function.__name__ = function.__qualname__ = name + suffix
        function.__doc__ = _DOC.format(
            what=f"all pairs of elements of x and y are {words}: x {sign} y", args=args
        )
    return v2, v1


assert_equal, assert_equal_v1 = _binary("assert_equal")
assert_less, assert_less_v1 = _binary("assert_less")
assert_less_equal, assert_less_equal_v1 = _binary("assert_less_equal")
assert_greater, assert_greater_v1 = _binary("assert_greater")
assert_greater_equal, assert_greater_equal_v1 = _binary("assert_greater_equal")
_, assert_none_equal_v1 = _binary("assert_none_equal")


def assert_none_equal(
    x: Any,
    y: Any,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Asserts that no pair of elements of x and y is equal.

    Args:
      x: a tensor.
      y: a tensor that broadcasts with x.
      summarize: how many elements the message shows; 3 by default.
      message: what the error begins with.
      name: the name in a graph.

    Returns:
      None; in a graph an operation that fails when the condition does not hold.

    Raises:
      InvalidArgumentError: it is known not to hold.
    """
    return _compare(
        "!=", "NotEqual", np.not_equal, x, y, None, summarize, message, name or "assert_none_equal"
    )


# ---- one tensor

_UNARY = {
    "assert_negative": ("<", "Less", np.less),
    "assert_positive": (">", "Greater", np.greater),
    "assert_non_negative": (">=", "GreaterEqual", np.greater_equal),
    "assert_non_positive": ("<=", "LessEqual", np.less_equal),
}


def _check_zero(
    function: str, x: Any, data: Any, count: int | None, message: str | None, name: str | None
) -> Any:
    """What one of `_UNARY` does: at once where the value is known, else by an operation."""
    sign, op, static = _UNARY[function]
    x = convert_to_tensor(x)
    if x.dtype.is_bool:
        raise TypeError(f"Cannot convert 0 to bool: {function} expects numbers. Use tf.cast.")
    _refuse_unordered(op, x.dtype)
    value = known(x)
    if value is not None:
        if not static(value, np.zeros((), value.dtype)).all():
            limit = 3 if count is None else count
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{message or ''}\nCondition x {sign} 0 did not hold element-wise:\nx "
                f"{_label(x)} = \n{summarize(value, limit)}",
            )
        return None if state.graph is None else no_op(f"{name or function}/NoOp")
    condition = f"Condition x {sign} 0 did not hold element-wise:"
    shown = data or [message or "", condition, f"x {_label(x)} = ", x]
    zero = convert_to_tensor(0, x.dtype)
    return _compare(sign, op, static, x, zero, shown, count, message, name or function)


def _against_zero(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    wanted = name  # the arguments below have the name in a graph

    def v2(
        x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> Any:
        return _check_zero(wanted, x, None, summarize, message, name)

    def v1(
        x: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        return _check_zero(wanted, x, data, summarize, message, name)

    for function, suffix in ((v2, ""), (v1, "_v1")):
        function.__name__ = function.__qualname__ = name + suffix
        function.__doc__ = _DOC.format(
            what=f"all elements of x are {_UNARY[name][0]} 0", args="x: a real tensor."
        )
    return v2, v1


assert_negative, assert_negative_v1 = _against_zero("assert_negative")
assert_positive, assert_positive_v1 = _against_zero("assert_positive")
assert_non_negative, assert_non_negative_v1 = _against_zero("assert_non_negative")
assert_non_positive, assert_non_positive_v1 = _against_zero("assert_non_positive")


# ---- near, finite


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Asserts that |x - y| <= atol + rtol * |y| holds everywhere.

    Args:
      x: a floating or complex tensor.
      y: a tensor of the same dtype that broadcasts with it.
      rtol: the relative tolerance; ten times the dtype's precision by default.
      atol: the absolute tolerance; ten times the dtype's precision by default.
      message: the beginning of the error's text.
      summarize: elements shown of each tensor; 3 by default.
      name: the name in a graph.

    Returns:
      None; in a graph an Operation.

    Raises:
      InvalidArgumentError: it does not hold.
    """
    return assert_near_v1(x, y, rtol, atol, None, summarize, message, name)


def assert_near_v1(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Asserts that |x - y| <= atol + rtol * |y| holds everywhere.

    See `tf.debugging.assert_near`.
    """
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, x.dtype)
    real = x.dtype.real_dtype
    precision = 10 * _precision(real)
    tolerances = [convert_to_tensor(precision if t is None else t, real) for t in (rtol, atol)]
    absolute = "ComplexAbs" if x.dtype.is_complex else "Abs"
    attrs = {"Tout": real} if x.dtype.is_complex else None
    gap, size = (execute(absolute, (v,), attrs) for v in (execute("Sub", (x, y)), y))
    allowed = execute("AddV2", (tolerances[1], execute("Mul", (tolerances[0], size))))
    text = f"x and y not equal to tolerance rtol = {tolerances[0]}, atol = {tolerances[1]}"
    shown = data or [message or "", text, f"x {_label(x)} = ", x, f"y {_label(y)} = ", y]
    condition = _everywhere(execute("LessEqual", (gap, allowed)))
    return assert_that(condition, shown, summarize, name or "assert_near")


def _precision(dtype: Any) -> float:
    return 2.0**-7 if dtype.name == "bfloat16" else float(np.finfo(as_dtype(dtype).numpy_dtype).eps)


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Any:
    """The tensor itself, after a check that it holds neither NaN nor infinity.

    Args:
      x: a floating tensor.
      message: the beginning of the error's text.
      name: the name in a graph.

    Returns:
      A tensor like `x`.

    Raises:
      InvalidArgumentError: it holds NaN or infinity.
    """
    return check_numerics(x, message, name)


def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: str | None = None,
) -> Any:
    """The tensor itself, after a check that it is finite.

    `t` and `msg` are the old names of `x` and `message`.
    """
    return check_numerics(t if x is None else x, (msg if message is None else message) or "", name)
