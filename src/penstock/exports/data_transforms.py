"""Public names of functions for `Dataset.apply`, most of them older names of methods."""

_SAME = (
    "Reducer",
    "at",
    "bucket_by_sequence_length",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "rejection_resample",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "unbatch",
    "unique",
    "choose_from_datasets",
    "sample_from_datasets",
)

EXPORTS = {
    "penstock.data.applying": {
        **{
            name: [f"data.experimental.{name}", f"compat.v1.data.experimental.{name}"]
            for name in _SAME
        },
    },
}
