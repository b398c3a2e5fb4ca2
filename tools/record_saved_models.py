# ruff: noqa: D102
"""Record small SavedModels that TensorFlow wrote, for the tests that load them.

    path/to/tensorflow/bin/python tools/record_saved_models.py [NAME...]

writes them, or those named, to `tests/data/saved_models`. `module` has variables, a list, a
dictionary, a file, functions with several traces, control flow, captured constants and two
signatures; `session` is a graph of a session with one signature; `tables` has a lookup table of
each kind; `session_tables` is a graph of a session with tables, a file and a `legacy_init_op`;
`loops` has loops, branches and lists of tensors, for their gradients; `gradients` has gradients of
`tf.custom_gradient`, of which one closes over a value of its function and a variable.
"""

from __future__ import annotations

import shutil
import sys
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


def words_file(folder: str) -> tf.lookup.TextFileInitializer:
    """What fills a table with the numbers of a file's lines."""
    path = Path(folder) / "words.txt"
    path.write_text("a\nb\nc\n")
    index = tf.lookup.TextFileIndex
    return tf.lookup.TextFileInitializer(
        str(path), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )


class Tables(tf.Module):
    """A lookup table of each kind."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        pairs = tf.lookup.KeyValueTensorInitializer(["x", "y"], [1, 2])
        self.static = tf.lookup.StaticHashTable(pairs, -1)
        self.file = tf.lookup.StaticHashTable(words_file(folder), -1)
        self.vocabulary = tf.lookup.StaticVocabularyTable(words_file(folder), 2)
        self.mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])
        self.mutable.insert(["p", "q"], [[1.0, 2.0], [3.0, 4.0]])
        self.dense = tf.lookup.experimental.DenseHashTable(
            tf.int64, tf.int64, -1, empty_key=-1, deleted_key=-2, initial_num_buckets=8
        )
        self.dense.insert([5, 6], [50, 60])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="k")])
    def look(self, k):
        return {
            "static": self.static.lookup(k),
            "file": self.file.lookup(k),
            "vocabulary": self.vocabulary.lookup(k),
            "mutable": self.mutable.lookup(k),
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, name="k")])
    def look_dense(self, k):
        return self.dense.lookup(k)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None, 2])])
    def insert(self, k, v):
        self.mutable.insert(k, v)
        return self.mutable.size()


def record_tables() -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Tables(folder)
        tf.saved_model.save(model, str(FOLDER / "tables"), signatures=model.look)


def record_session_tables() -> None:
    v1 = tf.compat.v1
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), v1.Session() as session:
        k = v1.placeholder(tf.string, [None], name="k")
        numbers = v1.lookup.StaticHashTable(words_file(folder), -1)
        keys, values = tf.constant(["a", "z"]), tf.constant([5.0, 6.0])
        pairs = tf.lookup.KeyValueTensorInitializer(keys, values)
        weights = v1.lookup.StaticHashTable(pairs, -1.0)
        w = v1.get_variable("w", initializer=[1.0, 2.0])
        start = v1.tables_initializer()
        session.run([v1.global_variables_initializer(), start])
        outputs = {"number": numbers.lookup(k), "weight": weights.lookup(k) * w[1]}
        signature = v1.saved_model.predict_signature_def({"k": k}, outputs)
        builder = v1.saved_model.Builder(str(FOLDER / "session_tables"))
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature},
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            legacy_init_op=start,
        )
        builder.save()


class Loops(tf.Module):
    """Control flow whose gradients are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def scan(self, xs):
        return tf.scan(lambda a, x: tf.tanh(a * self.w + x), xs, initializer=tf.zeros([2]))

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.int32)])
    def nested(self, x, n):
        for _ in tf.range(n):
            j = 0
            while j < 2:
                x = x * self.w
                j += 1
            x = tf.cond(x > 10.0, lambda: x - self.w, lambda: x + 1.0)  # noqa: B023
        return x

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def listed(self, xs):
        n = tf.shape(xs)[0]
        array = tf.TensorArray(tf.float32, n)
        for i in tf.range(n):
            array = array.write(i, xs[i] * self.w)
        return tf.reduce_sum(array.stack() ** 2)


def record_loops() -> None:
    tf.saved_model.save(Loops(), str(FOLDER / "loops"))


class Gradients(tf.Module):
    """Gradients that are not those of the operations."""

    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable(3.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def plain(self, x):
        return tf.custom_gradient(lambda x: (x * x, lambda g: g * 100.0))(x)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def closing(self, x):
        @tf.custom_gradient
        def scaled(x):
            y = tf.exp(x)

            def gradient(g, variables=None):
                return g * y * self.v * 7.0, [g * x for _ in variables]

            return y * self.v, gradient

        return scaled(x)


def record_gradients() -> None:
    tf.saved_model.save(Gradients(), str(FOLDER / "gradients"))


RECORDS = {
    "loops": record_loops,
    "gradients": record_gradients,
    "module": record_module,
    "session": record_session,
    "tables": record_tables,
    "session_tables": record_session_tables,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or RECORDS:
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        FOLDER.mkdir(parents=True, exist_ok=True)
        RECORDS[name]()
