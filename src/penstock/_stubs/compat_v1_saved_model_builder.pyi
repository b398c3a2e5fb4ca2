# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.checkpoint.saved_model.builder import SavedModelBuilder as SavedModelBuilder
