"""The doctor's checks of settings: environment variables, and the caches that they bound."""

import difflib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.cli.findings import Finding
from penstock.cli.text import format_bytes
from penstock.config import env
from penstock.core.compiling import default_cache

_PREFIX = "PENSTOCK_"
_SHOWN = 60  # characters of a value


def check_environment(environ: Mapping[str, str]) -> list[Finding]:
    """The recognised variables that are set, and what `config.env` finds wrong."""
    findings = [_variable(name, environ[name]) for name in env.VARIABLES if name in environ]
    malformed = {each.name for each in findings if each.problem}
    unknown = sorted(
        name for name in environ if name.startswith(_PREFIX) and name not in env.VARIABLES
    )
    findings += [_unknown(name) for name in unknown]
    count = len(env.VARIABLES)
    known = f"{count} variables are recognised, {len(findings) - len(unknown)} set"
    return [Finding("summary", f"{known}, {len(malformed)} malformed"), *findings]


def _variable(name: str, text: str) -> Finding:
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    problems = env.check({name: text})
    if problems:
        return Finding(name, shown, problems[0], f"unset {name}, or correct its value")
    return Finding(name, shown)


def _unknown(name: str) -> Finding:
    known = [each.removeprefix(_PREFIX) for each in env.VARIABLES if each.startswith(_PREFIX)]
    close = difflib.get_close_matches(name.removeprefix(_PREFIX), known, n=1)
    fix = f"unset {name}" + (f", or did you mean {_PREFIX}{close[0]}?" if close else "")
    return Finding(name, "unknown", f"{name} is set, but nothing reads it", fix)


def check_caches(environ: Mapping[str, str]) -> list[Finding]:
    """Each cache with what it holds and what it may hold.

    Malformed settings are left to `check_environment`: their defaults are shown here.
    """
    return [
        _disk_cache(environ),
        Finding(
            "plans",
            f"in memory, at most {_get('PENSTOCK_PLAN_CACHE', environ)} for each "
            "session or function",
        ),
        Finding("executables", f"in memory, at most {_get('PENSTOCK_REGION_CACHE', environ)}"),
    ]


def _disk_cache(environ: Mapping[str, str]) -> Finding:
    name = "compilation"
    if not _get("PENSTOCK_COMPILATION_CACHE", environ):
        return Finding(name, "on disk, switched off by PENSTOCK_COMPILATION_CACHE")
    chosen = _get("PENSTOCK_CACHE_DIR", environ)
    folder = (chosen.expanduser() if chosen else default_cache()) / "xla"
    bound = _get("PENSTOCK_COMPILATION_CACHE_SIZE", environ)
    files, size = _contents(folder)
    value = f"{folder}: {files} files, {format_bytes(size)} of at most {format_bytes(bound)}"
    if not _is_writable(folder):
        problem = f"the cache folder {folder} cannot be written, so every process compiles anew"
        return Finding(name, value, problem, "set PENSTOCK_CACHE_DIR to a folder of yours")
    if size > bound:
        problem = (
            f"the cache folder {folder} holds {format_bytes(size)}, expected at most its bound"
        )
        fix = f"rm -r {shlex.quote(str(folder))}, or raise PENSTOCK_COMPILATION_CACHE_SIZE"
        return Finding(name, value, problem, fix)
    return Finding(name, value)


def _contents(folder: Path) -> tuple[int, int]:
    """How many files are below a folder, and their bytes, without files that vanish meanwhile."""
    files = size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                continue
            files += 1
    return files, size


def _is_writable(folder: Path) -> bool:
    """True when the folder can be written, or made."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _get(name: str, environ: Mapping[str, str]) -> Any:  # of the variable's own type
    problems = env.check({name: environ[name]}) if name in environ else []
    return env.get(name, {} if problems else environ)
