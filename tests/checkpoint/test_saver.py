"""`Saver` and meta graphs: in sessions, eagerly, and with files of TensorFlow."""

import os
import pathlib

import pytest

import penstock as tf
from penstock.checkpoint import saver as saver_module
from penstock.checkpoint.saveables import SaveableObject, SaveSpec

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "checkpoints"
v1 = tf.compat.v1


@pytest.fixture
def session():
    with tf.Graph().as_default(), v1.Session() as session:
        yield session


def two_variables(session):
    a = v1.get_variable("a", initializer=[[1.0, 2.0], [3.0, 4.0]])
    parts = v1.get_variable(
        "parts",
        [5],
        initializer=v1.ones_initializer(),
        partitioner=v1.fixed_size_partitioner(2),
    )
    session.run(v1.global_variables_initializer())
    return a, parts


def cleared(session, variables):
    session.run([v.assign(tf.zeros_like(v)) for v in variables])


@pytest.mark.parametrize("name", ["saver", "sharded"])
def test_restores_what_tensorflow_wrote(session, name):
    a, parts = two_variables(session)
    cleared(session, [a, *parts])
    v1.train.Saver().restore(session, str(DATA / name))
    assert session.run(a).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert [session.run(p).tolist() for p in parts] == [[1.0] * 3, [1.0] * 2]


@pytest.mark.parametrize("scope", [None, "scope"])
def test_imports_what_tensorflow_exported(session, scope, tmp_path):
    saver = v1.train.import_meta_graph(str(DATA / "saver.meta"), import_scope=scope)
    saver.restore(session, str(DATA / "saver"))
    prefix = f"{scope}/" if scope else ""
    found = {v.name: session.run(v) for v in v1.global_variables()}
    assert found[f"{prefix}a:0"].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert set(v1.trainable_variables()) == set(v1.global_variables())
    saver.save(session, str(tmp_path / "again"))
    assert tf.train.load_variable(str(tmp_path / "again"), "parts").tolist() == [1.0] * 5


def test_writes_what_tensorflow_wrote(session, tmp_path):
    two_variables(session)
    path = v1.train.Saver().save(session, str(tmp_path / "saver"))
    for suffix in (".index", ".data-00000-of-00001"):
        ours = pathlib.Path(path + suffix).read_bytes()
        assert ours == pathlib.Path(f"{DATA / 'saver'}{suffix}").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sharded": True},
        {"restore_sequentially": True, "reshape": True},
        {"write_version": v1.train.SaverDef.V1},
        {"write_version": v1.train.SaverDef.V1, "sharded": True},
    ],
    ids=str,
)
def test_round_trip_and_max_to_keep(session, tmp_path, options):
    with tf.device("/cpu:0"):
        a, parts = two_variables(session)
    scalar = v1.get_variable("scalar", initializer=3)
    session.run(scalar.initializer)
    saver = v1.train.Saver(max_to_keep=2, **options)
    for i in range(4):
        path = saver.save(session, str(tmp_path / "m"), global_step=i)
        assert tf.train.latest_checkpoint(str(tmp_path)) == path
    left = {name.partition(".")[0].partition("-0")[0] for name in os.listdir(tmp_path)}
    assert left == {"checkpoint", "m-2", "m-3"}
    assert saver.last_checkpoints[-1] == path
    cleared(session, [a, scalar, *parts])
    saver.restore(session, path)
    assert session.run(a).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert session.run(scalar) == 3
    assert session.run(list(parts)[1]).tolist() == [1.0, 1.0]


def test_exported_and_imported(session, tmp_path):
    a, _ = two_variables(session)
    v1.add_to_collection("outputs", a + 1.0)
    v1.add_to_collection("sizes", 3)
    v1.add_to_collection("words", "text")
    v1.add_to_collection("ops", a.op)
    saver = v1.train.Saver()
    path = saver.save(session, str(tmp_path / "m"))
    as_text = str(tmp_path / "text.meta")
    saver.export_meta_graph(as_text, as_text=True, strip_default_attrs=True, clear_devices=True)
    for file in (f"{path}.meta", as_text):
        with tf.Graph().as_default() as graph, v1.Session() as again:
            v1.train.import_meta_graph(file).restore(again, path)
            (output,) = v1.get_collection("outputs")
            assert again.run(output).tolist() == [[2.0, 3.0], [4.0, 5.0]]
            assert v1.get_collection("sizes") == [3]
            assert v1.get_collection("words") == [b"text"]
            assert graph.get_collection("ops")[0].name == "a"
            assert len(v1.global_variables()) == 3
            assert v1.global_variables()[1]._get_save_slice_info().full_name == "parts"


