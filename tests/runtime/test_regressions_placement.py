"""Where a session runs what asks for a device that is not there."""

import pytest

import penstock as tf
from penstock.proto.config_pb2 import ConfigProto

v1 = tf.compat.v1


def _run(device: str, config: ConfigProto | None) -> float:
    with tf.Graph().as_default():
        with tf.device(device):
            doubled = v1.placeholder_with_default(3.0, []) * 2.0
        with v1.Session(config=config) as session:
            return float(session.run(doubled))


@pytest.mark.parametrize("device", ["/cpu:1", "/gpu:7", "/job:w", "/task:3"])
@pytest.mark.parametrize("config", [None, ConfigProto()], ids=["default", "empty"])
def test_without_soft_placement_a_missing_device_is_an_error(device, config) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="explicitly assigned"):
        _run(device, config)


@pytest.mark.parametrize("device", ["/cpu:1", "/gpu:7", "/job:localhost/gpu:7"])
def test_soft_placement_takes_another_device_of_the_task(device) -> None:
    assert _run(device, ConfigProto(allow_soft_placement=True)) == 6.0


@pytest.mark.parametrize("device", ["/job:w", "/task:3", "/job:w/gpu:0"])
def test_soft_placement_leaves_no_task(device) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="explicitly assigned"):
        _run(device, ConfigProto(allow_soft_placement=True))


def test_a_constant_that_waits_for_a_region_does_not_leave_it():
    """On the host it would wait for the region that takes it: the two waited for each other."""
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [3])
        v = v1.get_variable("v", initializer=[1.0, 2.0, 3.0])
        with tf.control_dependencies([v.assign_add(x)]):
            two = tf.constant(2.0)
        near = two * x
        far = tf.strings.to_number(tf.strings.as_string(near)) * two
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            got = session.run([near, far], {x: [1.0, 2.0, 3.0]})
            assert [g.tolist() for g in got] == [[2, 4, 6], [4, 8, 12]]
            assert session.run(v).tolist() == [2, 4, 6]


@pytest.mark.parametrize("enqueue_first", [True, False])
def test_a_region_does_not_wait_for_a_body_that_waits_for_it(enqueue_first) -> None:
    """A branch that takes from a queue, and what the region beside it puts there."""
    with tf.Graph().as_default():
        queue = tf.queue.FIFOQueue(1, tf.float32, shapes=[()])
        taken = tf.cond(v1.placeholder_with_default(True, []), queue.dequeue, lambda: 0.0)
        after = taken * 2.0 + 1.0
        text = tf.strings.as_string(v1.placeholder_with_default(0.5, []))
        enqueue = queue.enqueue(tf.strings.to_number(text) * 2.0 + 1.0)
        fetches = [enqueue, after] if enqueue_first else [after, enqueue]
        config = v1.ConfigProto(operation_timeout_in_ms=20_000)
        with v1.Session(config=config) as session:
            assert 5.0 in session.run(fetches)


def run_on_second_cpu(**settings):
    config = v1.ConfigProto(**settings)
    with tf.Graph().as_default(), v1.Session(None, None, config) as session:
        with tf.device("/cpu:1"):
            x = tf.constant([1.0, 2.0]) * 2
        return session.run(x).tolist()


def test_a_session_has_as_many_cpus_as_it_asks_for():
    assert run_on_second_cpu(device_count={"CPU": 2}) == [2.0, 4.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="CPU:1"):
        run_on_second_cpu(device_count={"CPU": 1})
    assert run_on_second_cpu(allow_soft_placement=True) == [2.0, 4.0]
    with pytest.raises(tf.errors.NotFoundError, match="at least one CPU, got 0"):
        run_on_second_cpu(device_count={"CPU": 0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="got 'gibberish'"):
        run_on_second_cpu(device_filters=["gibberish"])


@pytest.mark.parametrize("between", ["a value", "a group"])
def test_a_step_goes_to_another_cpu_of_its_session_and_back(between):
    """It was an InternalError: regions of both were formed in a plan for one device."""
    with tf.Graph().as_default():
        v = v1.Variable(1.0, use_resource=True)
        with tf.device("/cpu:0"):
            first = v1.assign_add(v, 1.0).op
        with tf.device("/cpu:1"), tf.control_dependencies([first]):
            there = v.read_value() * 3.0
        waited = tf.group(there) if between == "a group" else there
        with tf.device("/cpu:0"), tf.control_dependencies([waited]):
            last = v1.assign_add(v, 10.0).op
        config = v1.ConfigProto(device_count={"CPU": 2}, operation_timeout_in_ms=20_000)
        with v1.Session(config=config) as session:
            session.run(v.initializer)
            assert session.run([there, last])[0] == 6.0
            assert session.run(v) == 12.0


def test_what_takes_a_constant_waits_with_it_for_another_device():
    """The step hung: the last addition waits by its constant, and was compiled with the first."""
    with tf.Graph().as_default():
        u, v = (v1.Variable(1.0, use_resource=True) for _ in range(2))
        with tf.device("/cpu:1"):
            first = v1.assign_add(u, 1.0).op
        with tf.device("/cpu:0"), tf.control_dependencies([first]):
            there = v1.assign_add(v, tf.constant(2.0)).op
        with tf.device("/cpu:1"), tf.control_dependencies([there]):
            last = v1.assign_add(v, tf.constant(3.0)).op
        end = tf.group(first, there, last)
        config = v1.ConfigProto(device_count={"CPU": 2}, operation_timeout_in_ms=5_000)
        with v1.Session(config=config) as session:
            session.run([u.initializer, v.initializer])
            session.run(end)
            assert session.run([u, v]) == [2.0, 6.0]
