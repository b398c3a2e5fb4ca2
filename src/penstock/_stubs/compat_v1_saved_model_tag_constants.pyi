# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.checkpoint.saved_model.constants import GPU as GPU
from penstock.checkpoint.saved_model.constants import SERVING as SERVING
from penstock.checkpoint.saved_model.constants import TPU as TPU
from penstock.checkpoint.saved_model.constants import TRAINING as TRAINING
