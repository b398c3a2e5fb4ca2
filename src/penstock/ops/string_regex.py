"""Regular expressions in RE2's syntax: matching and replacing.

RE2 itself does the work, so that syntax and results are TensorFlow's, and so that time grows
linearly with the text whatever the pattern. Patterns are compiled once and kept. The text is UTF-8.
A pattern that is a plain text, with `.*` around it or not, is left to the native library or Python,
which find it in a twentieth of the time.
"""

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native_strings, shapes
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.lazy import re2
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import HOST, as_bytes, each, invalid
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
NO_GRADIENT = "strings have no gradient"
_COMPILED = 256  # patterns kept
_MEANING = frozenset(b"\\.+*?()|[]{}^$")  # characters that are more than themselves in a pattern
_ANY = b".*"


@functools.lru_cache(_COMPILED)
def compiled(pattern: bytes) -> Any:
    """A pattern for RE2.

    Raises:
      InvalidArgumentError: it is none.
    """
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else problem
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise invalid(
            f"Invalid pattern: {_readable(pattern)}, error: {text}. Expected RE2's syntax, which"
            " has neither backreferences nor look-around."
        ) from None


def _readable(pattern: bytes) -> str:
    return pattern.decode("utf-8", "backslashreplace")[:200]


# ---- matching -----------------------------------------------------------------------------------


def _with_scalars(*names: str) -> Callable[[ShapeContext], Dims]:
    """A shape rule: the first input's shape; the named inputs after it are scalars."""

    def rule(c: ShapeContext) -> Dims:
        for i, name in enumerate(names, 1):
            dims = c.shape(i)
            if dims:
                c.fail(
                    f"a scalar {name.lower()}",
                    f"{name} must be scalar, but received {d.text(dims)}",
                )
        return c.shape(0)

    return rule


FULL_MATCH = define_op(
    "RegexFullMatch(input: string, pattern: string) -> output: bool",
    shape=_with_scalars("Pattern"),
    doc="Whether the pattern matches the whole of each string.",
).not_differentiable("a truth value has no gradient")
STATIC_FULL_MATCH = define_op(
    "StaticRegexFullMatch(input: string; pattern: string) -> output: bool",
    shape=shapes.same,
    doc="Whether the pattern, an attribute, matches the whole of each string.",
).not_differentiable("a truth value has no gradient")


@host_kernel(FULL_MATCH, limit=HOST)
def _full_match(input: Array, pattern: Array) -> Array:
    return _matches(input, pattern.item())


@host_kernel(STATIC_FULL_MATCH, limit=HOST)
def _static_full_match(input: Array, *, pattern: Any) -> Array:
    return _matches(input, as_bytes(pattern))


def _is_plain(pattern: bytes) -> bool:
    """Whether a pattern matches itself and nothing else."""
    return bool(pattern) and not any(c in _MEANING for c in pattern)


def _place_of(core: bytes, after_any: bool, before_any: bool) -> Callable[[bytes], bool]:
    """Whether a text has `core` where it must: anywhere, at its end, or at its beginning."""
    if after_any and before_any:
        return lambda text: core in text
    return lambda text: text.endswith(core) if after_any else text.startswith(core)


def _is_simple(text: bytes) -> bool:
    """Whether each byte is a character that a point matches."""
    return text.isascii() and b"\n" not in text


@functools.lru_cache(_COMPILED)
def _plain_core(pattern: bytes) -> tuple[bytes, bool, bool] | None:
    """The plain text in a pattern, and whether anything may come before and behind it."""
    core = pattern.removeprefix(_ANY).removesuffix(_ANY) or pattern
    if not _is_plain(core):
        return None
    return core, pattern.startswith(_ANY), pattern.endswith(_ANY)


def _matches(texts: Array, pattern: bytes) -> Array:
    match, plain = compiled(pattern).fullmatch, _plain_core(pattern)
    kinds = native_strings.matches(texts, *plain) if plain is not None else None
    if kinds is not None:
        if kinds.max(initial=0) < 2:
            return kinds.view(bool)
        for place in zip(*np.nonzero(kinds == 2), strict=True):
            kinds[place] = match(texts[place]) is not None
        return kinds.view(bool)
    core = pattern if plain is None else plain[0]
    given = texts.reshape(-1).tolist()
    if plain is None:
        found = [match(text) is not None for text in given]
    elif core == pattern:
        found = [text == pattern for text in given]
    else:
        stands = _place_of(*plain)
        found = [stands(t) and (_is_simple(t) or match(t) is not None) for t in given]
    return np.array(found, bool).reshape(texts.shape)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Any:
    """Whether a regular expression matches the whole of each string.

    Args:
      input: string, any shape.
      pattern: a text or scalar string in RE2's syntax.
      name: the name in a graph.

    Returns:
      bool of the shape of `input`.

    Raises:
      InvalidArgumentError: the pattern is malformed.

    Example:
      >>> regex_full_match(["abc1", "abc"], "[a-z]+").numpy().tolist()
      [False, True]
    """
    if isinstance(pattern, (str, bytes)):
        return execute(STATIC_FULL_MATCH, (input,), {"pattern": pattern}, name)
    return execute(FULL_MATCH, (input, pattern), None, name)


