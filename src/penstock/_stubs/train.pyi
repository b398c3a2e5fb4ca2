# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.train import *
from penstock.proto.feature_pb2 import BytesList as BytesList
from penstock.proto.cluster_pb2 import ClusterDef as ClusterDef
from penstock.proto.example_pb2 import Example as Example
from penstock.proto.feature_pb2 import Feature as Feature
from penstock.proto.feature_pb2 import FeatureList as FeatureList
from penstock.proto.feature_pb2 import FeatureLists as FeatureLists
from penstock.proto.feature_pb2 import Features as Features
from penstock.proto.feature_pb2 import FloatList as FloatList
from penstock.proto.feature_pb2 import Int64List as Int64List
from penstock.proto.cluster_pb2 import JobDef as JobDef
from penstock.proto.example_pb2 import SequenceExample as SequenceExample
from penstock.proto.tensorflow_server_pb2 import ServerDef as ServerDef
