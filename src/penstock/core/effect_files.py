"""The file of an effect log: records, each with checksums, as event files have (`core.records`).

The first record is a head with the format's version. Then come blocks of effects: JSON, compressed,
with the texts and groups of resources that were not named before. The last record says how many
effects there are; without it the log is truncated. What is read is bounded and checked: a file that
was cut, changed or made up is refused.
"""

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from penstock import errors
from penstock.core.records import frame, read_records

FORMAT = "penstock effect log"
VERSION = 1
LARGEST_BLOCK = 1 << 26  # bytes that a block may have when it is unpacked


@dataclass(frozen=True, slots=True)
class Effect:
    """One turn that was taken.

    Attributes:
      who: an actor and a step, see `core.effects`; empty for a value outside of the order.
      name: the operation, with those around it.
      where: the user's line, when it is known.
      resources: the numbers of what was touched, in the order of first touches.
      error: code and message of the error that ended a wait or a step, else None.
      value: what was taken from outside, else None.
    """

    who: str
    name: str
    where: str
    resources: tuple[int, ...] = ()
    error: tuple[int, str] | None = None
    value: Any = None  # any: what JSON holds

    @property
    def ordered(self) -> bool:
        """Whether it has a place in the order of turns."""
        return self.who != ""


@dataclass(slots=True)
class Recorded:
    """What a file holds.

    Attributes:
      effects: in their order.
      resources: descriptions, by number.
      ended: for each actor the number of the last step that ended.
      failed: steps that ended with an error, so that some of their effects may be missing.
      complete: whether the last record is there.
    """

    effects: list[Effect] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)
    ended: dict[str, int] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    complete: bool = False


class EffectWriter:
    """Writes a log, block by block. Its owner's lock guards it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._texts: dict[str, int] = {}
        self._groups: dict[tuple[int, ...], int] = {}
        self._resources = 0
        self._count = 0
        self._write({"format": FORMAT, "version": VERSION}, lambda data: data)

    def write(self, effects: list[Effect], resources: list[str]) -> None:
        """Adds effects; `resources` are all descriptions so far."""
        texts, groups = len(self._texts), len(self._groups)
        rows = [
            [
                self._text(effect.who),
                self._text(effect.name),
                self._text(effect.where),
                self._groups.setdefault(effect.resources, len(self._groups)),
                effect.error,
                effect.value,
            ]
            for effect in effects
        ]
        block = {
            "texts": list(self._texts)[texts:],
            "groups": list(self._groups)[groups:],
            "resources": resources[self._resources :],
            "effects": rows,
        }
        self._resources = len(resources)
        self._count += len(effects)
        self._write(block, lambda data: zlib.compress(data, 1))

    def finish(self, ended: dict[str, int], failed: list[str]) -> None:
        """Adds the last record and closes the file."""
        self._write({"effects": self._count, "ended": ended, "failed": failed}, lambda data: data)
        self._file.close()

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _write(self, value: Any, pack: Callable[[bytes], bytes]) -> None:
        self._file.write(frame(pack(json.dumps(value, separators=(",", ":")).encode())))
        self._file.flush()


def read_effects(path: str, partial: bool = False) -> Recorded:
    """The log in a file.

    Args:
      path: the file.
      partial: whether a log that was cut is taken as far as it goes; bytes that were changed are
        refused all the same.

    Raises:
      NotFoundError: there is no such file.
      DataLossError: the file is no log, was cut or was changed.
    """
    found = Recorded()
    try:
        with open(path, "rb") as file:
            _read(file, path, found)
    except FileNotFoundError:
        raise errors.NotFoundError(
            None, None, f"{path}: expected an effect log, got no file. Record one first."
        ) from None
    except errors.DataLossError as problem:
        if not (partial and problem.message.startswith("truncated record") and found.effects):
            raise
    if not (found.complete or partial):
        raise _lost(
            path,
            "the record that ends a log",
            f"the end of the file after {len(found.effects)} effects: it is truncated",
            "Its run may go on, or was stopped in the middle; partial=True takes what there is.",
        )
    return found


def _read(file: BinaryIO, path: str, found: Recorded) -> None:
    records = read_records(file, path)
    head = _parsed(path, next(records, b""))
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise _lost(path, "an effect log", "a file of another kind", "Give the path of a log.")
    if head.get("version") != VERSION:
        raise _lost(
            path, f"version {VERSION} of the format", repr(head.get("version")), "Record it again."
        )
    tables = _Tables(path, found)
    for record in records:
        if found.complete:
            raise _lost(path, "nothing after the last record", "more", "Record it again.")
        if record[:1] == b"{":
            tables.end(_parsed(path, record))
        else:
            tables.add(_parsed(path, _unpacked(path, record)))


class _Tables:
    """The texts and groups that blocks refer to by number."""

    def __init__(self, path: str, found: Recorded) -> None:
        self._path = path
        self._found = found
        self._texts: list[str] = []
        self._groups: list[tuple[int, ...]] = []

    def add(self, block: Any) -> None:
        """Takes a block."""
        found = self._found
        try:
            self._texts += [_checked(text, str) for text in block["texts"]]
            found.resources += [_checked(text, str) for text in block["resources"]]
            for group in block["groups"]:
                self._groups.append(tuple([_index(n, found.resources) for n in group]))
            found.effects += [self._effect(*row) for row in block["effects"]]
        except (IndexError, KeyError, TypeError, ValueError) as problem:
            raise self._malformed(problem) from None

    def _effect(
        self, who: Any, name: Any, where: Any, group: Any, error: Any, value: Any
    ) -> Effect:
        texts = [self._texts[_index(n, self._texts)] for n in (who, name, where)]
        resources = self._groups[_index(group, self._groups)]
        if error is not None:
            code, message = error
            error = (_checked(code, int), _checked(message, str))
            errors.exception_type_from_error_code(code)
        return Effect(texts[0], texts[1], texts[2], resources, error, value)

    def end(self, last: Any) -> None:
        """Takes the last record."""
        found = self._found
        try:
            count, ended = last["effects"], last["ended"]
            found.ended = {_checked(a, str): _checked(n, int) for a, n in ended.items()}
            found.failed = {_checked(who, str) for who in last["failed"]}
            if count != len(found.effects):
                raise ValueError(f"{len(found.effects)} effects where {count} were written")
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise self._malformed(problem) from None
        found.complete = True

    def _malformed(self, problem: BaseException) -> errors.OpError:
        what = f"something else ({type(problem).__name__}: {problem})"
        return _lost(self._path, "a block of effects", what, "Record it again.")


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _index(number: Any, table: list[Any]) -> int:
    if not 0 <= _checked(number, int) < len(table):
        raise IndexError(f"{number} of {len(table)}")
    return number  # type: ignore[no-any-return]


def _unpacked(path: str, record: bytes) -> bytes:
    unpack = zlib.decompressobj()
    try:
        data = unpack.decompress(record, LARGEST_BLOCK)
    except zlib.error as problem:
        raise _lost(path, "a compressed block", str(problem), "Record it again.") from None
    if unpack.unconsumed_tail or not unpack.eof:
        raise _lost(
            path, f"blocks of at most {LARGEST_BLOCK} bytes", "a larger one", "Record it again."
        )
    return data


def _parsed(path: str, data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise _lost(
            path, "JSON", f"something else ({problem})", "Give the path of a log."
        ) from None


def _lost(path: str, expected: str, got: str, fix: str) -> errors.OpError:
    return errors.DataLossError(None, None, f"{path}: expected {expected}, got {got}. {fix}")
