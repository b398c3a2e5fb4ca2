"""The first generation's SavedModels: building, loading into sessions, descriptions."""

import pathlib

import numpy as np
import pytest

import penstock as tf
from penstock import proto

v1 = tf.compat.v1
sm = v1.saved_model
RECORDED = pathlib.Path(__file__).parents[1] / "data" / "saved_models"


def build(tmp_path, as_text=False):
    """A model of two graphs with a file, and what the folder is."""
    path = tmp_path / "model"
    (tmp_path / "words.txt").write_text("hello")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]])
        name = tf.constant(str(tmp_path / "words.txt"), name="words")
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, name)
        text = v1.get_variable("text", initializer="", trainable=False, collections=["local"])
        start = v1.assign(text, tf.io.read_file(name)).op
        y = tf.matmul(x, w, name="y")
        session.run(v1.global_variables_initializer())
        signature = sm.predict_signature_def({"x": x}, {"y": y})
        builder = sm.Builder(path)
        with pytest.raises(AssertionError, match="has not been saved yet"):
            builder.add_meta_graph(["serve"])
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature},
            assets_collection=[name],
            main_op=start,
        )
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(session, ["serve"])
        builder.add_meta_graph(
            ["other", "train"], {"o": signature}, clear_devices=True, strip_default_attrs=True
        )
        saved = builder.save(as_text)
        assert saved.endswith(b".pbtxt" if as_text else b".pb")
    (tmp_path / "words.txt").unlink()
    return path


@pytest.mark.parametrize("as_text", [False, True])
def test_a_graph_of_a_session_comes_back(tmp_path, as_text):
    path = build(tmp_path, as_text)
    assert sm.maybe_saved_model_directory(path)
    with tf.Graph().as_default(), v1.Session() as session:
        meta_graph = sm.loader.load(session, ["serve"], path)
        signature = meta_graph.signature_def["serving_default"]
        fed, fetched = signature.inputs["x"].name, signature.outputs["y"].name
        np.testing.assert_array_equal(session.run(fetched, {fed: [[1.0, 1.0]]}), [[4.0, 6.0]])
        assert session.run("text/Read/ReadVariableOp:0") == b"hello"
        assert [v.name for v in v1.global_variables()] == ["w:0"]
    with tf.Graph().as_default(), v1.Session() as session:
        sm.load(session, {"train", "other"}, path, import_scope="pre")
        result = session.run("pre/y:0", {"pre/x:0": [[1.0, 1.0]]})
        np.testing.assert_array_equal(result, [[4.0, 6.0]])
        with pytest.raises(RuntimeError, match=r"tags \['nope'\] could not be found"):
            sm.load(session, ["nope"], path)


def test_models_of_tensorflow_run_in_a_session():
    for name, output, expected in (
        ("session", "y", [[4.0, 6.0]]),
        ("module", "output_0", [[10.0, 14.0]]),
    ):
        with tf.Graph().as_default(), v1.Session() as session:
            meta_graph = sm.load(session, ["serve"], RECORDED / name)
            signature = meta_graph.signature_def["serving_default"]
            fed, fetched = signature.inputs["x"].name, signature.outputs[output].name
            np.testing.assert_array_equal(session.run(fetched, {fed: [[1.0, 1.0]]}), expected)


