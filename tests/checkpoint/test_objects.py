"""`Checkpoint`: round trips, deferred values, statuses, graphs, and files of TensorFlow."""

import copy
import gc
import os
import pathlib
import pickle
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.checkpoint import object_graph
from penstock.checkpoint.restoring import read_object_graph
from penstock.core.bundle.reader import BundleReader
from penstock.core.bundle.writer import BundleWriter
from penstock.core.trackable import AutoTrackable, ListWrapper

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "checkpoints"
v1 = tf.compat.v1


class Model(tf.Module):
    def __init__(self, scale=1.0):
        super().__init__()
        self.w = tf.Variable(np.float32(scale) * np.array([[1, 2], [3, 4]], "f"), name="w")
        self.layers = [tf.Variable(5.0 * scale), {"x": tf.Variable(6), "a/b.c": tf.Variable(7)}]
        self.pair = (tf.Variable(b"text" if scale else b""), None)


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "ckpt")


def objects_of_tensorflow():
    model = Model(0.0)
    model.layers[1]["x"].assign(0)
    return model, v1.train.MomentumOptimizer(0.5, 0.9), tf.Variable(0)


def check_objects(model, optimizer, step):
    np.testing.assert_array_equal(model.w, np.load(DATA / "objects_w.npy"))
    assert float(model.layers[0]) == 5.0
    assert int(model.layers[1]["x"]) == 6
    assert int(model.layers[1]["a/b.c"]) == 7
    assert model.pair[0].numpy() == b"text"
    assert int(step) == 3
    slot = optimizer.get_slot(model.w, "momentum")
    np.testing.assert_array_equal(slot, [[2.0, 4.0], [6.0, 8.0]])


def test_restores_what_tensorflow_wrote():
    model, optimizer, step = objects_of_tensorflow()
    saved = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
    saved.restore(str(DATA / "objects-1")).assert_consumed()
    check_objects(model, optimizer, step)
    assert int(saved.save_counter) == 1


def test_writes_what_tensorflow_wrote(tmp_path):
    model, optimizer = Model(), v1.train.MomentumOptimizer(0.5, 0.9)
    optimizer.minimize(lambda: tf.reduce_sum(model.w * model.w), var_list=[model.w])
    saved = tf.train.Checkpoint(model=model, optimizer=optimizer, step=tf.Variable(3))
    path = saved.save(str(tmp_path / "objects"))
    with BundleReader(path) as ours, BundleReader(DATA / "objects-1") as theirs:
        assert ours.names() == theirs.names()
        messages = [read_object_graph(contents) for contents in (ours, theirs)]
        for message in messages:
            for node in message.nodes:
                for attribute in node.attributes:  # slots count up in one program
                    attribute.full_name = attribute.full_name.partition("_")[0]
        assert str(messages[0]) == str(messages[1])
        for name in ours.names()[1:]:
            np.testing.assert_array_equal(ours.read(name), theirs.read(name))
            assert ours.entries()[name.encode()] == theirs.entries()[name.encode()]


