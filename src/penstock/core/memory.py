"""Memory between steps: what a step frees stays with the process, for the next one.

XLA asks the C library for each step's intermediate values in one piece. The GNU C library gives
pieces above 32 MB back to the system at once, and the system clears their pages anew for every
step: 58,000 pages, a third of the processor time, for a step that needs 230 MB. So before XLA
starts, the library is told to take memory from its heap, to have one heap, and to keep it.
``PENSTOCK_KEEP_MEMORY=0`` leaves it as it is; other C libraries are left alone.
"""

import ctypes
import os

from penstock.config import env

# mallopt's parameters, from malloc.h
TRIM_THRESHOLD, MMAP_MAX, ARENA_MAX = -1, -4, -8
SETTINGS = ((ARENA_MAX, 1), (MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1))


def keep_freed_memory() -> bool:
    """Tells the C library; True when it understood. Has no effect on threads that exist already."""
    if not env.get("PENSTOCK_KEEP_MEMORY") or not has_gnu_library():
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all(mallopt(parameter, value) == 1 for parameter, value in SETTINGS)


def has_gnu_library() -> bool:
    """Whether the process runs on the GNU C library."""
    try:
        return "glibc" in (os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (AttributeError, OSError, ValueError):
        return False
