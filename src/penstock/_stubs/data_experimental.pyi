# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.data.options import AutoShardPolicy as AutoShardPolicy
from penstock.data.options import AutotuneAlgorithm as AutotuneAlgorithm
from penstock.data.options import AutotuneOptions as AutotuneOptions
from penstock.data.methods_files import counter as Counter
from penstock.data.readers import CsvDataset as CsvDataset
from penstock.data.options import DistributeOptions as DistributeOptions
from penstock.data.options import ExternalStatePolicy as ExternalStatePolicy
from penstock.data.options import OptimizationOptions as OptimizationOptions
from penstock.data.options import SHARD_HINT as SHARD_HINT
from penstock.data.options import ServiceOptions as ServiceOptions
from penstock.data.readers import SqlDataset as SqlDataset
from penstock.data.writing import TFRecordWriter as TFRecordWriter
from penstock.data.options import ThreadingOptions as ThreadingOptions
from penstock.data.methods_choosing import assert_cardinality as assert_cardinality
from penstock.data.methods_files import from_list as from_list
from penstock.data.methods_saving import load as load
from penstock.data.ready_made import make_batched_features_dataset as make_batched_features_dataset
from penstock.data.ready_made import make_csv_dataset as make_csv_dataset
from penstock.data.ready_made import parse_example_dataset as parse_example_dataset
from penstock.data.methods_saving import save as save
from penstock.data.methods_saving import snapshot as snapshot