def test_values_come_when_objects_do():
    saved = tf.train.Checkpoint()
    status = saved.restore(str(DATA / "objects-1"))
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\)"):
        status.assert_consumed()
    saved.model = tf.Module()
    saved.model.w = tf.Variable([[0.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(saved.model.w, np.load(DATA / "objects_w.npy"))
    saved.model.layers = []
    saved.model.layers.append(tf.Variable(0.0))
    assert float(saved.model.layers[0]) == 5.0
    saved.model.layers += [{}]
    saved.model.layers[1]["x"] = tf.Variable(0)
    saved.model.layers[1].update({"a/b.c": tf.Variable(0)})
    assert int(saved.model.layers[1]["a/b.c"]) == 7
    saved.model.pair = (tf.Variable(b""), None)
    saved.step = tf.Variable(0)
    saved.optimizer = v1.train.MomentumOptimizer(0.5, 0.9)
    status.assert_consumed()
    check_objects(saved.model, saved.optimizer, saved.step)


def test_a_slot_that_is_made_later():
    model, optimizer, step = objects_of_tensorflow()
    saved = tf.train.Checkpoint(optimizer=optimizer, step=step)
    saved.restore(str(DATA / "objects-1"))
    optimizer.minimize(lambda: tf.reduce_sum(0.0 * model.w), var_list=[model.w])
    saved.model = model
    check_objects(model, optimizer, step)


def test_slots_may_be_left_out():
    model, optimizer, step = objects_of_tensorflow()
    saved = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
    chosen = tf.train.CheckpointOptions(experimental_skip_slot_variables=True)
    saved.read(str(DATA / "objects-1"), chosen)
    assert optimizer.get_slot(model.w, "momentum") is None


def test_the_last_checkpoint_wins(tmp_path):
    for i in (1.0, 2.0):
        tf.train.Checkpoint(a=tf.Variable(i), b=tf.Variable(i)).write(str(tmp_path / str(i)))
    saved = tf.train.Checkpoint()
    saved.read(str(tmp_path / "1.0"))
    saved.a = tf.Variable(0.0)
    saved.read(str(tmp_path / "2.0"))
    saved.b = tf.Variable(0.0)
    assert (float(saved.a), float(saved.b)) == (2.0, 2.0)
    assert saved.__dict__["_self_pending"] == []


def test_statuses(prefix):
    path = tf.train.Checkpoint(a=tf.Variable(1.0)).save(prefix)
    more = tf.train.Checkpoint(a=tf.Variable(0.0), b=tf.Variable(2.0))
    status = more.restore(path)
    assert float(more.a) == 1.0
    with pytest.raises(AssertionError, match=r"Found 1 Python objects .* shape=\(\) .*2\.0"):
        status.assert_existing_objects_matched()
    assert status.assert_nontrivial_match() is status
    assert status.expect_partial() is status
    nothing = tf.train.Checkpoint()
    with pytest.raises(AssertionError, match="Nothing to load"):
        nothing.read(path).assert_nontrivial_match()
    other = tf.train.Checkpoint(z=tf.Variable(1.0))
    with pytest.raises(AssertionError, match="Nothing except the root"):
        other.read(path).assert_nontrivial_match()
    none = other.restore(None)
    for question in ("assert_consumed", "assert_existing_objects_matched"):
        with pytest.raises(AssertionError, match="nothing is being restored"):
            getattr(none, question)()
    none.initialize_or_restore()


def test_refused(prefix):
    path = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0])).save(prefix)
    for wrong in (3, "a", None, tf.constant(1)):
        with pytest.raises(ValueError, match="expecting x to be a trackable object"):
            tf.train.Checkpoint(x=wrong)
    with pytest.raises(ValueError, match=r"shape \(2,\) when .* shape \(3,\) and name Variable:0"):
        tf.train.Checkpoint(a=tf.Variable([0.0] * 3)).restore(path)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"int32 does not equal .* float32"):
        tf.train.Checkpoint(a=tf.Variable([0, 0])).restore(path)
    saved = tf.train.Checkpoint()
    with pytest.raises(tf.errors.NotFoundError, match=r"Error when restoring .*/nope: [^!]*suffix"):
        saved.restore(f"{prefix}/nope")
    with pytest.raises(TypeError, match="prefix of a checkpoint as text or path, got 3"):
        saved.restore(3)
    with pytest.raises(TypeError, match=r"expected a tf.train.CheckpointOptions"):
        saved.save(prefix, options=3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Add a name to the folder"):
        saved.write("")
    with pytest.raises(ValueError, match="must be of type ShardingCallback"):
        tf.train.CheckpointOptions(experimental_sharding_callback=3)
    with pytest.raises(TypeError, match="write_callbacks: expected functions, got 3"):
        tf.train.CheckpointOptions(experimental_write_callbacks=[3])
    with pytest.raises(NotImplementedError, match="from a function is not supported"):
        tf.function(lambda: saved.save(prefix))()


def test_damage_names_tensor_and_file(prefix):
    saved = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0]))
    path = saved.save(prefix)
    data = pathlib.Path(f"{path}.data-00000-of-00001")
    content = bytearray(data.read_bytes())
    content[2] ^= 1
    data.write_bytes(content)
    with pytest.raises(tf.errors.DataLossError, match=r"data-00000-of-00001, tensor 'a/\.ATTR"):
        saved.restore(path)
    assert saved.a.numpy().tolist() == [1.0, 2.0]


def test_a_root(tmp_path, prefix):
    model = Model()
    saved = tf.train.Checkpoint(root=model, more=tf.Variable(1.0))
    path = saved.save(prefix)
    names = [name for name, _ in tf.train.list_variables(path)]
    assert "w/.ATTRIBUTES/VARIABLE_VALUE" in names
    assert "save_counter/.ATTRIBUTES/VARIABLE_VALUE" in names
    assert "more/.ATTRIBUTES/VARIABLE_VALUE" in names
    other = Model(0.0)
    other.more = tf.Variable(0.0)
    again = tf.train.Checkpoint(other)
    again.restore(path).assert_consumed()
    assert other.w.numpy().tolist() == model.w.numpy().tolist()
    assert int(again.save_counter) == 1
    with pytest.raises(ValueError, match=r"argument w if root\.w is another object"):
        tf.train.Checkpoint(model, w=tf.Variable(1.0))
    with pytest.raises(ValueError, match="expecting root to be"):
        tf.train.Checkpoint(3)


