"""Rendezvous: where what one partition of a step sends meets what another one receives.

A key names the two devices, the edge, and the round of the loop that it is in. Each key is sent
once and received once. A receiver waits through its step, so that a cancelled step, a deadline and
an error of another partition wake it.
"""

import threading
from typing import Any

from penstock import errors
from penstock.runtime.step import Step


def rendezvous_key(
    send_device: str, recv_device: str, edge: str, frame: int = 0, iteration: int = 0
) -> str:
    """The key of an edge between two devices.

    Example:
      >>> rendezvous_key("/device:CPU:0", "/device:CPU:1", "edge_3_x")
      '/device:CPU:0;/device:CPU:1;edge_3_x;0:0'
    """
    return f"{send_device};{recv_device};{edge};{frame}:{iteration}"


class Rendezvous:
    """The values under way in one step of one process. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # guards: _values, _sent, _error
        self._values: dict[str, Any] = {}
        self._sent: set[str] = set()
        self._error: errors.OpError | None = None

    def send(self, key: str, value: Any) -> None:
        """Leaves a value for whoever receives `key`.

        Raises:
          AbortedError: the key was sent before.
          OpError: the rendezvous was aborted with it.
        """
        with self._changed:
            if self._error is not None:
                raise self._error
            if key in self._sent:
                raise errors.AbortedError(
                    None, None, f"Duplicated send: {key}. Expected each edge once in a step."
                )
            self._sent.add(key)
            self._values[key] = value
            self._changed.notify_all()

    def recv(self, key: str, step: Step) -> Any:
        """Takes the value that was sent, waiting for it.

        Raises:
          CancelledError, DeadlineExceededError: the step ended first.
          OpError: the rendezvous was aborted with it.
        """
        with self._changed:
            step.wait(self._changed, lambda: key in self._values or self._error is not None, key)
            if key in self._values:
                return self._values.pop(key)
            assert self._error is not None
            raise self._error

    def abort(self, error: errors.OpError) -> None:
        """Makes every receiver, now and later, fail with `error`; the first one counts."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    @property
    def waiting_values(self) -> int:
        """How many values were sent and not received."""
        with self._changed:
            return len(self._values)


__all__ = ["Rendezvous", "rendezvous_key"]
