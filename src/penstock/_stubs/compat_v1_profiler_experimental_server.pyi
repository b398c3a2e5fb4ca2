# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.profiler.sessions import server_start as start
