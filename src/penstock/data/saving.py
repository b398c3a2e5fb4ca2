"""Datasets that are written to a folder and read from there: save, load, snapshot.

A run of writing has a folder of its own, which the metadata name: whoever reads sees the elements
of one run. `snapshot` writes what passes while it is first gone through to its end, and reads it
from then on; the folder's name is a fingerprint of what the dataset is made of.
"""

import os
import secrets
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import files
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import no_output
from penstock.data import chunks, codec, restoring
from penstock.data.counting import Skip
from penstock.data.fingerprints import fingerprint
from penstock.data.operations import (
    HOST,
    TYPES,
    Mapped,
    attr_text,
    dataset_kernel,
    dataset_op,
    held,
    number,
    text_of,
)
from penstock.data.run import Bound, Run
from penstock.data.sources import Rows
from penstock.data.stages import (
    UNKNOWN,
    Array,
    Description,
    Element,
    SourceStage,
    Stage,
    State,
    UnaryStage,
    left_behind,
)
from penstock.data.whole import started
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

# ---- writing


class Saved(Description):
    """Elements that are written to a folder while they pass.

    Args:
      kind: the operation's name.
      input: the elements.
      folder: where.
      compression: one of `chunks.COMPRESSIONS`.
      shard: which shard an element belongs to; all to one without it.
      types: of the elements.
      shapes: of the elements.
    """

    __slots__ = ("compression", "folder", "kind", "shard")

    def __init__(
        self,
        kind: str,
        input: Description,
        folder: str,
        compression: str,
        shard: Mapped | None,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.kind = kind  # type: ignore[misc]
        self.folder = folder
        self.compression = compression
        self.shard = shard

    def cardinality(self) -> int:
        """That of the elements."""
        return self.inputs[0].cardinality()

    def start(self, run: Run) -> Stage:
        """A state before the first element; nothing is written before one is asked for."""
        shard = None if self.shard is None else self.shard.bind(run)
        return SavingStage(self.inputs[0].start(run), self, shard, run)


class SavingStage(UnaryStage):
    """Writes what passes.

    A state that is saved begins new chunks: whoever goes on from there writes them again.
    """

    def __init__(self, input: Stage, description: Saved, shard: Bound | None, run: Run) -> None:
        super().__init__(input)
        self._of = run
        self._folder = description.folder
        self._compression = description.compression
        self._types = description.inputs[0].types
        self._shard = shard
        self._writers: dict[int, chunks.ChunkWriter] = {}
        self._run = ""
        self._chunk = 0  # number of the chunks that are being written
        self._count = 0
        self._ended = False

    def next(self) -> Element | None:
        """The next element, once it is written."""
        if self._ended:
            return None
        if not self._run:
            self._begin()
        found = self.input.next()
        if found is None:
            self._end()
            return None
        self._writer(found).write(found)
        self._count += 1
        return found

    def _begin(self) -> None:
        self._run = str(secrets.randbits(63))
        files.makedirs(os.path.join(self._folder, self._run))
        self._write_metadata(False)

    def _end(self) -> None:
        self._ended = True
        self._close_chunks()
        self._write_metadata(True)

    def _write_metadata(self, finalized: bool) -> None:
        types = tuple(int(t.as_datatype_enum) for t in self._types)
        now = time.time_ns() // 1000
        metadata = chunks.Metadata(self._run, now, types, self._count, finalized)
        chunks.write_metadata(self._folder, metadata)

    def _writer(self, element: Element) -> chunks.ChunkWriter:
        number = 0
        if self._shard is not None:
            (value,) = self._shard(element)
            number = int(value) & 0xFFFFFFFFFFFFFFFF
        if number not in self._writers:
            folder = os.path.join(self._folder, self._run, f"{number:08d}.shard")
            files.makedirs(folder)
            path = os.path.join(folder, f"{self._chunk:08d}.snapshot")
            self._writers[number] = chunks.ChunkWriter(path, self._compression, self._types)
        return self._writers[number]

    def _close_chunks(self) -> None:
        writers, self._writers = self._writers, {}
        for writer in writers.values():
            writer.close()

    def save(self) -> State:
        """Where the input is, and what was written."""
        if self._writers:
            self._close_chunks()
            self._chunk += 1
        return {
            **super().save(), "run": self._run, "chunk": self._chunk, "count": self._count,
            "ended": self._ended,
        }  # fmt: skip

    def restore(self, state: State) -> None:
        """Goes on behind what was written then; what was written later is written again."""
        super().restore(state)
        self._close_chunks()
        run = state["run"]
        if not isinstance(run, str) or not (run.isdecimal() or not run):
            raise restoring.other("SaveDataset", "the name of a run", run)
        self._run, self._chunk = run, restoring.whole(state["chunk"], "SaveDataset")
        self._count = restoring.whole(state["count"], "SaveDataset")
        self._ended = restoring.flag(state["ended"], "SaveDataset")
        if run and not self._ended:
            self._of.when_restored(self._remove_later)

    def _remove_later(self) -> None:
        """Removes the chunks that are written again."""
        for shard in chunks.shards_of(self._folder, self._run):
            for path in chunks.chunks_of(shard):
                number = os.path.basename(path).partition(".")[0]
                if number.isdecimal() and int(number) >= self._chunk:  # others are not ours
                    files.remove(path)

    def after_fork(self) -> None:
        """Writes nothing that another process writes."""
        if self._run and not self._ended:
            raise left_behind("SaveDataset")
        super().after_fork()

    def close(self) -> None:
        """Closes the chunks."""
        self._close_chunks()
        super().close()


_SAVE = (
    "input_dataset: variant, path: string, shard_func_other_args: [Tshard_func_args]; compression:"
    " string = '', shard_func: func, use_shard_func: bool = True, Tshard_func_args: list(type) >= 0"
)
SAVE = define_op(
    f"SaveDataset({_SAVE}) -> ()",
    shape=no_output,
    stateful=True,
    fallible=True,
    doc="Writes a dataset to a folder.",
).not_differentiable("it has no outputs")
SAVE.calls = True
SAVE_V2 = dataset_op(
    f"SaveDatasetV2({_SAVE}, {TYPES}) -> handle: variant",
    "The elements of a dataset, which are written to a folder while they pass.",
    stateful=True,
)


def _saved(
    op: str, input_dataset: Array, path: Array, arguments: list[Array], attrs: dict[str, Any]
) -> Saved:
    description = held(input_dataset)
    shard = Mapped(attrs["shard_func"], arguments) if attrs["use_shard_func"] else None
    compression = chunks.compression_of(op, attr_text(attrs["compression"]))
    folder = files.local_path(text_of(path))
    types, shapes = description.types, description.shapes
    return Saved(op, description, folder, compression, shard, types, shapes)


@host_kernel(SAVE, limit=HOST, reentrant=True)
def _save(
    ctx: KernelContext, input_dataset: Array, path: Array, shard_func_other_args: list[Array], *,
    compression: Any, shard_func: Any, use_shard_func: bool,
) -> None:  # fmt: skip
    attrs = {
        "compression": compression, "shard_func": shard_func, "use_shard_func": use_shard_func,
    }  # fmt: skip
    description = _saved("SaveDataset", input_dataset, path, shard_func_other_args, attrs)
    with started(description, ctx) as (stage, _):
        while stage.next() is not None:
            pass


@dataset_kernel(SAVE_V2)
def _save_v2(
    input_dataset: Array, path: Array, shard_func_other_args: list[Array], *, compression: Any,
    shard_func: Any, use_shard_func: bool,
) -> Description:  # fmt: skip
    attrs = {
        "compression": compression, "shard_func": shard_func, "use_shard_func": use_shard_func,
    }  # fmt: skip
    return _saved("SaveDatasetV2", input_dataset, path, shard_func_other_args, attrs)


# ---- reading


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
            Chunks(chunks.chunks_of(shard), self.compression, self.types, self.shapes)
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
    made = Chunks(chunks.chunks_of(folder), packed, output_types, output_shapes)
    first = number(start_index)
    return made if first <= 0 else Skip(made, first, output_types, output_shapes)


@dataset_kernel(NESTED)
def _nested(inputs: list[Array], *, output_types: Any, output_shapes: Any) -> Description:
    column = np.empty(len(inputs), object)
    column[:] = [held(each) for each in inputs]
    return Rows([column], [dt.variant], [()])


# ---- written first, then read


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
