"""Pins what this environment holds into constraints.txt.

Run it as `make constraints`, in the environment that `make test` made. A package that was installed
from an address or a folder cannot be pinned by version, so it is refused.
"""

import importlib.metadata
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = """\
# The versions that the tests run with, for `pip install -c constraints.txt`. `make constraints`
# writes this file anew from the environment of `make test`. No addresses: where packages come from
# is the machine's own setting.
"""
# What every environment has, in versions that belong to it.
LEFT_OUT = {"penstock", "pip", "setuptools", "wheel"}


def pinned_lines() -> list[str]:
    lines = []
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name.lower() in LEFT_OUT:
            continue
        if distribution.read_text("direct_url.json"):
            sys.exit(
                f"make_constraints: {name} was installed from an address or a folder, expected a "
                f"released version. Install it by name and run this again."
            )
        lines.append(f"{name}=={distribution.version}")
    return sorted(set(lines), key=str.lower)


if __name__ == "__main__":
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(pinned_lines()) + "\n")
