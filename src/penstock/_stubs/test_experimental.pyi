# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.device_facts import sync_devices as sync_devices
