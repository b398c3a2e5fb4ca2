"""Environment variables: one table of all that the system looks at.

`VARIABLES` lists every ``PENSTOCK_*`` variable and every ``TF_*`` one that is honoured, each with a
type, a default and a line of documentation; `docs/environment.md` is printed from it by
`describe`. `get` reads one from the environment each time it is called, so a test or a notebook can
change it; code on a hot path reads it once. A malformed value is an error that names the variable,
never silently the default.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TRUE = ("1", "true", "yes", "on", "t", "y")
_FALSE = ("0", "false", "no", "off", "f", "n", "")


def _parse_bool(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE + _FALSE:
        raise ValueError("one of 1, true, yes, on, 0, false, no, off")
    return word in _TRUE


def _parse_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("an integer") from None


def _parse_size(text: str) -> int:
    units = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    word = text.strip().upper().removesuffix("IB").removesuffix("B")
    factor = units.get(word[-1:], 1)
    try:
        size = float(word[:-1] if factor > 1 else word) * factor
    except ValueError:
        raise ValueError("a size in bytes such as 1048576, 512M or 2G") from None
    if not 0 <= size < 2**63:
        raise ValueError("a size in bytes from 0 to 2**63 - 1")
    return int(size)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise ValueError(f"JSON ({error})") from None


def _parse_path(text: str) -> Path | None:
    return Path(text).expanduser() if text else None


PARSERS: Mapping[str, Callable[[str], Any]] = {
    "bool": _parse_bool,
    "int": _parse_int,
    "size": _parse_size,
    "str": str,
    "path": _parse_path,
    "json": _parse_json,
}


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable.

    Attributes:
      name: its name.
      kind: how its text is read, a key of `PARSERS`.
      default: the value when it is not set.
      doc: one sentence on what it does.
      choices: the only values that are allowed; empty for any.
      minimum: the smallest value of a number, or None.
    """

    name: str
    kind: str
    default: Any
    doc: str
    choices: tuple[Any, ...] = ()
    minimum: int | None = None

    def parse(self, text: str) -> Any:
        """Reads a value from text.

        Raises:
          ValueError: the text is malformed.
        """
        try:
            value = PARSERS[self.kind](text)
        except ValueError as error:
            raise self._malformed(str(error), text) from None
        if self.choices and value not in self.choices:
            raise self._malformed(f"one of {', '.join(map(str, self.choices))}", text)
        if self.minimum is not None and value < self.minimum:
            raise self._malformed(f"a number >= {self.minimum}", text)
        return value

    def _malformed(self, expected: str, text: str) -> ValueError:
        return ValueError(
            f"environment variable {self.name}: expected {expected}, got {text!r}. "
            f"Unset it to get the default, {self.default!r}."
        )


