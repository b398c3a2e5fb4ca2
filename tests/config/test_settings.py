"""Settings that are kept for programs that read them back, and what devices hold."""

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.config import optimizer_options as optimizer
from penstock.core import deprecation
from penstock.runtime import device_config, device_memory
from penstock.runtime.pool import _Pools

experimental = tf.config.experimental


def test_optimizer_options_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        optimizer, "_options", {"disable_model_pruning": False, "disable_meta_optimizer": False}
    )
    options = tf.config.optimizer
    at_first = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    assert options.get_experimental_options() == at_first
    options.set_experimental_options({"layout_optimizer": False, "nonsense": 1})
    options.set_experimental_options({"constant_folding": True, "min_graph_nodes": 5})
    kept = options.get_experimental_options()
    assert kept == at_first | {
        "layout_optimizer": False,
        "constant_folding": True,
        "min_graph_nodes": 5,
    }
    assert next(iter(kept)) == "layout_optimizer"
    kept["remapping"] = True
    assert "remapping" not in options.get_experimental_options()


@pytest.mark.parametrize("wrong", [None, 3, {"remapping": "yes"}, {"min_graph_nodes": True}])
def test_optimizer_options_of_other_types(wrong: Any) -> None:
    before = tf.config.optimizer.get_experimental_options()
    with pytest.raises(TypeError, match="expected"):
        tf.config.optimizer.set_experimental_options(wrong)
    assert tf.config.optimizer.get_experimental_options() == before


def test_device_policy_belongs_to_a_thread() -> None:
    seen: list[str] = []
    try:
        for policy in ("explicit", "warn", "silent_for_int32"):
            experimental.set_device_policy(policy)
            assert experimental.get_device_policy() == policy
        thread = threading.Thread(target=lambda: seen.append(experimental.get_device_policy()))
        thread.start()
        thread.join()
        with pytest.raises(ValueError, match="expected one of explicit"):
            experimental.set_device_policy("x")
        assert experimental.get_device_policy() == "silent_for_int32"
    finally:
        experimental.set_device_policy(None)
    assert seen == [experimental.get_device_policy()] == ["silent"]


def test_synchronous_execution_and_bridges() -> None:
    assert experimental.get_synchronous_execution() is True
    experimental.set_synchronous_execution(False)
    assert experimental.get_synchronous_execution() is False
    experimental.set_synchronous_execution(True)
    assert experimental.enable_mlir_bridge() is None
    assert experimental.disable_mlir_bridge() is None


def test_threads_for_operations_bound_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = _Pools()
    monkeypatch.setattr(device_config, "pools", fresh)
    monkeypatch.setattr(device_config._settings, "inter_op_threads", 0)
    threading_ = tf.config.threading
    threading_.set_inter_op_parallelism_threads(3)
    assert threading_.get_inter_op_parallelism_threads() == 3
    assert fresh.workers()._limit == 3
    threading_.set_inter_op_parallelism_threads(3)  # nothing changes
    with pytest.raises(RuntimeError, match="after initialization"):
        threading_.set_inter_op_parallelism_threads(4)
    with pytest.raises(ValueError, match=">= 0"):
        threading_.set_inter_op_parallelism_threads(-1)


