"""Public names of queues and of what coordinates steps."""

_QUEUES = "QueueBase FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue".split()

EXPORTS = {
    "penstock.ops.critical_section": {"CriticalSection": ["CriticalSection"]},
    "penstock.ops.accumulators": {
        "ConditionalAccumulatorBase": ["compat.v1.ConditionalAccumulatorBase"],
        "ConditionalAccumulator": ["compat.v1.ConditionalAccumulator"],
        "SparseConditionalAccumulator": [
            "compat.v1.SparseConditionalAccumulator",
            "compat.v1.sparse.SparseConditionalAccumulator",
        ],
    },
    "penstock.ops.queues": {
        name: [
            f"queue.{name}",
            f"compat.v1.{name}",
            *([] if name == "FIFOQueue" else [f"compat.v1.io.{name}"]),
        ]
        for name in _QUEUES
    },
}
