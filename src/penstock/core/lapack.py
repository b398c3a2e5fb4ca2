"""How many threads LAPACK uses: one, unless matrices are large.

NumPy and SciPy bring an OpenBLAS each; host kernels use the first, XLA's CPU code calls the second.
Both split the work on each matrix among all processors and wait for each other spinning. For
matrices of 100 x 100 that takes longer than the work, and many times as long where other processes
use the processors too: on two loaded cores a hundred singular value decompositions took 7 s, with
one thread 0.18, and one thread won up to 1,024 x 1,024.

So it is with products: on the same cores every tenth one of 64 x 64 x 128 took 14 ms in place of
0.01 when other work came between them. Large ones are compiled, by kernels that share XLA's
threads.

`one_thread()` limits both while it is held and then gives back what was set before. Calls of linear
algebra hold it (`limited_host`, `limited_compiled`). A user's own call of LAPACK at the same moment
is limited too, and no result depends on it. Where the number of threads is set in the environment,
or the libraries are other ones, nothing is done. Thread-safe.
"""

import contextlib
import ctypes
import functools
import importlib.util
import os
import pathlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.core.lazy import jax

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


def is_used(op_names: Iterable[str]) -> bool:
    """Whether one of these operations calls LAPACK."""
    return not OPERATIONS.isdisjoint(op_names)


class Library:
    """An OpenBLAS whose threads can be limited. Thread-safe."""

    def __init__(self, path: pathlib.Path, ending: str) -> None:
        library = ctypes.CDLL(str(path))
        self.get = getattr(library, f"scipy_openblas_get_num_threads{ending}")
        self._set = getattr(library, f"scipy_openblas_set_num_threads{ending}")
        self._lock = threading.Lock()  # guards: _before, _holders
        self._before = self._holders = 0

    def hold(self) -> None:
        """From here to its `release` the library uses one thread."""
        with self._lock:
            if not self._holders:
                self._before = self.get()
                self._set(1)
            self._holders += 1

    def release(self) -> None:
        """Ends what a `hold` began; after the last it uses as many threads as before the first."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._set(self._before)

    def alone(self, function: Function, *inputs: Any) -> Any:
        """`function(*inputs)` while it is held, in half the time of a context manager."""
        self.hold()
        try:
            return function(*inputs)
        finally:
            self.release()

    @contextlib.contextmanager
    def one_thread(self) -> Iterator[None]:
        """While it is held, the library uses one thread; then as many as before."""
        self.hold()
        try:
            yield
        finally:
            self.release()


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
                return Library(path, _ENDINGS[package])
    return None


def one_thread(package: str) -> contextlib.AbstractContextManager[None]:
    """While it is held, the package's LAPACK uses one thread."""
    found = library(package)
    return contextlib.nullcontext() if found is None else found.one_thread()


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


class Limit:
    """The limit for calls of one compiled function, lifted once it was traced with large matrices.

    Not thread-safe; a race costs time alone.
    """

    def __init__(self) -> None:
        self._lifted = False

    def run(self, function: Function, *arguments: Any) -> Any:
        """`function(*arguments)`, whose results are there when it returns."""
        if self._lifted:
            return function(*arguments)
        _traced.large = False
        with one_thread("scipy"):
            results = jax.block_until_ready(function(*arguments))
        self._lifted = _traced.large
        return results
