"""Whether errors show the frames of this package: `tf.debugging.enable_traceback_filtering`.

Filtered, the traceback of an error in a `tf.function` holds the user's frames alone.
"""

from penstock.config import env
from penstock.util.frames import without_internal_frames

_chosen: list[bool | None] = [None]  # None: as the environment says


def enable_traceback_filtering() -> None:
    """Leaves the frames of this package out of tracebacks: the default."""
    _chosen[0] = True


def disable_traceback_filtering() -> None:
    """Shows all frames in tracebacks; so does PENSTOCK_FULL_TRACEBACKS=1.

    Example:
      >>> disable_traceback_filtering()
      >>> is_traceback_filtering_enabled()
      False
      >>> enable_traceback_filtering()
    """
    _chosen[0] = False


def is_traceback_filtering_enabled() -> bool:
    """Whether the frames of this package are left out of tracebacks."""
    chosen = _chosen[0]
    return not env.get("PENSTOCK_FULL_TRACEBACKS") if chosen is None else chosen


def filter_traceback(error: BaseException) -> None:
    """Takes our frames out of an error's traceback, unless all are to be shown."""
    if is_traceback_filtering_enabled():
        stack = without_internal_frames(error.__traceback__)
        error.__traceback__ = None if stack is error.__traceback__ else stack
