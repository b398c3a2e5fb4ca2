# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.tracing.autograph.public import set_verbosity as set_verbosity
from penstock.tracing.autograph.public import to_code as to_code
from penstock.tracing.autograph.public import to_graph as to_graph
from penstock.tracing.autograph.public import trace as trace
from penstock._stubs import autograph_experimental as experimental
