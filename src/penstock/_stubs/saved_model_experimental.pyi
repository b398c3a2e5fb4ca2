# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.checkpoint.saved_model.fingerprint import Fingerprint as Fingerprint
from penstock.ops.trackable_resource import TrackableResource as TrackableResource
from penstock.checkpoint.saved_model.options import VariablePolicy as VariablePolicy
from penstock.checkpoint.saved_model.fingerprint import read_fingerprint as read_fingerprint
