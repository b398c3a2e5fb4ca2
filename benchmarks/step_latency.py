"""Microseconds of one small training step on 1, 10, 100 and 400 variables of ten numbers.

    python benchmarks/step_latency.py [penstock | tensorflow | jax] [CASE...]

`session` runs the update of every variable in one `Session.run` with one feed, `infer` sums all
variables in one, `function` is the same update in a `tf.function`, `read` a `tf.function` that sums
them, `eager` one operation after the other. With `jax`, `function` and `read` are the same steps
written for `jax.jit`, the arrays donated where they are updated. Each row is the best of several
rounds, so that other work on the machine shows little. The variables are checked afterwards.
"""

import importlib
import sys
import time

import numpy as np

COUNTS = (1, 10, 100, 400)
ROUNDS = 7
DELTA = np.full(10, 0.5, np.float32)


def best(step, seconds=0.15):
    """Microseconds of step() in the best of several rounds."""
    for _ in range(3):
        step()
    start = time.perf_counter()
    step()
    number = max(int(seconds / ROUNDS / (time.perf_counter() - start)), 1)
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(number):
            step()
        samples.append((time.perf_counter() - start) / number * 1e6)
    return min(samples)


def counted(step):
    """step, and a list whose length says how often it ran."""
    runs = []

    def run():
        step()
        runs.append(None)

    return run, runs


def check(value, runs):
    """Every run added half to each number."""
    np.testing.assert_allclose(value, np.full(10, 0.5 * len(runs)), rtol=1e-3)


def session(tf, count):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [10])
        variables = [tf.Variable(np.zeros(10, np.float32)) for _ in range(count)]
        updates = [v.assign_add(x).op for v in variables]
        start = tf.compat.v1.global_variables_initializer()
    with tf.compat.v1.Session(graph=graph) as running:
        running.run(start)
        step, runs = counted(lambda: running.run(updates, {x: DELTA}))
        result = best(step)
        check(running.run(variables[-1]), runs)
    return result


def infer(tf, count):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [10])
        variables = [tf.Variable(np.ones(10, np.float32)) for _ in range(count)]
        total = tf.add_n([v * x for v in variables])
        start = tf.compat.v1.global_variables_initializer()
    with tf.compat.v1.Session(graph=graph) as running:
        running.run(start)
        np.testing.assert_allclose(running.run(total, {x: DELTA}), DELTA * count, rtol=1e-5)
        return best(lambda: running.run(total, {x: DELTA}))


def function(tf, count):
    variables = [tf.Variable(np.zeros(10, np.float32)) for _ in range(count)]

    @tf.function
    def update(x):
        for v in variables:
            v.assign_add(x)

    x = tf.constant(DELTA)
    step, runs = counted(lambda: update(x))
    result = best(step)
    check(variables[-1].numpy(), runs)
    return result


def eager(tf, count):
    variables = [tf.Variable(np.zeros(10, np.float32)) for _ in range(count)]
    x = tf.constant(DELTA)

    def update():
        for v in variables:
            v.assign_add(x)

    step, runs = counted(update)
    result = best(step)
    check(variables[-1].numpy(), runs)
    return result


def read(tf, count):
    variables = [tf.Variable(np.ones(10, np.float32)) for _ in range(count)]
    total = tf.function(lambda x: tf.add_n([v * x for v in variables]))
    x = tf.constant(DELTA)
    np.testing.assert_allclose(total(x).numpy(), DELTA * count, rtol=1e-5)
    return best(lambda: total(x).numpy())


def jax_function(jax, count):
    held = [[jax.numpy.zeros(10) for _ in range(count)]]
    update = jax.jit(lambda values, x: [v + x for v in values], donate_argnums=0)
    x = jax.numpy.asarray(DELTA)

    def step():
        held[0] = update(held[0], x)

    step, runs = counted(step)
    result = best(step)
    check(np.asarray(held[0][-1]), runs)
    return result


def jax_read(jax, count):
    values = [jax.numpy.ones(10) for _ in range(count)]
    total = jax.jit(lambda values, x: sum(v * x for v in values))
    x = jax.numpy.asarray(DELTA)
    np.testing.assert_allclose(np.asarray(total(values, x)), DELTA * count, rtol=1e-5)
    return best(lambda: np.asarray(total(values, x)))


CASES = {case.__name__: case for case in (session, infer, function, read, eager)}
JAX_CASES = {"function": jax_function, "read": jax_read}


def main():
    name = (sys.argv[1:2] or ["penstock"])[0]
    module = importlib.import_module(name)
    cases = JAX_CASES if name == "jax" else CASES
    print(f"| {name} (us a step) | " + " | ".join(f"{n} variables" for n in COUNTS) + " |")
    print("|---|" + "---|" * len(COUNTS))
    for case in sys.argv[2:] or cases:
        row = [f"{cases[case](module, count):.0f}" for count in COUNTS]
        print(f"| {case} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
