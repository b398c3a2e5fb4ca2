"""Record small checkpoints that TensorFlow wrote, for the tests that read them.

    path/to/tensorflow/bin/python tools/record_checkpoints.py   # writes tests/data/checkpoints

What is in them is known from this script: `value_of(dtype)` gives every tensor's elements.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import tensorflow as tf

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "data" / "checkpoints"
DTYPES = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool "
    "complex64 complex128 string"
).split()


def value_of(dtype: str) -> tf.Tensor:
    if dtype == "string":
        return tf.constant([[b"", b"a"], [b"\x00\xff", b"long " * 60]])
    if dtype == "bool":
        return tf.constant([[True, False], [False, True]])
    return tf.cast(tf.constant([[0, 1], [2, 3]]), dtype)


def record_bundle() -> None:
    names = DTYPES
    tf.raw_ops.SaveV2(
        prefix=str(FOLDER / "dtypes"),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[value_of(name) for name in names],
    )
    many = [f"layer_{i:03d}/{kind}" for i in range(200) for kind in ("kernel", "bias")]
    tf.raw_ops.SaveV2(
        prefix=str(FOLDER / "many"),
        tensor_names=many,
        shape_and_slices=[""] * len(many),
        tensors=[tf.constant(i, tf.int16) for i in range(len(many))],
    )
    parts = {
        "tensor_names": ["rows", "rows", "columns", "columns"],
        "data": [
            tf.constant([[0, 1], [2, 3]]),
            tf.constant([[4, 5]]),
            tf.constant([[0.0], [2.0]]),
            tf.constant([[1.0], [3.0]]),
        ],
    }
    specs = ["3 2 0,2:-", "3 2 2,1:-", "2 2 -:0,1", "2 2 -:1,1"]
    tf.raw_ops.SaveV2(
        prefix=str(FOLDER / "sliced"),
        tensor_names=parts["tensor_names"],
        shape_and_slices=specs,
        tensors=parts["data"],
    )
    tf.raw_ops.SaveSlices(filename=str(FOLDER / "v1_sliced"), shapes_and_slices=specs, **parts)
    old = [name for name in DTYPES if name not in ("bfloat16", "uint32", "uint64")]
    tf.raw_ops.Save(
        filename=str(FOLDER / "v1"), tensor_names=old, data=[value_of(name) for name in old]
    )


class Model(tf.Module):
    """Variables in attributes, lists, dictionaries and tuples."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.layers = [tf.Variable(5.0), {"x": tf.Variable(6), "a/b.c": tf.Variable(7)}]
        self.pair = (tf.Variable(b"text"), None)


def record_objects() -> None:
    model = Model()
    optimizer = tf.compat.v1.train.MomentumOptimizer(0.5, 0.9)
    optimizer.minimize(lambda: tf.reduce_sum(model.w * model.w), var_list=[model.w])
    saved = tf.train.Checkpoint(model=model, optimizer=optimizer, step=tf.Variable(3))
    saved.save(str(FOLDER / "objects"))
    np.save(FOLDER / "objects_w.npy", model.w.numpy())


def record_saver() -> None:
    v1 = tf.compat.v1
    for sharded in (False, True):
        with tf.Graph().as_default(), v1.Session() as session:
            v1.get_variable("a", initializer=[[1.0, 2.0], [3.0, 4.0]])
            with tf.device("/cpu:0"):
                v1.get_variable(
                    "parts", [5], initializer=v1.ones_initializer(),
                    partitioner=v1.fixed_size_partitioner(2),
                )  # fmt: skip
            session.run(v1.global_variables_initializer())
            name = "sharded" if sharded else "saver"
            v1.train.Saver(sharded=sharded).save(session, str(FOLDER / name), write_state=False)


def record_cut() -> None:
    policy = tf.train.experimental.MaxShardSizePolicy(500)
    options = tf.train.CheckpointOptions(experimental_sharding_callback=policy)
    v = tf.Variable(tf.reshape(tf.range(250.0), [10, 25]))
    tf.train.Checkpoint(v=v).write(str(FOLDER / "cut"), options)


def record_references() -> None:
    """A training graph with variables of the first kind, after one step."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        v1.disable_resource_variables()
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", [2, 1], initializer=v1.ones_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)), name="loss")
        step = v1.train.get_or_create_global_step()
        optimizer = v1.train.MomentumOptimizer(0.125, 0.5)
        train = optimizer.minimize(loss, global_step=step, name="train")
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run(train, {x: [[1.0, 2.0]]})
            v1.train.Saver().save(session, str(FOLDER / "references"))
        v1.enable_resource_variables()


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    record_bundle()
    record_objects()
    record_saver()
    record_cut()
    record_references()
    (FOLDER / "checkpoint").unlink()


if __name__ == "__main__":
    main()
