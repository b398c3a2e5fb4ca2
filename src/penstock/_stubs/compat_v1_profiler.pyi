# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.proto.tfprof_output_pb2 import AdviceProto as AdviceProto
from penstock.proto.tfprof_output_pb2 import GraphNodeProto as GraphNodeProto
from penstock.proto.tfprof_output_pb2 import MultiGraphNodeProto as MultiGraphNodeProto
from penstock.proto.tfprof_log_pb2 import OpLogProto as OpLogProto
from penstock.profiler.options_v1 import ProfileOptionBuilder as ProfileOptionBuilder
from penstock.profiler.model_profile import Profiler as Profiler
from penstock.profiler.model_profile import advise as advise
from penstock.profiler.model_profile import profile as profile
from penstock.profiler.model_profile import write_op_log as write_op_log
from penstock._stubs import compat_v1_profiler_experimental as experimental
