"""Objects that hold a resource, and files that go with them: what models save beside variables."""

from typing import Any

from penstock.core import files
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import EagerTensor
from penstock.core.trackable import Trackable
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
            self._path = convert_to_tensor(_plain(path), dt.string, name="asset_path")
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


class TrackableResource(Trackable):
    """The base class of resources that models hold: tables and the like.

    A subclass defines `_create_resource`, which returns a resource tensor, and may define
    `_initialize` and `_destroy_resource`. The three are traced when a model is saved, and called
    when it is loaded.

    Args:
      device: the device that it is made on.
    """

    _resource_device = ""

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
