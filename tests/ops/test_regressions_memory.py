"""What must go when its last user goes."""

import gc
import weakref

import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.mark.parametrize("run", [False, True], ids=["built", "run"])
def test_a_dropped_graph_with_shared_variables_is_freed(run) -> None:
    def build():
        with tf.Graph().as_default() as graph:
            variable = v1.get_variable("w", [10])
            assert v1.get_variable_scope().name == ""
            if run:
                with v1.Session() as session:
                    session.run(variable.initializer)
                    session.run(variable + 1.0)
            return weakref.ref(graph)

    graph = build()
    gc.collect()
    assert graph() is None


def test_a_store_belongs_to_its_graph() -> None:
    graph = tf.Graph()
    with graph.as_default():
        first = v1.get_variable("w", [2])
    with graph.as_default(), v1.variable_scope("", reuse=True):
        assert v1.get_variable("w", [2]) is first
    with tf.Graph().as_default():
        assert v1.get_variable("w", [2]) is not first
    assert not [key for key in graph.get_all_collection_keys() if "store" in key]
