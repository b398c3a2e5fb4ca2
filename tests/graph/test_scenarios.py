"""Graphs name, place and order operations as TensorFlow's do."""

import json
import pathlib

import pytest
from tests.graph.scenarios import SCENARIOS

import penstock as tf

FACTS = pathlib.Path(__file__).parents[1] / "data" / "tf_graphs.json"
RECORDED = json.loads(FACTS.read_text())["scenarios"]


def plain(value):
    """As JSON keeps it."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("name", SCENARIOS)
def test_answers_are_tensorflows(name):
    with tf.Graph().as_default():
        found = plain(SCENARIOS[name](tf))
    assert len(found) == len(RECORDED[name])
    for index, (ours, expected) in enumerate(zip(found, RECORDED[name], strict=True)):
        assert ours == expected, f"answer {index}"


def test_every_scenario_is_recorded():
    assert set(RECORDED) == set(SCENARIOS)
