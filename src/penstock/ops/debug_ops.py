"""Operations that debuggers put into graphs: tensors and what is known of their numbers, in files.

Those of the first debugger (`DebugIdentity`, `DebugIdentityV3`, `DebugNanCount`,
`DebugNumericSummary`) write each value into a file of its own, an Event message, below the folders
that `debug_urls` names. `DebugIdentityV2` adds a trace to the files of `debug_events`;
`DebugNumericSummaryV2` computes what it is given there. `debug_dump` puts these two into programs.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import files, shapes
from penstock.core.kernels import KernelContext, host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.tensor_proto import array_to_proto
from penstock.ops.debug_events import folder_of, writer_of
from penstock.ops.string_arrays import HOST, as_text
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

Array = Any  # numpy.ndarray or a JAX tracer

# ---- the first debugger --------------------------------------------------------------------------

_WATCHED = "device_name: string = '', tensor_name: string = '', "
_URLS = "debug_urls: list(string) = [], "


def _is_closed(gated_grpc: bool, urls: Sequence[Any]) -> bool:
    """Whether a gate that no server has opened keeps a value back: the result has no elements."""
    return gated_grpc and not urls


def _through_gate(value: Array, gated_grpc: bool, urls: Sequence[Any]) -> Array:
    return np.empty((0,), value.dtype) if _is_closed(gated_grpc, urls) else value


def _identity_shape(c: ShapeContext) -> Dims:
    return (0,) if _is_closed(c.attr("gated_grpc"), c.attr("debug_urls")) else c.shape(0)


def _count_shape(c: ShapeContext) -> Dims:
    return (0,) if _is_closed(c.attr("gated_grpc"), c.attr("debug_urls")) else (1,)


IDENTITY = define_op(
    f"DebugIdentity(input: T; T: type, {_WATCHED}{_URLS}gated_grpc: bool = False) -> output: T",
    shape=_identity_shape,
    stateful=True,
    doc="The input, which is written to a file below each of `debug_urls`.",
).without_gradient("a debugger puts it into graphs whose gradients are there")
IDENTITY_V3 = define_op(
    f"DebugIdentityV3(input: T; T: type, {_WATCHED}io_of_node: string = '', is_input: bool = False,"
    f" io_index: int = -1, {_URLS}gated_grpc: bool = False) -> output: T",
    shape=_identity_shape,
    stateful=True,
    doc="The input, which is written to a file named by the tensor, or by what it belongs to.",
).without_gradient("a debugger puts it into graphs whose gradients are there")
NAN_COUNT = define_op(
    f"DebugNanCount(input: T; T: type, {_WATCHED}{_URLS}gated_grpc: bool = False) -> output: int64",
    shape=_count_shape,
    stateful=True,
    doc="How many elements are NaN: int64[1]. Written to a file as by DebugIdentity.",
).without_gradient("a count has no derivative")


def _summary_shape(c: ShapeContext) -> Dims:
    if _is_closed(c.attr("gated_grpc"), c.attr("debug_urls")):
        return (0,)
    shape = c.shape(0)
    return (None,) if shape is None else (14 + len(shape),)


NUMERIC_SUMMARY = define_op(
    f"DebugNumericSummary(input: T; T: type, {_WATCHED}{_URLS}lower_bound: float = -inf, "
    "upper_bound: float = inf, mute_if_healthy: bool = False, gated_grpc: bool = False) -> output: "
    "double",
    shape=_summary_shape,
    stateful=True,
    doc="Fourteen numbers about a tensor, and its shape: float64[14 + rank]. They are whether it is"
    " there, how many elements it has, of them NaN, below bounds, negative, zero, positive, above "
    "bounds, then least, greatest, mean and variance of the finite ones, dtype and rank. Written "
    "to a file as by DebugIdentity, with `mute_if_healthy` only if something is NaN or out of "
    "bounds.",
).without_gradient("a debugger puts it into graphs whose gradients are there")


def _node_and_slot(op: str, tensor_name: str) -> tuple[str, int]:
    node, _, slot = tensor_name.partition(":")
    if not node or (slot and not slot.isdigit()):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{op}: Failed to parse tensor name: expected 'node' or 'node:output', got"
            f" {tensor_name!r}. Give the attribute tensor_name.",
        )
    return node, int(slot or 0)


def _publish(
    op: str, value: Array, device_name: str, tensor_name: str, urls: Sequence[Any], place: str = ""
) -> None:
    """Writes a value below each folder; `place` stands for the path that names would give."""
    node, slot = _node_and_slot(op, tensor_name)
    now = time.time_ns() // 1000
    device = "_tfdbg_device_" + device_name.replace("/", ",").replace(":", "_")
    about = {"device": device_name, "outputSlot": slot, "numChunks": 1, "chunkIndex": 0}
    for url in urls:
        root = files.local_path(folder_of(as_text(url), errors.UnavailableError))
        path = os.path.join(root, place or f"{device}/{node}_{slot}_{op}") + f"_{now}"
        event = proto.event_pb2.Event(wall_time=now)
        summary = event.summary.value.add(tag=node, node_name=f"{node}:{slot}:{op}")
        summary.tensor.CopyFrom(array_to_proto(value, as_dtype(value.dtype)))
        summary.metadata.plugin_data.plugin_name = "debugger"
        summary.metadata.plugin_data.content = json.dumps(about, separators=(",", ":")).encode()
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(event.SerializeToString())
        except OSError as problem:
            raise files.translated(problem, path) from problem


@host_kernel(IDENTITY, limit=HOST)
def _identity(
    x: Array, *, device_name: Any, tensor_name: Any, debug_urls: Sequence[Any], gated_grpc: bool
) -> Array:
    _node_and_slot("DebugIdentity", as_text(tensor_name))
    _publish("DebugIdentity", x, as_text(device_name), as_text(tensor_name), debug_urls)
    return _through_gate(x, gated_grpc, debug_urls)


@host_kernel(IDENTITY_V3, limit=HOST)
def _identity_v3(
    ctx: KernelContext, x: Array, *, device_name: Any, tensor_name: Any, debug_urls: Sequence[Any],
    io_of_node: Any, is_input: bool, io_index: int, gated_grpc: bool,
) -> Array:  # fmt: skip
    node, place = as_text(io_of_node), ""
    if node:
        step = getattr(ctx.step, "step_id", 0)
        place = f"node-io-dump/step-{step}/{node}:{'in' if is_input else 'out'}:{io_index}"
    name = as_text(tensor_name)
    _node_and_slot("DebugIdentityV3", name)
    _publish("DebugIdentityV3", x, as_text(device_name), name, debug_urls, place)
    return _through_gate(x, gated_grpc, debug_urls)


def _is_float(x: Array) -> bool:
    return as_dtype(x.dtype).is_floating


_REAL = ["numbertype", "bool"]


def _check_numbers(op: str, x: Array) -> None:
    if x.dtype.kind in "Oc":
        raise errors.UnimplementedError(
            None,
            None,
            f"{op}: expected real numbers or booleans, got {as_dtype(x.dtype).name}. There is no"
            " kernel for others.",
        )


@host_kernel(NAN_COUNT, limit=HOST)
def _nan_count(
    x: Array, *, device_name: Any, tensor_name: Any, debug_urls: Sequence[Any], gated_grpc: bool
) -> Array:
    _check_numbers("DebugNanCount", x)
    _node_and_slot("DebugNanCount", as_text(tensor_name))
    count = np.array([np.isnan(x).sum() if _is_float(x) else 0], np.int64)
    _publish("DebugNanCount", count, as_text(device_name), as_text(tensor_name), debug_urls)
    return _through_gate(count, gated_grpc, debug_urls)


@host_kernel(NUMERIC_SUMMARY, limit=HOST)
def _numeric_summary(
    x: Array, *, device_name: Any, tensor_name: Any, debug_urls: Sequence[Any],
    lower_bound: float, upper_bound: float, mute_if_healthy: bool, gated_grpc: bool,
) -> Array:  # fmt: skip
    _check_numbers("DebugNumericSummary", x)
    _node_and_slot("DebugNumericSummary", as_text(tensor_name))
    values = x.astype(np.float64).reshape(-1)
    low, high, nan = values <= lower_bound, values >= upper_bound, np.isnan(values)
    inside = ~(low | high | nan)
    counts = [nan, low, *(inside & test for test in (values < 0, values == 0, values > 0)), high]
    finite = values[np.isfinite(values)]
    spread = [finite.min(), finite.max(), finite.mean(), finite.var()] if len(finite) else []
    summary = np.array(
        [
            1.0,
            x.size,
            *(each.sum() for each in counts),
            *(spread or [np.inf, -np.inf, np.nan, np.nan]),
            as_dtype(x.dtype).as_datatype_enum,
            x.ndim,
            *x.shape,
        ]
    )
    if not mute_if_healthy or nan.any() or low.any() or high.any():
        name = as_text(tensor_name)
        _publish("DebugNumericSummary", summary, as_text(device_name), name, debug_urls)
    return _through_gate(summary, gated_grpc, debug_urls)


# ---- the second debugger -------------------------------------------------------------------------

CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH, SHAPE, THREE_SLOTS = 2, 3, 4, 5, 8
_DIMS_SHOWN = 6
_LENGTHS = {
    CURT_HEALTH: 2,
    CONCISE_HEALTH: 5,
    FULL_HEALTH: 11,
    SHAPE: 4 + _DIMS_SHOWN,
    THREE_SLOTS: 3,
}


def _summary_v2_shape(c: ShapeContext) -> Dims:
    return (_LENGTHS.get(c.attr("tensor_debug_mode")),)


SUMMARY_V2 = define_op(
    "DebugNumericSummaryV2(input: T; output_dtype: {float, double} = float, T: type, "
    "tensor_debug_mode: int = -1, tensor_id: int = -1) -> output: output_dtype",
    shape=_summary_v2_shape,
    doc="What a mode of debugging keeps of a tensor, a vector. 2 (CURT_HEALTH): its id, and 1 if "
    "there is NaN or infinity. 3 (CONCISE_HEALTH): id, size, numbers of -infinity, infinity and "
    "NaN. 4 (FULL_HEALTH): id, device (-1), dtype, rank, size, numbers of -infinity, infinity, NaN,"
    " negative, zero and positive elements. 5 (SHAPE): id, dtype, rank, size and six dimensions, "
    "the last ones of longer shapes. 8: -infinity, infinity and NaN, each if it is there, else 0.",
).without_gradient("a debugger puts it into graphs whose gradients are there")


def _bad(xp: Any, x: Array) -> tuple[Array, Array, Array]:
    """Where an array is -infinity, infinity and NaN."""
    if not _is_float(x):
        nothing = xp.zeros(x.shape, bool)
        return nothing, nothing, nothing
    return xp.isneginf(x), xp.isposinf(x), xp.isnan(x)


def _curt(xp: Any, x: Array, number: int) -> list[Any]:
    low, high, nan = _bad(xp, x)
    return [number, (low | high | nan).any()]


def _concise(xp: Any, x: Array, number: int) -> list[Any]:
    return [number, x.size, *(each.sum() for each in _bad(xp, x))]


def _full(xp: Any, x: Array, number: int) -> list[Any]:
    low, high, nan = _bad(xp, x)
    signs = [x == 0, x > 0] if x.dtype == bool else [(x < 0) & ~low, x == 0, (x > 0) & ~high]
    counts = [0] * (3 - len(signs)) + [each.sum() for each in signs]
    kind = as_dtype(x.dtype).as_datatype_enum
    return [number, -1, kind, x.ndim, x.size, low.sum(), high.sum(), nan.sum(), *counts]


def _shape(xp: Any, x: Array, number: int) -> list[Any]:
    dims = list(x.shape[-_DIMS_SHOWN:])
    filled = dims + [0] * (_DIMS_SHOWN - len(dims))
    return [number, as_dtype(x.dtype).as_datatype_enum, x.ndim, x.size, *filled]


def _three_slots(xp: Any, x: Array, number: int) -> list[Any]:
    slots = zip((-np.inf, np.inf, np.nan), _bad(xp, x), strict=True)
    return [xp.where(each.any(), value, 0.0) for value, each in slots]


_SUMMARIES: dict[int, Callable[[Any, Array, int], list[Any]]] = {
    CURT_HEALTH: _curt,
    CONCISE_HEALTH: _concise,
    FULL_HEALTH: _full,
    SHAPE: _shape,
    THREE_SLOTS: _three_slots,
}


@kernel(SUMMARY_V2)
def _summary_v2(
    xp: Any, x: Array, *, output_dtype: DType, tensor_debug_mode: int, tensor_id: int
) -> Array:
    _check_numbers("DebugNumericSummaryV2", x)
    summary = _SUMMARIES.get(tensor_debug_mode)
    if summary is None:
        raise errors.UnimplementedError(
            None,
            None,
            f"DebugNumericSummaryV2: Unimplemented tensor debug mode: expected one of"
            f" {sorted(_SUMMARIES)}, got {tensor_debug_mode}.",
        )
    bits = 24 if output_dtype.size == 4 else 53
    if tensor_id > 1 << bits:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"DebugNumericSummaryV2: expected tensor_id <= 2^{bits}, which {output_dtype.name}"
            f" holds exactly, got {tensor_id}. Use output_dtype=tf.float64.",
        )
    numbers = summary(xp, x, tensor_id)
    return xp.stack([xp.asarray(each, output_dtype.numpy_dtype) for each in numbers])


IDENTITY_V2 = define_op(
    "DebugIdentityV2(input: T; T: type, tfdbg_context_id: string = '', op_name: string = '', "
    "output_slot: int = -1, tensor_debug_mode: int = -1, debug_urls: list(string) = [], "
    "circular_buffer_size: int = 1000, tfdbg_run_id: string = '') -> output: T",
    shape=shapes.same,
    stateful=True,
    doc="The input, of which a trace is added to the debugger's files in `debug_urls`.",
)


@host_kernel(IDENTITY_V2, limit=HOST)
def _identity_v2(
    ctx: KernelContext, x: Array, *, tfdbg_context_id: Any, op_name: Any, output_slot: int,
    tensor_debug_mode: int, debug_urls: Sequence[Any], circular_buffer_size: int, tfdbg_run_id: Any,
) -> Array:  # fmt: skip
    for url in debug_urls:
        root = folder_of(as_text(url), errors.InternalError)
        writer = writer_of(root, as_text(tfdbg_run_id), circular_buffer_size)
        writer.WriteGraphExecutionTrace(
            proto.debug_event_pb2.GraphExecutionTrace(
                tfdbg_context_id=as_text(tfdbg_context_id),
                op_name=as_text(op_name),
                output_slot=output_slot,
                tensor_debug_mode=max(tensor_debug_mode, 0),  # type: ignore[arg-type]
                tensor_proto=array_to_proto(x, as_dtype(x.dtype)),
                device_name=ctx.device or "/job:localhost/replica:0/task:0/device:CPU:0",
            )
        )
    return x


@IDENTITY_V2.gradient
def _identity_v2_gradient(op: Any, grad: Any) -> Any:
    return grad


CHECK_PINNED = define_op(
    "CheckPinned(tensor: T; T: type) -> output: T",
    shape=shapes.same,
    doc="The input, if it lies in memory that is pinned for a GPU; no tensor of the host does.",
).without_gradient("a debugger puts it into graphs whose gradients are there")


@host_kernel(CHECK_PINNED, limit=HOST)
def _check_pinned(x: Array) -> Array:
    raise errors.FailedPreconditionError(
        None,
        None,
        "CheckPinned: expected a tensor in pinned memory, got one in the host's ordinary memory,"
        " where all tensors of the host are. Leave the check out.",
    )
