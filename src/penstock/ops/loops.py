"""`tf.while_loop`.

Eagerly the loop is Python's. In a graph, condition and body become functions of the loop variables
and of what they capture, which stays the same in all rounds; with `maximum_iterations` a counter
comes first.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from penstock import errors
from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.core.user_code import converted
from penstock.graph.body import CallBody
from penstock.graph.static_values import constant_value
from penstock.graph.trip_count import bound_of
from penstock.ops.bodies import (
    BodyGraph,
    as_predicate,
    emit,
    note_uses,
    share_captures,
    trace,
    write_what_they_read,
)
from penstock.ops.control_flow import STATELESS_WHILE, WHILE
from penstock.ops.tensor_array import TensorArray
from penstock.types import dtypes as dt
from penstock.types.dims import Dims, compatible, is_subtype, text
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest
from penstock.util.frames import user_frame

_numbers = itertools.count()


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """Replaces `loop_vars` by `body(*loop_vars)` as long as `cond(*loop_vars)` is true.

    Args:
      cond: takes the loop variables, returns a bool of one element.
      body: takes the loop variables, returns their next values: same structure and dtypes, and
        shapes that the invariants allow.
      loop_vars: a list or tuple of nests of tensors.
      shape_invariants: for each tensor the shape it has in every round; its first shape if absent.
      parallel_iterations: accepted for compatibility; positive.
      back_prop: False stops gradients at the results.
      swap_memory: accepted for compatibility.
      maximum_iterations: int32[], a bound on the rounds. A known bound lets the gradient compile.
      name: the name of the operation in a graph.

    Returns:
      The final values, in the structure of `loop_vars`.

    Raises:
      TypeError: `cond` or `body` is not callable, or a variable changes its dtype.
      ValueError: there are no loop variables, or a structure or shape changes.
      InvalidArgumentError: `cond` returns something else than one boolean (in a graph), or, eagerly
        and without a bound, a list of something: it would be true for ever.
      TypeError, ValueError: eagerly and with a bound, `cond` returns no boolean, or several.

    Example:
      >>> import penstock as tf
      >>> (i,) = tf.while_loop(lambda i: i < 5, lambda i: (i + 2,), (tf.constant(0),))
      >>> int(i)
      6
    """
    result = _loop(
        cond, body, loop_vars, shape_invariants, parallel_iterations, maximum_iterations, name
    )
    if back_prop:
        return result
    return nest.map_structure(
        lambda t: execute("StopGradient", (t,)), result, expand_composites=True
    )


def while_loop_v1(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """`while_loop`; of a graph's loop a single variable comes back by itself.

    Args:
      return_same_structure: whether it comes back as the others do; eagerly it does, unless
        `body` returned it without a list.
    """
    eager, bare = state.graph is None, [False]

    def noted(*values: Any) -> Any:
        result = body(*values)
        bare[0] = not isinstance(result, (list, tuple))
        return result

    result = while_loop(
        cond,
        noted if eager and callable(body) else body,
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        swap_memory,
        maximum_iterations,
        name,
    )
    alone = len(loop_vars) == 1 and (bare[0] or not eager)
    return result[0] if alone and not return_same_structure else result


def _loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any,
    parallel_iterations: Any,
    maximum_iterations: Any,
    name: str | None,
) -> Any:
    for label, function in (("cond", cond), ("body", body)):
        if not callable(function):
            raise TypeError(f"'{label}' must be callable.")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    bound = None if maximum_iterations is None else _bound(maximum_iterations)
    if state.graph is None:
        return _run_now(cond, body, nest.map_structure(_as_tensor, loop_vars), bound)
    loop_vars = nest.map_structure(_as_tensor, loop_vars)
    return _LoopBuilder(name or "while", loop_vars, shape_invariants, bound).build(
        converted(cond), converted(body), parallel_iterations
    )


def _as_tensor(value: Any) -> Any:
    """A loop variable as a tensor; one that is made of tensors stays as it is."""
    return value if isinstance(value, CompositeTensor) else convert_to_tensor(value)


def _bound(value: Any) -> Tensor:
    bound = convert_to_tensor(value, dt.int32) if not isinstance(value, Tensor) else value
    if bound.shape.rank not in (0, None):
        raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {bound.shape}")
    return bound if bound.dtype is dt.int32 else execute("Cast", (bound,), {"DstT": dt.int32})


def _as_given(loop_vars: Any, result: Any) -> Any:
    """What a body returned in the structure of the loop variables: one need not be in a list.

    Raises:
      ValueError: it has another structure.
    """
    if len(loop_vars) == 1 and not isinstance(result, (list, tuple)):
        result = [result]
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields"):
        result = type(loop_vars)(result) if not hasattr(loop_vars, "_fields") else result
    nest.assert_same_structure(loop_vars, result)
    return result


def _run_now(cond: Any, body: Any, loop_vars: Any, bound: Tensor | None) -> Any:
    limit = None if bound is None else int(bound)  # type: ignore[call-overload]
    rounds = 0
    while (limit is None or rounds < limit) and _goes_on(cond(*loop_vars), limit):
        result = _as_given(loop_vars, body(*loop_vars))
        loop_vars = nest.map_structure(_as_tensor, result)
        rounds += 1
    return loop_vars


def _goes_on(value: Any, limit: int | None) -> bool:
    """Whether a condition holds. With a limit it is a tensor's, else Python's: empty lists end."""
    if limit is not None:
        return bool(value if isinstance(value, Tensor) else convert_to_tensor(value, dt.bool_))
    if isinstance(value, (list, tuple)) and value:  # true for ever, whatever it has
        raise errors.InvalidArgumentError(
            None,
            None,
            f"'cond' of tf.while_loop: expected one boolean, got {value!r}. Use tf.reduce_any or "
            "tf.reduce_all.",
        )
    return bool(value)


class _LoopBuilder:
    """A loop that becomes an operation."""

    def __init__(
        self, name: str, loop_vars: Any, shape_invariants: Any, bound: Tensor | None
    ) -> None:
        self._name = name
        self._vars = loop_vars
        self._flat = [
            state.graph.as_tensor(t) for t in nest.flatten(loop_vars, expand_composites=True)
        ]
        self._dims = _invariants(self._flat, shape_invariants)
        self._flat = [
            t if is_subtype(t.dims, dims) else execute("EnsureShape", (t,), {"shape": dims})
            for t, dims in zip(self._flat, self._dims, strict=True)
        ]
        self._bound = bound
        self._hoists = True
        self._result: Any = None  # what the body returned

    def build(self, cond: Any, body: Any, parallel_iterations: int) -> Any:
        """Adds the operation and returns the packed results."""
        graphs = self._trace(cond, body)
        if write_what_they_read(graphs):
            self._hoists = False
            graphs = self._trace(cond, body)
        own = len(self._flat) + (self._bound is not None)
        captured = share_captures(graphs, own)
        graphs[1].outputs += graphs[1].inputs[own:]
        note_uses(graphs)
        bodies = [CallBody(g.name, g) for g in graphs]
        counter = [] if self._bound is None else [convert_to_tensor(0, dt.int32)]
        inputs = [*counter, *self._flat, *captured]
        attrs: dict[str, Any] = {
            "T": tuple(t.dtype for t in inputs),
            "cond": bodies[0],
            "body": bodies[1],
            "parallel_iterations": parallel_iterations,
        }
        known = None if self._bound is None else constant_value(self._bound)
        if known is not None:
            attrs["_maximum_iterations"] = int(known)
        op = WHILE if any(b.stateful for b in bodies) else STATELESS_WHILE
        node = emit(op, inputs, (len(inputs),), attrs, self._name)
        if "_maximum_iterations" not in attrs:
            most = bound_of(node)
            if most is not None:
                node.attrs = {**node.attrs, "_maximum_iterations": most}
        results = nest.pack_sequence_as(
            self._vars, node._outputs[len(counter) : own], expand_composites=True
        )
        return nest.map_structure(_learn, results, self._result)

    def _trace(self, cond: Any, body: Any) -> list[BodyGraph]:
        number = next(_numbers)
        base = self._name.replace("/", "_")
        graphs = [BodyGraph(f"{base}_{part}_{number}", self._hoists) for part in ("cond", "body")]
        for graph, function in zip(graphs, (self._cond, self._body), strict=True):
            counter = None
            if self._bound is not None:
                counter = graph.add_input(dt.int32, (), "loop_counter", user=False)
            places = [
                graph.add_input(t.dtype, dims, f"loop_var_{i}", user=False)
                for i, (t, dims) in enumerate(zip(self._flat, self._dims, strict=True))
            ]
            trace(graph, functools.partial(function, cond, body, counter, places))
        return graphs

    def _packed(self, places: Sequence[Any]) -> Any:
        """The loop variables, made inside of the graph that they belong to."""
        return nest.pack_sequence_as(self._vars, list(places), expand_composites=True)

    def _cond(self, cond: Any, body: Any, counter: Any, places: Any) -> Any:
        result = as_predicate(
            cond(*self._packed(places)), f"'cond' of tf.while_loop '{self._name}'"
        )
        if counter is None:
            return result
        return execute("LogicalAnd", (execute("Less", (counter, self._bound)), result))

    def _body(self, cond: Any, body: Any, counter: Any, places: Any) -> Any:
        result = self._result = _as_given(self._vars, body(*self._packed(places)))
        flat = [convert_to_tensor(v) for v in nest.flatten(result, expand_composites=True)]
        for i, new in enumerate(flat):
            self._check(i, new)
        if counter is None:
            return flat
        return [execute("AddV2", (counter, 1)), *flat]

    def _check(self, index: int, new: Tensor) -> None:
        """Refuses a next value of another dtype, or of a shape outside of the invariant."""
        old, dims = self._flat[index], self._dims[index]
        if new.dtype is not old.dtype:
            raise TypeError(
                f"tf.while_loop '{self._name}'{_at()}: expected loop variable {index} to keep its "
                f"dtype {old.dtype.name}, got {new.dtype.name} from 'body'. Cast it back."
            )
        if not is_subtype(new.dims, dims):
            raise ValueError(
                f"tf.while_loop '{self._name}'{_at()}: expected loop variable {index} to keep the "
                f"shape {text(dims)} that it enters the loop with, got {text(new.dims)} after one "
                "iteration. Say which dimensions vary with shape_invariants, or use set_shape."
            )


def _learn(value: Any, example: Any) -> Any:
    """A result of the loop, with the shape of elements that a round told."""
    if isinstance(value, TensorArray):
        value._note(example.element_shape)
    return value


def _invariants(flat: Sequence[SymbolicTensor], given: Any) -> list[Dims]:
    if given is None:
        return [t.dims for t in flat]
    shapes = nest.flatten(given, expand_composites=True)
    if len(shapes) != len(flat):
        raise ValueError(
            f"shape_invariants{_at()}: expected one for each of {len(flat)} loop variables, got "
            f"{len(shapes)}. Give a TensorShape for each."
        )
    result: list[Dims] = []
    for tensor, item in zip(flat, shapes, strict=True):
        shape = item if isinstance(item, TensorShape) else getattr(item, "shape", item)
        dims = TensorShape(shape).dims_tuple
        if not compatible(tensor.dims, dims):
            raise ValueError(
                f"The shape invariant{_at()} must hold when the loop starts: expected "
                f"{text(dims)}, got {text(tensor.dims)} for loop variable {len(result)}. Make it "
                "less specific."
            )
        result.append(dims)
    return result


def _at() -> str:
    where = user_frame()
    return f" at {where}" if where else ""


__all__ = ["while_loop", "while_loop_v1"]
