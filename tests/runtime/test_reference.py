"""The fast executor against the reference executor, on random graphs."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.toys import (
    add,
    assign,
    assign_add,
    const,
    hooks,
    mul,
    placeholder,
    quick,
    read,
    variable,
)

from penstock.core.execute import execute
from penstock.core.resources import ResourceManager
from penstock.graph.graph import Graph
from penstock.runtime.client import Session
from penstock.runtime.reference import run_reference

hooks["double"] = lambda ctx, x: x * 2

BINARY = ("AddV2", "Mul", "Sub", "Maximum")
UNARY = ("Neg", "Tanh", "Identity", "Abs")


class Builder:
    """Draws a graph: values of shape [n] or [], variables, control dependencies."""

    def __init__(self, draw, size_known):
        self.draw = draw
        self.values = [
            placeholder((None if not size_known else 5,), name="x"),
            placeholder((), name="y"),
            const([0.5] * 1),
        ]
        self.values.append(const(1.5))
        self.ends = []
        self.handles = [variable(f"v{i}", (3,)) for i in range(2)]
        self.last = dict.fromkeys(self.handles, None)

    def pick(self):
        return self.draw(st.sampled_from(self.values))

    def step(self):
        kind = self.draw(
            st.sampled_from(["binary", "binary", "unary", "host", "read", "write", "same"])
        )
        graph = self.values[0].graph
        if kind == "binary":
            x = self.pick()
            self.values.append(execute(self.draw(st.sampled_from(BINARY)), (x, self.pick())))
        elif kind == "unary":
            self.values.append(execute(self.draw(st.sampled_from(UNARY)), (self.pick(),)))
        elif kind == "host":
            self.values.append(quick(self.pick(), "double"))
        elif kind == "same":
            x = self.pick()
            self.values += [add(x, np.float32(2)), add(x, np.float32(2))]
        else:
            handle = self.draw(st.sampled_from(self.handles))
            # all uses of a variable in one order: the result is determined
            before = self.last[handle]
            with graph.control_dependencies([before] if before is not None else []):
                if kind == "read":
                    made = read(handle)
                    self.last[handle] = made.op
                    total = execute("Sum", (made, np.int32(0)))
                    self.values.append(total)
                else:
                    value = const([1.0, 2.0, 3.0])
                    put = self.draw(st.sampled_from([assign, assign_add]))
                    self.last[handle] = put(
                        handle, mul(value, const(self.draw(st.sampled_from([0.5, 2.0]))))
                    )
                    self.ends.append(self.last[handle])


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_graphs(data):
    with Graph().as_default() as graph:
        builder = Builder(data.draw, data.draw(st.booleans()))
        for _ in range(data.draw(st.integers(3, 18))):
            builder.step()
        fetches = data.draw(st.lists(st.sampled_from(builder.values), min_size=1, max_size=5))
        final = []
        with graph.control_dependencies([op for op in builder.last.values() if op is not None]):
            final = [read(h) for h in builder.handles]
        with Session(graph=graph) as session:
            plain = ResourceManager()
            start = [assign(h, np.array([1, 2, 3], np.float32)) for h in builder.handles]
            session.run(start)
            run_reference([], {}, plain, start)
            x, y = builder.values[:2]
            for size in (5, 5, 5) if x.shape[0] else (2, 7, 7, 7, 1):
                feeds = {
                    x: np.linspace(-1, 1, size, dtype=np.float32),
                    y: np.asarray(0.25, np.float32),
                }
                got = session.run([fetches, builder.ends, final], feeds)
                unique = list(dict.fromkeys([*fetches, *final]))
                wanted = dict(
                    zip(
                        map(id, unique),
                        run_reference(unique, feeds, plain, builder.ends),
                        strict=True,
                    )
                )
                for value, tensor in zip(got[0] + got[2], [*fetches, *final], strict=True):
                    close(value, wanted[id(tensor)])
