"""`CheckpointManager`, the file that names the last checkpoints, and what iterates over them."""

import os

import pytest

import penstock as tf
from penstock.checkpoint import manager as manager_module
from penstock.checkpoint import state_files

v1 = tf.compat.v1


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path)


def saved():
    return tf.train.Checkpoint(v=tf.Variable(1.0))


def test_keeps_the_last(folder):
    checkpoint = saved()
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    assert manager.latest_checkpoint is None
    paths = [manager.save() for _ in range(4)]
    assert manager.checkpoints == paths[2:]
    assert manager.latest_checkpoint == paths[3] == f"{folder}/ckpt-4"
    assert tf.train.latest_checkpoint(folder) == paths[3]
    assert sorted(os.listdir(folder)) == [
        "checkpoint",
        *(f"ckpt-{i}.{end}" for i in (3, 4) for end in ("data-00000-of-00001", "index")),
    ]
    state = tf.train.get_checkpoint_state(folder)
    assert list(state.all_model_checkpoint_paths) == paths[2:]
    assert len(state.all_model_checkpoint_timestamps) == 2
    assert manager.save(checkpoint_number=17) == f"{folder}/ckpt-17"
    assert manager.save(checkpoint_number=tf.constant(18)) == f"{folder}/ckpt-18"
    again = tf.train.CheckpointManager(saved(), folder, max_to_keep=1)
    assert again.checkpoints == [f"{folder}/ckpt-17", f"{folder}/ckpt-18"]
    assert again.restore_or_initialize() == f"{folder}/ckpt-18"
    again.save()
    assert again.checkpoints == [f"{folder}/ckpt-7"]
    assert again.checkpoint is not checkpoint
    assert again.directory == folder


def test_interval_and_initialization(folder):
    step, called = tf.Variable(0), []
    manager = tf.train.CheckpointManager(
        saved(),
        folder,
        max_to_keep=None,
        checkpoint_name="model",
        step_counter=step,
        checkpoint_interval=3,
        init_fn=lambda: called.append(1),
    )
    assert manager.restore_or_initialize() is None
    assert called == [1]
    assert manager.checkpoint_interval == 3
    found = []
    for _ in range(7):
        found.append(manager.save())
        step.assign_add(1)
    assert [path and path.rpartition("/")[2] for path in found] == [
        "model-1", None, None, "model-2", None, None, "model-3",
    ]  # fmt: skip
    assert manager.save(check_interval=False).endswith("model-4")
    assert manager.save(check_interval=False) is None  # the step has not grown
    step.assign_add(1)
    assert manager.save() is None
    assert manager.save(check_interval=False).endswith("model-5")


def test_kept_for_good(folder, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(manager_module.time, "time", lambda: now[0])
    manager = tf.train.CheckpointManager(
        saved(), folder, max_to_keep=1, keep_checkpoint_every_n_hours=1.0
    )
    for _ in range(5):
        now[0] += 1801.0
        manager.save()
    left = sorted(name for name in os.listdir(folder) if name.endswith("index"))
    assert left == ["ckpt-2.index", "ckpt-4.index", "ckpt-5.index"]
    assert tf.train.get_checkpoint_state(folder).last_preserved_timestamp == 1000.0 + 4 * 1801.0


def test_in_the_background(folder):
    manager = tf.train.CheckpointManager(saved(), folder, max_to_keep=1)
    chosen = tf.train.CheckpointOptions(enable_async=True)
    for _ in range(3):
        path = manager.save(options=chosen)
    manager.sync()
    assert manager.checkpoints == [path]
    assert len(os.listdir(folder)) == 3
    assert tf.train.latest_checkpoint(folder) == path


@pytest.mark.parametrize("bad", [0, -1])
def test_refused(folder, bad):
    with pytest.raises(ValueError, match=f"positive integer or `None` .* got {bad}"):
        tf.train.CheckpointManager(saved(), folder, max_to_keep=bad)
    with pytest.raises(ValueError, match="`step_counter` should be passed"):
        tf.train.CheckpointManager(saved(), folder, 1, checkpoint_interval=3)


def test_in_a_graph(folder):
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), folder, max_to_keep=1)
        for _ in range(2):
            path = manager.save()
        assert manager.checkpoints == [path] == [f"{folder}/ckpt-2"]


def test_states():
    make = v1.train.generate_checkpoint_state_proto
    found = make("/a", "/a/b", ["/a/c", "/a/d"], [1.0, 2.0, 3.0], 4.0)
    assert list(found.all_model_checkpoint_paths) == ["/a/c", "/a/d", "/a/b"]
    assert found.last_preserved_timestamp == 4.0
    found = make("rel", "/abs/b", ["rel/c"])
    assert list(found.all_model_checkpoint_paths) == ["c", "/abs/b"]
    with pytest.raises(ValueError, match="Checkpoint timestamps, if provided, must match"):
        make("/a", "/a/b", ["/a/c"], [1.0])


def test_state_files(folder):
    assert tf.train.get_checkpoint_state(folder) is None
    assert tf.train.latest_checkpoint(folder) is None
    v1.train.update_checkpoint_state(folder, f"{folder}/a")
    assert tf.train.get_checkpoint_state(folder).model_checkpoint_path == f"{folder}/a"
    assert tf.train.latest_checkpoint(folder) is None  # there are no such files
    path = saved().write(f"{folder}/a")
    assert tf.train.latest_checkpoint(folder) == path
    with open(f"{folder}/bad", "w") as file:
        file.write("garbage {")
    assert tf.train.get_checkpoint_state(folder, "bad") is None
    with open(f"{folder}/empty", "w"):
        pass
    with pytest.raises(ValueError, match="Invalid checkpoint state loaded from"):
        tf.train.latest_checkpoint(folder, "empty")
    with pytest.raises(RuntimeError, match="conflicts with path"):
        v1.train.update_checkpoint_state(folder, f"{folder}/x", latest_filename="x")
    assert len(v1.train.get_checkpoint_mtimes([path, f"{folder}/zz"])) == 1
    assert v1.train.checkpoint_exists(path)
    v1.train.remove_checkpoint(path)
    v1.train.remove_checkpoint(path)
    assert not v1.train.checkpoint_exists(path)


def test_folders_of_readers(folder):
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file"):
        tf.train.load_checkpoint(folder)
    with pytest.raises(tf.errors.NotFoundError, match="any matching files for"):
        tf.train.list_variables(f"{folder}/none")
    checkpoint = saved()
    checkpoint.save(f"{folder}/a")
    name = "v/.ATTRIBUTES/VARIABLE_VALUE"
    assert tf.train.load_variable(folder, name) == 1.0
    with pytest.raises(tf.errors.NotFoundError, match="Key v not found"):
        tf.train.load_variable(folder, "v")


def test_iterator(folder, monkeypatch):
    checkpoint, waits = saved(), []

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 2:
            checkpoint.save(f"{folder}/a")

    monkeypatch.setattr(state_files.time, "sleep", sleep)
    found = tf.train.checkpoints_iterator(folder, min_interval_secs=30)
    first = checkpoint.save(f"{folder}/a")
    assert next(found) == first
    assert next(found).endswith("a-2")
    assert 29 < waits[0] <= 30
    ended = tf.train.checkpoints_iterator(folder, timeout=0)
    assert len([next(ended)]) == 1
    asked = []

    def ask():
        asked.append(1)
        return len(asked) == 3

    rest = tf.train.checkpoints_iterator(folder, timeout=0, timeout_fn=ask)
    assert len(list(rest)) == 1
    assert len(asked) == 3
