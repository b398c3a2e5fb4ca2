"""Functions that do one thing in different ways, of which a call runs the one for its device.

Functions with the same value of `api_implements`, an attribute of `experimental_attributes` of
`tf.function`, stand for each other. A call runs the one whose `api_preferred_device` is the type
of its device, when the graph around the call calls it too or holds it
(`ConcreteFunction.add_to_graph`); else the function that it names. Gradients are those of the
function that runs, and once one was asked for the call names it: views that keep values for
gradients have no attributes. Calls in graphs that are compiled whole, or vectorised, run what they
name.
"""

from collections.abc import Iterator

from penstock.graph.body import IMPLEMENTS, PREFERRED_DEVICE, CallBody
from penstock.graph.func_graph import bodies_of
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation
from penstock.types.device_spec import DeviceSpecV2


def implementation(op: Operation) -> CallBody:
    """The body that a call of a function runs."""
    named: CallBody = op.attrs["f"]
    if IMPLEMENTS not in named.attributes or any(g.keeps_calls for g in _enclosing(op.graph)):
        return named
    wanted = DeviceSpecV2.from_string(op.device).device_type or "CPU"
    for body in (named, *_functions_around(op.graph)):
        if body.attributes.get(PREFERRED_DEVICE) == wanted and _fits(body, named):
            return body
    return named


def _functions_around(graph: Graph) -> Iterator[CallBody]:
    for around in _enclosing(graph):
        yield from around._functions.values()
        for op in around.get_operations():
            yield from bodies_of(op.attrs)


def _enclosing(graph: Graph | None) -> Iterator[Graph]:
    """The graph and those around it."""
    while graph is not None:
        yield graph
        graph = getattr(graph, "outer_graph", None)


def _fits(body: CallBody, named: CallBody) -> bool:
    return (
        body.attributes.get(IMPLEMENTS) == named.attributes[IMPLEMENTS]
        and not body.must_compile
        and [t.dtype for t in body.inputs] == [t.dtype for t in named.inputs]
        and body.output_dtypes == named.output_dtypes
    )
