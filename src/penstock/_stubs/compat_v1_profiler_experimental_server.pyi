# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.profiler.experimental import server_start as start
