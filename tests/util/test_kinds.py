"""The class of all numbers of a list, and what lists of many numbers cost in a graph."""

import gc
import sys

import pytest

import penstock as tf
from penstock.util.kinds import one_kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], None),
        ([1, 2], int),
        ((1.0, 2.0), float),
        ([1, True], None),
        ([1, 2.0], None),
        ([[1, 2], [3]], int),
        ([(1,), (2,)], int),
        ([[1], (2,)], None),
        ([[1], [2.0]], None),
        ([[], []], None),
        ([[[1]]], list),
    ],
)
def test_one_kind(values, kind):
    assert one_kind(values) is kind


def lines_run(function, *args):
    """How many lines of Python a call runs."""
    count = 0

    def tracer(frame, event, arg):
        nonlocal count
        count += event == "line"
        return tracer

    before = sys.gettrace()
    gc.collect()
    gc.disable()  # what it finalizes runs lines, too
    sys.settrace(tracer)
    try:
        function(*args)
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("number", [1, 0.5])
@pytest.mark.parametrize(
    "function",
    [tf.constant, tf.convert_to_tensor, lambda numbers: tf.add(numbers, numbers)],
    ids=["constant", "convert_to_tensor", "add"],
)
def test_a_list_costs_no_step_of_python_for_each_number(function, number, rows):
    def numbers(count):
        return [[number] * 4] * (count // 4) if rows else [number] * count

    with tf.Graph().as_default():
        function(numbers(4096))  # what is imported and looked up once
        assert lines_run(function, numbers(4096)) == lines_run(function, numbers(8))
