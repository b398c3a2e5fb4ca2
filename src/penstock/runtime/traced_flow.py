"""What compiled conditionals and loops share: their values, variables and checks as XLA's state."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from penstock import errors
from penstock.core.lazy import jax, jnp
from penstock.core.tensor_list import StackedList
from penstock.core.traced import Collected, NotStatic, TraceContext, TracedRef
from penstock.graph.body import CallBody
from penstock.types import dtypes as dt


def refuse_empty(ctx: TraceContext, values: Sequence[Any]) -> None:
    """Refuses variables without a value, which no state of XLA's can hold.

    Raises:
      NotStatic: there is one.
    """
    if any(isinstance(v, TracedRef) and v.value is None for v in values):
        raise NotStatic(ctx.op_key, "a variable has no value")


def as_state(value: Any, tensor: Any) -> Any:
    """A value as what XLA carries: an array of the dtype of `tensor`, or a list's rows.

    Raises:
      NotStatic: it is a variant of another kind.
    """
    if tensor.dtype is dt.resource:
        return jnp.zeros((), bool)  # the plan takes the handle from the input
    if tensor.dtype is dt.variant:
        if not isinstance(value, StackedList):
            raise NotStatic(None, "a variant is no list")
        return value
    return jnp.asarray(value, tensor.dtype.numpy_dtype)


def written_by(values: Sequence[Any], bodies: Sequence[CallBody]) -> list[int]:
    """The positions of the variables that bodies may write."""
    touched = {i for body in bodies for i, effect in body.effects.items() if "w" in effect}
    return sorted(i for i in touched if isinstance(values[i], TracedRef))


def forked(values: Sequence[Any], written: Sequence[int], state: Sequence[Any]) -> list[Any]:
    """The arguments with variables of their own for what is written."""
    result = list(values)
    for i, value in zip(written, state, strict=True):
        result[i] = TracedRef(values[i].name, value)
    return result


def building(
    ctx: TraceContext,
    build: Callable[[], Any],
    needs: Callable[[NotStatic], set[int] | None] = lambda _: None,
    runs: bool = False,
) -> Any:
    """Builds a conditional or loop; where XLA cannot have it, the host runs it.

    `needs` tells which inputs must be known, by what a node of the bodies lacks. `runs`: what is
    built runs for certain, so what is wrong with its sizes is an error; a branch that is not taken,
    or a loop without rounds, may have sizes that its nodes refuse.
    """
    try:
        return build()
    except NotStatic as signal:
        raise NotStatic(ctx.op_key, str(signal), needs(signal)) from signal
    except errors.OpError as problem:
        if runs:
            raise
        raise NotStatic(ctx.op_key, problem.message) from problem
    except (TypeError, ValueError) as problem:  # branches or rounds of other shapes
        raise NotStatic(ctx.op_key, str(problem)) from problem


class Checked(NamedTuple):
    """What a round or a branch gives: its results, and what its operations check and draw."""

    results: Any
    oks: list[Any]
    held: list[tuple[Any, ...]]
    drew: list[Any]


def checked(function: Callable[..., Any], seen: list[Any]) -> Callable[..., Checked]:
    """`function(collected, *arguments)` as one of `arguments`; `seen` gets the checks it makes."""

    def run(*arguments: Any) -> Checked:
        collected = Collected()
        results = function(collected, *arguments)
        seen[:] = collected.checks
        oks = [jnp.asarray(ok).reshape(()) for ok in collected.conditions]
        drew = [jnp.asarray(flag) for flag in collected.drew]
        return Checked(results, oks, as_arrays(collected.values), drew)

    return run


class Staged:
    """A round or a branch that is traced once, for what is to be known of it and for XLA's form.

    To trace it again for each would trace what it holds again each time, too, and loops within
    loops by the power of their depth.

    Attributes:
      checks: those that its operations make.
      shapes: what it gives, as shapes and dtypes.
    """

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.checks: list[Any] = []
        run = checked(function, self.checks)
        self._closed, self.shapes = jax.make_jaxpr(run, return_shape=True)(*arguments)
        self._tree = jax.tree.structure(self.shapes)

    def __call__(self, *arguments: Any) -> Checked:
        """What it gives for arguments of the shapes, dtypes and forms it was traced with."""
        leaves = jax.tree.leaves(arguments)
        flat = jax.core.eval_jaxpr(self._closed.jaxpr, self._closed.consts, *leaves)
        return jax.tree.unflatten(self._tree, flat)  # type: ignore[no-any-return]


def zeros_like(shapes: Any) -> Any:
    """Zeros for a tree of shapes."""
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)


def as_arrays(tree: Any) -> Any:
    """The values of checks as arrays, a tuple for each check."""
    return jax.tree.map(jnp.asarray, [tuple(item) for item in tree])


def hand_on(ctx: TraceContext, checks: Sequence[Any], oks: Any, held: Any) -> None:
    """Makes checks of a body checks of the region around it."""
    ctx.collected.checks.extend(checks)
    ctx.collected.conditions.extend(oks)
    ctx.collected.values.extend(held)
