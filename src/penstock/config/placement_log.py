"""Which device each operation of a plan is put on, logged when the plan is made.

Sessions ask for it with ``ConfigProto(log_device_placement=True)``, programs with
`set_log_device_placement`. It is seen whatever the level of the log is, since it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.config import logging

_state = {"enabled": False}


def set_log_device_placement(enabled: bool) -> None:
    """Says whether the devices of a function's operations are logged when it first runs.

    Operations that run eagerly are not logged: `tensor.device` says where one ran.

    Args:
      enabled: a bool.

    Raises:
      TypeError: it is something else.

    Example:
      >>> set_log_device_placement(True); get_log_device_placement()
      True
      >>> set_log_device_placement(False)
    """
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_log_device_placement: expected a bool, got {enabled!r}. Pass True or False."
        )
    _state["enabled"] = enabled


def get_log_device_placement() -> bool:
    """Whether placements are logged."""
    return _state["enabled"]


def log_placement(nodes: Iterable[Any]) -> None:
    """Logs name, type and device of a plan's operations."""
    logger = logging.get_logger()
    level = max(logging.INFO, logger.getEffectiveLevel())
    for node in nodes:
        logger.log(level, "%s: (%s): %s", node.name, node.type, node.device)
