# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.profiler.sessions import Profile as Profile
from penstock.profiler.sessions import ProfilerOptions as ProfilerOptions
from penstock.profiler.sessions import Trace as Trace
from penstock.profiler.sessions import start as start
from penstock.profiler.sessions import stop as stop
from penstock._stubs import compat_v1_profiler_experimental_client as client
from penstock._stubs import compat_v1_profiler_experimental_server as server
