"""The reverse walk: from gradients of targets to gradients of sources.

`Record` is what a gradient rule sees of an operation: the same type for operations that a tape saw
and for operations of a graph. `walk` takes records in the order in which they ran and goes through
them backwards; a rule gets one gradient for each output and returns one for each input. Gradients
are added up only when they are needed. Rules run ordinary operations, so a second tape or a second
walk differentiates them again.
"""

import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.types import dims as d
from penstock.types import dtypes as dt

Gradient = Any  # Tensor | IndexedSlices | None
Rule = Callable[..., Any]

named_rules: dict[
    str, Rule | None
] = {}  # RegisterGradient: by operation type or override name; None: not differentiable

OVERRIDE = "_gradient_op_type"  # the attribute of operations that have another rule than their kind


class RuleName(str):
    """The name of the rule of some operations alone, which holds it: rules go with their graphs."""

    rule: Rule

    def __new__(cls, name: str, rule: Rule) -> "RuleName":
        """A name that operations carry as attribute `_gradient_op_type`."""
        made = super().__new__(cls, name)
        made.rule = rule
        _own_rules[name] = made
        return made


# By their names, for graphs that were written as GraphDefs and read again.
_own_rules: "weakref.WeakValueDictionary[str, RuleName]" = weakref.WeakValueDictionary()


class Record:
    """An operation that ran, as gradient rules see it."""

    __slots__ = ("attrs", "inputs", "name", "needed", "op_def", "outputs", "source")

    def __init__(
        self,
        op_def: OpDef,
        inputs: Sequence[Tensor],
        attrs: dict[str, Any],
        outputs: Sequence[Tensor],
        name: str = "",
        source: Any = None,
    ) -> None:
        self.op_def = op_def
        self.inputs = inputs
        self.attrs = attrs
        self.outputs = outputs
        self.name = name or op_def.name
        self.source = source  # the Operation, when there is one
        self.needed: Sequence[bool] | None = None  # set by the walk: inputs that a source reaches

    @property
    def type(self) -> str:
        """The name of the kind of operation."""
        return self.op_def.name

    @property
    def graph(self) -> Any:
        """The graph of the operation, None for an eager one."""
        return self.source.graph if self.source is not None else None

    def get_attr(self, name: str) -> Any:
        """The value of an attribute: bytes for a string.

        Raises:
          ValueError: there is no such attribute.
        """
        if name not in self.attrs:
            raise ValueError(
                f"Operation '{self.name}' has no attr named '{name}'. It has {sorted(self.attrs)}."
            )
        value = self.attrs[name]
        if isinstance(value, str):
            return value.encode()
        attr = self.op_def.attrs.get(name)
        return (
            list(value) if isinstance(value, tuple) and attr is not None and attr.is_list else value
        )

    @property
    def device(self) -> str:
        """The requested device."""
        return self.source.device if self.source is not None else ""

    @property
    def control_inputs(self) -> list[Any]:
        """The operations that ran before by request."""
        return self.source.control_inputs if self.source is not None else []

    def values(self) -> tuple[Tensor, ...]:
        """The outputs as a tuple."""
        return tuple(self.outputs)

    def __repr__(self) -> str:
        return f"<op '{self.name}' type={self.type}>"


def rule_of(record: Record) -> Rule | None:
    """The gradient rule of an operation; None when no gradient flows through it.

    Raises:
      LookupError: it has none, by its own word or because nothing is registered.
    """
    override = record.attrs.get(OVERRIDE)
    if override is not None:
        name = override.decode() if isinstance(override, bytes) else override
        own = override if isinstance(override, RuleName) else _own_rules.get(name)
        if own is not None:
            return own.rule
        if name not in named_rules:
            raise LookupError(
                f"gradient registry has no entry for: {name} (operation '{record.name}'): expected"
                " a name of tf.RegisterGradient, or of a tf.custom_gradient whose graph is alive."
                " Keep that graph, or save and load a SavedModel, which holds such rules."
            )
        return named_rules[name]
    if record.type in named_rules:
        return named_rules[record.type]
    if record.op_def.gradient_function is not None:
        return record.op_def.gradient_function
    why = record.op_def.gradient_reason
    if why is not None and not record.op_def.gradient_refused:
        return None
    raise LookupError(
        f"No gradient defined for operation '{record.name}' (op type: {record.type}): gradient"
        f" registry has no entry for: {record.type}"
        f"{f': {why}' if why else ''}. Register one with @tf.RegisterGradient({record.type!r}), or"
        " stop the gradient before it with tf.stop_gradient."
    )