def test_export_of_a_scope(session):
    with v1.name_scope("inner"):
        x = tf.constant(1.0, name="x")
        tf.add(x, x, name="y")
    tf.add(x, x, name="outer")
    message = v1.train.export_meta_graph(export_scope="inner")
    assert [node.name for node in message.graph_def.node] == ["x", "y"]
    with tf.Graph().as_default():
        assert v1.train.import_meta_graph(message) is None
    with v1.name_scope("crossing"):
        tf.add(x, x)
    with pytest.raises(ValueError, match=r"export_scope='crossing': .* input 'inner/x'"):
        v1.train.export_meta_graph(export_scope="crossing")


def test_names(session, tmp_path):
    a = v1.get_variable("a", initializer=[1.0, 2.0])
    b = v1.get_variable("b", initializer=[3.0, 4.0])
    session.run([a.initializer, b.initializer])
    path = v1.train.Saver({"x": a, "y": b}).save(session, str(tmp_path / "m"))
    assert tf.train.list_variables(path) == [("x", [2]), ("y", [2])]
    v1.train.Saver({"y": a}).restore(session, path)
    assert session.run(a).tolist() == [3.0, 4.0]
    reader = v1.train.NewCheckpointReader(path)
    assert reader.has_tensor("x")
    assert not reader.has_tensor("a")
    assert reader.get_tensor("x").tolist() == [1.0, 2.0]
    assert reader.get_variable_to_dtype_map() == {"x": tf.float32, "y": tf.float32}
    assert reader.debug_string() == b"x (DT_FLOAT) [2]\ny (DT_FLOAT) [2]\n"
    assert tf.train.load_variable(str(tmp_path), "x:0").tolist() == [1.0, 2.0]


def test_bad_arguments(session):
    a = v1.get_variable("a", initializer=1.0)
    for bad, kind, text in (
        ([a, a], ValueError, "At least two variables have the same name: a"),
        ("abc", TypeError, "passed in a dict or a list. Got abc"),
        ([tf.constant(1)], TypeError, "Variable to save is not a Variable"),
        ([1], TypeError, "Variable to save is not a Variable: 1"),
        ({"x": 1}, TypeError, "Not a variable: 1"),
        ({"x": [a]}, ValueError, "Slices must all be slices"),
        ({"x": a, "y": a}, ValueError, "two names: y"),
        ([], ValueError, "No variables to save"),
    ):
        with pytest.raises(kind, match=text):
            v1.train.Saver(bad)
    with pytest.raises(ValueError, match=r"expected SaverDef.V2 \(2\) .* got 7"):
        v1.train.Saver(write_version=7)
    with pytest.raises(ValueError, match="build cannot be deferred"):
        v1.train.Saver([a], defer_build=True)
    with pytest.raises(ValueError, match="must specify the save_tensor_name"):
        v1.train.Saver(saver_def=v1.train.SaverDef())
    with pytest.raises(ValueError, match=r"must be a saver_pb2.SaverDef: 3"):
        v1.train.Saver(saver_def=3)


def test_bad_paths(session, tmp_path):
    v1.get_variable("a", initializer=1.0)
    saver, folder = v1.train.Saver(), str(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.FailedPreconditionError, match="a"):
        saver.save(session, f"{folder}/m")
    session.run(v1.global_variables_initializer())
    for path, kind, text in (
        (f"{folder}/no/one/m", ValueError, "Parent directory of .*/no/one/m doesn't exist"),
        (f"{folder}/file/m", ValueError, "Parent directory of .*/file/m is a file"),
        ("", ValueError, "no path specified"),
        (3, TypeError, "save_path: expected text or a path, got 3"),
        (f"{folder}/checkpoint", ValueError, "'latest_filename' collides"),
    ):
        with pytest.raises(kind, match=text):
            saver.save(session, path)
    with pytest.raises(ValueError, match="must not contain path components"):
        saver.save(session, f"{folder}/m", latest_filename="a/b")
    with pytest.raises(TypeError, match="'sess' must be a Session; x"):
        saver.save("x", f"{folder}/m")
    with pytest.raises(ValueError, match=r"not a valid checkpoint: .*/m"):
        saver.restore(session, f"{folder}/m")
    with pytest.raises(ValueError, match="when it is None"):
        saver.restore(session, None)


