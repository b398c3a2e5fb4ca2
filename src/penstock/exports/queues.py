"""Public names of queues and of what coordinates steps."""

_QUEUES = "QueueBase FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue".split()

EXPORTS = {
    "penstock.ops.queues": {
        name: [
            f"queue.{name}",
            f"compat.v1.{name}",
            *([] if name == "FIFOQueue" else [f"compat.v1.io.{name}"]),
        ]
        for name in _QUEUES
    },
}
