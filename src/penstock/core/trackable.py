"""Objects that a checkpoint can follow: a graph of named children.

A `Trackable` names its children explicitly with `_track_trackable`. An `AutoTrackable` has its
attributes for children: trackable objects, and lists, tuples and dictionaries, found when they are
asked for, so that a deleted attribute is gone from the graph too. Lists and dictionaries become a
`ListWrapper` and a `DictWrapper` when they are set, which are lists and dictionaries that name
their elements. Attributes set inside a method wrapped by `no_automatic_dependency_tracking` are
left out.

An object's own state goes through `_serialize_to_tensors` and `_restore_from_tensors`. A checkpoint
that is restored before all objects exist waits in `_self_pending` of those that do: whoever adds a
child calls `_child_added`, which hands the child its part. What waits has `bind_child(node, name,
child)` and `slot_added(node, variable, name, slot)`; `penstock.checkpoint` defines it.
"""

import functools
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any

TrackableReference = namedtuple("TrackableReference", ["name", "ref"])

_manager_loaders: list[Callable[[], Any]] = []


def set_manager_loader(load: Callable[[], Any]) -> None:
    """Says what gives the module with `managed`; the public layer, which may import it, does.

    Args:
      load: gives the module, whose `managed(objects, args)` makes the manager of checkpoints of
        some objects.
    """
    _manager_loaders[:] = [load]


def managed(objects: dict[str, Any], args: dict[str, Any]) -> Any:
    """A manager of checkpoints, for what lies below those who know how they are written.

    Args:
      objects: what the checkpoints hold, by name.
      args: those of `tf.train.CheckpointManager`, without the checkpoint.

    Returns:
      A `tf.train.CheckpointManager`.
    """
    (load,) = _manager_loaders
    return load().managed(objects, args)


class Trackable:
    """The base class of objects with state that checkpoints save."""

    _self_pending: list[tuple[Any, int]]  # checkpoints that wait for children, with node numbers
    _grouped_tensors = ""  # what all its tensors' names begin with, if checkpoints state that alone

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
        self._child_added(name, trackable)
        return trackable

    def _child_added(self, name: str, child: "Trackable") -> None:
        """Gives a new child its part of the checkpoints that wait for it."""
        for waiting, node in list(self.__dict__.get("_self_pending", ())):
            waiting.bind_child(node, name, child)

    def _slot_added(self, variable: Any, name: str, slot: Any) -> None:
        """Gives a new slot of an optimizer its part of the checkpoints that wait for it."""
        for waiting, node in list(self.__dict__.get("_self_pending", ())):
            waiting.slot_added(node, variable, name, slot)

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
        """The tensors that a checkpoint saves, by name; none for an object without state."""
        return {}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        """Takes the state from tensors that `_serialize_to_tensors` named.

        In a graph it adds the operations that do so, and returns them: one, or a list.
        """
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
        if not self._setattr_tracking:
            hidden.add(name)
            super().__setattr__(name, value)
            return
        hidden.discard(name)
        value = wrapped(value)
        super().__setattr__(name, value)
        if "_self_pending" in self.__dict__:
            child = as_child(self, name, value)
            if child is not None:
                self._child_added(name, child)

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
    """A tuple, or a list or dictionary of a class of its own, that holds trackable objects."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def _items(self) -> Iterator[tuple[str, Any]]:
        if isinstance(self._values, dict):
            return iter([(str(k), v) for k, v in self._values.items()])
        return iter([(str(i), v) for i, v in enumerate(self._values)])

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        children = {name: as_child(self, name, value) for name, value in self._items()}
        return {name: child for name, child in children.items() if child is not None}


class Wrapper(Trackable):
    """What `ListWrapper` and `DictWrapper` have in common."""

    def _hand_over(self, name: str, value: Any) -> None:
        if "_self_pending" in self.__dict__:
            child = as_child(self, name, value)
            if child is not None:
                self._child_added(name, child)

    def __reduce_ex__(self, protocol: Any) -> Any:
        plain = dict if isinstance(self, dict) else list
        return type(self), (plain(self),)  # type: ignore[call-overload]  # one of the two


class ListWrapper(Wrapper, list):  # type: ignore[type-arg]  # of anything
    """A list whose elements are children, named by their positions.

    Elements may be appended at any time. After a change that moves or removes elements, a list
    with trackable elements cannot be saved, for the positions in a checkpoint would lie.
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        if type(values) is list:
            self.__dict__["_self_source"] = values, tuple(values)
        super().__init__(wrapped(value) for value in values)

    def append(self, value: Any) -> None:
        """Adds an element."""
        value = wrapped(value)
        super().append(value)
        self._hand_over(str(len(self) - 1), value)

    def extend(self, values: Iterable[Any]) -> None:
        """Adds elements."""
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(values)
        return self

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        children = {str(i): as_child(self, str(i), value) for i, value in enumerate(self)}
        found = {name: child for name, child in children.items() if child is not None}
        source, copied = self.__dict__.get("_self_source", ((), ()))
        _check_unchanged(self, source, copied)
        moved = self.__dict__.get("_self_moved")
        if moved is not None and (found or moved):
            raise ValueError(
                f"Unable to save the object {self!r}: expected a list that only grew, got one "
                "whose element was replaced, moved or deleted. Positions name the elements in a "
                "checkpoint. Make a new list of the elements, or hide this one from checkpoints: "
                "set it in a method under no_automatic_dependency_tracking."
            )
        return found


