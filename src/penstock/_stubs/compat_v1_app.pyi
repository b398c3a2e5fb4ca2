# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.util.app import run as run
