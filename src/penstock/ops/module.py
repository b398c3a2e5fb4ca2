"""`Module`: a named container of variables and other modules.

A module owns what its attributes hold, nested lists, tuples and dictionaries included. Its
properties walk the attributes in the order of their names and list everything once.
"""

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from penstock.core.trackable import AutoTrackable
from penstock.graph.behavior import name_scope
from penstock.ops.variables import Variable
from penstock.util import nest_paths

_NAME = re.compile(r"^[A-Za-z_]([A-Za-z0-9_])*$")
_IGNORED = frozenset(
    {"_self_tracked", "_self_hidden", "_self_containers", "_self_pending", "_name_scope"}
)


class Module(AutoTrackable):
    """The base class of things made of variables, modules and functions on them.

    Args:
      name: a Python identifier; the class name in snake_case by default.

    Raises:
      ValueError: `name` is no identifier.

    Example:
      >>> class Dense(Module):
      ...     def __init__(self):
      ...         super().__init__()
      ...         self.w = Variable([[1.0]], name="w")
      >>> Dense().name
      'dense'
      >>> [v.name for v in Dense().variables]
      ['w:0']
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = _IGNORED

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = snake_case(type(self).__name__)
        elif not _NAME.match(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        with name_scope(name) as scope:
            self._name_scope = name_scope(scope or name)

    @property
    def name(self) -> str:
        """The name given, or that of the class in snake_case."""
        return self._name

    @property
    def name_scope(self) -> name_scope:
        """A scope in which operations are named after this module."""
        return self._name_scope

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of this module and its submodules, each once, its own first."""
        return tuple(self._flatten(predicate=_is_variable, expand_composites=True))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones of `variables`."""
        return tuple(self._flatten(predicate=_is_trainable, expand_composites=True))

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The others of `variables`."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple["Module", ...]:
        """The modules inside of this one, at any depth."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """What the attributes hold and `predicate` takes, each object once.

        Args:
          recursive: whether to go into submodules.
          predicate: which leaves to give; all by default.
          attribute_traversal_key: the sort key of attribute names.
          with_path: whether to give pairs of path and leaf.
          expand_composites: whether to take values apart that are made of several tensors.
        """
        wanted = predicate if predicate is not None else lambda value: True
        return _walk(
            self,
            recursive,
            wanted,
            attribute_traversal_key,
            (),
            with_path,
            expand_composites,
            {id(self)},
        )

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the method runs inside the module's name scope.

        Args:
          method: a method of a Module.
        """

        @functools.wraps(method)
        def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


def _is_trainable(value: Any) -> bool:
    return isinstance(value, Variable) and bool(value.trainable)


def snake_case(name: str) -> str:
    """`ResNetBlock` as `res_net_block`."""
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)(?<!_)[A-Z](?=[a-z]))", r"_\1", name).lower()


def _walk(
    module: Any, recursive: bool, wanted: Callable[[Any], bool], key: Any, path: tuple[Any, ...],
    with_path: bool, expand: bool, seen: set[int],
) -> Iterator[Any]:  # fmt: skip
    attributes = vars(module)
    inner: list[tuple[tuple[Any, ...], Module]] = []
    for name in sorted(attributes, key=key):
        if name in module._TF_MODULE_IGNORED_PROPERTIES or name in _IGNORED:
            continue
        for leaf_path, leaf in _leaves(attributes[name], name, expand):
            if id(leaf) in seen:
                continue
            full = (*path, *leaf_path)
            if wanted(leaf):
                seen.add(id(leaf))
                yield (full, leaf) if with_path else leaf
            if recursive and isinstance(leaf, Module):
                seen.add(id(leaf))
                inner.append((full, leaf))
    for full, leaf in inner:
        yield from _walk(leaf, recursive, wanted, key, full, with_path, expand, seen)


def _leaves(value: Any, name: str, expand: bool) -> list[tuple[tuple[Any, ...], Any]]:
    try:
        found = nest_paths.flatten_with_tuple_paths(value, expand_composites=expand)
    except (TypeError, ValueError):  # keys that cannot be sorted
        return [((name,), value)]
    return [((name, *path), leaf) for path, leaf in found]
