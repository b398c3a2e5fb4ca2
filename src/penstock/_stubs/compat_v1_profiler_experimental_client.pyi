# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.profiler.sessions import client_monitor as monitor
from penstock.profiler.sessions import client_trace as trace
