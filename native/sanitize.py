"""Runs the Python tests of the native libraries with these compiled under sanitizers.

    python native/sanitize.py address,undefined
    python native/sanitize.py thread tests/ops/test_native_conv.py -k grouped

`build.py --check` checks the kernels alone, from C++. This is the rest of the way: what XLA hands
to the handlers, on its own threads, and what Python hands to the other libraries. The libraries are
built into a folder of their own, beside links to the package's sources, so the libraries in use
stay as they are. Python, NumPy and XLA are not compiled under the sanitizers: accesses of theirs
are not seen, but their memory is, as the sanitizers' allocators serve the whole process, and so
are the locks and threads that they make through the system's functions.
"""

import argparse
import importlib.util
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import types

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SECONDS = 3600  # the tests take some 700 on an idle core, and more beside other work
TESTS = (  # those that call libraries
    "tests/ops/test_native_fuzz.py",
    "tests/ops/test_native_refusals.py",
    "tests/ops/test_native_programs.py",
    "tests/ops/test_native_products.py",
    "tests/ops/test_native_conv.py",
    "tests/ops/test_native_windows.py",
    "tests/ops/test_native_dot.py",
    "tests/ops/test_native_attention.py",
    "tests/ops/test_native_layer_norm.py",
    "tests/ops/test_native_recurrent.py",
    "tests/ops/test_native_special.py",
    "tests/ops/test_native_strings.py",
    "tests/ops/test_parse_wire.py",
    "tests/core/test_native_arrays.py",
    "tests/core/test_native_images.py",
    "tests/core/test_native_random.py",
    "tests/core/test_buffers.py",
    "tests/runtime/test_loop_calls.py",
    "tests/runtime/test_updates.py",
)
LEFT_OUT = (  # it bounds the process's addresses, of which the sanitizers take terabytes
    "tests/core/test_native_arrays.py::test_what_memory_does_not_hold_is_an_error",
)
RUNTIMES = {"address": "asan", "undefined": "ubsan", "thread": "tsan"}
OPTIONS = {
    # Python frees little before it ends; CUDA's libraries want addresses that ASan keeps.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:protect_shadow_gap=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    # Races between what is not compiled under the sanitizer are not seen whole, so not told.
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1:report_signal_unsafe=0",
}


def builder() -> types.ModuleType:
    """build.py, which no package holds."""
    spec = importlib.util.spec_from_file_location("penstock_native_build", HERE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made_tree(folder: pathlib.Path, sanitizers: str) -> pathlib.Path:
    """A folder for `sys.path`: the package with libraries of these sanitizers in it."""
    package = folder / "penstock"
    package.mkdir(parents=True)
    for each in (ROOT / "src/penstock").iterdir():
        if each.name not in ("_native", "__pycache__"):
            (package / each.name).symlink_to(each)
    build = builder()
    extra = build.sanitizing(sanitizers)
    libraries = package / "_native"
    build.build(libraries, extra)
    return folder


def runtime_of(name: str) -> str:
    """The file of a library of the compiler's, by its name without "lib" and ".so"."""
    command = [*(builder().compiler() or ["c++"]), f"-print-file-name=lib{name}.so"]
    return os.path.realpath(subprocess.check_output(command, text=True).strip())


def environment(sanitizers: str) -> dict[str, str]:
    """The variables of a process that runs these tests.

    The C++ library comes with the sanitizers' own: they look for its functions when they start.
    """
    names = [RUNTIMES[each] for each in sanitizers.split(",")]
    preload = " ".join(runtime_of(name) for name in (*names, "stdc++"))
    fixed = {"LD_PRELOAD": preload, "JAX_PLATFORMS": "cpu", "PENSTOCK_COMPILATION_CACHE": "0"}
    given = {name: os.environ.get(name, value) for name, value in OPTIONS.items()}
    return {**os.environ, **fixed, **given}


def run(tree: pathlib.Path, sanitizers: str, arguments: list[str]) -> int:
    """Runs tests on a tree; returns the exit code, 1 where they do not end in time.

    Addresses are not drawn where `setarch` is there: TSan knows few places for them.
    """
    fixed = ["setarch", platform.machine(), "-R"] if shutil.which("setarch") else []
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    options = ["-o", f"pythonpath={tree} .", "-o", "timeout=600"]
    options += [f"--deselect={test}" for test in LEFT_OUT]
    command = [*fixed, *pytest, *options, *(arguments or TESTS)]
    variables = {
        **environment(sanitizers),
        "PYTHONPATH": str(tree),
    }  # of processes that tests start
    try:
        done = subprocess.run(command, check=False, cwd=ROOT, env=variables, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        print(f"the tests did not end in {SECONDS} s", file=sys.stderr)
        return 1
    return done.returncode


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sanitizers", help="address,undefined or thread")
    parser.add_argument(
        "--tree", type=pathlib.Path, help="keep what is built here, or use it again"
    )
    given, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = given.tree or pathlib.Path(folder) / "tree"
        if not tree.exists():
            made_tree(tree.resolve(), given.sanitizers)
        sys.exit(run(tree.resolve(), given.sanitizers, arguments))


if __name__ == "__main__":
    main()
