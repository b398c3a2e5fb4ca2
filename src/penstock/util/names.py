"""Names of operations and scopes: which are valid, and how to make one unique.

Names may contain letters, digits, slashes and ``_ . > -``; the first character of an operation's
name is a letter, a digit or a dot. Uniqueness ignores case, so that names can become file names.
"""

from __future__ import annotations

import re

OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


def is_valid_op_name(name: str) -> bool:
    """True when an operation, or the outermost scope, may have this name."""
    return OP_NAME.fullmatch(name) is not None


def is_valid_scope_name(name: str) -> bool:
    """True when a scope inside another may have this name."""
    return SCOPE_NAME.fullmatch(name) is not None


def check_op_name(name: str) -> str:
    """Returns `name` when an operation may have it.

    Raises:
      ValueError: the name is not valid.
    """
    if is_valid_op_name(name):
        return name
    raise ValueError(
        f"{name!r} is not a valid node name: expected a name that matches {OP_NAME.pattern}, "
        f"got {name!r}. Use letters, digits and _ . / - only, and start with a letter or a digit."
    )


def check_scope_name(name: str, root: bool = False) -> str:
    """Returns `name` when a scope may have it.

    Args:
      name: one or more parts separated by `/`.
      root: whether the scope is not inside another one; then an operation's rule holds.

    Raises:
      ValueError: the name is not valid.
    """
    pattern = OP_NAME if root else SCOPE_NAME
    if pattern.fullmatch(name) is not None:
        return name
    kind = "root scope name" if root else "scope name"
    raise ValueError(
        f"{name!r} is not a valid {kind}: expected a name that matches {pattern.pattern}, "
        f"got {name!r}. Use letters, digits and _ . / - only."
    )


class UniqueNames:
    """Names that are taken, and the next free form of each.

    A taken name gets `_1`, `_2` and so on. Not thread-safe: the graph that owns it has the lock.

    Example:
      >>> names = UniqueNames()
      >>> names.unique("dense"), names.unique("dense"), names.unique("Dense")
      ('dense', 'dense_1', 'Dense_2')
    """

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next: dict[str, int] = {}  # lower-case name -> suffix to try next

    def unique(self, name: str, mark_as_used: bool = True) -> str:
        """Returns `name`, or the name with the smallest free suffix when it is taken.

        Args:
          name: the wanted name.
          mark_as_used: whether the returned name counts as taken from now on.
        """
        key = name.lower()
        suffix = self._next.get(key)
        if suffix is None:
            if mark_as_used:
                self._next[key] = 1
            return name
        while f"{key}_{suffix}" in self._next:
            suffix += 1
        if mark_as_used:
            self._next[key] = suffix + 1
            self._next[f"{key}_{suffix}"] = 1
        return f"{name}_{suffix}"

    def is_taken(self, name: str) -> bool:
        """True when `name`, in any case, has been given out or marked."""
        return name.lower() in self._next

    def mark(self, name: str) -> None:
        """Takes `name` without making it unique, for names that come from a file."""
        self._next.setdefault(name.lower(), 1)

    def release(self, name: str) -> None:
        """Makes `name` free again."""
        self._next.pop(name.lower(), None)

    def copy(self) -> UniqueNames:
        """An independent copy, for undoing what a failed import took."""
        other = UniqueNames()
        other._next = dict(self._next)
        return other
