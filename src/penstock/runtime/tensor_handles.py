"""`TensorHandle`: what a session answers for `get_session_handle`: a tensor that stays in it."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.runtime.session import DirectSession

STORE = "session tensors"  # as penstock.ops.session_tensors has it
FETCHED = "GetSessionHandle"  # the operation whose output is fetched as a handle


class TensorHandle:
    """Names a tensor that a step left in its session. Feed it, or read it with `eval`.

    Attributes:
      handle: the text that `get_session_tensor` takes.
    """

    def __init__(self, handle: bytes, session: DirectSession) -> None:
        self._handle = handle
        self._session = session

    @property
    def handle(self) -> str:
        """The handle's text."""
        return self._handle.decode()

    def get_raw_handle(self) -> bytes:
        """The handle as the operations have it."""
        return self._handle

    def eval(self) -> Any:
        """The tensor's value.

        Raises:
          InvalidArgumentError: it was deleted.
        """
        return np.array(self._value())[()]

    def to_numpy_array(self) -> np.ndarray[Any, Any]:
        """The tensor's value as an array of its own."""
        return np.array(self._value())

    def delete(self) -> None:
        """Drops the tensor from the session.

        Raises:
          InvalidArgumentError: it was deleted before.
        """
        self._value()
        self._session.state[STORE].pop(self._handle, None)  # another thread may have dropped it

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """An array of its own: what is written to it must not change what the session holds."""
        if copy is False:
            raise ValueError(
                f"TensorHandle '{self.handle}': expected copy=None or copy=True, got copy=False. A"
                " tensor that stays in a session is given as a copy: leave copy out."
            )
        return np.array(self._value(), dtype)

    def _value(self) -> Any:
        found = self._session.state.get(STORE, {}).get(self._handle)
        if found is None:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"the tensor with handle '{self.handle}' is not in the session: expected one that "
                "was not deleted.",
            )
        return found

    def __str__(self) -> str:
        return self.handle

    def __repr__(self) -> str:
        return f"<TensorHandle {self.handle}>"
