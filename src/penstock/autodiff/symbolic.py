"""`SymbolicGradient`: the reverse of a function as an operation.

Its kernel runs a body made once of the function: a call and the gradients of its inputs.
"""

from typing import Any

from penstock.autodiff.calls import call
from penstock.autodiff.gradients import gradients
from penstock.autodiff.unconnected import UnconnectedGradients
from penstock.core import context, rounds
from penstock.core.kernels import KernelContext, register_kernel
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.runtime.bodies import run_body
from penstock.runtime.control_flow import ON_HOST

_KEY = "symbolic"  # in CallBody.backward


def gradient_body(body: CallBody) -> CallBody:
    """The body that takes inputs and gradients of outputs, and gives the gradients of the inputs.

    They are zeros for inputs that no gradient reaches.
    """
    found = body.backward.get(_KEY)
    if found is None:
        graph = FuncGraph(f"SymbolicGradient_{body.name}")
        with context.graph_scope(graph), context.no_recording():
            xs = [graph.add_input(t.dtype, t.dims, f"x_{i}") for i, t in enumerate(body.inputs)]
            dys = [graph.add_input(t.dtype, t.dims, f"dy_{i}") for i, t in enumerate(body.outputs)]
            ys = call(body, xs)
            graph.outputs = gradients(ys, xs, dys, unconnected_gradients=UnconnectedGradients.ZERO)
        graph.finish()
        found = body.backward[_KEY] = CallBody(graph.name, graph)
    return found


def _symbolic_gradient(ctx: KernelContext, input: Any, *, f: Any) -> Any:
    with rounds.at(f"{ctx.op_name}/"):  # as where a call is inlined
        return run_body(ctx, gradient_body(f), input)


register_kernel("SymbolicGradient", _symbolic_gradient, kind="host", limit=ON_HOST, reentrant=True)

__all__ = ["gradient_body"]
