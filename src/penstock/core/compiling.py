"""How kernels and regions are compiled: one place for `jax.jit` and the options that XLA gets.

LLVM runs at its first level: code from the higher ones is no faster, and takes up to three times
as long to make. On CPUs with AVX-512, element-wise regions get the full width of the registers,
which XLA does not use by itself: a chain of 3,000 operations takes 0.16 ms instead of 0.27. Beside
products and convolutions the width is left alone: a residual network is 15% slower with it. The
finer of XLA's analyses for copies of donated arrays, worth 3 to 5% of a dense network's step, stays
off: with it XLA computes loops within loops wrongly (`tests/runtime/test_nested_loops.py`).
`benchmarks/compiler_options.py` has the figures. `PENSTOCK_XLA_OPTIONS` adds options and
overrides these.

Executables are kept on disk between processes by JAX's compilation cache, in the user's cache
folder and within a bound, unless the program chose a folder itself or `PENSTOCK_COMPILATION_CACHE`
is off.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import platform
import time
from collections.abc import Callable, Iterable
from typing import Any

from penstock.config import env
from penstock.config.logging import get_logger
from penstock.core import determinism
from penstock.core.lazy import jax

CPU_FLAGS = "/proc/cpuinfo"
ENTRY, LAST_USE = "-cache", "-atime"  # how JAX's names of an entry's two files end
BEING_WRITTEN_S = 60.0  # an incomplete entry that changed within this may have a writer
WORTH_KEEPING_S = 0.1  # compilations that took less are not written to disk


def compile_function(
    function: Callable[..., Any],
    donate: tuple[int, ...] = (),
    elementwise: bool = False,
    plain_loops: bool = False,
) -> Callable[..., Any]:
    """`function` compiled for the shapes it is called with.

    Args:
      function: takes and returns arrays.
      donate: positions of arguments that give their buffers away.
      elementwise: it holds no products, convolutions or windows.
      plain_loops: XLA leaves out its newer way to make loops, which `is_refusal` tells of.
    """
    use_disk_cache()
    chosen = options(elementwise)
    if plain_loops:
        chosen = {**(chosen or {}), **PLAIN_LOOPS}
    return jax.jit(function, donate_argnums=donate, compiler_options=chosen)  # type: ignore[no-any-return]


PLAIN_LOOPS = {"xla_cpu_use_fusion_emitters": False}


def is_refusal(problem: Exception) -> bool:
    """Whether XLA gave up making a loop on the CPU, as it does for some with many integers.

    Nothing has run then, and `plain_loops` compiles it.
    """
    return "MLIR failure" in str(problem) and jax.default_backend() == "cpu"


HEAVY = ("MatMul", "Conv", "Pool", "Einsum", "Cholesky", "Svd", "Qr", "Solve")


def is_elementwise(op_names: Iterable[str]) -> bool:
    """Whether none of these operations is a product, a convolution or a window."""
    return not any(part in name for name in op_names for part in HEAVY)


def options(elementwise: bool) -> dict[str, Any] | None:
    """XLA's options for this machine, None when there are none."""
    return _options(elementwise, determinism.required())


@functools.cache
def _options(elementwise: bool, deterministic: bool) -> dict[str, Any] | None:
    chosen: dict[str, Any] = {}
    if deterministic and jax.default_backend() == "gpu":
        chosen["xla_gpu_deterministic_ops"] = True
    if jax.default_backend() == "cpu":
        chosen["xla_backend_optimization_level"] = 1
        if elementwise and "avx512f" in cpu_flags():
            chosen["xla_cpu_prefer_vector_width"] = 512
        if deterministic:
            chosen.update(_sums_in_one_order())
    chosen.update(env.get("PENSTOCK_XLA_OPTIONS"))
    return chosen or None


@functools.cache
def _sums_in_one_order() -> dict[str, Any]:
    """Options with which sums do not depend on the number of threads.

    One of XLA's libraries for CPUs splits sums among threads, so it keeps products alone, whose
    order does not depend on them. Empty where XLA does not know the option.
    """
    chosen = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}
    try:
        jax.jit(lambda: 0).lower().compile(compiler_options=chosen)
    except jax.errors.JaxRuntimeError:
        return {}
    return chosen


@functools.cache
def use_disk_cache() -> pathlib.Path | None:
    """Turns JAX's compilation cache on; returns its folder, None when it is off or not ours."""
    if not env.get("PENSTOCK_COMPILATION_CACHE") or jax.config.jax_compilation_cache_dir:
        return None
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _drop_incomplete(folder)
    except OSError as problem:
        get_logger().warning("no compilation cache: %s. Set PENSTOCK_CACHE_DIR.", problem)
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING_S)
    jax.config.update("jax_compilation_cache_max_size", env.get("PENSTOCK_COMPILATION_CACHE_SIZE"))
    return folder


def _drop_incomplete(folder: pathlib.Path) -> None:
    """Removes entries that a process did not finish: it was killed, or the disk was full.

    JAX writes when an entry was last used after the entry. Without that it fails to add any other
    one, and an entry of which a part is missing would be read, and warned of, for ever. Another
    process may be between the two, so an entry that changed a moment ago is left alone.
    """
    names = set(os.listdir(folder))
    for name in names:
        if name.endswith(ENTRY) and f"{name.removesuffix(ENTRY)}{LAST_USE}" not in names:
            entry = folder / name
            with contextlib.suppress(FileNotFoundError):  # another process has removed it
                if time.time() - entry.stat().st_mtime > BEING_WRITTEN_S:
                    entry.unlink()


def cache_folder() -> pathlib.Path:
    """Where executables for this kind of processor are kept."""
    chosen = env.get("PENSTOCK_CACHE_DIR")
    base = chosen if chosen is not None else default_cache()
    machine = " ".join([platform.machine(), *sorted(cpu_flags())])
    return pathlib.Path(base) / "xla" / hashlib.sha256(machine.encode()).hexdigest()[:16]


def default_cache() -> pathlib.Path:
    """The user's folder of caches of this package."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "penstock"


def cpu_flags(path: str = CPU_FLAGS) -> frozenset[str]:
    """The instruction sets that the processor names, empty where the system does not say."""
    try:
        with open(path) as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return frozenset(value.split())
    except OSError:
        return frozenset()
    return frozenset()