def is_trainable(tensor: Any) -> bool:
    """Whether gradients flow through tensors of this dtype."""
    return _trains(tensor.dtype.index)


@functools.cache
def _trains(number: int) -> bool:
    dtype = dt.as_dtype(number).base_dtype
    return dtype.is_floating or dtype.is_complex or dtype in (dt.resource, dt.variant)


class Sums:
    """Gradients that arrived for each tensor, added up when asked for by `add(parts, tensor)`."""

    def __init__(self, add: Callable[[Sequence[Gradient], Any], Gradient] | None = None) -> None:
        self._sum = add
        self._parts: dict[int, list[Gradient]] = {}
        self._keep: dict[int, Any] = {}  # tensors whose ids are keys must live as long as the keys

    def add(self, tensor: Any, gradient: Gradient) -> None:
        """Notes one more contribution to the gradient of `tensor`."""
        self._parts.setdefault(id(tensor), []).append(gradient)
        self._keep[id(tensor)] = tensor

    def __contains__(self, key: int) -> bool:
        return key in self._parts

    def get(self, key: int) -> Gradient:
        """The sum for the tensor with this id, or None."""
        parts = self._parts.get(key)
        if not parts:
            return None
        if len(parts) > 1:
            add = self._sum
            parts[:] = [add_gradients(parts) if add is None else add(parts, self._keep[key])]
        return parts[0]

    def pop(self, key: int) -> Gradient:
        """The sum, which is forgotten."""
        result = self.get(key)
        if result is not None:
            del self._parts[key], self._keep[key]
        return result


def add_gradients(parts: Sequence[Gradient]) -> Gradient:
    """The sum of gradients: IndexedSlices stay sparse when all are."""
    if all(isinstance(p, IndexedSlices) for p in parts):
        indices = [p.indices for p in parts]
        if any(i.dtype is dt.int64 for i in indices):
            indices = [
                i if i.dtype is dt.int64 else execute("Cast", (i,), {"DstT": dt.int64})
                for i in indices
            ]
        values = execute("ConcatV2", ([p.values for p in parts], 0))
        return IndexedSlices(values, execute("ConcatV2", (indices, 0)), parts[0].dense_shape)
    return _add_dense([as_dense(p) for p in parts])


def _add_dense(parts: Sequence[Any]) -> Any:
    """The sum of tensors. One row of zeros is added to the others without making the zeros."""
    rows = [p for p in parts if _row_adder(p) is not None]
    rest = [p for p in parts if _row_adder(p) is None]
    if not rows or not rest:
        return execute("AddN", (parts,))
    total = execute("AddN", (rest,)) if len(rest) > 1 else rest[0]
    for part in rows:
        _, index, row = part.op.inputs
        total = execute(_row_adder(part) or "", (total, index, row))
    return total


ROW_ADDERS = {  # (what sets a row, what makes the zeros around it) -> what adds to a row
    ("PenstockStackWrite", "ZerosLike"): "PenstockStackAdd",
    ("TensorListSetItem", "TensorListReserve"): "PenstockTensorListAddItem",
}


def _row_adder(part: Any) -> str | None:
    """The operation that adds the one row that a tensor of a graph has; None for other tensors."""
    if not isinstance(part, SymbolicTensor) or part.graph is not state.graph:
        return None
    op = part.op
    if (
        op.type not in ("PenstockStackWrite", "TensorListSetItem")
        or op.inputs[2].dtype is dt.variant
    ):
        return None
    return ROW_ADDERS.get((op.type, op.inputs[0].op.type))


