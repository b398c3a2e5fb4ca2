"""Record GraphDefs with control flow, most of the first kind, under ``tests/data/flow_graphs``.

Run by an interpreter that has TensorFlow (never needed to use or to test Penstock):

    path/to/tensorflow/bin/python tools/record_flow_graphs.py [NAME ...]

Each program gives ``NAME.pb``, the graph, and ``NAME.npz``: for run number i what was fed
(``i/feed/x:0``) and what came out (``i/fetch/z:0``), in the order of running; ``i/run/NAME`` stands
for an operation that was run. A run takes place in the session of the runs before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "data" / "flow_graphs"

Run = tuple[dict[str, Any], Sequence[str]]  # (feeds, fetches: tensors, or operations to run)


def branches(tf: Any) -> list[Run]:
    """A conditional in another, one of which uses a value from outside twice."""
    v1 = tf.compat.v1
    x = v1.placeholder(tf.float32, [None], name="x")
    p = v1.placeholder(tf.bool, [], name="p")
    q = v1.placeholder(tf.bool, [], name="q")

    def inner() -> Any:
        return v1.cond(q, lambda: (x + 1.0) * x, lambda: tf.constant([7.0, 7.0]))

    y = v1.cond(p, inner, lambda: x - 3.0)
    tf.identity(y * 2.0, name="z")
    both = [(a, b) for a in (True, False) for b in (True, False)]
    return [({"x:0": [1.0, 2.0], "p:0": a, "q:0": b}, ["z:0"]) for a, b in both]


def gradient_of_branches(tf: Any) -> list[Run]:
    """The gradient through a conditional, also of what only one branch uses."""
    v1 = tf.compat.v1
    x = v1.placeholder(tf.float32, [], name="x")
    w = v1.placeholder(tf.float32, [], name="w")
    y = v1.cond(x > 0.0, lambda: x * x * w, lambda: -x)
    dx, dw = tf.gradients(y, [x, w])
    tf.identity(y, name="z")
    tf.identity(dx, name="dx")
    tf.identity(dw, name="dw")
    return [({"x:0": v, "w:0": 5.0}, ["z:0", "dx:0", "dw:0"]) for v in (3.0, -2.0)]


def loop(tf: Any) -> list[Run]:
    """A loop with an invariant, a growing value and several exits."""
    v1 = tf.compat.v1
    n = v1.placeholder(tf.int32, [], name="n")
    x = v1.placeholder(tf.float32, [2], name="x")

    def body(i: Any, total: Any, kept: Any) -> Any:
        return i + 1, total * x + tf.cast(i, tf.float32), tf.concat([kept, [i]], 0)

    shapes = [tf.TensorShape([]), tf.TensorShape([2]), tf.TensorShape([None])]
    start = [tf.constant(0), tf.ones([2]), tf.zeros([0], tf.int32)]
    i, total, kept = v1.while_loop(lambda i, *_: i < n, body, start, shapes)
    for name, value in (("i", i), ("total", total), ("kept", kept)):
        tf.identity(value, name=name)
    return [({"n:0": k, "x:0": [0.5, 2.0]}, ["i:0", "total:0", "kept:0"]) for k in (0, 1, 2, 7, 40)]


def nested(tf: Any) -> list[Run]:
    """Loops in a loop in a branch, with a branch in the inner one."""
    v1 = tf.compat.v1
    n = v1.placeholder(tf.int32, [], name="n")
    p = v1.placeholder(tf.bool, [], name="p")

    def inner(i: Any) -> Any:
        def step(j: Any, s: Any) -> Any:
            odd = tf.equal(j % 2, 1)
            return j + 1, v1.cond(odd, lambda: s + i, lambda: s * 2 - j)

        return v1.while_loop(lambda j, s: j < i, step, [tf.constant(0), i])[1]

    def outer() -> Any:
        def step(i: Any, s: Any) -> Any:
            return i + 1, s + inner(i) + v1.while_loop(lambda k: k < i, lambda k: k + 3, [s % 5])

        return v1.while_loop(lambda i, s: i < n, step, [tf.constant(0), tf.constant(1)])[1]

    tf.identity(v1.cond(p, outer, lambda: n * 100), name="z")
    return [({"n:0": k, "p:0": p_}, ["z:0"]) for p_ in (True, False) for k in (0, 1, 3, 6)]


def gradient_of_loop(tf: Any) -> list[Run]:
    """A recurrent net and the gradients that TensorFlow builds for it, with stacks."""
    v1 = tf.compat.v1
    x = v1.placeholder(tf.float32, [None, 2, 3], name="x")
    w = v1.placeholder(tf.float32, [3, 3], name="w")
    steps = tf.shape(x)[0]

    def body(i: Any, h: Any) -> Any:
        return i + 1, tf.tanh(tf.matmul(h, w) + x[i])

    start = [tf.constant(0), tf.zeros([2, 3])]
    _, h = v1.while_loop(lambda i, h: i < steps, body, start)
    loss = tf.reduce_sum(h * h, name="loss")
    for name, value in zip(("dw", "dx"), tf.gradients(loss, [w, x]), strict=True):
        tf.identity(value, name=name)
    import numpy as np

    rng = np.random.default_rng(3)
    return [
        (
            {
                "x:0": rng.normal(size=(k, 2, 3)).astype(np.float32),
                "w:0": rng.normal(size=(3, 3)).astype(np.float32),
            },
            ["loss:0", "dw:0", "dx:0"],
        )
        for k in (1, 4)
    ]


def gradient_of_nested(tf: Any) -> list[Run]:
    """The gradient of a loop in a loop with a branch inside: stacks of stacks."""
    v1 = tf.compat.v1
    x = v1.placeholder(tf.float32, [], name="x")
    n = v1.placeholder(tf.int32, [], name="n")

    def inner(i: Any, y: Any) -> Any:
        def step(j: Any, v: Any) -> Any:
            return j + 1, v1.cond(v > 1.0, lambda: v * x, lambda: v + x * x)

        return v1.while_loop(lambda j, v: j < i, step, [tf.constant(0), y])[1]

    _, y = v1.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, inner(i, y)), [tf.constant(0), x])
    tf.identity(y, name="z")
    tf.identity(tf.gradients(y, [x])[0], name="dx")
    return [({"x:0": 0.7, "n:0": k}, ["z:0", "dx:0"]) for k in (0, 1, 3, 5)]


def effects(tf: Any) -> list[Run]:
    """Variables that a loop and a branch change, and an assertion in a branch."""
    v1 = tf.compat.v1
    p = v1.placeholder(tf.bool, [], name="p")
    v = v1.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=True)

    def change() -> Any:
        check = v1.assert_equal(tf.constant(1), tf.constant(1))
        with tf.control_dependencies([check]):
            return v.assign_add([10.0, 20.0]).read_value()

    y = v1.cond(p, change, lambda: v.read_value() * 0.5)

    def body(i: Any) -> Any:
        with tf.control_dependencies([v.assign_sub([1.0, 1.0])]):
            return i + 1

    with tf.control_dependencies([y]):
        turns = v1.while_loop(lambda i: i < 3, body, [tf.constant(0)], parallel_iterations=1)
    with tf.control_dependencies([turns]):
        tf.identity(v.read_value(), name="after")
    tf.identity(y, name="z")
    tf.group(v.initializer, name="init")
    return [({}, ["init"]), *[({"p:0": k}, ["z:0", "after:0"]) for k in (True, False, True)]]


def calls(tf: Any) -> list[Run]:
    """A traced function with a print in it, called in a branch and in a loop."""
    v1 = tf.compat.v1

    @tf.function(autograph=False)
    def twice(a: Any) -> Any:
        return a * 2 + tf.constant(1)

    n = v1.placeholder(tf.int32, [], name="n")
    y = v1.cond(n > 2, lambda: twice(n), lambda: n)
    _, z = v1.while_loop(lambda i, z: i < n, lambda i, z: (i + 1, twice(z)), [tf.constant(0), y])
    tf.identity(z, name="z")
    return [({"n:0": k}, ["z:0"]) for k in (0, 2, 3, 5)]


def training(tf: Any) -> list[Run]:
    """Reference variables, momentum, and a loop in the model; the losses of twelve steps."""
    v1 = tf.compat.v1
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    y = v1.placeholder(tf.float32, [None, 1], name="y")
    w = v1.Variable(tf.fill([3, 3], 0.1) + tf.eye(3) * 0.5, name="w", use_resource=False)
    u = v1.get_variable("u", [3, 1], initializer=v1.constant_initializer(0.3), use_resource=False)
    rate = v1.train.exponential_decay(
        0.05, v1.train.get_or_create_global_step(), decay_steps=4, decay_rate=0.9
    )

    def body(i: Any, h: Any) -> Any:
        return i + 1, tf.tanh(tf.matmul(h, w))

    _, h = v1.while_loop(lambda i, h: i < 3, body, [tf.constant(0), x])
    loss = tf.reduce_mean(tf.square(tf.matmul(h, u) - y), name="loss")
    step = v1.train.get_global_step()
    tf.identity(step, name="steps")
    v1.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step, name="train")
    tf.group(v1.global_variables_initializer(), name="init")
    import numpy as np

    rng = np.random.default_rng(5)
    feed = {
        "x:0": rng.normal(size=(8, 3)).astype(np.float32),
        "y:0": rng.normal(size=(8, 1)).astype(np.float32),
    }
    once = [(feed, ["loss:0", "train"])] * 12
    return [({}, ["init"]), *once, ({}, ["w:0", "u:0", "steps:0"])]


def references(tf: Any) -> list[Run]:
    """What operations on reference variables do: reads, updates of parts, shapes that change."""
    v1, raw = tf.compat.v1, tf.raw_ops
    p = v1.placeholder(tf.bool, [], name="p")
    v = v1.get_variable("v", initializer=tf.reshape(tf.range(6.0), [3, 2]), use_resource=False)
    count = v1.get_variable("count", initializer=tf.constant(0), use_resource=False)
    free = v1.Variable([0.0], validate_shape=False, use_resource=False, name="free")
    tf.identity(v, name="read")
    tf.identity(v1.scatter_add(v, [0, 2], [[1.0, 1.0], [2.0, 2.0]]), name="add")
    tf.identity(v1.scatter_update(v, [1], [[9.0, 8.0]]), name="put")
    tf.identity(v1.scatter_mul(v, [1, 1], [[2.0, 2.0], [2.0, 2.0]]), name="mul")
    tf.identity(v1.scatter_max(v, [0], [[100.0, -1.0]]), name="max")
    tf.identity(v1.scatter_nd_add(v, [[0, 1]], [0.5]), name="nd_add")
    tf.identity(v1.scatter_nd_update(v, [[2, 0]], [-4.0]), name="nd_put")
    tf.identity(v1.assign_sub(v, tf.ones([3, 2])), name="sub")
    raw.CountUpTo(ref=count._ref(), limit=2, name="up")
    grown = v1.assign(free, tf.concat([free, [1.0]], 0), validate_shape=False)
    tf.identity(grown, name="grown")
    either = raw.RefSwitch(data=v._ref(), pred=p)
    added = raw.AssignAdd(ref=either.output_true, value=tf.ones([3, 2]))
    scaled = raw.Assign(ref=either.output_false, value=tf.zeros([3, 2]))
    merged = raw.RefMerge(inputs=[scaled, added])
    tf.identity(merged.output, name="merged")
    tf.identity(merged.value_index, name="which")
    temporary = raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="t")
    temporary = raw.Assign(ref=temporary, value=[1.0, 2.0])
    temporary = raw.AssignAdd(ref=temporary, value=[1.0, 1.0])
    tf.identity(raw.DestroyTemporaryVariable(ref=temporary, var_name="t"), name="temporary")
    tf.identity(v1.is_variable_initialized(v), name="ready")
    tf.group(v1.global_variables_initializer(), name="init")
    names = ["read", "add", "put", "mul", "max", "nd_add", "nd_put", "sub", "up", "up", "grown"]
    runs: list[Run] = [({}, ["ready:0"]), ({}, ["init"]), ({}, ["ready:0"])]
    runs += [({}, [f"{name}:0"]) for name in [*names, "grown", "temporary", "temporary"]]
    runs += [({"p:0": k}, ["merged:0", "which:0"]) for k in (True, False)]
    return runs


def optimizers(tf: Any) -> list[Run]:
    """Every update rule of reference variables, dense and by rows."""
    v1 = tf.compat.v1
    train = v1.train
    x = v1.placeholder(tf.float32, [4], name="x")
    made = {
        "descent": train.GradientDescentOptimizer(0.1),
        "momentum": train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        "adam": train.AdamOptimizer(0.1),
        "adagrad": train.AdagradOptimizer(0.1),
        "adadelta": train.AdadeltaOptimizer(0.5),
        "rms": train.RMSPropOptimizer(0.1, momentum=0.5),
        "centered": train.RMSPropOptimizer(0.1, centered=True),
        "ftrl": train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
        "proximal": train.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.01),
        "proximal_adagrad": train.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.01),
    }
    steps, fetches = [], []
    for name, optimizer in made.items():
        v = v1.get_variable(
            name, initializer=tf.constant([1.0, -2.0, 3.0, 0.5]), use_resource=False
        )
        rows = v1.get_variable(
            f"{name}_rows", initializer=tf.reshape(tf.range(6.0), [3, 2]), use_resource=False
        )
        loss = tf.reduce_sum(tf.square(v * x)) + tf.reduce_sum(
            tf.square(tf.gather(rows, [2, 0, 2]) + 1.0)
        )
        steps.append(optimizer.minimize(loss, var_list=[v, rows]))
        fetches += [f"{name}:0", f"{name}_rows:0"]
    tf.group(*steps, name="train")
    tf.group(v1.global_variables_initializer(), name="init")
    feed = {"x:0": [0.5, -1.0, 0.25, 2.0]}
    return [({}, ["init"]), *[(feed, ["train"])] * 3, ({}, fetches)]


def functional(tf: Any) -> list[Run]:
    """`If` and `While` in each other, with first and second derivatives that TensorFlow builds."""
    v1 = tf.compat.v1
    x = v1.placeholder(tf.float32, [3], name="x")

    def inner(i: Any, a: Any) -> Any:
        return v1.while_loop(lambda j, b: j < i + 1, lambda j, b: (j + 1, b * x), [0, a])[1]

    def doubled() -> Any:
        return v1.while_loop(lambda a: tf.reduce_sum(a) < 50.0, lambda a: a * 2.0 * x + 1.0, [x])

    nested = v1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, inner(i, a)), [0, x])[1]
    either = v1.cond(tf.reduce_sum(x) > 1.0, doubled, lambda: x + 1.0)
    for name, y in (("nested", nested), ("either", either)):
        tf.identity(y, name=name)
        (first,) = tf.gradients(y, x)
        tf.identity(first, name=f"{name}_first")
        tf.identity(tf.gradients(first * first, x)[0], name=f"{name}_second")
    fetches = [f"{n}{k}:0" for n in ("nested", "either") for k in ("", "_first", "_second")]
    return [({"x:0": v}, fetches) for v in ([1.0, 2.0, 0.5], [0.1, 0.2, 0.3])]


FUNCTIONAL = (functional,)  # with control flow of the second kind
PROGRAMS: dict[str, Callable[[Any], list[Run]]] = {
    f.__name__: f
    for f in (
        branches, gradient_of_branches, loop, nested, gradient_of_loop, gradient_of_nested,
        effects, calls, training, references, optimizers, *FUNCTIONAL,
    )
}  # fmt: skip


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import numpy as np
    import tensorflow as tf

    OUT.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or PROGRAMS:
        program = PROGRAMS[name]
        v1 = tf.compat.v1
        (v1.enable_control_flow_v2 if program in FUNCTIONAL else v1.disable_control_flow_v2)()
        with tf.Graph().as_default() as graph:
            runs = program(tf)
        message = graph.as_graph_def().SerializeToString(deterministic=True)
        (OUT / f"{name}.pb").write_bytes(message)
        kept: dict[str, Any] = {}
        with tf.compat.v1.Session(graph=graph) as session:
            for i, (feeds, fetches) in enumerate(runs):
                values = session.run(list(fetches), feeds)
                kept.update({f"{i}/feed/{k}": np.asarray(v) for k, v in feeds.items()})
                for fetch, value in zip(fetches, values, strict=True):
                    if value is None:
                        kept[f"{i}/run/{fetch}"] = np.zeros(())
                    else:
                        kept[f"{i}/fetch/{fetch}"] = value
        np.savez(OUT / f"{name}.npz", **kept)
        print(f"{name}: {len(message)} bytes, {len(runs)} runs")


if __name__ == "__main__":
    main()
