# ruff: noqa: D102
"""Record a small SavedModel that TensorFlow wrote, for the tests that load it.

    path/to/tensorflow/bin/python tools/record_saved_models.py   # writes tests/data/saved_models

`module` has variables, a list, a dictionary, a file, functions with several traces, control flow,
captured constants and two signatures; `session` is a graph of a session with one signature.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import tensorflow as tf

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "data" / "saved_models"


class Model(tf.Module):
    """Something of everything."""

    def __init__(self, vocabulary: str) -> None:
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.b = tf.Variable([1.0, 2.0], name="b", trainable=False)
        self.c = tf.constant([5.0, 6.0])
        self.layers = [tf.Variable(1.0), tf.Module(name="inner")]
        self.table = {"a": tf.Variable(2)}
        self.asset = tf.saved_model.Asset(vocabulary)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def __call__(self, x):
        return x @ self.w + self.b + self.c

    @tf.function
    def f(self, x, n=2, *, flag=True, d=None):
        for _ in range(n):
            x = self.scale(x)
        if tf.reduce_sum(x) > 0:
            x = x + 1
        return {"out": x, "both": (x, x * 2)}

    @tf.function
    def scale(self, x):
        return x * self.layers[0]

    @tf.function
    def loop(self, x):
        i = tf.constant(0)
        while i < 3:
            x = x * self.w
            i += 1
        return x, x, None

    @tf.function(input_signature=[])
    def text(self):
        return tf.io.read_file(self.asset)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def update(self, a):
        self.layers[0].assign_add(a)
        return self.layers[0].value()


def record_module() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary.txt"
        path.write_text("a\nb\n")
        model = Model(str(path))
        model.f(tf.ones([2]))
        model.f(tf.ones([3]), 3)
        model.f(tf.ones([2]), d={"k": tf.ones([1])})
        model.loop(tf.ones([2, 2]))
        model.concrete = model.f.get_concrete_function(tf.TensorSpec([None], tf.float32))
        signatures = {"serving_default": model.__call__, "update": model.update}
        tf.saved_model.save(model, str(FOLDER / "module"), signatures=signatures)


def record_session() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
        y = tf.matmul(x, w, name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(FOLDER / "session"), {"x": x}, {"y": y})


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    record_module()
    record_session()
