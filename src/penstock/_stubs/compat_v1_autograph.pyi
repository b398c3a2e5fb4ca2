# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.tracing.autograph.public import set_verbosity as set_verbosity
from penstock.tracing.autograph.public import to_code_v1 as to_code
from penstock.tracing.autograph.public import to_graph_v1 as to_graph
from penstock.tracing.autograph.public import trace as trace
from penstock._stubs import compat_v1_autograph_experimental as experimental