def test_the_last_folder_of_a_path_is_made(session, tmp_path):
    v1.get_variable("a", initializer=1.0)
    session.run(v1.global_variables_initializer())
    saved = v1.train.Saver().save(session, str(tmp_path / "new" / "m"))
    assert tf.train.latest_checkpoint(str(tmp_path / "new")) == saved


def test_what_does_not_fit(session, tmp_path):
    a = v1.get_variable("a", initializer=[1.0, 2.0])
    b = v1.get_variable("b", initializer=[1.0, 2.0, 3.0])
    n = v1.get_variable("n", initializer=1)
    session.run(v1.global_variables_initializer())
    path = v1.train.Saver().save(session, str(tmp_path / "m"))
    with pytest.raises(tf.errors.NotFoundError, match=r"missing from the .*\n*.*Key c not found"):
        v1.train.Saver({"c": a}).restore(session, path)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"= a; .* \[3\], .*: \[2\]"):
        v1.train.Saver({"a": b}).restore(session, path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="dtype float32 does not"):
        v1.train.Saver({"n": a}, reshape=True).restore(session, path)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"2 .*3|3 .*2"):
        v1.train.Saver({"a": b}, reshape=True).restore(session, path)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"dtype int32 .* float32"):
        v1.train.Saver({"a": n}).restore(session, path)
    assert session.run(b).tolist() == [1.0, 2.0, 3.0]


def test_steps_padding_and_relative_paths(session, tmp_path):
    v1.get_variable("a", initializer=1.0)
    session.run(v1.global_variables_initializer())
    saver = v1.train.Saver(pad_step_number=True, save_relative_paths=True)
    path = saver.save(session, str(tmp_path / "m"), global_step=tf.constant(7))
    assert path == str(tmp_path / "m-00000007")
    text = (tmp_path / "checkpoint").read_text()
    assert text == (
        'model_checkpoint_path: "m-00000007"\nall_model_checkpoint_paths: "m-00000007"\n'
    )
    assert tf.train.latest_checkpoint(tmp_path) == path
    unlimited = v1.train.Saver(max_to_keep=0)
    unlimited.save(session, str(tmp_path / "n"), latest_filename="other", write_meta_graph=False)
    assert unlimited.last_checkpoints == []
    assert tf.train.latest_checkpoint(tmp_path, "other") == str(tmp_path / "n")
    assert not (tmp_path / "n.meta").exists()


def test_kept_for_good(session, tmp_path, monkeypatch):
    v1.get_variable("a", initializer=1.0)
    session.run(v1.global_variables_initializer())
    now = [1000.0]
    monkeypatch.setattr(saver_module.time, "time", lambda: now[0])
    saver = v1.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1.0)
    for i in range(5):
        now[0] += 1801.0
        saver.save(session, str(tmp_path / "m"), global_step=i, write_meta_graph=False)
    kept = sorted(n for n in os.listdir(tmp_path) if n.endswith("index"))
    assert kept == ["m-1.index", "m-3.index", "m-4.index"]


def test_last_checkpoints(session, tmp_path):
    v1.get_variable("a", initializer=1.0)
    session.run(v1.global_variables_initializer())
    saver = v1.train.Saver(max_to_keep=2)
    paths = [saver.save(session, str(tmp_path / "m"), global_step=i) for i in range(2)]
    again = v1.train.Saver(max_to_keep=2)
    again.recover_last_checkpoints([*paths, "gone"])
    assert again.last_checkpoints == paths
    again.save(session, str(tmp_path / "m"), global_step=2)
    assert not v1.train.checkpoint_exists(paths[0])
    again.set_last_checkpoints_with_time([("p", 1.0)])
    assert again.last_checkpoints == ["p"]
    again.set_last_checkpoints(["q"])
    assert again.last_checkpoints == ["q"]
    with pytest.raises(TypeError, match="expected a list"):
        again.set_last_checkpoints("q")


