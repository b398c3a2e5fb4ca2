"""Counting: products, other work, movement, and what is not known."""

import dataclasses

import pytest

from penstock.profiler.cost import Cost, cost_of, total_cost
from penstock.types import dtypes
from penstock.types.tensor_shape import TensorShape


@dataclasses.dataclass
class FakeTensor:
    shape: TensorShape
    dtype: dtypes.DType


@dataclasses.dataclass
class FakeOperation:
    type: str
    inputs: list
    outputs: list
    attrs: dict = dataclasses.field(default_factory=dict)


def floats(*shape):
    return FakeTensor(TensorShape(shape), dtypes.float32)


def operation(kind, inputs, outputs, **attrs):
    return FakeOperation(kind, inputs, outputs, attrs)


@pytest.mark.parametrize(
    ("op", "flops", "bytes_"),
    [
        (
            operation("MatMul", [floats(2, 3), floats(3, 5)], [floats(2, 5)], transpose_a=False),
            2 * 2 * 3 * 5,
            4 * (6 + 15 + 10),
        ),
        (
            operation("MatMul", [floats(3, 2), floats(3, 5)], [floats(2, 5)], transpose_a=True),
            2 * 2 * 3 * 5,
            4 * (6 + 15 + 10),
        ),
        (
            operation(
                "BatchMatMulV2", [floats(7, 2, 3), floats(3, 5)], [floats(7, 2, 5)], adj_x=False
            ),
            7 * 2 * 2 * 3 * 5,
            4 * (42 + 15 + 70),
        ),
        (
            operation("Conv2D", [floats(1, 8, 8, 3), floats(3, 3, 3, 4)], [floats(1, 8, 8, 4)]),
            2 * 256 * 27,
            4 * (192 + 108 + 256),
        ),
        (
            operation("MaxPool", [floats(1, 4, 4, 2)], [floats(1, 2, 2, 2)], ksize=[1, 2, 2, 1]),
            8 * 4,
            4 * (32 + 8),
        ),
        (operation("AddV2", [floats(2, 3), floats(3)], [floats(2, 3)]), 6, 4 * (6 + 3 + 6)),
        (operation("Sum", [floats(8, 2), floats()], [floats(2)]), 16, 4 * (16 + 1 + 2)),
        (operation("Transpose", [floats(2, 3), floats(2)], [floats(3, 2)]), 0, 4 * (6 + 2 + 6)),
        (operation("Identity", [floats(9)], [floats(9)]), 0, 0),
        (operation("NoOp", [], []), 0, 0),
        (operation("AddV2", [floats(None, 3), floats(3)], [floats(None, 3)]), None, None),
        (operation("AddV2", [floats(0, 3), floats(3)], [floats(0, 3)]), 0, 4 * 3),
    ],
)
def test_counts(op, flops, bytes_):
    assert cost_of(op) == Cost(flops, bytes_)


def test_unknown_dimensions_count_as_told():
    op = operation("AddV2", [floats(None, 3), floats(3)], [floats(None, 3)])
    assert cost_of(op, unknown=10) == Cost(30, 4 * (30 + 3 + 30))


def test_an_unknown_rank_stays_unknown():
    op = operation("Relu", [FakeTensor(TensorShape(None), dtypes.float32)], [floats(3)])
    assert cost_of(op, unknown=1) == Cost(3, None)


def test_handles_have_no_bytes_and_strings_an_unknown_number():
    handle = FakeTensor(TensorShape(()), dtypes.resource)
    text = FakeTensor(TensorShape((2,)), dtypes.string)
    assert cost_of(operation("AssignVariableOp", [handle, floats(5)], [])) == Cost(0, 20)
    assert cost_of(operation("StringLower", [text], [text])) == Cost(2, None)


def test_branches_are_not_known():
    assert cost_of(operation("While", [floats(2)], [floats(2)])) == Cost(None, None)


def test_totals_leave_out_the_unknown():
    assert total_cost([Cost(1, 2), Cost(None, 3), Cost(4, None)]) == Cost(5, 5)
