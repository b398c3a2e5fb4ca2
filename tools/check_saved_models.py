"""Check by hand that TensorFlow loads the SavedModels that Penstock writes.

python tools/check_saved_models.py write FOLDER                        # with Penstock
path/to/tensorflow/bin/python tools/check_saved_models.py read FOLDER  # with TensorFlow
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def make(tf: Any, vocabulary: str) -> Any:
    module = tf.Module()
    module.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
    module.items = [tf.Variable(1.0), {"a": tf.Variable(2)}]
    module.asset = tf.saved_model.Asset(vocabulary)
    bias = tf.constant([5.0, 6.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def serve(x: Any) -> Any:
        return {"y": x @ module.w + bias, "t": tf.io.read_file(module.asset.asset_path)}

    @tf.function
    def scaled(x: Any, times: int = 2, *, more: Any = None) -> Any:
        for _ in range(times):
            x = x * module.items[0]
        if tf.reduce_sum(x) > 0:
            x = x + 1
        return x, x

    scaled(tf.ones([2]))
    scaled(tf.ones([3]), 3)
    module.serve, module.scaled = serve, scaled
    return module


def write(tf: Any, folder: str) -> None:
    path = f"{folder}/vocabulary.txt"
    with open(path, "w") as file:
        file.write("words")
    module = make(tf, path)
    tf.saved_model.save(module, f"{folder}/objects", signatures={"serving_default": module.serve})
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]])
        y = tf.matmul(x, w) + tf.constant([5.0, 6.0])
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, f"{folder}/session", {"x": x}, {"y": y})


def read(tf: Any, folder: str) -> None:
    x = tf.constant([[1.0, 1.0]])
    loaded = tf.saved_model.load(f"{folder}/objects")
    for result in (loaded.serve(x), loaded.signatures["serving_default"](x=x)):
        assert result["y"].numpy().tolist() == [[9.0, 12.0]]
        assert result["t"].numpy() == b"words"
    assert loaded.scaled(tf.ones([3]), 3)[1].numpy().tolist() == [2.0, 2.0, 2.0]
    assert loaded.items[1]["a"].numpy() == 2
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(loaded.serve(x)["y"])
    assert tape.gradient(total, loaded.w).numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]
    serve = tf.saved_model.load(f"{folder}/session").signatures["serving_default"]
    assert serve(x=x)["y"].numpy().tolist() == [[9.0, 12.0]]
    for name in ("objects", "session"):
        read_in_session(tf, f"{folder}/{name}")
    print("TensorFlow loads both models.")


def read_in_session(tf: Any, folder: str) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        meta_graph = v1.saved_model.load(session, ["serve"], folder)
        signature = meta_graph.signature_def["serving_default"]
        output, fed = signature.outputs["y"].name, signature.inputs["x"].name
        assert session.run(output, {fed: [[1.0, 1.0]]}).tolist() == [[9.0, 12.0]]


if __name__ == "__main__":
    action, target = sys.argv[1:]
    if action == "write":
        write(importlib.import_module("penstock"), target)
    else:
        read(importlib.import_module("tensorflow"), target)
