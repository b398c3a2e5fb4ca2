"""Working on the parts of a type spec: plain values, types, and lists and mappings of them.

A part that is a type itself, a shape, a dtype or another spec, answers for itself through the
methods of the trace type protocol; other parts are the same or they are not. Mappings count as the
same whatever their class; lists and tuples do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.types.tensor_shape import TensorShape, unknown_shape

# Any: a part may be any value that a spec is made from.


class NoSupertypeError(Exception):
    """Two parts have nothing in common."""


def hashable(part: Any) -> Any:
    """A hashable value that is equal for equal parts; arrays are compared by their elements."""
    if isinstance(part, list | tuple):
        return (type(part).__name__, tuple([hashable(p) for p in part]))
    if isinstance(part, Mapping):
        items = sorted(((k, hashable(v)) for k, v in part.items()), key=lambda kv: str(kv[0]))
        return ("mapping", tuple(items))
    if isinstance(part, np.ndarray):
        body = tuple(part.ravel().tolist()) if part.dtype.hasobject else part.tobytes()
        return ("ndarray", part.dtype.str, part.shape, body)
    return part


def same(a: Any, b: Any) -> bool:
    """True when two parts are equal."""
    return bool(hashable(a) == hashable(b))


def all_pairs(test: Callable[[Any, Any], bool], a: Any, b: Any) -> bool:
    """True when the test holds for each pair of corresponding parts."""
    if isinstance(a, list | tuple):
        if type(a) is not type(b) or len(a) != len(b):
            return False
        return all(all_pairs(test, x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping):
        if not isinstance(b, Mapping) or a.keys() != b.keys():
            return False
        return all(all_pairs(test, a[k], b[k]) for k in a)
    return test(a, b)


def compatible(a: Any, b: Any) -> bool:
    """True when a value could have both parts."""
    if type(a) is type(b) and hasattr(a, "is_compatible_with"):
        return bool(a.is_compatible_with(b))
    return same(a, b)


def subtype(a: Any, b: Any) -> bool:
    """True when every value that has part `a` has part `b` too."""
    if hasattr(a, "is_subtype_of"):
        return bool(a.is_subtype_of(b))
    return same(a, b)


def common(a: Any, b: Any) -> Any:
    """The narrowest part that covers both.

    Raises:
      NoSupertypeError: there is none.
    """
    if isinstance(a, list | tuple):
        if type(a) is not type(b) or len(a) != len(b):
            raise NoSupertypeError
        items = [common(x, y) for x, y in zip(a, b, strict=True)]
        return _like(a, items)
    if isinstance(a, Mapping):
        if not isinstance(b, Mapping) or a.keys() != b.keys():
            raise NoSupertypeError
        return {k: common(a[k], b[k]) for k in a}
    if hasattr(a, "most_specific_common_supertype"):
        found = a.most_specific_common_supertype([b])
        if found is None:
            raise NoSupertypeError
        return found
    if not same(a, b):
        raise NoSupertypeError
    return a


def map_parts(function: Callable[[Any], Any], part: Any) -> Any:
    """Calls a function for each part, in lists, tuples and mappings too."""
    if isinstance(part, list | tuple):
        return _like(part, [map_parts(function, p) for p in part])
    if isinstance(part, Mapping):
        return {k: map_parts(function, v) for k, v in part.items()}
    return function(part)


def _like(sequence: Any, items: list[Any]) -> Any:
    cls = type(sequence)
    return cls(*items) if hasattr(sequence, "_fields") else cls(items)


def rank_only(part: Any) -> Any:
    """A shape or spec with every dimension unknown; other parts as they are."""
    if hasattr(part, "_with_tensor_ranks_only"):
        return part._with_tensor_ranks_only()
    return unknown_shape(part.rank) if isinstance(part, TensorShape) else part


def nameless(part: Any) -> Any:
    """A spec without the names of tensors; other parts as they are."""
    return part._without_tensor_names() if hasattr(part, "_without_tensor_names") else part
