"""Meta graphs with variables of the first kind, as programs of TensorFlow 1 left them."""

from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock import proto

v1 = tf.compat.v1
DATA = Path(__file__).resolve().parents[1] / "data" / "checkpoints"
# w = 1 - 0.125 * 2 * 3 * [1, 2] after one step of tools/record_checkpoints.py
SAVED = [[0.25], [-0.5]]


@pytest.fixture(params=["", "scope"])
def imported(request):
    """A session with the restored graph, its variable w, and what names begin with."""
    prefix = f"{request.param}/" if request.param else ""
    with tf.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(
            str(DATA / "references.meta"), import_scope=request.param or None
        )
        saver.restore(session, str(DATA / "references"))
        (w,) = v1.trainable_variables()
        yield session, w, prefix


def test_names_and_shapes(imported):
    _, w, prefix = imported
    assert (w.name, w.op.type, w.op.name) == (f"{prefix}w:0", "VariableV2", f"{prefix}w")
    assert (w.shape.as_list(), w.dtype, w.trainable) == ([2, 1], tf.float32, True)
    names = [v.op.name.removeprefix(prefix) for v in v1.global_variables()]
    assert names == ["w", "global_step", "w/Momentum"]
    message = w.to_proto()
    assert (message.variable_name, message.is_resource) == (f"{prefix}w:0", False)
    assert w.initializer.name == f"{prefix}w/Assign"


def test_the_graphs_own_steps_train_it(imported):
    session, w, prefix = imported
    assert session.run(w).tolist() == SAVED
    session.run(f"{prefix}train", {f"{prefix}x:0": [[1.0, 2.0]]})
    momentum = 0.5 * np.array([[6.0], [12.0]]) + 2 * -0.75 * np.array([[1.0], [2.0]])
    np.testing.assert_allclose(session.run(w), SAVED - 0.125 * momentum)
    assert session.run(f"{prefix}global_step:0") == 2
    session.run(v1.global_variables_initializer())
    assert session.run(w).tolist() == [[1.0], [1.0]]


def test_reads_and_writes(imported):
    session, w, _ = imported
    read = [w, w.value(), w.read_value(), w + 0.0, tf.gather(w, [0, 1]), w.gather_nd([[0], [1]])]
    for value in session.run(read):
        assert value.tolist() == SAVED
    assert session.run(w.assign_add([[1.0], [1.0]])).tolist() == [[1.25], [0.5]]
    assert session.run(w[0].assign([7.0])).tolist() == [[7.0], [0.5]]
    assert session.run(w.scatter_update(tf.IndexedSlices([[9.0]], [1]))).tolist() == [[7.0], [9.0]]
    w.load([[3.0], [4.0]], session)
    assert w.eval(session).tolist() == [[3.0], [4.0]]
    assert session.run(w.is_initialized())


@pytest.mark.parametrize("optimizer", [v1.train.AdamOptimizer(0.5), v1.train.AdagradOptimizer(0.5)])
def test_new_losses_and_optimizers(imported, optimizer):
    session, w, prefix = imported
    loss = session.graph.get_tensor_by_name(f"{prefix}loss:0") + tf.reduce_sum(tf.gather(w, [1]))
    (gradient,) = tf.gradients(loss, [w])
    fed = {f"{prefix}x:0": [[1.0, 2.0]]}
    assert session.run(gradient, fed).tolist() == [[-1.5], [-2.0]]
    update = optimizer.minimize(loss, var_list=[w])
    session.run(v1.variables_initializer(optimizer.variables()))
    session.run(update, fed)
    assert (session.run(w) > SAVED).all()


def test_saved_again(imported, tmp_path):
    session, w, prefix = imported
    session.run(w.assign([[5.0], [6.0]]))
    path = v1.train.Saver().save(session, str(tmp_path / "m"))
    assert tf.train.load_variable(path, f"{prefix}w").tolist() == [[5.0], [6.0]]
    with tf.Graph().as_default(), v1.Session() as again:
        v1.train.import_meta_graph(f"{path}.meta").restore(again, path)
        (w,) = v1.trainable_variables()
        assert (w.op.type, again.run(w).tolist()) == ("VariableV2", [[5.0], [6.0]])


def test_variables_in_other_collections_are_their_handles():
    with tf.Graph().as_default():
        v1.add_to_collection("mine", v1.get_variable("v", initializer=1.0))
        message = v1.train.export_meta_graph()
    assert list(message.collection_def["mine"].node_list.value) == ["v:0"]
    with tf.Graph().as_default():
        v1.train.import_meta_graph(message)
        assert [tensor.name for tensor in v1.get_collection("mine")] == ["v:0"]


def test_collections_are_written_by_the_kind_of_their_first_value(caplog):
    class Named:
        name = "n"

    kept = {"floats": [1.5, 2], "names": [Named(), Named()], "texts": ["a", b"b"], "ints": [1, 2]}
    left_out = {"mixed": [1, "a"], "other": ["a", 1], "bools": [True], "objects": [object()]}
    with tf.Graph().as_default() as graph:
        v1.get_variable("v", [])
        tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="table")
        tf.CriticalSection(name="section").execute(lambda: tf.constant(1))
        for key, values in (kept | left_out).items():
            for value in values:
                graph.add_to_collection(key, value)
        message = v1.train.export_meta_graph()
    found = message.collection_def
    assert sorted(found) == sorted(
        [*kept, "critical_sections", "saveable_objects", "trainable_variables", "variables"]
    )
    assert list(found["floats"].float_list.value) == [1.5, 2.0]
    assert list(found["names"].node_list.value) == ["n", "n"]
    assert list(found["texts"].bytes_list.value) == [b"a", b"b"]
    assert list(found["critical_sections"].node_list.value) == ["section"]
    assert list(found["saveable_objects"].node_list.value) == ["table"]
    assert sorted(r.args[0] for r in caplog.records) == sorted(left_out)


def test_savers_in_a_meta_graph():
    with tf.Graph().as_default() as graph:
        v1.get_variable("v", [])
        savers = [v1.train.Saver(), v1.train.Saver(name="other")]
        for saver in savers:
            graph.add_to_collection("savers", saver)
        tf.identity(graph.get_tensor_by_name("save/RestoreV2:0"), name="save/mine")
        graph.add_to_collection("global_step", savers[0])  # no variable: left out
        everything = savers[1].export_meta_graph()
        one = savers[1].export_meta_graph(clear_extraneous_savers=True)
        none = v1.train.export_meta_graph(clear_extraneous_savers=True)
    assert len(everything.collection_def["savers"].bytes_list.value) == 2
    assert "global_step" not in everything.collection_def
    written = proto.saver_pb2.SaverDef.FromString(one.collection_def["savers"].bytes_list.value[0])
    assert written == savers[1].saver_def
    scopes = {n.name.partition("/")[0] for n in one.graph_def.node}
    assert scopes == {"v", "other"}
    assert {n.name.partition("/")[0] for n in none.graph_def.node} == {"v"}
    assert "savers" not in none.collection_def
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(everything)
        assert [type(s).__name__ for s in graph.get_collection("savers")] == ["Saver", "Saver"]
