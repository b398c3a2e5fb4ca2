# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.train.loss_scales import DynamicLossScale as DynamicLossScale
from penstock.train.loss_scales import FixedLossScale as FixedLossScale
from penstock.train.loss_scales import LossScale as LossScale
