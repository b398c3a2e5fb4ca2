"""Operations on readers (`reader_state`), in both forms: a resource, and a string reference."""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.resources import ResourceHandle
from penstock.core.shapes import ShapeContext
from penstock.ops import reader_state as r
from penstock.ops.queue_ops import queue_of
from penstock.ops.queue_waiting import make_handle
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray

_HOST = 1 << 62
_SHARED = "container: string = '', shared_name: string = ''"
_WHY = "what a reader gives is no function of its handle"


def _define_kind(
    name: str, attrs: str, old_attrs: str, doc: str, source: Callable[[dict[str, Any]], r.Source]
) -> OpDef:
    """The operation that makes a reader of one kind, in both forms."""
    define_op(
        f"{name}(; {old_attrs}) -> ref reader_handle: string",
        shape=lambda c: (2,),
        stateful=True,
        doc=f"{doc} The handle is a reference, as in TensorFlow 1.",
    ).not_differentiable("it has no inputs")
    op = define_op(
        f"{name}V2(; {attrs}) -> reader_handle: resource",
        shape=shapes.scalar,
        stateful=True,
        doc=doc,
    ).not_differentiable("it has no inputs")

    @host_kernel(op, limit=_HOST)
    def _make(ctx: KernelContext) -> ResourceHandle:
        records = source({"encoding": "", **ctx.attrs})
        return make_handle(
            ctx,
            ctx.attrs["container"],
            ctx.attrs["shared_name"],
            r.Reader,
            lambda found: r.Reader(name, found, records),
        )

    return op


def _fixed(attrs: dict[str, Any]) -> r.Source:
    sizes = {n: attrs[n] for n in ("header_bytes", "record_bytes", "footer_bytes", "hop_bytes")}
    if min(sizes.values()) < 0 or sizes["record_bytes"] == 0:
        raise errors.InvalidArgumentError(
            None,
            None,
            "FixedLengthRecordReader: expected record_bytes > 0 and the other sizes >= 0, got "
            f"{sizes}.",
        )
    if attrs["encoding"] not in ("", "NONE", "ZLIB"):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"FixedLengthRecordReader: expected encoding '' or 'ZLIB', got {attrs['encoding']!r}.",
        )
    header, record, footer, hop = sizes.values()
    return r.fixed_length(header, record, footer, hop, attrs["encoding"])


def _compressed(attrs: dict[str, Any]) -> r.Source:
    kind = attrs["compression_type"]
    if kind not in ("", "ZLIB", "GZIP"):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"TFRecordReader: expected compression_type '', 'ZLIB' or 'GZIP', got {kind!r}.",
        )
    return r.tf_records(kind)


_SIZES = "header_bytes: int = 0, record_bytes: int, footer_bytes: int = 0, hop_bytes: int = 0, "
WHOLE_FILE = _define_kind(
    "WholeFileReader", _SHARED, _SHARED, "A reader of whole files.", lambda attrs: r.whole_file
)
TEXT_LINE = _define_kind(
    "TextLineReader",
    f"skip_header_lines: int = 0, {_SHARED}",
    f"skip_header_lines: int = 0, {_SHARED}",
    "A reader of the lines of files.",
    lambda attrs: r.text_lines(attrs["skip_header_lines"]),
)
FIXED_LENGTH = _define_kind(
    "FixedLengthRecordReader",
    f"{_SIZES}{_SHARED}, encoding: string = ''",
    f"{_SIZES}{_SHARED}",
    "A reader of pieces of one size.",
    _fixed,
)
TF_RECORD = _define_kind(
    "TFRecordReader",
    f"{_SHARED}, compression_type: string = ''",
    f"{_SHARED}, compression_type: string = ''",
    "A reader of TFRecord files.",
    _compressed,
)
IDENTITY = _define_kind(
    "IdentityReader",
    _SHARED,
    _SHARED,
    "A reader whose records are the work units themselves.",
    lambda attrs: r.identity,
)

LMDB = define_op(
    f"LMDBReader(; {_SHARED}) -> ref reader_handle: string",
    shape=lambda c: (2,),
    stateful=True,
    doc="A reader of LMDB files: always refused, as TensorFlow does since it left LMDB out.",
).not_differentiable("it has no inputs")

