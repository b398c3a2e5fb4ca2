"""`TestCase`: unittest with sessions, random seeds that are set, and assertions about arrays and tensors."""

import contextlib
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import context
from penstock.core.lazy import LazyModule
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.graph import get_default_graph, reset_default_graph
from penstock.graph.scopes import device_text
from penstock.ops.random_state import set_seed
from penstock.runtime.client import Session, get_default_session
from penstock.runtime.device_config import is_built_with_cuda
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest

json_format = LazyModule("google.protobuf.json_format")
text_format = LazyModule("google.protobuf.text_format")

RANDOM_SEED = 87654321


class TestCase(unittest.TestCase):
    """Base class of tests: seeds are set before each test, threads and sessions end with it."""

    maxDiff = None

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[_CheckedThread] = []
        self._temp_dir: str | None = None
        self._cached: Session | None = None

    def setUp(self) -> None:
        super().setUp()
        random.seed(RANDOM_SEED)
        np.random.seed(RANDOM_SEED)
        if not context.eager_by_default() and not context.state.stack:
            reset_default_graph()
        set_seed(RANDOM_SEED)

    def tearDown(self) -> None:
        for thread in self._threads:
            thread.check_termination()
        self._threads = []
        self._close_cached()
        super().tearDown()

    def _close_cached(self) -> None:
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    # ---- files, threads, output ---------------------------------------------------------------------------------

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

    def checkedThread(
        self, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> "_CheckedThread":
        """A thread whose failure is raised by `join`; the test fails when it is not joined."""
        made = _CheckedThread(target, tuple(args or ()), dict(kwargs or {}))
        self._threads.append(made)
        return made

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator["_Captured"]:
        """What is written to a stream with a file descriptor inside of the block."""
        descriptor = stream.fileno()
        stream.flush()
        saved = os.dup(descriptor)
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), descriptor)
            captured = _Captured(file)
            try:
                yield captured
            finally:
                stream.flush()
                os.dup2(saved, descriptor)
                os.close(saved)
                captured.finish()

    # ---- sessions -----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """A new session that is the default inside of the block; in eager mode nothing is needed and None is given.

        Args:
          graph: the graph; the default one when None.
          config: a ConfigProto.
          use_gpu: accepted for compatibility: operations go where the planner places them.
          force_gpu: operations request the GPU.
        """
        if context.executing_eagerly() and graph is None:
            yield _EagerSession(self)
            return
        target = graph if graph is not None else get_default_graph()
        with (
            Session(graph=target, config=config) as session,
            target.as_default(),
            _gpu_scope(target, force_gpu),
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
        if self._cached is None or self._cached.graph is not target:
            self._close_cached()
            self._cached = Session(graph=target, config=config)
        with self._cached.as_default(), target.as_default(), _gpu_scope(target, force_gpu):
            yield self._cached

    def test_session(self, *args: Any, **kwargs: Any) -> Any:
        """The old name of `session` and `cached_session`."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")
        return self.cached_session(*args, **kwargs)

    def evaluate(self, tensors: Any) -> Any:
        """The NumPy value of a nest of tensors, through the default session in a graph."""
        if context.executing_eagerly():
            return nest.map_structure(_value, tensors)
        session = self._cached
        if session is None:
            from_default = get_default_session()
            if from_default is None:
                raise ValueError("evaluate needs a session: use `with self.cached_session():`.")
            return from_default.run(tensors)
        return session.run(tensors)

    # ---- numbers ------------------------------------------------------------------------------------------------

    def _array(self, value: Any) -> np.ndarray[Any, Any]:
        if isinstance(value, Tensor) and not isinstance(value, EagerTensor):
            value = self.evaluate(value)
        if hasattr(value, "read_value"):
            value = self.evaluate(value)
        return np.asarray(_value(value))

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Two nests of numbers agree: |a - b| <= atol + rtol * |b|."""
        self._close_nests(a, b, rtol, atol, "", msg)

    def _close_nests(
        self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: str | None
    ) -> None:
        if hasattr(a, "_asdict"):
            a = a._asdict()
        if hasattr(b, "_asdict"):
            b = b._asdict()
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{path} vs b{path}. {msg or ''}")
        if isinstance(a, Mapping):
            self.assertCountEqual(
                a.keys(), b.keys(), f"mismatched keys: a{path} and b{path}. {msg or ''}"
            )
            for key in a:
                self._close_nests(a[key], b[key], rtol, atol, f"{path}[{key!r}]", msg)
        elif isinstance(a, (list, tuple)) and not _is_rectangular(a):
            self.assertEqual(len(a), len(b), f"mismatched length: a{path} and b{path}. {msg or ''}")
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                self._close_nests(x, y, rtol, atol, f"{path}[{i}]", msg)
        else:
            self._close_arrays(self._array(a), self._array(b), rtol, atol, path, msg)

    def _close_arrays(
        self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: str | None
    ) -> None:
        self.assertEqual(
            a.shape,
            b.shape,
            f"Shape mismatch: expected {a.shape}, got {b.shape} at a{path}. {msg or ''}",
        )
        a64, b64 = _wide(a), _wide(b)
        if not np.allclose(a64, b64, rtol=rtol, atol=atol, equal_nan=True):
            bad = ~np.isclose(a64, b64, rtol=rtol, atol=atol, equal_nan=True)
            where = tuple(np.argwhere(bad)[0])
            raise self.failureException(
                f"{msg or ''} not close: {int(bad.sum())} of {bad.size} elements of a{path} and b{path} differ by more than "
                f"{atol} + {rtol} * |b|; first at {where}: {a[where]!r} and {b[where]!r}; largest difference "
                f"{np.nanmax(np.abs(a64 - b64)) if a64.size else 0}.\na = {a}\nb = {b}"
            )

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """`assertAllClose` with tolerances of the least precise dtype."""
        for dtype, more_r, more_a in (
            ("float32", float_rtol, float_atol), ("complex64", float_rtol, float_atol), ("float16", half_rtol, half_atol),
            ("bfloat16", bfloat16_rtol, bfloat16_atol),
        ):  # fmt: skip
            if dtype in (self._array(a).dtype.name, self._array(b).dtype.name):
                rtol, atol = max(rtol, more_r), max(atol, more_a)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Some element differs by more than the tolerance."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except self.failureException:
            return
        raise self.failureException(f"The two values are close at all elements. {msg or ''}")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Two arrays are equal in shape and every element; NaN equals NaN."""
        x, y = self._array(a), self._array(b)
        if y.ndim <= 3 or y.size < 500:
            self.assertEqual(
                x.shape,
                y.shape,
                f"Shape mismatch: expected {x.shape}, got {y.shape} with contents {y}. {msg or ''}",
            )
        self.assertEqual(x.shape, y.shape, f"Shape mismatch. {msg or ''}")
        same = x == y
        if x.dtype.kind in "fc" and y.dtype.kind in "fc":
            same = np.logical_or(same, np.logical_and(np.isnan(x), np.isnan(y)))
        if not np.all(same):
            bad = np.argwhere(~np.asarray(same))
            where = tuple(bad[0])
            raise self.failureException(
                f"{msg or ''} not equal: {len(bad)} elements differ, first at {where}: {x[where]!r} and {y[where]!r}.\na = {x}\nb = {y}"
            )

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Some element differs."""
        try:
            self.assertAllEqual(a, b)
        except self.failureException:
            return
        raise self.failureException(f"The two values are equal at all elements. {msg or ''}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Every element is greater."""
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Every element is greater or equal."""
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Every element is less."""
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Every element is less or equal."""
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Every element lies between the bounds."""
        array = self._array(target)
        low = array <= lower_bound if open_lower_bound else array < lower_bound
        high = array >= upper_bound if open_upper_bound else array > upper_bound
        bad = low | high | np.isnan(_wide(array))
        if bad.any():
            left, right = "(" if open_lower_bound else "[", ")" if open_upper_bound else "]"
            raise self.failureException(
                f"{int(bad.sum())} elements are outside of {left}{lower_bound}, {upper_bound}{right}, the first {array[bad][0]!r}"
            )

    def assertAllInSet(self, target: Any, expected_set: Iterable[Any]) -> None:
        """Every element is one of the set."""
        unexpected = set(self._array(target).reshape(-1).tolist()) - set(expected_set)
        if unexpected:
            raise self.failureException(
                f"{len(unexpected)} unexpected element(s): {sorted(unexpected, key=repr)[:10]}"
            )

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """|f1 - f2| <= err."""
        self.assertTrue(
            f1 == f2 or abs(f1 - f2) <= err,
            f"{f1!r} != {f2!r} +/- {err!r} ({f1 - f2!r}){f' ({msg})' if msg else ''}",
        )

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Each pair of elements is near."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """The Euclidean distance of two arrays is less than `err`."""
        self.assertEqual(np.shape(ndarray1), np.shape(ndarray2), msg)
        self.assertLess(
            float(np.linalg.norm(np.asarray(ndarray1, np.float64) - ndarray2)), err, msg
        )

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """Minv <= value <= maxv."""
        self.assertTrue(
            minv <= value <= maxv, msg or f"{value!r} is not between {minv!r} and {maxv!r}"
        )

    # ---- tensors, errors, messages ----------------------------------------------------------------------------------

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Two arrays or tensors have one static shape."""
        a, b = _static_shape(input_a), _static_shape(input_b)
        self.assertAllEqual(a, b, msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """The dtype of an array or tensor."""
        found = target.dtype if isinstance(target.dtype, DType) else as_dtype(target.dtype)
        self.assertEqual(found, as_dtype(expected_dtype))

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Two device names mean the same."""
        canonical = [device_text(d) for d in (device1, device2)]
        self.assertEqual(
            canonical[0],
            canonical[1],
            f"Devices {device1} and {device2} are not equal. {msg or ''}",
        )

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Text begins with."""
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r} : {msg!r}")

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        """A container has no items."""
        self.assertEqual(len(container), 0, msg or f"{container!r} has length {len(container)}")

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        """A container has items."""
        self.assertGreater(len(container), 0, msg or f"{container!r} is empty")

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        """A container has this many items."""
        self.assertEqual(
            len(container),
            expected_len,
            msg or f"{container!r} has length {len(container)}, expected {expected_len}",
        )

    def assertSameElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Two sequences have the same elements, however often."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertItemsEqual(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """Two sequences have the same elements equally often."""
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertContainsSubset(
        self, expected_subset: Iterable[Any], actual_set: Iterable[Any], msg: str | None = None
    ) -> None:
        """Every element of the subset is there."""
        missing = set(expected_subset) - set(actual_set)
        self.assertFalse(missing, msg or f"missing elements: {missing!r}")

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """An exception is raised whose message matches the pattern, or which the predicate accepts."""
        if callable(expected_err_re_or_predicate):
            accepts = expected_err_re_or_predicate
        else:

            def accepts(problem: Any) -> bool:
                text = problem.message if isinstance(problem, errors.OpError) else str(problem)
                return re.search(expected_err_re_or_predicate, text) is not None

        try:
            yield
        except Exception as problem:  # whatever was raised is looked at
            if not isinstance(problem, exception_type) or not accepts(problem):
                raise AssertionError(
                    f"Exception of type {type(problem)}: {problem}, expected {exception_type} matching {expected_err_re_or_predicate!r}"
                ) from problem
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """An OpError is raised that matches."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(
        self,
        exception_type: Any = errors.InvalidArgumentError,
        expected_message: str = r"(?i)incompatible shapes|must be broadcastable|inner dimensions|same shape|compatible",
    ) -> Any:
        """An error about shapes is raised."""
        return self.assertRaisesWithPredicateMatch((exception_type, ValueError), expected_message)

    def assertProtoEquals(
        self,
        expected_message_maybe_ascii: Any,
        validate_message: Any,
        msg: str | None = None,
        relative_tolerance: float | None = None,
    ) -> None:
        """Two messages are equal; the expected one may be text."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = parse_message(expected, type(validate_message))
        if relative_tolerance is not None:
            self._close_nests(
                _message_dict(expected),
                _message_dict(validate_message),
                relative_tolerance,
                0.0,
                "",
                msg,
            )
            return
        self.assertMultiLineEqual(str(expected), str(validate_message), msg)

    def assertProtoEqualsVersion(
        self,
        expected: Any,
        actual: Any,
        producer: int | None = None,
        min_consumer: int = 0,
        msg: str | None = None,
    ) -> None:
        """A GraphDef equals the text with the versions of this library added."""
        version = producer if producer is not None else actual.versions.producer
        tail = f"versions {{ producer: {version}{f' min_consumer: {min_consumer}' if min_consumer else ''} }};"
        self.assertProtoEquals(f"{tail}\n{expected}", actual, msg)


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


def _value(item: Any) -> Any:
    if isinstance(item, EagerTensor) or hasattr(item, "numpy"):
        return item.numpy()
    return item() if callable(item) and not isinstance(item, (type, Tensor)) else item


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _is_rectangular(value: Any) -> bool:
    try:
        return (
            np.asarray([_value(v) if not isinstance(v, (list, tuple)) else v for v in value]).dtype
            != object
        )
    except (ValueError, TypeError):
        return False


def _static_shape(value: Any) -> Any:
    shape = value if isinstance(value, (TensorShape, tuple, list)) else value.shape
    return TensorShape(shape).as_list()


@contextlib.contextmanager
def _gpu_scope(graph: Any, force: bool) -> Iterator[None]:
    with graph.device("/device:GPU:0") if force else contextlib.nullcontext():
        yield


def parse_message(text: str, kind: type) -> Any:
    """A protobuf message from its text form."""
    return text_format.Parse(text, kind())


def _message_dict(message: Any) -> Any:
    return json_format.MessageToDict(message)


class _CheckedThread:
    """A thread whose exception is raised by `join`."""

    def __init__(
        self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._target = lambda: target(*args, **kwargs)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._problem: BaseException | None = None
        self._joined = False
        self._started = False

    def _run(self) -> None:
        try:
            self._target()
        except BaseException as problem:  # kept for join, whatever it is
            self._problem = problem

    def start(self) -> None:
        """Starts the thread."""
        self._started = True
        self._thread.start()

    def join(self) -> None:
        """Waits for the end and raises what the thread raised."""
        self._joined = True
        self._thread.join()
        if self._problem is not None:
            raise AssertionError(f"Error in checkedThread: {self._problem}") from self._problem

    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fails when a started thread was not joined."""
        if self._started and not self._joined:
            if self._thread.is_alive():
                raise AssertionError(
                    "A checkedThread was not joined and is still running when the test ends."
                )
            raise AssertionError("A checkedThread was not joined.")


