# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.data import *
from penstock.data.mapping import AUTOTUNE as AUTOTUNE
from penstock.data.dataset import Dataset as Dataset
from penstock.data.base import DatasetSpec as DatasetSpec
from penstock.data.stages import INFINITE as INFINITE_CARDINALITY
from penstock.data.iterator import IteratorBase as Iterator
from penstock.data.iterator import IteratorSpec as IteratorSpec
from penstock.data.iterator import NumpyIterator as NumpyIterator
from penstock.data.stages import UNKNOWN as UNKNOWN_CARDINALITY
