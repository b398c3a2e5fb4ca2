"""Functions that do one thing in different ways, of which a call runs the one for its device.

Functions with the same value of `api_implements`, an attribute of `experimental_attributes` of
`tf.function`, stand for each other. A call runs the one whose `api_preferred_device` is the type
of its device, when the graph around the call calls it too or holds it
(`ConcreteFunction.add_to_graph`); else the function that it names. Views that keep values for
gradients have no attributes: they stay what they are, and so do calls that are compiled whole.
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
    if IMPLEMENTS not in named.attributes:
        return named
    wanted = DeviceSpecV2.from_string(op.device).device_type or "CPU"
    for body in (named, *_functions_around(op.graph)):
        if body.attributes.get(PREFERRED_DEVICE) == wanted and _fits(body, named):
            return body
    return named


def _functions_around(graph: Graph | None) -> Iterator[CallBody]:
    while graph is not None:
        yield from graph._functions.values()
        for op in graph.get_operations():
            yield from bodies_of(op.attrs)
        graph = getattr(graph, "outer_graph", None)


def _fits(body: CallBody, named: CallBody) -> bool:
    return (
        body.attributes.get(IMPLEMENTS) == named.attributes[IMPLEMENTS]
        and not body.must_compile
        and [t.dtype for t in body.inputs] == [t.dtype for t in named.inputs]
        and body.output_dtypes == named.output_dtypes
    )
