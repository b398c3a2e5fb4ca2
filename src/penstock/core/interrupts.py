"""Ctrl-C while Python collects garbage.

JAX has Python call a function of its own around each collection. Python handles signals where a
line of Python begins, and drops what is raised in such a function: one Ctrl-C in three was lost in
a training loop, because the collection that follows a long computation is where the signal is
noticed. `let_through` puts a call in its place that runs no line of Python.
"""

import functools
import gc
from collections.abc import Callable
from typing import Any

CALLBACK = "_xla_gc_callback"  # JAX's; it calls `collect_garbage` of the module it knows as `_jax`


def let_through() -> None:
    """Replaces JAX's callback; where JAX has none of that name nothing changes."""
    for place, callback in enumerate(gc.callbacks):
        if getattr(callback, "__name__", "") == CALLBACK:
            library = getattr(callback, "__globals__", {}).get("_jax")
            collect = getattr(library, "collect_garbage", None)
            if collect is not None:
                gc.callbacks[place] = without_frame(collect)


def without_frame(function: Callable[[], object]) -> Callable[[str, dict[str, Any]], object]:
    """What the collector may call, with its two arguments, to run a function of C that takes none.

    Setting the attribute `start` or `stop`, the collector's first argument, asks an iterator for
    its next item, which is what the function returns. All of it is C.
    """
    item = property(fset=next)  # `next` is given the iterator, and a default that is not needed
    body = {"__next__": staticmethod(function), "start": item, "stop": item}
    return functools.partial(setattr, type("Collections", (), body)())
