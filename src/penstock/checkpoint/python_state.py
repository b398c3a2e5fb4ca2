"""`PythonState`: state of a program's own that checkpoints keep as a string."""

from typing import Any

from penstock.checkpoint.options import PythonStateBase
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import EagerTensor
from penstock.core.trackable import Trackable
from penstock.ops.py_functions import py_func
from penstock.types import dtypes as dt

PY_STATE = "py_state"


class PythonState(Trackable, PythonStateBase):
    """The base class of objects whose state a checkpoint keeps as a string.

    A subclass defines `serialize()`, which returns text or bytes, and `deserialize(string_value)`,
    which takes bytes.

    Example:
      >>> class Words(PythonState):
      ...     words = ""
      ...     def serialize(self):
      ...         return self.words
      ...     def deserialize(self, string_value):
      ...         self.words = string_value.decode()
    """

    def _serialize_to_tensors(self) -> dict[str, Any]:
        if state.graph is None:
            return {PY_STATE: convert_to_tensor(self.serialize(), dt.string)}
        value = py_func(self.serialize, [], dt.string)
        value.set_shape(())
        return {PY_STATE: value}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        value = restored_tensors[PY_STATE]
        if isinstance(value, EagerTensor):
            self.deserialize(value.numpy())
            return None
        return py_func(self.deserialize, [value], [])
