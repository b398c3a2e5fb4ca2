"""Operations that pass their input on: with a stopped gradient, a checked value, a copy.

Also `no_op`, which has none.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.effects import drawn
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jax, jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.tensor import Tensor
from penstock.core.traced import TraceContext
from penstock.ops.array_basics import NO_OP
from penstock.util import nest

Array = Any


def _pass_through(text: str, doc: str, **options: Any) -> OpDef:
    op = define_op(text, shape=shapes.same, doc=doc, **options)

    @kernel(op, limit=1 << 62)
    def _same(xp: Any, x: Array) -> Array:
        return x

    return op


STOP_GRADIENT = _pass_through(
    "StopGradient(input: T; T: type) -> output: T", "The input; no gradient flows back."
).not_differentiable("it stops gradients")

PREVENT_GRADIENT = _pass_through(
    "PreventGradient(input: T; T: type, message: string = '') -> output: T",
    "The input; asking for its gradient is an error.",
)


@PREVENT_GRADIENT.gradient
def _prevent_gradient(op: Any, grad: Any) -> Any:
    message = op.get_attr("message")
    raise LookupError(f"Gradient explicitly disabled. Reason: {message!r}")


SNAPSHOT = _pass_through("Snapshot(input: T; T: type) -> output: T", "The input as it is now.")
COPY = _pass_through(
    "Copy(input: T; T: type, tensor_name: string = '', debug_ops_spec: list(string) = []) -> "
    "output: T",
    "A copy of the input.",
)
COPY_HOST = _pass_through(
    "CopyHost(input: T; T: type, tensor_name: string = '', debug_ops_spec: list(string) = []) -> "
    "output: T",
    "A copy of the input on the host.",
)
GUARANTEE_CONST = _pass_through(
    "GuaranteeConst(input: T; T: type) -> output: T",
    "The input, which the caller promises not to change.",
    stateful=True,
)
DEBUG_GRADIENT_IDENTITY = _pass_through(
    "DebugGradientIdentity(input: T; T: type) -> output: T",
    "The input, marked for a debugger of gradients.",
)
DEEP_COPY = define_op(
    "DeepCopy(x: T; T: type) -> y: T", shape=shapes.same, stateful=True, doc="A copy of the input."
)


@kernel(DEEP_COPY)
def _deep_copy(xp: Any, x: Array) -> Array:
    return xp.array(x)


for _op in (SNAPSHOT, COPY, COPY_HOST, GUARANTEE_CONST, DEBUG_GRADIENT_IDENTITY, DEEP_COPY):
    _op.gradient(lambda op, grad: grad)

FLOATS = "{bfloat16, half, float, double}"
CHECK_NUMERICS = define_op(
    f"CheckNumerics(tensor: T; T: {FLOATS}, message: string) -> output: T",
    shape=shapes.same,
    fallible=True,
    stateful=True,
    doc="The input, after a check that it holds neither NaN nor infinity.",
)


_KINDS = {"-Inf": "isneginf", "+Inf": "isposinf", "NaN": "isnan"}  # NumPy's functions, and JAX's


def _listed(found: list[str]) -> str:
    last = " and " if len(found) < 3 else ", and "
    return ", ".join(found[:-1]) + last + found[-1] if len(found) > 1 else "".join(found)


def _of_one_sign(found: list[str]) -> str:
    return " and ".join(w for w in ("Inf", "NaN") if any(w in each for each in found))


def _check_finite(x: Array, message: str, listed: Callable[[list[str]], str]) -> Array:
    if not np.isfinite(x).all():
        found = [name for name, test in _KINDS.items() if getattr(np, test)(x).any()]
        raise errors.InvalidArgumentError(
            None, None, f"{message} : Tensor had {listed(found)} values"
        )
    return x


def _check_finite_compiled(
    ctx: TraceContext, x: Any, message: str, listed: Callable[[list[str]], str]
) -> Any:
    """One pass: a bit for each kind of number, and all bits that are set anywhere."""
    bits = jnp.zeros((), jnp.uint8)
    for place, test in enumerate(_KINDS.values()):
        bits |= getattr(jnp, test)(x).astype(jnp.uint8) << place
    kinds = jax.lax.reduce(bits, np.uint8(0), jax.lax.bitwise_or, tuple(range(x.ndim)))

    def text(kinds: Any) -> str:
        found = [name for place, name in enumerate(_KINDS) if int(kinds) >> place & 1]
        return f"{message} : Tensor had {listed(found)} values"

    ctx.check(kinds == 0, errors.InvalidArgumentError, text, kinds)
    return x


@host_kernel(CHECK_NUMERICS)
def _check_numerics(x: Array, *, message: str) -> Array:
    return _check_finite(x, message, _of_one_sign)


@compiled_kernel(CHECK_NUMERICS)
def _check_numerics_compiled(ctx: TraceContext, x: Any, *, message: str) -> Any:
    return _check_finite_compiled(ctx, x, message, _of_one_sign)


CHECK_NUMERICS_V2 = define_op(
    f"CheckNumericsV2(tensor: T; T: {FLOATS}, message: string) -> output: T",
    shape=shapes.same,
    fallible=True,
    stateful=True,
    doc=(
        "The input, after a check that it holds neither NaN nor infinity; the error tells -Inf "
        "from +Inf."
    ),
)


@host_kernel(CHECK_NUMERICS_V2)
def _check_numerics_v2(x: Array, *, message: str) -> Array:
    return _check_finite(x, message, _listed)


@compiled_kernel(CHECK_NUMERICS_V2)
def _check_numerics_v2_compiled(ctx: TraceContext, x: Any, *, message: str) -> Any:
    return _check_finite_compiled(ctx, x, message, _listed)


@CHECK_NUMERICS.gradient
def _check_numerics_gradient(op: Any, grad: Any) -> Any:
    message = op.get_attr("message")
    text = message.decode() if isinstance(message, bytes) else message
    return check_numerics(
        grad, f"Not a number (NaN) or infinity (Inf) values detected in gradient. {text}"
    )


CHECK_NUMERICS_V2.gradient(_check_numerics_gradient)

TIMESTAMP = define_op(
    "Timestamp() -> ts: double", shape=shapes.scalar, stateful=True, doc="Seconds since 1970."
).not_differentiable("it has no inputs")


@host_kernel(TIMESTAMP)
def _timestamp() -> Array:
    return np.asarray(drawn("clock", time.time))


# ---- public functions


def stop_gradient(input: Any, name: str | None = None) -> Any:
    """The input, through which no gradient flows.

    Args:
      input: any tensor, or a structure of composite tensors.
      name: the name in a graph.

    Returns:
      A value like `input`.
    """
    if isinstance(input, Tensor) or not hasattr(input, "_type_spec") or hasattr(input, "handle"):
        return execute(STOP_GRADIENT, (input,), None, name)
    return nest.map_structure(
        lambda t: execute(STOP_GRADIENT, (t,), None, name), input, expand_composites=True
    )


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Any:
    """The input; asking for a gradient through it raises LookupError with `message`."""
    return execute(PREVENT_GRADIENT, (input,), {"message": message}, name)


def guarantee_const(input: Any, name: str | None = None) -> Any:
    """The input, of which the caller promises that it never changes."""
    return execute(GUARANTEE_CONST, (input,), None, name)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """The input, after a check that it holds neither NaN nor infinity.

    Args:
      tensor: bfloat16, float16, float32 or float64, any shape.
      message: the beginning of the error's text.
      name: the name in a graph.

    Returns:
      A tensor like `tensor`.

    Raises:
      InvalidArgumentError: it holds NaN or infinity.
    """
    return execute(CHECK_NUMERICS, (tensor,), {"message": message}, name)


def timestamp(name: str | None = None) -> Any:
    """Seconds since 1970, as a float64 scalar, when it runs."""
    return execute(TIMESTAMP, (), None, name)


def no_op(name: str | None = None) -> Any:
    """Does nothing; in a graph an Operation to attach control dependencies to."""
    return execute(NO_OP, (), None, name)