# ---- replacing ----------------------------------------------------------------------------------

REPLACE = define_op(
    "RegexReplace(input: string, pattern: string, rewrite: string; replace_global: bool = True) -> "
    "output: string",
    shape=_with_scalars("Pattern", "Rewrite"),
    doc="Each string with matches of a pattern rewritten.",
).not_differentiable(NO_GRADIENT)
STATIC_REPLACE = define_op(
    "StaticRegexReplace(input: string; pattern: string, rewrite: string, replace_global: bool = "
    "True) -> output: string",
    shape=shapes.same,
    doc="Each string with matches of a pattern, an attribute, rewritten.",
).not_differentiable(NO_GRADIENT)


@host_kernel(REPLACE, limit=HOST)
def _replace(input: Array, pattern: Array, rewrite: Array, *, replace_global: bool) -> Array:
    return each(_replacer(pattern.item(), rewrite.item(), replace_global), input)


@host_kernel(STATIC_REPLACE, limit=HOST)
def _static_replace(input: Array, *, pattern: Any, rewrite: Any, replace_global: bool) -> Array:
    return each(_replacer(as_bytes(pattern), as_bytes(rewrite), replace_global), input)


_PIECE = re.compile(rb"\\(\d)|\\(\\)|(\\)|([^\\]+)", re.DOTALL)


def _pieces(rewrite: bytes) -> tuple[list[bytes | int], bool]:
    """Texts and numbers of groups, and whether the whole rewrite is well-formed.

    What follows a backslash that means nothing is dropped, as RE2 does.
    """
    pieces: list[bytes | int] = []
    for group, backslash, bad, text in _PIECE.findall(rewrite):
        if bad:
            return pieces, False
        pieces.append(int(group) if group else backslash or text)
    return pieces, True


def _replacer(pattern: bytes, rewrite: bytes, everywhere: bool) -> Callable[[bytes], bytes]:
    matcher = compiled(pattern)
    pieces, complete = _pieces(rewrite)
    most = max((p for p in pieces if isinstance(p, int)), default=0)
    if most > matcher.groups or (not complete and not everywhere):
        return lambda text: text  # RE2 leaves the text when it cannot rewrite it

    if _is_plain(pattern):  # its only group is the match
        new = b"".join(pattern if isinstance(p, int) else p for p in pieces)
        return lambda text: text.replace(pattern, new, -1 if everywhere else 1)

    def written(match: Any) -> bytes:
        return b"".join((match.group(p) or b"") if isinstance(p, int) else p for p in pieces)

    if everywhere:
        return lambda text: _replace_all(matcher.search, text, written)

    def replace_first(text: bytes) -> bytes:
        match = matcher.search(text)
        if match is None:
            return text
        return text[: match.start()] + written(match) + text[match.end() :]

    return replace_first


def _replace_all(search: Any, text: bytes, written: Callable[[Any], bytes]) -> bytes:
    """Every match rewritten; no empty match where the one before ended, or inside a character."""
    out: list[bytes] = []
    position, last = 0, -1
    while position <= len(text):
        match = search(text, position)
        if match is None:
            break
        start, end = match.span()
        out.append(text[position:start])
        if start == end == last:
            step = _character_size(text, start)
            out.append(text[start : start + step])
            position = start + step
            continue
        out.append(written(match))
        position = last = end
    out.append(text[position:])
    return b"".join(out)


def _character_size(text: bytes, position: int) -> int:
    """Bytes of the UTF-8 character there; 1 for what is none, and at the end."""
    lead = text[position] if position < len(text) else 0
    size = 1 if lead < 0xC2 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    try:
        text[position : position + size].decode("utf-8")
    except UnicodeDecodeError:
        return 1
    return size


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Any:
    r"""Rewrites what a regular expression matches in each string.

    Args:
      input: string, any shape.
      pattern: a text or scalar string in RE2's syntax.
      rewrite: a text or scalar string; \1 to \9 stand for groups, \0 for the whole match.
      replace_global: whether every match is rewritten, or the first.
      name: the name in a graph.

    Returns:
      Strings of the shape of `input`.

    Raises:
      InvalidArgumentError: the pattern is malformed.

    Example:
      >>> regex_replace("a-b", r"(\w)-(\w)", r"\2-\1").numpy()
      b'b-a'
    """
    attrs: dict[str, Any] = {"replace_global": replace_global}
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        attrs.update(pattern=pattern, rewrite=rewrite)
        return execute(STATIC_REPLACE, (input,), attrs, name)
    return execute(REPLACE, (input, pattern, rewrite), attrs, name)
