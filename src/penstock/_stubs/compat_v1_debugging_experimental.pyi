# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.runtime.races import get_race_checks as get_race_checks
from penstock.runtime.races import set_race_checks as set_race_checks
