"""Small operations about where a program runs, and about truth: DeviceIndex, SyncDevice, ToBool."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel, kernel
from penstock.core.lazy import jax
from penstock.core.op_def import define_op
from penstock.ops.string_arrays import HOST, array_of, as_text

Array = Any  # numpy.ndarray or a JAX tracer

DEVICE_INDEX = define_op(
    "DeviceIndex(; device_names: list(string)) -> index: int32",
    shape=shapes.scalar,
    stateful=True,
    doc="Which of some device types this runs on; their number when it is none of them.",
).not_differentiable("a device is no number")


@host_kernel(DEVICE_INDEX)
def _device_index(ctx: KernelContext, *, device_names: Sequence[Any]) -> Array:
    names = [as_text(name) for name in device_names]
    here = "CPU"  # host kernels run there
    return np.array(names.index(here) if here in names else len(names), np.int32)


SYNC = define_op(
    "SyncDevice() -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Waits until the devices have finished what was started.",
).not_differentiable("it has no outputs")


@host_kernel(SYNC)
def _sync() -> list[Any]:
    jax.effects_barrier()
    return []


def sync_devices() -> None:
    """Waits until the devices have finished what was started.

    Raises:
      RuntimeError: it is called where a graph is built.
    """
    if state.graph is not None:
        raise RuntimeError("sync_devices() must only be called in eager mode. Call it outside.")
    execute(SYNC, ())


TO_BOOL = define_op(
    "ToBool(input: T; T: type) -> output: bool",
    shape=shapes.scalar,
    doc="Whether a scalar is not zero or empty, or another tensor has elements.",
).not_differentiable("truth is no number")


@kernel(TO_BOOL)
def _to_bool(xp: Any, x: Array) -> Array:
    if x.dtype.kind == "c":
        raise errors.InvalidArgumentError(
            None, None, "ToBool: expected real numbers, truths or strings, got complex ones."
        )
    if x.ndim:
        return xp.asarray(x.size > 0)
    if x.dtype == object:
        return np.asarray(len(x.item()) > 0)
    return x != 0


FACT = define_op(
    "Fact() -> fact: string", shape=shapes.scalar, doc="A fact about factorials."
).not_differentiable("a fact has no derivative")


@host_kernel(FACT, limit=HOST)
def _fact() -> Array:
    return array_of([b"0! == 1"], ())


def my_fact() -> Any:
    """A fact about factorials; the example of a user's operation.

    Returns:
      Scalar string.

    Example:
      >>> my_fact().numpy()
      b'0! == 1'
    """
    return execute(FACT, ())
