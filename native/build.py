"""Builds the native kernels: shared libraries that Python loads with ctypes.

    python native/build.py                              # into src/penstock/_native
    python native/build.py --check address,undefined    # checks them under sanitizers
    python native/build.py --sanitize thread --folder build/tsan            # for sanitize.py
    CXX=aarch64-linux-gnu-g++ python native/build.py --folder build/arm     # for another processor

It needs a C++17 compiler (`CXX`, else c++, g++ or clang++) and jaxlib's headers, and nothing else.
The libraries are for the processor that the compiler compiles for; what a cross compiler made is
checked with `--runner`, the command that runs it here. The headers are the same everywhere.
The library has no Python in it, so one build serves every Python version. The kernels (`isa.cc`)
are compiled once for each instruction set; the library picks one when it is loaded. Small
libraries of one source file each (HOST) need no headers and are called from Python alone.
"""

import argparse
import importlib.util
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent / "src/penstock/_native"
# Sources of libraries that Python calls.
HOST = (
    *("buffers", "calls", "wire", "strings", "special", "arrays", "matrices", "random", "records"),
    "images",
)
HOST_HANDLED = ("special", "arrays", "random")  # those that XLA calls too, by host_handlers.cc
CHECK_SECONDS = 900  # a check takes some 20, and several times as many beside other work
COMMON = ("-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-pthread")
OPTIONS = {  # of single libraries: what lets loops over numbers become vectors
    "special": ("-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"),
    # The same numbers from a seed on every processor: no product and sum become one.
    "random": ("-ffp-contract=off",),
    "arrays": ("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"),
    "images": ("-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-ffp-contract=off"),
    "matrices": ("-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-ffp-contract=off"),
}
X86 = {  # the instruction sets, and what the compiler is told for each
    "plain": (),
    "avx2": ("-mavx2", "-mfma"),
    "avx512": ("-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"),
}
_VNNI = (*X86["avx512"], "-mavx512bf16", "-mavx512vnni")
DOT = {  # the same for dot_isa.cc, where the compiler knows them all
    "vnni": _VNNI,
    "amx": (*_VNNI, "-mamx-tile", "-mamx-int8", "-mamx-bf16"),
}
ARM = {"neon": ()}  # which every such processor has
INSTRUCTION_SETS = {"x86_64": X86, "aarch64": ARM, "arm64": ARM}


class CannotBuildError(Exception):
    """The library cannot be built here; the text says why."""


def compiler() -> list[str] | None:
    """The command of a C++ compiler, None when there is none."""
    given = os.environ.get("CXX")
    names = [given] if given else ["c++", "g++", "clang++"]
    for name in names:
        command = shlex.split(name)
        if command and shutil.which(command[0]):
            return command
    return None


def instruction_sets(target: str) -> dict[str, tuple[str, ...]]:
    """The instruction sets that the kernels are compiled for, each with the compiler's options.

    Args:
      target: what a compiler compiles for, as its `-dumpmachine` says it: `aarch64-linux-gnu`.

    Raises:
      CannotBuildError: there are no native kernels for it.
    """
    processor, _, system = target.partition("-")
    sets = INSTRUCTION_SETS.get(processor)
    if sets is None or "linux" not in system or system.endswith(("x32", "ilp32")):
        raise CannotBuildError(
            f"no native kernels for {target}, only for 64-bit Linux on x86 or ARM"
        )
    return sets


def target_of(command: list[str]) -> str:
    """What this compiler compiles for; it may be a cross compiler."""
    asked = subprocess.run([*command, "-dumpmachine"], capture_output=True, text=True, check=False)
    if asked.returncode or not asked.stdout.strip():
        shown = shlex.join(command)
        raise CannotBuildError(f"{shown} does not say what it compiles for (-dumpmachine)")
    return asked.stdout.strip()


def headers() -> pathlib.Path:
    """The folder of XLA's headers in the installed jaxlib."""
    spec = importlib.util.find_spec("jaxlib")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = pathlib.Path(place) / "include"
        if (folder / "xla/ffi/api/ffi.h").exists():
            return folder
    raise CannotBuildError("jaxlib, whose headers the native kernels need, is not installed")


