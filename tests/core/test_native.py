"""Loading the native kernels: what is refused, what is said, and how they are switched off."""

import pathlib

import numpy as np
import pytest

import penstock as tf
from penstock.core import kernels, native, native_library
from penstock.core.op_def import define_op


def test_a_missing_library_is_a_problem_with_a_way_out(tmp_path):
    state = native.load(tmp_path / "no.so")
    assert state.library is None
    assert "no native kernels" in state.problem
    assert "slower" in state.problem
    assert "C++ compiler" in state.fix
    assert not state.refused


def test_a_file_that_is_no_library_is_a_problem(tmp_path):
    path = tmp_path / "bad.so"
    path.write_bytes(b"not a library")
    state = native.load(path)
    assert state.library is None
    assert "does not load" in state.problem


@pytest.mark.parametrize("here", [None, 1000, -1])
def test_a_library_for_a_newer_interface_is_refused(monkeypatch, here):
    if native.state().library is None:
        pytest.skip("no native kernels here")
    monkeypatch.setattr(native, "interface_version", lambda headers: here)
    state = native.load(native.LIBRARY)
    assert state.library is None
    assert "XLA's interface" in state.problem
    assert native_library.rebuild() in state.fix


def test_the_version_is_read_from_the_headers(tmp_path):
    folder = tmp_path / "xla/ffi/api"
    folder.mkdir(parents=True)
    (folder / "c_api.h").write_text("#define XLA_FFI_API_MAJOR 1\n#define XLA_FFI_API_MINOR 23\n")
    assert native.interface_version(tmp_path) == 1023
    (folder / "c_api.h").write_text("#define XLA_FFI_API_MAJOR 1\n")
    assert native.interface_version(tmp_path) is None
    assert native.interface_version(pathlib.Path("/nowhere")) is None


def test_the_environment_switches_them_off(monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert not native.available()


def test_without_them_products_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(96, 96)).astype(np.float32) for _ in "ab")
    found = []
    for switch in "01":
        monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", switch)
        function = tf.function(tf.matmul)
        found.append(function(tf.constant(a), tf.constant(b)).numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-4)


TOY = define_op(
    "PenstockTestNative(x: T; T: {float, double}) -> y: T",
    shape=lambda c: c.shape(0),
    doc="A toy.",
).not_differentiable("a toy")


def test_a_predicate_chooses_by_shape(monkeypatch):
    monkeypatch.setattr(kernels, "_kernels", {})
    kernels.register_kernel(TOY, lambda x: "any", kind="compiled")
    with_context = {"kind": "compiled", "device": "CPU"}
    kernels.register_kernel(TOY, lambda x: "two", when=lambda attrs, x: x.ndim == 2, **with_context)
    kernels.register_kernel(
        TOY, lambda x: "big", when=lambda attrs, x: x.size > 9, types={"T": ["float32"]},
        **with_context,
    )  # fmt: skip
    attrs = {"T": tf.float32}
    chosen = kernels.select(TOY.name, "compiled", "CPU", attrs)
    run = kernels.bind(TOY, chosen, attrs)
    assert run(np.zeros(10)) == "big"
    assert run(np.zeros((2, 2))) == "two"
    assert run(np.zeros(2)) == "any"
    elsewhere = kernels.select(TOY.name, "compiled", "GPU", attrs)
    assert elsewhere.when is None
    assert "some shapes" in chosen.describe()


def test_a_predicate_alone_is_no_kernel(monkeypatch):
    monkeypatch.setattr(kernels, "_kernels", {})
    kernels.register_kernel(TOY, lambda x: x, kind="compiled", when=lambda attrs, x: True)
    assert kernels.select(TOY.name, "compiled", "CPU", {"T": tf.float32}) is None


def test_a_predicate_passes_the_context_on(monkeypatch):
    def special(ctx, x):
        return "special", ctx

    def general(x):
        return "general"

    monkeypatch.setattr(kernels, "_kernels", {})
    kernels.register_kernel(TOY, general, kind="compiled")
    kernels.register_kernel(TOY, special, kind="compiled", when=lambda attrs, x: x > 0)
    run = kernels.bind(TOY, kernels.select(TOY.name, "compiled", "CPU", {}), {})
    assert run("context", 1) == ("special", "context")
    assert run("context", 0) == "general"