LMDB_RESOURCE = define_op(
    f"PenstockLMDBReader(; {_SHARED}) -> reader_handle: resource",
    shape=shapes.scalar,
    stateful=True,
    fallible=True,
    doc="`LMDBReader`, whose handle is a resource.",
).not_differentiable("it has no inputs")


@host_kernel(LMDB_RESOURCE, limit=_HOST)
def _lmdb() -> ResourceHandle:
    raise errors.UnimplementedError(
        None,
        None,
        "LMDB support is removed from TensorFlow, and LMDBReader is there in name alone: expected "
        "another reader. Write the records to a TFRecord file, with the lmdb package to read them.",
    )


def _on_handle(name: str, rest: str, doc: str, shape: Any) -> OpDef:
    """An operation on a reader, in both forms."""
    old = rest.replace("queue_handle: resource", "ref queue_handle: string")
    define_op(
        f"{name}(ref reader_handle: string{old}",
        shape=shape,
        doc=f"{doc} The handle is a reference, as in TensorFlow 1.",
    ).not_differentiable(_WHY)
    return define_op(
        f"{name}V2(reader_handle: resource{rest}", shape=shape, stateful=True, doc=doc
    ).not_differentiable(_WHY)


def _pair(c: ShapeContext) -> list[Dims]:
    return [(), ()]


def _pairs(c: ShapeContext) -> list[Dims]:
    c.rank(2, 0, "num_records")
    return [(None,), (None,)]


def _state_given(c: ShapeContext) -> list[Dims]:
    c.rank(1, 0, "state")
    return []


READ = _on_handle(
    "ReaderRead",
    ", queue_handle: resource) -> key: string, value: string",
    "The next record of a reader.",
    _pair,
)
READ_UP_TO = _on_handle(
    "ReaderReadUpTo",
    ", queue_handle: resource, num_records: int64) -> keys: string, values: string",
    "Up to so many records of a reader.",
    _pairs,
)
PRODUCED = _on_handle(
    "ReaderNumRecordsProduced",
    ") -> records_produced: int64",
    "How many records a reader gave.",
    shapes.scalar,
)
COMPLETED = _on_handle(
    "ReaderNumWorkUnitsCompleted",
    ") -> units_completed: int64",
    "How many work units a reader has finished.",
    shapes.scalar,
)
SERIALIZE = _on_handle(
    "ReaderSerializeState", ") -> state: string", "What a reader is in the middle of.",
    shapes.scalar,
)  # fmt: skip
RESTORE = _on_handle(
    "ReaderRestoreState",
    ", state: string) -> ()",
    "Makes a reader go on where its state was taken.",
    _state_given,
)
RESET = _on_handle(
    "ReaderReset", ") -> ()", "Makes a reader as it was when it was made.", shapes.no_output
)


def _held(handle: Any) -> r.Reader:
    found = getattr(handle, "resource", None)
    if not isinstance(found, r.Reader):
        raise errors.InvalidArgumentError(
            None, None, f"expected the handle of a reader, got {handle!r}. Pass its reader_ref."
        )
    return found


@host_kernel(READ, limit=_HOST, blocks=True)
def _read(ctx: KernelContext, reader_handle: Any, queue_handle: Any) -> tuple[Any, Any]:
    return _held(reader_handle).read(ctx, queue_of(queue_handle))


@host_kernel(READ_UP_TO, limit=_HOST, blocks=True)
def _read_up_to(
    ctx: KernelContext, reader_handle: Any, queue_handle: Any, num_records: Array
) -> list[Any]:
    found = _held(reader_handle).read_up_to(ctx, queue_of(queue_handle), int(num_records))
    return [np.array([record[i] for record in found], object) for i in range(2)]


@host_kernel(PRODUCED, limit=_HOST)
def _produced(reader_handle: Any) -> Array:
    return np.asarray(_held(reader_handle).produced, np.int64)


@host_kernel(COMPLETED, limit=_HOST)
def _completed(reader_handle: Any) -> Array:
    return np.asarray(_held(reader_handle).completed, np.int64)


@host_kernel(SERIALIZE, limit=_HOST)
def _serialize(reader_handle: Any) -> bytes:
    return _held(reader_handle).save()


@host_kernel(RESTORE, limit=_HOST)
def _restore(reader_handle: Any, state: Array) -> None:
    _held(reader_handle).restore(bytes(state.item()))


@host_kernel(RESET, limit=_HOST)
def _reset(reader_handle: Any) -> None:
    _held(reader_handle).reset()
