# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.checkpoint.saved_model.loader import load as load
from penstock.checkpoint.saved_model.folder import maybe_saved_model_directory as maybe_saved_model_directory
