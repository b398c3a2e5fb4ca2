"""What the native libraries share: how they are loaded, and what is said where they are not.

A library states the version of its functions' meaning, and its source and the Python beside it
state the same number. `load` refuses a library that states another one, or that lacks a function:
one that was built from an older tree, or left behind by another installation. A refused library is
no error, as everything works without it, slower: `penstock doctor` shows the problem and the
command that mends it, and `tell` writes both into the log, once in a process.
"""

import ctypes
import os
import pathlib
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.config import env, logging

FOLDER = pathlib.Path(__file__).parent.parent / "_native"
BUILDER = pathlib.Path(__file__).resolve().parents[3] / "native" / "build.py"  # of a source tree

# Of functions' arguments: a number, one without a sign, a pointer (or bytes), a double.
TYPES: dict[str, Any] = {
    "n": ctypes.c_int64,
    "u": ctypes.c_uint64,
    "p": ctypes.c_void_p,
    "d": ctypes.c_double,
}


@dataclass(frozen=True, slots=True)
class State:
    """Whether a native library is in use.

    Attributes:
      library: the loaded library, None when there is none.
      instructions: the instruction sets it uses: "avx512", "avx2", "neon" or "plain", with "amx" or
        "vnni" for products of bfloat16 and bytes; empty without it, and for a library that is the
        same for all.
      problem: why it is not in use, empty when it is.
      fix: what to do about it.
      refused: whether there is a library and it cannot be used.
    """

    library: ctypes.CDLL | None
    instructions: str = ""
    problem: str = ""
    fix: str = ""
    refused: bool = False


def load(
    path: pathlib.Path,
    what: str,
    without: str,
    version: tuple[str, int],
    names: Iterable[str],
    loader: type[ctypes.CDLL] = ctypes.CDLL,
) -> State:
    """Loads a library and compares its version.

    Args:
      path: the file.
      what: what it holds, for messages: "native kernels".
      without: what holds without it, for messages: "products are slower".
      version: the function that states the library's version, and the version wanted.
      names: functions that it must have.
      loader: `ctypes.PyDLL` for a library that needs Python's lock.

    Returns:
      The library, or why it is not used.
    """
    if not path.exists():
        problem = f"this installation has no {what}, so {without}"
        return State(None, "", problem, f"install a C++ compiler, then {rebuild()}")
    try:
        library = loader(str(path))
    except OSError as error:
        return refused(what, without, f"it does not load: {error}")
    function, wanted = version
    lacking = [name for name in (function, *names) if not hasattr(library, name)]
    found = None if function in lacking else int(getattr(library, function)())
    if not lacking and found == wanted:
        return State(library)
    stated = "states no version" if found is None else f"states version {found}"
    lacks = f" and lacks {', '.join(lacking)}" if lacking else ""
    return refused(
        what,
        without,
        f"it was built from another source than this Penstock's: expected version {wanted}, "
        f"{path} {stated}{lacks}",
    )


def refused(what: str, without: str, reason: str) -> State:
    """The state of a library that is there and cannot be used; words as for `load`."""
    problem = f"the library of {what} cannot be used, so {without}; {reason}"
    return State(None, "", problem, f"build it again: {rebuild()}", refused=True)


def rebuild() -> str:
    """The command that builds the libraries again: in a source tree, or for an installation.

    There pip must not take the wheel that it kept of the build before, which lacks them.
    """
    if BUILDER.exists():
        return shlex.join([sys.executable, str(BUILDER)])
    return "pip install --force-reinstall --no-deps --no-cache-dir penstock"


def tell(state: State) -> None:
    """Logs, once, that a library is there and cannot be used, and what to do. Thread-safe.

    A library that was not built is no news to whoever installed it so: the build has said it.
    """
    if state.refused:
        logging.log_first_n(logging.WARN, f"{state.problem}. To mend it, {state.fix}", 1)


