"""Options of datasets, as far as stages ask for them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What an iterator is run with.

    Attributes:
      threads: threads of its own; 0 for the shared ones.
      deterministic: whether elements come in the order of the input where a stage does not say.
      parallel: how many calls run at once where a stage leaves it to us; 0 for one a processor.
    """

    threads: int = 0
    deterministic: bool = True
    parallel: int = 0


NO_OPTIONS = RunOptions()
