"""What `penstock doctor` finds, as values, and the checks of installed packages.

A Finding is one line of the report: a name, a value, and, when something is wrong, what and what to
do. Checks take what they look at as arguments and return findings; they print nothing and change
nothing.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

VersionOf = Callable[[str], str | None]  # of a distribution; None where it is not installed

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?:\[[^]]*\])?\s*(?P<bounds>[^;]*)")
_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")
_BOUND = re.compile(r"(?P<sign>>=|<=|==|!=|<|>)\s*(?P<version>[\w.]+)")
_HOLDS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    Attributes:
      name: what was looked at.
      value: what was found.
      problem: what is wrong; None when nothing is.
      fix: what to do about it.
    """

    name: str
    value: str
    problem: str | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement of the distribution: `jax<0.12,>=0.10; extra == "x"`."""

    name: str
    bounds: str
    extra: str | None

    @classmethod
    def parse(cls, text: str) -> "Requirement":
        """Reads the form in which installed packages state what they need."""
        match = _REQUIREMENT.match(text)
        if match is None:
            raise ValueError(f"expected a requirement such as 'numpy>=2.0', got {text!r}")
        extra = _EXTRA.search(text)
        return cls(match["name"], match["bounds"].strip(), extra["extra"] if extra else None)

    def holds_for(self, version: str) -> bool:
        """True when `version` is within the bounds; only its leading numbers count."""
        return all(
            _HOLDS[bound["sign"]](*_aligned(version, bound["version"]))
            for bound in _BOUND.finditer(self.bounds)
        )


def check_requirements(requirements: Iterable[Requirement], version_of: VersionOf) -> list[Finding]:
    """What Penstock needs: a finding for each requirement without an extra."""
    return [_check(each, version_of) for each in requirements if each.extra is None]


def check_extras(requirements: Sequence[Requirement], version_of: VersionOf) -> list[Finding]:
    """The extras a user may add, and the command that adds those that are missing.

    A missing extra is no problem; one that is there in a version out of bounds is.
    """
    findings = []
    for extra in sorted({each.extra for each in requirements if each.extra} - {"dev"}):
        parts = [each for each in requirements if each.extra == extra]
        missing = [each.name for each in parts if version_of(each.name) is None]
        if missing:
            command = f"pip install {shlex.quote(f'penstock[{extra}]')}"
            findings.append(Finding(extra, f"no {', '.join(missing)}; to add it: {command}"))
        else:
            findings += [_check(each, version_of, name=f"{extra}: {each.name}") for each in parts]
    return findings


def _check(requirement: Requirement, version_of: VersionOf, name: str | None = None) -> Finding:
    label, version = name or requirement.name, version_of(requirement.name)
    needed = f"{requirement.name}{requirement.bounds}"
    fix = f"pip install {shlex.quote(needed)}"
    if version is None:
        return Finding(label, "missing", f"{requirement.name} is not installed", fix)
    if not requirement.holds_for(version):
        return Finding(label, version, f"expected {needed}, got {version}", fix)
    return Finding(label, version)


def _aligned(first: str, second: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of two versions, the shorter one filled with zeros: 2.0 is 2.0.0."""
    numbers = [_numbers(first), _numbers(second)]
    length = max(map(len, numbers))
    a, b = (part + (0,) * (length - len(part)) for part in numbers)
    return a, b


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()
