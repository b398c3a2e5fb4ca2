"""Short names for building graphs in the runtime's tests."""

import numpy as np

from penstock import errors, ops
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import define_op, find
from penstock.types import dtypes as dt

ops.load_all()


def placeholder(dims=None, dtype=dt.float32, name="Placeholder"):
    return execute("Placeholder", (), {"dtype": dtype, "shape": dims}, name)


def const(value, dtype=np.float32, name="Const"):
    from_numpy = np.asarray(value, dtype)
    return execute("Identity", (from_numpy,), None, name)


def add(x, y, name=None):
    return execute("AddV2", (x, y), None, name)


def mul(x, y, name=None):
    return execute("Mul", (x, y), None, name)


def identity(x, name=None):
    return execute("Identity", (x,), None, name)


def variable(name, dims=(), dtype=dt.float32):
    return execute("VarHandleOp", (), {"dtype": dtype, "shape": dims, "shared_name": name}, name)


def read(handle, dtype=dt.float32, name=None):
    return execute("ReadVariableOp", (handle,), {"dtype": dtype}, name)


def assign(handle, value, name=None):
    return execute("AssignVariableOp", (handle, value), None, name)


def assign_add(handle, value, name=None):
    return execute("AssignAddVariableOp", (handle, value), None, name)


def no_op(name=None):
    return execute("NoOp", (), None, name)


hooks = {}  # what the toy operations below call

if find("ToyCall") is None:
    TOY_CALL = define_op(
        "ToyCall(x: T; T: type, hook: string) -> y: T", shape=lambda c: c.shape(0), stateful=True
    )
    TOY_CALL.not_differentiable("a toy")
    TOY_QUICK = define_op(
        "ToyQuick(x: T; T: type, hook: string) -> y: T", shape=lambda c: c.shape(0), stateful=True
    )
    TOY_QUICK.not_differentiable("a toy")

    @host_kernel(TOY_CALL, reentrant=True)
    def _toy_call(ctx, x, *, hook):
        return hooks[hook](ctx, x)

    @host_kernel(TOY_QUICK)
    def _toy_quick(ctx, x, *, hook):
        return hooks[hook](ctx, x)


if find("ToyChecked") is None:
    TOY_CHECKED = define_op(
        "ToyChecked(x: T; T: type) -> y: T", shape=lambda c: c.shape(0), fallible=True
    )
    TOY_CHECKED.not_differentiable("a toy")

    @kernel(TOY_CHECKED)
    def _toy_checked(ctx, xp, x):
        largest = xp.max(x)
        ctx.check(
            largest < 100,
            errors.InvalidArgumentError,
            lambda found: f"expected numbers below 100, got {found:.0f}",
            largest,
        )
        return x


def call(x, hook, name=None):
    """An operation that runs `hooks[hook](ctx, x)` and may wait."""
    return execute("ToyCall", (x,), {"hook": hook}, name)


def quick(x, hook, name=None):
    """An operation that runs `hooks[hook](ctx, x)`, which does not wait."""
    return execute("ToyQuick", (x,), {"hook": hook}, name)