def test_messages(session):
    v1.get_variable("a", initializer=1.0)
    with v1.name_scope("scope"):
        saver = v1.train.Saver(keep_checkpoint_every_n_hours=2.0, max_to_keep=3)
    message = saver.to_proto()
    assert message is saver.as_saver_def()
    assert message.filename_tensor_name == "scope/save/Const:0"
    assert saver.to_proto("elsewhere") is None
    short = saver.to_proto("scope")
    assert short.restore_op_name == "save/restore_all"
    again = v1.train.Saver.from_proto(short, import_scope="scope")
    assert again.saver_def.restore_op_name == "scope/save/restore_all"
    assert again._max_to_keep == 3


def saved_elsewhere(tmp_path):
    """The prefix of a checkpoint of another graph."""
    with tf.Graph().as_default(), v1.Session() as other:
        other.run(v1.get_variable("a", initializer=2.0).initializer)
        return v1.train.Saver().save(other, str(tmp_path / "other"))


def test_deferred_and_empty(session, tmp_path):
    with pytest.raises(ValueError, match="No variables to save"):
        v1.train.Saver()
    empty = v1.train.Saver(allow_empty=True)
    assert empty.save(session, str(tmp_path / "e")) is None
    empty.restore(session, str(tmp_path / "e"))
    existing = saved_elsewhere(tmp_path)
    deferred = v1.train.Saver(defer_build=True)
    assert deferred.saver_def is None
    v1.get_variable("a", initializer=1.0)
    session.run(v1.global_variables_initializer())
    for use in (deferred.save, deferred.restore):
        with pytest.raises(RuntimeError, match=r"Call saver\.build"):
            use(session, existing)
    deferred.build()
    path = deferred.save(session, str(tmp_path / "m"))
    assert tf.train.list_variables(path) == [("a", [])]


def test_other_state(session, tmp_path):
    v = v1.get_variable("v", initializer=[1.0, 2.0])

    class Doubled(SaveableObject):
        def __init__(self):
            super().__init__(v, [SaveSpec(v * 2.0, "", "doubled")], "doubled")

        def restore(self, restored_tensors, restored_shapes):
            return v.assign(restored_tensors[0] / 2.0)

    session.run(v.initializer)
    saver = v1.train.Saver([Doubled()])
    path = saver.save(session, str(tmp_path / "m"))
    assert tf.train.load_variable(path, "doubled").tolist() == [2.0, 4.0]
    cleared(session, [v])
    saver.restore(session, path)
    assert session.run(v).tolist() == [1.0, 2.0]
    v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, Doubled())


def test_eagerly(tmp_path):
    with pytest.raises(RuntimeError, match="must specify a list or dict"):
        v1.train.Saver()
    v = v1.Variable([1.0, 2.0], name="v")
    saver = v1.train.Saver([v])
    path = saver.save(None, str(tmp_path / "m"), global_step=v1.Variable(4))
    assert path == str(tmp_path / "m-4")
    assert tf.train.list_variables(path) == [("v", [2])]
    v.assign([0.0, 0.0])
    saver.restore(None, path)
    assert v.numpy().tolist() == [1.0, 2.0]
    assert tf.train.latest_checkpoint(tmp_path) == path
    with pytest.raises(ValueError, match=r"\(2,\) when .* \(3,\) and name w:0"):
        v1.train.Saver({"v": v1.Variable([0.0] * 3, name="w")}).restore(None, path)
    matrix = v1.Variable([[0.0, 0.0]], name="m")
    v1.train.Saver({"v": matrix}, reshape=True).restore(None, path)
    assert matrix.numpy().tolist() == [[1.0, 2.0]]
    for call in (saver.export_meta_graph, lambda: v1.train.import_meta_graph("x")):
        with pytest.raises(RuntimeError, match="No graph exists"):
            call()


