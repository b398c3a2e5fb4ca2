"""Several locks, held so that Ctrl-C leaves none behind.

Python raises KeyboardInterrupt between two bytecodes: after a call of C, or where a function of
Python begins. So what takes locks and what gives them back are single calls of C, and the one that
gives back is made ready before the first lock is taken:

    held: list[Any] = []
    back = map(RELEASE, iter(held))
    try:
        held.extend(compress(locks, map(ACQUIRE, locks)))
        ...
    finally:
        drain(back)

`held` has the locks that were taken, however far that came; the iterator sees what is added to it.
Locks are taken in one order everywhere: by the identity of the variables that they belong to.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from operator import methodcaller

ACQUIRE, RELEASE = methodcaller("acquire"), methodcaller("release")
drain: Callable[[Iterator[object]], object] = partial(deque, maxlen=0)  # consumes an iterator
