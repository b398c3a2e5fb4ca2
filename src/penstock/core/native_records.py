"""The functions of `native/records.cc`: where records are in the bytes of a file.

A shared library of its own, loaded at first use: it has neither Python nor XLA in it, and checks
checksums with the processor's instruction for them. Where it is not in use `penstock.core.records`
does the same in Python. Thread-safe: nothing is kept between calls.
"""

from typing import Any

import numpy as np

from penstock.core.native_library import HostLibrary

LIBRARY = HostLibrary(
    "records",
    what="native reading of records",
    without="files of records take some five times as long to read",
    version=1,
    functions={"scan": "pnnnppp", "checksum": "pn"},
)
MOST = 4096  # records of one call
Array = Any  # numpy.ndarray


def scan(data: bytes, at: int) -> tuple[list[int], list[int], tuple[int, int, int, int]] | None:
    """The records at a place of some bytes, MOST at most; None where the library is not in use.

    Args:
      data: bytes of a file.
      at: where a record begins.

    Returns:
      Where the contents of records begin and where they end; and why there are no more, as
      `penstock.core.records.scan` says it.
    """
    function = LIBRARY.function("scan")
    if function is None:
        return None
    spans = np.empty((2, MOST), np.int64)
    report = np.empty(4, np.int64)
    count = function(data, len(data), at, MOST, spans[0], spans[1], report)
    status, place, second, third = report.tolist()
    return spans[0, :count].tolist(), spans[1, :count].tolist(), (status, place, second, third)
