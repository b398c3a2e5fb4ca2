# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.distribute.contexts import strategy_supports_no_merge_call as strategy_supports_no_merge_call
from penstock._stubs import compat_v1_internal_distribute_interim as interim
