# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.train.layer_style import keras_style_scope as keras_style_scope
from penstock.train.layer_style import set_keras_style as set_keras_style
