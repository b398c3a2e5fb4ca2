"""What single nodes of a loop's round do: count, add up, read a row, sum rows.

For `penstock.runtime.loop_form`, which puts what they say together.
"""

from dataclasses import dataclass
from typing import Any

from penstock.runtime.program import Node, Program, Ref, sort
from penstock.types.dims import is_full

ADDERS = ("Add", "AddV2", "AddN")


@dataclass(frozen=True, slots=True)
class Counter:
    """An integer that is `first + step * number` in round `number`."""

    first: int
    step: int

    def within(self, rounds: int, size: int) -> bool:
        """Whether it is an index of `size` rows in every round."""
        ends = (self.first, self.first + self.step * (rounds - 1))
        return min(ends) >= 0 and max(ends) < size

    def covers(self, rounds: int, size: int) -> bool:
        """Whether it is the index of every row once."""
        return abs(self.step) == 1 and rounds == size and self.within(rounds, size)


def copied(program: Program) -> Program:
    """The same program of nodes of its own."""
    made: dict[int, Node] = {}
    for node in program.nodes:
        inputs = [(made[id(source)], index) for source, index in node.inputs]
        made[id(node)] = node.copy(inputs, [made[id(c)] for c in node.control])
    return sort(
        [made[id(n)] for n in program.feeds],
        [(made[id(n)], i) for n, i in program.fetches],
        [made[id(n)] for n in program.targets],
    )


def added_up(ref: Ref, feed: Node, uses: Any, waited: set[int]) -> list[Ref] | None:
    """What is added up to `ref`, `feed` among it, by operations that nothing else uses."""
    stack, found = [ref], []
    while stack:
        node, index = stack.pop()
        alone = uses[id(node), index] == 1 and id(node) not in waited and not node.control
        if not alone:
            return None
        if node.type in ADDERS and _same_shapes(node):
            stack.extend(node.inputs)
        else:
            found.append((node, index))
    return found


def _same_shapes(node: Node) -> bool:
    """Whether an addition broadcasts nothing."""
    shapes = [source.shapes[index] for source, index in node.inputs]
    if node.type == "AddN":
        return True
    return all(is_full(s) for s in shapes) and len({tuple(s or ()) for s in shapes}) == 1


def sums_rows(node: Node) -> bool:
    """Whether a node sums a matrix over its first axis, and no other."""
    if len(node.inputs[0][0].shapes[node.inputs[0][1]] or ()) != 2 or node.control:
        return False
    if node.type == "BiasAddGrad":
        return bool(node.attrs["data_format"] == "NHWC")
    if node.type != "Sum" or node.attrs["keep_dims"] or node.inputs[1][0].type != "Const":
        return False
    axes = node.inputs[1][0].attrs["value"].array
    return [int(a) % 2 for a in axes.reshape(-1)] == [0]


def constant_integer(ref: Ref) -> int | None:
    """The value of a constant integer scalar."""
    node, _ = ref
    if node.type != "Const":
        return None
    value = node.attrs["value"].array
    return int(value) if value.ndim == 0 and value.dtype.kind in "iu" else None


def step_of(ref: Ref, feed: Node) -> int | None:
    """What a round adds to `feed`, an integer, to get `ref`."""
    node, _ = ref
    if node.type not in ("Add", "AddV2", "Sub") or node.control:
        return None
    (left, right), sign = node.inputs, -1 if node.type == "Sub" else 1
    if right[0] is feed and sign > 0:
        left, right = right, left
    step = constant_integer(right) if left[0] is feed else None
    return None if step is None else sign * step


def row_read(node: Node) -> tuple[int, Ref] | None:
    """The axis and the index of the one row that a node reads of its first input."""
    if node.type == "PenstockStackRead" or node.type == "TensorListGetItem":
        return 0, node.inputs[1]
    if node.type == "GatherV2":
        axis, index = constant_integer(node.inputs[2]), node.inputs[1]
        scalar = index[0].shapes[index[1]] == ()
        return (
            (axis, index)
            if scalar and axis is not None and axis >= 0 and not node.attrs["batch_dims"]
            else None
        )
    return _sliced_row(node) if node.type == "StridedSlice" else None


def _sliced_row(node: Node) -> tuple[int, Ref] | None:
    """As `_row_index`, for an index such as x[t] or x[:, t]."""
    begin, strides = node.inputs[1][0], node.inputs[3][0]
    attrs = node.attrs
    axis = attrs["shrink_axis_mask"].bit_length() - 1
    if begin.type != "Pack" or strides.type != "Const" or begin.control or axis < 0:
        return None
    whole = (1 << len(begin.inputs)) - 1 - (1 << axis)
    plain = attrs["shrink_axis_mask"] == 1 << axis and not attrs["ellipsis_mask"]
    plain = plain and not attrs["new_axis_mask"] and not attrs["begin_mask"] >> axis & 1
    full = attrs["begin_mask"] & attrs["end_mask"] & whole == whole
    ones = (strides.attrs["value"].array == 1).all()
    return (axis, begin.inputs[axis]) if plain and full and ones else None


__all__ = [
    "Counter",
    "added_up",
    "constant_integer",
    "copied",
    "row_read",
    "step_of",
    "sums_rows",
]
