"""Rows that move between vocabularies: `GenerateVocabRemapping` and `LoadAndRemapMatrix`.

A vocabulary is a file with an entry in each line. The first operation finds for the entries of a
new one where they were in an old one; the second reads a matrix of a checkpoint with its rows and
columns in the new places. `compat.v1.train.warm_start` does both for variables.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.bundle.reader import BundleReader
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.io_checkpoint import bad, path_text
from penstock.ops.lookup_files import LINE_NUMBER, WHOLE_LINE, read_table
from penstock.ops.string_arrays import HOST, as_text
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray


def _vocabulary_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "new_vocab_file")
    c.rank(1, 0, "old_vocab_file")
    return [(c.attr("num_new_vocab"),), ()]


REMAPPING = define_op(
    "GenerateVocabRemapping(new_vocab_file: string, old_vocab_file: string; new_vocab_offset: int "
    ">= 0, num_new_vocab: int >= 0, old_vocab_size: int >= -1 = -1) -> remapping: int64, "
    "num_present: int32",
    shape=_vocabulary_shape,
    doc="The lines of the old vocabulary that have the entries of so many lines of the new one, -1 "
    "for those that are not there, and how many are. Of the old one, all lines or the first ones.",
).not_differentiable("lines are no numbers")


def _entries(path: Array, name: str, count: int) -> list[bytes]:
    if not path.item():
        raise bad(f"GenerateVocabRemapping: {name} vocab filename cannot be empty.")
    where = os.fsencode(path_text(path))
    entries, _ = read_table(where, (WHOLE_LINE, dt.string), (LINE_NUMBER, dt.int64), count, "\t", 0)
    return entries.tolist()  # type: ignore[no-any-return]


@host_kernel(REMAPPING, limit=HOST)
def _remapping(
    new_vocab_file: Array, old_vocab_file: Array, *, new_vocab_offset: int, num_new_vocab: int,
    old_vocab_size: int,
) -> list[Array]:  # fmt: skip
    new = _entries(new_vocab_file, "new", -1)
    if new_vocab_offset + num_new_vocab > len(new):
        raise bad(
            "GenerateVocabRemapping: lookup table size must be larger than last new vocab entry's"
            f" line: expected at least {new_vocab_offset + num_new_vocab} lines, got {len(new)}."
        )
    places: dict[bytes, int] = {}
    for line, entry in enumerate(_entries(old_vocab_file, "old", old_vocab_size)):
        if places.setdefault(entry, line) != line:
            raise errors.FailedPreconditionError(
                None,
                None,
                "GenerateVocabRemapping: HashTable has different value for same key: expected each"
                f" entry once, got {as_text(entry)!r} in lines {places[entry]} and {line}.",
            )
    wanted = new[new_vocab_offset : new_vocab_offset + num_new_vocab]
    found = np.array([places.get(entry, -1) for entry in wanted], np.int64)
    return [found, np.array((found >= 0).sum(), np.int32)]


def _matrix_shape(c: ShapeContext) -> Dims:
    c.rank(0, 0, "ckpt_path")
    c.rank(1, 0, "old_tensor_name")
    rows, columns = c.rank(2, 1, "row_remapping"), c.rank(3, 1, "col_remapping")
    c.rank(4, 1, "initializing_values")
    sizes = ((rows, "row", "num_rows"), (columns, "col", "num_cols"))
    for dims, name, attr in sizes:
        wanted = c.attr(attr)
        size = None if dims is None else dims[0]
        if size is not None and size != wanted and (name == "row" or size):
            c.fail(
                f"a {name}_remapping whose size is {attr}: {wanted}",
                f"{size}",
                "It says for each of the new ones which of the old ones it was, or -1.",
            )
    return (c.attr("num_rows"), c.attr("num_cols"))


LOAD = define_op(
    "LoadAndRemapMatrix(ckpt_path: string, old_tensor_name: string, row_remapping: int64, "
    "col_remapping: int64, initializing_values: float; num_rows: int >= 0, num_cols: int >= 1, "
    "max_rows_in_memory: int = -1) -> output_matrix: float",
    shape=_matrix_shape,
    stateful=True,
    doc="A matrix of a checkpoint with other rows and columns: each is an old one, or -1 for one "
    "that is new and takes the next of `initializing_values`, row by row. Without `col_remapping` "
    "the columns stay. The matrix is read at once, whatever max_rows_in_memory says.",
).not_differentiable("a file has no gradient")


@host_kernel(LOAD, limit=HOST)
def _load(
    ckpt_path: Array, old_tensor_name: Array, row_remapping: Array, col_remapping: Array,
    initializing_values: Array, *, num_rows: int, num_cols: int,
) -> Array:  # fmt: skip
    name = as_text(old_tensor_name.item())
    with BundleReader(path_text(ckpt_path)) as reader:
        info = reader.info(name)
        _check_matrix(name, info, num_cols, len(col_remapping))
        rows = _rows(row_remapping, info.shape[0], "row", errors.InternalError)
        columns = _rows(col_remapping, info.shape[1], "col", errors.InvalidArgumentError)
        old = reader.read(name)
    result = np.zeros((num_rows, num_cols), np.float32)
    given = np.ones((num_rows, num_cols), bool)  # what the checkpoint does not have
    present = np.nonzero(rows >= 0)[0]
    if len(columns):
        kept = np.nonzero(columns >= 0)[0]
        at = np.ix_(present, kept)
        result[at], given[at] = old[np.ix_(rows[present], columns[kept])], False
    else:
        result[present], given[present] = old[rows[present]], False
    missing = int(given.sum())
    if missing > len(initializing_values):
        raise bad(
            f"LoadAndRemapMatrix: initializing_values contained {len(initializing_values)}"
            f" elements, but more missing values remain: expected {missing}."
        )
    if missing < len(initializing_values):
        raise bad(
            f"LoadAndRemapMatrix: initializing_values contained {len(initializing_values)}"
            f" elements, but only {missing} elements were used to fill in missing values."
        )
    result[given] = initializing_values
    return result


def _check_matrix(name: str, info: Any, num_cols: int, remapped: int) -> None:
    shape = list(info.shape)
    if info.dtype is not dt.float32:
        raise bad(
            f"LoadAndRemapMatrix: Tensor {name} has invalid type {info.dtype.name} instead of"
            " expected type float32."
        )
    if len(shape) != 2:
        raise bad(
            f"LoadAndRemapMatrix: Tensor {name} has shape {shape} of invalid rank {len(shape)}"
            " instead of expected shape of rank 2."
        )
    if not remapped and shape[1] != num_cols:
        raise bad(
            f"LoadAndRemapMatrix: Tensor {name} has shape {shape}, where the size of its 2nd"
            f" dimension is {shape[1]} instead of being equal to num_cols={num_cols}. Give"
            " col_remapping."
        )


def _rows(remapping: Array, size: int, kind: str, error: Callable[..., errors.OpError]) -> Array:
    """Old numbers of rows or columns, each there and used once."""
    known: dict[int, int] = {}
    for new, old in enumerate(remapping.tolist()):
        if old >= size:
            raise error(
                None,
                None,
                f"LoadAndRemapMatrix: {kind}_remapping[{new}] is out of bounds: expected less than"
                f" {size}, got {old}.",
            )
        if old >= 0 and known.setdefault(old, new) != new:
            raise errors.UnimplementedError(
                None,
                None,
                f"LoadAndRemapMatrix: Old ID {old} is mapped to both new ID {known[old]} and {new},"
                f" which is not supported. Each {kind} may stand in one place.",
            )
    return remapping
