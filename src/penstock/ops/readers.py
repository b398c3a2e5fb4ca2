"""Readers of graph mode: records of the files whose names a queue gives.

A reader object names a reader (`reader_state`) by its handle, `reader_ref`; its methods are the
operations of `reader_ops`. Graphs only, as queues of file names are.
"""

from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.op_def import OpDef, lookup
from penstock.core.record_files import TFRecordOptions
from penstock.core.tensor import Tensor
from penstock.ops import reader_ops as r
from penstock.ops.composing import result_type
from penstock.types import dtypes as dt


class ReaderBase:
    """The base class of readers.

    Args:
      reader_ref: the handle: resource[], or a string reference.
      supports_serialize: whether the reader's state can be saved.

    Raises:
      RuntimeError: operations run at once.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        _refuse_eager()
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the reader's state can be saved."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
        """The next record; takes a work unit from the queue where it needs one.

        Args:
          queue: a queue of strings, or its handle: names of files.
          name: the name in a graph.

        Returns:
          `key`, string[], and `value`, string[], a named tuple.

        Raises:
          OutOfRangeError: there are no more (when it runs).
        """
        return self._named(r.READ, [_ref(queue)], name)

    def read_up_to(
        self, queue: Any, num_records: Any, name: str | None = None
    ) -> tuple[Tensor, Tensor]:
        """Up to so many records, of one work unit.

        Args:
          queue: a queue of strings, or its handle: names of files.
          num_records: int64[], how many at most.
          name: the name in a graph.

        Returns:
          `keys`, string[n], and `values`, string[n], a named tuple.

        Raises:
          OutOfRangeError: there are no more (when it runs).
        """
        inputs = [_ref(queue), convert_to_tensor(num_records, dt.int64)]
        return self._named(r.READ_UP_TO, inputs, name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records the reader gave: int64[]."""
        found: Tensor = self._run(r.PRODUCED, [], name)
        return found

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many work units the reader has finished: int64[]."""
        found: Tensor = self._run(r.COMPLETED, [], name)
        return found

    def serialize_state(self, name: str | None = None) -> Tensor:
        """What the reader is in the middle of: string[]."""
        found: Tensor = self._run(r.SERIALIZE, [], name)
        return found

    def restore_state(self, state: Any, name: str | None = None) -> Any:
        """An operation that makes the reader go on where its state was taken.

        Args:
          state: string[], from `serialize_state` of such a reader.
          name: the name in a graph.

        Returns:
          The operation.

        Raises:
          InvalidArgumentError: it is no such state (when it runs).
        """
        return self._run(r.RESTORE, [convert_to_tensor(state, dt.string)], name)

    def reset(self, name: str | None = None) -> Any:
        """An operation that makes the reader as it was when it was made."""
        return self._run(r.RESET, [], name)

    def _named(self, op: OpDef, inputs: list[Any], name: str | None) -> tuple[Tensor, Tensor]:
        made: tuple[Tensor, Tensor] = result_type(op)(*self._run(op, inputs, name))
        return made

    def _run(self, op: OpDef, inputs: list[Any], name: str | None) -> Any:
        if self._reader_ref.dtype.base_dtype is dt.string:  # a reference of TensorFlow 1
            op = lookup(op.name.removesuffix("V2"))
            inputs = [execute("FakeQueue", (i,)) if i.dtype is dt.resource else i for i in inputs]
        return execute(op, (self._reader_ref, *inputs), None, name)


def _ref(queue: Any) -> Any:
    return queue if isinstance(queue, Tensor) else queue.queue_ref


def _refuse_eager() -> None:
    if state.graph is None:
        raise RuntimeError(
            "Readers are not supported when eager execution is enabled. Instead, please use"
            " tf.data to get data into your model."
        )


def _make(op: OpDef, name: str | None, **attrs: Any) -> Tensor:
    _refuse_eager()
    made: Tensor = execute(op, (), attrs, name)
    return made


class WholeFileReader(ReaderBase):
    """Gives whole files: the key is the name, the value the contents.

    Args:
      name: the name in a graph.

    Raises:
      RuntimeError: operations run at once.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_make(r.WHOLE_FILE, name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Gives the lines of files: the key is the file's name and the line's number.

    Args:
      skip_header_lines: lines at the beginning of each file that are left out.
      name: the name in a graph.

    Raises:
      RuntimeError: operations run at once.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(_make(r.TEXT_LINE, name, skip_header_lines=skip_header_lines or 0))


class FixedLengthRecordReader(ReaderBase):
    """Gives pieces of files of one size: the key is the file's name and the piece's number.

    Args:
      record_bytes: the size of a piece.
      header_bytes: bytes at the beginning of each file that are left out.
      footer_bytes: bytes at its end that are left out.
      hop_bytes: from the beginning of a piece to that of the next; `record_bytes` when 0.
      name: the name in a graph.
      encoding: "ZLIB" for compressed files.

    Raises:
      RuntimeError: operations run at once.
      InvalidArgumentError: sizes or the encoding are wrong (when it runs).
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        handle = _make(
            r.FIXED_LENGTH, name, record_bytes=record_bytes, header_bytes=header_bytes or 0,
            footer_bytes=footer_bytes or 0, hop_bytes=hop_bytes or 0, encoding=encoding or "",
        )  # fmt: skip
        super().__init__(handle)


class TFRecordReader(ReaderBase):
    """Gives the records of TFRecord files.

    Args:
      name: the name in a graph.
      options: TFRecordOptions, or None.

    Raises:
      RuntimeError: operations run at once.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        super().__init__(_make(r.TF_RECORD, name, compression_type=kind))


class LMDBReader(ReaderBase):
    """A reader of LMDB files: there in name alone, as in TensorFlow.

    Args:
      name: the name in a graph.
      options: accepted, and of no effect.

    Raises:
      RuntimeError: operations run at once.
      UnimplementedError: when it runs, always.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        del options
        super().__init__(_make(r.LMDB, name))


class IdentityReader(ReaderBase):
    """Gives the work units themselves, as keys and as values.

    Args:
      name: the name in a graph.

    Raises:
      RuntimeError: operations run at once.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_make(r.IDENTITY, name), supports_serialize=True)
