"""`TestCase`: unittest with sessions, set random seeds, and assertions about tensors."""

import contextlib
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.core import context
from penstock.core.composite import CompositeTensor
from penstock.core.tensor import Tensor
from penstock.graph.default_graph import get_default_graph, reset_default_graph
from penstock.ops.random_state import set_seed
from penstock.runtime.client import Session, get_default_session
from penstock.testing.general_assertions import GeneralAssertions
from penstock.testing.temporary import TempDir, TempFile, TempFileCleanup
from penstock.testing.tensor_assertions import TensorAssertions
from penstock.testing.values import host_value
from penstock.testing.workers import CapturedWrites, CheckedThread
from penstock.util import nest

RANDOM_SEED = 87654321


class TestCase(TensorAssertions, GeneralAssertions):
    """Base class of tests: seeds are set before each test, threads and sessions end with it."""

    maxDiff = None
    tempfile_cleanup = TempFileCleanup.ALWAYS

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._folders: dict[TempFileCleanup, TempDir] = {}
        self._passed = False
        self._properties: dict[str, Any] = {}
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
        return self._files(TempFileCleanup.ALWAYS).full_path

    def create_tempdir(
        self, name: str | None = None, cleanup: TempFileCleanup | None = None
    ) -> TempDir:
        """A folder of this test.

        Args:
          name: its path below the test's own folder, where it may exist; a new name by default.
          cleanup: when it is removed; `tempfile_cleanup` of the class by default.
        """
        return self._files(cleanup).mkdir(name)

    def create_tempfile(
        self,
        file_path: str | None = None,
        content: str | bytes | None = None,
        mode: str = "w",
        encoding: str = "utf8",
        errors: str = "strict",
        cleanup: TempFileCleanup | None = None,
    ) -> TempFile:
        """A file of this test.

        Args:
          file_path: its path below the test's own folder, with folders that need not exist; a new
            name by default.
          content: text or bytes to write; without any, the file is empty.
          mode: of `open`.
          encoding: of text.
          errors: what is done with characters that the encoding lacks.
          cleanup: when it is removed; `tempfile_cleanup` of the class by default.
        """
        return self._files(cleanup).create_file(file_path, content, mode, encoding, errors)

    def _files(self, cleanup: TempFileCleanup | None) -> TempDir:
        """The folder of the files that are removed at one time."""
        when = self.tempfile_cleanup if cleanup is None else cleanup
        if when not in self._folders:
            path = tempfile.mkdtemp(prefix="penstock_test_")
            self._folders[when] = TempDir(path)
            self.addCleanup(self._remove, path, when)
        return self._folders[when]

    def _remove(self, path: str, when: TempFileCleanup) -> None:
        if when is TempFileCleanup.ALWAYS or (when is TempFileCleanup.SUCCESS and self._passed):
            shutil.rmtree(path, ignore_errors=True)

    def _callTestMethod(self, method: Callable[[], Any]) -> None:
        # unittest forgets a failure while it runs the cleanups.
        super()._callTestMethod(method)  # type: ignore[misc]
        self._passed = True

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

    def record_property(self, property_name: str, property_value: Any) -> None:
        """Notes a fact about this test, which `get_recorded_properties` returns."""
        self._properties[property_name] = property_value

    def get_recorded_properties(self) -> dict[str, Any]:
        """The facts that this test noted."""
        return self._properties

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
        """The NumPy value of a nest of tensors, through the default session in a graph.

        Raises:
          ValueError: eagerly, something is no tensor, no function of none, and not None.
        """
        if context.executing_eagerly():
            return nest.map_structure(self._evaluated, tensors)
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as session:
            return session.run(tensors)

    def _evaluated(self, item: Any) -> Any:
        if item is None:
            return None
        if callable(item):
            return self.evaluate(item())
        if not isinstance(item, CompositeTensor) and not hasattr(item, "numpy"):
            raise ValueError(
                f"evaluate: Unsupported type {type(item)}: expected a tensor, got {item!r}. Compare"
                " it as it is."
            )
        return host_value(item)


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