class _Captured:
    """Text written to a stream."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._text = ""

    def finish(self) -> None:
        """Reads what was written."""
        self._file.seek(0)
        self._text = self._file.read().decode(errors="replace")

    def contents(self) -> str:
        """The text."""
        return self._text


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the main module."""
    unittest.main(argv=argv or sys.argv)


_temp_dirs: list[str] = []


def get_temp_dir() -> str:
    """A folder for tests of this process, removed at its end."""
    if not _temp_dirs:
        holder = tempfile.TemporaryDirectory(prefix="penstock_test_")
        _holders.append(holder)
        _temp_dirs.append(holder.name)
    return _temp_dirs[0]


_holders: list[Any] = []


def test_src_dir_path(relative_path: str) -> str:
    """A path next to the main module of the tests."""
    base = os.path.dirname(os.path.abspath(getattr(sys.modules["__main__"], "__file__", "") or "."))
    return os.path.join(base, relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]


def assert_equal_graph_def(expected: Any, actual: Any) -> None:
    """Two GraphDefs have the same nodes, in any order, and versions.

    Raises:
      AssertionError: they differ; names the first node.
      TypeError: one is no GraphDef.
    """
    assert_equal_graph_def_v1(actual, expected)


def assert_equal_graph_def_v1(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Two GraphDefs have the same nodes, in any order, and versions."""
    for value in (actual, expected):
        if not hasattr(value, "node") or not hasattr(value, "versions"):
            raise TypeError(f"Expected a GraphDef, got {type(value).__name__}")
    nodes = [{n.name: n for n in g.node} for g in (actual, expected)]
    for name in sorted(set(nodes[0]) | set(nodes[1])):
        pair = [n.get(name) for n in nodes]
        if pair[0] is None or pair[1] is None:
            raise AssertionError(f"node {name!r} is in one of the graphs only")
        texts = [n.SerializeToString(deterministic=True) for n in pair]
        if texts[0] != texts[1]:
            raise AssertionError(f"node {name!r} differs:\n{pair[0]}\nand\n{pair[1]}")


def is_built_with_xla() -> bool:
    """True: XLA compiles every region."""
    return True


def is_built_with_gpu_support() -> bool:
    """Whether a GPU can be used."""
    return is_built_with_cuda()


def is_built_with_rocm() -> bool:
    """Whether AMD GPUs can be used."""
    return False


def disable_with_predicate(pred: Callable[[], bool], skip_message: str) -> Callable[..., Any]:
    """Decorator: skips a test when `pred()` holds."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if pred():
                self.skipTest(skip_message)
            return function(self, *args, **kwargs)

        return wrapper

    return decorate