KERNEL_THREADS = """
import os
import numpy as np
import penstock as tf
from penstock import proto

threading = tf.config.threading
session = {session}
if session:
    config = proto.config_pb2.ConfigProto(intra_op_parallelism_threads=7)
    with tf.Graph().as_default(), tf.compat.v1.Session(config=config):
        pass
else:
    threading.set_intra_op_parallelism_threads(3)
    threading.set_intra_op_parallelism_threads(7)
    assert threading.get_intra_op_parallelism_threads() == 7
x = np.ones((300, 300), np.float32)
tf.function(lambda x: x @ x + 1, jit_compile=True)(x)
names = [open(f"/proc/self/task/{{t}}/comm").read() for t in os.listdir("/proc/self/task")]
print(sum(name.startswith("tf_XLAEigen") for name in names))
before = threading.get_intra_op_parallelism_threads()
threading.set_intra_op_parallelism_threads(before)
try:
    threading.set_intra_op_parallelism_threads(before + 1)
except RuntimeError as problem:
    print(problem)
with tf.Graph().as_default():
    tf.compat.v1.Session(config=proto.config_pb2.ConfigProto(intra_op_parallelism_threads=2)).close()
print(os.environ.get("NPROC"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the names of threads from /proc")
@pytest.mark.parametrize("session", [False, True])
def test_threads_within_operations_bound_what_xla_starts(session: bool) -> None:
    program = KERNEL_THREADS.format(session=session)
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=100
    )
    count, refused, kept = done.stdout.splitlines()
    assert (count, kept) == ("7", "7")
    assert "cannot be modified after initialization" in refused
    assert f"got {1 if session else 8}" in refused


def test_threads_within_operations_refuse() -> None:
    before = tf.config.threading.get_intra_op_parallelism_threads()
    with pytest.raises(ValueError, match=">= 0, got -1"):
        tf.config.threading.set_intra_op_parallelism_threads(-1)
    assert tf.config.threading.get_intra_op_parallelism_threads() == before


def test_products_have_all_bits_without_tensor_float_32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.ones((300, 300), np.float32)
    kernel = np.ones((3, 3, 1, 1), np.float32)

    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")

    @tf.function(jit_compile=True)
    def product(x: Any) -> Any:
        return tf.matmul(x, x), tf.nn.conv2d(x[None, ..., None], kernel, 1, "SAME")

    def text() -> str:
        found: str = product.experimental_get_compiler_ir(tf.constant(x))(stage="hlo")
        return found

    assert experimental.tensor_float_32_execution_enabled() is True
    first = product(x)
    assert "highest" not in text()
    try:
        experimental.enable_tensor_float_32_execution(False)
        assert experimental.tensor_float_32_execution_enabled() is False
        exact = [line for line in text().splitlines() if "{highest,highest}" in line]
        assert len(exact) == 2
        for a, b in zip(first, product(x), strict=True):
            np.testing.assert_array_equal(a, b)
    finally:
        experimental.enable_tensor_float_32_execution(True)
    assert "highest" not in text()
    with pytest.raises(TypeError, match="expected a bool, got 'yes'"):
        experimental.enable_tensor_float_32_execution("yes")


def test_memory_of_a_cpu_and_of_no_device() -> None:
    assert experimental.get_memory_info("CPU:0") == {"current": 0, "peak": 0}
    assert experimental.get_memory_usage("/device:CPU:0") == 0
    assert experimental.reset_memory_stats("CPU:0") is None
    for function in (
        experimental.get_memory_info,
        experimental.get_memory_usage,
        experimental.reset_memory_stats,
    ):
        with pytest.raises(ValueError, match="No matching devices found for 'GPU:7'"):
            function("GPU:7")
        for malformed in ("foo", "GPU", "GPU:x"):
            with pytest.raises(ValueError, match="Failed parsing device name"):
                function(malformed)


def test_a_peak_that_was_reset_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    class Device:
        def __init__(self) -> None:
            self.counts = {"bytes_in_use": 10, "peak_bytes_in_use": 50}

        def memory_stats(self) -> dict[str, int]:
            return self.counts

    device = Device()
    monkeypatch.setattr(device_memory, "_device_named", lambda name: device)
    monkeypatch.setattr(device_memory._peaks, "forgotten", {})
    assert device_memory.get_memory_info("GPU:0") == {"current": 10, "peak": 50}
    device_memory.reset_memory_stats("GPU:0")
    assert device_memory.get_memory_info("GPU:0") == {"current": 10, "peak": 10}
    device.counts = {"bytes_in_use": 20, "peak_bytes_in_use": 80}
    assert device_memory.get_memory_info("GPU:0") == {"current": 20, "peak": 80}


def test_an_asynchronous_scope_ends_with_the_setting_before() -> None:
    with tf.experimental.async_scope():
        assert not experimental.get_synchronous_execution()
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.linalg.inv(tf.zeros([2, 2]))
    assert experimental.get_synchronous_execution()
    tf.experimental.async_clear_error()
    tf.experimental.enable_strict_mode()
    try:
        with pytest.raises(RuntimeError, match=r"test_settings.py:\d+: unbatch .* is deprecated"):
            tf.data.experimental.unbatch()
    finally:
        deprecation.set_strict(False)


def test_executors_of_functions_have_known_names() -> None:
    for name in ("DEFAULT", "SINGLE_THREADED_EXECUTOR", "", None):
        with tf.experimental.function_executor_type(name):
            assert int(tf.function(lambda x: x + 1)(1)) == 2
    with (
        pytest.raises(tf.errors.NotFoundError, match="'NOPE': no executor"),
        tf.experimental.function_executor_type("NOPE"),
    ):
        pass


def test_placements_of_functions_are_logged_whatever_the_level(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert not tf.debugging.get_log_device_placement()
    tf.debugging.set_log_device_placement(True)
    try:
        tf.function(lambda x: tf.add(x, 1, name="sum"))(tf.constant(1))
    finally:
        tf.debugging.set_log_device_placement(False)
    tf.function(lambda x: tf.add(x, 1, name="later"))(tf.constant(1))
    assert "sum: (AddV2): /job:localhost/replica:0/task:0/device:CPU:0" in caplog.text
    assert "later" not in caplog.text
    with pytest.raises(TypeError, match="expected a bool, got 1"):
        tf.debugging.set_log_device_placement(1)  # type: ignore[arg-type]


def test_a_device_given_by_name_is_unknown() -> None:
    with pytest.raises(ValueError, match="Unrecognized device: 'CPU:0'"):
        experimental.get_memory_growth("CPU:0")  # type: ignore[arg-type]


def test_memory_growth_of_a_cpu() -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    with pytest.raises(KeyError, match=r"get_memory_growth: expected a GPU, got .*CPU:0"):
        experimental.get_memory_growth(cpu)
    with pytest.raises(ValueError, match="non-GPU"):
        experimental.set_memory_growth(cpu, True)
