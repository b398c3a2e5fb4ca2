"""Where in the user's code something was made.

An operation remembers the frame that created it, so that its errors can name a line of the user's
program instead of ours. A `Frame` is a small immutable record and holds no Python frame, so it
keeps nothing alive. `user_frame` walks up from its caller to the first frame outside this package
and costs well under a microsecond; `user_stack` gives all such frames.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from pathlib import Path
from types import FrameType, TracebackType
from typing import NamedTuple

_PACKAGE: str = f"{Path(__file__).resolve().parents[1]}/"
# Frames of these come between ours and the user's, and say nothing.
_PASSED_OVER: frozenset[str] = frozenset({contextlib.__file__, functools.__file__})
_MAX_CACHED = 4096
_internal_files: dict[str, bool] = {}
_extra_prefixes: list[str] = []


class Frame(NamedTuple):
    """A line of the user's program.

    Example:
      >>> str(Frame("train.py", 41, "main"))
      'train.py:41'
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def hide_files(prefix: str) -> None:
    """Counts files whose path starts with `prefix` as ours; for generated code."""
    _extra_prefixes.append(prefix)
    _internal_files.clear()


def _classify(file: str) -> bool:
    inner = file.startswith((_PACKAGE, "<frozen ", *_extra_prefixes)) or file in _PASSED_OVER
    if len(_internal_files) >= _MAX_CACHED:
        _internal_files.clear()
    _internal_files[file] = inner
    return inner


def user_frame(skip: int = 1) -> Frame | None:
    """The innermost frame outside this package.

    Args:
      skip: how many frames above this function to start; 1 is the caller.

    Returns:
      The frame, or None when there is none (a thread of ours).
    """
    frame: FrameType | None = sys._getframe(skip)
    known = _internal_files
    while frame is not None:
        file = frame.f_code.co_filename
        inner = known.get(file)
        if inner is None:
            inner = _classify(file)
        if not inner:
            return Frame(file, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return None


def at_user_line() -> str:
    """Where the user called, for the end of an eager operation's message; "" where nobody did."""
    frame = user_frame()
    return f" (at {frame.file}:{frame.line})" if frame is not None else ""


def user_stack(skip: int = 1, limit: int | None = None) -> tuple[Frame, ...]:
    """The frames outside this package, outermost first.

    Args:
      skip: how many frames above this function to start; 1 is the caller.
      limit: at most this many frames, the innermost ones; None for all.
    """
    frame: FrameType | None = sys._getframe(skip)
    found: list[Frame] = []
    while frame is not None and (limit is None or len(found) < limit):
        file = frame.f_code.co_filename
        inner = _internal_files.get(file)
        if not (_classify(file) if inner is None else inner):
            found.append(Frame(file, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(reversed(found))


def without_internal_frames(stack: TracebackType | None) -> TracebackType | None:
    """A traceback with the user's frames only; itself when it has none of those."""
    parts = []
    part = stack
    while part is not None:
        if not _classify(part.tb_frame.f_code.co_filename):
            parts.append(part)
        part = part.tb_next
    following: TracebackType | None = None
    for part in reversed(parts):
        following = TracebackType(following, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return following or stack
