"""How many threads LAPACK uses: one, unless matrices are large.

NumPy and SciPy bring an OpenBLAS each; host kernels use the first, XLA's CPU code calls the second.
Both split the work on each matrix among all processors and wait for each other spinning. For
matrices of 100 x 100 that takes longer than the work, and many times as long where other processes
use the processors too: on two loaded cores a hundred singular value decompositions took 7 s, with
one thread 0.18, and one thread won up to 1,024 x 1,024.

So it is with products: on the same cores every tenth one of 64 x 64 x 128 took 14 ms in place of
0.01 when other work came between them. Large ones are compiled, by kernels that share XLA's
threads.

`on_one_thread` limits one for a call and then gives back what was set before. Linear algebra is
called so (`limited`, `Limit`). A user's own call of LAPACK at the same moment is limited too, and
no result depends on it. Where the number of threads is set in the environment, or the libraries are
other ones, nothing is done. Thread-safe.
"""

import contextlib
import ctypes
import functools
import importlib.util
import os
import pathlib
import threading
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from penstock.core.lazy import jax
from penstock.core.locks import Locks, call, drain, holding

LARGE = 1024  # sides of matrices above which LAPACK's threads are worth their waiting
SMALL = 16  # sides up to which it uses one thread of its own accord
SHARED = 1 << 18  # multiplications of a product up to which it does the same
SETTINGS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
OPERATIONS = frozenset(
    "Cholesky CholeskyGrad Eig LogMatrixDeterminant Lu MatrixDeterminant MatrixExponential"
    " MatrixInverse MatrixLogarithm MatrixSolve MatrixSolveLs MatrixSquareRoot"
    " MatrixTriangularSolve Qr SelfAdjointEigV2 Svd".split()
)
_ENDINGS = {"numpy": "64_", "scipy": ""}  # of the names of their libraries' functions

Function = Callable[..., Any]
_last = itemgetter(-1)


class Library:
    """An OpenBLAS whose threads can be limited. Thread-safe.

    What limits it and what gives the threads back are single calls of C, between which Ctrl-C
    raises nothing, see `penstock.core.locks`. Each holder notes how many threads there were and
    gives back the number that was noted last, so the last holder gives back what the first found,
    in whatever order they end. `get` and `set_` keep Python's lock, so that no other holder comes
    between a number and its note.
    """

    def __init__(self, get: Function, set_: Function) -> None:
        noted: list[int] = []
        self.get = get
        self._set = set_
        self._gets, self._ones, self._backs = (get,), (1,), (noted.pop,)
        self._note = noted.append

    @classmethod
    def at(cls, path: pathlib.Path, ending: str) -> "Library":
        """The library in a file; `ending` is that of its functions' names."""
        library = ctypes.PyDLL(str(path))
        get = getattr(library, f"scipy_openblas_get_num_threads{ending}")
        return cls(get, getattr(library, f"scipy_openblas_set_num_threads{ending}"))

    def alone(self, function: Function, *inputs: Any) -> Any:
        """`function(*inputs)` while the library uses one thread."""
        held: list[Any] = []
        back = map(self._set, map(call, iter(held)))
        try:
            notes = map(self._note, map(call, self._gets))
            held.extend(
                map(_last, zip(notes, map(self._set, self._ones), self._backs, strict=True))
            )
            return function(*inputs)
        finally:
            drain(back)


@functools.cache
def library(package: str) -> Library | None:
    """The package's OpenBLAS.

    None where it brings none, or the environment says how many threads there are to be.
    """
    if any(name in os.environ for name in SETTINGS):
        return None
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for path in pathlib.Path(place).parent.glob(f"{package}.libs/libscipy_openblas*.so"):
            with contextlib.suppress(OSError, AttributeError):  # another build of it
                return Library.at(path, _ENDINGS[package])
    return None


def on_one_thread(package: str, function: Function, *inputs: Any) -> Any:
    """`function(*inputs)` while the package's LAPACK uses one thread."""
    found = library(package)
    return function(*inputs) if found is None else found.alone(function, *inputs)


def _are_large(shape: tuple[int, ...]) -> bool:
    return len(shape) > 1 and max(shape[-2:]) > LARGE


def limited(kernel: Function) -> Function:
    """A host kernel that uses one thread where no matrix is large.

    For small ones LAPACK begins no threads, and holding it takes as long as the work.
    """

    def run(*inputs: Any) -> Any:
        side = 0
        for x in inputs:
            shape: Any = getattr(x, "shape", ())
            if len(shape) > 1:
                side = max(side, shape[-1], shape[-2])
        found = library("numpy") if SMALL < side <= LARGE else None
        if found is None:
            return kernel(*inputs)
        return found.alone(kernel, *inputs)

    return run


def multiplied(product: Function, a: Any, b: Any) -> Any:
    """`product(a, b)` of NumPy on one thread: matrices, or stacks of them."""
    work = a.shape[-2] * a.shape[-1] * b.shape[-1]
    found = library("numpy") if work > SHARED else None
    return product(a, b) if found is None else found.alone(product, a, b)


class _Traced(threading.local):
    """Whether large matrices were traced in this thread since somebody asked."""

    large = False


_traced = _Traced()


def note(matrices: Any) -> None:
    """Kernels of linear algebra show their matrices here, while they are traced."""
    if _are_large(matrices.shape):
        _traced.large = True


class _Turn:
    """One compiled function with calls of LAPACK runs at a time, see `runtime/lapack_turns.py`.

    Reentrant: what is known is computed while a function is traced, by functions of its own.
    """

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """For a child of fork: whoever had the turn is not in it."""
        self.lock = threading.RLock()
        self._locks = Locks([self])

    def finished(self, function: Function, arguments: Sequence[Any]) -> Any:
        """`function(*arguments)` in a turn of its own, with results that are there."""
        return holding(self._locks, lambda: jax.block_until_ready(function(*arguments)))


_turn = _Turn()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_turn.begin_anew)


class Limit:
    """The limit for calls of one compiled function, lifted once it was traced with large matrices.

    Such functions run one at a time. Thread-safe; a race of first calls costs time alone.
    """

    def __init__(self) -> None:
        self._lifted = False

    def run(self, function: Function, *arguments: Any) -> Any:
        """`function(*arguments)`, whose results are there when it returns."""
        if self._lifted:
            return _turn.finished(function, arguments)
        _traced.large = False
        results = on_one_thread("scipy", _turn.finished, function, arguments)
        self._lifted = _traced.large
        return results
