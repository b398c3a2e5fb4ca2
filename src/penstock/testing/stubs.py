"""Replacing attributes for the time of a test."""

from typing import Any


class StubOutForTesting:
    """Sets attributes of modules, classes and objects, and puts back what was there.

    Example:
      >>> import math
      >>> with StubOutForTesting() as stubs:
      ...     stubs.Set(math, "pi", 3)
      ...     math.pi
      3
      >>> round(math.pi, 2)
      3.14
    """

    def __init__(self) -> None:
        self._plain: list[tuple[Any, str, Any]] = []
        self._smart: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> "StubOutForTesting":
        return self

    def __exit__(self, *problem: Any) -> None:
        self.CleanUp()

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Sets `parent.child_name`; `UnsetAll` puts the old value back."""
        before = vars(parent).get(child_name, getattr(parent, child_name))
        self._plain.append((parent, child_name, before))
        setattr(parent, child_name, new_child)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Sets the attribute on the class or module that defines it, found along the base classes.

        Raises:
          AttributeError: nothing defines the attribute.
        """
        owners = [obj, *getattr(obj if isinstance(obj, type) else type(obj), "__mro__", ())]
        owner = next((o for o in owners if attr_name in getattr(o, "__dict__", {})), None)
        if owner is None:
            raise AttributeError(f"{obj!r} has no attribute {attr_name!r} that could be replaced")
        self._smart.append((owner, attr_name, vars(owner)[attr_name]))
        setattr(owner, attr_name, new_attr)

    def UnsetAll(self) -> None:
        """Undoes every `Set`, the last one first."""
        _restore(self._plain)

    def SmartUnsetAll(self) -> None:
        """Undoes every `SmartSet`, the last one first."""
        _restore(self._smart)

    def CleanUp(self) -> None:
        """Undoes everything; may be called again."""
        self.SmartUnsetAll()
        self.UnsetAll()


def _restore(entries: list[tuple[Any, str, Any]]) -> None:
    while entries:
        owner, name, before = entries.pop()
        setattr(owner, name, before)
