"""The check that an error says what programs recognise it by."""

import pytest

import penstock as tf

LATE = (tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError)


def check_phrases(call, eager, graph):
    """What the eager error says, and that of building a graph, where it is not None."""
    with pytest.raises((*LATE, TypeError, ValueError)) as raised:
        call()
    assert eager in str(raised.value)
    if graph is not None:
        with pytest.raises((TypeError, ValueError)) as raised:
            tf.function(call).get_concrete_function()
        assert graph in str(raised.value)
