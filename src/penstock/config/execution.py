"""`tf.config.experimental`: how eager operations wait, kept for programs.

Operations here wait for nothing but values that are asked for, whatever is set: it is what
TensorFlow does by default. The setting is kept per thread, as in TensorFlow, so that programs that
read it back find it.
"""

import threading


class _Execution(threading.local):
    """The settings of one thread."""

    synchronous = True


_execution = _Execution()


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