def as_dense(gradient: Gradient) -> Any:
    """A gradient as a tensor."""
    if isinstance(gradient, IndexedSlices):
        return execute(
            "UnsortedSegmentSum", (gradient.values, gradient.indices, execute("StridedSlice", (
                gradient.dense_shape, [0], [1], [1]), {"shrink_axis_mask": 1})),
        ) if gradient.dense_shape is not None else _no_dense_shape()  # fmt: skip
    return gradient


def _no_dense_shape() -> Any:
    raise ValueError(
        "Tensor conversion requested for IndexedSlices without dense_shape: give it one, or keep"
        " the gradient sparse."
    )


def walk(
    records: Iterable[Record],
    sums: Sums,
    wanted: set[int],
    wrap_rule: Callable[[Record, Rule, list[Any]], Any] | None = None,
    stop: frozenset[int] = frozenset(),
    keep: frozenset[int] = frozenset(),
) -> None:
    """Runs the gradient rules backwards.

    Args:
      records: in reverse order of running.
      sums: holds the gradients of the targets; receives those of everything on the way.
      wanted: ids of tensors that a source can reach; gradients of others are not kept.
      wrap_rule: runs a rule inside of what its operation asks for (device, colocation, name scope).
      stop: ids of tensors through which no gradient passes on.
      keep: ids of the sources; gradients of other tensors are let go of once they are used.
    """
    for record in records:
        keys = [id(o) for o in record.outputs]
        if not any(key in sums and key not in stop for key in keys):
            continue
        record.needed = [id(i) in wanted for i in record.inputs]
        if True not in record.needed:
            continue
        grads = [None if key in stop else sums.get(key) for key in keys]
        for key in keys:
            if key not in keep:
                sums.pop(key)
        rule = rule_of(record)
        if rule is None or not any(g is not None for g in grads):
            continue
        full = _fill(record, grads)
        results = wrap_rule(record, rule, full) if wrap_rule is not None else rule(record, *full)
        _distribute(record, results, sums, wanted)


ACCEPTS_NONE = frozenset({
    "PartitionedCall", "StatefulPartitionedCall", "SoftmaxCrossEntropyWithLogits",
    "SparseSoftmaxCrossEntropyWithLogits", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3",
    "If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile",
    "Switch", "RefSwitch", "Merge", "RefMerge", "Exit", "RefExit",
})  # fmt: skip


def _fill(record: Record, grads: list[Gradient]) -> list[Gradient]:
    """Zeros where an output's gradient is missing.

    The operations of ACCEPTS_NONE do without, unless a user's rule stands in for their own: it
    gets what TensorFlow gives it.
    """
    if len(grads) == 1 or (record.type in ACCEPTS_NONE and OVERRIDE not in record.attrs):
        return grads
    return [
        (
            execute("ZerosLike", (o,))
            if g is None and is_trainable(o) and o.dtype not in (dt.resource, dt.variant)
            else g
        )
        for g, o in zip(grads, record.outputs, strict=True)
    ]


def _distribute(record: Record, results: Any, sums: Sums, wanted: set[int]) -> None:
    if not isinstance(results, (list, tuple)):
        results = (results,)
    if len(results) != len(record.inputs):
        raise ValueError(
            f"Num gradients {len(results)} generated for op {record.name} of type {record.type} do"
            f" not match num inputs {len(record.inputs)}."
        )
    for tensor, gradient in zip(record.inputs, results, strict=True):
        if gradient is not None and id(tensor) in wanted:
            if not isinstance(gradient, (Tensor, IndexedSlices)) and hasattr(gradient, "__array__"):
                gradient = execute("Identity", (gradient,))
            _tell_shape(gradient, tensor)
            sums.add(tensor, gradient)


def _tell_shape(gradient: Gradient, tensor: Any) -> None:
    """A gradient has the shape of its tensor, whatever the rules along the way could see."""
    if not isinstance(gradient, SymbolicTensor) or gradient.dtype in (dt.resource, dt.variant):
        return
    held, wanted = gradient.dims, tensor.dims
    if tensor.dtype is not dt.resource and held != wanted and d.compatible(held, wanted):
        gradient.set_shape(tensor.shape)
