"""Objects that exist for the sake of a SavedModel: files, resources, constants, signatures."""

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.core import files
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import EagerTensor
from penstock.core.trackable import AutoTrackable, Trackable
from penstock.graph.behavior import init_scope
from penstock.graph.func_graph import AS_INPUT
from penstock.types import dtypes as dt


class Asset(Trackable):
    """A file that goes with a model: saving copies it, loading finds the copy.

    Args:
      path: the file; text, a path, or a string scalar.

    Example:
      >>> asset = Asset("/tmp/vocabulary.txt")
      >>> asset.asset_path.numpy()
      b'/tmp/vocabulary.txt'
    """

    def __init__(self, path: Any) -> None:
        with init_scope():
            self._path = convert_to_tensor(_plain(path), dt.string)
        if isinstance(self._path, EagerTensor):
            self._path._handle_data = AS_INPUT

    @property
    def asset_path(self) -> Any:
        """The path: string []. After loading, that of the copy."""
        return self._path

    def _local_path(self) -> str:
        """The path, as text."""
        return files.local_path(self._path.numpy())

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return convert_to_tensor(self._path, dtype, name=name)


def _plain(path: Any) -> Any:
    return path.__fspath__() if hasattr(path, "__fspath__") else path


class Constant(Trackable):
    """A tensor that functions capture, as an object of its own."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class TrackableResource(Trackable):
    """The base class of resources that models hold: tables and the like.

    A subclass defines `_create_resource`, which returns a resource tensor, and may define
    `_initialize` and `_destroy_resource`. The three are traced when a model is saved, and called
    when it is loaded.

    Args:
      device: the device that it is made on.
    """

    def __init__(self, device: str = "") -> None:
        self._resource_handle: Any = None
        self._resource_device = device

    @property
    def resource_handle(self) -> Any:
        """The resource: resource []. Made when it is asked for first."""
        if self._resource_handle is None:
            with init_scope():
                self._resource_handle = self._create_resource()
        return self._resource_handle

    def _create_resource(self) -> Any:
        """Makes the resource; returns its handle."""
        raise NotImplementedError("TrackableResource._create_resource not implemented.")

    def _initialize(self) -> Any:
        """Gives the resource its first content."""

    def _destroy_resource(self) -> Any:
        """Gives the resource back."""


class RestoredResource(TrackableResource):
    """A resource of a loaded model: its functions are children."""

    def _child(self, name: str) -> Any:
        return self._children_table().get(name)

    def _create_resource(self) -> Any:
        create = self._child("_create_resource")
        if create is None:
            raise ValueError(
                "a resource of a SavedModel: expected a function _create_resource, got none. The "
                "model is damaged."
            )
        return create()

    def _initialize(self) -> Any:
        found = self._child("_initialize")
        return None if found is None else found()

    def _destroy_resource(self) -> Any:
        found = self._child("_destroy_resource")
        return None if found is None else found()


class SignatureMap(Mapping[str, Any], Trackable):
    """The signatures of a model by name: functions of named tensors that return a dictionary."""

    def __init__(self) -> None:
        self._signatures: dict[str, Any] = {}

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
