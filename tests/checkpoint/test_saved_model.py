"""`tf.saved_model.save` and `load`: what comes back, what is refused, damaged files."""

import contextlib
import gc
import os
import pathlib
import random
import shutil
import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock import proto
from penstock.checkpoint.saved_model.folder import asset_path
from penstock.data import structure_messages as structures

v1 = tf.compat.v1
RECORDED = pathlib.Path(__file__).parents[1] / "data" / "saved_models" / "module"
EXPECTED = (OSError, ValueError, TypeError, AssertionError, NotImplementedError, tf.errors.OpError)
X = np.array([[1.0, 2.0]], np.float32)


class Inner(tf.Module):
    @tf.function
    def go(self, x):
        return x - 1


class Model(tf.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.b = tf.Variable([1.0, 2.0], name="b", trainable=False)
        self.c = tf.constant([5.0, 6.0])
        self.layers = [tf.Variable(1.0), Inner()]
        self.pair = (tf.Variable(1.0), tf.Variable(2.0))
        self.table = {"a": tf.Variable(2)}
        self.number = 3
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
        return tf.io.read_file(self.asset.asset_path)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def update(self, a):
        self.layers[0].assign_add(a)
        return self.layers[0].value()


def save_model(tmp_path):
    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_text("a\nb\n")
    model = Model(str(vocabulary))
    model.f(tf.ones([2]))
    model.f(tf.ones([3]), 3)
    model.f(tf.ones([2]), d={"k": tf.ones([1])})
    model.loop(tf.ones([2, 2]))
    model.layers[1].go(tf.ones([]))
    model.concrete = model.f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    signatures = {"serving_default": model.__call__, "update": model.update}
    folder = tmp_path / "model"
    tf.saved_model.save(model, folder, signatures=signatures)
    vocabulary.unlink()
    return folder


def check(loaded):
    np.testing.assert_array_equal(loaded(X), X @ loaded.w.numpy() + [6.0, 8.0])
    np.testing.assert_array_equal(loaded.f(tf.ones([2]))["both"][1], [4.0, 4.0])
    np.testing.assert_array_equal(loaded.f([1.0, 2.0])["out"], [2.0, 3.0])  # converted
    np.testing.assert_array_equal(loaded.f(tf.ones([3]), 3)["out"], [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(loaded.f(tf.ones([2]), d={"k": tf.ones([1])})["out"], [2.0, 2.0])
    np.testing.assert_array_equal(loaded.concrete(tf.ones([5]))["out"], np.full(5, 2.0))
    a, b, nothing = loaded.loop(tf.ones([2, 2]))
    np.testing.assert_array_equal(a, [[1.0, 8.0], [27.0, 64.0]])
    assert nothing is None
    assert np.array_equal(a, b)
    assert loaded.text().numpy() == b"a\nb\n"
    assert [v.trainable for v in (loaded.w, loaded.b)] == [True, False]
    assert loaded.w.name == "w:0"
    assert loaded.table["a"].numpy() == 2
    assert not hasattr(loaded, "number")
    assert not hasattr(loaded, "c")
    serve = loaded.signatures["serving_default"]
    assert serve.structured_input_signature == ((), {"x": tf.TensorSpec([None, 2], name="x")})
    assert serve.structured_outputs == {"output_0": tf.TensorSpec([None, 2], name="output_0")}
    np.testing.assert_array_equal(serve(x=tf.constant(X))["output_0"], loaded(X))
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(loaded(tf.ones([3, 2]))) + tf.reduce_sum(
            loaded.loop(tf.ones([2, 2]))[0]
        )
    gradient = tape.gradient(total, loaded.w)
    np.testing.assert_array_equal(gradient, [[6.0, 15.0], [30.0, 51.0]])
    inside = tf.function(lambda x: loaded(x) + 1)
    np.testing.assert_array_equal(inside(tf.constant(X)), loaded(X) + 1)
    assert loaded.update(2.0).numpy() == 3.0
    assert loaded.layers[0].numpy() == 3.0
    np.testing.assert_array_equal(loaded.f(tf.ones([2]))["out"], [10.0, 10.0])


def test_what_was_saved_comes_back_without_the_program(tmp_path):
    folder = save_model(tmp_path)
    gc.collect()
    loaded = tf.saved_model.load(folder)
    assert [v.numpy() for v in loaded.pair] == [1.0, 2.0]
    assert loaded.layers[1].go(tf.ones([])).numpy() == 0.0
    check(loaded)


def test_a_model_of_tensorflow_loads_and_runs():
    assert tf.saved_model.contains_saved_model(RECORDED)
    loaded = tf.saved_model.load(RECORDED)
    assert loaded.tensorflow_version == "2.21.0"
    reads = [
        op.outputs[0].shape.as_list()
        for op in loaded.__call__.concrete_functions[0].graph.get_operations()
        if op.type == "ReadVariableOp"
    ]
    assert reads == [[2, 2], [2]]  # the shapes of variables are known inside
    check(loaded)


@pytest.mark.parametrize("times", [1, 2])
def test_a_loaded_model_is_saved_again(tmp_path, times):
    source = RECORDED
    for i in range(times):
        loaded = tf.saved_model.load(source)
        source = tmp_path / str(i)
        tf.saved_model.save(loaded, source, signatures=dict(loaded.signatures))
        assert sorted(os.listdir(source)) == [
            "assets", "fingerprint.pb", "saved_model.pb", "variables"
        ]  # fmt: skip
    check(tf.saved_model.load(source))


def test_saving_over_a_model_replaces_it(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(1.0)
    for value in (1.0, 2.0):
        module.v.assign(value)
        tf.saved_model.save(module, tmp_path)
    assert tf.saved_model.load(tmp_path).v.numpy() == 2.0


def test_the_only_function_with_a_signature_is_the_default(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: x + 1, [tf.TensorSpec([], tf.float32, name="x")])
    module.g = tf.function(lambda x: x + 2)
    tf.saved_model.save(module, tmp_path / "one")
    assert list(tf.saved_model.load(tmp_path / "one").signatures) == ["serving_default"]
    module.h = tf.function(lambda x: x + 1, [tf.TensorSpec([], tf.float32, name="x")])
    tf.saved_model.save(module, tmp_path / "two")
    assert list(tf.saved_model.load(tmp_path / "two").signatures) == []


def test_values_made_of_several_tensors_are_arguments_and_results(tmp_path):
    module = tf.Module()
    spec = tf.SparseTensorSpec([None, 3], tf.float32)
    module.f = tf.function(lambda s: (s, tf.sparse.to_dense(s)), [spec])
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    given = tf.SparseTensor([[0, 1]], [5.0], [2, 3])
    sparse, dense = loaded.f(given)
    assert isinstance(sparse, tf.SparseTensor)
    np.testing.assert_array_equal(dense, [[0, 5, 0], [0, 0, 0]])


def test_ragged_values_load_in_a_process_that_never_made_one(tmp_path):
    module = tf.Module()
    spec = tf.RaggedTensorSpec([None, None], tf.float32)
    module.f = tf.function(lambda r: r * 2.0, [spec])
    tf.saved_model.save(module, tmp_path)
    code = (
        "import sys, penstock as tf; loaded = tf.saved_model.load(sys.argv[1]);"
        "print(loaded.f(tf.ragged.constant([[1.0, 2.0], [3.0]])).to_list())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout.strip() == "[[2.0, 4.0], [6.0]]", done.stderr


def test_objects_that_are_functions_take_part_in_checkpoints(tmp_path):
    v = tf.Variable(1.0)
    saved = tf.train.Checkpoint(v=v, f=tf.function(lambda: v + 1)).write(tmp_path / "c")
    v.assign(2.0)
    tf.train.Checkpoint(v=v, f=tf.function(lambda: v)).read(saved).assert_consumed()
    assert v.numpy() == 1.0


def test_a_function_that_makes_its_variable_is_traced_first(tmp_path):
    class Lazy(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def f(self, x):
            if not hasattr(self, "v"):
                self.v = tf.Variable(2.0)
            return x * self.v

    tf.saved_model.save(Lazy(), tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert (loaded.f([3.0]).numpy(), loaded.v.numpy()) == ([6.0], 2.0)
    assert list(loaded.signatures) == ["serving_default"]


def test_a_default_that_no_file_holds_is_named(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x, y=Inner: x)
    module.f(tf.ones([]))
    with pytest.raises(ValueError, match=r"expected a value that a SavedModel holds, got .*Inner"):
        tf.saved_model.save(module, tmp_path)


def test_optimizers_and_objects_held_twice(tmp_path):
    module = tf.Module()
    module.v = tf.Variable([1.0, 2.0])
    module.again, module.me = module.v, module
    module.functions = [tf.function(lambda x: x + 1, [tf.TensorSpec([])])]
    module.optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
    module.optimizer.minimize(lambda: tf.reduce_sum(module.v**2), var_list=[module.v])
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.v is loaded.again
    assert loaded.me is loaded
    assert loaded.functions[0](1.0).numpy() == 2.0
    names = [name for name, _ in tf.train.list_variables(tmp_path / "variables" / "variables")]
    assert "v/.OPTIMIZER_SLOT/optimizer/momentum/.ATTRIBUTES/VARIABLE_VALUE" in names


def test_a_resource_is_made_anew(tmp_path):
    class Counter(tf.saved_model.experimental.TrackableResource):
        def _create_resource(self):
            return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="counter_1")

        def _initialize(self):
            tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=7.0)

    module = tf.Module()
    module.counter = Counter()
    module.counter._initialize()
    module.f = tf.function(
        lambda: tf.raw_ops.ReadVariableOp(
            resource=module.counter.resource_handle, dtype=tf.float32
        ),
        [],
    )
    assert module.f().numpy() == 7.0
    tf.saved_model.save(module, tmp_path)
    tf.raw_ops.AssignVariableOp(resource=module.counter.resource_handle, value=1.0)
    assert tf.saved_model.load(tmp_path).f().numpy() == 7.0
    with tf.Graph().as_default(), v1.Session() as session:
        meta_graph = v1.saved_model.load(session, ["serve"], tmp_path)
        outputs = meta_graph.signature_def["serving_default"].outputs
        assert session.run(outputs["output_0"].name) == 7.0


def test_signatures_are_written_as_functions_of_keywords(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x, y: x + y, [tf.TensorSpec([], name="x"), tf.TensorSpec([])])
    tf.saved_model.save(module, tmp_path)
    data = (tmp_path / "saved_model.pb").read_bytes()
    graph = proto.saved_model_pb2.SavedModel.FromString(data).meta_graphs[0]
    (signature,) = [
        node.bare_concrete_function
        for node in graph.object_graph_def.nodes
        if "signature_wrapper" in node.bare_concrete_function.concrete_function_name
    ]
    spec = structures.decode(signature.function_spec.fullargspec, "here")
    assert (spec["args"], spec["kwonlyargs"]) == ([], ["x", "y"])
    assert list(signature.argument_keywords) == ["x", "y"]
    definitions = {op.name: op for op in graph.meta_info_def.stripped_op_list.op}
    add = definitions["AddV2"]
    assert [arg.type_attr for arg in (*add.input_arg, *add.output_arg)] == ["T", "T", "T"]


def test_tensors_that_are_defaults_are_those_of_the_signature(tmp_path):
    module = tf.Module()
    number = tf.TensorSpec([], tf.float32)
    named = tf.TensorSpec([], tf.float32, name="b")

    @tf.function(input_signature=[number, named, number])
    def f(x, y=tf.constant(3.0), z=4.0):  # noqa: B008
        return x + y + z

    module.f = f
    signatures = {"f": f, "g": f.get_concrete_function()}
    tf.saved_model.save(module, tmp_path, signatures=signatures)
    data = (tmp_path / "saved_model.pb").read_bytes()
    found = proto.saved_model_pb2.SavedModel.FromString(data).meta_graphs[0].signature_def
    assert {k: tf.make_ndarray(v) for k, v in found["f"].defaults.items()} == {"b": 3.0}
    assert not found["g"].defaults
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.f(1.0).numpy() == 8.0
    with pytest.raises(TypeError, match="missing a required argument: 'b'"):
        loaded.signatures["f"](x=tf.constant(1.0), z=tf.constant(1.0))


def test_trained_after_loading_as_before(tmp_path):
    tf.saved_model.save(tf.saved_model.load(RECORDED), tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    before = loaded.w.numpy()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(loaded(X))
    loaded.w.assign_sub(0.1 * tape.gradient(loss, loaded.w))
    np.testing.assert_allclose(loaded.w, before - 0.1 * np.array([[1, 1], [2, 2]]), rtol=1e-6)


def test_values_come_from_the_file_or_not_at_all(tmp_path):
    module = tf.Module()
    module.v = tf.Variable([1.0, 2.0])
    tf.saved_model.save(module, tmp_path)
    options = tf.saved_model.LoadOptions(experimental_skip_checkpoint=True)
    empty = tf.saved_model.load(tmp_path, options=options)
    with pytest.raises(tf.errors.FailedPreconditionError):
        empty.v.read_value()
    shutil.rmtree(tmp_path / "variables")
    with pytest.raises(FileNotFoundError, match="experimental_skip_checkpoint"):
        tf.saved_model.load(tmp_path)


def test_function_aliases(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: x + 1, [tf.TensorSpec([], tf.float32)])
    options = tf.saved_model.SaveOptions(function_aliases={"plus": module.f})
    tf.saved_model.save(module, tmp_path, options=options)
    options = tf.saved_model.LoadOptions(experimental_load_function_aliases=True)
    loaded = tf.saved_model.load(tmp_path, options=options)
    assert loaded.function_aliases == {"plus": loaded.f}
    assert loaded.function_aliases["plus"](tf.constant(1.0)).numpy() == 2.0


def checking():
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def f(x):
        tf.debugging.assert_positive(x)
        tf.print("seen", x)
        return tf.debugging.check_numerics(x * 2.0, "bad")

    module.f = f
    return module


def test_checks_and_prints_are_left_out_on_demand(tmp_path, capfd):
    module = checking()
    options = tf.saved_model.SaveOptions(experimental_debug_stripper=True)
    tf.saved_model.save(module, tmp_path, signatures=module.f, options=options)
    data = (tmp_path / "saved_model.pb").read_bytes()
    graph = proto.saved_model_pb2.SavedModel.FromString(data).meta_graphs[0].graph_def
    kinds = {n.op for n in graph.node} | {n.op for f in graph.library.function for n in f.node_def}
    assert not kinds & {"Assert", "CheckNumerics", "PrintV2"}
    loaded = tf.saved_model.load(tmp_path)
    for found in (loaded.f([-1.0]), loaded.signatures["serving_default"]([np.inf])["output_0"]):
        assert found.numpy() in (-2.0, np.inf)
    assert "seen" not in capfd.readouterr().err
    with pytest.raises(tf.errors.InvalidArgumentError):
        module.f([-1.0])  # the program's own is as it was


def test_the_lines_of_the_program_are_saved_on_demand(tmp_path):
    module = checking()
    tf.saved_model.save(module, tmp_path / "without")
    assert not (tmp_path / "without" / "debug").exists()
    options = tf.saved_model.SaveOptions(save_debug_info=True)
    tf.saved_model.save(module, tmp_path / "with", signatures=module.f, options=options)
    info = tf.saved_model.load(tmp_path / "with").graph_debug_info
    ((_, number),) = [
        pair for pair in info.name_to_trace_id.items() if pair[0].startswith("mul@__inference_f")
    ]
    frame = info.frames_by_id[info.traces_by_id[number].frame_id[0]]
    assert info.files[frame.file_index].endswith("test_saved_model.py")
    line = pathlib.Path(__file__).read_text().splitlines()[frame.line - 1]
    assert (frame.func, "x * 2.0" in line) == ("f", True)


# ---- refusals ------------------------------------------------------------------------------------


def test_arguments_that_no_trace_takes(tmp_path):
    loaded = tf.saved_model.load(RECORDED)
    with pytest.raises(ValueError, match=r"4 option\(s\)") as caught:
        loaded.f(tf.ones([7, 7]))
    assert "shape=(7, 7)" in str(caught.value)
    assert "Option 4" in str(caught.value)
    with pytest.raises(ValueError, match="Could not find matching"):
        loaded.f(tf.ones([2]), 5)
    with pytest.raises(TypeError, match=r"shape=\(3, 3\)"):
        loaded(tf.ones([3, 3]))
    with pytest.raises(TypeError, match="x"):
        loaded.signatures["serving_default"](y=tf.ones([1, 2]))
    with pytest.raises(KeyError):
        loaded.signatures["other"]


def test_what_cannot_be_saved(tmp_path):
    module = tf.Module()
    with pytest.raises(ValueError, match="Trackable"):
        tf.saved_model.save(3, tmp_path)
    with pytest.raises(ValueError, match=r"Only `tf\.functions` with an input signature"):
        tf.saved_model.save(module, tmp_path, signatures=lambda x: x)
    with pytest.raises(ValueError, match=r"Only `tf\.functions` with an input signature"):
        tf.saved_model.save(module, tmp_path, signatures={"a": tf.function(lambda x: x)})
    nested = tf.function(lambda x: {"b": [x]}, [tf.TensorSpec([])])
    module.nested = nested
    with pytest.raises(ValueError, match="for key 'b'"):
        tf.saved_model.save(module, tmp_path, signatures=nested)
    stray = tf.Variable(1.0)
    module.f = tf.function(lambda: stray + 1, [])
    with pytest.raises(AssertionError, match="untracked"):
        tf.saved_model.save(module, tmp_path)
    with pytest.raises(AssertionError, match="not supported inside"):
        tf.function(lambda: tf.saved_model.save(tf.Module(), tmp_path))()
    with pytest.raises(ValueError, match=r"experimental_image_format.* got True.* Leave it out"):
        tf.saved_model.SaveOptions(experimental_image_format=True)
    assert not (tmp_path / "saved_model.pb").exists()


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(OSError, match="SavedModel file does not exist"):
        tf.saved_model.load(tmp_path)
    with pytest.raises(ValueError, match="incompatible argument to `tags`"):
        tf.saved_model.load(RECORDED, tags=["train"])
    assert tf.saved_model.load(RECORDED, tags="serve") is not None
    (tmp_path / "saved_model.pb").write_bytes(b"\xff\xff")
    with pytest.raises(OSError, match="Cannot parse file"):
        tf.saved_model.load(tmp_path)
    assert not tf.saved_model.contains_saved_model(tmp_path / "none")


def test_fingerprints(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(1.0)
    tf.saved_model.save(module, tmp_path / "a")
    tf.saved_model.save(module, tmp_path / "b")
    module.v.assign(2.0)
    tf.saved_model.save(module, tmp_path / "c")
    read = tf.saved_model.experimental.read_fingerprint
    a, b, c = (read(tmp_path / name) for name in "abc")
    assert a == b
    assert a.singleprint() == b.singleprint()
    assert a.checkpoint_hash != c.checkpoint_hash
    assert a.graph_def_program_hash == c.graph_def_program_hash
    assert read(RECORDED).saved_model_checksum > 0
    with pytest.raises(FileNotFoundError, match="Could not find fingerprint"):
        read(tmp_path)


# ---- damaged models ------------------------------------------------------------------------------


def changed(tmp_path, change):
    """The recorded model with its message changed."""
    shutil.copytree(RECORDED, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "saved_model.pb"
    message = proto.saved_model_pb2.SavedModel.FromString(path.read_bytes())
    change(message.meta_graphs[0])
    path.write_bytes(message.SerializeToString())
    return tmp_path


def _wait_for_arguments(graph):
    for function in graph.graph_def.library.function:
        for node in function.node_def if function.signature.input_arg else ():
            node.input.append(f"^{function.signature.input_arg[0].name}")


def test_functions_may_wait_for_their_arguments(tmp_path):
    check(tf.saved_model.load(changed(tmp_path, _wait_for_arguments)))


def _no_objects(graph):
    del graph.object_graph_def.nodes[:]


def _wild_child(graph):
    graph.object_graph_def.nodes[0].children[0].node_id = 10**6


def _wild_capture(graph):
    next(iter(graph.object_graph_def.concrete_functions.values())).bound_inputs.append(0)


def _other_outputs(graph):
    for function in graph.object_graph_def.concrete_functions.values():
        function.output_signature.string_value = "x"


def _no_functions(graph):
    del graph.graph_def.library.function[:]


def _huge_variable(graph):
    for node in graph.object_graph_def.nodes:
        if node.WhichOneof("kind") == "variable":
            node.variable.shape.dim.add(size=2**60)


def _escaping_asset(graph):
    graph.asset_file_def[0].filename = "../../secret"


def _no_constant(graph):
    for node in graph.object_graph_def.nodes:
        if node.WhichOneof("kind") == "constant":
            node.constant.operation = "gone"


def _newer(graph):
    graph.graph_def.versions.min_consumer = 10**6


@pytest.mark.parametrize(
    "change",
    [_no_objects, _wild_child, _wild_capture, _other_outputs, _no_functions, _huge_variable,
     _escaping_asset, _no_constant, _newer],
)  # fmt: skip
def test_models_that_contradict_themselves_are_refused(tmp_path, change):
    with pytest.raises((ValueError, tf.errors.OpError)) as caught:
        tf.saved_model.load(changed(tmp_path, change))
    assert len(str(caught.value)) > 40


def test_damaged_bytes_never_crash(tmp_path):
    source = (RECORDED / "saved_model.pb").read_bytes()
    shutil.copytree(RECORDED, tmp_path, dirs_exist_ok=True)
    chosen = random.Random(7)
    loaded = 0
    for _ in range(60):
        data = bytearray(source)
        if chosen.random() < 0.3:
            del data[chosen.randrange(len(data)) :]
        for _ in range(chosen.choice([0, 1, 3, 20])):
            if data:
                data[chosen.randrange(len(data))] = chosen.randrange(256)
        (tmp_path / "saved_model.pb").write_bytes(data)
        with contextlib.suppress(*EXPECTED):
            tf.saved_model.load(tmp_path)
            loaded += 1
    assert loaded < 60


def test_an_asset_stays_in_its_folder():
    for name in ("/etc/passwd", "../x", "a/../../x", ""):
        with pytest.raises(ValueError, match="assets inside its folder"):
            asset_path("/model", name)
    assert asset_path("/model", "a/../x").endswith("x")


@pytest.mark.parametrize(
    "value",
    [None, True, -3, 2.5, "x", [1, (2, {"a": None})], tf.float32, tf.TensorShape([None, 2]),
     tf.TensorSpec([None, 2], tf.int32, "n"), tf.SparseTensorSpec([None, 3], tf.int64)],
)  # fmt: skip
def test_structures_come_back(value):
    assert structures.decode(structures.encode(value), "here") == value


def test_structures_that_no_message_holds():
    for value in (object(), 2**70, {1: 2}, b"x", 1j):
        with pytest.raises(structures.NotEncodable, match="expected a value"):
            structures.encode(value)
    with pytest.raises(ValueError, match="here: expected a value"):
        structures.decode(proto.struct_pb2.StructuredValue(), "here")


@pytest.mark.parametrize(
    ("specs", "names"),
    [
        (({"q": tf.TensorSpec([]), "r": tf.TensorSpec([])},), ["x", "x_1"]),
        (([tf.TensorSpec([], name="own"), tf.TensorSpec([])],), ["own", "x"]),
        ((tf.TensorSpec([]), tf.TensorSpec([]), tf.TensorSpec([])), ["rest_0", "rest_1", "x"]),
        ((tf.RaggedTensorSpec([None, None]),), ["x", "x_1"]),
    ],
    ids=["dictionary", "list", "variadic", "ragged"],
)
def test_inputs_of_signatures_are_named_as_tensorflow_names_them(tmp_path, specs, names):
    function = tf.function(lambda x, *rest: tf.constant(1.0), input_signature=specs)
    tf.saved_model.save(tf.Module(), tmp_path, signatures=function)
    signature = tf.saved_model.load(tmp_path).signatures["serving_default"]
    assert sorted(signature.structured_input_signature[1]) == names


def test_a_signature_gives_tensors(tmp_path):
    function = tf.function(lambda x: None, input_signature=[tf.TensorSpec([])])
    with pytest.raises(ValueError, match="non-Tensor value None"):
        tf.saved_model.save(tf.Module(), tmp_path, signatures=function)
