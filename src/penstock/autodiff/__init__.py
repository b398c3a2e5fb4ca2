"""Gradients: one registry of rules, one reverse walk, used by the tape and by `tf.gradients`."""

from penstock.autodiff.tape import GradientTape
from penstock.core import context

context.set_tape_factory(GradientTape)
