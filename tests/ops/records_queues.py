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
