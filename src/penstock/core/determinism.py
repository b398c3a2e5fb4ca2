"""Whether the program asked that operations give the same bits each time they run.

`require` is behind `tf.config.experimental.enable_op_determinism`. What holds from then on:

- a random operation without a seed is refused, and so is what draws its state from the system;
- whether an operation runs on the host or compiled follows from its sizes alone, never from how
  often they came before, so that the same call gives the same bits the second time;
- on GPUs, XLA is told to use only algorithms whose results repeat;
- on CPUs, XLA is told to sum in an order that does not depend on the number of threads;
- a plan in which two operations touch a resource in no fixed order is refused.
"""

NO_SEED = (
    "Random ops require a seed to be set when determinism is enabled. Please set a seed before "
    "running the op, e.g. by calling tf.random.set_seed(1)."
)


class _Switch:
    """What the program asked for; hot paths read `fixed`.

    Attributes:
      on: operations must repeat bit for bit.
      fixed: where an operation runs follows from its sizes alone: `on`, or effects are recorded.
    """

    on = False
    fixed = False


switch = _Switch()


def require(wanted: bool = True) -> None:
    """Asks for operations that repeat bit for bit; False takes it back, for tests."""
    switch.on = switch.fixed = wanted


def required() -> bool:
    """Whether operations must repeat bit for bit."""
    return switch.on