def sanitizing(sanitizers: str) -> list[str]:
    """The compiler's options for these sanitizers, as `-fsanitize=` names them; none when empty.

    Nothing is optimised: that would take many minutes beside the sanitizers' own code, and hides
    what is removed as unused.
    """
    if not sanitizers:
        return []
    return ["-g1", "-O0", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]


def build(folder: pathlib.Path = FOLDER, extra: Iterable[str] = ()) -> list[pathlib.Path]:
    """Compiles all libraries into a folder.

    Args:
      folder: where to write them; their place in the package when not given.
      extra: more of the compiler's options.

    Returns:
      The files.

    Raises:
      CannotBuildError: there is no compiler or no header, what it compiles for is none of the
        processors known, or the compiler fails.
    """
    hosts = [build_host(name, host_target(name, folder), extra) for name in HOST]
    return [*hosts, build_kernels(folder, extra)]


def targets(folder: pathlib.Path = FOLDER) -> list[pathlib.Path]:
    """The files that `build` writes."""
    return [*(host_target(name, folder) for name in HOST), kernels_target(folder)]


def kernels_target(folder: pathlib.Path = FOLDER) -> pathlib.Path:
    """The file of the kernels' library."""
    return folder / "libpenstock_kernels.so"


def build_kernels(folder: pathlib.Path = FOLDER, extra: Iterable[str] = ()) -> pathlib.Path:
    """Compiles the kernels' library; arguments, result and errors as for `build`."""
    target = kernels_target(folder)
    with tempfile.TemporaryDirectory() as objects:
        flags = ["-isystem", str(headers()), *extra]
        parts = ("attention", "dot", "host", "norm", "place", "recurrence", "update")
        handlers = ("handlers", *(f"{part}_handlers" for part in parts))
        sources = (*handlers, *HOST_HANDLED, "dispatch", "dot_dispatch")
        made = _compile(objects, sources, flags, ["-shared"])
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made, target.with_suffix(".new"))
        os.replace(target.with_suffix(".new"), target)  # a process may have the old one open
    return target


def host_target(name: str, folder: pathlib.Path = FOLDER) -> pathlib.Path:
    """The file of the library that is compiled of `<name>.cc`."""
    return folder / f"libpenstock_{name}.so"


