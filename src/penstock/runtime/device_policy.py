"""What happens when an eager operation's input is on another device than the operation.

It is copied in silence by default; `set_device_policy` makes that a warning or an error, for the
calling thread. An operation runs on the device of its resource, on that of the scope, or without
one with what an accelerator holds, and on the first CPU otherwise. Strings, resources and int32
values count as held by the host, as in TensorFlow.
"""

import functools
import threading
from collections.abc import Sequence

from penstock.config.logging import get_logger
from penstock.core.context import LOCAL_TASK, refresh, state
from penstock.core.op_def import OpDef
from penstock.core.tensor import EagerTensor
from penstock.errors import InvalidArgumentError
from penstock.runtime.device_config import list_logical_devices
from penstock.types import dtypes as dt

POLICIES = ("explicit", "warn", "silent", "silent_for_int32")  # by TensorFlow's numbers
_COPIES = frozenset(("Identity", "IdentityN", "PartitionedCall", "StatefulPartitionedCall"))
_ON_THE_HOST = frozenset((dt.int32, dt.string, dt.resource, dt.variant))
_CPU = f"{LOCAL_TASK}/device:CPU:0"


class _Thread(threading.local):
    """The setting of one thread."""

    policy = "silent"


_thread = _Thread()


def set_device_policy(device_policy: str | None) -> None:
    """Says what happens when an operation's input is on another device, in this thread.

    Args:
      device_policy: "silent" copies it, "warn" says so too, "explicit" and "silent_for_int32"
        refuse it, unless it is of int32; None for the default, "silent".

    Raises:
      ValueError: there is no such policy.

    Example:
      >>> set_device_policy("warn"); get_device_policy()
      'warn'
      >>> set_device_policy(None); get_device_policy()
      'silent'
    """
    if device_policy is not None and device_policy not in POLICIES:
        raise ValueError(
            f"set_device_policy: expected one of {', '.join(POLICIES)} or None, got"
            f" {device_policy!r}. Leave the default."
        )
    _thread.policy = device_policy or "silent"
    checks = _thread.policy != "silent"
    state.policy = functools.partial(_check_devices, _thread.policy) if checks else None
    refresh()


def get_device_policy() -> str:
    """What `set_device_policy` was told in this thread."""
    return _thread.policy


def _check_devices(policy: str, op: OpDef, inputs: Sequence[EagerTensor]) -> None:
    """Warns of inputs on other devices than the operation's, or refuses them.

    Raises:
      InvalidArgumentError: there is one, and the policy wants copies to be spelled out.
    """
    if op.name in _COPIES:
        return
    wanted = _device_of(inputs)
    for i, tensor in enumerate(inputs):
        if tensor.dtype in _ON_THE_HOST or tensor.device == wanted:
            continue
        found = (
            f"input #{i} was expected to be on {wanted} but is actually on {tensor.device}"
            f" (operation running on {wanted})"
        )
        if policy == "warn":
            get_logger().warning(
                "before computing %s %s. This triggers a copy which can be a performance"
                " bottleneck.", op.name, found,
            )  # fmt: skip
            continue
        raise InvalidArgumentError(
            None,
            op,
            f"Tensors on conflicting devices: cannot compute {op.name} as {found}. Tensors can be"
            " copied explicitly using: `with tf.device(device_name): x = tf.identity(x)`, or"
            ' transparently after tf.config.experimental.set_device_policy("silent"). Copying'
            " tensors between devices may slow down your model.",
        )


def _device_of(inputs: Sequence[EagerTensor]) -> str:
    """The device that an operation on these runs on."""
    for tensor in inputs:
        if tensor.dtype is dt.resource:
            return tensor.device
    if state.device is not None:
        kind, _, number = state.device.rpartition("device:")[2].partition(":")
        wanted = f"{LOCAL_TASK}/device:{kind.upper()}:{number or 0}"
        known = [f"{LOCAL_TASK}{d.name}" for d in list_logical_devices()]
        return wanted if wanted in known else _CPU  # soft placement
    held = (t.device for t in inputs if t.dtype not in _ON_THE_HOST)
    return next((device for device in held if "CPU" not in device), _CPU)
