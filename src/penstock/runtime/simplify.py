"""Passes that make a program smaller without changing what it computes.

Constant folding, common subexpressions, identities without effect, and operations for which others
stand (`penstock.core.patterns`). Stateful operations, operations with control inputs, and those
whose device differs are left alone. Dead code goes with the re-sorting after each pass.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.config import env
from penstock.core.arrays import HashableArray
from penstock.core.attributes import key_of
from penstock.core.host_runs import run_host
from penstock.core.kernels import NoKernel
from penstock.core.op_def import lookup
from penstock.core.prepared import PreparedOp
from penstock.runtime.fusing import fuse_chains
from penstock.runtime.program import FEED, Node, Program, Ref
from penstock.runtime.rewiring import rewired
from penstock.runtime.rewriting import rewrite
from penstock.types import dtypes as dt
from penstock.types.dims import is_full
from penstock.types.dtypes import DType

MAX_FOLDED_BYTES = 1 << 20
PREPARED = 4096  # prepared operations kept per kind of operation
OF_SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank"})
PASS_THROUGH = frozenset(
    {"Identity", "StopGradient", "PreventGradient", "Snapshot", "PlaceholderWithDefault"}
)


def forward_identities(program: Program) -> Program:
    """Takes the inputs of an identity in its place.

    A value that is fed keeps its identity, so that what is fetched is not the caller's own array;
    a handle has none to keep, also where it waits for something.
    """
    program = _forward_handles(program)
    replaced, gone = {}, {}
    added: list[Node] = []
    for node in program.nodes:
        if node.control or (node.type not in PASS_THROUGH and node.type != "IdentityN"):
            continue
        if any(node.device not in ("", source.device) for source, _ in node.inputs):
            continue
        if node.type == "IdentityN":
            replaced[id(node)], gone[id(node)] = _apart(node, added)
        elif _forwards(node.inputs[0], node.dtypes[0]):
            replaced[id(node)] = [node.inputs[0]]
            gone[id(node)] = node.inputs[0][0]
    program.nodes += added
    return rewired(program, replaced, gone) if replaced else program


def _forward_handles(program: Program) -> Program:
    """Takes handles past identities that wait: what uses such a handle waits itself."""
    replaced: dict[int, list[Ref]] = {}
    gone: dict[int, Node] = {}
    waits: dict[int, list[Node]] = {}  # of handles: what their users wait for
    for node in program.nodes:
        handed = [w for source, _ in node.inputs for w in waits.get(id(source), ())]
        if node.type not in PASS_THROUGH or node.dtypes[0] is not dt.resource:
            node.control = list(dict.fromkeys([*node.control, *handed]))
        elif node.control or handed:
            end = node.copy([], [*node.control, *handed])
            end.type, end.op, end.attrs = "NoOp", lookup("NoOp"), {}
            end.dtypes, end.shapes, end.counts = [], [], None
            waits[id(node)] = [end]
            replaced[id(node)], gone[id(node)] = [node.inputs[0]], end
    if not replaced:
        return program
    program.nodes += gone.values()
    fetched = [gone[id(node)] for node, _ in program.fetches if id(node) in gone]
    program.targets = [*program.targets, *fetched]
    return rewired(program, replaced, gone)


def _forwards(ref: Ref, dtype: DType) -> bool:
    source, index = ref
    return (source.type != FEED or dtype is dt.resource) and source.dtypes[index] is dtype


def _apart(node: Node, added: list[Node]) -> tuple[list[Ref], Node]:
    """An IdentityN as one identity for each value that needs one, and what stands for its end."""
    refs: list[Ref] = []
    for ref, dtype, dims in zip(node.inputs, node.dtypes, node.shapes, strict=True):
        if not _forwards(ref, dtype):
            single = node.copy([ref], [])
            single.type, single.op, single.attrs = "Identity", lookup("Identity"), {"T": dtype}
            single.dtypes, single.shapes, single.counts = [dtype], [dims], None
            added.append(single)
            ref = (single, 0)
        refs.append(ref)
    end = node.copy([], list(dict.fromkeys(source for source, _ in refs)))
    end.type, end.op, end.attrs = "NoOp", lookup("NoOp"), {}
    end.dtypes, end.shapes, end.counts = [], [], None
    added.append(end)
    return refs, end


def fold_constants(program: Program) -> Program:
    """Evaluates on the host what depends on constants, and on shapes that are known, alone.

    So that an axis or a size is known to every region, also where a kernel on the host stands
    between the region that computes it and those that need it to compile. What has the known shape
    runs nevertheless, for its effects and checks, and what takes the shape comes after it: the
    constant waits for it. A constant that waits hands that on to what is folded from it.
    """
    values: dict[int, list[np.ndarray[Any, Any]]] = {}
    replaced: dict[int, list[Ref]] = {}
    gone: dict[int, Node] = {}
    waits: dict[int, list[Node]] = {}  # control inputs of constants and of what is folded
    const = lookup("Const")
    for node in program.nodes:
        if node.type == "Const":
            values[id(node)] = [node.attrs["value"].array]
            waits[id(node)] = node.control
            continue
        if node.type == FEED:
            waits[id(node)] = []
            continue
        of_shape = node.type in OF_SHAPES and not program.flow  # there it may be dead
        folded = _evaluate(node, _forms(node)) if of_shape else None
        if folded is None:
            folded = _fold(node, values)
        if folded is None:
            continue
        values[id(node)] = folded
        control = list(
            dict.fromkeys(c for source, _ in node.inputs for c in waits.get(id(source), [source]))
        )
        waits[id(node)] = control
        made = [
            Node(
                "Const",
                const,
                f"{node.name}/folded",
                {"value": HashableArray(v, t), "dtype": t},
                [],
                control,
                [t],
                [v.shape],
                device=node.device,
                location=node.location,
                origin=node.origin,
            )
            for v, t in zip(folded, node.dtypes, strict=True)
        ]
        replaced[id(node)] = [(m, 0) for m in made]
        gone[id(node)] = made[0]
    return rewired(program, replaced, gone) if replaced else program


def _fold(
    node: Node, values: dict[int, list[np.ndarray[Any, Any]]]
) -> list[np.ndarray[Any, Any]] | None:
    if not node.inputs or not all(id(source) in values for source, _ in node.inputs):
        return None
    arguments = [values[id(source)][index] for source, index in node.inputs]
    if sum(a.nbytes for a in arguments) > MAX_FOLDED_BYTES or _known_bytes(node) > MAX_FOLDED_BYTES:
        return None
    return _evaluate(node, arguments)


def _forms(node: Node) -> list[np.ndarray[Any, Any]] | None:
    """Arrays without memory that have the shapes of the inputs; None where one is not known."""
    shapes = [source.shapes[index] for source, index in node.inputs]
    if not all(map(is_full, shapes)):
        return None
    full: list[Any] = shapes  # what is full has numbers alone
    return [np.broadcast_to(np.False_, shape) for shape in full]


def _evaluate(
    node: Node, arguments: list[np.ndarray[Any, Any]] | None
) -> list[np.ndarray[Any, Any]] | None:
    """The values of a node on the host; None where it has to run in its place."""
    if arguments is None or node.control or node.stateful or not node.dtypes or node.op is None:
        return None
    if dt.variant in node.dtypes or dt.resource in node.dtypes:
        return None  # a constant holds an array
    try:
        prepared = prepared_op(node)
        if prepared.host is None or prepared.host_kernel is None or prepared.host_kernel.reentrant:
            return None
        results = [np.asarray(r) for r in run_host(prepared, arguments)]
    except errors.OpError:
        return None  # it will fail when it runs, with its own message
    return results if sum(r.nbytes for r in results) <= MAX_FOLDED_BYTES else None


def _known_bytes(node: Node) -> int:
    total = 0
    for dtype, dims in zip(node.dtypes, node.shapes, strict=True):
        if dims is not None and None not in dims:
            total += math.prod(dims) * max(dtype.size or 8, 1)  # type: ignore[arg-type]
    return total


def prepared_op(node: Node, device: str = "CPU") -> PreparedOp:
    """The node's kernels, bound.

    Raises:
      InvalidArgumentError: there is no kernel for its types; names the node and its line.
    """
    assert node.op is not None
    in_dtypes = tuple(source.dtypes[index] for source, index in node.inputs)
    counts = tuple(node.counts) if node.counts is not None else (1,) * len(node.op.inputs)
    key = ("node", in_dtypes, counts, key_of(node.op, node.attrs), device)
    found: PreparedOp | None = node.op.prepared.get(key)
    if found is None:
        try:
            found = PreparedOp(node.op, in_dtypes, counts, node.attrs, device, planned=True)
        except NoKernel as problem:
            message = f"{node.where()}: {problem}"
            raise errors.InvalidArgumentError(None, node.origin, message) from None
        if len(node.op.prepared) >= PREPARED:
            node.op.prepared.clear()
        if node.type != "Const" and not node.op.calls:  # its value or bodies would live on there
            node.op.prepared[key] = found
    return found


def merge_equal(program: Program) -> Program:
    """Computes equal operations on equal inputs once."""
    seen: dict[Any, Node] = {}
    replaced: dict[int, list[Ref]] = {}
    gone: dict[int, Node] = {}
    for node in program.nodes:
        node.inputs = [_first(i, replaced) for i in node.inputs]
        if node.stateful or node.control or node.type == FEED or not node.dtypes:
            continue
        attrs = {n: v for n, v in node.attrs.items() if not n.startswith("_")}
        same = key_of(node.op, attrs) if node.op is not None else tuple(attrs.items())
        key = (node.type, same, tuple((id(n), i) for n, i in node.inputs), node.device)
        first = seen.setdefault(key, node)
        if first is not node:
            replaced[id(node)] = [(first, i) for i in range(len(node.dtypes))]
            gone[id(node)] = first
    return rewired(program, replaced, gone) if replaced else program


def _first(ref: Ref, replaced: dict[int, list[Ref]]) -> Ref:
    found = replaced.get(id(ref[0]))
    return found[ref[1]] if found is not None else ref


PASSES = (forward_identities, fold_constants, merge_equal, fuse_chains, rewrite)


def simplify(program: Program, passes: Sequence[Callable[[Program], Program]] = ()) -> Program:
    """Applies the passes in order: all, unless some are named.

    With PENSTOCK_VERIFY set, the program is checked before and after each.

    Raises:
      InternalError: a pass broke the program; names the pass and the node.
    """
    checked = env.get("PENSTOCK_VERIFY")
    if checked:
        program.verify()
    for apply in passes or PASSES:
        program = apply(program)
        if checked:
            _verify_after(apply.__name__, program)
    return program


def _verify_after(name: str, program: Program) -> None:
    try:
        program.verify()
    except errors.InternalError as problem:
        raise errors.InternalError(None, None, f"after {name}: {problem.message}") from problem
