# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.lookup_initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from penstock.ops.lookup_tables import StaticHashTable as StaticHashTable
from penstock.ops.lookup_vocabulary import StaticVocabularyTable as StaticVocabularyTable
from penstock.ops.lookup_initializers import TextFileIndex as TextFileIndex
from penstock.ops.lookup_initializers import TextFileInitializer as TextFileInitializer
from penstock._stubs import lookup_experimental as experimental
