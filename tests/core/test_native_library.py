"""Native libraries of another version: refused with a way out, told once, and done without."""

import copy
import functools
import importlib.util
import logging
import pathlib
import re
import shlex
import subprocess
import sys
import types

import numpy as np
import pytest

import penstock as tf
from penstock.core import (
    native,
    native_arrays,
    native_buffers,
    native_images,
    native_library,
    native_matrices,
    native_random,
    native_records,
    native_special,
    native_strings,
    native_wire,
)
from penstock.core.native_library import State

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "native"


@pytest.fixture
def compiled(tmp_path):
    """Compiles a text into a library; skips where there is no compiler."""
    spec = importlib.util.spec_from_file_location("native_build", SOURCE / "build.py")
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    command = builder.compiler()
    if command is None:
        pytest.skip("no C++ compiler here")

    def compile_text(text):
        source, library = tmp_path / "other.cc", tmp_path / "other.so"
        source.write_text(text)
        subprocess.run([*command, "-shared", "-fPIC", "-o", library, source], check=True)
        return library

    return compile_text


def function(name, value):
    return f'extern "C" int {name}() {{ return {value}; }}\n'


def every_function(but=()):
    names = [f"penstock_{name}" for name in (*native._OWN, *native.FUNCTIONS)]
    return "".join(function(name, 0) for name in names if name not in but)


def test_a_library_without_a_version_is_refused(compiled):
    path = compiled(every_function())
    state = native.load(path)
    assert state.library is None
    assert state.refused
    assert f"expected version {native.REVISION}, {path} states no version" in state.problem
    assert "lacks penstock_revision" in state.problem
    assert native.WITHOUT in state.problem


@pytest.mark.parametrize("step", [-1, 1])
def test_a_library_of_another_version_is_refused(compiled, step):
    other = native.REVISION + step
    path = compiled(every_function() + function("penstock_revision", other))
    state = native.load(path)
    assert state.library is None
    assert f"expected version {native.REVISION}, {path} states version {other}" in state.problem
    assert "lacks" not in state.problem
    assert state.fix == f"build it again: {native_library.rebuild()}"


def test_a_library_that_lacks_functions_is_refused(compiled):
    text = every_function(but={"penstock_conv", "penstock_isa"})
    state = native.load(compiled(text + function("penstock_revision", native.REVISION)))
    assert state.library is None
    assert state.problem.endswith("and lacks penstock_isa, penstock_conv")


def test_a_function_that_the_built_library_lacks_refuses_it(monkeypatch):
    """What somebody sees who adds a function and does not build."""
    if native.state().library is None:
        pytest.skip("no native kernels here")
    monkeypatch.setattr(native, "FUNCTIONS", (*native.FUNCTIONS, "brand_new"))
    state = native.load(native.LIBRARY)
    assert state.library is None
    assert state.problem.endswith("and lacks penstock_brand_new")


def test_a_parser_of_another_version_is_refused(compiled):
    wire = native_wire.LIBRARY
    text = "".join(function(name, 0) for name in wire.names)
    state = wire.load(compiled(text + function("penstock_wire_version", 0)))
    assert state.library is None
    assert f"expected version {wire.version}" in state.problem
    assert "states version 0" in state.problem
    assert wire.without in state.problem


@pytest.fixture
def unset(monkeypatch):
    """Modules that have not loaded their libraries yet; what they load is forgotten afterwards."""

    def forget(path):
        load = functools.cache(functools.partial(native.load, path))
        monkeypatch.setattr(native, "state", load)
        uncached = native._registered.__wrapped__
        monkeypatch.setattr(native, "_registered", functools.cache(uncached))
        wire = copy.copy(native_wire.LIBRARY)
        wire.path, wire._state = path, None
        monkeypatch.setattr(native_wire, "LIBRARY", wire)

    return forget


def test_without_the_refused_libraries_results_are_the_same_and_the_log_says_so_once(
    compiled, unset, caplog, monkeypatch
):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "1")
    monkeypatch.setattr(tf.get_logger(), "propagate", True)
    unset(compiled(every_function()))
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 93, 93)).astype(np.float32)
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=range(300)))
    features = tf.train.Features(feature={"a": feature})
    message = tf.train.Example(features=features).SerializeToString()
    wanted = {"a": tf.io.FixedLenFeature([300], tf.int64)}
    with caplog.at_level(logging.WARNING, "penstock"):
        for _ in range(2):
            product = tf.function(tf.matmul)(tf.constant(a), tf.constant(b))
            np.testing.assert_allclose(product, a @ b, rtol=1e-4, atol=1e-4)
            parsed = tf.io.parse_example([message] * 3, wanted)["a"]
            np.testing.assert_array_equal(parsed, [range(300)] * 3)
    assert not native.available()
    messages = [record.getMessage() for record in caplog.records]
    told = [message for message in messages if "the library of" in message]
    assert len(told) == 2
    for text, what in zip(sorted(told), ("kernels", "parsing of Examples"), strict=True):
        assert f"the library of native {what} cannot be used" in text
        assert text.endswith(f"To mend it, build it again: {native_library.rebuild()}")


