# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.util.nest import assert_same_structure as assert_same_structure
from penstock.util.nest import flatten as flatten
from penstock.util.nest import is_nested as is_nested
from penstock.util.nest import map_structure as map_structure
from penstock.util.nest import pack_sequence_as as pack_sequence_as
