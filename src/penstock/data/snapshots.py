"""Datasets that are written when they first pass, and read from then on: snapshot.

They are written while they are gone through to the end for the first time; the folder's name is a
fingerprint of what the dataset is made of.
"""

import os
from typing import Any

from penstock.core import files
from penstock.data import chunks, restoring
from penstock.data.fingerprints import fingerprint
from penstock.data.loading import Loaded
from penstock.data.operations import (
    TYPES,
    Mapped,
    attr_text,
    dataset_kernel,
    dataset_op,
    held,
    text_of,
)
from penstock.data.run import Run
from penstock.data.saving import Saved
from penstock.data.stages import (
    UNKNOWN,
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
)


class Snapshot(Description):
    """Elements that are written when they first pass, and read from then on.

    Args:
      saved: writes them.
      reader: what makes one dataset of those of the shards.
    """

    kind = "SnapshotDatasetV2"
    __slots__ = ("reader", "saved")

    def __init__(self, saved: Saved, reader: Mapped) -> None:
        super().__init__(saved.inputs, saved.types, saved.shapes)
        self.saved = saved
        self.reader = reader

    def cardinality(self) -> int:
        """That of the elements; where they are read, their number."""
        found = self.inputs[0].cardinality()
        if found != UNKNOWN:
            return found
        metadata = chunks.read_metadata(self.saved.folder)
        return metadata.count if metadata is not None and metadata.finalized else UNKNOWN

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        metadata = chunks.read_metadata(self.saved.folder)
        reads = metadata is not None and metadata.finalized
        return _SnapshotStage(self._begun(run, reads), reads, self, run)

    def _begun(self, run: Run, reads: bool) -> Stage:
        metadata = chunks.read_metadata(self.saved.folder) if reads else None
        if metadata is None:
            return self.saved.start(run)
        saved = self.saved
        packed = saved.compression
        return Loaded(
            self.kind, saved.folder, metadata, packed, self.reader, self.types, self.shapes
        ).start(run)


class _SnapshotStage(UnaryStage):
    def __init__(self, input: Stage, reads: bool, description: Snapshot, run: Run) -> None:
        super().__init__(input)
        self._reads = reads
        self._description = description
        self._of = run

    def next(self) -> Element | None:
        return self.input.next()

    def save(self) -> State:
        return {**super().save(), "reads": self._reads}

    def restore(self, state: State) -> None:
        reads = restoring.flag(state["reads"], "SnapshotDatasetV2")
        if reads != self._reads:
            self.input.close()
            self.input = self._description._begun(self._of, reads)
            self._reads = reads
        super().restore(state)


SNAPSHOT = dataset_op(
    "SnapshotDatasetV2(input_dataset: variant, path: string, reader_func_other_args:"
    f" [Treader_func_args], shard_func_other_args: [Tshard_func_args]; {TYPES}, compression: string"
    " = '', reader_prefix: string = '', writer_prefix: string = '', hash_valid: bool = False, hash:"
    " int = 0, reader_func: func, shard_func: func, Treader_func_args: list(type) >= 0,"
    " Tshard_func_args: list(type) >= 0, metadata: string = '') -> handle: variant",
    "The elements of a dataset, written when they first pass, and read from then on.",
)


@dataset_kernel(SNAPSHOT)
def _snapshot(
    input_dataset: Array, path: Array, reader_func_other_args: list[Array],
    shard_func_other_args: list[Array], *, compression: Any, hash_valid: bool, hash: int,
    reader_func: Any, shard_func: Any, output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    description = held(input_dataset)
    number = hash & 0xFFFFFFFFFFFFFFFF if hash_valid else fingerprint(description)
    folder = os.path.join(files.local_path(text_of(path)), str(number))
    packed = chunks.compression_of("SnapshotDatasetV2", attr_text(compression))
    shard = Mapped(shard_func, shard_func_other_args)
    saved = Saved(
        "SnapshotDatasetV2", description, folder, packed, shard, output_types, output_shapes
    )
    return Snapshot(saved, Mapped(reader_func, reader_func_other_args))
