"""Memory between steps: what a step frees stays with the process, for the next one.

XLA asks the C library for each step's intermediate values in one piece. The GNU C library gives
pieces above 32 MB back to the system at once, and the system clears their pages anew for every
step: 58,000 pages, a third of the processor time, for a step that needs 230 MB. So before XLA
starts, the library is told to take memory from its heap, to have one heap, and to keep it. The
heap's first gigabyte is asked for in huge pages, which the system gives as they are written to:
products, copies and rows of tables then find their addresses in the processor's tables.
``PENSTOCK_KEEP_MEMORY=0`` leaves it as it is; other C libraries, and allocators that a program
brought in its place, are left alone. Where addresses are limited (``ulimit -v``) the heap takes
none ahead of need.
"""

import ctypes
import functools
import mmap
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.config import env
from penstock.core.lazy_module import LazyModule

resource: Any = LazyModule("resource")  # Unix has it

# mallopt's parameters, from malloc.h
TRIM_THRESHOLD, MMAP_MAX, ARENA_MAX = -1, -4, -8
SETTINGS = ((ARENA_MAX, 1), (MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1))
CONTAINER = pathlib.Path("/sys/fs/cgroup/memory.max")
HEAP = 1 << 30  # bytes asked for in huge pages: below the threshold above, so they stay in the heap


def keep_freed_memory() -> bool:
    """Tells the C library; True when it understood. Has no effect on threads that exist already."""
    if not env.get("PENSTOCK_KEEP_MEMORY") or not has_gnu_library() or not is_allocator():
        return False
    library = ctypes.CDLL(None)
    if not all(library.mallopt(parameter, value) == 1 for parameter, value in SETTINGS):
        return False
    if not has_limited_addresses():
        _ask_for_huge_pages(library)
    return True


def _ask_for_huge_pages(library: Any) -> None:
    """Makes the heap large, marks what it got, and gives it back to the heap, unwritten.

    A system that has no huge pages, or no such range of addresses, leaves the heap as it was.
    """
    library.malloc.restype = ctypes.c_void_p
    block = library.malloc(ctypes.c_size_t(HEAP))
    if block is None:
        return
    first = -(-block // mmap.PAGESIZE) * mmap.PAGESIZE
    size = (block + HEAP - first) // mmap.PAGESIZE * mmap.PAGESIZE
    library.madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), mmap.MADV_HUGEPAGE)
    library.free(ctypes.c_void_p(block))


def has_limited_addresses() -> bool:
    """Whether a gigabyte of the heap would be missing elsewhere."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_AS)
    return bool(soft != resource.RLIM_INFINITY)


def largest() -> int:
    """Bytes that a process may have at most: the machine's memory and what the system swaps to.

    Less where the process has fewer addresses (``ulimit -v``).
    """
    soft, _hard = resource.getrlimit(resource.RLIMIT_AS)
    return _machine() if soft == resource.RLIM_INFINITY else min(_machine(), int(soft))


@functools.cache
def _machine() -> int:
    """Bytes of memory and swap, or what a container may have of them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            sizes = dict(line.split(":", 1) for line in file)
        memory = sum(int(sizes[name].split()[0]) << 10 for name in ("MemTotal", "SwapTotal"))
    except (OSError, KeyError, ValueError):  # not Linux
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:  # of a container, whose own group is the root that it sees
        limit = int(CONTAINER.read_text())
    except (OSError, ValueError):  # there is none, or it is "max"
        return memory
    return min(memory, limit)


def refuse_beyond_memory(
    size: int, where: Callable[[], str], op: Any = None, what: str = "an array"
) -> None:
    """Refuses what the host cannot hold: XLA would end the process when it is read.

    Args:
      size: in bytes.
      where: says which operation, and the user's line.
      op: the operation, which the error gets.
      what: what is that large.

    Raises:
      ResourceExhaustedError: `size` is above `largest`.
    """
    if size > largest():
        raise errors.ResourceExhaustedError(
            None,
            op,
            f"{where()}: OOM when allocating: expected {largest():,} bytes at most, the memory of"
            f" this machine, got {what} of {size:,} bytes. Take smaller batches or sizes.",
        )


def refuse_beyond_free(size: int, where: Callable[[], str], op: Any, what: str) -> None:
    """As `refuse_beyond_memory`, and refuses what the system would not hand out now.

    Raises:
      ResourceExhaustedError: there are not `size` bytes.
    """
    refuse_beyond_memory(size, where, op, what)
    try:
        np.empty(size, np.uint8)  # pages that nobody writes to take no memory
    except MemoryError:
        raise errors.ResourceExhaustedError(
            None,
            op,
            f"{where()}: OOM when allocating: expected memory for {what} of {size:,} bytes, got"
            " none from the system. Free memory, or take smaller batches or sizes.",
        ) from None


def located_read(problem: RuntimeError) -> Exception:
    """The error of a read of what XLA had no memory to compute; others stay as they are."""
    if "Out of memory" not in str(problem):
        return problem
    return errors.ResourceExhaustedError(
        None,
        None,
        "OOM when allocating: a value was read that is not there, since memory ran out in the step"
        f" that computes it ({problem}). Take smaller batches or sizes; assign to variables that"
        " this step has updated before they are read again.",
    )


def is_allocator() -> bool:
    """Whether memory comes from the GNU C library itself, not from what was loaded before it."""
    try:
        used, own = (ctypes.CDLL(name).malloc for name in (None, "libc.so.6"))
    except OSError:
        return False
    address: Any = ctypes.c_void_p
    return bool(ctypes.cast(used, address).value == ctypes.cast(own, address).value)


def has_gnu_library() -> bool:
    """Whether the process runs on the GNU C library."""
    try:
        return "glibc" in (os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (AttributeError, OSError, ValueError):
        return False