def test_shared_and_circular_objects(prefix):
    a, b = tf.Module(), tf.Module()
    a.other, b.other, a.v = b, a, tf.Variable(1.0)
    b.same = a.v
    path = tf.train.Checkpoint(a=a, b=b).write(prefix)
    assert len(tf.train.list_variables(path)) == 2
    a.v.assign(0.0)
    tf.train.Checkpoint(a=a, b=b).read(path).assert_consumed()
    assert float(b.same) == 1.0


def test_what_takes_an_objects_place_keeps_its_own_values(prefix):
    saved = tf.train.Checkpoint(m=tf.Module())
    saved.m.w, saved.m.gone = tf.Variable(1.0), tf.Variable(7.0)
    path = saved.write(prefix)
    del saved.m.gone
    saved.m.w.assign(2.0)
    saved.read(path)
    assert float(saved.m.w) == 1.0
    gc.collect()
    saved.m.w = tf.Variable(5.0)
    assert float(saved.m.w) == 5.0
    saved.m.gone = tf.Variable(0.0)
    assert float(saved.m.gone) == 7.0
    saved.m.gone = tf.Variable(0.0)
    assert float(saved.m.gone) == 0.0


def test_nothing_waits_once_all_is_there(prefix):
    module = Model()
    saved = tf.train.Checkpoint(m=module)
    saved.read(saved.write(prefix))
    assert module.__dict__["_self_pending"] == []


def test_lists_only_grow(prefix):
    module = tf.Module()
    module.parts = [tf.Variable(1.0)]
    assert isinstance(module.parts, list)
    assert isinstance(module.parts, ListWrapper)
    module.parts.append(tf.Variable(2.0))
    tf.train.Checkpoint(m=module).write(prefix)
    module.parts.insert(0, tf.Variable(3.0))
    with pytest.raises(ValueError, match="expected a list that only grew"):
        tf.train.Checkpoint(m=module).write(prefix)
    module.parts = [1, 2, 3]
    module.parts[0] = 7
    module.parts.pop()
    assert module.parts == [7, 2]
    module.table = {1: tf.Variable(1.0)}
    with pytest.raises(ValueError, match=r"strings as keys .* got the key 1"):
        tf.train.Checkpoint(m=module).write(prefix)
    module.table = {}
    tf.train.Checkpoint(m=module).write(prefix)


def test_wrapped_lists_behave_as_lists():
    holder = AutoTrackable()
    holder.values = [1, [2, 3], {"a": [4]}]
    assert holder.values == [1, [2, 3], {"a": [4]}]
    assert tf.nest.flatten(holder.values) == [1, 2, 3, 4]
    tf.nest.assert_same_structure(holder.values, [1, [2, 3], {"a": [4]}])
    assert copy.deepcopy(holder.values) == holder.values
    assert pickle.loads(pickle.dumps(holder.values)) == holder.values
    assert holder._trackable_children()["values"] is holder.values


def test_names_are_escaped():
    assert object_graph.escaped("a/b.c") == "a.Sb..c"
    assert object_graph.escaped(".S") == "..S"


def test_python_state(prefix):
    class Words(tf.train.experimental.PythonState):
        def __init__(self, words):
            self.words = words

        def serialize(self):
            return self.words

        def deserialize(self, string_value):
            self.words = string_value.decode()

    words = Words("some")
    path = tf.train.Checkpoint(words=words).save(prefix)
    assert ("words/.ATTRIBUTES/py_state", []) in tf.train.list_variables(path)
    words.words = ""
    tf.train.Checkpoint(words=words).restore(path).assert_consumed()
    assert words.words == "some"
    with pytest.raises(TypeError, match="abstract"):
        tf.train.experimental.PythonState()


# ---- in the background ------------------------------------------------------------------------


