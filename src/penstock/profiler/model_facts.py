"""What a profile knows of each operation of a graph: shapes, counts, and what it did in each step.

`Facts` are static (parameters, floating-point operations, the line that made it) but for `steps`,
which traced steps fill. A compiled region is one measurement; its time and bytes are shared among
its operations in proportion to their estimated costs.
"""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.profiler.cost import Cost, cost_of, weight
from penstock.runtime.timeline import parse_label
from penstock.util.frames import Frame

TRAINABLE = "_trainable_variables"
SCOPE = "_kTFScopeParent"
ROOT = "_TFProfRoot"
_HELD = frozenset("Placeholder VarHandleOp Variable VariableV2".split())
_GRADIENT = re.compile(r"(?:^|/)gradients[^/]*/(.+?)_grad(?:_\d+)?(?:/|$)")


@dataclasses.dataclass(slots=True)
class Numbers:
    """What is counted and measured; sums of several operations too."""

    micros: int = 0
    accelerator_micros: int = 0
    cpu_micros: int = 0
    bytes: int = 0
    peak_bytes: int = 0
    residual_bytes: int = 0
    output_bytes: int = 0
    params: int = 0
    float_ops: int = 0
    runs: int = 0
    definitions: int = 0

    def add(self, other: "Numbers") -> None:
        """Adds another's numbers to these."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def divided(self, count: int) -> "Numbers":
        """The average over `count` steps, rounded down."""
        return Numbers(**{name: getattr(self, name) // count for name in COUNTED})


COUNTED = tuple(field.name for field in dataclasses.fields(Numbers))


@dataclasses.dataclass(slots=True)
class Facts:
    """One operation.

    Attributes:
      name: its name.
      kind: its type.
      kinds: its type and what else it counts as.
      inputs: the names of the operations that it needs, data first.
      shape: the shape of the variable or placeholder that it is, if known.
      input_shapes: the shapes of its inputs, [1] for what is no dense tensor, None for unknown.
      params: how many elements that shape has.
      float_ops: how many floating-point operations one run makes.
      frames: where it was made; for a gradient, where what it is the gradient of was.
      is_gradient: whether it belongs to a gradient.
      channels_last: whether it takes images whose channels come last.
      devices: where it ran.
      steps: what it did, by the number of the step.
      cost: for sharing the time of a region.
    """

    name: str
    kind: str
    kinds: list[str]
    inputs: list[str] = dataclasses.field(default_factory=list)
    shape: tuple[int, ...] | None = None
    input_shapes: list[tuple[int, ...] | None] = dataclasses.field(default_factory=list)
    params: int = 0
    float_ops: int = 0
    frames: tuple[Frame, ...] = ()
    is_gradient: bool = False
    channels_last: bool = False
    devices: list[str] = dataclasses.field(default_factory=list)
    steps: dict[int, Numbers] = dataclasses.field(default_factory=dict)
    cost: Cost = dataclasses.field(default_factory=lambda: Cost(0, 0))

    def numbers(self, step: int, steps: Iterable[int]) -> Numbers:
        """Its numbers in a step; the average over `steps` when that is -1."""
        if step >= 0:
            found = dataclasses.replace(self.steps.get(step, Numbers()))
        else:
            total, count = Numbers(), 0
            for each in steps:
                total.add(self.steps.get(each, Numbers()))
                count += each in self.steps
            found = total.divided(max(count, 1))
        found.params, found.float_ops, found.definitions = self.params, self.float_ops, 1
        return found


def read_graph(graph: Any) -> dict[str, Facts]:
    """The facts of all operations of a graph, by name."""
    trainable = {v.op.name for v in graph.get_collection("trainable_variables")}
    operations = {op.name: op for op in graph.get_operations()}
    return {name: _read(op, operations, trainable) for name, op in operations.items()}


def _read(op: Any, operations: Mapping[str, Any], trainable: set[str]) -> Facts:
    shape = _known(op.attrs.get("shape")) if op.type in _HELD else None
    cost = cost_of(op)
    part = _GRADIENT.search(op.name)  # of the gradient of which operation its name says it is
    forward = None if part is None else operations.get(part.group(1))
    return Facts(
        op.name,
        op.type,
        [op.type, TRAINABLE] if op.name in trainable else [op.type],
        [*(t.op.name for t in op.inputs), *(each.name for each in op.control_inputs)],
        shape,
        [_dims(tensor) for tensor in op.inputs],
        0 if shape is None else math.prod(shape),
        cost.flops or 0,
        (op if forward is None else forward).frames,
        forward is not None,
        op.attrs.get("data_format") == "NHWC" and op.type != "BiasAdd",
        cost=cost,
    )


def _known(dims: Any) -> tuple[int, ...] | None:
    return None if dims is None or None in dims else tuple(dims)


def _dims(tensor: Any) -> tuple[int, ...] | None:
    if tensor.dtype.name in ("resource", "variant"):
        return (1,)
    if tensor.shape.rank is None:
        return None
    return tuple(-1 if n is None else n for n in tensor.shape.as_list()) or (1,)


def add_log(facts: dict[str, Facts], op_log: Any) -> None:
    """Adds what an OpLogProto tells: kinds, floating-point operations, lines."""
    texts = op_log.id_to_string
    for entry in op_log.log_entries:
        found = facts.get(entry.name)
        if found is None:
            continue
        found.kinds += [kind for kind in entry.types if kind not in found.kinds]
        found.float_ops = entry.float_ops or found.float_ops
        frames = [Frame(texts[t.file_id], t.lineno, texts[t.function_id]) for t in
                  entry.code_def.traces if t.file_id in texts]  # fmt: skip
        found.frames = tuple(frames) or found.frames


def add_step(facts: dict[str, Facts], run_meta: Any, step: int) -> None:
    """Adds what a RunMetadata message tells of one step."""
    for device in run_meta.step_stats.dev_stats:
        is_accelerator = "GPU" in device.device.upper() or "TPU" in device.device.upper()
        for stats in device.node_stats:
            _, kind, parts = parse_label(stats.timeline_label)
            names = parts if kind == "Compiled" and parts else [stats.node_name]
            members = [_fact(facts, each, kind) for each in names]
            micros = stats.all_end_rel_micros
            size = sum(
                o.tensor_description.allocation_description.requested_bytes for o in stats.output
            )
            _share(members, micros, size, is_accelerator, step)
            for each in members:
                if device.device not in each.devices:
                    each.devices.append(device.device)


def _fact(facts: dict[str, Facts], name: str, kind: str) -> Facts:
    found = facts.get(name)
    if found is None:  # made by a pass after the graph was built
        kind = name if kind in ("", "Compiled") else kind
        found = facts[name] = Facts(name, kind, [kind])
    return found


def _share(members: list[Facts], micros: int, size: int, is_accelerator: bool, step: int) -> None:
    weights = [weight(each.cost) for each in members]
    total, seen = sum(weights), 0
    for each, part in zip(members, weights, strict=True):
        before, seen = seen, seen + part
        time = micros * seen // total - micros * before // total
        held = size * seen // total - size * before // total
        run = Numbers(
            micros=time, bytes=held, peak_bytes=held, residual_bytes=held, output_bytes=held, runs=1
        )
        if is_accelerator:
            run.accelerator_micros = time
        else:
            run.cpu_micros = time
        each.steps.setdefault(step, Numbers()).add(run)
