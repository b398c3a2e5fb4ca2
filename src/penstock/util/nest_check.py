"""Whether two structures have the same form, and the message when they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.util.nest_kinds import (
    COMPOSITE_KINDS,
    KINDS,
    Kind,
    children,
    rebuild,
    sorted_keys,
)


class _Difference(Exception):
    """Where and how two structures differ; carries the error class to raise."""

    def __init__(self, error: type[Exception], text: str) -> None:
        super().__init__(text)
        self.error = error


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Checks that two structures have the same form.

    Args:
      nest1: a structure.
      nest2: another one.
      check_types: whether sequences must have the same type and mappings the same keys. Lists and
        their subclasses count as the same, so do mappings, so do namedtuples with the same name and
        fields.
      expand_composites: whether composite tensors are compared by their type specs.

    Raises:
      ValueError: the number of children or the depth differs, or the keys of mappings do.
      TypeError: the type of a sequence differs and `check_types` is set.

    Example:
      >>> assert_same_structure([1, (2,)], ["a", ("b",)])
    """
    kinds = COMPOSITE_KINDS if expand_composites else KINDS
    try:
        _compare(nest1, nest2, kinds, check_types, "")
    except _Difference as difference:
        raise difference.error(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_describe(nest1)}\n\nSecond structure: {_describe(nest2)}\n\n"
            f"More specifically: {difference}\n"
            f"Entire first structure:\n{_dots(nest1, kinds)}\n"
            f"Entire second structure:\n{_dots(nest2, kinds)}"
        ) from None


def _compare(a: Any, b: Any, kinds: Mapping[type, Kind], check_types: bool, path: str) -> None:
    kind_a, kind_b = kinds[type(a)], kinds[type(b)]
    if kind_a is Kind.LEAF and kind_b is Kind.LEAF:
        return
    if kind_a is Kind.LEAF or kind_b is Kind.LEAF:
        nested, leaf = (a, b) if kind_b is Kind.LEAF else (b, a)
        raise _Difference(
            ValueError,
            f'Substructure "{_describe(nested)}" is a sequence, while substructure '
            f'"{_describe(leaf)}" is not{_at(path)}',
        )
    if Kind.COMPOSITE in (kind_a, kind_b) or Kind.SPEC in (kind_a, kind_b):
        _compare_specs(a, b, kind_a, kind_b, path)
        return
    if check_types:
        _compare_types(a, b, kind_a, kind_b, path)
    items_a, items_b = children(a, kind_a), children(b, kind_b)
    names = sorted_keys(a) if kind_a is Kind.MAPPING else range(len(items_a))
    for name, x, y in zip(names, items_a, items_b, strict=False):
        _compare(x, y, kinds, check_types, f"{path}[{name!r}]")
    if len(items_a) != len(items_b):
        raise _Difference(
            ValueError,
            "The two structures don't have the same number of elements. First structure: "
            f"{_describe(a)}. Second structure: {_describe(b)}{_at(path)}",
        )


def _compare_types(a: Any, b: Any, kind_a: Kind, kind_b: Kind, path: str) -> None:
    if kind_a is Kind.MAPPING and kind_b is Kind.MAPPING:
        if set(a) != set(b):
            raise _Difference(
                ValueError,
                "The two dictionaries don't have the same set of keys. First structure has keys "
                f"{_describe(list(a))}, while second structure has keys "
                f"{_describe(list(b))}{_at(path)}",
            )
        return
    if not _same_sequence_type(a, b, kind_a, kind_b):
        raise _Difference(
            TypeError,
            "The two structures don't have the same sequence type. First structure "
            f"{_describe(a)} has type {type(a).__name__}, while second structure {_describe(b)} "
            f"has type {type(b).__name__}{_at(path)}. Pass check_types=False to allow this",
        )


def _same_sequence_type(a: Any, b: Any, kind_a: Kind, kind_b: Kind) -> bool:
    if type(a) is type(b):
        return True
    if kind_a is Kind.NAMEDTUPLE and kind_b is Kind.NAMEDTUPLE:
        return type(a).__name__ == type(b).__name__ and a._fields == b._fields
    return isinstance(a, list) and isinstance(b, list)


def _compare_specs(a: Any, b: Any, kind_a: Kind, kind_b: Kind, path: str) -> None:
    spec_a = a._type_spec if kind_a is Kind.COMPOSITE else a
    spec_b = b._type_spec if kind_b is Kind.COMPOSITE else b
    both = {kind_a, kind_b} <= {Kind.COMPOSITE, Kind.SPEC}
    if not both or spec_a.most_specific_common_supertype([spec_b]) is None:
        raise _Difference(
            ValueError,
            f"Incompatible CompositeTensor TypeSpecs: {_describe(spec_a)} vs. "
            f"{_describe(spec_b)}{_at(path)}",
        )


def _at(path: str) -> str:
    return f" (at {path})" if path else ""


def _describe(value: Any) -> str:
    return f"type={type(value).__name__} str={value}"


class _Dot:
    """Prints as a dot, to stand for a leaf."""

    def __repr__(self) -> str:
        return "."


def _dots(structure: Any, kinds: Mapping[type, Kind]) -> str:
    return str(_dotted(structure, kinds))


def _dotted(structure: Any, kinds: Mapping[type, Kind]) -> Any:
    kind = kinds[type(structure)]
    if kind in (Kind.LEAF, Kind.COMPOSITE, Kind.SPEC):
        return _Dot()
    items = [_dotted(c, kinds) for c in children(structure, kind)]
    try:
        return rebuild(structure, kind, items)
    except Exception:  # the class refuses our dots; its children say enough
        return items
