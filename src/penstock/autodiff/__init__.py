"""Gradients: one registry of rules, one reverse walk, used by the tape and by `tf.gradients`."""

from penstock.autodiff import branches as _branches  # noqa: F401  registers rules
from penstock.autodiff import frame_branches as _frame_branches  # noqa: F401  registers rules
from penstock.autodiff import frame_loops as _frame_loops  # noqa: F401  registers rules
from penstock.autodiff import loops as _loops  # noqa: F401  registers rules
from penstock.autodiff import symbolic as _symbolic  # noqa: F401  registers the kernel
from penstock.autodiff import vectorized as _vectorized  # noqa: F401  registers rules
from penstock.autodiff.tape import GradientTape
from penstock.core import context

context.set_tape_factory(GradientTape)