class DictWrapper(Wrapper, dict):  # type: ignore[type-arg]  # of anything
    """A dictionary whose values are children, named by their keys, which are strings."""

    def __init__(self, values: Any = (), **more: Any) -> None:
        if type(values) is dict:
            self.__dict__["_self_source"] = values, dict(values)
        super().__init__({k: wrapped(v) for k, v in dict(values, **more).items()})

    def __setitem__(self, key: Any, value: Any) -> None:
        value = wrapped(value)
        super().__setitem__(key, value)
        self._hand_over(str(key), value)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a key, which gets one when it has none."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *values: Any, **more: Any) -> None:
        """Sets several values."""
        for key, value in dict(*values, **more).items():
            self[key] = value

    def __ior__(self, values: Any) -> Any:  # type: ignore[misc]
        self.update(values)
        return self

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        children = {key: as_child(self, str(key), value) for key, value in self.items()}
        found = {key: child for key, child in children.items() if child is not None}
        source, copied = self.__dict__.get("_self_source", ({}, {}))
        _check_unchanged(self, [*source, *source.values()], [*copied, *copied.values()])
        odd = [key for key in found if not isinstance(key, str)]
        if odd:
            raise ValueError(
                f"Unable to save the object {self!r}: expected strings as keys of trackable "
                f"values, got the key {odd[0]!r}. Use strings, or hide it from checkpoints: "
                "set it in a method under no_automatic_dependency_tracking."
            )
        return found


def _check_unchanged(wrapper: Any, source: Any, copied: Any) -> None:
    """Refuses a wrapper whose plain list or dictionary was changed after it was wrapped.

    The wrapper does not have what was put there, so a checkpoint would lack it without a word.

    Raises:
      ValueError: it was changed.
    """
    if len(source) != len(copied) or not all(map(_is_same, source, copied)):
        raise ValueError(
            f"Unable to save the object {wrapper!r}: expected that the plain list or dictionary "
            "which was set as an attribute stays as it was, got another content there. Change it "
            "through the attribute, or hide it from checkpoints: set it in a method under "
            "no_automatic_dependency_tracking."
        )


def _is_same(one: Any, other: Any) -> bool:
    plain = isinstance(one, (int, float, complex, str, bytes))
    return one is other or (plain and type(one) is type(other) and one == other)


def _marking(method: str) -> Callable[..., Any]:
    plain = getattr(list, method)

    @functools.wraps(plain)
    def changed(self: Any, *args: Any, **kwargs: Any) -> Any:
        held = any(as_child(self, str(i), v) is not None for i, v in enumerate(self))
        result = plain(self, *args, **kwargs)
        self.__dict__["_self_moved"] = held or self.__dict__.get("_self_moved", False)
        return result

    return changed


for _method in "__setitem__ __delitem__ __imul__ insert pop remove clear sort reverse".split():
    setattr(ListWrapper, _method, _marking(_method))


def wrapped(value: Any) -> Any:
    """A list or dictionary as one that names its elements; anything else as it is."""
    if type(value) is list:
        return ListWrapper(value)
    return DictWrapper(value) if type(value) is dict else value


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
