"""Datasets that are read from a folder: load, and its parts.

The metadata name the run of writing whose elements are read; the elements of each shard are those
of its chunks, one after the other.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import files
from penstock.data import chunks, codec, restoring
from penstock.data.counting import Skip
from penstock.data.operations import (
    TYPES,
    Mapped,
    attr_text,
    dataset_kernel,
    dataset_op,
    held,
    number,
    text_of,
)
from penstock.data.run import Run
from penstock.data.sources import Rows
from penstock.data.stages import (
    Array,
    Description,
    Element,
    SourceStage,
    Stage,
    State,
)
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype


class Chunks(Description):
    """The elements of chunks, one chunk after the other."""

    kind = "SnapshotDatasetReader"
    __slots__ = ("compression", "paths")

    def __init__(
        self,
        paths: Sequence[str],
        compression: str,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((), types, shapes)
        self.paths = tuple(paths)
        self.compression = compression

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        return _ChunksStage(self, run)


def _of_shard(
    folder: str, compression: str, types: Sequence[DType], shapes: Sequence[Dims]
) -> Chunks:
    """The elements of a shard.

    Raises:
      NotFoundError: it has no chunks: there is no shard without elements.
    """
    paths = chunks.chunks_of(folder)
    if not paths:
        raise errors.NotFoundError(
            None,
            None,
            f"{folder}: expected the chunks of a shard of a saved dataset, got none. Save it"
            " again.",
        )
    return Chunks(paths, compression, types, shapes)


def _chunks_fields(found: Chunks) -> dict[str, Any]:
    return {
        "paths": list(found.paths),
        "compression": found.compression,
        "types": [int(t.as_datatype_enum) for t in found.types],
        "shapes": [None if s is None else list(s) for s in found.shapes],
    }


def _chunks_of(fields: dict[str, Any]) -> Chunks:
    shapes = [None if s is None else tuple(s) for s in fields["shapes"]]
    types = [as_dtype(int(t)) for t in fields["types"]]
    return Chunks(fields["paths"], fields["compression"], types, shapes)


# A stage that takes elements of several shards saves them, which are such descriptions.
codec.register(Chunks, "chunks", _chunks_fields, _chunks_of)


class _ChunksStage(SourceStage):
    def __init__(self, description: Chunks, run: Run) -> None:
        super().__init__(run)
        self._description = description
        self._number = 0
        self._offset = 0
        self._reader: chunks.ChunkReader | None = None

    def next(self) -> Element | None:
        description = self._description
        while self._number < len(description.paths):
            self.check_wanted()
            try:
                if self._reader is None:
                    self._reader = chunks.ChunkReader(
                        description.paths[self._number],
                        description.compression,
                        description.types,
                        self._offset,
                    )
                found = self._reader.next()
            except Exception:
                self._begin(self._number + 1)
                raise
            if found is not None:
                return found
            self._begin(self._number + 1)
        return None

    def _begin(self, number: int, offset: int = 0) -> None:
        self.close()
        self._number, self._offset = number, offset

    def save(self) -> State:
        return [self._number, self._offset if self._reader is None else self._reader.offset]

    def restore(self, state: State) -> None:
        number, offset = restoring.several(state, "The place in chunks", 2)
        most = len(self._description.paths)
        self._begin(
            restoring.whole(number, "The number of a chunk", 0, most),
            restoring.whole(offset, "The place in a chunk"),
        )

    def after_fork(self) -> None:
        self.close()  # to open it again: two processes would move one offset

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            self._offset = reader.offset
            reader.close()


class Loaded(Description):
    """What a function makes of the datasets of the shards of a folder.

    Args:
      kind: the operation's name.
      folder: where they are.
      metadata: what is known of them.
      compression: one of `chunks.COMPRESSIONS`.
      reader: the function.
      types: of the elements.
      shapes: of the elements.
    """

    __slots__ = ("compression", "folder", "kind", "metadata", "reader")

    def __init__(
        self,
        kind: str,
        folder: str,
        metadata: chunks.Metadata,
        compression: str,
        reader: Mapped,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((), types, shapes)
        self.kind = kind  # type: ignore[misc]
        self.folder = folder
        self.metadata = metadata
        self.compression = compression
        self.reader = reader

    def cardinality(self) -> int:
        """The number that the metadata state."""
        return self.metadata.count

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        shards = [
            _of_shard(shard, self.compression, self.types, self.shapes)
            for shard in chunks.shards_of(self.folder, self.metadata.run)
        ]
        column = np.empty(len(shards), object)
        column[:] = shards
        (made,) = self.reader.bind(run)([Rows([column], [dt.variant], [()])])
        return held(made).start(run)


LOAD = dataset_op(
    f"LoadDataset(path: string, reader_func_other_args: [Treader_func_args]; {TYPES}, compression:"
    " string = '', reader_func: func, Treader_func_args: list(type) >= 0) -> handle: variant",
    "The elements of a dataset that was written to a folder.",
    stateful=True,
)


@dataset_kernel(LOAD)
def _load(
    path: Array, reader_func_other_args: list[Array], *, compression: Any, reader_func: Any,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    folder = files.local_path(text_of(path))
    metadata = chunks.read_metadata(folder)
    if metadata is None:
        raise errors.NotFoundError(
            None,
            None,
            f"Could not find metadata file [{folder}/{chunks.METADATA}]: expected a folder that"
            " Dataset.save wrote.",
        )
    reader = Mapped(reader_func, reader_func_other_args)
    packed = chunks.compression_of("LoadDataset", attr_text(compression))
    return Loaded("LoadDataset", folder, metadata, packed, reader, output_types, output_shapes)


CHUNK = dataset_op(
    f"SnapshotChunkDataset(chunk_file: string; {TYPES}, compression: string = '') -> handle:"
    " variant",
    "The elements of one chunk of a saved dataset.",
)
READER = dataset_op(
    f"SnapshotDatasetReader(shard_dir: string, start_index: int64; {TYPES}, compression: string ="
    " '', version: int) -> handle: variant",
    "The elements of one shard of a saved dataset.",
)
NESTED = dataset_op(
    f"SnapshotNestedDatasetReader(inputs: N * variant; {TYPES}, N: int >= 1) -> handle: variant",
    "Datasets as the elements of one.",
)


@dataset_kernel(CHUNK)
def _chunk(
    chunk_file: Array, *, compression: Any, output_types: Any, output_shapes: Any
) -> Description:
    packed = chunks.compression_of("SnapshotChunkDataset", attr_text(compression))
    path = files.local_path(text_of(chunk_file))
    return Chunks([path], packed, output_types, output_shapes)


@dataset_kernel(READER)
def _reader(
    shard_dir: Array, start_index: Array, *, compression: Any, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    packed = chunks.compression_of("SnapshotDatasetReader", attr_text(compression))
    folder = files.local_path(text_of(shard_dir))
    if not os.path.isdir(folder):
        raise errors.NotFoundError(
            None, None, f"{folder}; expected the folder of a shard of a saved dataset, got none."
        )
    made = _of_shard(folder, packed, output_types, output_shapes)
    first = number(start_index)
    return made if first <= 0 else Skip(made, first, output_types, output_shapes)


@dataset_kernel(NESTED)
def _nested(inputs: list[Array], *, output_types: Any, output_shapes: Any) -> Description:
    column = np.empty(len(inputs), object)
    column[:] = [held(each) for each in inputs]
    return Rows([column], [dt.variant], [()])
