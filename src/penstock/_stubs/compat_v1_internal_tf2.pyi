# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.graph.behavior import tf2_enabled as enabled
