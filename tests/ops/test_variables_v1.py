"""What variables of `compat.v1` have beyond those of the second generation."""

import subprocess
import sys

import pytest

import penstock as tf

v1 = tf.compat.v1


def test_the_initialized_value_is_the_value_once_there_is_one():
    with tf.Graph().as_default(), v1.Session() as session:
        first = v1.Variable(2.0)
        second = v1.Variable(first.initialized_value() * 3.0)
        session.run(second.initializer)
        assert session.run(second) == 6.0
        assert session.run(first.initialized_value()) == 2.0
        session.run(first.initializer)
        session.run(first.assign(5.0))
        assert session.run(first.initialized_value()) == 5.0


def test_eagerly_there_is_no_initialized_value():
    for variable in (v1.Variable(2.0), tf.Variable(2.0)):
        with pytest.raises(NotImplementedError, match="initial_value or read_value"):
            variable.initialized_value()


PROGRAM = """
import penstock.compat.v1 as tf
assert tf.resource_variables_enabled()
tf.disable_v2_behavior()
assert not tf.resource_variables_enabled()
tf.enable_resource_variables()
assert tf.resource_variables_enabled()
tf.enable_v2_behavior()
assert tf.resource_variables_enabled() and tf.executing_eagerly()
"""


def test_the_first_generation_asks_for_no_resource_variables():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