def test_bad_meta_graphs(session, tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        v1.train.import_meta_graph(str(tmp_path / "no.meta"))
    (tmp_path / "bad.meta").write_bytes(b"\xff\xfe not a graph")
    with pytest.raises(OSError, match=r"Cannot parse file .*bad\.meta"):
        v1.train.import_meta_graph(str(tmp_path / "bad.meta"))
    with pytest.raises(TypeError, match="got int"):
        v1.train.import_meta_graph(3)


def added(build):
    """The operations that `build` adds to a graph with two variables, without their inputs."""
    with tf.Graph().as_default() as graph:
        v1.get_variable("a", [2])
        v1.get_variable("b", [3])
        before = len(graph.get_operations())
        build()
        return graph.get_operations()[before:]


def test_operations_have_tensorflow_s_names():
    made = added(v1.train.Saver)
    head = ["save/filename/input", "save/filename", "save/Const"]
    save = ["save/SaveV2/tensor_names", "save/SaveV2/shape_and_slices", "save/SaveV2"]
    read = [name.replace("Save", "Restore") for name in save]
    assign = ["Identity", "AssignVariableOp", "Identity_1", "AssignVariableOp_1", "restore_all"]
    assert [op.name for op in made] == [
        *head, *save, "save/control_dependency", *read, *(f"save/{name}" for name in assign)
    ]  # fmt: skip
    values = [tensor.name for tensor in made[5].inputs[3:]]
    assert values == ["a/Read/ReadVariableOp:0", "b/Read/ReadVariableOp:0"]


def test_operations_of_shards_have_tensorflow_s_names_and_devices():
    """Files are written on the CPU of a variable's task, and read there."""

    def build():
        with tf.device("/job:ps/task:1/gpu:1"):
            v1.get_variable("c", [], initializer=v1.zeros_initializer())
        return v1.train.Saver(sharded=True)

    made = [op for op in added(build) if op.name.startswith("save/")][3:]
    cpu, ps, gpu = "/device:CPU:0", "/job:ps/task:1/device:CPU:0", "/job:ps/task:1/device:GPU:1"
    assert [f"{op.name[5:]} {op.device}" for op in made if "/" not in op.name[5:]] == [
        *(f"{n} /device:CPU:*" for n in SUFFIX), "num_shards ",
        *(f"{n} {cpu}" for n in ("ShardedFilename", "SaveV2", "control_dependency")),
        *(f"{n}_1 {ps}" for n in ("ShardedFilename", "SaveV2", "control_dependency")),
        f"MergeV2Checkpoints {ps}", f"Identity {ps}", f"RestoreV2 {cpu}",
        *(f"{n} " for n in ("Identity_1", "AssignVariableOp", "Identity_2", "AssignVariableOp_1")),
        "restore_shard ", f"RestoreV2_1 {ps}",
        *(f"{n} {gpu}" for n in ("Identity_3", "AssignVariableOp_2", "restore_shard_1")),
        "restore_all ",
    ]  # fmt: skip
    last = {op.name: op for op in made}["save/Identity"]
    waits = [op.name for op in last.control_inputs]
    assert sorted(waits) == [
        "save/MergeV2Checkpoints", "save/control_dependency", "save/control_dependency_1"
    ]  # fmt: skip
    shown = [op for op in made if op.name.startswith("save/restore_all/")]
    assert [(op.name, op.device) for op in shown] == [
        ("save/restore_all/NoOp", ""), ("save/restore_all/NoOp_1", gpu)
    ]  # fmt: skip


SUFFIX = ("StaticRegexFullMatch", "Const_1", "Const_2", "Select", "StringJoin")


def test_slices_are_read_where_they_are_saved():
    def build():
        split = v1.fixed_size_partitioner(2)
        v1.get_variable("p", [4], partitioner=split)
        return v1.train.Saver(name="s")

    made = [op.name for op in added(build) if op.name.startswith("s/")]
    read = ["Read/DisableCopyOnRead", "Read/ReadVariableOp", "Identity", "Identity_1"]
    again = ["Read_1/DisableCopyOnRead", "Read_1/ReadVariableOp", "Identity_2", "Identity_3"]
    assert made[3:11] == [f"s/{name}" for name in (*read, *again)]


def test_the_folder_of_shards_is_gone_when_they_are_merged(session, tmp_path):
    a = v1.get_variable("a", initializer=[1.0, 2.0])
    session.run(a.initializer)
    saver = v1.train.Saver(sharded=True)
    seen = session.run("save/ShardedFilename:0", {saver.saver_def.filename_tensor_name: "x/m"})
    assert seen == b"x/m_temp/part-00000-of-00001"
    path = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
    assert path == str(tmp_path / "m")
    found = sorted(os.listdir(tmp_path))
    assert found == ["checkpoint", "m.data-00000-of-00001", "m.index"]
    session.run(a.assign([0.0, 0.0]))
    saver.restore(session, path)
    assert session.run(a).tolist() == [1.0, 2.0]
