# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.core.build_info import COMPILER_VERSION as COMPILER_VERSION
from penstock.core.build_info import GIT_VERSION as GIT_VERSION
from penstock.core.build_info import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from penstock.core.build_info import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from penstock.core.build_info import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from penstock.core.build_info import VERSION as VERSION
