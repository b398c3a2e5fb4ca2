"""What the build compiles for which processor, and the wheel that comes of it.

A script stands in for the compiler: it says what it compiles for, writes down its arguments, and
gives a file that says what a library needs.
"""

import importlib.util
import pathlib
import shlex
import types

import pytest
from tests.native.elf_files import AARCH64, X86_64, elf

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANSWERS = """#!/bin/sh
case "$*" in *-dumpmachine*) echo {target}; exit;; esac
echo "$@" >> {log}
while [ $# -gt 0 ]; do [ "$1" = -o ] && cp {made} "$2"; shift; done
exit 0
"""


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def builder():
    return loaded(ROOT / "native/build.py")


@pytest.fixture
def compiles_for(monkeypatch, tmp_path):
    """Puts a compiler for this target into CXX; gives a function for the commands it got."""

    def put(target, made, options=""):
        program, log, library = (tmp_path / name for name in ("c++", "log", "made.so"))
        library.write_bytes(made)
        program.write_text(ANSWERS.format(target=target, log=log, made=library))
        program.chmod(0o755)
        monkeypatch.setenv("CXX", f"{program} {options}".strip())
        return lambda: [shlex.split(line) for line in log.read_text().splitlines()]

    return put


ON_ARM = elf(AARCH64, {"libc.so.6": ["GLIBC_2.32"], "libstdc++.so.6": ["GLIBCXX_3.4.29"]})
ON_X86 = elf(X86_64, {"libc.so.6": ["GLIBC_2.28"]})


@pytest.mark.parametrize(
    ("target", "sets"),
    [
        ("x86_64-linux-gnu", ["plain", "avx2", "avx512"]),
        ("x86_64-pc-linux-gnu", ["plain", "avx2", "avx512"]),
        ("x86_64-unknown-linux-musl", ["plain", "avx2", "avx512"]),
        ("aarch64-linux-gnu", ["neon"]),
        ("aarch64-unknown-linux-gnu", ["neon"]),
    ],
)
def test_the_instruction_sets_are_those_of_the_target(builder, target, sets):
    assert list(builder.instruction_sets(target)) == sets


@pytest.mark.parametrize(
    "target",
    "riscv64-linux-gnu i686-linux-gnu arm-linux-gnueabihf aarch64-apple-darwin23 "
    "x86_64-w64-mingw32 x86_64-linux-gnux32 aarch64-linux-gnu_ilp32".split(),
)
def test_other_targets_are_refused(builder, target):
    with pytest.raises(builder.CannotBuildError, match=f"no native kernels for {target}"):
        builder.instruction_sets(target)


def test_kernels_for_arm_are_compiled_once_and_without_options_of_x86(
    builder, compiles_for, tmp_path
):
    commands = compiles_for("aarch64-linux-gnu", ON_ARM, "--sysroot=/some/where")
    made = builder.build(tmp_path / "arm")
    assert made == builder.targets(tmp_path / "arm")
    assert all(path.read_bytes() == ON_ARM for path in made)
    given = commands()
    assert all(command[0] == "--sysroot=/some/where" for command in given)
    options = {option for command in given for option in command}
    assert {option for option in options if option.startswith("-DPENSTOCK")} == {
        "-DPENSTOCK_ISA=neon"
    }
    assert not {option for option in options if option.startswith("-m")}


def test_kernels_for_x86_are_compiled_for_each_instruction_set(builder, compiles_for, tmp_path):
    commands = compiles_for("x86_64-linux-gnu", ON_X86)
    builder.build(tmp_path / "x86")
    sets = {
        option.removeprefix("-DPENSTOCK_ISA="): {each for each in command if each[:2] == "-m"}
        for command in commands()
        for option in command
        if option.startswith("-DPENSTOCK_ISA=")
    }
    assert sets.keys() == {"plain", "avx2", "avx512", "vnni", "amx"}
    assert sets["plain"] == set()
    assert sets["avx2"] == {"-mavx2", "-mfma"}
    assert {"-mavx512f", "-mavx512vl"} <= sets["avx512"] < sets["vnni"] < sets["amx"]


