"""`Benchmark`: measurements that `tf.test.main` runs when asked with ``--benchmarks``."""

import re
import statistics
import sys
import time
from typing import Any

from penstock import proto
from penstock.config.logging import get_logger
from penstock.core import context
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.util import nest

_classes: list[type["Benchmark"]] = []


class Benchmark:
    """Base class of benchmarks: methods whose names begin with ``benchmark`` are run.

    A class with neither such methods of its own nor of its bases is abstract.
    """

    reports: list[dict[str, Any]]

    def __init__(self) -> None:
        self.reports = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _classes.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether the class has no benchmark."""
        return not _methods(cls)

    def evaluate(self, tensors: Any) -> Any:
        """The NumPy values of a nest of tensors; those of a graph in the default session."""
        if context.executing_eagerly():
            return nest.map_structure(lambda t: t.numpy() if hasattr(t, "numpy") else t, tensors)
        return nest.map_structure(
            lambda t: t.eval() if isinstance(t, SymbolicTensor) else t, tensors
        )

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: list[dict[str, Any]] | None = None,
    ) -> None:
        """Records and prints one result.

        Args:
          iters: how many runs were measured.
          cpu_time: seconds of processor time.
          wall_time: seconds.
          throughput: MB/s.
          extras: further values by name.
          name: the name of the entry; class and method when None.
          metrics: dicts with `name`, `value` and optionally `min_value`, `max_value`.
        """
        caller = sys._getframe(1).f_code.co_name
        entry = {
            "name": f"{type(self).__name__}.{name or caller}",
            "iters": iters,
            "cpu_time": cpu_time,
            "wall_time": wall_time,
            "throughput": throughput,
            "extras": dict(extras or {}),
            "metrics": list(metrics or ()),
        }
        self.reports.append(entry)
        shown = ", ".join(f"{k}: {v}" for k, v in entry.items() if v not in (None, {}, []))
        print(shown)

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Measures an operation in a session and reports the median.

        Args:
          sess: the session.
          op_or_tensor: what is run.
          feed_dict: its feeds.
          burn_iters: runs that are not measured.
          min_iters: runs that are measured.
          store_trace: adds the trace of one run to the extras as `full_trace_chrome_format`.
          store_memory_usage: accepted for compatibility; memory is not counted.
          name: the name of the entry.
          extras: further values.
          mbs: megabytes that a run handles, for the throughput.

        Returns:
          A dict with `iters`, `wall_time`, `throughput`, `extras` and the `name` that was given.

        Raises:
          ValueError: `min_iters` is less than one.
        """
        if min_iters < 1:
            raise ValueError(f"run_op_benchmark: expected min_iters >= 1, got {min_iters}")
        target = op_or_tensor.op if isinstance(op_or_tensor, SymbolicTensor) else op_or_tensor
        for _ in range(burn_iters):
            sess.run(target, feed_dict)
        times = [_timed(sess, target, feed_dict) for _ in range(min_iters)]
        found = dict(extras or {})
        found["wall_time_mean"] = statistics.fmean(times)
        found["wall_time_stdev"] = statistics.pstdev(times)
        if store_trace:
            found["full_trace_chrome_format"] = _trace(sess, target, feed_dict)
        median = statistics.median(times)
        throughput = mbs / median if mbs else 0.0
        self.report_benchmark(
            iters=min_iters,
            wall_time=median,
            throughput=throughput,
            extras=found,
            name=name or sys._getframe(1).f_code.co_name,
        )
        return {
            "iters": min_iters,
            "wall_time": median,
            "throughput": throughput,
            "extras": found,
            "name": name,
        }


def _timed(session: Any, target: Any, feeds: Any) -> float:
    start = time.perf_counter()
    session.run(target, feeds)
    return time.perf_counter() - start


def _trace(session: Any, target: Any, feeds: Any) -> str:
    options = proto.config_pb2.RunOptions(trace_level=proto.config_pb2.RunOptions.FULL_TRACE)
    found = proto.config_pb2.RunMetadata()
    session.run(target, feeds, options=options, run_metadata=found)
    return str(proto.json_format.MessageToJson(found.step_stats))


def _methods(cls: type) -> list[str]:
    return sorted(n for n in dir(cls) if n.startswith("benchmark") and callable(getattr(cls, n)))


def run_benchmarks(pattern: str) -> int:
    """Runs the methods of all benchmarks whose `module.Class.method` the pattern is found in.

    Args:
      pattern: a regular expression; ``all`` and ``.`` stand for every benchmark.

    Returns:
      How many were run.
    """
    wanted = re.compile(".*" if pattern == "all" else pattern)
    count = 0
    for cls in _classes:
        names = [n for n in _methods(cls) if wanted.search(f"{cls.__module__}.{cls.__name__}.{n}")]
        for name in names:
            getattr(cls(), name)()
            count += 1
    if not count:
        get_logger().warning("no benchmark matches %r", pattern)
    return count


def benchmark_config() -> Any:
    """A ConfigProto under which the graph's operations are run as they are written."""
    config = proto.config_pb2.ConfigProto()
    off = proto.rewriter_config_pb2.RewriterConfig.OFF
    config.graph_options.rewrite_options.dependency_optimization = off
    return config
