# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.media import encode_png as encode_png
from penstock.ops.io_files import matching_files as matching_files
from penstock.ops.io_files import read_file as read_file
from penstock.ops.io_files import write_file as write_file
from penstock.graph.graph_files import write_graph as write_graph
from penstock._stubs import io_gfile as gfile
