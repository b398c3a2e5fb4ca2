"""Datasets that are written to a folder while they pass: save.

A run of writing has a folder of its own, which the metadata name: whoever reads sees the elements
of one run.
"""

import contextlib
import os
import secrets
import time
from collections.abc import Sequence
from typing import Any

from penstock.core import files
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import no_output
from penstock.data import chunks, restoring
from penstock.data.operations import (
    HOST,
    TYPES,
    Mapped,
    attr_text,
    dataset_kernel,
    dataset_op,
    held,
    text_of,
)
from penstock.data.run import Bound, Run
from penstock.data.stages import (
    Array,
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    left_behind,
)
from penstock.data.whole import started
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


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
            with contextlib.suppress(OSError):  # others may be there; no shard is empty
                os.rmdir(shard)

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
