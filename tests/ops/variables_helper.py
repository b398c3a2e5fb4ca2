"""Running one operation on variables: on the host, compiled, compiled in place, and in a graph."""

from typing import Any

import numpy as np

from penstock.core.eager import run_compiled
from penstock.core.execute import execute
from penstock.core.host_runs import run_host
from penstock.core.lazy import jnp, wide_types
from penstock.core.op_def import lookup
from penstock.core.prepared import prepare
from penstock.core.resources import ResourceHandle, VariableCell
from penstock.core.tensor import eager_tensor, wrap
from penstock.graph.graph import Graph
from penstock.ops.variables import Variable
from penstock.runtime.session import DirectSession
from penstock.types import dtypes as dt

MODES = ("host", "compiled", "in place", "graph")
Arrays = dict[str, np.ndarray]


class Runner:
    """A session over a graph: `run(fetches, targets)` gives arrays."""

    def __init__(self, graph: Graph) -> None:
        self.session = DirectSession(graph)

    def __call__(self, fetches: Any = (), targets: Any = ()) -> Any:
        plan = self.session.plan(list(fetches), [], list(targets))
        return self.session.run(plan, [])[0]


def run_op(op: str, slots: Arrays, values: dict[str, Any], attrs: Any = None, mode: str = "host"):
    """Runs `op` on variables `slots`, by input name. Returns their new values and the outputs."""
    definition, attrs = lookup(op), dict(attrs or {})
    if mode == "graph":
        return _in_graph(definition, slots, values, attrs)
    cells = {name: _cell(name, value, mode) for name, value in slots.items()}
    tensors = tuple(
        wrap(ResourceHandle("", a.name, cells[a.name]), dt.resource)
        if a.name in cells
        else eager_tensor(np.asarray(values[a.name]))
        for a in definition.inputs
    )
    prepared = prepare(definition, tensors, None, attrs, "CPU")
    run = run_host if mode == "host" else run_compiled
    outputs = run(prepared, [t._array for t in tensors])
    return {n: np.asarray(c.value) for n, c in cells.items()}, [np.asarray(o) for o in outputs]


def _cell(name: str, value: np.ndarray, mode: str) -> VariableCell:
    cell = VariableCell(name, dt.from_numpy(value.dtype), value.shape)
    with wide_types():
        cell.write(jnp.array(value) if mode == "in place" else value, fresh=mode == "in place")
    return cell


def _in_graph(definition: Any, slots: Arrays, values: dict[str, Any], attrs: Any):
    graph = Graph()
    with graph.as_default():
        variables = {n: Variable(v, name=f"v_{n}") for n, v in slots.items()}
        inputs = [
            variables[a.name].handle if a.name in variables else np.asarray(values[a.name])
            for a in definition.inputs
        ]
        result = execute(definition, inputs, attrs)
        reads = [v.value() for v in variables.values()]
    run = Runner(graph)
    run((), [v.initializer for v in variables.values()])
    outputs = result if isinstance(result, list) else [result]
    fetched = run(outputs) if definition.outputs else run((), outputs)
    state = dict(zip(slots, map(np.asarray, run(reads)), strict=True))
    return state, [np.asarray(o) for o in fetched]
