"""`TestCase`: unittest with sessions, set random seeds, and assertions about tensors."""

import contextlib
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.core import context
from penstock.core.tensor import Tensor
from penstock.graph.graph import get_default_graph, reset_default_graph
from penstock.ops.random_state import set_seed
from penstock.runtime.client import Session, get_default_session
from penstock.testing.general_assertions import GeneralAssertions
from penstock.testing.tensor_assertions import TensorAssertions
from penstock.testing.values import host_value
from penstock.testing.workers import CapturedWrites, CheckedThread
from penstock.util import nest

RANDOM_SEED = 87654321


class TestCase(TensorAssertions, GeneralAssertions):
    """Base class of tests: seeds are set before each test, threads and sessions end with it."""

    maxDiff = None

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._temp_dir: str | None = None
        self._cached: Session | None = None
        self._cached_for: tuple[Any, Any, bool] = (None, None, False)

    def setUp(self) -> None:
        """Sets the seeds and starts with a fresh default graph."""
        super().setUp()
        random.seed(RANDOM_SEED)
        np.random.seed(RANDOM_SEED)
        if not context.eager_by_default() and not context.state.stack:
            reset_default_graph()
        set_seed(RANDOM_SEED)

    def tearDown(self) -> None:
        """Checks that threads were joined, and closes the cached session."""
        for thread in self._threads:
            thread.check_termination()
        self._threads = []
        self._close_cached()
        super().tearDown()

    def _close_cached(self) -> None:
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    # ---- files, threads, output ------------------------------------------------------------------

    def get_temp_dir(self) -> str:
        """A folder of this test, removed at its end."""
        if self._temp_dir is None:
            self._temp_dir = tempfile.mkdtemp(prefix="penstock_test_")
            self.addCleanup(shutil.rmtree, self._temp_dir, ignore_errors=True)
        return self._temp_dir

    def create_tempdir(self, name: str | None = None) -> str:
        """A new folder inside `get_temp_dir`."""
        if name is None:
            return tempfile.mkdtemp(dir=self.get_temp_dir())
        path = os.path.join(self.get_temp_dir(), name)
        os.makedirs(path, exist_ok=True)
        return path

    def create_tempfile(
        self,
        file_path: str | None = None,
        content: Any = None,
        mode: str = "w",
        encoding: str = "utf8",
    ) -> str:
        """A file inside `get_temp_dir` with this content; returns its path."""
        path = os.path.join(self.get_temp_dir(), file_path or f"file_{time.monotonic_ns()}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode, encoding=None if "b" in mode else encoding) as file:
            if content is not None:
                file.write(content)
        return path

    def checkedThread(
        self, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> CheckedThread:
        """A thread whose failure is raised by `join`; the test fails when it is not joined."""
        made = CheckedThread(target, tuple(args or ()), dict(kwargs or {}))
        self._threads.append(made)
        return made

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[CapturedWrites]:
        """What is written to a stream with a file descriptor inside of the block."""
        descriptor = stream.fileno()
        stream.flush()
        saved = os.dup(descriptor)
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), descriptor)
            captured = CapturedWrites(file)
            try:
                yield captured
            finally:
                stream.flush()
                os.dup2(saved, descriptor)
                os.close(saved)
                captured.finish()

    # ---- sessions --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """A new session that is the default inside of the block; in eager mode None is given.

        Args:
          graph: the graph; the default one when None.
          config: a ConfigProto.
          use_gpu: False keeps operations on the CPU.
          force_gpu: operations request the GPU.
        """
        if context.executing_eagerly() and graph is None:
            yield _EagerSession(self)
            return
        target = graph if graph is not None else get_default_graph()
        with (
            Session(graph=target, config=config) as session,
            target.as_default(),
            _device_scope(target, use_gpu, force_gpu),
        ):
            yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """As `session`, but the same session again within one test."""
        if context.executing_eagerly() and graph is None:
            yield _EagerSession(self)
            return
        target = graph if graph is not None else get_default_graph()
        if self._cached is None:
            self._cached = Session(graph=target, config=config)
            self._cached_for = (target, config, force_gpu)
        self._check_cached(target, config, force_gpu)
        with (
            self._cached.as_default(),
            target.as_default(),
            _device_scope(target, use_gpu, force_gpu),
        ):
            yield self._cached

    def _check_cached(self, graph: Any, config: Any, force_gpu: bool) -> None:
        names = ("graph", "config", "force_gpu")
        for name, before, now in zip(
            names, self._cached_for, (graph, config, force_gpu), strict=True
        ):
            same = before is now if name == "graph" else before == now
            if not same:
                raise ValueError(
                    f"cached_session: the {name} ({now!r}) differs from the one that the "
                    f"cached session was made with ({before!r}). Use session() for another one."
                )

    def test_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Any:
        """The old name of `session` (for a given graph) and `cached_session`."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")
        if graph is None:
            return self.cached_session(None, config, use_gpu, force_gpu)
        return self.session(graph, config, use_gpu, force_gpu)

    def evaluate(self, tensors: Any) -> Any:
        """The NumPy value of a nest of tensors, through the default session in a graph."""
        if context.executing_eagerly():
            return nest.map_structure(host_value, tensors() if callable(tensors) else tensors)
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as session:
            return session.run(tensors)


class _EagerSession:
    """What `session()` gives in eager mode: `run` evaluates."""

    def __init__(self, case: TestCase) -> None:
        self._case = case
        self.graph = None

    def run(self, fetches: Any, *args: Any, **kwargs: Any) -> Any:
        """The values of eager tensors, or the result of a callable."""
        return self._case.evaluate(
            fetches() if callable(fetches) and not isinstance(fetches, Tensor) else fetches
        )


@contextlib.contextmanager
def _device_scope(graph: Any, use_gpu: bool, force_gpu: bool) -> Iterator[None]:
    device = "/device:GPU:0" if force_gpu else None if use_gpu else "/device:CPU:0"
    with graph.device(device) if device else contextlib.nullcontext():
        yield
