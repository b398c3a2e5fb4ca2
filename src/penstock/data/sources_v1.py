"""The datasets of files and the ready-made ones, with the methods of the old API."""

from typing import Any

from penstock.core.deprecation import deprecated
from penstock.data import applying, methods_files, readers, ready_made
from penstock.data.dataset import Dataset
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
map_and_batch_with_legacy_function = applying.map_and_batch


class RandomDataset(Dataset):
    """Random numbers without end, int64[]: see `tf.data.Dataset.random`.

    Args:
      seed: where they begin; None for another place each time.
      rerandomize_each_iteration: whether each iterator has others.
      name: the operation's name in a graph.
    """

    @deprecated("Use `tf.data.Dataset.random`.")
    def __init__(
        self,
        seed: Any = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> None:
        inner = Dataset.random(seed, rerandomize_each_iteration, name)
        super().__init__(inner._variant_tensor, inner._structure)


class RandomDatasetV1(DatasetV1, RandomDataset):
    """Random numbers without end, with the methods of the old API."""
