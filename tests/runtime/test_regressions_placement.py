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
