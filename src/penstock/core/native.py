"""The native kernels: a shared library of functions that compiled code on CPU calls.

`native/` holds the source; the package's build compiles it where there is a C++ compiler. The
library is loaded, and its functions registered with XLA, when the first kernel asks for it. It is
used only where XLA's interface is at least as new as the one it was compiled for: XLA refuses
handlers that are newer than itself, and with them the whole CPU backend. Without the library, with
one that was built from another source, or with ``PENSTOCK_NATIVE_KERNELS=0``, every operation has a
kernel of XLA's own.

`available` says whether the library is in use and `state` why not; `call` makes a call. JAX cannot
vectorise calls: what it vectorises is traced inside of `unused`.
"""

import contextlib
import ctypes
import functools
import pathlib
import re
import threading
from collections.abc import Iterator
from typing import Any

from penstock.config import env
from penstock.core import native_library
from penstock.core.lazy import jax
from penstock.core.native_library import State

LIBRARY = native_library.FOLDER / "libpenstock_kernels.so"
WHAT = "native kernels"
WITHOUT = "products, convolutions, pooling and recurrent nets on CPU are slower"
FUNCTIONS = (  # what XLA calls; raise REVISION with them, so that older libraries say so
    "product",
    "finished_product",
    "conv",
    "finished_conv",
    "conv_input_grad",
    "finished_conv_input_grad",
    "conv_filter_grad",
    "max_pool",
    "max_pool_grad",
    "avg_pool",
    "avg_pool_grad",
    "dot_product",
    "dot_conv",
    "attention",
    "attention_grad",
    "recurrence",
    "layer_norm",
    "layer_norm_grad",
    "update",
    "special",
    "top",
    "among",
    "extreme",
    "nth",
    "outside",
    "taken",
    "combined",
    "sparse_product",
    "truncated",
    "order",
    "tridiagonal_product",
    "put",
)
PREFIX = "penstock."
REVISION = 17  # part of the names that executables on disk hold; handlers.cc states the same number
_SETS = ("isa", "dot_isa")  # of instructions: for all kernels, for products of bfloat16 and bytes
_OWN = ("interface", *_SETS, *(f"use_{name}" for name in _SETS))


class _Here(threading.local):
    """What holds for this thread."""

    unused = False


_here = _Here()


@contextlib.contextmanager
def unused() -> Iterator[None]:
    """While this is entered the library is not available to this thread."""
    before, _here.unused = _here.unused, True
    try:
        yield
    finally:
        _here.unused = before


def available() -> bool:
    """Whether compiled code may call the library: it is loaded, not switched off, and on CPU."""
    if _here.unused or not env.get("PENSTOCK_NATIVE_KERNELS"):
        return False
    return jax.default_backend() == "cpu" and _registered()


def dot_available() -> bool:
    """Whether the library has products of bfloat16 and bytes for this processor."""
    if not available():
        return False
    library = state().library
    return library is not None and library.penstock_dot_isa() != b"none"


def call(
    function: str,
    result: Any,
    *arguments: Any,
    mapped: str = "sequential",
    layouts: tuple[Any, Any] = (None, None),
    aliases: dict[int, int] | None = None,
    **attrs: Any,
) -> Any:
    """A call of a function of the library, inside code that is being compiled.

    Args:
      function: a name of FUNCTIONS.
      result: a `jax.ShapeDtypeStruct`, or several.
      arguments: arrays or tracers, of any layout: XLA brings them into row-major order.
      mapped: what happens under `jax.vmap`, as `jax.ffi.ffi_call` names it: one call after another,
        or "expand_dims" and "broadcast_all" where the handler takes more leading axes.
      layouts: of the arguments and of the results, as `jax.ffi.ffi_call` takes them; row-major
        without them.
      aliases: by the number of an argument that of the result in its memory.
      attrs: NumPy scalars and vectors, as the handler names them.

    Returns:
      An array of the shape and dtype of `result`, or several.
    """
    target = f"{PREFIX}{function}.{REVISION}"
    made = jax.ffi.ffi_call(
        target,
        result,
        vmap_method=mapped,
        input_layouts=layouts[0],
        output_layouts=layouts[1],
        input_output_aliases=aliases,
    )
    return made(*arguments, **attrs)


@functools.cache
def state() -> State:
    """Loads the library; thread-safe, as loading twice gives the same one."""
    return load(LIBRARY)


def load(path: pathlib.Path) -> State:
    """Loads the library at `path`; compares its version with ours, and XLA's with jaxlib's."""
    version = ("penstock_revision", REVISION)
    names = [f"penstock_{name}" for name in (*_OWN, *FUNCTIONS)]
    found = native_library.load(path, WHAT, WITHOUT, version, names)
    library = found.library
    if library is None:
        return found
    built_for = int(library.penstock_interface())
    here = interface_version(pathlib.Path(jax.ffi.include_dir()))
    if here is None or built_for // 1000 != here // 1000 or built_for > here:
        return native_library.refused(
            WHAT,
            WITHOUT,
            f"it was built for version {built_for / 1000:.3f} of XLA's interface, jaxlib has "
            f"{'an unknown one' if here is None else f'{here / 1000:.3f}'}",
        )
    for kind in _SETS:
        getattr(library, f"penstock_{kind}").restype = ctypes.c_char_p
        use = getattr(library, f"penstock_use_{kind}")
        use.argtypes, use.restype = [ctypes.c_char_p], ctypes.c_bool
    instructions = library.penstock_isa().decode()
    dot = library.penstock_dot_isa().decode()
    return State(library, instructions if dot == "none" else f"{instructions} and {dot}")


def interface_version(headers: pathlib.Path) -> int | None:
    """1000 * major + minor of XLA's interface, as the headers beside jaxlib state it."""
    try:
        text = (headers / "xla/ffi/api/c_api.h").read_text()
    except OSError:
        return None
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    if found[0] is None or found[1] is None:
        return None
    return 1000 * int(found[0].group(1)) + int(found[1].group(1))


@functools.cache
def _registered() -> bool:
    library = state().library
    if library is None:
        native_library.tell(state())
        return False
    for name in FUNCTIONS:
        handler = jax.ffi.pycapsule(getattr(library, f"penstock_{name}"))
        jax.ffi.register_ffi_target(f"{PREFIX}{name}.{REVISION}", handler, platform="cpu")
    return True
