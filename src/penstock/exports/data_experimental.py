"""Public names of functions on datasets that are experimental, or older names of methods."""

_SAME = (
    "Reducer",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
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
    "to_variant",
    "unbatch",
    "unique",
    "choose_from_datasets",
    "sample_from_datasets",
)

EXPORTS = {
    "penstock.data.experimental": {
        name: [f"data.experimental.{name}", f"compat.v1.data.experimental.{name}"] for name in _SAME
    },
}
