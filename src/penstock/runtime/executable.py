"""Executables: a region's nodes as one jitted function.

While it is traced, nodes run in topological order on tracers. What is known on the host is computed
there and then, so shapes computed in the graph stay static. Equal rounds become a loop
(`penstock.runtime.repeats`). Variables that are written come in by donation and go out as outputs;
the conditions that operations check go out as outputs too, and a variable keeps its old value where
one fails.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from penstock import errors
from penstock.config.logging import get_logger
from penstock.core import lapack
from penstock.core.compiling import compile_function, is_elementwise, is_refusal
from penstock.core.host_runs import refusal, run_host
from penstock.core.lazy import jax, jnp, wide_types
from penstock.core.lazy_module import LazyModule
from penstock.core.memory import largest, refuse_beyond_free, refuse_beyond_memory
from penstock.core.patterns import Pattern, add_pattern, used
from penstock.core.prepared import PreparedOp
from penstock.core.products import Noted, noted
from penstock.core.tensor_list import StackedList
from penstock.core.traced import (
    Check,
    Collected,
    NotStatic,
    TraceContext,
    TracedRef,
    gate,
    gate_now,
)
from penstock.runtime.finishing import FINISH, Finisher
from penstock.runtime.lapack_turns import begin_turns, calls_lapack, end_turn, take_turn, wait
from penstock.runtime.program import Node, Ref
from penstock.runtime.repeats import Constant, Link, Repeat, Same, find_repeats
from penstock.types import dtypes as dt

updates: Any = LazyModule("penstock.runtime.updates")  # of steps that assign to variables
UPDATES = add_pattern(
    Pattern(
        "updates",
        "all that a step assigns to variables element by element: the update operations of "
        "optimizers, and updates that programs spell out",
        "one call of the native library for all variables, in their memory",
        "float32 on CPU; variables of one shape that are updated together, two or more, as weights "
        "and their means are; other operations see no new value, and only sums, products, "
        "quotients, roots, signs, sizes and bounds are taken of elements; 16,384 elements in all",
    )
)
UPDATE_PRODUCTS = add_pattern(
    Pattern(
        "update_products",
        "a gradient that is a product of two matrices, and that nothing but one group of `updates` "
        "uses",
        "a block of the gradient at a time, inside of that call",
        "the library computes the product; the matrices hold no more elements than the gradients "
        "that are left out, and are no variables that the call updates",
    )
)
WEIGHED_PART = 16  # of the memory: kernels hold values between their steps that no node shows
NO_KERNEL = "there is no kernel for it in compiled regions"
LARGE_CONSTANT = (
    4096  # elements above which a constant is an argument of the executable instead of part of it
)


def _on_device(constant: Any) -> Any:
    """A constant as JAX's array; outside of the scope JAX would cut 64 bits to 32."""
    with wide_types():
        return jnp.asarray(constant)


class Traceable(Protocol):
    """What of a region an executable needs."""

    nodes: list[Node]
    prepared: list[PreparedOp]
    inputs: list[Ref]
    outputs: list[Ref]
    variables: list[Ref]
    writes: list[bool]
    step_nodes: list[int]
    device: str


class VariesByShapeError(Exception):
    """A second trace made other checks: the shapes must be part of the key."""


class ResizesVariableError(Exception):
    """A variable gets a value of another shape, which cannot take the old one's buffer."""


class LargeStepError(Exception):
    """What a region computes may need all memory: it is weighed before it runs."""


