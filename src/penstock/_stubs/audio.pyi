# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.audio_files import decode_wav as decode_wav
from penstock.ops.media import encode_wav as encode_wav
