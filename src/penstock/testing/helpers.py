"""Functions that tests call: main, folders, comparison of graphs, and what this build can do."""

import functools
import os
import platform
import sys
import tempfile
import unittest
from collections.abc import Callable
from typing import Any

from penstock.runtime.device_config import is_built_with_cuda
from penstock.testing.benchmark import run_benchmarks


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the main module, or with ``--benchmarks=PATTERN`` its benchmarks."""
    arguments = list(sys.argv if argv is None else argv)
    asked = [a for a in arguments if a.startswith("--benchmarks=")]
    if asked:
        run_benchmarks(asked[-1].partition("=")[2])
        return
    unittest.main(argv=arguments)


@functools.cache
def _process_folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="penstock_test_")


def get_temp_dir() -> str:
    """A folder for tests of this process, removed at its end."""
    return _process_folder().name


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
        if name not in nodes[0] or name not in nodes[1]:
            raise AssertionError(f"node {name!r} is in one of the graphs only")
        pair = [n[name] for n in nodes]
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
    """Decorator: skips a test when `pred()` holds.

    Args:
      pred: asked when the test would run.
      skip_message: the reason that is shown.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if pred():
                self.skipTest(skip_message)
            return function(self, *args, **kwargs)

        return wrapper

    return decorate


_CPU_TARGETS = {
    "x86": ("x86_64", "amd64", "i386", "i686"),
    "aarch64": ("aarch64", "arm64"),
    "arm": ("arm", "armv7l"),
    "ppc64le": ("ppc64le",),
    "s390x": ("s390x",),
}


def is_cpu_target_available(target: str) -> bool:
    """Whether this machine's processor is of a kind: x86, aarch64, arm, ppc64le or s390x.

    Raises:
      ValueError: the kind is unknown.
    """
    if target not in _CPU_TARGETS:
        raise ValueError(
            f"is_cpu_target_available: expected one of {sorted(_CPU_TARGETS)}, got {target!r}"
        )
    return platform.machine().lower() in _CPU_TARGETS[target]


def with_eager_op_as_function(cls: Any = None, only_as_function: bool = False) -> Any:
    """The class itself: eager operations run in one way. Also a decorator with arguments."""
    return cls if cls is not None else with_eager_op_as_function
