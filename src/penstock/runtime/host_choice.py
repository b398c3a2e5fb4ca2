"""Which operations run their host kernels on a CPU although XLA has code for them.

A kernel declares two numbers of elements, which measurements gave. Up to `limit` NumPy or native
code is preferred to a call of XLA's: a `limit` above `CALLS_PAY` does not speak of what a call
costs but says that the kernel itself takes less time than XLA's code. From `alone_from` it is so
much faster that leaving a region for it pays. So what has nothing but the first kind is never
compiled (`is_best_on_host`), and an operation of the second kind is in no region (`runs_alone`).
"""

from penstock.core.kernels import select
from penstock.core.prepared import UNBOUNDED, PreparedOp
from penstock.runtime.node import Node
from penstock.types.dims import num_elements

CALLS_PAY = 1 << 20  # elements on which no work is so small that a call of XLA's would cost more


def is_best_on_host(node: Node, prepared: PreparedOp) -> bool:
    """Whether a CPU runs the operation's host kernel on arrays as large as these."""
    if prepared.device != "CPU" or prepared.op.calls or prepared.op.step_input is not None:
        return False
    if prepared.limit >= UNBOUNDED or node.type == "Const":
        return True
    sizes = [num_elements(source.shapes[index]) for source, index in node.inputs]
    if prepared.limit <= CALLS_PAY or None in sizes:
        return False
    return sum(filter(None, sizes)) <= prepared.limit


def runs_alone(node: Node, device: str) -> bool:
    """Whether a node is large work that its host kernel does several times as fast as XLA."""
    host = None if device != "CPU" else select(node.type, "host", device, node.attrs)
    if host is None or host.alone_from is None:
        return False
    shapes = [*node.shapes, *(source.shapes[index] for source, index in node.inputs)]
    return max((num_elements(dims) or 0 for dims in shapes), default=0) >= host.alone_from
