"""The first run of a region: on the host where that is cheap, and with the same effects there."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.core import determinism
from penstock.core.resources import VariableCell
from penstock.runtime import first_runs, regions
from penstock.runtime.executable import Executable
from penstock.runtime.first_runs import _Count, pays
from penstock.runtime.program import build


@pytest.fixture(autouse=True)
def _lazy(monkeypatch):
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "lazy")


@pytest.fixture
def compiled(monkeypatch):
    """The number of nodes of each region that was compiled meanwhile."""
    sizes = []
    original = Executable.__init__

    def noted(self, region, **options):
        sizes.append(len(region.nodes))
        original(self, region, **options)

    monkeypatch.setattr(Executable, "__init__", noted)
    return sizes


def chain(x):
    for _ in range(10):
        x = tf.tanh(x * 1.5)
    return x


def test_what_runs_once_is_not_compiled(compiled):
    f = tf.function(chain)
    first = f(tf.ones([100]))
    assert compiled == []
    second = f(tf.ones([100]))
    assert len(compiled) == 1
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_a_program_of_single_calls_does_not_load_jax():
    code = (
        "import sys, penstock as tf\n"
        "v = tf.Variable(tf.ones([50, 50]))\n"
        "@tf.function\n"
        "def step(x):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_sum(tf.nn.relu(x @ v))\n"
        "    v.assign_sub(0.1 * tape.gradient(loss, v))\n"
        "    return loss\n"
        "assert float(step(tf.ones([3, 50]))) == 7500.0\n"
        "assert abs(v.numpy()[0, 0] - 0.7) < 1e-6\n"
        "assert 'jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_jit_compile_and_the_fast_executor_compile_at_once(compiled, monkeypatch):
    tf.function(chain, jit_compile=True)(tf.ones([100]))
    assert len(compiled) == 1
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "fast")
    tf.function(chain)(tf.ones([100]))
    assert len(compiled) == 2


def test_large_work_and_convolutions_compile_at_once(compiled):
    big = tf.function(lambda x: chain(x) @ x)
    big(tf.ones([2048, 2048]))
    assert len(compiled) == 1
    tf.function(lambda x: tf.nn.relu(tf.nn.conv2d(x, tf.ones([3, 3, 1, 1]), 1, "SAME")) * 2.0)(
        tf.ones([1, 100, 100, 1])
    )
    assert len(compiled) == 2


def test_loops_of_known_length_run_there_with_their_bodies(compiled):
    @tf.function
    def f(x):
        def branch(v):
            return tf.cond(tf.reduce_sum(v) > 0.0, lambda: v * 0.5, lambda: v + 1.0)

        return tf.while_loop(
            lambda i, v: i < 20,
            lambda i, v: (i + 1, branch(v) - 1.0),
            [0, x],
            maximum_iterations=20,
        )[1]

    first = f(tf.ones([3]))
    assert compiled == []
    np.testing.assert_array_equal(first, f(tf.ones([3])))
    assert len(compiled) == 1


def test_loops_of_unknown_length_compile_at_once(compiled):
    @tf.function
    def f(x):
        return tf.while_loop(lambda v: tf.reduce_sum(v) < 1e6, lambda v: [v * 2.0], [x])[0]

    f(tf.ones([30]))
    assert len(compiled) == 1


def test_a_node_that_fails_leaves_all_variables_as_they_were():
    v, w = tf.Variable(tf.ones([3])), tf.Variable(tf.zeros([3]))

    @tf.function
    def f(x):
        v.assign_add(x)
        w.assign(v * 2.0)
        checked = tf.gather(tf.range(3), tf.cast(x[0], tf.int32))
        v.assign_sub([1.0, 1.0, 1.0])
        return checked

    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant([7.0, 0.0, 0.0]))
    assert v.numpy().tolist() == [1.0, 1.0, 1.0]
    assert w.numpy().tolist() == [0.0, 0.0, 0.0]
    assert int(f(tf.constant([1.0, 0.0, 0.0]))) == 1
    assert v.numpy().tolist() == [1.0, 0.0, 0.0]
    assert w.numpy().tolist() == [4.0, 2.0, 2.0]


def test_what_is_read_alone_is_locked_too_and_in_one_order(monkeypatch):
    """Two first runs that read what the other one writes do not wait for each other for good."""
    v, w = tf.Variable(tf.ones([3])), tf.Variable(tf.ones([3]))
    begun, held = threading.Barrier(2), []

    @tf.function
    def f(x):
        v.assign_add(chain(x) + w)

    @tf.function
    def g(x):
        w.assign_add(chain(x) + v)

    def locking(cells, written, run):
        begun.wait(120)

        def noting():
            held.append({id(cell) for cell in cells})
            return run()

        return first_runs.at_once(cells, written, noting)

    monkeypatch.setattr(regions, "at_once", locking)
    threads = [threading.Thread(target=h, args=(tf.ones([3]),), daemon=True) for h in (f, g)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [thread.is_alive() for thread in threads] == [False, False]
    assert [len(cells) for cells in held] == [2, 2]


def test_values_read_before_an_update_stay(compiled):
    v = tf.Variable(tf.ones([30]))

    @tf.function
    def f():
        old = v + 0.0
        for _ in range(6):
            v.assign(v * 2.0)
        return old, v.read_value()

    before = v.value()
    old, new = f()
    assert compiled == []
    f()
    assert len(compiled) == 1
    assert before.numpy()[0] == old.numpy()[0] == 1.0
    assert new.numpy()[0] == 64.0
    assert v.numpy()[0] == 4096.0


def numbers(executor, monkeypatch):
    monkeypatch.setenv("PENSTOCK_EXECUTOR", executor)
    tf.random.set_seed(7)

    @tf.function
    def f():
        return [tf.random.uniform([4]) for _ in range(8)]

    return np.array([[v.numpy() for v in f()] for _ in range(3)])


def test_random_numbers_are_those_of_compiled_runs(monkeypatch):
    np.testing.assert_array_equal(numbers("lazy", monkeypatch), numbers("fast", monkeypatch))


def test_sessions_too(compiled):
    graph = tf.Graph()
    with graph.as_default():
        y = chain(tf.compat.v1.placeholder(tf.float32, [100], name="x"))
    with tf.compat.v1.Session(graph=graph) as session:
        first = session.run(y, {"x:0": np.ones(100)})
        assert compiled == []
        np.testing.assert_allclose(session.run(y, {"x:0": np.ones(100)}), first, rtol=1e-6)
    assert len(compiled) == 1


def test_what_must_repeat_exactly_is_compiled_at_once(compiled):
    tf.config.experimental.enable_op_determinism()
    try:
        tf.function(chain)(tf.ones([100]))
    finally:
        determinism.require(False)
    assert len(compiled) == 1


def program_of(fn, *args):
    """The nodes that a function's plan is made from, without the identities of its outputs."""
    body = tf.function(fn).get_concrete_function(*args).body
    values = [o.op.inputs[0] for o in body.outputs]
    return build(values, body.inputs, body.control_outputs).nodes


