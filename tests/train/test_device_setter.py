"""replica_device_setter: which operations go where. The devices are those TensorFlow 2.21 gives."""

import types

import pytest

import penstock as tf

v1 = tf.compat.v1
setter = v1.train.replica_device_setter


def ask(function, *wishes, kind="VariableV2"):
    return [function(types.SimpleNamespace(type=kind, device=wish)) for wish in wishes]


WISHES = (
    "", "/job:other", "", "/job:ps", "/job:ps/task:9", "", "/task:2", "/device:GPU:0", "",
)  # fmt: skip


def test_wishes_of_inner_scopes_are_completed():
    assert ask(setter(3), *WISHES) == [
        "/job:ps/task:0", "/job:other", "/job:ps/task:1", "/job:ps/task:2", "/job:ps/task:9",
        "/job:ps/task:1", "/job:ps/task:2", "/job:ps/task:0/device:GPU:0", "/job:ps/task:1",
    ]  # fmt: skip
    found = ask(setter(3), "", "/job:ps", "/device:GPU:1", kind="Add")
    assert found == ["/job:worker", "/job:ps", "/job:worker/device:GPU:1"]


def test_or_left_as_they_are():
    assert ask(setter(3, merge_devices=False), *WISHES) == [
        "/job:ps/task:0", "/job:other", "/job:ps/task:1", "/job:ps", "/job:ps/task:9",
        "/job:ps/task:2", "/task:2", "/device:GPU:0", "/job:ps/task:0",
    ]  # fmt: skip


def test_devices_of_servers_and_workers():
    with_task = setter(3, ps_device="/job:ps/task:1")
    assert ask(with_task, "", "/job:ps") == ["/job:ps/task:0", "/job:ps/task:1"]
    none_there = setter(3, ps_device="", worker_device="/job:w")
    assert ask(none_there, "", "/job:ps") == ["/job:w", "/job:ps"]
    nowhere = setter(3, ps_device=None, worker_device=None)
    assert ask(nowhere, "", "/cpu:0") == ["", "/device:CPU:0"]
    cluster = {"ps": {0: "a:1", 5: "b:1"}, "worker": ["c:1"]}
    found = ask(setter(cluster=cluster, ps_device="/job:ps/cpu:0"), "", "", "")
    assert found == [f"/job:ps/task:{i}/device:CPU:0" for i in (0, 1, 0)]
    assert ask(setter(2, ps_ops=["Const"]), "", kind="Const") == ["/job:ps/task:0"]
    assert ask(setter(2, ps_ops=["Const"]), "") == ["/job:worker"]
    assert ask(setter(2, ps_strategy=lambda op: 1), "", "") == ["/job:ps/task:1"] * 2


def test_without_servers_there_is_nothing_to_set():
    assert setter() is None
    assert setter(cluster={"worker": ["a:1"]}) is None
    assert setter(cluster={"ps": ["a:1"]}, ps_device="/job:parameter") is None


def test_what_is_refused():
    with pytest.raises(TypeError, match="ps_strategy must be callable, got 3"):
        setter(2, ps_strategy=3)
    with pytest.raises(TypeError, match="`cluster` must be a dictionary"):
        setter(cluster=3)
    with pytest.raises(TypeError, match="ps_tasks to be an integer, got '2'"):
        setter("2")
    with pytest.raises(ValueError, match="Unknown attribute 'x'"):
        ask(setter(2, ps_device="x"), "")


def test_a_graph_for_servers():
    with tf.Graph().as_default() as graph:
        with v1.device(setter(2, worker_device="/job:worker/task:1/gpu:0")):
            v = v1.get_variable("v", [2])
            v1.get_variable("w", [3])
            product = tf.constant(2.0) * v
            tf.lookup.experimental.MutableHashTable(tf.string, tf.int32, -1)
            tf.queue.FIFOQueue(3, tf.float32)
        found = {op.name: op.device for op in graph.get_operations()}
    assert found["v"] == found["v/Assign"] == "/job:ps/task:0"
    assert found["w"] == found["w/Assign"] == "/job:ps/task:1"
    assert found["mul/ReadVariableOp"] == ""  # where the variable is
    assert product.device == "/job:worker/task:1/device:GPU:0"
    assert found["MutableHashTable"] == "/job:ps/task:0"
    assert found["fifo_queue"] == "/job:worker/task:1/device:CPU:0"  # as in TensorFlow
