"""Rows that move between vocabularies: what `warm_start` makes of an embedding's old table.

A vocabulary is a file with one entry a line, whose number is the row (or column) of the entry.
Entries of the new one that the old one had too keep their rows; the others begin as an initializer
says.
"""

import os
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.ops.lookup_files import LINE_NUMBER, WHOLE_LINE, read_table
from penstock.types import dims as d
from penstock.types import dtypes as dt

ROWS, COLUMNS = 0, 1


def old_places(info: Any, size: int) -> "np.ndarray[Any, Any]":
    """For each of `size` places of the new table where its entry was in the old one: int64[size].

    -1 for entries that are new, and for those that are in no vocabulary.

    Args:
      info: a VocabInfo.
      size: rows or columns of the new table.

    Raises:
      NotFoundError: a vocabulary is missing.
      InvalidArgumentError: the new vocabulary has too few entries.
    """
    before: dict[bytes, int] = {}
    for number, entry in enumerate(_entries(info.old_vocab, info.old_vocab_size)):
        before.setdefault(entry, number)
    found = [before.get(entry, -1) for entry in _entries(info.new_vocab, info.new_vocab_size)]
    places = np.full(size, -1, np.int64)
    kept = min(size, len(found))
    places[:kept] = found[:kept]
    return places


def _entries(path: Any, count: int) -> list[bytes]:
    name = os.fsencode(path)
    entries, _ = read_table(name, (WHOLE_LINE, dt.string), (LINE_NUMBER, dt.int64), count, "\t", 0)
    return entries.tolist()  # type: ignore[no-any-return]


def remapped(old: Any, name: str, variable: Any, info: Any) -> Any:
    """The first value of a variable, or of a part of one.

    Args:
      old: the table in the checkpoint: [old rows, columns].
      name: its name there.
      variable: the variable: [rows, columns].
      info: a VocabInfo.

    Raises:
      ValueError: `info.axis` is neither 0 nor 1.
      InvalidArgumentError: one of the two is no matrix, or they differ where nothing moves.
    """
    if info.axis not in (ROWS, COLUMNS):
        raise ValueError(f"warm_start: expected axis 0 or 1 of VocabInfo, got {info.axis!r}.")
    part = variable._get_save_slice_info()
    dims = tuple(variable.dims) if part is None else tuple(part.full_shape)
    stored = old.dims
    fixed = 1 - info.axis
    if len(dims) != 2 or stored is None or len(stored) != 2 or stored[fixed] != dims[fixed]:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"warm_start of {variable.name} with vocabularies along axis {info.axis}: expected two"
            f" matrices with as many {'rows' if fixed == ROWS else 'columns'}, got"
            f" {d.text(dims)} and {d.text(stored)}, {name} of the checkpoint. Start it in another"
            " way.",
        )
    places = old_places(info, dims[info.axis])
    begin = (0, 0) if part is None else tuple(part.var_offset)
    size = dims if part is None else tuple(part.var_shape)
    places = places[begin[info.axis] : begin[info.axis] + size[info.axis]]
    if part is not None and size[fixed] != dims[fixed]:
        start = [begin[fixed] if i == fixed else 0 for i in range(2)]
        extent = [size[fixed] if i == fixed else -1 for i in range(2)]
        old = execute("Slice", (old, start, extent))
    axis = np.array(info.axis, np.int32)
    kept = execute("GatherV2", (old, np.maximum(places, 0), axis))
    known = np.expand_dims(places >= 0, fixed)
    return execute("SelectV2", (known, kept, _fresh(info, size, variable.dtype)))


def _fresh(info: Any, size: tuple[int, ...], dtype: Any) -> Any:
    """Values of entries that are new."""
    if info.backup_initializer is None:
        return np.zeros(size, dtype.numpy_dtype)
    return info.backup_initializer(list(size), dtype=dtype)
