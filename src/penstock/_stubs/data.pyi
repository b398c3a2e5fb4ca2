# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.data import *
from penstock.data.mapping import AUTOTUNE as AUTOTUNE
from penstock.data.dataset import Dataset as Dataset
from penstock.data.base import DatasetSpec as DatasetSpec
from penstock.data.readers import FixedLengthRecordDataset as FixedLengthRecordDataset
from penstock.data.stages import INFINITE as INFINITE_CARDINALITY
from penstock.data.iterator import IteratorBase as Iterator
from penstock.data.iterator import IteratorSpec as IteratorSpec
from penstock.data.iterator import NumpyIterator as NumpyIterator
from penstock.data.options import Options as Options
from penstock.data.readers import TFRecordDataset as TFRecordDataset
from penstock.data.readers import TextLineDataset as TextLineDataset
from penstock.data.options import ThreadingOptions as ThreadingOptions
from penstock.data.stages import UNKNOWN as UNKNOWN_CARDINALITY
from penstock._stubs import data_experimental as experimental
