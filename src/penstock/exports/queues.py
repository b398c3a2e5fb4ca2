"""Public names of queues and of what coordinates steps."""

_QUEUES = "FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue".split()

_BATCHES = (
    "batch batch_join maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join "
    "shuffle_batch shuffle_batch_join"
).split()
_PRODUCERS = (
    "input_producer limit_epochs range_input_producer slice_input_producer string_input_producer"
).split()
_READERS = (
    "ReaderBase WholeFileReader TextLineReader FixedLengthRecordReader TFRecordReader "
    "IdentityReader LMDBReader"
).split()
_RUNNER = ("compat.v1.train.", "compat.v1.train.queue_runner.")

EXPORTS = {
    "penstock.core.record_files": {
        "TFRecordWriter": ["io.TFRecordWriter", "compat.v1.python_io.TFRecordWriter"],
        "TFRecordOptions": ["io.TFRecordOptions", "compat.v1.python_io.TFRecordOptions"],
        **{
            name: [f"compat.v1.io.{name}", f"compat.v1.python_io.{name}"]
            for name in ("TFRecordCompressionType", "tf_record_iterator")
        },
    },
    "penstock.ops.queue_runner": {
        name: [f"{start}{name}" for start in _RUNNER]
        for name in ("QueueRunner", "add_queue_runner")
    },
    "penstock.train.queue_runners": {
        "start_queue_runners": [f"{start}start_queue_runners" for start in _RUNNER]
    },
    "penstock.train.batching": {name: [f"compat.v1.train.{name}"] for name in _BATCHES},
    "penstock.train.input_producers": {
        "match_filenames_once": [
            "io.match_filenames_once",
            "compat.v1.train.match_filenames_once",
        ],
        **{name: [f"compat.v1.train.{name}"] for name in _PRODUCERS},
    },
    "penstock.ops.critical_section": {"CriticalSection": ["CriticalSection"]},
    "penstock.ops.readers": {name: [f"compat.v1.{name}"] for name in _READERS},
    "penstock.ops.accumulators": {
        "ConditionalAccumulatorBase": ["compat.v1.ConditionalAccumulatorBase"],
        "ConditionalAccumulator": ["compat.v1.ConditionalAccumulator"],
        "SparseConditionalAccumulator": [
            "compat.v1.SparseConditionalAccumulator",
            "compat.v1.sparse.SparseConditionalAccumulator",
        ],
    },
    "penstock.ops.queue_base": {
        "QueueBase": ["queue.QueueBase", "compat.v1.QueueBase", "compat.v1.io.QueueBase"],
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
