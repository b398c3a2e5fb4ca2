"""A Saver restores checkpoints of objects by the names that their variables had."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


class Model(tf.Module):
    def __init__(self):
        self.first = tf.Variable([1.0, 2.0], name="a")
        self.inner = {"text": tf.Variable("x", name="scope/c")}


@pytest.fixture
def path(tmp_path):
    return tf.train.Checkpoint(model=Model()).save(str(tmp_path / "objects"))


def variables():
    a = v1.get_variable("a", initializer=[0.0, 0.0])
    with v1.variable_scope("scope"):
        return a, v1.get_variable("c", initializer="")


def test_in_a_session(path):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        a, c = variables()
        saver = v1.train.Saver()
        graph.finalize()
        saver.restore(session, path)
        assert session.run(a).tolist() == [1.0, 2.0]
        assert session.run(c) == b"x"


def test_by_a_saver_of_an_imported_graph(path):
    with tf.Graph().as_default():
        variables()
        meta = v1.train.Saver().export_meta_graph()
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(meta).restore(session, path)
        assert session.run("scope/c/Read/ReadVariableOp:0") == b"x"


def test_eagerly(path):
    a, c = tf.Variable([0.0, 0.0]), tf.Variable("")
    v1.train.Saver({"a": a, "scope/c": c}).restore(None, path)
    assert a.numpy().tolist() == [1.0, 2.0]
    assert c.numpy() == b"x"


def test_what_was_written_by_names_goes_into_objects(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        variables()
        session.run(v1.global_variables_initializer())
        path = v1.train.Saver().save(session, str(tmp_path / "names"))
    model = Model()
    tf.train.Checkpoint(model=model).restore(path).assert_existing_objects_matched()
    assert model.first.numpy().tolist() == [0.0, 0.0]


def test_names_that_are_missing_are_said(path):
    other = {"a": [0.0, 0.0], "nowhere": 1.0}
    with tf.Graph().as_default(), v1.Session() as session:
        for name, value in other.items():
            v1.get_variable(name, initializer=value)
        with pytest.raises(tf.errors.NotFoundError, match=r"expected \['nowhere'\].*'scope/c'"):
            v1.train.Saver().restore(session, path)
    made = {name: tf.Variable(value) for name, value in other.items()}
    with pytest.raises(tf.errors.NotFoundError, match="1 names are in both"):
        v1.train.Saver(made).restore(None, path)


@pytest.mark.parametrize(
    ("initial", "text"), [([0, 0], "expected dtype int32, got float"), (np.zeros(3, "f"), "shape")]
)
def test_what_does_not_fit_is_refused(path, initial, text):
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("a", initializer=initial)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            v1.train.Saver().restore(session, path)


def test_a_damaged_name_in_an_imported_graph_is_not_found(path):
    with tf.Graph().as_default():
        variables()
        meta = v1.train.Saver().export_meta_graph()
    (names,) = [n for n in meta.graph_def.node if n.name == "save/RestoreV2/tensor_names"]
    names.attr["value"].tensor.string_val[0] = b"\xff"
    with tf.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(meta)
        with pytest.raises(tf.errors.NotFoundError, match=r"\\xff"):
            saver.restore(session, path)
