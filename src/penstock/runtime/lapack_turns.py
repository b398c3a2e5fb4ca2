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
from penstock.core.traced import Collected, TracedRef
from penstock.graph.func_graph import bodies_of, holds_any


def calls_lapack(node: Any, device: str) -> bool:
    """Whether a node, or one in the bodies that it calls, calls LAPACK where it is compiled."""
    return device == "CPU" and holds_any(node.type, node.attrs, OPERATIONS)


def begin_turns(
    collected: Collected, nodes: Sequence[Any], device: str, arguments: Sequence[Any]
) -> None:
    """Makes the first call of a body wait for all that the body is given.

    So XLA cannot take it out of the body as a call that needs nothing of a round or a branch.
    """
    if collected.turn is None and any(calls_lapack(n, device) for n in nodes):
        end_turn(collected, arguments)


def take_turn(collected: Collected, node: Any, arguments: Sequence[Any]) -> list[Any]:
    """The arguments of a node that calls LAPACK, which wait for the results of the last call.

    Of a call itself that is the first argument, of one with bodies each that is not known.
    """
    if bodies_of(node.attrs):
        return wait(collected, arguments)
    first, *others = arguments
    return [*wait(collected, [jnp.asarray(first)]), *others]


def wait(collected: Collected, values: Sequence[Any]) -> list[Any]:
    """The values, of which arrays that are not known wait for the results of the last call."""
    last = collected.turn
    if last is None:
        return list(values)
    return [jax.tree.map(lambda x: _after(last, x) if _waits(x) else x, v) for v in values]


def end_turn(collected: Collected, results: Sequence[Any]) -> None:
    """Notes results of a call as those that the next call waits for: the first number of each."""
    arrays = [r.value if isinstance(r, TracedRef) else r for r in results]
    numbers = [jnp.real(x.reshape(-1)[0]) for x in jax.tree.leaves(arrays) if _waits(x)]
    if numbers:
        collected.turn = sum(number.astype(jnp.float32) for number in numbers)


def _waits(value: Any) -> bool:
    return isinstance(value, jax.Array) and value.size > 0


def _after(last: Any, x: Any) -> Any:
    """`x`, once there is `last`.

    XLA orders calls by the arrays that they read and write, and removes what it sees to change
    nothing. It does not see that no number is both NaN and zero.
    """
    return jnp.where(jnp.isnan(last) & (last == 0), jnp.zeros((), x.dtype), x)
