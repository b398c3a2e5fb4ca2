"""The planner's patterns: what it finds in a program, and what it puts in its place.

One table, in the order of registration. A pattern says in words what it looks for, what that
becomes and under which conditions; `penstock inspect --patterns` prints it.
``PENSTOCK_PATTERNS_OFF`` names patterns that are not used, or all of them. The code that finds a
pattern asks `used` each time it plans.
"""

from dataclasses import dataclass

from penstock.config import env


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


__all__ = ["Pattern", "add_pattern", "patterns", "used"]
