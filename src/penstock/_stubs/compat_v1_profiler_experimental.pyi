# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.profiler.experimental import Profile as Profile
from penstock.profiler.experimental import ProfilerOptions as ProfilerOptions
from penstock.profiler.experimental import Trace as Trace
from penstock.profiler.experimental import start as start
from penstock.profiler.experimental import stop as stop
from penstock._stubs import compat_v1_profiler_experimental_client as client
from penstock._stubs import compat_v1_profiler_experimental_server as server
