"""Calls of LAPACK in one compiled region, one after the other.

JAX's handlers on CPU share a stack of matrices out among XLA's threads, and each waits for its
parts on the thread that it came on. When as many wait as there are threads, nobody is left to do
the parts: on two processors, two solutions that do not need each other wait for ever. So each call
of a region is made to need the one before it, and regions with such calls run one at a time
(`penstock.core.lapack.Limit`).
"""

from collections.abc import Sequence
from typing import Any

from penstock.core.lapack import OPERATIONS
from penstock.core.lazy import jax, jnp
from penstock.core.traced import Collected
from penstock.graph.body import CallBody
from penstock.graph.func_graph import bodies_of


def calls_lapack(node: Any) -> bool:
    """Whether a node, or one in the bodies that it calls, calls LAPACK where it is compiled."""
    return _calls(node.type, node.attrs)


def _calls(type_name: str, attrs: dict[str, Any]) -> bool:
    return type_name in OPERATIONS or any(_in_body(body) for body in bodies_of(attrs))


def _in_body(body: CallBody) -> bool:
    if body.lapack is None:
        body.lapack = any(_calls(op.type, op.attrs) for op in body.graph.get_operations())
    return body.lapack


def take_turn(collected: Collected, arguments: Sequence[Any]) -> list[Any]:
    """The arguments of a call, of which the first array waits for the results of the last call.

    XLA orders calls by the arrays that they read and write, and removes what it sees to change
    nothing. It does not see that no number is both NaN and zero.
    """
    arguments = list(arguments)
    last = collected.turn
    place = next((i for i, a in enumerate(arguments) if getattr(a, "size", 0)), None)
    if last is None or place is None:
        return arguments
    x = jnp.asarray(arguments[place])
    never = jnp.isnan(last) & (last == 0)
    arguments[place] = jnp.where(never, jnp.zeros((), x.dtype), x)
    return arguments


def end_turn(collected: Collected, results: Sequence[Any]) -> None:
    """Notes a call's results as those that the next call waits for."""
    for result in results:
        if isinstance(result, jax.Array) and result.size:
            number = jnp.real(result.reshape(-1)[0])
            collected.turn = number.astype(jnp.float32)
            return
