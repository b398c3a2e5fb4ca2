"""Objects that exist for the sake of a SavedModel: constants, signatures, restored ones."""

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.core.trackable import AutoTrackable, Trackable


class Constant(Trackable):
    """A tensor that functions capture, as an object of its own."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class SignatureMap(Mapping[str, Any], Trackable):
    """The signatures of a model by name: functions of named tensors that return a dictionary."""

    def __init__(self) -> None:
        self._signatures: dict[str, Any] = {}
        self._defaults: dict[str, dict[str, Any]] = {}  # values of inputs, by signature

    def _add_signature(self, name: str, function: Any) -> None:
        self._signatures[name] = function

    def __getitem__(self, key: str) -> Any:
        return self._signatures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"_SignatureMap({self._signatures!r})"

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        return dict(self._signatures) if save_type == "savedmodel" else {}


class UserObject(AutoTrackable):
    """An object of a loaded model: its attributes are the children that it was saved with."""


class CallableUserObject(UserObject):
    """One whose class defined `__call__` as a tf.function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function that was saved."""
        return self.__dict__["__call__"](*args, **kwargs)
