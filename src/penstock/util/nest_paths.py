"""Structures as far as another one reaches, and the paths of leaves.

A shallow structure is a form that ends before the input does: where it has a leaf, the input may go
on, and that whole part counts as one value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.util.nest import pack_sequence_as
from penstock.util.nest_kinds import (
    COMPOSITE_KINDS,
    KINDS,
    Kind,
    children,
    sorted_keys,
)


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Checks that `input_tree` has the form of `shallow_tree` as far as that reaches.

    Raises:
      TypeError: the input ends before the shallow structure, or the type of a sequence differs.
      ValueError: the number of children or the keys of a mapping differ.
    """
    flatten_up_to(shallow_tree, input_tree, check_types, expand_composites)


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """The parts of `input_tree` at the leaves of `shallow_tree`, from left to right.

    Args:
      shallow_tree: how far to go.
      input_tree: a structure that has this form and may go on below its leaves.
      check_types: whether sequences must have the same type.
      expand_composites: whether composite tensors count as nested.

    Raises:
      TypeError: the input ends before the shallow structure, or the type of a sequence differs.
      ValueError: the number of children or the keys of a mapping differ.

    Example:
      >>> flatten_up_to([0, 0], [[1, 2], 3])
      [[1, 2], 3]
    """
    out: list[Any] = []
    kinds = COMPOSITE_KINDS if expand_composites else KINDS
    _up_to(shallow_tree, input_tree, kinds, check_types, out)
    return out


def _up_to(
    shallow: Any, full: Any, kinds: Mapping[type, Kind], check_types: bool, out: list[Any]
) -> None:
    kind = kinds[type(shallow)]
    if kind is Kind.LEAF:
        out.append(full)
        return
    full_kind = kinds[type(full)]
    if full_kind is Kind.LEAF:
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(full)}."
        )
    if check_types:
        _check_types(shallow, full, kind, full_kind)
    parts, full_parts = children(shallow, kind), children(full, full_kind)
    if len(parts) != len(full_parts):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(full_parts)}, while shallow structure has length {len(parts)}."
        )
    if check_types and kind is Kind.MAPPING and set(shallow) != set(full):
        raise ValueError(
            "The two structures don't have the same keys. Input structure has keys "
            f"{sorted_keys(full)}, while shallow structure has keys {sorted_keys(shallow)}."
        )
    for part, full_part in zip(parts, full_parts, strict=True):
        _up_to(part, full_part, kinds, check_types, out)


def _check_types(shallow: Any, full: Any, kind: Kind, full_kind: Kind) -> None:
    same = type(shallow) is type(full) or (
        kind is full_kind
        and (
            kind is Kind.MAPPING
            or (isinstance(shallow, list) and isinstance(full, list))
            or (
                kind is Kind.NAMEDTUPLE
                and type(shallow).__name__ == type(full).__name__
                and shallow._fields == full._fields
            )
        )
    )
    if not same and Kind.SPEC not in (kind, full_kind):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(full)}, while shallow structure has type {type(shallow)}."
        )


def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Calls a function with the parts of the inputs at each leaf of `shallow_tree`.

    Args:
      shallow_tree: how far to go, and the form of the result.
      func: takes one part of each input.
      *inputs: structures that have this form and may go on below its leaves.
      **kwargs: `check_types` and `expand_composites`, as for `flatten_up_to`.

    Raises:
      ValueError: no input is given, or the forms differ.
      TypeError: an input ends too early, or the type of a sequence differs.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    flat = [flatten_up_to(shallow_tree, tree, check_types, expand) for tree in inputs]
    results = [func(*parts, **kwargs) for parts in zip(*flat, strict=True)]
    return pack_sequence_as(shallow_tree, results, expand_composites=expand)


def flatten_with_tuple_paths(
    structure: Any, expand_composites: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves with their paths: indices, keys and field names from the root.

    Example:
      >>> flatten_with_tuple_paths([1, {"a": (2,)}])
      [((0,), 1), ((1, 'a', 0), 2)]
    """
    kinds = COMPOSITE_KINDS if expand_composites else KINDS
    return list(_walk(structure, kinds, ()))


def _walk(
    structure: Any, kinds: Mapping[type, Kind], path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    kind = kinds[type(structure)]
    if kind is Kind.LEAF:
        yield path, structure
        return
    items = children(structure, kind)
    for name, item in zip(_child_names(structure, kind, len(items)), items, strict=True):
        yield from _walk(item, kinds, (*path, name))


def _child_names(structure: Any, kind: Kind, count: int) -> list[Any]:
    if kind is Kind.MAPPING:
        return sorted_keys(structure)
    if kind is Kind.NAMEDTUPLE:
        return list(structure._fields)
    if kind is Kind.ATTRS:
        return [field.name for field in structure.__attrs_attrs__]
    if kind in (Kind.COMPOSITE, Kind.SPEC):
        return [type(structure).__name__]
    return list(range(count))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """The leaves with their paths as text.

    Example:
      >>> flatten_with_joined_string_paths([1, {"a": (2,)}])
      [('0', 1), ('1/a/0', 2)]
    """
    return [
        (separator.join(str(part) for part in path), leaf)
        for path, leaf in flatten_with_tuple_paths(structure, expand_composites)
    ]


def map_structure_with_paths(
    func: Callable[..., Any], *structure: Any, separator: str = "/", **kwargs: Any
) -> Any:
    """Calls `func(path, *leaves)` for the corresponding leaves of structures of one form.

    Args:
      func: takes the path as text, then one leaf of each structure.
      *structure: structures of the same form.
      separator: what joins the parts of a path.
      **kwargs: `expand_composites`, as for `flatten`.
    """
    expand = kwargs.pop("expand_composites", False)
    paths = [p for p, _ in flatten_with_joined_string_paths(structure[0], separator, expand)]
    flat = [[leaf for _, leaf in flatten_with_tuple_paths(s, expand)] for s in structure]
    results = [func(p, *leaves, **kwargs) for p, *leaves in zip(paths, *flat, strict=True)]
    return pack_sequence_as(structure[0], results, expand_composites=expand)
