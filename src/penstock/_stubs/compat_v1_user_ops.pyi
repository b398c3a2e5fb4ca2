# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.device_facts import my_fact as my_fact
