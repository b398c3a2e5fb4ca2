"""The kernel of `RemoteCall`: a function's body on the device that a value names."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import rounds
from penstock.core.kernels import KernelContext, register_kernel
from penstock.runtime.bodies import run_body
from penstock.runtime.control_flow import ON_HOST, with_handles
from penstock.runtime.devices import cpu_count, device_name
from penstock.types.device_spec import DeviceSpecV2


def _target(ctx: KernelContext, text: str) -> str:
    """The full name of the local device that a text names."""
    try:
        wanted = DeviceSpecV2.from_string(text if text.startswith("/") or not text else f"/{text}")
    except ValueError as problem:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{ctx.op_name}: expected a device's name as target, got '{text}': {problem}",
        ) from None
    kind, task = ctx.device or "CPU", ctx.resources.task
    first = device_name(kind, 0, task)
    full = DeviceSpecV2.from_string(first).make_merged_spec(wanted)
    names = [first, *(device_name("CPU", i, task) for i in range(cpu_count()))]
    if full.to_string() not in names:
        raise errors.InternalError(
            None,
            None,
            f"{ctx.op_name}: expected a device of this process as target, got '{text}'. There are "
            f"{', '.join(dict.fromkeys(names))}.",
        )
    return full.to_string()


def _remote_call(ctx: KernelContext, target: Any, args: Any, *, f: Any) -> Any:
    place = _target(ctx, np.asarray(target).item().decode())
    with rounds.at(f"{ctx.op_name}/"):  # as where a call is inlined
        return run_body(ctx, f, with_handles(args, (f,)), place)


register_kernel("RemoteCall", _remote_call, kind="host", limit=ON_HOST, reentrant=True)

__all__: list[str] = []
