"""Datasets that an operation runs from their beginning to their end, as one of its step."""

import contextlib
from collections.abc import Iterator

from penstock.core.kernels import KernelContext
from penstock.data.options_dataset import options_of
from penstock.data.run import Run
from penstock.data.stages import Description, Stage


@contextlib.contextmanager
def started(description: Description, ctx: KernelContext) -> Iterator[tuple[Stage, Run]]:
    """A stage of a dataset, before its first element, and its run. Both end with the block.

    Args:
      description: the dataset.
      ctx: of the operation: with its step, functions and loops of the stages end.

    Raises:
      CancelledError, DeadlineExceededError: the step ended.
    """
    run = Run(ctx.resources, "CPU", options_of(description))
    stage = description.start(run)
    step = ctx.step
    try:
        with contextlib.nullcontext() if step is None else run.within(step, ctx.op_name):
            yield stage, run
    finally:
        run.close()
        stage.close()
