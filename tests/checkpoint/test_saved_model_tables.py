"""Lookup tables in SavedModels: of objects and of sessions, ours and TensorFlow's."""

import pathlib

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
RECORDED = pathlib.Path(__file__).parents[1] / "data" / "saved_models"
KEYS = ["x", "p", "a", "b", "zz"]
EXPECTED = {
    "static": [1, -1, -1, -1, -1],
    "file": [-1, -1, 0, 1, -1],
    "vocabulary": [3, 4, 0, 1, 3],
    "mutable": [[0, 0], [1, 2], [0, 0], [0, 0], [0, 0]],
}


def lines_of(path):
    path.write_text("a\nb\nc\n")
    index = tf.lookup.TextFileIndex
    return tf.lookup.TextFileInitializer(
        str(path), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )


class Tables(tf.Module):
    def __init__(self, folder):
        super().__init__()
        pairs = tf.lookup.KeyValueTensorInitializer(["x", "y"], [1, 2])
        self.static = tf.lookup.StaticHashTable(pairs, -1)
        self.file = tf.lookup.StaticHashTable(lines_of(folder / "words.txt"), -1)
        self.vocabulary = tf.lookup.StaticVocabularyTable(lines_of(folder / "words.txt"), 2)
        self.mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0.0, 0.0])
        self.mutable.insert(["p", "q"], [[1.0, 2.0], [3.0, 4.0]])
        self.dense = tf.lookup.experimental.DenseHashTable(
            tf.int64, tf.int64, -1, empty_key=-1, deleted_key=-2, initial_num_buckets=8
        )
        self.dense.insert([5, 6], [50, 60])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="k")])
    def look(self, k):
        return {name: getattr(self, name).lookup(k) for name in EXPECTED}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, name="k")])
    def look_dense(self, k):
        return self.dense.lookup(k)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None, 2])])
    def insert(self, k, v):
        self.mutable.insert(k, v)
        return self.mutable.size()


def save_ours(tmp_path):
    model = Tables(tmp_path)
    tf.saved_model.save(model, tmp_path / "model", signatures=model.look)
    (tmp_path / "words.txt").unlink()
    return tmp_path / "model"


def check(found):
    assert sorted(found) == sorted(EXPECTED)
    for name, expected in EXPECTED.items():
        np.testing.assert_array_equal(found[name], expected, name)


def check_in_a_session(path):
    with tf.Graph().as_default(), v1.Session() as session:
        signature = v1.saved_model.load(session, ["serve"], path).signature_def["serving_default"]
        fetches = {name: info.name for name, info in signature.outputs.items()}
        check(session.run(fetches, {signature.inputs["k"].name: KEYS}))


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_tables_come_back_filled(tmp_path, whose):
    path = save_ours(tmp_path) if whose == "ours" else RECORDED / "tables"
    loaded = tf.saved_model.load(path)
    check(loaded.look(KEYS))
    check(loaded.signatures["serving_default"](tf.constant(KEYS)))
    assert loaded.look_dense([5, 6, 7]).numpy().tolist() == [50, 60, -1]
    assert loaded.insert(["r"], [[7.0, 8.0]]).numpy() == 3
    assert loaded.look(["r"])["mutable"].numpy().tolist() == [[7.0, 8.0]]
    check_in_a_session(path)


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_loaded_tables_are_saved_again(tmp_path, whose):
    path = save_ours(tmp_path) if whose == "ours" else RECORDED / "tables"
    loaded = tf.saved_model.load(path)
    loaded.insert(["r"], [[7.0, 8.0]])
    tf.saved_model.save(loaded, tmp_path / "again", signatures=dict(loaded.signatures))
    again = tf.saved_model.load(tmp_path / "again")
    check(again.look(KEYS))
    assert again.look(["r"])["mutable"].numpy().tolist() == [[7.0, 8.0]]
    assert again.look_dense([5, 6, 7]).numpy().tolist() == [50, 60, -1]
    check_in_a_session(tmp_path / "again")


def test_two_loaded_models_have_tables_of_their_own():
    one, two = (tf.saved_model.load(RECORDED / "tables") for _ in range(2))
    one.insert(["r"], [[7.0, 8.0]])
    assert two.look(["r"])["mutable"].numpy().tolist() == [[0.0, 0.0]]


def test_two_tables_in_one_program_stay_two_in_a_session(tmp_path):
    module = tf.Module()
    for name, value in (("one", 1), ("two", 2)):
        init = tf.lookup.KeyValueTensorInitializer(["a"], [value])
        setattr(module, name, tf.lookup.StaticHashTable(init, -1))
    module.f = tf.function(
        lambda k: {"one": module.one.lookup(k), "two": module.two.lookup(k)},
        [tf.TensorSpec([], tf.string, name="k")],
    )
    tf.saved_model.save(module, tmp_path)
    with tf.Graph().as_default(), v1.Session() as session:
        signature = v1.saved_model.load(session, ["serve"], tmp_path).signature_def
        outputs = signature["serving_default"].outputs
        fetches = {name: info.name for name, info in outputs.items()}
        fed = signature["serving_default"].inputs["k"].name
        assert session.run(fetches, {fed: "a"}) == {"one": 1, "two": 2}


