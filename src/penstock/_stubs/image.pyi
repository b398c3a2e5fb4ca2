# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.media import encode_png as encode_png
from penstock.ops.random_ops import random_crop as random_crop
