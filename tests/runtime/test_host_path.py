"""Regions that run on the host, node by node."""

import penstock as tf
from penstock.runtime import regions


def test_a_region_that_is_compiled_is_not_made_ready_for_the_host(monkeypatch):
    made = []
    original = regions.HostPath

    def noted(nodes, *rest):
        made.append(len(nodes))
        return original(nodes, *rest)

    monkeypatch.setattr(regions, "HostPath", noted)

    @tf.function
    def chain(x):
        for _ in range(10):
            x = tf.tanh(x * 1.5) + 1.0
        return x

    for _ in range(2):
        chain(tf.ones([100, 100]))
    assert made == []
    small = tf.function(lambda x: x * 2.0)
    for _ in range(2):
        assert small(tf.constant(2.0)) == 4.0
    assert made == [2]  # the constant and the product
