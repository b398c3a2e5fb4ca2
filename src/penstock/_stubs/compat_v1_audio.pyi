# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.media import encode_wav as encode_wav
