"""First steps of programs with loops whose sizes are not known, beside TensorFlow.

Run it with the interpreter that has penstock installed:

    python benchmarks/first_steps.py --tensorflow ~/peer/bin/python
    python benchmarks/first_steps.py --tensorflow ~/peer/bin/python --steps 40 seq2seq beam

Each case runs in processes of its own, in turns with TensorFlow, with an empty compilation cache
(`cold`) and with the one that this filled (`warm`). Columns: processor seconds of the first step,
of the first four and of the last one; the sums of what a step gives tell that both did the same.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[], Any]


def gated_cell(tf: Any, name: str, width: int, units: int) -> Callable[[Any, Any], Any]:
    """A GRU of variables of the first generation."""
    v1 = tf.compat.v1
    init = v1.random_uniform_initializer(-0.1, 0.1, seed=3)
    with v1.variable_scope(name):
        gates = v1.get_variable("gates", [width + units, 2 * units], initializer=init)
        new = v1.get_variable("new", [width + units, units], initializer=init)

    def cell(x: Any, h: Any) -> Any:
        r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), gates) + 1.0), 2, 1)
        return u * h + (1 - u) * tf.tanh(tf.matmul(tf.concat([x, r * h], 1), new))

    return cell


def seq2seq(tf: Any) -> Step:
    """Encoder and decoder with attention over [None, None] tokens, trained in a session."""
    v1 = tf.compat.v1
    words, batch, length, units = 50, 8, 40, 32
    graph = tf.Graph()
    with graph.as_default():
        source = v1.placeholder(tf.int32, [None, None])
        target = v1.placeholder(tf.int32, [None, None])
        lengths = v1.placeholder(tf.int32, [None])
        init = v1.random_uniform_initializer(-0.1, 0.1, seed=1)
        table = v1.get_variable("table", [words, units], initializer=init)
        encode, decode = (gated_cell(tf, name, units, units) for name in ("encode", "decode"))
        rows, steps = tf.shape(source)[0], tf.shape(source)[1]
        inputs = tf.TensorArray(tf.float32, steps, element_shape=[None, units])
        inputs = inputs.unstack(tf.transpose(tf.nn.embedding_lookup(table, source), [1, 0, 2]))

        def read(t: Any, h: Any, out: Any) -> Any:
            new = encode(inputs.read(t), h)
            live = tf.expand_dims(t < lengths, 1)
            return t + 1, tf.where(live, new, h), out.write(t, tf.where(live, new, 0.0 * new))

        start = [0, tf.zeros([rows, units]), tf.TensorArray(tf.float32, steps)]
        _, state, out = tf.while_loop(lambda t, *_: t < steps, read, start)
        memory = tf.transpose(out.stack(), [1, 0, 2])
        memory.set_shape([None, None, units])
        weights = v1.get_variable("weights", [2 * units, words], initializer=init)
        count = tf.shape(target)[1]

        def write(t: Any, h: Any, out: Any) -> Any:
            h = decode(tf.nn.embedding_lookup(table, tf.gather(target, t, axis=1)), h)
            scores = tf.einsum("bh,bth->bt", h, memory)
            seen = tf.sequence_mask(lengths, steps)
            attention = tf.nn.softmax(tf.where(seen, scores, tf.fill(tf.shape(scores), -1e9)))
            context = tf.einsum("bt,bth->bh", attention, memory)
            return t + 1, h, out.write(t, tf.matmul(tf.concat([h, context], 1), weights))

        start = [0, state, tf.TensorArray(tf.float32, count)]
        _, _, out = tf.while_loop(lambda t, *_: t < count, write, start)
        logits = tf.transpose(out.stack(), [1, 0, 2])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=source, logits=logits)
        loss = tf.reduce_mean(losses)
        optimizer = v1.train.AdamOptimizer(0.02)
        grads, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(grads, 5.0)
        train = optimizer.apply_gradients(zip(clipped, variables, strict=True))
        session = v1.Session(graph=graph)
        session.run(v1.global_variables_initializer())
    rng = np.random.default_rng(0)

    def step() -> Any:
        feeds = {
            source: rng.integers(0, words, (batch, length)),
            target: rng.integers(0, words, (batch, length)),
            lengths: rng.integers(length // 2, length + 1, batch),
        }
        return session.run([loss, train], feeds)[0]

    return step


def hmc(tf: Any) -> Step:
    """A chain of Hamiltonian Monte Carlo whose numbers of samples and leaps are values."""
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(100, 10)), tf.float32)
    y = tf.constant(rng.random(100) > 0.5, tf.float32)

    def density(w: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(w)
            z = tf.linalg.matvec(x, w)
            value = tf.reduce_sum(y * z - tf.nn.softplus(z)) - 0.5 * tf.reduce_sum(w * w)
        return value, tape.gradient(value, w)

    @tf.function
    def chain(w: Any, number: Any, size: Any, leaps: Any, seed: Any) -> Any:
        samples, accepted = tf.TensorArray(tf.float32, number, element_shape=[10]), 0
        for i in tf.range(number):
            before = tf.random.stateless_normal([10], tf.add(seed, [0, i]))
            old, grad = density(w)
            moved, momentum, new = w, before, old
            for _ in tf.range(leaps):
                momentum = momentum + 0.5 * size * grad
                moved = moved + size * momentum
                new, grad = density(moved)
                momentum = momentum + 0.5 * size * grad
            gain = new - old + 0.5 * tf.reduce_sum(before**2) - 0.5 * tf.reduce_sum(momentum**2)
            if tf.math.log(tf.random.stateless_uniform([], tf.add(seed, [1, i]))) < gain:
                w = moved
                accepted += 1
            samples = samples.write(i, w)
        return samples.stack(), accepted

    sizes = [tf.constant(100), tf.constant(0.05), tf.constant(8)]
    return lambda: chain(tf.zeros([10]), *sizes, tf.constant([1, 2]))


def slice_sampler(tf: Any) -> Step:
    """A slice sampler of [None, 4] chains: loops within a loop, whose rounds numbers decide."""

    def log_density(x: Any) -> Any:
        return tf.math.log1p(tf.reduce_sum(tf.cos(x), -1) ** 2) - 0.5 * tf.reduce_sum(x * x, -1)

    signature = [
        tf.TensorSpec([None, 4]),
        tf.TensorSpec([], tf.int32),
        tf.TensorSpec([]),
        tf.TensorSpec([2], tf.int32),
    ]

    @tf.function(input_signature=signature)
    def chain(x: Any, number: Any, width: Any, seed: Any) -> Any:
        samples, n = tf.TensorArray(tf.float32, number, element_shape=[None, 4]), tf.shape(x)[0]
        for i in tf.range(number):
            level = log_density(x) + tf.math.log(
                tf.random.stateless_uniform([n], tf.add(seed, [0, i]))
            )
            way = tf.random.stateless_normal(tf.shape(x), tf.add(seed, [1, i]))
            way = way / tf.norm(way, axis=-1, keepdims=True)
            low = -width * tf.random.stateless_uniform([n], tf.add(seed, [2, i]))
            high = low + width
            at = lambda t, x=x, way=way: log_density(x + t[:, None] * way)  # noqa: E731
            while tf.reduce_any(at(low) > level):
                low = tf.where(at(low) > level, low - width, low)
            while tf.reduce_any(at(high) > level):
                high = tf.where(at(high) > level, high + width, high)
            found, done, j = tf.zeros([n]), tf.zeros([n], tf.bool), 3
            while not tf.reduce_all(done):
                share = tf.random.stateless_uniform([n], tf.add(seed, [j, i]))
                new = low + (high - low) * share
                fits = at(new) > level
                found = tf.where(done, found, tf.where(fits, new, found))
                low = tf.where(~fits & (new < 0), new, low)
                high = tf.where(~fits & (new >= 0), new, high)
                done = done | fits
                j += 1
            x = x + found[:, None] * way
            samples = samples.write(i, x)
        return samples.stack()

    run = chain.get_concrete_function()
    return lambda: run(tf.zeros([6, 4]), tf.constant(100), tf.constant(2.0), tf.constant([1, 2]))


def growing_array(tf: Any) -> Step:
    """A recurrent net over [None, None, 16], its states in a TensorArray that grows, trained."""
    rng = np.random.default_rng(0)
    shapes = ((16, 32), (32, 32), (32,), (32, 1))
    weights = [tf.Variable(rng.normal(size=s).astype(np.float32) * 0.1) for s in shapes]

    @tf.function(input_signature=[tf.TensorSpec([None, None, 16]), tf.TensorSpec([None])])
    def train(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            h, t = tf.zeros([tf.shape(x)[0], 32]), 0
            states = tf.TensorArray(tf.float32, 0, dynamic_size=True)
            while t < tf.shape(x)[1]:
                h = tf.tanh(x[:, t] @ weights[0] + h @ weights[1] + weights[2])
                states = states.write(t, h)
                t += 1
            mean = tf.reduce_mean(tf.transpose(states.stack(), [1, 0, 2]), 1)
            loss = tf.reduce_mean(tf.square((mean @ weights[3])[:, 0] - y))
        for variable, grad in zip(weights, tape.gradient(loss, weights), strict=True):
            variable.assign_sub(0.1 * grad)
        return loss

    draw = lambda *shape: rng.normal(size=shape).astype(np.float32)  # noqa: E731
    return lambda: train(draw(8, 20, 16), draw(8))


def beam(tf: Any) -> Step:
    """A beam search of [None, 32] states whose sequences grow until all beams have ended."""
    words, units, beams, most = 30, 32, 4, 20
    rng = np.random.default_rng(0)
    shapes = ((words, units), (units, units), (units, units), (units, words))
    weights = [tf.Variable(rng.normal(size=s).astype(np.float32) * 0.5) for s in shapes]

    @tf.function(input_signature=[tf.TensorSpec([None, units])])
    def search(start: Any) -> Any:
        table, inward, onward, outward = weights
        n = tf.shape(start)[0]
        h = tf.reshape(tf.tile(start[:, None], [1, beams, 1]), [n * beams, units])
        words_so_far = tf.zeros([n, beams, 1], tf.int32)
        score = tf.tile(tf.constant([[0.0] + [-1e9] * (beams - 1)]), [n, 1])
        done, t = tf.zeros([n, beams], tf.bool), 0
        while t < most and not tf.reduce_all(done):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(words_so_far, tf.TensorShape([None, beams, None]))]
            )
            last = tf.gather(table, tf.reshape(words_so_far[:, :, -1], [-1]))
            new = tf.tanh(last @ inward + h @ onward)
            chances = tf.reshape(tf.nn.log_softmax(new @ outward), [n, beams, words])
            end = tf.one_hot(tf.zeros([n, beams], tf.int32), words, 0.0, -1e9)
            total = score[:, :, None] + tf.where(done[:, :, None], end, chances)
            score, best = tf.math.top_k(tf.reshape(total, [n, beams * words]), beams)
            beam_of, word = best // words, best % words
            words_so_far = tf.gather(words_so_far, beam_of, batch_dims=1)
            words_so_far = tf.concat([words_so_far, word[:, :, None]], -1)
            states = tf.gather(tf.reshape(new, [n, beams, units]), beam_of, batch_dims=1)
            h = tf.reshape(states, [n * beams, units])
            done = tf.gather(done, beam_of, batch_dims=1) | (word == 1)
            t += 1
        return words_so_far, score

    return lambda: search(rng.normal(size=(3, units)).astype(np.float32))


CASES = {f.__name__: f for f in (seq2seq, hmc, slice_sampler, growing_array, beam)}


def measure(library: str, case: str, steps: int) -> dict[str, Any]:
    """Processor seconds of each step of a case, and the sum of what the last one gave."""
    step = CASES[case](importlib.import_module(library))
    times, total = [], 0.0
    for _ in range(steps):
        begin = time.process_time()
        results = step()
        results = results if isinstance(results, (tuple, list)) else [results]
        total = sum(float(np.sum(np.asarray(r, np.float64))) for r in results)
        times.append(time.process_time() - begin)
    return {"times": times, "total": total}


def run(python: str, library: str, case: str, steps: int, cache: str) -> dict[str, Any]:
    """The same in a process of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [python, __file__, "--library", library, "--steps", str(steps), case]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    """Prints the table, or one measurement for the process that prints it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--tensorflow", help="an interpreter that has TensorFlow")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--library")
    given = parser.parse_args()
    if given.library:
        print(json.dumps(measure(given.library, given.cases[0], given.steps)))
        return
    print("| case | | first | first four | all | last, ms | sum |\n|---|---|---|---|---|---|---|")
    for case in given.cases:
        with tempfile.TemporaryDirectory() as cache:
            rows = [(sys.executable, "penstock", "cold"), (sys.executable, "penstock", "warm")]
            if given.tensorflow:
                rows.insert(1, (given.tensorflow, "tensorflow", ""))
            for python, library, state in rows:
                found = run(python, library, case, given.steps, cache)
                times = found["times"]
                last = min(times[-5:]) * 1e3
                print(
                    f"| {case} | {library} {state} | {times[0]:.2f} | {sum(times[:4]):.2f} |"
                    f" {sum(times):.2f} | {last:.1f} | {found['total']:.5g} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
