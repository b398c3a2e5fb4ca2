"""Check by hand that TensorFlow restores what Penstock writes.

python tools/check_checkpoints.py write FOLDER                        # with Penstock
path/to/tensorflow/bin/python tools/check_checkpoints.py read FOLDER  # with TensorFlow
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def make(tf: Any) -> tuple[Any, Any]:
    module = tf.Module()
    module.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
    module.parts = [tf.Variable(b"text"), {"a/b": tf.Variable(7, dtype=tf.int64)}]
    optimizer = tf.compat.v1.train.AdamOptimizer(0.5)
    optimizer.minimize(lambda: tf.reduce_sum(module.w * module.w), var_list=[module.w])
    return module, optimizer


def graph_variables(tf: Any) -> list[Any]:
    v1 = tf.compat.v1
    a = v1.get_variable("a", initializer=[[1.0, 2.0], [3.0, 4.0]])
    with tf.device("/cpu:0"):
        parts = v1.get_variable(
            "parts", [5], initializer=v1.ones_initializer(),
            partitioner=v1.fixed_size_partitioner(2),
        )  # fmt: skip
    return [a, *parts]


def write(tf: Any, folder: str) -> None:
    v1 = tf.compat.v1
    module, optimizer = make(tf)
    tf.train.Checkpoint(module=module, optimizer=optimizer).save(f"{folder}/objects")
    for kind, options in (
        ("plain", {}),
        ("sharded", {"sharded": True}),
        ("v1", {"write_version": 1}),
    ):
        with tf.Graph().as_default(), v1.Session() as session:
            graph_variables(tf)
            session.run(v1.global_variables_initializer())
            v1.train.Saver(**options).save(session, f"{folder}/{kind}")


def read(tf: Any, folder: str) -> None:
    v1 = tf.compat.v1
    module, optimizer = make(tf)
    want = module.w.numpy()
    slot = optimizer.get_slot(module.w, "m").numpy()
    for variable in (module.w, optimizer.get_slot(module.w, "m")):
        variable.assign(tf.zeros_like(variable))
    module.parts[1]["a/b"].assign(0)
    checkpoint = tf.train.Checkpoint(module=module, optimizer=optimizer)
    checkpoint.restore(f"{folder}/objects-1").assert_consumed()
    assert (module.w.numpy() == want).all()
    assert (optimizer.get_slot(module.w, "m").numpy() == slot).all()
    assert int(module.parts[1]["a/b"]) == 7
    assert tf.train.latest_checkpoint(folder) is not None
    for kind in ("plain", "sharded", "v1"):
        for imported in (False, True):
            with tf.Graph().as_default(), v1.Session() as session:
                if imported:
                    saver = v1.train.import_meta_graph(f"{folder}/{kind}.meta")
                else:
                    graph_variables(tf)
                    saver = v1.train.Saver()
                saver.restore(session, f"{folder}/{kind}")
                found = session.run(v1.global_variables())
                assert found[0].tolist() == [[1.0, 2.0], [3.0, 4.0]], kind
                assert [part.tolist() for part in found[1:]] == [[1.0] * 3, [1.0] * 2], kind
    print("all restored")


def main() -> None:
    mode, folder = sys.argv[1:]
    {"write": write, "read": read}[mode](
        importlib.import_module("penstock" if mode == "write" else "tensorflow"), folder
    )


if __name__ == "__main__":
    main()
