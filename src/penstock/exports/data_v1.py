"""Public names of the old API of datasets."""

EXPORTS = {
    "penstock.data.dataset_v1": {"DatasetV1": ["compat.v1.data.Dataset"]},
    "penstock.data.sources_v1": {
        "TFRecordDatasetV1": ["compat.v1.data.TFRecordDataset"],
        "TextLineDatasetV1": ["compat.v1.data.TextLineDataset"],
        "FixedLengthRecordDatasetV1": ["compat.v1.data.FixedLengthRecordDataset"],
        "CsvDatasetV1": ["compat.v1.data.experimental.CsvDataset"],
        "SqlDatasetV1": ["compat.v1.data.experimental.SqlDataset"],
        "RandomDataset": ["data.experimental.RandomDataset"],
        "RandomDatasetV1": ["compat.v1.data.experimental.RandomDataset"],
        "map_and_batch_with_legacy_function": [
            "compat.v1.data.experimental.map_and_batch_with_legacy_function"
        ],
        "counter": ["compat.v1.data.experimental.Counter"],
        "make_batched_features_dataset": [
            "compat.v1.data.experimental.make_batched_features_dataset"
        ],
        "make_csv_dataset": ["compat.v1.data.experimental.make_csv_dataset"],
    },
    "penstock.data.iterator_v1": {
        "Iterator": ["compat.v1.data.Iterator"],
        "make_one_shot_iterator": ["compat.v1.data.make_one_shot_iterator"],
        "make_initializable_iterator": ["compat.v1.data.make_initializable_iterator"],
    },
    "penstock.data.legacy": {
        "get_legacy_output_types": ["compat.v1.data.get_output_types"],
        "get_legacy_output_shapes": ["compat.v1.data.get_output_shapes"],
        "get_legacy_output_classes": ["compat.v1.data.get_output_classes"],
    },
}
