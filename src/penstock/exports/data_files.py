"""Public names of datasets of files."""

EXPORTS = {
    "penstock.data.ready_made": {
        "make_batched_features_dataset": ["data.experimental.make_batched_features_dataset"],
        "make_csv_dataset": ["data.experimental.make_csv_dataset"],
        "parse_example_dataset": [
            "data.experimental.parse_example_dataset",
            "compat.v1.data.experimental.parse_example_dataset",
        ],
    },
    "penstock.data.methods_saving": {
        "load": ["data.experimental.load"],
        "save": ["data.experimental.save"],
        "snapshot": ["data.experimental.snapshot", "compat.v1.data.experimental.snapshot"],
    },
    "penstock.data.methods_files": {
        "counter": ["data.experimental.Counter"],
        "from_list": [
            "data.experimental.from_list",
            "compat.v1.data.experimental.from_list",
        ],
    },
    "penstock.data.writing": {
        "TFRecordWriter": [
            "data.experimental.TFRecordWriter",
            "compat.v1.data.experimental.TFRecordWriter",
        ],
    },
    "penstock.data.readers": {
        "CsvDataset": ["data.experimental.CsvDataset"],
        "SqlDataset": ["data.experimental.SqlDataset"],
        "FixedLengthRecordDataset": ["data.FixedLengthRecordDataset"],
        "TFRecordDataset": ["data.TFRecordDataset"],
        "TextLineDataset": ["data.TextLineDataset"],
    },
}
