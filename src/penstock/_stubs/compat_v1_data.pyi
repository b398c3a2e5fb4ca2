# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.data.mapping import AUTOTUNE as AUTOTUNE
from penstock.data.dataset_v1 import DatasetV1 as Dataset
from penstock.data.base import DatasetSpec as DatasetSpec
from penstock.data.sources_v1 import FixedLengthRecordDatasetV1 as FixedLengthRecordDataset
from penstock.data.stages import INFINITE as INFINITE_CARDINALITY
from penstock.data.iterator_v1 import Iterator as Iterator
from penstock.data.iterator import IteratorSpec as IteratorSpec
from penstock.data.iterator import NumpyIterator as NumpyIterator
from penstock.data.options import Options as Options
from penstock.data.sources_v1 import TFRecordDatasetV1 as TFRecordDataset
from penstock.data.sources_v1 import TextLineDatasetV1 as TextLineDataset
from penstock.data.options import ThreadingOptions as ThreadingOptions
from penstock.data.stages import UNKNOWN as UNKNOWN_CARDINALITY
from penstock.data.legacy import get_legacy_output_classes as get_output_classes
from penstock.data.legacy import get_legacy_output_shapes as get_output_shapes
from penstock.data.legacy import get_legacy_output_types as get_output_types
from penstock.data.iterator_v1 import make_initializable_iterator as make_initializable_iterator
from penstock.data.iterator_v1 import make_one_shot_iterator as make_one_shot_iterator
from penstock._stubs import compat_v1_data_experimental as experimental