def build_host(
    name: str, target: pathlib.Path | None = None, extra: Iterable[str] = ()
) -> pathlib.Path:
    """Compiles a library that Python calls.

    Args:
      name: one of HOST.
      target: the file to write; its place in the package when None.
      extra: more of the compiler's options.

    Returns:
      The file.

    Raises:
      CannotBuildError: there is no compiler, or it fails.
    """
    command = _compiler()
    target = target or host_target(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_suffix(".new")
    options = [*COMMON, *OPTIONS.get(name, ()), *extra, "-shared"]
    _run([*command, *options, "-o", str(new), str(HERE / f"{name}.cc")])
    os.replace(new, target)
    return target


def check(sanitizers: str, rounds: int, runner: Iterable[str] = ()) -> int:
    """Checks all libraries, compiled with sanitizers.

    The kernels are compared with plain loops (check.cc), the parser of messages is given sound and
    damaged ones (check_wire.cc), work on strings, arrays and images is compared with plain loops
    too (check_strings.cc, check_arrays.cc, check_images.cc), solutions with their equations
    (check_matrices.cc), special functions all kinds of numbers (check_special.cc), random numbers
    have the right means (check_random.cc), records of files are found (check_records.cc), tasks are
    shared out on a pool of threads (check_workers.cc) and on threads of their own (check_crew.cc).

    Args:
      sanitizers: what `-fsanitize=` names; none when empty.
      rounds: how many shapes of each kind; a hundred messages for each of them.
      runner: the command that runs what a cross compiler made: an emulator with its options.

    Returns:
      0, or the exit code of a check that failed; 1 for one that did not end.

    Raises:
      CannotBuildError: as `build`.
    """
    extra, runner = sanitizing(sanitizers), list(runner)
    emulated = ["-DPENSTOCK_EMULATED"] if runner else []
    with tempfile.TemporaryDirectory() as folder:
        failed = 0
        alone = "wire", "strings", "special", "arrays", "images", "matrices", "random", "records"
        for name in (*alone, "workers", "crew"):
            target = f"{folder}/{name}"
            sources = [str(HERE / f"check_{name}.cc")]
            if name in HOST:
                sources.append(str(HERE / f"{name}.cc"))
            options = [*COMMON, *OPTIONS.get(name, ()), *extra, *emulated]
            _run([*_compiler(), *options, "-o", target, *sources])
            failed = _exit_code([*runner, target, str(rounds)]) or failed
        made = _compile(folder, ("check", "check_dot", "dispatch", "dot_dispatch"), extra, [])
        return _exit_code([*runner, made, str(rounds)]) or failed


def _exit_code(command: list[str]) -> int:
    """The exit code of a check; 1 where it does not end, as a parser might not on damaged bytes."""
    try:
        return subprocess.run(command, check=False, timeout=CHECK_SECONDS).returncode
    except subprocess.TimeoutExpired:
        print(f"{shlex.join(command)} did not end in {CHECK_SECONDS} s", file=sys.stderr)
        return 1


def _compiler() -> list[str]:
    command = compiler()
    if command is None:
        given = os.environ.get("CXX")
        sought = f"CXX is {given}" if given else "c++, g++ or clang++; or set CXX"
        raise CannotBuildError(f"no C++ compiler was found ({sought})")
    return command


def _compile(folder: str, sources: Iterable[str], extra: list[str], link: list[str]) -> str:
    """Compiles these sources and the kernels for every instruction set; returns what was made."""
    command = _compiler()
    sets = instruction_sets(target_of(command))
    command += [*COMMON, f"-I{HERE}", *extra, *(["-DPENSTOCK_X86"] if "avx2" in sets else [])]
    jobs = {
        f"{folder}/{name}.o": [str(HERE / "isa.cc"), f"-DPENSTOCK_ISA={name}", *options]
        for name, options in reversed(sets.items())
    }
    dots = DOT if "avx2" in sets and _accepts(command, DOT["amx"]) else {}
    command += ["-DPENSTOCK_DOT"] if dots else []
    for name, options in dots.items():
        jobs[f"{folder}/dot_{name}.o"] = [
            str(HERE / "dot_isa.cc"),
            f"-DPENSTOCK_ISA={name}",
            *options,
        ]
    for source in sources:
        jobs[f"{folder}/{source}.o"] = [str(HERE / f"{source}.cc"), *OPTIONS.get(source, ())]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(_run, ([*command, *rest, "-c", "-o", to] for to, rest in jobs.items())))
    made = f"{folder}/made"
    _run([*command, *link, "-o", made, *jobs])
    return made


def _accepts(command: list[str], options: Iterable[str]) -> bool:
    """Whether the compiler knows these options; compilers before 2021 do not know all of them."""
    probe = [*command, *options, "-fsyntax-only", "-x", "c++", os.devnull]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def _run(command: Iterable[str]) -> None:
    command = list(command)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        shown = shlex.join(command)
        raise CannotBuildError(f"the C++ compiler failed: {shown}\n{done.stderr[-4000:]}")
    if done.stderr:
        print(done.stderr, file=sys.stderr)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER, help="to write into")
    parser.add_argument("--check", metavar="SANITIZERS", help="address,undefined or thread or ''")
    parser.add_argument("--sanitize", metavar="SANITIZERS", default="", help="compile with them")
    parser.add_argument("--rounds", type=int, default=60, help="shapes of each kind to check")
    parser.add_argument(
        "--runner",
        type=shlex.split,
        default=(),
        metavar="COMMAND",
        help="runs the checks that a cross compiler made: 'qemu-aarch64 -L FOLDER'",
    )
    arguments = parser.parse_args()
    try:
        if arguments.check is not None:
            sys.exit(check(arguments.check, arguments.rounds, arguments.runner))
        print(*build(arguments.folder, sanitizing(arguments.sanitize)), sep="\n")
    except CannotBuildError as problem:
        sys.exit(f"native/build.py: {problem}")


if __name__ == "__main__":
    main()
