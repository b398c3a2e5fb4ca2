# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.train import *
from penstock.proto.feature_pb2 import BytesList as BytesList
from penstock.checkpoint.objects import Checkpoint as Checkpoint
from penstock.checkpoint.manager import CheckpointManager as CheckpointManager
from penstock.checkpoint.options import CheckpointOptions as CheckpointOptions
from penstock.checkpoint.views import CheckpointView as CheckpointView
from penstock.proto.cluster_pb2 import ClusterDef as ClusterDef
from penstock.distributed.cluster_spec import ClusterSpec as ClusterSpec
from penstock.train.coordinator import Coordinator as Coordinator
from penstock.proto.example_pb2 import Example as Example
from penstock.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from penstock.proto.feature_pb2 import Feature as Feature
from penstock.proto.feature_pb2 import FeatureList as FeatureList
from penstock.proto.feature_pb2 import FeatureLists as FeatureLists
from penstock.proto.feature_pb2 import Features as Features
from penstock.proto.feature_pb2 import FloatList as FloatList
from penstock.proto.feature_pb2 import Int64List as Int64List
from penstock.proto.cluster_pb2 import JobDef as JobDef
from penstock.proto.example_pb2 import SequenceExample as SequenceExample
from penstock.proto.tensorflow_server_pb2 import ServerDef as ServerDef
from penstock.checkpoint.views import TrackableView as TrackableView
from penstock.checkpoint.state_files import checkpoints_iterator as checkpoints_iterator
from penstock.checkpoint.state_files import get_checkpoint_state as get_checkpoint_state
from penstock.checkpoint.state_files import latest_checkpoint as latest_checkpoint
from penstock.checkpoint.readers import list_variables as list_variables
from penstock.checkpoint.readers import load_checkpoint as load_checkpoint
from penstock.checkpoint.readers import load_variable as load_variable
from penstock._stubs import train_experimental as experimental