class Executable:
    """A region's function, jitted.

    Args:
      region: what it computes.
      runs_here: whether it is called, on this machine: then there must be memory for it.

    Attributes:
      function: `function(constants, steps, inputs, kept, taken)` gives (outputs, new values of the
        variables that may be written (None for one without a value), conditions, values of the
        checks, bool[streams]: which of those of conditionals are read); donates `taken`.
      constants: the large constants.
      checks: what its conditions mean; known once it is traced.
      lapack: the limit of LAPACK's threads, None where it is not called.
      to_weigh: whether `weigh` is to be asked before a call.
    """

    def __init__(self, region: Traceable, *, runs_here: bool = False) -> None:
        self.region = region
        self.checks: list[Check] = []
        self._traced = False
        found = find_repeats(region.nodes, region.prepared, region.outputs)
        self._repeats = {id(r.rounds[0][0]): r for r in found}
        types = [n.type for n in region.nodes]
        self._elementwise = is_elementwise(types)
        in_turns = any(calls_lapack(n, region.device) for n in region.nodes)
        self.lapack = lapack.Limit() if in_turns else None
        self._large = [
            (id(n), _on_device(n.attrs["value"].array))
            for n in region.nodes
            if n.type == "Const"
            and n.attrs["value"].array.size > LARGE_CONSTANT
            and n.dtypes[0] is not dt.string
        ]
        self.constants = [value for _, value in self._large]
        self._donates = True
        self._plain_loops = False
        self._runs_here = runs_here
        self.to_weigh = False
        self._largest = region.nodes[0]  # of those whose values were traced last
        self._sizes: dict[tuple[Any, ...], int] = {}  # bytes that calls of these shapes ask for
        self.function = self._compiled()

    def _compiled(self) -> Callable[..., Any]:
        return compile_function(
            self._trace,
            donate=(4,) if self._donates else (),
            elementwise=self._elementwise,
            plain_loops=self._plain_loops,
        )

    def keep_buffers(self) -> None:
        """Donates no more: JAX warns of each buffer that a region could not use."""
        self._donates = False
        self.function = self._compiled()

    def compile_plainly(self, problem: Exception) -> bool:
        """After a call that failed: whether XLA may compile in another way what it gave up on."""
        if self._plain_loops or not is_refusal(problem):
            return False
        self._plain_loops = True
        self.function = self._compiled()
        first = self.region.nodes[0]
        get_logger().warning(
            "%s: XLA could not compile the region of %d operations that begins here (%s); it is "
            "compiled without XLA's fusion emitters.",
            first.where(),
            len(self.region.nodes),
            str(problem).splitlines()[0],
        )
        return True

    def weigh(self, arguments: tuple[Any, ...]) -> None:
        """Refuses a call for which there is no memory, before anything of it has run.

        XLA fails in the middle of such a call, when buffers of variables are given away already.
        JAX keeps the executable for the call itself, and the trace as long as it likes.

        Raises:
          ResourceExhaustedError: there is no memory for what it computes.
        """
        shapes = tuple([getattr(leaf, "shape", ()) for leaf in jax.tree.leaves(arguments)])
        size = self._sizes.get(shapes)
        if size is None:
            size = self._sizes[shapes] = self._needs(arguments)
        node = self._largest
        what = f"values of {len(self.region.nodes)} operations, this one's the largest,"
        refuse_beyond_free(size, functools.partial(_where, node), node.origin, what)

    def _needs(self, arguments: tuple[Any, ...]) -> int:
        """Bytes that a call asks for, 0 where the compiler does not say."""
        compiled = self.function.lower(*arguments).compile()  # type: ignore[attr-defined]
        needs = compiled.memory_analysis()
        if needs is None:
            return 0
        size = needs.temp_size_in_bytes + needs.output_size_in_bytes - needs.alias_size_in_bytes
        return max(int(size), 0)

    def _trace(
        self,
        constants: list[Any],
        steps: list[Any],
        inputs: list[Any],
        kept: list[Any],
        taken: list[Any],
    ) -> Any:
        with noted() as made:
            finisher = None
            if self.region.device == "CPU" and used(FINISH.name):
                finisher = Finisher(self.region.nodes, self.region.outputs, made)
            return self._trace_all(finisher, made, constants, steps, inputs, kept, taken)

    def _trace_all(
        self,
        finisher: Finisher | None,
        made: Noted,
        constants: list[Any],
        steps: list[Any],
        inputs: list[Any],
        kept: list[Any],
        taken: list[Any],
    ) -> Any:
        region = self.region
        collected = Collected()
        values: dict[tuple[int, int], Any] = {
            (id(n), i): v for (n, i), v in zip(region.inputs, inputs, strict=True)
        }
        values.update(
            {(key, 0): value for (key, _), value in zip(self._large, constants, strict=True)}
        )
        refs = _traced_refs(region, iter(kept), iter(taken))
        old = {key: ref.value for key, ref in refs.items()}
        step_values = dict(zip(region.step_nodes, steps, strict=True))
        looped: set[int] = set()
        for position, (node, prepared) in enumerate(
            zip(region.nodes, region.prepared, strict=True)
        ):
            repeat = self._repeats.get(id(node))
            if repeat is not None and trace_repeat(repeat, values, collected):
                looped.update(id(n) for nodes in repeat.rounds for n in nodes)
            if id(node) not in looped and (id(node), 0) not in values:
                trace_node(node, prepared, values, refs, collected, step_values.get(position))
                if finisher is not None:
                    finisher.after(node, values)
                for key in _keys(node, prepared.writes):
                    gate_now(collected, refs[key], old[key])
        self._note(collected.checks)
        if any(region.writes) and region.device == "CPU" and used(UPDATES.name):
            products = made if used(UPDATE_PRODUCTS.name) else {}
            updates.update_together(region, values, refs, old, collected, products)
        outer = {id(v) for v in [*inputs, *kept, *taken]}
        written = [
            None
            if ref.value is None
            else _own(gate(collected, ref, before) if ref.written else ref.value, outer)
            for ref, before, writes in zip(refs.values(), old.values(), region.writes, strict=True)
            if writes
        ]
        if self._donates and any(
            a is not None and b is not None and a.shape != b.shape
            for a, b in zip(taken, written, strict=True)
        ):
            raise ResizesVariableError
        outputs = [_own(values[id(n), i], outer) for n, i in region.outputs]
        if region.device == "CPU" and self._runs_here:
            self._check_room(outputs)
            self._weigh_first(values)
        drew = jnp.array(collected.drew) if collected.drew else None
        return outputs, written, collected.conditions, collected.values, drew

    def _check_room(self, outputs: list[Any]) -> None:
        for (node, _), output in zip(self.region.outputs, outputs, strict=True):
            refuse_beyond_memory(_bytes(output), functools.partial(_where, node), node.origin)

    def _weigh_first(self, values: dict[tuple[int, int], Any]) -> None:
        """Notes whose values are the largest, and gives up once where all may not fit into memory.

        Raises:
          LargeStepError: `to_weigh` is set now, and calls are weighed from here on.
        """
        nodes = self.region.nodes
        sizes = [sum(_bytes(values.get((id(n), i))) for i in range(len(n.dtypes))) for n in nodes]
        if sum(sizes) <= largest() // WEIGHED_PART:
            return
        self._largest = nodes[int(np.argmax(sizes))]
        if not self.to_weigh:
            self.to_weigh = True
            raise LargeStepError

    def _note(self, checks: list[Check]) -> None:
        if self._traced and len(checks) != len(self.checks):
            raise VariesByShapeError
        self._traced = True
        self.checks[:] = checks


