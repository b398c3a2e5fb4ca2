"""What makes a class nested, and how its children are taken out and put back.

`KINDS` and `COMPOSITE_KINDS` map a class to its `Kind` and fill themselves. `children` lists the
children of a structure, `rebuild` makes a structure of the same form from new ones. Both go over
tables with one row for each kind.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Mapping, MappingView, Sequence
from types import MappingProxyType
from typing import Any

_MAX_CLASSES = 10_000


class Kind(enum.IntEnum):
    """How a class holds its children."""

    LEAF = 0
    LIST = 1  # a list or another sequence that its class makes from a list
    TUPLE = 2
    NAMEDTUPLE = 3
    MAPPING = 4
    VIEW = 5  # keys(), values() or items() of a mapping, and range: come back as a list
    ATTRS = 6
    DATACLASS = 7
    COMPOSITE = 8  # a value with a `_type_spec`
    SPEC = 9  # a type spec with components


def _is_namedtuple(cls: type) -> bool:
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(isinstance(f, str) for f in fields)
    )


def _kind_of(cls: type) -> Kind:
    if issubclass(cls, str | bytes | bytearray | memoryview):
        return Kind.LEAF
    if issubclass(cls, tuple):
        return Kind.NAMEDTUPLE if _is_namedtuple(cls) else Kind.TUPLE
    if hasattr(cls, "__tf_flatten__") and hasattr(cls, "__tf_unflatten__"):
        return Kind.DATACLASS
    if issubclass(cls, Mapping):
        return Kind.MAPPING
    if issubclass(cls, MappingView | range):
        return Kind.VIEW
    if hasattr(cls, "__attrs_attrs__"):
        return Kind.ATTRS
    return Kind.LIST if issubclass(cls, Sequence) else Kind.LEAF


def _kind_with_composites(cls: type) -> Kind:
    if not getattr(cls, "__nest_leaf__", False):
        if hasattr(cls, "_type_spec"):
            return Kind.COMPOSITE
        if hasattr(cls, "_component_specs") and hasattr(cls, "_from_components"):
            return Kind.SPEC
    return _kind_of(cls)


class _KindTable(dict[type, Kind]):
    """A table from class to kind that decides about a class when it is first seen."""

    def __init__(self, decide: Callable[[type], Kind]) -> None:
        super().__init__()
        self._decide = decide

    def __missing__(self, cls: type) -> Kind:
        if len(self) >= _MAX_CLASSES:
            self.clear()
        kind = self[cls] = self._decide(cls)
        return kind


KINDS: Mapping[type, Kind] = _KindTable(_kind_of)
COMPOSITE_KINDS: Mapping[type, Kind] = _KindTable(_kind_with_composites)


def sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """The keys of a mapping in the order of its children.

    Raises:
      TypeError: the keys cannot be compared with each other.
    """
    try:
        return sorted(mapping)
    except TypeError as error:
        raise TypeError(
            f"nest: expected a mapping with keys that can be sorted, got keys {list(mapping)!r}: "
            f"{error}. Use keys of one type, such as str."
        ) from error


def _mapping_children(structure: Any) -> list[Any]:
    return [structure[key] for key in sorted_keys(structure)]


def _attrs_children(structure: Any) -> list[Any]:
    return [getattr(structure, field.name) for field in structure.__attrs_attrs__]


def _dataclass_parts(structure: Any) -> tuple[Any, Any]:
    metadata, components = structure.__tf_flatten__()
    return metadata, components


def _as_list(structure: Any) -> Any:
    return structure if isinstance(structure, list | tuple) else list(structure)


_CHILDREN: tuple[Callable[[Any], Any], ...] = (
    lambda structure: [structure],
    _as_list,
    _as_list,
    _as_list,
    _mapping_children,
    list,
    _attrs_children,
    lambda structure: _dataclass_parts(structure)[1],
    lambda structure: [structure._type_spec._to_components(structure)],
    lambda structure: [structure._component_specs],
)


def children(structure: Any, kind: Kind) -> Any:
    """The children of a structure in their order, as a list or tuple that must not be changed."""
    return _CHILDREN[kind](structure)


def _rebuild_list(structure: Any, items: list[Any]) -> Any:
    return items if type(structure) is list else type(structure)(items)


def _rebuild_mapping(structure: Any, items: list[Any]) -> Any:
    by_key = dict(zip(sorted_keys(structure), items, strict=True))
    pairs = [(key, by_key[key]) for key in structure]  # the order of the original
    if isinstance(structure, defaultdict):
        return type(structure)(structure.default_factory, pairs)
    if isinstance(structure, MappingProxyType):
        return MappingProxyType(dict(pairs))
    try:
        return type(structure)(pairs)
    except TypeError as error:
        raise TypeError(
            f"Error creating an object of type {type(structure)} like {structure}: expected a "
            f"class that can be made from one iterable of key-value pairs, got: {error}. Add such "
            "a constructor, or use a dict."
        ) from error


def _rebuild_dataclass(structure: Any, items: list[Any]) -> Any:
    metadata, _ = _dataclass_parts(structure)
    return type(structure).__tf_unflatten__(metadata, tuple(items))


_REBUILD: tuple[Callable[[Any, list[Any]], Any], ...] = (
    lambda structure, items: items[0],
    _rebuild_list,
    lambda structure, items: type(structure)(items),
    lambda structure, items: type(structure)(*items),
    _rebuild_mapping,
    lambda structure, items: items,
    lambda structure, items: type(structure)(*items),
    _rebuild_dataclass,
    lambda structure, items: structure._type_spec._from_components(items[0]),
    lambda structure, items: structure._from_components(items[0]),
)


def rebuild(structure: Any, kind: Kind, items: list[Any]) -> Any:
    """A structure like the given one with other children; may keep the list it is given."""
    return _REBUILD[kind](structure, items)