def work(fn, *args):
    return _Count("CPU").of(program_of(fn, *args))


def test_work_is_counted_by_sizes():
    small, large = tf.ones([10, 20]), tf.ones([1000, 2000])
    assert work(tf.tanh, large) - work(tf.tanh, small) == 2_000_000 - 200
    by = tf.ones([2000, 1000])
    assert work(tf.matmul, large, by) > 2000 * 1000 * 1000 / 16
    assert work(tf.tanh, tf.TensorSpec([None], tf.float32)) == float("inf")


def test_a_loop_counts_as_often_as_it_runs():
    def f(x, rounds):
        body = lambda i, v: (i + 1, v * 2.0)  # noqa: E731
        return tf.while_loop(lambda i, v: i < 10**6, body, [0, x], maximum_iterations=rounds)[1]

    once, often = (work(lambda x, n=n: f(x, n), tf.ones([1000])) for n in (1, 1001))
    assert often > once * 300
    assert pays(program_of(lambda x: f(x, 3), tf.ones([1000])), [], "CPU")
    assert not pays(program_of(lambda x: f(x, 10**6), tf.ones([1000])), [], "CPU")


def test_variables_that_are_copied_count():
    cell = VariableCell("table", tf.float32, (1 << 30,))
    nodes = program_of(tf.tanh, tf.ones([3]))
    assert pays(nodes, [cell], "CPU")
    cell.value = np.broadcast_to(np.float32(0), (1 << 30,))
    assert not pays(nodes, [cell], "CPU")
