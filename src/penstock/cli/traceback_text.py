"""The text of an exception in a user's script: the user's own lines, then the error.

Frames inside Penstock and the libraries below it are left out, because the line to change is above
them; how many were left out is said, and `full=True` keeps all. Chained exceptions and exception
groups are treated alike.
"""

import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from types import TracebackType

_PENSTOCK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PYTHON = sysconfig.get_path("stdlib")
_LIBRARIES = ("jax", "jaxlib", "malt", "click")


def format_exception(error: BaseException, *, full: bool = False) -> str:
    """The traceback of `error` as text, shortened to the user's frames unless `full`."""
    text = traceback.TracebackException.from_exception(error)
    if full:
        return "".join(text.format())
    hidden = sum(_shorten(part) for part in _chain(text))
    lines = "".join(text.format())
    if hidden:
        frames = "1 frame" if hidden == 1 else f"{hidden} frames"
        lines += f"({frames} inside libraries left out; penstock run --traceback full shows all)\n"
    return lines


def innermost_user_line(stack: TracebackType | None) -> str | None:
    """`train.py:41` for the deepest frame that is the user's; None where there is none."""
    summary = traceback.StackSummary.extract(traceback.walk_tb(stack), lookup_lines=False)
    mine = [frame for frame in summary if _is_users(frame.filename)]
    return f"{os.path.basename(mine[-1].filename)}:{mine[-1].lineno}" if mine else None


def _chain(text: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """`text` with everything that it will print: causes, contexts and members of groups."""
    yield text
    following = [text.__cause__, text.__context__, *(text.exceptions or ())]
    for part in following:
        if part is not None:
            yield from _chain(part)


def _shorten(text: traceback.TracebackException) -> int:
    """Takes the library frames out of one exception's stack, and counts them."""
    kept = [frame for frame in text.stack if not _is_library(frame.filename)]
    hidden = len(text.stack) - len(kept)
    text.stack = traceback.StackSummary.from_list(kept)
    return hidden


def _is_users(filename: str) -> bool:
    """True for the user's files: not a library of ours, nor Python's, nor an installed one."""
    installed = "site-packages" in filename or filename.startswith(_PYTHON + os.sep)
    return not installed and not filename.startswith("<") and not _is_library(filename)


def _is_library(filename: str) -> bool:
    if filename.startswith("<frozen "):
        return True
    return any(filename.startswith(folder + os.sep) for folder in _library_folders())


def _library_folders() -> list[str]:
    modules = [sys.modules.get(name) for name in _LIBRARIES]
    files = [module.__file__ for module in modules if module is not None and module.__file__]
    return [_PENSTOCK, *map(os.path.dirname, files)]
