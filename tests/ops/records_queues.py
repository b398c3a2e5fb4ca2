"""Operations on queues and their like: tested beside what they need."""

from tests.ops.harness import Record

_MAKERS = "FIFOQueue PaddingFIFOQueue RandomShuffleQueue PriorityQueue".split()
_USES = {
    "QueueEnqueue": ".enqueue(",
    "QueueEnqueueMany": ".enqueue_many(",
    "QueueDequeue": ".dequeue(",
    "QueueDequeueMany": ".dequeue_many(",
    "QueueDequeueUpTo": ".dequeue_up_to(",
    "QueueClose": ".close(",
    "QueueSize": ".size(",
    "QueueIsClosed": ".is_closed(",
}
_FILE = "tests/ops/test_queues.py"

RECORDS = [
    *(Record(name, tested_by=_FILE) for name in _MAKERS),
    *(Record(f"{name}V2", tested_by=_FILE, named_by=name) for name in _MAKERS),
    *(Record(name, tested_by=_FILE) for name in _USES),
    *(Record(f"{name}V2", tested_by=_FILE, named_by=call) for name, call in _USES.items()),
    Record("PenstockQueueState", tested_by=_FILE, named_by="tf.train.Checkpoint"),
    Record("PenstockRestoreQueue", tested_by=_FILE, named_by="tf.train.Checkpoint"),
]
_OTHER = "tests/ops/test_coordination.py"
_COORDINATION = {
    "ConditionalAccumulator": "raw.ConditionalAccumulator",
    "ResourceConditionalAccumulator": "v1.ConditionalAccumulator",
    "AccumulatorApplyGradient": "reference",
    "AccumulatorTakeGradient": "AccumulatorTakeGradient",
    "AccumulatorNumAccumulated": "num_accumulated",
    "AccumulatorSetGlobalStep": "set_global_step",
    "ResourceAccumulatorApplyGradient": "apply_grad",
    "ResourceAccumulatorTakeGradient": "take_grad",
    "ResourceAccumulatorNumAccumulated": "num_accumulated",
    "ResourceAccumulatorSetGlobalStep": "set_global_step",
    "SparseConditionalAccumulator": "SparseConditionalAccumulator",
    "SparseAccumulatorApplyGradient": "rows.apply_grad",
    "SparseAccumulatorTakeGradient": "rows.take_grad",
    "PenstockSparseConditionalAccumulator": "SparseConditionalAccumulator",
    "PenstockSparseAccumulatorApplyGradient": "rows.apply_grad",
    "PenstockSparseAccumulatorTakeGradient": "rows.take_grad",
}
_BARRIERS = "Barrier BarrierInsertMany BarrierTakeMany BarrierClose BarrierReadySize".split()
_STAGING = "Stage Unstage StagePeek StageSize StageClear".split()
_MAPS = "Stage Unstage UnstageNoKey Peek Size IncompleteSize Clear".split()

RECORDS += [
    *(Record(name, tested_by=_OTHER, named_by=call) for name, call in _COORDINATION.items()),
    *(
        Record(prefix + name, tested_by=_OTHER, named_by=name)
        for prefix in ("", "Penstock")
        for name in (*_BARRIERS, "BarrierIncompleteSize")
    ),
    *(Record(name, tested_by=_OTHER) for name in _STAGING),
    *(
        Record(f"{kind}{name}", tested_by=_OTHER, named_by=f'"{name}"')
        for kind in ("Map", "OrderedMap")
        for name in _MAPS
    ),
    *(Record(name, tested_by=_OTHER) for name in ("MutexV2", "MutexLock", "ConsumeMutexLock")),
]
_READER_FILE = "tests/ops/test_readers.py"
_READERS = (
    "WholeFileReader TextLineReader FixedLengthRecordReader TFRecordReader IdentityReader"
).split()
_READS = (
    "Read ReadUpTo NumRecordsProduced NumWorkUnitsCompleted SerializeState RestoreState Reset"
).split()

RECORDS += [
    Record(f"{name}{version}", tested_by=_READER_FILE, named_by=name)
    for name in (*_READERS, *(f"Reader{call}" for call in _READS))
    for version in ("", "V2")
]
RECORDS.append(Record("RecordInput", tested_by="tests/ops/test_record_input.py"))
