"""Writes docs/environment.md from the table of environment variables in penstock.config.env.

python tools/make_env_docs.py            # write it anew
python tools/make_env_docs.py --check    # exit 1, with the difference, when it is stale
"""

import difflib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "environment.md"
sys.path.insert(0, str(ROOT / "src"))

from penstock.config import env  # noqa: E402  (the source tree comes first)

HEAD = """\
# Environment variables

<!-- Written by tools/make_env_docs.py from src/penstock/config/env.py; change it there. -->

These are all the environment variables that Penstock itself looks at. A value that cannot be read
is an error that names the variable, never silently the default. `penstock doctor` shows which are
set, and names with the prefix `PENSTOCK_` that nothing reads.

"""
TAIL = """
Types: `bool` is one of 1, true, yes, on, 0, false, no, off; `size` is a number of bytes such as
1048576, 512M or 2G; `path` may start with `~`; `json` is a JSON text.

JAX, XLA and NCCL read variables of their own (`JAX_PLATFORMS`, `XLA_FLAGS`, `CUDA_VISIBLE_DEVICES`
and so on), which work as their documentation says.
"""


def main(arguments: list[str]) -> int:
    page = HEAD + env.describe() + TAIL
    if "--check" not in arguments:
        PAGE.write_text(page)
        return 0
    now = PAGE.read_text() if PAGE.exists() else ""
    lines = difflib.unified_diff(
        now.splitlines(),
        page.splitlines(),
        str(PAGE.relative_to(ROOT)),
        "as generated",
        lineterm="",
    )
    difference = "\n".join(lines)
    if difference:
        print(f"{difference}\nStale: run `make docs` and commit the page.")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