class HostLibrary:
    """A library whose functions host code calls, loaded at first use.

    Thread-safe: loading twice gives the same library.

    Attributes:
      path: its file in this installation.
      without: what holds without it, for messages.
      version: of the functions' meaning; its source states the same number.
      names: its functions, each with an int64 result.
    """

    def __init__(
        self,
        name: str,
        what: str,
        without: str,
        version: int,
        functions: Mapping[str, str],
        loader: type[ctypes.CDLL] = ctypes.CDLL,
    ) -> None:
        """A library that is not loaded yet.

        Args:
          name: "wire" for `libpenstock_wire.so`, whose functions begin with `penstock_wire_`.
          what: see `load`, as `without` and `loader`.
          without: see the attribute, as `version`.
          version: see the attribute.
          functions: their names without the beginning; for each the types of its arguments, letters
            of TYPES.
          loader: see `load`.
        """
        self.path = FOLDER / f"libpenstock_{name}.so"
        self.without = without
        self.version = version
        self.names = [f"penstock_{name}_{function}" for function in functions]
        self._types = dict(functions)
        self._name, self._what, self._loader = name, what, loader
        self._state: State | None = None
        self._functions: dict[str, Callable[..., int]] | None = None

    def load(self, path: pathlib.Path) -> State:
        """Loads the library at `path` and compares its version."""
        version = (f"penstock_{self._name}_version", self.version)
        state = load(path, self._what, self.without, version, self.names, self._loader)
        for name, letters in self._types.items() if state.library else ():
            function = getattr(state.library, f"penstock_{self._name}_{name}")
            function.argtypes = [TYPES[letter] for letter in letters]
            function.restype = ctypes.c_int64
        return state

    def state(self) -> State:
        """The library, or why there is none; whether native work is switched off or not."""
        if self._state is None:
            self._state = self.load(self.path)
        return self._state

    def library(self) -> ctypes.CDLL | None:
        """The library, None where it is not in use; the log says so if it cannot be used."""
        if not env.get("PENSTOCK_NATIVE_KERNELS"):
            return None
        state = self.state()
        tell(state)
        return state.library

    def is_in_use(self) -> bool:
        """Whether the library is there and switched on."""
        return self.library() is not None

    def function(self, name: str) -> Callable[..., int] | None:
        """The function of this name without the beginning; None where the library is not in use.

        It takes arrays where the library has pointers: contiguous ones, to their first element.
        """
        if not env.get("PENSTOCK_NATIVE_KERNELS"):
            return None
        found = self._functions
        if found is None:
            found = self._functions = self._bound()
        return found.get(name)

    def _bound(self) -> dict[str, Callable[..., int]]:
        """The functions by their names; none where there is no library, which the log says."""
        state, keeps_lock = self.state(), self._loader is ctypes.PyDLL
        tell(state)
        if state.library is None:
            return {}
        library = state.library
        found = {name: getattr(library, f"penstock_{self._name}_{name}") for name in self._types}
        return {name: _direct(f, self._types[name], keeps_lock) for name, f in found.items()}


CALLS = HostLibrary(
    "calls",
    what="calls of native functions",
    without="a call of a native function takes 4 microseconds more",
    version=1,
    functions={"bind": "ppn"},
    loader=ctypes.PyDLL,
)


def _direct(function: Any, letters: str, keeps_lock: bool) -> Callable[..., int]:
    """A function of ctypes that takes arrays; a built-in one of Python's where that is possible.

    Built-in ones have no doubles among their arguments, which registers of their own hold.
    """
    library = None if "d" in letters else CALLS.state().library
    if library is None:
        return lambda *given: function(*[address(x) if type(x) is np.ndarray else x for x in given])
    bind = library.penstock_calls_bind
    bind.restype = ctypes.py_object
    place = ctypes.cast(function, ctypes.c_void_p).value
    made: Callable[..., int] = bind(place, letters.encode(), keeps_lock)
    return made


def processors() -> int:
    """How many threads may work: one for each processor that the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_byte_of = ctypes.c_char.from_buffer


def address(array: Any) -> int:
    """Where the elements of a NumPy array are.

    A buffer says it in a quarter of the time that NumPy takes; arrays that cannot be written to,
    are empty or of a dtype that Python does not know have none of this kind.
    """
    if array.flags.writeable:
        try:
            return ctypes.addressof(_byte_of(array))
        except (ValueError, TypeError):
            pass
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]
