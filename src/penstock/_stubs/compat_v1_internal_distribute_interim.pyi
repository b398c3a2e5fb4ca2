# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.distribute.contexts import maybe_merge_call as maybe_merge_call
