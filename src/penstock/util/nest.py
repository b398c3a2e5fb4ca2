"""Nested structures: lists, tuples, dicts and the like as trees with values at the leaves.

A structure is nested when its class is: a list, tuple or other sequence that is no text; a mapping,
whose children come in the order of its sorted keys; a view of a mapping; a namedtuple; an attrs
class; or a dataclass with ``__tf_flatten__`` and ``__tf_unflatten__``. Everything else is a leaf,
None included. With ``expand_composites`` an object with a ``_type_spec`` (a sparse tensor), and a
type spec with components, is nested too, unless its class sets ``__nest_leaf__``.

Whether a class is nested is decided once and kept, so the common flat list costs a look in a table
for each element. `tf.nest` is `flatten`, `pack_sequence_as`, `map_structure`,
`assert_same_structure` and `is_nested`; the functions for shallow structures and paths are in
`penstock.util.nest_paths`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from penstock.util.nest_check import assert_same_structure
from penstock.util.nest_kinds import COMPOSITE_KINDS, KINDS, Kind, children, rebuild

# Any: leaves are values of every type, and structures of them have no type of their own.


def is_nested(seq: Any) -> bool:
    """True when `seq` has children: see the module for what counts.

    Example:
      >>> is_nested([1]), is_nested({}), is_nested("text"), is_nested(1)
      (True, True, False, False)
    """
    return KINDS[type(seq)] is not Kind.LEAF


def is_nested_or_composite(seq: Any) -> bool:
    """True when `seq` has children, composite tensors counted as nested."""
    return COMPOSITE_KINDS[type(seq)] is not Kind.LEAF


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure, from left to right; mappings in the order of their sorted keys.

    Args:
      structure: any value; a leaf is a structure with one leaf.
      expand_composites: whether composite tensors are replaced by their component tensors.

    Returns:
      A new list.

    Raises:
      TypeError: the keys of a mapping cannot be sorted.

    Example:
      >>> flatten([1, (2, [3]), {"b": 5, "a": 4}])
      [1, 2, 3, 4, 5]
    """
    kinds = COMPOSITE_KINDS if expand_composites else KINDS
    kind = kinds[type(structure)]
    if kind is Kind.LEAF:
        return [structure]
    out: list[Any] = []
    _flatten_into(children(structure, kind), kinds, out)
    return out


def _flatten_into(items: Sequence[Any], kinds: Mapping[type, Kind], out: list[Any]) -> None:
    leaf = Kind.LEAF
    for item in items:
        kind = kinds[type(item)]
        if kind is leaf:
            out.append(item)
        else:
            _flatten_into(children(item, kind), kinds, out)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Puts a flat sequence of values into the form of a structure: the inverse of `flatten`.

    Args:
      structure: the form; its leaves are not used.
      flat_sequence: a sequence with one value for each leaf.
      expand_composites: whether composite tensors are made from their components.

    Returns:
      A new structure with the values as leaves; the value itself when `structure` is a leaf.

    Raises:
      TypeError: `flat_sequence` is no sequence.
      ValueError: it has another number of values than the structure has leaves.

    Example:
      >>> pack_sequence_as({"b": 0, "a": [0]}, ["first", "second"])
      {'b': 'second', 'a': ['first']}
    """
    flat = _flat_list(structure, flat_sequence)
    kinds = COMPOSITE_KINDS if expand_composites else KINDS
    kind = kinds[type(structure)]
    if kind is Kind.LEAF:
        if len(flat) != 1:
            raise ValueError(_one_leaf_text(structure, flat_sequence, len(flat)))
        return flat[0]
    count = _count(structure, kind, kinds)
    if count != len(flat):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had "
            f"{len(flat)} items. Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _pack(structure, kind, kinds, iter(flat))


def _flat_list(structure: Any, flat_sequence: Any) -> Any:
    if type(flat_sequence) is list or type(flat_sequence) is tuple:
        return flat_sequence
    kind = KINDS[type(flat_sequence)]
    if kind in (Kind.LEAF, Kind.MAPPING):
        raise TypeError(
            f"Attempted to pack value:\n  {flat_sequence}\ninto a structure, but found "
            f"incompatible type `{type(flat_sequence)}` instead: expected a list or tuple with one "
            f"value for each leaf of\n  {structure}"
        )
    return children(flat_sequence, kind)


def _one_leaf_text(structure: Any, flat_sequence: Any, size: int) -> str:
    return (
        f"The target structure is of type `{type(structure)}`\n  {structure}\nHowever the input is "
        f"a sequence ({type(flat_sequence)}) of length {size}.\n  {flat_sequence}\n"
        "Expected exactly one value for a structure without children."
    )


def _count(structure: Any, kind: Kind, kinds: Mapping[type, Kind]) -> int:
    out: list[Any] = []
    _flatten_into(children(structure, kind), kinds, out)
    return len(out)


def _pack(structure: Any, kind: Kind, kinds: Mapping[type, Kind], leaves: Iterator[Any]) -> Any:
    packed: list[Any] = []
    for item in children(structure, kind):
        inner = kinds[type(item)]
        packed.append(next(leaves) if inner is Kind.LEAF else _pack(item, inner, kinds, leaves))
    return rebuild(structure, kind, packed)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Calls a function with the corresponding leaves of one or more structures.

    Args:
      func: takes one leaf of each structure.
      *structure: structures of the same form.
      **kwargs: `check_types` (default True): whether sequences must have the same type, as in
        `assert_same_structure`; `expand_composites` (default False): whether composite tensors are
        replaced by their components.

    Returns:
      A structure of the form of the first one with the results as leaves.

    Raises:
      TypeError: `func` cannot be called, or types of sequences differ and `check_types` is set.
      ValueError: the forms differ, no structure is given, or a keyword is unknown.

    Example:
      >>> map_structure(lambda a, b: a + b, [1, {"x": 2}], [10, {"x": 20}])
      [11, {'x': 22}]
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types, expand_composites = _map_options(kwargs)
    kinds = COMPOSITE_KINDS if expand_composites else KINDS
    first = structure[0]
    if len(structure) == 1:
        return _map_one(func, first, kinds)
    for other in structure[1:]:
        assert_same_structure(
            first, other, check_types=check_types, expand_composites=expand_composites
        )
    flat = [flatten(s, expand_composites) for s in structure]
    results = [func(*leaves) for leaves in zip(*flat, strict=True)]
    return pack_sequence_as(first, results, expand_composites)


def _map_options(kwargs: dict[str, Any]) -> tuple[bool, bool]:
    if not kwargs:
        return True, False
    options = dict(kwargs)
    found = options.pop("check_types", True), options.pop("expand_composites", False)
    if options:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and `expand_composites`, not: "
            f"`{'`, `'.join(options)}`"
        )
    return found


def _map_one(func: Callable[..., Any], structure: Any, kinds: Mapping[type, Kind]) -> Any:
    kind = kinds[type(structure)]
    if kind is Kind.LEAF:
        return func(structure)
    return rebuild(structure, kind, [_map_one(func, c, kinds) for c in children(structure, kind)])


__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "is_nested_or_composite",
    "map_structure",
    "pack_sequence_as",
]
