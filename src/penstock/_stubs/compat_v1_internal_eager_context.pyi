# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.graph.behavior import eager_mode as eager_mode
