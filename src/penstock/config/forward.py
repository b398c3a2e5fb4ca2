"""`tf.compat.forward_compatible`: whether programs that read graphs are new enough for a feature.

Programs ask before they use an operation that older readers of their graphs would not know. What
this version writes is read by every version since `HORIZON`.
"""

import contextlib
import datetime
from collections.abc import Iterator

HORIZON = datetime.date(2026, 11, 1)
_horizon = {"date": HORIZON}


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether what was added on a day may be used: the day lies before the horizon.

    Args:
      year: as in a date.
      month: 1 to 12.
      day: 1 to 31.

    Raises:
      ValueError: there is no such day.

    Example:
      >>> forward_compatible(2020, 1, 1), forward_compatible(2999, 1, 1)
      (True, False)
    """
    return datetime.date(year, month, day) < _horizon["date"]


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A scope in which the horizon is this day, for tests.

    Raises:
      ValueError: there is no such day.
    """
    before = _horizon["date"]
    _horizon["date"] = datetime.date(year, month, day)
    try:
        yield
    finally:
        _horizon["date"] = before
