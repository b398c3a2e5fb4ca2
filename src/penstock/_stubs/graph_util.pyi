# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.graph.import_graph import import_graph_def as import_graph_def
