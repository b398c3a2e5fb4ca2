"""`tf.config.experimental`: how eager operations treat devices and wait, kept for programs.

Operations here copy what is on another device, and wait for nothing but values that are asked for,
whatever is set: both are what TensorFlow does by default. The settings are kept per thread, as in
TensorFlow, so that programs that read them back find them.
"""

import threading

POLICIES = ("silent", "explicit", "warn", "silent_for_int32")


class _Execution(threading.local):
    """The settings of one thread."""

    policy = "silent"
    synchronous = True


_execution = _Execution()


def set_device_policy(device_policy: str | None) -> None:
    """Says what happens when an operation's input is on another device; see the module's text.

    Args:
      device_policy: "silent", "explicit", "warn" or "silent_for_int32"; None for the default.

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
    _execution.policy = device_policy or "silent"


def get_device_policy() -> str:
    """What `set_device_policy` was told in this thread."""
    return _execution.policy


def set_synchronous_execution(enable: bool) -> None:
    """Says whether an operation has ended when its call returns.

    Args:
      enable: True; also False, which promises less and changes nothing here.
    """
    _execution.synchronous = bool(enable)


def get_synchronous_execution() -> bool:
    """What `set_synchronous_execution` was told in this thread."""
    return _execution.synchronous


def enable_mlir_bridge() -> None:
    """Does nothing: every region reaches XLA through MLIR here."""


def disable_mlir_bridge() -> None:
    """Does nothing: every region reaches XLA through MLIR here."""
