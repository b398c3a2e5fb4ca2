"""Public names of datasets of files."""

EXPORTS = {
    "penstock.data.writing": {
        "TFRecordWriter": [
            "data.experimental.TFRecordWriter",
            "compat.v1.data.experimental.TFRecordWriter",
        ],
    },
    "penstock.data.readers": {
        "FixedLengthRecordDataset": ["data.FixedLengthRecordDataset"],
        "TFRecordDataset": ["data.TFRecordDataset"],
        "TextLineDataset": ["data.TextLineDataset"],
    },
}
