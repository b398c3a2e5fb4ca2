"""The datasets of files and the ready-made ones, with the methods of the old API."""

from penstock.data import methods_files, readers, ready_made
from penstock.data.dataset_v1 import DatasetV1, adapting


class TFRecordDatasetV1(DatasetV1, readers.TFRecordDataset):
    """Records of TFRecord files: `tf.data.TFRecordDataset`, with the methods of the old API."""


class TextLineDatasetV1(DatasetV1, readers.TextLineDataset):
    """Lines of text files: `tf.data.TextLineDataset`, with the methods of the old API."""


class FixedLengthRecordDatasetV1(DatasetV1, readers.FixedLengthRecordDataset):
    """Records of one size: `tf.data.FixedLengthRecordDataset`, with the methods of the old API."""


class CsvDatasetV1(DatasetV1, readers.CsvDataset):
    """Records of CSV files: `tf.data.experimental.CsvDataset`, with the methods of the old API."""


class SqlDatasetV1(DatasetV1, readers.SqlDataset):
    """Rows of a query: `tf.data.experimental.SqlDataset`, with the methods of the old API."""


counter = adapting(methods_files.counter)
make_batched_features_dataset = adapting(ready_made.make_batched_features_dataset)
make_csv_dataset = adapting(ready_made.make_csv_dataset)
