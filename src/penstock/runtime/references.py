"""Variables of the first kind, put in terms of resource variables while a program is built.

Queues, readers and their like of the first kind, named by a string reference, become resources too.

A tensor of a reference dtype becomes the handle of a variable, with the nodes that its readers wait
for: what is read from the output of an assignment is read after it. An operation that takes a value
where it is given a reference reads the variable when it runs: each such use is a read of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.core.op_def import lookup
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


@dataclass(frozen=True, slots=True)
class Lowered:
    """What stands for an operation on references.

    Attributes:
      type: the operation in its place.
      attrs: its attributes.
      outputs: the dtypes and shapes of its outputs.
      references: for each output of the original that is a reference, the output with the handle;
        None: the first variable that it takes, after it ran.
    """

    type: str
    attrs: dict[str, Any]
    outputs: list[tuple[DType, Dims]] = field(default_factory=list)
    references: dict[int, int | None] = field(default_factory=dict)


def has_references(op: Operation) -> bool:
    """Whether an operation takes or gives a reference."""
    return any(t.dtype.is_ref for t in op._inputs) or any(t.dtype.is_ref for t in op._outputs)


def reference_positions(op: Operation) -> set[int]:
    """The flat inputs that are references by definition: those that may be changed."""
    found: set[int] = set()
    position = 0
    counts = op.input_counts or (1,) * len(op.op_def.inputs)
    for arg, count in zip(op.op_def.inputs, counts, strict=True):
        if arg.is_ref:
            found.update(range(position, position + count))
        position += count
    return found


def lowered(op: Operation) -> Lowered | None:
    """What stands for the operation; None when it just takes values."""
    if not any(arg.is_ref for arg in (*op.op_def.inputs, *op.op_def.outputs)):
        return None
    return _SPECIAL.get(op.type, _update)(op)


def _update(op: Operation) -> Lowered:
    kind = _NAMES.get(op.type, f"Resource{op.type}")
    target = lookup(kind)
    attrs = {name: _attr(op, name, attr.default) for name, attr in target.attrs.items()}
    if op._outputs and not op._outputs[0].dtype.is_ref:
        return Lowered(kind, attrs, [(t.dtype, t.dims) for t in op._outputs])
    return Lowered(kind, attrs, [], dict.fromkeys(range(len(op._outputs))))


def _assign(op: Operation) -> Lowered:
    if op.attrs["validate_shape"]:
        return _update(op)
    return Lowered("PenstockAssignAnyShape", {"dtype": op.attrs["T"]}, [], {0: None})


def _attr(op: Operation, name: str, default: Any) -> Any:
    if name in op.attrs:
        return op.attrs[name]
    return op.attrs["T"] if name == "dtype" and "T" in op.attrs else default


def _handle(op: Operation) -> Lowered:
    """The shape is left open: an assignment without validate_shape may change it."""
    attrs: dict[str, Any] = {
        "container": op.attrs["container"],
        "shared_name": op.attrs["shared_name"] or op.name,
        "debug_name": "",
        "dtype": op.attrs["dtype"],
        "shape": None,
        "allowed_devices": (),
    }
    return Lowered("VarHandleOp", attrs, [(dt.resource, ())], {0: 0})


def _maker(op: Operation) -> Lowered:
    """What makes a queue or the like: its handle is a resource."""
    kind = _MAKERS[op.type]
    return Lowered(kind, dict(op.attrs), [(dt.resource, ())], {0: 0})


def _fake_queue(op: Operation) -> Lowered:
    return Lowered("Identity", {"T": dt.resource}, [(dt.resource, ())], {0: 0})


def _temporary(op: Operation) -> Lowered:
    attrs = {name: op.attrs[name] for name in ("shape", "dtype", "var_name")}
    return Lowered("PenstockTemporaryVariable", attrs, [(dt.resource, ())], {0: 0})


def _destroy(op: Operation) -> Lowered:
    output = op._outputs[0]
    return Lowered("ReadVariableOp", {"dtype": output.dtype}, [(output.dtype, output.dims)])


def _select(op: Operation) -> Lowered:
    return Lowered("PenstockSelectHandle", {"N": op.attrs["N"]}, [(dt.resource, ())], {0: 0})


def _route(op: Operation) -> Lowered:
    """Control flow moves handles as it moves values; so do identities under other names."""
    references = {i: i for i, t in enumerate(op._outputs) if t.dtype.is_ref}
    outputs = [(dt.resource, ()) if t.dtype.is_ref else (t.dtype, t.dims) for t in op._outputs]
    attrs = {**op.attrs, "T": dt.resource}
    kind = "Identity" if op.type.endswith("RefIdentity") else op.type.removeprefix("Ref")
    return Lowered(kind, attrs, outputs, dict(references))


_NAMES = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
    "IsVariableInitialized": "VarIsInitializedOp",
    **{
        f"Queue{name}": f"Queue{name}V2"
        for name in (
            "Enqueue", "EnqueueMany", "Dequeue", "DequeueMany", "DequeueUpTo", "Close", "Size",
            "IsClosed",
        )
    },
    **{
        f"Reader{name}": f"Reader{name}V2"
        for name in (
            "Read", "ReadUpTo", "NumRecordsProduced", "NumWorkUnitsCompleted", "SerializeState",
            "RestoreState", "Reset",
        )
    },
    **{
        name: f"Penstock{name}"
        for name in (
            "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient",
            "BarrierInsertMany", "BarrierTakeMany", "BarrierClose", "BarrierReadySize",
            "BarrierIncompleteSize", "SdcaShrinkL1",
        )
    },
    **{
        name: f"{name}V2"
        for name in (
            "LookupTableFind", "LookupTableInsert", "LookupTableSize", "LookupTableExport",
            "LookupTableImport", "InitializeTable", "InitializeTableFromTextFile", "StackPush",
            "StackPop", "StackClose",
        )
    },
}  # fmt: skip
_MAKERS = {
    **{
        name: f"{name}V2"
        for name in (
            "FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue",
            "WholeFileReader", "TextLineReader", "FixedLengthRecordReader", "TFRecordReader",
            "IdentityReader", "HashTable", "MutableHashTable", "MutableHashTableOfTensors",
        )
    },
    "LMDBReader": "PenstockLMDBReader",
    "MutableDenseHashTable": "PenstockMutableDenseHashTable",
    "ConditionalAccumulator": "ResourceConditionalAccumulator",
    "SparseConditionalAccumulator": "PenstockSparseConditionalAccumulator",
    "Barrier": "PenstockBarrier",
    "Stack": "PenstockStack",
}  # fmt: skip
_SPECIAL: dict[str, Callable[[Operation], Lowered]] = {
    "Assign": _assign,
    "Variable": _handle,
    "VariableV2": _handle,
    "TemporaryVariable": _temporary,
    "DestroyTemporaryVariable": _destroy,
    "RefSelect": _select,
    "FakeQueue": _fake_queue,
    **dict.fromkeys(_MAKERS, _maker),
    **dict.fromkeys(
        (
            "RefSwitch",
            "RefMerge",
            "RefEnter",
            "RefExit",
            "RefNextIteration",
            "RefIdentity",
            "DebugGradientRefIdentity",
        ),
        _route,
    ),
}

__all__ = ["Lowered", "has_references", "lowered", "reference_positions"]
