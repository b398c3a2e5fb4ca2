"""Print which names of a list the package lacks.

    python tools/coverage_of_names.py FILE [SECTION...]

The file is Markdown: a heading such as ``## core (362), under `tf.` `` opens a section,
whose text is names separated by commas, as found under the prefix. Without sections, all are
looked at. The exit status is 1 when a name is missing.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HEADING = re.compile(r"^## (?P<title>[^(]+?) \(\d+\), under `tf\.(?P<prefix>[\w.]*)`")
NAME = re.compile(r"^[A-Za-z_]\w*(\.\w+)*$")


def sections(text: str) -> dict[str, list[str]]:
    """Return title -> dotted names under the package, for each section of the text."""
    found: dict[str, list[str]] = {}
    names: list[str] | None = None
    prefix = ""
    for line in text.splitlines():
        heading = HEADING.match(line)
        if heading:
            prefix = heading["prefix"]
            names = found.setdefault(heading["title"], [])
        elif line.startswith("#"):
            names = None
        elif names is not None:
            parts = (part.strip(" `.") for part in line.split(","))
            names.extend(prefix + part for part in parts if NAME.match(part))
    return found


def missing(package: Any, names: Iterable[str]) -> list[str]:
    """Return the names that the package does not have."""
    return [name for name in names if not exists(package, name)]


def exists(package: Any, name: str) -> bool:
    """Return whether `package.name` can be reached."""
    found = package
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            return False
    return True


def main(arguments: list[str]) -> int:
    """Print a count for each section, and its missing names."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
    package = importlib.import_module("penstock")
    lacking = 0
    for title, names in sections(Path(arguments[0]).read_text()).items():
        if arguments[1:] and title not in arguments[1:]:
            continue
        absent = missing(package, names)
        lacking += len(absent)
        print(f"{title}: {len(names) - len(absent)} of {len(names)}")
        print("".join(f"  {name}\n" for name in absent), end="")
    return 1 if lacking else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
