"""Queues in a `Saver`: contents, whether closed, and the order of what is shuffled."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def build():
    return {
        "fifo": tf.queue.FIFOQueue(9, [tf.float32, tf.string], [[], []], name="fifo"),
        "shuffled": tf.queue.RandomShuffleQueue(20, 0, [tf.int32], [[]], seed=3, name="shuffled"),
        "by_priority": tf.queue.PriorityQueue(9, [tf.string], [[]], name="by_priority"),
        "weights": v1.get_variable("weights", initializer=1.0),
    }


def fill(session, made):
    session.run(made["weights"].initializer)
    session.run(made["fifo"].enqueue_many([[1.0, 2.0, 3.0], ["a", "b", "c"]]))
    session.run(made["shuffled"].enqueue_many([np.arange(9)]))
    session.run(made["by_priority"].enqueue_many([np.int64([5, 1]), ["late", "early"]]))
    session.run(made["shuffled"].dequeue())
    session.run(made["fifo"].close())


def drain(session, made):
    fifo = made["fifo"]
    return [
        session.run(made["shuffled"].dequeue_many(8)).tolist(),
        session.run(fifo.dequeue_up_to(9))[1].tolist(),
        session.run(made["by_priority"].dequeue()),
        bool(session.run(fifo.is_closed())),
    ]


@pytest.mark.parametrize("given", ["dictionary", "list", "collection"])
def test_what_is_in_queues_comes_back(given, tmp_path):
    def saver(made):
        if given == "collection":
            for name in ("fifo", "shuffled", "by_priority"):
                v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, made[name])
            return v1.train.Saver()
        return v1.train.Saver(made if given == "dictionary" else list(made.values()))

    with tf.Graph().as_default(), v1.Session() as session:
        made = build()
        saves = saver(made)
        fill(session, made)
        path = saves.save(session, str(tmp_path / "model"))
        expected = drain(session, made)
    assert expected[1:] == [[b"a", b"b", b"c"], [1, b"early"], True]
    assert sorted(expected[0]) != expected[0]
    assert {name for name, _ in tf.train.list_variables(path)} == set(made)
    with tf.Graph().as_default(), v1.Session() as session:
        made = build()
        saver(made).restore(session, path)
        assert drain(session, made) == expected


def test_eagerly(tmp_path):
    queue = tf.queue.FIFOQueue(9, [tf.float32], [[]], name="rows")
    queue.enqueue_many([[1.0, 2.0]])
    saver = v1.train.Saver([queue])
    path = saver.save(None, str(tmp_path / "model"))
    assert float(queue.dequeue()) == 1.0
    saver.restore(None, path)
    assert int(queue.size()) == 2


def test_a_queue_of_another_kind_is_refused(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        queue = tf.queue.FIFOQueue(9, [tf.float32], [[]], name="rows")
        path = v1.train.Saver([queue]).save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), v1.Session() as session:
        queue = tf.queue.FIFOQueue(9, [tf.float32, tf.float32], [[], []], name="rows")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"with 2 components.*with 1"):
            v1.train.Saver([queue]).restore(session, path)


def test_names_are_unique():
    with tf.Graph().as_default():
        queue = tf.queue.FIFOQueue(9, [tf.float32], [[]], name="same")
        with pytest.raises(ValueError, match="same name: same"):
            v1.train.Saver([queue, queue])


# ---- tables


def make_table(kind):
    if kind == "mutable":
        return tf.lookup.experimental.MutableHashTable(tf.string, tf.int32, -1, name="t")
    return tf.lookup.experimental.DenseHashTable(tf.string, tf.int32, -1, "", "x", name="t")


@pytest.mark.parametrize("kind", ["mutable", "dense"])
def test_a_saver_saves_the_tables_of_its_graph(kind, tmp_path):
    with tf.Graph().as_default():
        table, v = make_table(kind), v1.get_variable("v", [])
        left_out = tf.lookup.experimental.MutableHashTable(
            tf.string, tf.int32, -1, checkpoint=False
        )
        put, found = table.insert(["a", "b"], [1, 2]), table.lookup(["a", "b", "c"])
        assert v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS) == [table]
        saver = v1.train.Saver()
        with v1.Session() as session:
            session.run([v.initializer, put])
            path = saver.save(session, str(tmp_path / "ck"))
        names = [name for name, _ in tf.train.list_variables(path)]
        assert names == ["t-keys", "t-values", "v"]  # TensorFlow's
        with v1.Session() as session:
            saver.restore(session, path)
            assert session.run(found).tolist() == [1, 2, -1]
        with pytest.raises(TypeError, match="not a Variable"):
            v1.train.Saver([left_out])
        assert len(v1.train.Saver({"other": table})._saveables[0].specs) == 2


def test_meta_graphs_of_graphs_with_tables(tmp_path):
    with tf.Graph().as_default():
        make_table("mutable")
        v1.get_variable("v", [])
        message = v1.train.Saver().export_meta_graph(str(tmp_path / "meta"))
    types = [node.op for node in message.graph_def.node]
    assert types.count("LookupTableExportV2") == types.count("LookupTableImportV2") == 1