_ROWS: tuple[Variable, ...] = (
    Variable(
        "PENSTOCK_CACHE_DIR",
        "path",
        None,
        "Directory of caches that outlive the process; ~/.cache/penstock when not set.",
    ),
    Variable(
        "PENSTOCK_COMPILATION_CACHE",
        "bool",
        True,
        "Whether compiled executables are kept on disk between processes.",
    ),
    Variable(
        "PENSTOCK_COMPILATION_CACHE_SIZE",
        "size",
        2**30,
        "Bytes that the compilation cache on disk may take.",
    ),
    Variable(
        "PENSTOCK_PLAN_CACHE",
        "int",
        256,
        "How many plans a session or function keeps.",
        minimum=1,
    ),
    Variable(
        "PENSTOCK_LOG_RETRACES",
        "bool",
        False,
        "Whether every retrace of a function is logged with its cause, not just one too many.",
    ),
    Variable(
        "PENSTOCK_REGION_CACHE",
        "int",
        1024,
        "How many compiled executables of regions and kernels are kept in memory.",
        minimum=1,
    ),
    Variable(
        "PENSTOCK_KEEP_MEMORY",
        "bool",
        True,
        "Whether memory that a step frees stays with the process, for the next step, and is asked "
        "for in huge pages.",
    ),
    Variable(
        "PENSTOCK_NATIVE_KERNELS",
        "bool",
        True,
        "Whether the native libraries are used: kernels for products, convolutions and pooling on "
        "CPU and special functions (XLA's own when not, which are slower), the parser of Examples "
        "and work on large arrays of strings (Python's when not, several times slower), and "
        "memoryviews of tensors on Python 3.11 (none when not). `penstock doctor` says whether "
        "they are there.",
    ),
    Variable(
        "PENSTOCK_AUTOTUNE",
        "bool",
        True,
        "Whether kernels that compete for a shape are measured, once on each kind of machine, and "
        "the choice kept in the cache directory (`penstock inspect --choices` shows it). When not, "
        "and with enable_op_determinism, fixed rules on shapes choose.",
    ),
    Variable(
        "PENSTOCK_PATTERNS_OFF",
        "str",
        "",
        "Patterns that the planner leaves alone, separated by commas, or all; `penstock inspect "
        "--patterns` lists them.",
    ),
    Variable(
        "PENSTOCK_XLA_OPTIONS",
        "json",
        {},
        "Options given to XLA's compiler, as a JSON object of names and values.",
    ),
    Variable(
        "PENSTOCK_THREADS",
        "int",
        0,
        "Threads of the executor's pool; 0 means as many as the process may use processors.",
        minimum=0,
    ),
    Variable(
        "PENSTOCK_EXECUTOR",
        "str",
        "fast",
        "Which executor runs plans: `fast`; `lazy`, the same with first runs of small work on the"
        " host, uncompiled, for programs that run things once (first runs then differ from later"
        " ones by the last bits); or `reference`, the plain one.",
        choices=("fast", "lazy", "reference"),
    ),
    Variable(
        "PENSTOCK_VERIFY",
        "bool",
        False,
        "Whether graphs are verified before and after every pass of the planner.",
    ),
    Variable(
        "PENSTOCK_CHECK_RACES",
        "str",
        "",
        "Whether a plan with two unordered accesses to one resource is reported before it runs: "
        "off, warn (or 1) or error.",
        choices=("", "0", "1", "false", "true", "off", "warn", "error"),
    ),
    Variable(
        "PENSTOCK_EFFECTS",
        "str",
        "",
        "record:PATH writes the order of effects to a file from the start of the process to its "
        "end, replay:PATH repeats a run that did.",
    ),
    Variable(
        "PENSTOCK_LOG_LEVEL",
        "str",
        "",
        "Lowest level that is logged: DEBUG, INFO, WARNING, ERROR or FATAL; WARNING when not set.",
        choices=("", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL"),
    ),
    Variable(
        "PENSTOCK_FULL_TRACEBACKS",
        "bool",
        False,
        "Whether errors show the frames of this package too.",
    ),
    Variable(
        "TF_NUM_INTEROP_THREADS",
        "int",
        0,
        "Threads that run operations at the same time; 0 leaves it to PENSTOCK_THREADS.",
        minimum=0,
    ),
)

VARIABLES: Mapping[str, Variable] = {row.name: row for row in _ROWS}
# Names as `os.environ` keeps them: it encodes a name at each question, and says by an exception
# that a variable is not set, which costs a microsecond in every call of a native function.
_KEYS: Mapping[str, object] = {name: os.environ.encodekey(name) for name in VARIABLES}


def get(name: str, environ: Mapping[str, str] | None = None) -> Any:
    """The value of a variable of the table.

    Args:
      name: its name.
      environ: where to look; the environment of the process when None.

    Returns:
      The value in the type of the table, or the default when the variable is not set.

    Raises:
      KeyError: the table has no such variable.
      ValueError: the value is malformed.

    Example:
      >>> get("PENSTOCK_PLAN_CACHE", {"PENSTOCK_PLAN_CACHE": "8"})
      8
    """
    if name not in VARIABLES:
        raise KeyError(
            f"config.env: expected a variable of the table, got {name!r}. Add a row to VARIABLES."
        )
    variable = VARIABLES[name]
    if environ is None:
        held = getattr(os.environ, "_data", None)
        if held is not None and _KEYS[name] not in held:
            return variable.default
    text = (os.environ if environ is None else environ).get(name)
    return variable.default if text is None else variable.parse(text)


def check(environ: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with the environment: malformed values, and `PENSTOCK_*` names not known.

    Returns:
      One text for each problem; empty when there is none.
    """
    source = os.environ if environ is None else environ
    problems = []
    for name, text in sorted(source.items()):
        if name in VARIABLES:
            try:
                VARIABLES[name].parse(text)
            except ValueError as error:
                problems.append(str(error))
        elif name.startswith("PENSTOCK_"):
            problems.append(
                f"environment variable {name}: expected one of {', '.join(VARIABLES)}, got a name "
                "that nothing reads. Correct its spelling or unset it."
            )
    return problems


def describe() -> str:
    """The table as Markdown."""
    lines = ["| variable | type | default | meaning |", "|---|---|---|---|"]
    for row in VARIABLES.values():
        default = "" if row.default is None else f"`{row.default}`"
        lines.append(f"| `{row.name}` | {row.kind} | {default} | {row.doc} |")
    return "\n".join(lines) + "\n"
