"""`tf.vectorized_map`, and its gradient.

The function is traced once, for one row; what it reads beside its row is shared by all rows. The
gradient is the same for the body's own gradient: of what is shared, the rows' gradients add up.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.autodiff.calls import call
from penstock.autodiff.gradients import gradients
from penstock.autodiff.walk import Record, as_dense, is_trainable, named_rules
from penstock.autodiff.widening import is_dense
from penstock.config import logging
from penstock.core import context
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute, record
from penstock.core.user_code import converted
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.ops import row_encoding
from penstock.ops.bodies import BodyGraph, note_uses, share_captures, trace
from penstock.ops.functional_loops import map_fn
from penstock.ops.vectorized import VECTORIZED_CALL
from penstock.runtime import plan as _plan  # noqa: F401  registers the operation's kernels
from penstock.runtime.bodies import compiles_inside, kept_on_host
from penstock.runtime.draws import draws
from penstock.types import dtypes as dt
from penstock.util import nest

# Operations that XLA has no code for, and that TensorFlow takes: the host runs such bodies on each
# row. Text is moved and compared.
ROW_BY_ROW = frozenset(
    """Assert PrintV2 StringFormat PenstockNonMaxSuppressionOfBatches SparseSegmentSum
    SparseSegmentMean SparseSegmentSqrtN SparseSegmentSumWithNumSegments
    SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments SparseSegmentSumGrad
    SparseSegmentMeanGrad SparseSegmentSqrtNGrad StatelessRandomPoisson StatelessRandomBinomial
    Identity IdentityN StopGradient Snapshot Reshape ExpandDims Squeeze Pack Unpack ConcatV2
    GatherV2 GatherNd Slice StridedSlice Tile Transpose BroadcastTo Fill SelectV2 Split""".split()
)


def vectorized_map(
    fn: Callable[..., Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """Calls `fn` on each row of tensors, all rows at the same time.

    Args:
      fn: takes a row, in the structure of `elems`; returns a nest of tensors and None.
      elems: a nest of tensors [N, ...]; those with one row are given to every call.
      fallback_to_while_loop: whether to call `fn` row by row (`tf.map_fn`) when it holds an
        operation that cannot be vectorised: random numbers, writes to variables, work on strings.
      warn: whether to warn then.

    Returns:
      A nest of tensors [N, ...].

    Raises:
      TypeError: `fn` is not callable.
      ValueError: `elems` is empty, holds a scalar or, in a graph, tensors of different lengths; or
        an operation cannot be vectorised and there is no fallback.
      InvalidArgumentError: eagerly, the lengths differ.

    Example:
      >>> import penstock as tf
      >>> tf.vectorized_map(lambda x: x * x, tf.constant([1, 2, 3])).numpy().tolist()
      [1, 4, 9]
    """
    if not callable(fn):
        raise TypeError(f"vectorized_map: expected a callable fn, got {fn!r}.")
    fn = converted(fn)
    if any(row_encoding.spec_of(leaf) is not None for leaf in nest.flatten(elems)):
        return _map_encoded(fn, elems, fallback_to_while_loop, warn)
    flat = [convert_to_tensor(t) for t in nest.flatten(elems)]
    graph, result, outputs = _rows(fn, elems, flat)
    if outputs is None:
        return _fall_back(fn, elems, flat, result, fallback_to_while_loop, warn, graph)
    return _packed(result, outputs)


def _packed(result: Any, outputs: Sequence[Any]) -> Any:
    """The structure that `fn` returned, of the rows of its tensors; None stays where it was."""
    left = iter(outputs)
    return nest.map_structure(lambda v: None if v is None else next(left), result)


def _map_encoded(fn: Callable[..., Any], elems: Any, fall_back: bool, warn: bool) -> Any:
    """`vectorized_map` of composite values: tensors stand for their rows."""
    rows = row_encoding.EncodedRows(elems)
    returned: list[Any] = []

    def inner(parts: Sequence[Any]) -> list[Any]:
        result = fn(rows.row(parts))
        values = nest.flatten(result)
        specs = [row_encoding.spec_of(value) for value in values]
        returned[:] = result, specs
        pairs = zip(specs, values, strict=True)
        return [part for s, v in pairs for part in row_encoding.encode_row(s, v)]

    found = vectorized_map(inner, rows.parts, fall_back, warn)
    result, specs = returned
    return row_encoding.decode_results(result, specs, found)


def vectorized_rows(fn: Callable[..., Any], rows: Any) -> list[Any] | None:
    """What `fn`, which returns a list, gives for each row; None if it cannot be vectorised."""
    return _rows(fn, rows, [rows])[2]


def _rows(fn: Any, elems: Any, flat: Sequence[Any]) -> tuple["_RowGraph", Any, list[Any] | None]:
    """The graph of one row, what `fn` returned in it, and what it gives for all rows.

    That is None when the graph holds what cannot be vectorised.
    """
    single = _single_rows(flat)
    graph = _RowGraph("vectorized", hoists=True)
    graph.keeps_calls = True
    places = [
        graph.add_input(t.dtype, None if t.dims is None else t.dims[1:], f"row_{i}", user=False)
        for i, t in enumerate(flat)
        if not single[i]
    ]
    rows = iter(places)
    shared_rows = [_row(t) if one else None for t, one in zip(flat, single, strict=True)]
    packed = nest.pack_sequence_as(elems, [next(rows) if r is None else r for r in shared_rows])
    result = trace(graph, lambda: fn(packed))
    _hold_effects(graph)
    captured = share_captures([graph], len(places))
    body = CallBody(graph.name, graph)
    if any(t.dtype in (dt.resource, dt.variant) for t in captured) or not (
        compiles_inside(body, "CPU")
        or (kept_on_host(body, "CPU") <= ROW_BY_ROW and not draws(body))
    ):
        return graph, result, None
    graph.note()
    mapped = [t for t, one in zip(flat, single, strict=True) if not one]
    return graph, result, _vectorized(body, mapped, captured)


def _hold_effects(graph: "_RowGraph") -> None:
    """Makes outputs wait for checks and prints, and an output for a body that has none.

    Other readers of a file run what the outputs of a function of rows need, and nothing else.
    """
    graph.finish()
    if graph.outputs and not graph.control_outputs:
        return
    with context.graph_scope(graph), context.no_recording():
        outputs = graph.outputs or [convert_to_tensor(True)]
        with graph.control_dependencies(graph.control_outputs):
            graph.outputs = [execute("Identity", (t,)) for t in outputs]


class _RowGraph(BodyGraph):
    """The graph of one row. What gradients may be asked for is taken as an input."""

    def _inlines(self, tensor: Any) -> bool:
        return super()._inlines(tensor) and not is_trainable(tensor)

    def _read_outside(self, op: Any, handle: Any, attrs: dict[str, Any]) -> Any:
        if self.outer_graph is not None:
            return super()._read_outside(op, handle, attrs)
        found = self.reads.get(id(handle))
        if found is None:
            with context.graph_scope(None):
                value = execute(op, (handle,), attrs)
            found = self.reads[id(handle)] = (op, handle, attrs, value)
        return self.capture(found[3]).op

    def note(self) -> None:
        """Tells the recorders which variables were read."""
        if self.outer_graph is not None:
            note_uses([self])
            return
        for variable in self.variables:
            for recorder in state.recorders:
                recorder.watch_variable(variable)
        for op, handle, attrs, value in self.reads.values():
            record(op, (handle,), attrs, (value,))


def _single_rows(flat: Sequence[Any]) -> list[bool]:
    """For each tensor whether its only row is given to every call.

    Raises:
      ValueError: there is no tensor, one is a scalar, or the lengths differ in a graph.
      InvalidArgumentError: they differ eagerly.
    """
    if not flat:
        raise ValueError("vectorized_map: expected elems to hold at least one tensor, got none.")
    if any(t.shape.rank == 0 for t in flat):
        raise ValueError(
            "vectorized_map: expected tensors with a row for each call, got a scalar. Reshape it."
        )
    lengths = {None if t.dims is None else t.dims[0] for t in flat}
    sizes = {n for n in lengths if n is not None}
    if len(sizes - {1}) > 1:
        text = f"vectorized_map: expected elems with the same number of rows, got {sorted(sizes)}."
        if state.graph is None:
            raise errors.InvalidArgumentError(None, None, text)
        raise ValueError(text)
    if lengths == {1}:
        return [False] * len(flat)
    return [t.dims is not None and t.dims[0] == 1 for t in flat]


def _row(tensor: Any) -> Any:
    return execute("Squeeze", (tensor,), {"squeeze_dims": (0,)})


def _fall_back(
    fn: Any, elems: Any, flat: Any, result: Any, allowed: bool, warn: bool, graph: Any
) -> Any:
    kinds = sorted({op.type for op in graph.get_operations() if op.op_def.stateful})
    what = ", ".join(k for k in kinds if k != "Placeholder") or "an operation without such a form"
    if not allowed:
        raise ValueError(
            f"vectorized_map: expected operations that can be vectorised, got {what}. Allow "
            "fallback_to_while_loop, or use tf.map_fn."
        )
    if warn:
        logging.warning("Using a while_loop for converting %s", what)
    signature = [v.dtype for v in nest.flatten(result) if v is not None]
    count = max((t.dims[0] or 0 for t in flat if t.dims is not None), default=0)
    wide = [
        execute("Tile", (t, [count, *[1] * (t.shape.rank - 1)]))
        if count > 1 and t.dims is not None and t.dims[0] == 1
        else t
        for t in flat
    ]

    def tensors(rows: Any) -> list[Any]:
        return [v for v in nest.flatten(fn(rows)) if v is not None]

    given = nest.pack_sequence_as(elems, wide)
    return _packed(result, map_fn(tensors, given, fn_output_signature=signature))


def _vectorized(body: CallBody, mapped: Sequence[Any], shared: Sequence[Any]) -> list[Any]:
    attrs = {
        "Tmapped": tuple(t.dtype for t in mapped),
        "Tshared": tuple(t.dtype for t in shared),
        "Tout": body.output_dtypes,
        "body": body,
    }
    return list(execute(VECTORIZED_CALL, (list(mapped), list(shared)), attrs))


def _gradient_of_vectorized(made: Record, *grads: Any) -> list[Any]:
    """The gradient rule of PenstockVectorizedCall."""
    body: CallBody = made.attrs["body"]
    count = len(made.attrs["Tmapped"])
    needed = made.needed if made.needed is not None else [True] * len(made.inputs)
    sources = tuple(n and is_dense(t) for n, t in zip(needed, body.inputs, strict=True))
    pattern = tuple(g is not None and is_dense(o) for g, o in zip(grads, body.outputs, strict=True))
    if not any(sources) or not any(pattern):
        return [None] * len(made.inputs)
    reverse, places = _reverse(body, pattern, sources)
    given = [as_dense(g) for g, marked in zip(grads, pattern, strict=True) if marked]
    mapped, shared = made.inputs[:count], made.inputs[count:]
    found = _vectorized(reverse, [*given, *mapped], shared) if places else []
    results: list[Any] = [None] * len(made.inputs)
    for place, value in zip(places, found, strict=True):
        total = value if place < count else execute("Sum", (value, np.array([0], np.int32)))
        results[place] = total
    return results


def _reverse(
    body: CallBody, pattern: tuple[bool, ...], sources: tuple[bool, ...]
) -> tuple[CallBody, list[int]]:
    """The body's gradient for a row, and the inputs that it is with respect to.

    It computes the row's values again; a compiled region computes what is equal once.
    """
    key = ("vectorized", pattern, sources)
    found = body.backward.get(key)
    if found is None:
        graph = FuncGraph(f"__backward_{body.name}")
        with context.graph_scope(graph), context.no_recording():
            targets = [o for o, marked in zip(body.outputs, pattern, strict=True) if marked]
            grads = [graph.add_input(o.dtype, o.dims, f"grad_{i}") for i, o in enumerate(targets)]
            inputs = [
                graph.add_input(t.dtype, t.dims, f"in_{i}") for i, t in enumerate(body.inputs)
            ]
            outputs = call(body, inputs)
            ys = [o for o, marked in zip(outputs, pattern, strict=True) if marked]
            xs = [t for t, marked in zip(inputs, sources, strict=True) if marked]
            slopes = iter(gradients(ys, xs, grads))
            places = []
            for place, marked in enumerate(sources):
                slope = next(slopes) if marked else None
                if slope is not None:
                    places.append(place)
                    graph.outputs.append(graph.as_tensor(as_dense(slope)))
        graph.finish()
        found = body.backward[key] = (CallBody(graph.name, graph), places)
    return found


named_rules["PenstockVectorizedCall"] = _gradient_of_vectorized