def _bytes(value: Any) -> int:
    """Bytes of an array; 0 of a list, and where sizes are open in an export."""
    count = getattr(value, "size", None)
    return count * value.dtype.itemsize if isinstance(count, int) else 0


def _where(node: Node) -> str:
    return f"{node.type} {node.where()}"


def _keys(node: Node, positions: Sequence[int]) -> list[tuple[int, int]]:
    """The values that the node takes at these positions."""
    return [(id(source), index) for source, index in map(node.inputs.__getitem__, positions)]


def _traced_refs(region: Traceable, kept: Any, taken: Any) -> dict[tuple[int, int], TracedRef]:
    return {
        (id(n), i): TracedRef(n.name, next(taken if w else kept))
        for (n, i), w in zip(region.variables, region.writes, strict=True)
    }


def _own(value: Any, outer: set[int]) -> Any:
    """A result with a buffer of its own.

    JAX would give an argument, or one result twice, as the same array.
    """
    if isinstance(value, StackedList):
        return jax.tree.map(lambda part: _own(part, outer), value)
    if id(value) in outer:
        return jnp.copy(value)
    outer.add(id(value))
    return value if isinstance(value, jax.Array) else jnp.asarray(value)


def trace_node(
    node: Node,
    prepared: PreparedOp,
    values: dict[Any, Any],
    refs: dict[Any, Any],
    collected: Collected,
    step_value: Any,
) -> None:
    """Runs one node on what `values` and `refs` hold, and adds its outputs to `values`."""
    if node.type == "Const":
        values[id(node), 0] = node.attrs["value"].array
        return
    arguments = []
    # Bodies are traced even when all is known: on the host they would start regions of their own.
    calls = node.op is not None and node.op.calls
    known = not node.stateful and prepared.host is not None and not calls
    known = known and dt.variant not in node.dtypes  # lists stay in the region's form
    for position, (source, index) in enumerate(node.inputs):
        value = refs[id(source), index] if position in prepared.refs else values[id(source), index]
        known = known and isinstance(value, np.ndarray)
        arguments.append(value)
    if known and node.inputs:
        with jax.ensure_compile_time_eval():  # some host kernels call executables of their own
            results: Sequence[Any] = [np.asarray(r) for r in run_host(prepared, arguments)]
    else:
        results = _trace_compiled(node, prepared, arguments, collected, step_value)
    for i, result in enumerate(results):
        values[id(node), i] = result


def trace_node_alone(
    node: Node, prepared: PreparedOp, arguments: Sequence[Any], collected: Collected
) -> Any:
    """The one output of a node that checks nothing, on these arguments."""
    (result,) = _trace_compiled(node, prepared, list(arguments), collected, None)
    return result


