"""The description of a cluster."""

import pytest

import penstock as tf

SPEC = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {3: "x:1", 1: "y:2"}})


def test_jobs_and_tasks():
    assert SPEC.as_dict() == {"worker": ["a:1", "b:2"], "ps": {1: "y:2", 3: "x:1"}}
    assert SPEC.jobs == ["worker", "ps"]
    assert (SPEC.num_tasks("worker"), SPEC.task_indices("ps")) == (2, [1, 3])
    assert SPEC.task_address("ps", 3) == "x:1"
    assert SPEC.job_tasks("ps") == [None, "y:2", None, "x:1"]
    assert repr(SPEC) == "ClusterSpec({'ps': {1: 'y:2', 3: 'x:1'}, 'worker': ['a:1', 'b:2']})"


def test_messages_and_copies_are_equal():
    message = SPEC.as_cluster_def()
    assert [j.name for j in message.job] == ["ps", "worker"]
    assert tf.train.ClusterSpec(message) == SPEC
    assert tf.train.ClusterSpec(SPEC) == SPEC
    assert tf.train.ClusterSpec({"worker": ["a:1"]}) != SPEC
    assert not tf.train.ClusterSpec({})
    with pytest.raises(TypeError, match="unhashable"):
        hash(SPEC)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: SPEC.num_tasks("z"), ValueError),
        (lambda: SPEC.task_address("ps", 0), ValueError),
        (lambda: tf.train.ClusterSpec(3), TypeError),
        (lambda: tf.train.ClusterSpec({"a": "b:1"}), TypeError),
        (lambda: tf.train.ClusterSpec({"a": [3]}), TypeError),
        (lambda: tf.train.ClusterSpec({"a": {"x": "b:1"}}), ValueError),
        (lambda: tf.train.ClusterSpec({3: ["a:1"]}), TypeError),
    ],
)
def test_wrong_clusters(call, error):
    with pytest.raises(error):
        call()