def test_loaded_tables_take_part_in_checkpoints(tmp_path):
    loaded = tf.saved_model.load(RECORDED / "tables")
    saved = tf.train.Checkpoint(model=loaded).write(tmp_path / "c")
    names = dict(tf.train.list_variables(saved))
    assert names["model/mutable/.ATTRIBUTES/table-values"] == [2, 2]
    loaded.insert(["p", "r"], [[9.0, 9.0], [7.0, 8.0]])
    tf.train.Checkpoint(model=loaded).read(saved).assert_consumed()
    assert loaded.look(["p", "r"])["mutable"].numpy().tolist() == [[1.0, 2.0], [0.0, 0.0]]


def test_a_checkpoint_says_of_a_table_what_tensorflow_reads(tmp_path):
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    saved = tf.train.Checkpoint(t=table).write(tmp_path / "c")
    contents = tf.train.load_checkpoint(saved)
    text = contents.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")
    message = tf.proto.trackable_object_graph_pb2.TrackableObjectGraph.FromString(text)
    found = [(each.name, each.checkpoint_key) for each in message.nodes[1].attributes]
    assert found == [("table", "t/.ATTRIBUTES/table")]


def test_buckets_without_a_vocabulary(tmp_path):
    module = tf.Module()
    module.table = tf.lookup.StaticVocabularyTable(None, 3)
    module.f = tf.function(module.table.lookup, [tf.TensorSpec([None], tf.string)])
    expected = module.f(KEYS)
    tf.saved_model.save(module, tmp_path)
    np.testing.assert_array_equal(tf.saved_model.load(tmp_path).f(KEYS), expected)


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_tables_of_a_session_load_eagerly(tmp_path, whose):
    path = RECORDED / "session_tables"
    if whose == "ours":
        path = save_session(tmp_path)
    expected = {"number": [0, 2, -1, -1], "weight": [10.0, -2.0, 12.0, -2.0]}
    loaded = tf.saved_model.load(path)
    tf.saved_model.save(loaded, tmp_path / "again", signatures=dict(loaded.signatures))
    for model in (loaded, tf.saved_model.load(tmp_path / "again")):
        found = model.signatures["serving_default"](tf.constant(["a", "c", "z", "q"]))
        assert {k: v.numpy().tolist() for k, v in found.items()} == expected


def save_session(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        k = v1.placeholder(tf.string, [None], name="k")
        numbers = v1.lookup.StaticHashTable(lines_of(tmp_path / "words.txt"), -1)
        files = v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS)
        assert len(files) == 1
        pairs = tf.lookup.KeyValueTensorInitializer(["a", "z"], [5.0, 6.0])
        weights = v1.lookup.StaticHashTable(pairs, -1.0)
        w = v1.get_variable("w", initializer=[1.0, 2.0])
        start = v1.tables_initializer()
        session.run([v1.global_variables_initializer(), start])
        outputs = {"number": numbers.lookup(k), "weight": weights.lookup(k) * w[1]}
        builder = v1.saved_model.Builder(tmp_path / "model")
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": v1.saved_model.predict_signature_def({"k": k}, outputs)},
            assets_collection=files,
            legacy_init_op=start,
        )
        builder.save()
    (tmp_path / "words.txt").unlink()
    return tmp_path / "model"


def test_mutable_tables_of_a_session_load_eagerly(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        k = v1.placeholder(tf.int64, [None], name="k")
        mutable = tf.lookup.experimental.MutableHashTable(tf.int64, tf.string, "none")
        dense = tf.lookup.experimental.DenseHashTable(
            tf.int64, tf.float32, [0.0, 0.0], empty_key=0, deleted_key=-1
        )
        keys = tf.constant([1, 2], tf.int64)
        fill = [mutable.insert(keys, ["one", "two"]), dense.insert(keys, [[1.0, 1.5], [2.0, 2.5]])]
        outputs = {"word": mutable.lookup(k), "pair": dense.lookup(k)}
        v1.saved_model.simple_save(
            session, tmp_path, {"k": k}, outputs, legacy_init_op=tf.group(*fill)
        )
    serve = tf.saved_model.load(tmp_path).signatures["serving_default"]
    found = serve(tf.constant([2, 3], tf.int64))
    assert found["word"].numpy().tolist() == [b"two", b"none"]
    assert found["pair"].numpy().tolist() == [[2.0, 2.5], [0.0, 0.0]]


def test_an_unfilled_table_is_named(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        k = v1.placeholder(tf.string, [None], name="k")
        init = tf.lookup.KeyValueTensorInitializer(["a"], [5.0])
        table = v1.lookup.StaticHashTable(init, -1.0, name="lonely")
        v1.saved_model.simple_save(session, tmp_path, {"k": k}, {"v": table.lookup(k)})
    with pytest.raises(ValueError, match=r"variables and tables with values, got 'lonely'"):
        tf.saved_model.load(tmp_path)


def test_an_asset_is_converted_to_its_path():
    asset = tf.saved_model.Asset("/folder/words")
    assert tf.convert_to_tensor(asset).numpy() == b"/folder/words"
    assert tf.strings.join([asset, ".txt"]).numpy() == b"/folder/words.txt"
