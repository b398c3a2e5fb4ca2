"""Programs that the planner rewrites: what becomes of them, and that their values stay."""

import numpy as np

import penstock as tf
from penstock.core.resources import ResourceManager
from penstock.graph.graph import Graph
from penstock.runtime.program import build
from penstock.runtime.reference import run_reference
from penstock.runtime.simplify import simplify

FED = {}  # what stands for what, in the graph that a test builds


def fed(array):
    """A tensor that no pass can fold."""
    tensor = tf.compat.v1.placeholder(array.dtype, array.shape)
    FED[tensor] = array
    return tensor


def planned_types(make, atol):
    """The types of the program's nodes; values are compared with the reference executor's."""
    FED.clear()
    with Graph().as_default():
        fetches = tf.nest.flatten(make())
        program = simplify(build(fetches, list(FED), ()))
        plain = run_reference(fetches, FED, ResourceManager())
        with tf.compat.v1.Session() as session:
            values = session.run(fetches, FED)
    for got, right in zip(values, plain, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=atol)
    return [n.type for n in program.nodes]
