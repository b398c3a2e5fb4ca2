"""Functions as files hold them."""

import penstock as tf
from penstock.graph.standard_ops import STANDS_FOR

v1 = tf.compat.v1


def message_of(function, *signature):
    """A GraphDef that calls a traced function on `in_0:0`, ...; and how many results it has."""
    concrete = tf.function(function, input_signature=signature).get_concrete_function()
    with tf.Graph().as_default() as graph:
        inputs = [v1.placeholder(s.dtype, s.shape, name=f"in_{i}") for i, s in enumerate(signature)]
        outputs = tf.nest.flatten(concrete(*inputs))
        for i, output in enumerate(outputs):
            tf.identity(output, name=f"out_{i}")
        return graph.as_graph_def(add_shapes=True), len(outputs)


def nodes_of(message):
    """The nodes of a GraphDef and of its functions."""
    return [*message.node, *(n for f in message.library.function for n in f.node_def)]


def as_others_read(message):
    """The GraphDef without what makes calls of forms the operations that they stand for."""
    found = type(message)()
    found.CopyFrom(message)
    for node in nodes_of(found):
        node.attr.pop(STANDS_FOR, None)
    return found


def run_message(message, values, count):
    """The `count` results, `out_0:0` and so on, of a GraphDef that is read and run."""
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(message, name="")
        feed = {f"in_{i}:0": value for i, value in enumerate(values)}
        return session.run([f"out_{i}:0" for i in range(count)], feed)


def operations_of(function, *signature):
    """The types of the operations of a traced function's file, and the function read back."""
    message, count = message_of(function, *signature)
    return {n.op for n in nodes_of(message)}, lambda *values: run_message(message, values, count)
