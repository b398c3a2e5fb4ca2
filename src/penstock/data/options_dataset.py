"""Options that a dataset carries."""

from penstock.data.options import NO_OPTIONS, RunOptions
from penstock.data.stages import Description


def options_of(description: Description) -> RunOptions:
    """The options of a dataset: those of itself and of what it is made of."""
    del description
    return NO_OPTIONS
