"""The class that all numbers of a list have, found without a step of Python for each of them.

Lists of a hundred thousand numbers are given to operations, and most questions about their elements
are about their class alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from typing import Any


def one_kind(values: Collection[Any]) -> type | None:
    """The class of every value, or of every value of all rows where the values are lists or tuples.

    None where there are several classes, or no values.
    """
    kind = same_kind(values)
    if kind is list or kind is tuple:
        return same_kind(itertools.chain.from_iterable(values))
    return kind


def same_kind(values: Iterable[Any]) -> type | None:
    """The class of every value; None where there are several classes, or no values."""
    kinds = list(map(type, values))
    if kinds and kinds.count(kinds[0]) == len(kinds):
        return kinds[0]
    return None
