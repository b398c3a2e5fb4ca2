# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.lookup_initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from penstock.ops.lookup_tables import StaticHashTableV1 as StaticHashTable
from penstock.ops.lookup_vocabulary import StaticVocabularyTableV1 as StaticVocabularyTable
from penstock.ops.lookup_initializers import TextFileIndex as TextFileIndex
from penstock.ops.lookup_initializers import TextFileInitializer as TextFileInitializer
from penstock._stubs import compat_v1_lookup_experimental as experimental
