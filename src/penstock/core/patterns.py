"""The planner's patterns: what it finds in a program, and what it puts in its place.

One table, in the order of registration. A pattern says in words what it looks for, what that
becomes and under which conditions; `penstock inspect --patterns` prints it.
``PENSTOCK_PATTERNS_OFF`` names patterns that are not used, or all of them. The code that finds a
pattern asks `used` each time it plans.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.config import env
from penstock.types.dims import Dims

Fits = Callable[[dict[str, Any], Dims, Dims], bool]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One rewriting that the planner knows.

    Attributes:
      name: a word for the settings.
      finds: what it looks for.
      gives: what that becomes.
      when: the conditions.
    """

    name: str
    finds: str
    gives: str
    when: str


@dataclass(frozen=True, slots=True)
class Link:
    """What may follow in a chain: an operation on the result so far, and what becomes of it.

    Attributes:
      types: operations that count as this link.
      role: the list input of the fused operation that takes the other operand, or its string
        attribute that takes the operation's name, where there is no other operand.
      fits: `fits(attrs, result, other)` says whether one with these attributes, on a result so far
        and another operand of these shapes (None where there is none), counts; both are as known
        when the program is planned.
      place: which input the result so far is; None for any.
      ends: whether nothing follows it.
    """

    types: tuple[str, ...]
    role: str
    fits: Fits
    place: int | None = None
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Chain(Pattern):
    """An operation and what is done to its result alone, fused to one operation.

    Attributes:
      first: the operation that it begins with.
      starts: `starts(attrs)` says whether one with these attributes does.
      links: what may follow, each once or not at all; one must, and nothing follows one without
        another operand.
      fused: the operation that it becomes: the inputs and attributes of the first, then a list
        input or a string attribute for each role.
    """

    first: str
    starts: Callable[[dict[str, Any]], bool]
    links: tuple[Link, ...]
    fused: str


@dataclass(frozen=True, slots=True)
class Template:
    """Connected operations, and what stands in their place.

    A line is `results = Type(arguments; attribute=value)`. `A|B` stands for either type, `_` for an
    argument or result without a name, whatever it is; names that no line results in are what comes
    from outside.

    Attributes:
      lines: what is looked for, the first line first.
      made: what stands for it: each name that it results in and `lines` too is replaced. What else
        `lines` result in may not be used by other operations.
    """

    lines: tuple[str, ...]
    made: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rewrite(Pattern):
    """Connected operations that others stand for.

    Attributes:
      first: the types that a first line has: of a program without them nothing is looked at.
      templates: gives the forms that are looked for, in this order; called once, when a program
        has one of those types.
      fits: `fits(facts)` says what the operations made have as attributes, None where what was
        found is left alone; `facts` are those of `penstock.runtime.rewriting`.
    """

    first: tuple[str, ...]
    templates: Callable[[], tuple[Template, ...]]
    fits: Callable[[Any], dict[str, Any] | None]


_patterns: dict[str, Pattern] = {}


def add_pattern(pattern: Pattern) -> Pattern:
    """Adds a pattern to the table; one of the same name is replaced."""
    _patterns[pattern.name] = pattern
    return pattern


def patterns() -> tuple[Pattern, ...]:
    """All patterns."""
    return tuple(_patterns.values())


def used(name: str) -> bool:
    """Whether a pattern is switched on."""
    off = [word.strip() for word in env.get("PENSTOCK_PATTERNS_OFF").split(",")]
    return name not in off and "all" not in off


__all__ = ["Chain", "Link", "Pattern", "Rewrite", "Template", "add_pattern", "patterns", "used"]
