# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.distributed.server import Server as Server