def test_a_library_that_was_not_built_is_not_told(caplog):
    with caplog.at_level(logging.WARNING, "penstock"):
        native_library.tell(State(None, "", "this installation has no library", "build one"))
    assert not caplog.records


def test_the_command_builds_what_is_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(native_library, "BUILDER", SOURCE / "build.py")
    assert shlex.split(native_library.rebuild()) == [sys.executable, str(SOURCE / "build.py")]
    monkeypatch.setattr(native_library, "BUILDER", tmp_path / "build.py")
    assert native_library.rebuild() == (
        "pip install --force-reinstall --no-deps --no-cache-dir penstock"
    )


def test_the_sources_state_the_numbers_and_functions_that_python_does():
    handlers = "".join(path.read_text() for path in SOURCE.glob("*handlers.cc"))
    assert re.findall(r"int penstock_revision\(\) \{ return (\d+)", handlers) == [
        str(native.REVISION)
    ]
    defined = re.findall(r"^PENSTOCK_HANDLER\(\s*penstock_(\w+)", handlers, re.MULTILINE)
    assert sorted(defined) == sorted(native.FUNCTIONS)
    libraries = {
        "wire": native_wire,
        "strings": native_strings,
        "special": native_special,
        "arrays": native_arrays,
        "images": native_images,
        "matrices": native_matrices,
        "random": native_random,
        "records": native_records,
    }
    for name, module in libraries.items():
        library = module.LIBRARY
        text = (SOURCE / f"{name}.cc").read_text()
        assert f"int penstock_{name}_version() {{ return {library.version}; }}" in text
        header = (SOURCE / f"{name}.h").read_text()
        declared = re.findall(rf"^EXPORT int64_t (penstock_{name}_\w+)", header, re.MULTILINE)
        assert sorted(declared) == sorted(library.names)
    for name, library in (("buffers", native_buffers.LIBRARY), ("calls", native_library.CALLS)):
        text = (SOURCE / f"{name}.cc").read_text()
        assert f"int penstock_{name}_version() {{ return {library.version}; }}" in text


def test_vectors_are_shuffled_in_the_words_of_every_compiler():
    """Those of one compiler alone build there and nowhere else."""
    sources = [path for kind in ("*.h", "*.cc") for path in SOURCE.glob(kind)]
    using = [path.name for path in sources if "__builtin_shuffle" in path.read_text()]
    assert using == ["shuffled.h"]


@pytest.fixture(params=["built-in", "of ctypes"])
def library(request, monkeypatch):
    """The library of arrays, called in either way."""
    there = native_arrays.LIBRARY
    if there.state().library is None or native_library.CALLS.state().library is None:
        pytest.skip("no native libraries here")
    if request.param == "of ctypes":
        monkeypatch.setattr(native_library.CALLS, "_state", native_library.State(None))
    monkeypatch.setattr(there, "_functions", None)
    return there


def test_native_functions_take_arrays_numbers_and_nothing(library):
    rows, ids = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([1, 0, 1], np.int32)
    result, sizes = np.zeros((2, 2), np.float32), np.zeros(2, np.int64)
    rows.flags.writeable = False
    combine = library.function("combine")
    given = (rows, np.int64(2), None, False, 3, ids, False, 3, 0, 2, result)
    assert combine(0, 0, *given, sizes) == -1
    np.testing.assert_array_equal(result, [[2, 3], [4, 6]])
    np.testing.assert_array_equal(sizes, [1, 2])
    assert combine(0, 0, *given, None) == -1
    np.testing.assert_array_equal(sizes, [1, 2])
    ids[1] = 7
    assert combine(0, 0, *given, None) == 1


def test_native_functions_take_arrays_of_all_dtypes(library):
    invert, often = library.function("invert"), library.function("often")
    for dtype in (tf.bfloat16.as_numpy_dtype, object, np.complex64, bool):
        assert invert(np.zeros(0, dtype), 0, 0, np.zeros(0, dtype)) == -1
    assert often(np.zeros(0, np.int32), 0, 0, 0, np.zeros(0, np.int64)) == -1


def test_native_functions_refuse_other_arguments():
    often = native_arrays.LIBRARY.function("often")
    if often is None or not isinstance(often, types.BuiltinFunctionType):
        pytest.skip("no calls of native functions here")
    ids, found = np.zeros(4, np.int32), np.zeros(1, np.int64)
    with pytest.raises(TypeError, match="number of arguments"):
        often(ids, 0, 4, 1)
    with pytest.raises(TypeError, match="str"):
        often(ids, 0, "4", 1, found)
    with pytest.raises(TypeError):
        often(1.5, 0, 4, 1, found)
    with pytest.raises(ValueError, match="contiguous"):
        often(ids[::2], 0, 2, 1, found)
    with pytest.raises(OverflowError):
        often(ids, 0, 1 << 70, 1, found)