def trace_repeat(repeat: Repeat, values: dict[Any, Any], collected: Collected) -> bool:
    """Traces rounds as a loop, and adds what the last one hands on to `values`.

    Returns:
      False where all that they take is known: then nothing was done, they run on the host.
    """
    same = [s.ref for row in repeat.form for s in row if isinstance(s, Same)]
    keys, refs = list(repeat.first), list(repeat.first.values())
    first = [_taken(ref, values) for ref in refs]
    if all(isinstance(_taken(ref, values), np.ndarray) for ref in [*refs, *same]):
        return False
    rounds = len(repeat.rounds)

    def one(number: Any, handed: list[Any]) -> list[Any]:
        results = _trace_round(repeat, values, number, dict(zip(keys, handed, strict=True)))
        return [results[key] for key in keys]

    dtypes = [repeat.prepared[j].out_numpy[i] for j, i in keys]
    given = [jnp.asarray(v, dtype) for v, dtype in zip(first, dtypes, strict=True)]
    in_turn = any(calls_lapack(n, repeat.prepared[0].device) for n in repeat.rounds[0])
    last = jax.lax.fori_loop(0, rounds, one, wait(collected, given) if in_turn else given)
    if in_turn:
        end_turn(collected, last)
    for (j, i), value in zip(keys, last, strict=True):
        values[id(repeat.rounds[-1][j]), i] = value
    return True


def _trace_round(
    repeat: Repeat, values: dict[Any, Any], number: Any, handed: dict[Any, Any]
) -> dict[Any, Any]:
    """The results of one round."""
    results: dict[Any, Any] = {}
    collected = Collected()
    device = repeat.prepared[0].device
    begin_turns(collected, repeat.rounds[0], device, list(handed.values()))
    for j, (node, row) in enumerate(zip(repeat.rounds[0], repeat.form, strict=True)):
        arguments = []
        for source in row:
            if isinstance(source, Link):
                arguments.append((handed if source.before else results)[source.key])
            elif isinstance(source, Constant):
                own = [nodes[j].inputs[source.number] for nodes in repeat.rounds]
                arguments.append(_constant_of(own, values, number))
            else:
                arguments.append(_taken(source.ref, values))
        results[j, 0] = trace_node_alone(node, repeat.prepared[j], arguments, collected)
    return results


def _taken(ref: Ref, values: dict[Any, Any]) -> Any:
    """A value from outside of the rounds; a constant may not have been reached yet."""
    node, index = ref
    value = values.get((id(node), index))
    return node.attrs["value"].array if value is None and node.type == "Const" else value


def _constant_of(refs: Sequence[Ref], values: dict[Any, Any], number: Any) -> Any:
    """The constant of a round: itself where it is the same in all, else from a table."""
    if all(ref == refs[0] for ref in refs):
        return _taken(refs[0], values)
    arrays = [node.attrs["value"].array for node, _ in refs]
    if all(array.tobytes() == arrays[0].tobytes() for array in arrays):
        return arrays[0]
    return jax.lax.dynamic_index_in_dim(jnp.asarray(np.stack(arrays)), number, keepdims=False)


def _trace_compiled(
    node: Node, prepared: PreparedOp, arguments: list[Any], collected: Collected, step_value: Any
) -> list[Any]:
    if prepared.compiled is None:
        raise NotStatic(node, NO_KERNEL)
    function, wants_context = prepared.compiled
    _require_static(node, prepared, arguments)
    if why := refusal(prepared, arguments):
        raise NotStatic(node, why, set())
    head = (
        (TraceContext(node.name, prepared.attrs, node, collected, step_value),)
        if wants_context
        else ()
    )
    in_turn = calls_lapack(node, prepared.device)
    if in_turn:
        arguments = take_turn(collected, node, arguments)
    try:
        results = function(*head, *arguments)
    except (NotStatic, errors.OpError):
        raise
    except (TypeError, ValueError, IndexError) as problem:
        if isinstance(
            problem,
            (
                jax.errors.ConcretizationTypeError,
                jax.errors.TracerArrayConversionError,
                jax.errors.TracerIntegerConversionError,
                jax.errors.NonConcreteBooleanIndexError,
            ),
        ):
            raise NotStatic(node, str(problem)) from problem
        raise errors.InvalidArgumentError(
            None, node.origin, f"{node.where()}: {problem}"
        ) from problem
    flat = (results,) if prepared.single else results or ()
    if in_turn:
        end_turn(collected, flat)
    return [
        _as_declared(result, wanted)
        for result, wanted in zip(flat, prepared.out_numpy, strict=True)
    ]


def _as_declared(result: Any, wanted: Any) -> Any:
    if wanted is None:
        return result
    if isinstance(result, (np.ndarray, np.generic)) or not hasattr(result, "dtype"):
        return np.asarray(result, wanted)
    return result if result.dtype == wanted else result.astype(wanted)


def _require_static(node: Node, prepared: PreparedOp, arguments: list[Any]) -> None:
    assert node.op is not None
    if not node.op.host_inputs:
        return
    position = 0
    counts = node.counts or (1,) * len(node.op.inputs)
    for arg, count in zip(node.op.inputs, counts, strict=True):
        for value in arguments[position : position + count]:
            if arg.name in node.op.host_inputs and not isinstance(value, np.ndarray):
                raise NotStatic(
                    node, f"the value of input '{arg.name}' is needed to compile the operation"
                )
        position += count