def test_random_numbers_round_each_product(builder, compiles_for, tmp_path):
    """Processors with fused multiply-adds in every instruction set give the numbers of others."""
    commands = compiles_for("aarch64-linux-gnu", ON_ARM)
    builder.build(tmp_path / "arm")
    made = [command for command in commands() if command[-1].endswith("random.cc")]
    made += [command for command in commands() if "random.cc" in " ".join(command)]
    assert made
    assert all("-ffp-contract=off" in command for command in made)


def test_a_compiler_that_is_not_there_is_named(builder, monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "no-such-compiler-g++ -O2")
    assert builder.compiler() is None
    with pytest.raises(builder.CannotBuildError, match=r"CXX is no-such-compiler-g\+\+ -O2"):
        builder.build(tmp_path)


def test_a_compiler_that_hides_its_target_is_refused(builder, tmp_path):
    with pytest.raises(builder.CannotBuildError, match=r"false .*-dumpmachine"):
        builder.target_of(["false", "-v"])


def test_checks_run_under_the_runner(builder, compiles_for, tmp_path):
    compiles_for("aarch64-linux-gnu", b"#!/bin/sh\nexit 3\n")
    ran, runner = tmp_path / "ran", tmp_path / "emulator"
    runner.write_text(f'#!/bin/sh\necho "$@" >> {ran}\n')
    runner.chmod(0o755)
    assert builder.check("", 7, [str(runner), "-L", "/root of ARM"]) == 0
    calls = ran.read_text().splitlines()
    assert len(calls) == 11
    assert all(call.startswith("-L /root of ARM /") and call.endswith(" 7") for call in calls)


@pytest.fixture
def hook(monkeypatch, tmp_path):
    """The build's hook, which writes below `tmp_path`; what it warned of is `hook.warned`."""
    pytest.importorskip("hatchling")
    module = loaded(ROOT / "hatch_build.py")
    monkeypatch.setattr(module, "FOLDER", tmp_path / "made")
    monkeypatch.delenv("PENSTOCK_BUILD_NATIVE", raising=False)
    warned = []
    app = types.SimpleNamespace(display_warning=warned.append)
    hook = module.NativeKernels(str(ROOT), {}, None, None, str(tmp_path), "wheel", app)
    hook.warned = warned
    return hook


def built(hook):
    data = {"force_include": {}, "pure_python": True, "artifacts": []}
    hook.initialize("standard", data)
    return data


def test_a_cross_compiler_gives_a_wheel_for_its_target(hook, compiles_for, tmp_path):
    compiles_for("aarch64-linux-gnu", ON_ARM)
    data = built(hook)
    assert data["tag"] == "py3-none-manylinux_2_34_aarch64"
    assert data["pure_python"] is False
    assert data["artifacts"] == []  # what the package's folder holds is for this machine
    for path, place in data["force_include"].items():
        assert pathlib.Path(path).parent == tmp_path / "made"
        assert place == f"penstock/_native/{pathlib.Path(path).name}"
    assert len(data["force_include"]) == 11
    assert not hook.warned


def test_without_a_compiler_the_wheel_is_for_every_machine(hook, monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert hook.dependencies() == []
    assert built(hook) == {"force_include": {}, "pure_python": True, "artifacts": []}
    (warning,) = hook.warned
    assert "without native libraries, so it will be slower" in warning
    assert "CXX is no-such-compiler" in warning


def test_where_native_libraries_are_required_their_absence_fails_the_build(hook, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("PENSTOCK_BUILD_NATIVE", "require")
    with pytest.raises(Exception, match="no C\\+\\+ compiler was found"):
        built(hook)


def test_native_libraries_can_be_left_out(hook, monkeypatch, compiles_for):
    compiles_for("x86_64-linux-gnu", ON_X86)
    monkeypatch.setenv("PENSTOCK_BUILD_NATIVE", "0")
    assert hook.dependencies() == []
    assert built(hook)["force_include"] == {}
    assert not hook.warned


def test_an_editable_installation_has_libraries_in_the_package(
    hook, monkeypatch, compiles_for, tmp_path
):
    compiles_for("x86_64-linux-gnu", ON_X86)
    places = []
    builder = types.SimpleNamespace(
        FOLDER=tmp_path / "package", CannotBuildError=ValueError, build=places.append
    )
    monkeypatch.setitem(hook.initialize.__func__.__globals__, "_module", lambda name: builder)
    hook.initialize("editable", data := {"force_include": {}})
    assert places == [tmp_path / "package"]
    assert data == {"force_include": {}}
