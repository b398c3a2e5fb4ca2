# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.record_files import TFRecordCompressionType as TFRecordCompressionType
from penstock.core.record_files import TFRecordOptions as TFRecordOptions
from penstock.core.record_files import TFRecordWriter as TFRecordWriter
from penstock.core.record_files import tf_record_iterator as tf_record_iterator
