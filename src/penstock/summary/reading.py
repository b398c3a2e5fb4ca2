"""Event files read back."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock import errors, proto
from penstock.core.records import read_records

if TYPE_CHECKING:
    from penstock.proto.event_pb2 import Event


def summary_iterator(path: Any) -> "Iterator[Event]":
    """The events of an event file, in order.

    Args:
      path: the file; one that is still being written is read as far as it goes.

    Yields:
      Event messages; the first has only the version of the format.

    Raises:
      DataLossError: a record is damaged, or the file ends inside one.
      NotFoundError: there is no such file.
    """
    name = os.fspath(path)
    try:
        file = open(name, "rb")  # noqa: SIM115  # closed by the block below
    except FileNotFoundError as problem:
        raise errors.NotFoundError(
            None, None, f"{name}; {problem.strerror}: expected an event file."
        ) from None
    with file:
        for record in read_records(file, name):
            yield proto.event_pb2.Event.FromString(record)
