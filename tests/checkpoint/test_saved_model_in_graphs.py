"""`tf.saved_model.load` while a graph of compat.v1 is built: the model becomes part of it."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


class Model(tf.Module):
    def __init__(self, path):
        super().__init__()
        self.w = tf.Variable([1.0, 2.0], name="w")
        self.steps = tf.Variable(0, name="steps", trainable=False)
        self.parts = [tf.Variable(5.0), {"k": tf.Variable([1])}]
        self.scale = tf.constant([2.0, 3.0])
        pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        self.words = tf.lookup.StaticHashTable(pairs, -1)
        self.counts = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        self.file = tf.saved_model.Asset(str(path))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def times(self, x):
        return {"y": x * self.w * self.scale}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def look(self, x):
        return self.words.lookup(x), self.counts.lookup(x)

    @tf.function(input_signature=[])
    def text(self):
        return tf.io.read_file(self.file.asset_path)

    @tf.function
    def step(self):
        self.steps.assign_add(1)
        return self.steps.read_value()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    file = folder / "words.txt"
    file.write_text("x\ny\n")
    model = Model(file)
    model.w.assign([3.0, 4.0])
    model.counts.insert(["q"], [7])
    model.step()
    made = str(folder / "saved")
    tf.saved_model.save(model, made, signatures=model.times)
    return made


def initialize(session):
    session.run(v1.global_variables_initializer())
    session.run(v1.tables_initializer())


def test_the_initializers_of_the_graph_load_it(path):
    with v1.Graph().as_default():
        model = tf.saved_model.load(path)
        x = v1.placeholder(tf.float32, [None])
        y = model.times(x)["y"]
        signed = model.signatures["serving_default"](x=x)["y"]
        words, counts = model.look(tf.constant(["a", "z", "q"]))
        gradients = tf.gradients(y, [x, model.w])
        step, text = model.step(), model.text()
        with v1.Session() as session:
            initialize(session)
            found = session.run([y, signed, *gradients], {x: [1.0, 2.0]})
            for value, expected in zip(found, [[6, 24], [6, 24], [6, 12], [2, 6]], strict=True):
                np.testing.assert_array_equal(value, expected)
            assert session.run(words).tolist() == [1, -1, -1]
            assert session.run(counts).tolist() == [-1, -1, 7]
            assert session.run(text) == b"x\ny\n"
            assert [session.run(step) for _ in range(2)] == [2, 3]
            assert session.run(model.steps) == 3
            assert session.run(model.parts[1]["k"]).tolist() == [1]
            session.run(model.w.assign([0.0, 1.0]))
            assert session.run(signed, {x: [1.0, 1.0]}).tolist() == [0, 3]


def test_its_variables_are_the_graphs(path):
    with v1.Graph().as_default() as graph:
        with v1.variable_scope("first"):
            model = tf.saved_model.load(path)
        with tf.name_scope("second"):
            other = tf.saved_model.load(path)
        names = [v.name for v in v1.global_variables()]
        assert {"first/w:0", "first/steps:0", "second/w:0"} <= set(names)
        assert v1.trainable_variables() == []
        assert model.w.trainable
        assert model.w.shape == [2]
        assert model.w.graph is graph
        with v1.Session() as session:
            initialize(session)
            session.run(model.w.assign([0.0, 0.0]))
            assert session.run([model.w, other.w])[1].tolist() == [3, 4]


def test_nothing_has_a_value_before(path):
    with v1.Graph().as_default(), v1.Session() as session:
        model = tf.saved_model.load(path)
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(model.times(tf.constant([1.0, 2.0])))


def test_without_the_checkpoint_there_is_no_initializer(path):
    options = tf.saved_model.LoadOptions(experimental_skip_checkpoint=True)
    with v1.Graph().as_default():
        model = tf.saved_model.load(path, options=options)
        assert model.w.initializer is None
        with v1.Session() as session:
            session.run(model.w.assign([5.0, 6.0]))
            found = session.run(model.times(tf.constant([1.0, 1.0]))["y"])
            assert found.tolist() == [10, 18]


def test_a_saver_saves_what_was_loaded(path, tmp_path):
    with v1.Graph().as_default():
        model = tf.saved_model.load(path)
        saver = v1.train.Saver([model.w])
        with v1.Session() as session:
            initialize(session)
            session.run(model.w.assign([8.0, 9.0]))
            saved = saver.save(session, str(tmp_path / "w"))
        with v1.Session() as session:
            saver.restore(session, saved)
            assert session.run(model.w).tolist() == [8, 9]


def test_a_model_that_a_session_wrote(tmp_path):
    made = str(tmp_path / "session")
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.string, [None])
        pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 2.0])
        table = tf.lookup.StaticHashTable(pairs, -1.0)
        weight = v1.get_variable("weight", [], initializer=v1.constant_initializer(7.0))
        y = table.lookup(x) * weight
        initialize(session)
        v1.saved_model.simple_save(
            session, made, {"x": x}, {"y": y}, legacy_init_op=v1.tables_initializer()
        )
    with v1.Graph().as_default():
        y = tf.saved_model.load(made).signatures["serving_default"](tf.constant(["b", "z"]))["y"]
        with v1.Session() as session:
            initialize(session)
            assert session.run(y).tolist() == [14, -7]


def test_a_function_that_loads_it_has_eager_variables(path):
    @tf.function
    def function(x):
        return tf.saved_model.load(path).times(x)["y"]

    assert function(tf.constant([1.0, 1.0])).numpy().tolist() == [6, 12]


def test_initializers_of_variables_without_values_are_refused_by_name(path):
    options = tf.saved_model.LoadOptions(experimental_skip_checkpoint=True)
    with tf.Graph().as_default(), v1.Session() as session:
        model = tf.saved_model.load(path, options=options)
        with pytest.raises(TypeError, match=r"in_graphs.py:.*got w:0, .*skip_check"):
            v1.global_variables_initializer()
        given = model.w.assign([8.0, 9.0])
        session.run(given)
        assert session.run(model.w).tolist() == [8.0, 9.0]
