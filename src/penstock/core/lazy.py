"""JAX, the library that rewrites Python functions, RE2 and Pillow, imported at first use.

`jax`, `jnp` and `lax` stand for `jax`, `jax.numpy` and `jax.lax`, `pil_image` for `PIL.Image`,
`malt`, `re2` and `pillow_jxl` for themselves.
Touching an attribute imports the module; the attribute is then kept on the stand-in, so later
accesses cost a plain attribute read. Nothing else in the package imports them, which keeps `import
penstock` and programs that never compile free of JAX's 0.4 s.
"""

import contextlib
import functools
import os
import sys
from typing import Any

from penstock.core.interrupts import let_through
from penstock.core.lazy_module import LazyModule
from penstock.core.memory import keep_freed_memory

_keep_memory = functools.cache(keep_freed_memory)  # before XLA's threads get heaps of their own
_let_through = functools.cache(let_through)
jax: Any = LazyModule("jax", _keep_memory, _let_through)
jnp: Any = LazyModule("jax.numpy", _keep_memory, _let_through)
lax: Any = LazyModule("jax.lax", _keep_memory, _let_through)
jax_export: Any = LazyModule("jax.export", _keep_memory, _let_through)
malt: Any = LazyModule("malt")
re2: Any = LazyModule("re2")
pil_image: Any = LazyModule("PIL.Image")
pillow_jxl: Any = LazyModule("pillow_jxl")  # optional: JPEG XL files


def jax_is_loaded() -> bool:
    """True once something in this process has imported JAX."""
    return "jax" in sys.modules


def wide_types() -> contextlib.AbstractContextManager[None]:
    """A scope in which JAX keeps 64-bit types; tracing and running of kernels happen inside it."""
    check_not_forked()
    scope: contextlib.AbstractContextManager[None] = jax.enable_x64(True)
    return scope


def check_not_forked() -> None:
    """Refuses to wait for XLA in a process that does not have its threads.

    Raises:
      RuntimeError: the process was forked from one that had loaded JAX.
    """
    if _forked:
        raise RuntimeError(
            "expected a process that started XLA itself, got a child forked from one that had: its"
            " threads do not exist here, and a computation would wait for them for ever. Start"
            " workers with multiprocessing's 'spawn' or 'forkserver' method, or fork before the"
            " first computation."
        )


_forked = False  # this process was forked from one that had JAX loaded


def _after_fork() -> None:
    global _forked
    _forked = jax_is_loaded()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
