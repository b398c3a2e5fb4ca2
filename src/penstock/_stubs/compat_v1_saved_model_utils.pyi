# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.checkpoint.saved_model.signature_defs import build_tensor_info as build_tensor_info
from penstock.checkpoint.saved_model.signature_defs import get_tensor_from_tensor_info as get_tensor_from_tensor_info
