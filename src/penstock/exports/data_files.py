"""Public names of datasets of files."""

EXPORTS = {
    "penstock.data.readers": {
        "FixedLengthRecordDataset": ["data.FixedLengthRecordDataset"],
        "TFRecordDataset": ["data.TFRecordDataset"],
        "TextLineDataset": ["data.TextLineDataset"],
    },
}
