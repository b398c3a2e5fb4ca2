"""Positions of iterators in checkpoints: PenstockIteratorState PenstockIteratorStateFromString."""

import copy
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import penstock as tf

D = tf.data.Dataset
v1 = tf.compat.v1
Policy = tf.data.experimental.ExternalStatePolicy


def test_a_manager_keeps_positions(tmp_path):
    iterator = iter(D.range(20).map(lambda x: x * 2).batch(2).prefetch(2))
    step = tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(iterator=iterator, step=step)
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=3)
    for _ in range(3):
        step.assign(next(iterator)[0])
        manager.save()
    assert int(next(iterator)[0]) == 12
    for path, value in zip(manager.checkpoints, (4, 8, 12), strict=True):
        checkpoint.restore(path).assert_consumed()
        assert (int(next(iterator)[0]), int(step)) == (value, value - 4)


def test_states_have_the_name_that_tensorflow_gives_them(tmp_path, monkeypatch):
    iterator = iter(D.range(5))
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(tmp_path / "c")
    names = dict(tf.train.list_variables(path))
    assert "iterator/.ATTRIBUTES/ITERATOR_STATE" in names
    with monkeypatch.context() as earlier:
        earlier.setattr("penstock.data.iterator._KEY", "_STATE")
        old = tf.train.Checkpoint(iterator=iterator).write(tmp_path / "old")
    assert "iterator/.ATTRIBUTES/_STATE" in dict(tf.train.list_variables(old))
    for each in (path, old):
        other = iter(D.range(5))
        tf.train.Checkpoint(iterator=other).read(each).assert_consumed()
        assert int(next(other)) == 1


def test_a_checkpoint_waits_for_its_iterator(tmp_path):
    iterator = iter(D.range(5))
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(tmp_path / "c")
    later = tf.train.Checkpoint()
    status = later.read(path)
    later.iterator = iter(D.range(5))
    status.assert_consumed()
    assert int(next(later.iterator)) == 1


def test_a_saver_saves_iterators(tmp_path):
    with tf.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(D.range(9))
        element = iterator.get_next()
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, saveable)
        saver = v1.train.Saver()
        with v1.Session() as session:
            session.run(iterator.initializer)
            assert [int(session.run(element)) for _ in range(3)] == [0, 1, 2]
            path = saver.save(session, str(tmp_path / "c"))
            assert int(session.run(element)) == 3
        with v1.Session() as session:
            session.run(iterator.initializer)
            saver.restore(session, path)
            assert [int(session.run(element)) for _ in range(2)] == [3, 4]
        with pytest.raises(ValueError, match="external_state_policy"):
            tf.data.experimental.make_saveable_from_iterator(iterator, "x")


def test_states_kept_elsewhere(tmp_path, caplog):
    v = tf.Variable(1, dtype=tf.int64)

    def write(dataset, policy=None):
        if policy is not None:
            options = tf.data.Options()
            options.experimental_external_state_policy = policy
            dataset = dataset.with_options(options)
        tf.train.Checkpoint(iterator=iter(dataset)).write(tmp_path / "c")

    kept = D.range(3).map(lambda x: x + v)
    for policy in (None, Policy.FAIL):
        with pytest.raises(tf.errors.FailedPreconditionError, match="ReadVariableOp is stateful"):
            write(kept, policy)
    write(kept, Policy.IGNORE)
    assert "is stateful" not in caplog.text
    write(kept, Policy.WARN)
    drawn = D.range(3).map(lambda x: tf.random.uniform([])).batch(2)
    with pytest.raises(tf.errors.FailedPreconditionError, match="RandomUniform is stateful"):
        write(drawn)
    pure = D.range(3).map(lambda x: tf.random.stateless_uniform([], [1, 2]))
    write(pure, Policy.FAIL)


def test_datasets_in_saved_models(tmp_path):
    class Model(tf.Module):
        @tf.function(input_signature=[])
        def made(self):
            return self.total(D.range(5).map(lambda x: x + 1))

        def total(self, dataset):
            result = tf.constant(0, tf.int64)
            for x in dataset:
                result += x
            return result

    tf.saved_model.save(Model(), tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert int(loaded.made()) == 15


def test_copies():
    for value in (tf.data.Options(), D.range(3)._type_spec):
        assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert [int(x) for x in copy.copy(D.range(3))] == [0, 1, 2]


PROGRAM = """
    import sys

    import penstock as tf

    folder, out = sys.argv[1:]
    data = tf.random.stateless_uniform([40, 3], [1, 2])
    dataset = tf.data.Dataset.from_tensor_slices(data)
    dataset = dataset.map(lambda x: x * 2 - 1, num_parallel_calls=2).repeat().batch(4).prefetch(2)
    iterator = iter(dataset)
    weights = tf.Variable(tf.zeros([3, 1]))
    moments = tf.Variable(tf.zeros([3, 1]))
    step = tf.Variable(0, dtype=tf.int64)
    generator = tf.random.Generator.from_seed(7)
    queue = tf.queue.FIFOQueue(8, [tf.float32], [[]])
    queue.enqueue(0.5)
    checkpoint = tf.train.Checkpoint(
        iterator=iterator, weights=weights, moments=moments, step=step, generator=generator,
        queue=queue,
    )
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    manager.restore_or_initialize()

    @tf.function
    def train(x, scale):
        noise = generator.normal([4, 1])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - 1.0 + 0.1 * noise) ** 2)
        moments.assign(0.9 * moments + tape.gradient(loss, weights))
        weights.assign_sub(0.1 * scale * moments)
        return loss

    with open(out, "a") as losses:
        while int(step) < 30:
            scale = queue.dequeue()
            loss = train(next(iterator), scale)
            queue.enqueue(0.5 + 0.1 * loss)
            step.assign_add(1)
            print(int(step), float(loss).hex(), file=losses, flush=True)
            manager.save()
"""


def _run(tmp_path, name, kill_after=None):
    """Runs the program; kills it when it has written so many losses. The lines that it wrote."""
    program, out = tmp_path / "program.py", tmp_path / f"{name}.txt"
    program.write_text(textwrap.dedent(PROGRAM))
    out.touch()
    path = os.pathsep.join(["src", os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, program, tmp_path / name, out]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}) as process:
        while process.poll() is None:
            if kill_after is not None and len(out.read_text().splitlines()) >= kill_after:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.005)
    assert kill_after is not None or process.returncode == 0
    return {tuple(line.split()) for line in out.read_text().splitlines()}


@pytest.mark.timeout(200)
def test_a_killed_program_goes_on_as_if_it_had_not_been(tmp_path):
    whole = _run(tmp_path, "whole")
    assert sorted(int(step) for step, _ in whole) == list(range(1, 31))
    _run(tmp_path, "killed", kill_after=random.Random(time.time_ns()).randint(1, 28))
    assert _run(tmp_path, "killed") == whole