def test_saving_in_a_thread_keeps_the_values_of_the_call(prefix, monkeypatch):
    values = [tf.Variable(tf.zeros([300, 300]) + float(i)) for i in range(3)]

    @tf.function
    def update():
        for v in values:
            v.assign_add(tf.ones([300, 300]))

    for _ in range(3):  # compiled, so that updates take the buffers
        update()
    want = [v.numpy() for v in values]
    entered, proceed = threading.Event(), threading.Event()
    real = BundleWriter.finish

    def finish(writer):
        entered.set()
        assert proceed.wait(60)
        real(writer)

    monkeypatch.setattr(BundleWriter, "finish", finish)
    told = []
    chosen = tf.train.CheckpointOptions(
        enable_async=True,
        experimental_write_callbacks=[lambda: told.append(0), lambda path: told.append(path)],
    )
    saved = tf.train.Checkpoint(values=values)
    path = saved.save(prefix, chosen)
    assert entered.wait(60)
    assert tf.train.latest_checkpoint(os.path.dirname(prefix)) is None
    for _ in range(3):
        update()
    proceed.set()
    saved.sync()
    assert told == [0, path]
    assert tf.train.latest_checkpoint(os.path.dirname(prefix)) == path
    assert float(values[0][0, 0]) == 6.0
    saved.restore(path).assert_consumed()
    for v, array in zip(values, want, strict=True):
        np.testing.assert_array_equal(v, array)


def test_a_failure_in_the_thread_is_told(prefix, monkeypatch):
    def fail(writer):
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    saved = tf.train.Checkpoint(v=tf.Variable(1.0))
    monkeypatch.setattr(BundleWriter, "finish", fail)
    saved.write(prefix, tf.train.CheckpointOptions(enable_async=True))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
        saved.sync()
    monkeypatch.undo()
    saved.write(prefix, tf.train.CheckpointOptions(enable_async=True))
    saved.sync()
    saved.read(prefix).assert_consumed()


# ---- functions and graphs ---------------------------------------------------------------------


def test_write_inside_a_function(prefix):
    saved = tf.train.Checkpoint(v=tf.Variable(1.0))
    written = tf.function(lambda: saved.write(prefix))()
    assert written.numpy() == prefix.encode()
    saved.v.assign(2.0)
    saved.read(prefix).assert_consumed()
    assert float(saved.v) == 1.0


def test_in_a_graph(prefix):
    with tf.Graph().as_default(), v1.Session() as session:
        module = tf.Module()
        module.w = v1.get_variable("w", initializer=[[0.0, 0.0], [0.0, 0.0]])
        saved = tf.train.Checkpoint(model=module)
        status = saved.restore(str(DATA / "objects-1"))
        status.assert_existing_objects_matched()
        module.late = v1.get_variable("late", initializer=4.0)
        status.initialize_or_restore(session)
        np.testing.assert_array_equal(session.run(module.w), np.load(DATA / "objects_w.npy"))
        assert session.run(module.late) == 4.0
        first = saved.save(prefix)
        count = len(session.graph.get_operations())
        second = saved.save(prefix)
        assert len(session.graph.get_operations()) == count
        assert (first[-2:], second[-2:]) == ("-2", "-3")
        session.run(module.w.assign(tf.zeros([2, 2])))
        status = saved.restore(second)
        status.run_restore_ops()
        np.testing.assert_array_equal(session.run(module.w), np.load(DATA / "objects_w.npy"))
    with tf.Graph().as_default():
        saved = tf.train.Checkpoint(v=v1.get_variable("v", initializer=1.0))
        with pytest.raises(RuntimeError, match="expected a session"):
            saved.save(prefix)
        with v1.Session() as session:
            session.run(saved.v.initializer)
            v1_saved = v1.train.Checkpoint(v=saved.v)
            path = v1_saved.save(prefix, session=session)
            v1_saved.restore(path).assert_consumed().run_restore_ops(session)
    fresh = tf.train.Checkpoint(v=tf.Variable(0.0))
    fresh.restore(path).assert_consumed()
    assert float(fresh.v) == 1.0


def test_checkpoints_by_name():
    module = tf.Module()
    module.a = tf.Variable([[0.0, 0.0], [0.0, 0.0]], name="a")
    status = tf.train.Checkpoint(m=module).restore(str(DATA / "saver"))
    status.assert_consumed()
    assert module.a.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    module.b = tf.Variable(0.0, name="elsewhere")
    status = tf.train.Checkpoint(m=module).restore(str(DATA / "saver"))
    with pytest.raises(AssertionError, match=r"were not restored: \n .*\['elsewhere'\]"):
        status.assert_existing_objects_matched()


