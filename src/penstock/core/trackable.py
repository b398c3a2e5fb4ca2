"""Objects that a checkpoint can follow: a graph of named children.

A `Trackable` names its children explicitly with `_track_trackable`. An `AutoTrackable` has its
attributes for children: trackable objects, and lists, tuples and dictionaries that hold some,
found when they are asked for, so that a deleted attribute is gone from the graph too. Attributes
set inside a method wrapped by `no_automatic_dependency_tracking` are left out.
"""

import functools
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

TrackableReference = namedtuple("TrackableReference", ["name", "ref"])


class Trackable:
    """The base class of objects with state that checkpoints save."""

    def _children_table(self) -> dict[str, Any]:
        table = self.__dict__.get("_self_tracked")
        if table is None:
            table = self.__dict__["_self_tracked"] = {}
        return table

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Names a child.

        Args:
          trackable: the child.
          name: its name in checkpoints.
          overwrite: whether it replaces a child of that name.

        Raises:
          TypeError: it is not trackable.
          ValueError: another child has the name.
        """
        if not isinstance(trackable, Trackable):
            raise TypeError(
                f"Trackable._track_trackable() can only be used to track objects of type "
                f"Trackable. Got type {type(trackable)}."
            )
        table = self._children_table()
        if not overwrite and table.get(name, trackable) is not trackable:
            raise ValueError(
                f"Called Trackable._track_trackable() with name='{name}', but a Trackable with "
                f"this name is already declared as a dependency. Names must be unique (or "
                f"overwrite=True)."
            )
        table[name] = trackable
        return trackable

    def _lookup_dependency(self, name: str, cached_dependencies: Any = None) -> Any:
        """The child of that name, or None."""
        if cached_dependencies:
            return cached_dependencies.get(name)
        return self._trackable_children().get(name)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """The children by name."""
        return dict(self._children_table())

    @property
    def _unconditional_checkpoint_dependencies(self) -> list[TrackableReference]:
        return [TrackableReference(n, c) for n, c in self._trackable_children().items()]

    @property
    def _unconditional_dependency_names(self) -> dict[str, Any]:
        return self._trackable_children()

    def _maybe_initialize_trackable(self) -> None:
        """Accepted for compatibility: children are found when they are asked for."""

    def _no_dependency(self, value: Any) -> Any:
        """`value`, which is not to become a child."""
        return value

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """The tensors that a checkpoint saves, by name."""
        return {}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        """Takes the state from tensors that `_serialize_to_tensors` named."""
        raise NotImplementedError(f"{type(self).__name__} saves no tensors")

    @property
    def _setattr_tracking(self) -> bool:
        return bool(self.__dict__.get("_self_setattr_tracking", True))

    @_setattr_tracking.setter
    def _setattr_tracking(self, value: bool) -> None:
        self.__dict__["_self_setattr_tracking"] = value


class AutoTrackable(Trackable):
    """A Trackable whose attributes are its children.

    Example:
      >>> parent, child = AutoTrackable(), AutoTrackable()
      >>> parent.inner = child
      >>> parent._trackable_children() == {"inner": child}
      True
    """

    def __setattr__(self, name: str, value: Any) -> None:
        hidden = self.__dict__.setdefault("_self_hidden", set())
        if self._setattr_tracking:
            hidden.discard(name)
        else:
            hidden.add(name)
        super().__setattr__(name, value)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        found = dict(self._children_table())
        hidden = self.__dict__.get("_self_hidden", ())
        for name, value in list(self.__dict__.items()):
            if not name.startswith("_self_") and name not in hidden:
                child = as_child(self, name, value)
                if child is not None:
                    found[name] = child
        return found


class Container(Trackable):
    """A list, tuple or dictionary among the attributes of an AutoTrackable."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def _items(self) -> Iterator[tuple[str, Any]]:
        if isinstance(self._values, dict):
            return iter([(str(k), v) for k, v in self._values.items()])
        return iter([(str(i), v) for i, v in enumerate(self._values)])

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        children = {name: as_child(self, name, value) for name, value in self._items()}
        return {name: child for name, child in children.items() if child is not None}


def as_child(owner: Trackable, name: str, value: Any) -> Trackable | None:
    """`value` as a child: itself if trackable, a container that holds some wrapped, else None."""
    if isinstance(value, Trackable):
        return value
    if not isinstance(value, (list, tuple, dict)) or not holds_trackable(value):
        return None
    wrappers = owner.__dict__.setdefault("_self_containers", {})
    found = wrappers.get(name)
    if found is None or found._values is not value:
        found = wrappers[name] = Container(value)
    return found  # type: ignore[no-any-return]


def holds_trackable(value: Any) -> bool:
    """Whether a list, tuple or dictionary holds a trackable object at any depth."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, Trackable):
            return True
        if isinstance(item, (list, tuple, dict)) and holds_trackable(item):
            return True
    return False


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: attributes that the method sets do not become children."""

    @functools.wraps(method)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self._setattr_tracking
        self._setattr_tracking = False
        try:
            return method(self, *args, **kwargs)
        finally:
            self._setattr_tracking = before

    return wrapped
