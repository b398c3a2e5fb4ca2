"""The placer: which device runs each node. A pure decision over values.

A node goes where it asks to go, if a device of that name has a kernel for it. Nodes that must stay
together form a group: those that name each other in `_class`, and those that touch a resource with
the operation that makes its handle. A group takes the first device, in the order given, that fits
what all its nodes ask for. With soft placement a node that cannot have its device gets another one
of the same task; without, it is an error that lists the devices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock import errors
from penstock.core.context import LOCAL_TASK
from penstock.core.kernels import select
from penstock.runtime.devices import cpu_count, device_name
from penstock.runtime.program import FEED, Node, Program
from penstock.types import dtypes as dt
from penstock.types.device_spec import DeviceSpecV2

HasKernel = Callable[[Node, str], bool]  # (node, device type)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A device that nodes may be placed on: its full name and type."""

    name: str
    kind: str


def place_program(
    program: Program,
    device_type: str,
    soft_placement: bool,
    cpus: int | None = None,
    task: str = LOCAL_TASK,
) -> Program:
    """Writes the device of every node into the program.

    One device of `device_type` and so many CPUs are there, of the task; None for those of the
    process.
    """
    kinds = dict.fromkeys((device_type, "CPU"))
    devices = [Candidate(device_name(kind, 0, task), kind) for kind in kinds]
    more = range(1, cpus or cpu_count())
    devices += [Candidate(device_name("CPU", i, task), "CPU") for i in more]
    if len(kinds) == 1 and not any(n.device or "_class" in n.attrs for n in program.nodes):
        for node in program.nodes:  # nothing to decide
            node.device = devices[0].name
        return program
    placed = place(program.nodes, devices, has_kernel, soft_placement)
    for node in program.nodes:
        node.device = placed[id(node)]
    return program


def has_kernel(node: Node, device_type: str) -> bool:
    """Whether a kernel of the registry serves the node on a device type."""
    if node.op is None or node.type in (FEED, "Const", "NoOp"):
        return True
    return any(
        select(node.type, kind, device_type, node.attrs) is not None
        for kind in ("compiled", "host")
    )


def place(
    nodes: Sequence[Node], devices: Sequence[Candidate], has_kernel: HasKernel, soft_placement: bool
) -> Mapping[int, str]:
    """The device of each node, by `id(node)`.

    Args:
      nodes: in topological order; `device` is what each asks for.
      devices: those there are, the preferred first.
      has_kernel: whether a node can run on a device type.
      soft_placement: whether a request that cannot be met is given up.

    Raises:
      InvalidArgumentError: a request cannot be met, or nodes of one group contradict each other.
    """
    placed: dict[int, str] = {}
    for group in _groups(nodes):
        device = _choose(group, devices, has_kernel, soft_placement)
        for node in group:
            placed[id(node)] = device.name
    return placed


def _groups(nodes: Sequence[Node]) -> list[list[Node]]:
    """Nodes that must share a device, in order of their first node."""
    parent = {id(n): id(n) for n in nodes}

    def root(key: int) -> int:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    by_name = {n.name: n for n in nodes}
    for node in nodes:
        together = [s for s, i in node.inputs if s.dtypes[i] is dt.resource]
        together += [by_name[name] for name in _colocated(node) if name in by_name]
        for other in together:
            parent[root(id(node))] = root(id(other))
    groups: dict[int, list[Node]] = {}
    for node in nodes:
        groups.setdefault(root(id(node)), []).append(node)
    return list(groups.values())


def _colocated(node: Node) -> list[str]:
    texts = [c.decode() if isinstance(c, bytes) else c for c in node.attrs.get("_class", ())]
    return [t.removeprefix("loc:@") for t in texts if t.startswith("loc:@")]


def _choose(
    group: Sequence[Node], devices: Sequence[Candidate], has_kernel: HasKernel, soft_placement: bool
) -> Candidate:
    wanted = _merged_request(group, soft_placement)
    able = [d for d in devices if all(has_kernel(n, d.kind) for n in group)]
    named = [d for d in devices if wanted is None or _matches(wanted, d.name)]
    for device in able:
        if device in named:
            return device
    if wanted is not None and not (soft_placement and _same_task(wanted, devices)):
        raise _refused(group, named, devices)
    return able[0] if able else devices[-1]  # without any kernel: running it names those there are


def _merged_request(group: Sequence[Node], soft_placement: bool) -> DeviceSpecV2 | None:
    merged: DeviceSpecV2 | None = None
    first: Node | None = None
    for node in sorted(group, key=_takes_resource):  # where a resource is, there it is used
        if not node.device:
            continue
        spec = DeviceSpecV2.from_string(node.device)
        if merged is None:
            merged, first = spec, node
        elif _takes_resource(node) and _beside(merged, spec):
            continue  # the value is read there, and moved
        elif not _compatible(merged, spec) and not soft_placement:
            assert first is not None
            raise errors.InvalidArgumentError(
                None,
                node.origin,
                f"Cannot colocate nodes {node.where()} and {first.where()} "
                "because no device type supports both: "
                f"the first asks for '{node.device}', the second for '{first.device}'. Ask for one "
                "device, or allow soft placement.",
            )
        else:
            merged = merged.make_merged_spec(spec) if _compatible(merged, spec) else merged
    return merged


def _beside(a: DeviceSpecV2, b: DeviceSpecV2) -> bool:
    """Whether two requests differ in the number of the device alone."""
    others = [p for p in _PARTS if p != "device_index"]
    same = all(
        None in (x, y) or x == y for x, y in [(getattr(a, p), getattr(b, p)) for p in others]
    )
    return same and None not in (a.device_index, b.device_index) and not _compatible(a, b)


def _takes_resource(node: Node) -> bool:
    return any(s.dtypes[i] is dt.resource for s, i in node.inputs)


_PARTS = ("job", "replica", "task", "device_type", "device_index")


def _compatible(a: DeviceSpecV2, b: DeviceSpecV2) -> bool:
    return all(
        None in (getattr(a, p), getattr(b, p)) or getattr(a, p) == getattr(b, p) for p in _PARTS
    )


def _same_task(wanted: DeviceSpecV2, devices: Sequence[Candidate]) -> bool:
    """Whether a device of the task asked for is there: soft placement stays within it."""
    task = DeviceSpecV2(wanted.job, wanted.replica, wanted.task)
    return any(_matches(task, d.name) for d in devices)


def _matches(wanted: DeviceSpecV2, name: str) -> bool:
    return _compatible(wanted, DeviceSpecV2.from_string(name))


def _refused(
    group: Sequence[Node], named: Sequence[Candidate], devices: Sequence[Candidate]
) -> Exception:
    node = next(n for n in group if n.device)
    listing = ", ".join(d.name for d in devices)
    if not named:
        problem = (
            f"Operation was explicitly assigned to {node.device} but available devices are [ "
            f"{listing} ]. Make sure the device "
            "specification refers to a valid device."
        )
    else:
        kinds = sorted({d.kind for d in named})
        problem = (
            f"Could not satisfy explicit device specification '{node.device}' because no supported "
            f"kernel for {', '.join(kinds)} "
            f"devices is available; devices are [ {listing} ]."
        )
    return errors.InvalidArgumentError(
        None,
        node.origin,
        f"Cannot assign a device for operation {node.name}: {node.where()} "
        f"{problem} Or set "
        "allow_soft_placement=True in the session's ConfigProto.",
    )


__all__ = ["Candidate", "has_kernel", "place", "place_program"]