def test_views(prefix):
    model = Model()
    saved = tf.train.Checkpoint(m=model)
    path = saved.save(prefix)
    view = tf.train.CheckpointView(path)
    assert view.children(0) == {"m": 1, "save_counter": 2}
    assert view.descendants() == list(range(11))
    assert view.match(saved)[1] is model
    del model.pair
    model.new = tf.Variable(1.0)
    matched, nodes, objects = view.diff(saved)
    assert len(matched) == 9
    assert len(nodes) == 2
    assert objects == [model.new] or objects[0] is model.new
    program = tf.train.TrackableView(saved)
    assert program.root is saved
    assert program.children(model)["w"] is model.w
    assert program.descendants()[0] is saved
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.CheckpointView(prefix)


def names_in(path):
    return [name for name, _ in tf.train.list_variables(path) if not name.startswith("_")]


def test_a_tuple_of_variables_is_an_argument(prefix):
    checkpoint = tf.train.Checkpoint(pair=(tf.Variable(1.0), 5))
    assert names_in(checkpoint.write(prefix)) == ["pair/0/.ATTRIBUTES/VARIABLE_VALUE"]
    again = (tf.Variable(0.0), 5)
    tf.train.Checkpoint(pair=again).read(prefix).assert_consumed()
    assert again[0].numpy() == 1.0
    with pytest.raises(ValueError, match="expecting pair to be a trackable"):
        tf.train.Checkpoint(pair=(1, 2))


def test_arguments_beside_a_root_belong_to_the_checkpoint_alone(prefix):
    module = tf.Module()
    module.w = tf.Variable(1.0)
    both = tf.train.Checkpoint(module, extra=tf.Variable(2.0))
    assert names_in(both.write(prefix)) == [
        "extra/.ATTRIBUTES/VARIABLE_VALUE", "w/.ATTRIBUTES/VARIABLE_VALUE",
    ]  # fmt: skip
    assert names_in(tf.train.Checkpoint(module).write(prefix + "2")) == [
        "w/.ATTRIBUTES/VARIABLE_VALUE"
    ]
    both.extra.assign(0.0)
    both.read(prefix).assert_consumed()
    assert both.extra.numpy() == 2.0
    module.extra = both.extra
    both.write(prefix)
    module.extra = tf.Variable(3.0)
    with pytest.raises(ValueError, match="which was set later"):
        both.write(prefix)  # one of the two would be lost


def test_a_variable_is_a_root(prefix):
    root = tf.Variable(3.0)
    assert names_in(tf.train.Checkpoint(root).write(prefix)) == ["/.ATTRIBUTES/VARIABLE_VALUE"]
    root.assign(0.0)
    tf.train.Checkpoint(root).read(prefix).assert_consumed()
    assert root.numpy() == 3.0


def test_a_list_that_was_changed_behind_its_wrapper_is_not_saved(prefix):
    for plain, change in (
        ([tf.Variable(1.0)], lambda x: x.append(tf.Variable(2.0))),
        ([tf.Variable(1.0)], lambda x: x.__setitem__(0, tf.Variable(2.0))),
        ({}, lambda x: x.update(a=tf.Variable(2.0))),
    ):
        module = tf.Module()
        module.held = plain
        checkpoint = tf.train.Checkpoint(m=module)
        checkpoint.write(prefix)
        change(plain)
        with pytest.raises(ValueError, match="through the attribute"):
            checkpoint.write(prefix)


def test_numbers_in_a_list_may_be_put_again(prefix):
    module, sizes = tf.Module(), [1000, "adam", 0.5]
    module.sizes = sizes
    sizes[:] = [int("1000"), "".join(["ad", "am"]), float("0.5")]
    tf.train.Checkpoint(m=module).write(prefix)
    sizes[0] = 1001
    with pytest.raises(ValueError, match="through the attribute"):
        tf.train.Checkpoint(m=module).write(prefix)


@pytest.mark.parametrize("form", ["{}//ck", "{}/./ck", "{}/x/../ck"])
def test_a_prefix_may_be_written_in_any_way(tmp_path, form):
    (tmp_path / "x").mkdir()
    prefix, v = form.format(tmp_path), tf.Variable([1.0, 2.0])
    saved = tf.train.Checkpoint(v=v)
    for value in ([3.0, 4.0], [5.0, 6.0]):  # the first one there, then one in its place
        v.assign(value)
        saved.write(prefix)
        v.assign([0.0, 0.0])
        saved.read(prefix).assert_consumed()
        np.testing.assert_array_equal(v, value)