def test_a_model_with_objects_runs_in_a_session(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("hello")
    module = tf.Module()
    module.v = tf.Variable(2.0)
    module.asset = tf.saved_model.Asset(str(path))
    module.f = tf.function(
        lambda x: {"y": module.v * x, "t": tf.io.read_file(module.asset.asset_path)},
        [tf.TensorSpec([], name="x")],
    )
    tf.saved_model.save(module, tmp_path / "model")
    path.unlink()
    with tf.Graph().as_default(), v1.Session() as session:
        meta_graph = sm.load(session, ["serve"], tmp_path / "model")
        signature = meta_graph.signature_def["serving_default"]
        fetches = {name: info.name for name, info in signature.outputs.items()}
        assert session.run(fetches, {signature.inputs["x"].name: 3.0}) == {"y": 6.0, "t": b"hello"}


def test_simple_save(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [], name="x")
        v = v1.get_variable("v", initializer=2.0)
        session.run(v.initializer)
        sm.simple_save(session, tmp_path, {"x": x}, {"y": x * v})
        with pytest.raises(AssertionError, match="isn't empty"):
            sm.Builder(tmp_path)
    with tf.Graph().as_default(), v1.Session() as session:
        meta_graph = sm.load(session, ["serve"], tmp_path)
        output = meta_graph.signature_def["serving_default"].outputs["y"].name
        assert session.run(output, {"x:0": 3.0}) == 6.0


def test_what_the_builder_refuses(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [])
        good = sm.predict_signature_def({"x": x}, {"y": x})
        builder = sm.Builder(tmp_path)
        with pytest.raises(KeyError, match="reserved for initialization"):
            builder.add_meta_graph_and_variables(session, ["a"], {"__saved_model_init_op": good})
        with pytest.raises(TypeError, match="to be an Operation"):
            builder.add_meta_graph_and_variables(session, ["a"], main_op=3)
        empty = sm.build_signature_def({"x": proto.meta_graph_pb2.TensorInfo()})
        with pytest.raises(AssertionError, match="Invalid `tensor_info`"):
            builder.add_meta_graph_and_variables(session, ["a"], {"s": empty})
        with pytest.raises(ValueError, match="constant string scalar"):
            builder.add_meta_graph_and_variables(session, ["a"], assets_collection=[x])
        with pytest.raises(NotImplementedError, match="experimental_image_format"):
            builder.save(experimental_image_format=True)


def test_descriptions_of_tensors_lead_back_to_them():
    with pytest.raises(RuntimeError, match="not supported in eager"):
        sm.build_tensor_info(tf.constant(1))
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        sparse = v1.sparse_placeholder(tf.float32, [None, 3], name="s")
        info = sm.build_tensor_info(x)
        assert info.name == "x:0"
        assert [dim.size for dim in info.tensor_shape.dim] == [-1, 2]
        assert sm.get_tensor_from_tensor_info(info) is x
        info = sm.build_tensor_info(sparse)
        assert info.coo_sparse.values_tensor_name == "s/values:0"
        found = sm.get_tensor_from_tensor_info(info)
        assert found.values is sparse.values
        with pytest.raises(ValueError, match=r"Invalid TensorInfo\.encoding"):
            sm.get_tensor_from_tensor_info(proto.meta_graph_pb2.TensorInfo())
        with pytest.raises(KeyError, match="x"):
            sm.get_tensor_from_tensor_info(sm.build_tensor_info(x), import_scope="no")


def test_descriptions_of_calls():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        text = v1.placeholder(tf.string, [None], name="t")
        regression = sm.regression_signature_def(text, x)
        assert regression.method_name == sm.signature_constants.REGRESS_METHOD_NAME
        classification = sm.classification_signature_def(text, tf.constant(["a"]), x)
        assert sorted(classification.outputs) == ["classes", "scores"]
        for each in (regression, classification, sm.predict_signature_def({"x": x}, {"y": x})):
            assert sm.is_valid_signature(each)
        assert not sm.is_valid_signature(sm.build_signature_def())
        defaults = sm.build_signature_def({"x": sm.build_tensor_info(x)}, defaults={"x": 2.0})
        assert tf.make_ndarray(defaults.defaults["x"]) == 2.0
        with pytest.raises(ValueError, match="names of inputs"):
            sm.build_signature_def(defaults={"x": 2.0})
        for refused in (
            lambda: sm.regression_signature_def(x, x),
            lambda: sm.regression_signature_def(None, x),
            lambda: sm.regression_signature_def(text, text),
            lambda: sm.classification_signature_def(text, None, None),
            lambda: sm.classification_signature_def(text, x, None),
            lambda: sm.predict_signature_def({}, {"y": x}),
        ):
            with pytest.raises(ValueError, match=r"Regression|Classification|Prediction"):
                refused()


def test_methods_of_signatures_are_changed(tmp_path):
    path = build(tmp_path)
    updater = sm.signature_def_utils.MethodNameUpdater(path)
    updater.replace_method_name("serving_default", "other/method", tags=["serve"])
    with pytest.raises(ValueError, match="tags None does not have"):
        updater.replace_method_name("serving_default", "m")  # the other graph has none
    with pytest.raises(ValueError, match="does not have a signature_def"):
        updater.replace_method_name("serving_default", "m", tags="zz")
    updater.save()
    with tf.Graph().as_default(), v1.Session() as session:
        meta_graph = sm.load(session, ["serve"], path)
    assert meta_graph.signature_def["serving_default"].method_name == "other/method"


def test_a_session_s_model_loads_eagerly(tmp_path):
    path = build(tmp_path)
    with pytest.raises(ValueError, match="requires a `tags=` argument"):
        tf.saved_model.load(path)
    loaded = tf.saved_model.load(path, tags=["serve"])
    serve = loaded.signatures["serving_default"]
    assert serve.structured_input_signature == ((), {"x": tf.TensorSpec([None, 2], name="x")})
    x = tf.constant([[1.0, 1.0]])
    with tf.GradientTape() as tape:
        y = serve(x=x)["y"]
    np.testing.assert_array_equal(y, [[4.0, 6.0]])
    w = next(v for v in loaded.variables if v.name == "w:0")
    np.testing.assert_array_equal(tape.gradient(y, w), [[1.0, 1.0], [1.0, 1.0]])
    w.assign_add(w)
    np.testing.assert_array_equal(serve(x)["y"], [[8.0, 12.0]])
    text = next(v for v in loaded.variables if v.name == "text:0")
    assert (text.numpy(), text.trainable, w.trainable) == (b"hello", False, True)
    tf.saved_model.save(loaded, tmp_path / "again", signatures=dict(loaded.signatures))
    again = tf.saved_model.load(tmp_path / "again")
    np.testing.assert_array_equal(again.signatures["serving_default"](x)["y"], [[8.0, 12.0]])


def test_tensorflow_s_session_model_loads_eagerly():
    loaded = tf.saved_model.load(RECORDED / "session")
    result = loaded.signatures["serving_default"](x=tf.ones([1, 2]))
    np.testing.assert_array_equal(result["y"], [[4.0, 6.0]])


def test_sparse_inputs_and_missing_ones(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        sparse = v1.sparse_placeholder(tf.float32, [None, 3], name="s")
        x = v1.placeholder(tf.float32, [], name="x")
        dense = tf.sparse.to_dense(sparse)
        sm.simple_save(session, tmp_path / "good", {"s": sparse, "x": x}, {"y": dense * x, "x": x})
        sm.simple_save(session, tmp_path / "bad", {"s": sparse}, {"y": dense * x})
    serve = tf.saved_model.load(tmp_path / "good").signatures["serving_default"]
    given = tf.SparseTensor([[0, 1]], [5.0], [2, 3])
    result = serve(s=given, x=tf.constant(2.0))
    np.testing.assert_array_equal(result["y"], [[0, 10, 0], [0, 0, 0]])
    assert result["x"].numpy() == 2.0
    with pytest.raises(ValueError, match=r"an input for each placeholder .* 'x'"):
        tf.saved_model.load(tmp_path / "bad")


def test_a_damaged_collection_is_named(tmp_path):
    data = (RECORDED / "session" / "saved_model.pb").read_bytes()
    message = proto.saved_model_pb2.SavedModel.FromString(data)
    variables = message.meta_graphs[0].collection_def["variables"].bytes_list
    variables.value[0] = b"\xff\xff"
    (tmp_path / "saved_model.pb").write_bytes(message.SerializeToString())
    with pytest.raises(ValueError, match="collection 'variables': expected messages of type Varia"):
        tf.saved_model.load(tmp_path)


def test_functions_of_other_tensors_of_a_session_model(tmp_path):
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        v = v1.get_variable("v", initializer=2.0)
        y = tf.multiply(x, v, name="y")
        tf.add(x, y, name="z")
        v1.assign_add(v, 1.0, name="more")
        session.run(v.initializer)
        sm.simple_save(session, path, {"x": x}, {"y": y})
    model, five = tf.saved_model.load(path), tf.constant([5.0])
    assert model.prune("x:0", "y:0")(five).numpy() == [10.0]
    found = model.prune(["x:0"], {"y": "y:0", "zs": ["z:0"], "x": "x:0"})(five)
    assert (found["y"].numpy(), found["zs"][0].numpy(), found["x"].numpy()) == (10, 15, 5)
    assert model.prune(("y:0", "x:0"), "z:0")(five, five).numpy() == [10.0]
    more = [op for op in model.graph.get_operations() if op.type == "AssignAddVariableOp"]
    assert model.prune([], more[0])() is None
    assert model.variables[0].numpy() == 3.0
    with pytest.raises(ValueError, match="which is no input"):
        model.prune([], "y:0")
    with pytest.raises(ValueError, match="expected tensors as feeds"):
        model.prune("x", "y:0")
    with pytest.raises(KeyError, match="does not exist"):
        model.prune("x:0", "nothing:0")
