"""Memory that does not grow: objects and device arrays are counted, not bytes."""

import gc
from collections import Counter
from typing import Any

import jax
import numpy as np

import penstock as tf

CALLS = 10_000
TRACES = 1_000
GRAPHS = ("FuncGraph", "Operation", "Plan", "Region", "Executable", "ConcreteFunction")


def _objects() -> int:
    gc.collect()
    return len(gc.get_objects())


def _of_graphs() -> Counter[str]:
    gc.collect()
    names = (type(o).__name__ for o in gc.get_objects())
    return Counter(name for name in names if name in GRAPHS)


def _training_step() -> tuple[Any, Any]:
    """A step that is compiled and updates a variable in place, and the variable."""
    weights = tf.Variable(np.full((80, 80), 0.5, np.float32))

    @tf.function(jit_compile=True)
    def step(x: Any) -> Any:
        weights.assign_sub(0.001 * weights * x)
        return tf.reduce_sum(weights)

    return step, weights


def test_ten_thousand_calls_keep_memory_flat() -> None:
    step, weights = _training_step()
    x = tf.constant(0.001)
    for _ in range(10):
        step(x)
    objects, arrays = _objects(), len(jax.live_arrays())
    for _ in range(CALLS):
        step(x)
    assert len(jax.live_arrays()) == arrays
    assert _objects() - objects < 50
    assert float(weights[0, 0]) < 0.5


def test_ten_thousand_calls_on_the_host_keep_memory_flat() -> None:
    double = tf.function(lambda x: x * 2.0)
    x = tf.constant([1.0, 2.0])
    double(x)
    objects = _objects()
    for _ in range(CALLS):
        double(x)
    assert _objects() - objects < 50


def test_a_thousand_retraces_keep_what_the_cache_holds(monkeypatch) -> None:
    monkeypatch.setenv("PENSTOCK_PLAN_CACHE", "8")
    scale = tf.function(lambda x, n: x * n, autograph=False)
    x = tf.constant([1.0, 2.0])
    for n in range(200):
        scale(x, n)
    before, arrays = _of_graphs(), len(jax.live_arrays())
    for n in range(200, 200 + TRACES):
        assert float(scale(x, n)[1]) == 2.0 * n
    assert _of_graphs() == before
    assert len(jax.live_arrays()) == arrays
    assert scale.experimental_get_tracing_count() == 200 + TRACES


def _steps_with_control_flow() -> list[Any]:
    """Calls and a gradient of functions with branches, loops and joined calls, and a variable."""
    weights = tf.Variable(np.full((40, 40), 0.01, np.float32))

    @tf.custom_gradient
    def doubled(x):
        return x * 2.0, lambda grad: grad * 2.0

    @tf.function
    def looped(x):
        for _ in tf.range(3):
            x = doubled(tf.tanh(x @ weights))
        if tf.reduce_sum(x) > 0.0:
            x = x * 2.0
        return x

    x = tf.ones([40, 40])
    with tf.GradientTape() as tape:
        y = looped(x)
    joined = tf.nondifferentiable_batch_function(1, 80, 0)(lambda v: v @ weights)
    return [tape.gradient(y, weights), looped(x), joined(x)]


def test_dropped_functions_with_bodies_free_them() -> None:
    """Nothing keeps the functions that attributes of conditionals and loops refer to."""
    _steps_with_control_flow()
    before, arrays = _of_graphs(), len(jax.live_arrays())
    for _ in range(3):
        _steps_with_control_flow()
    assert _of_graphs() == before
    assert len(jax.live_arrays()) == arrays


def test_a_dropped_function_frees_its_executables_and_variables() -> None:
    def use() -> None:
        step, _ = _training_step()
        step(tf.constant(0.001))

    use()
    before, arrays = _of_graphs(), len(jax.live_arrays())
    for _ in range(3):
        use()
    assert _of_graphs() == before
    assert len(jax.live_arrays()) == arrays
