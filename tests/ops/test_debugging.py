"""Assertions, printing (PrintV2 and StringFormat) and Python functions.

Texts and classes of errors were seen in TensorFlow 2.21.
"""

import io
import sys

import numpy as np
import pytest

from penstock import errors, ops
from penstock.autodiff.tape import GradientTape
from penstock.core import context
from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.graph import Graph
from penstock.ops import array_basics as b
from penstock.ops import debug_asserts as a
from penstock.ops import debug_print as p
from penstock.ops import debug_shapes as s
from penstock.ops import py_functions as f
from penstock.ops.text_format import string_format, summarize, summarize_flat
from penstock.runtime.session import DirectSession
from penstock.types import dtypes as dt

ops.load_all()
BAD = errors.InvalidArgumentError


def run(graph, fetches, feeds=(), targets=()):
    session = DirectSession(graph)
    plan = session.plan(list(fetches), [t for t, _ in feeds], list(targets))
    return [np.asarray(v) for v in session.run(plan, [v for _, v in feeds])[0]]


# ---- assertions


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (a.assert_equal, ([1, 2], [1, 2]), ([1, 2], [1, 3])),
        (a.assert_none_equal, ([1], [2]), ([1], [1])),
        (a.assert_less, ([1], [2]), ([2], [2])),
        (a.assert_less_equal, ([2], [2]), ([3], [2])),
        (a.assert_greater, ([3], [2]), ([2], [2])),
        (a.assert_greater_equal, ([2], [2]), ([1], [2])),
        (a.assert_positive, ([1],), ([0],)),
        (a.assert_negative, ([-1],), ([0],)),
        (a.assert_non_negative, ([0],), ([-1],)),
        (a.assert_non_positive, ([0],), ([1],)),
        (a.assert_near, ([1.0], [1.0 + 5e-7]), ([1.0], [1.1])),
    ],
)
def test_values_are_checked_now_and_in_a_graph(check, good, bad):
    assert check(*good) is None
    assert check(*[np.zeros(0, np.float32)] * len(good)) is None
    with pytest.raises(BAD):
        check(*bad)
    graph = Graph()
    with context.graph_scope(graph):
        inputs = [b.placeholder(dt.float32, [None]) for _ in good]
        op = check(*inputs)
        if check is not a.assert_near:
            assert check(*good).type == "NoOp"
            with pytest.raises(BAD):
                check(*bad)
    run(graph, [], list(zip(inputs, map(np.float32, good), strict=True)), [op])
    with pytest.raises(BAD, match="assertion failed"):
        run(graph, [], list(zip(inputs, map(np.float32, bad), strict=True)), [op])


def test_a_failed_comparison_says_where_and_what():
    with pytest.raises(BAD) as caught:
        a.assert_equal([1, 2], [1, 3], message="msg")
    assert caught.value.message == (
        "msg\nCondition x == y did not hold.\nIndices of first 1 different "
        "values:\n[[1]]\nCorresponding x values:\n[2]\n"
        "Corresponding y values:\n[3]\nFirst 2 elements of x:\n[1 2]\nFirst 2 elements of y:\n[1 3]"
    )


def test_assert_shows_its_data():
    assert a.assert_that(True, ["x"]) is None
    with pytest.raises(BAD, match=r"Expected 'False' to be true. Summarized data: 1, 2, \.\.\.\ns"):
        a.assert_that(False, [convert_to_tensor([1, 2, 3, 4]), "s"], summarize=2)
    graph = Graph()
    with context.graph_scope(graph):
        x = b.placeholder(dt.float32, [None])
        op = a.assert_that(execute("Less", (x[0], 3.0)), ["too large", x])
    run(graph, [], [(x, np.float32([1]))], [op])
    with pytest.raises(BAD, match=r"assertion failed: \[too large\] \[4 5 6\.\.\.\]"):
        run(graph, [], [(x, np.float32([4, 5, 6, 7]))], [op])


def test_static_shapes_and_types():
    x, y = np.zeros((2, 3), np.float32), np.zeros((4, 3), np.float32)
    for good in (
        lambda: s.assert_rank(x, 2),
        lambda: s.assert_rank_at_least(x, 2),
        lambda: s.assert_rank_in(x, [1, 2]),
        lambda: s.assert_type(x, "float32"),
        lambda: s.assert_integer([1]),
        lambda: s.assert_shapes(
            [(x, ("N", "D")), (y, ("M", 3)), (x, ("...", "D")), (convert_to_tensor(1), (1,))]
        ),
        lambda: s.assert_proper_iterable([1]),
    ):
        assert good() is None
    for bad, error, text in (
        (
            lambda: s.assert_rank(x, 1, message="mm"),
            ValueError,
            r"mm\.  Tensor  must have rank 1\.  Received rank 2, shape \(2, 3\)",
        ),
        (lambda: s.assert_rank_at_least(x, 3), ValueError, "must have rank at least 3"),
        (lambda: s.assert_rank_in(x, [1, 3]), ValueError, r"must have rank in \(1, 3\)"),
        (
            lambda: s.assert_type(x, "int32"),
            TypeError,
            r"tensor must be of type tf\.int32; got tf\.float32",
        ),
        (lambda: s.assert_integer([1.0]), TypeError, 'Expected "x" to be integer type'),
        (lambda: s.assert_scalar([1.0]), ValueError, r"Expected scalar shape, saw shape: \(1,\)"),
        (
            lambda: s.assert_shapes([(x, ("N", "D")), (y, ("N", "D"))]),
            ValueError,
            r"dimension 0 must have size 2\.  Received size 4",
        ),
        (
            lambda: s.assert_shapes([(x, ("N", 4))]),
            ValueError,
            r"Specified explicitly\..*must have size 4",
        ),
        (lambda: s.assert_shapes([(x, ("N",))]), ValueError, r"rank in \(0, 1\)"),
        (lambda: s.assert_shapes({"x": 1}), ValueError, "must be an iterable"),
        (lambda: s.assert_shapes([(x, ("N", "...", 3))]), ValueError, "front or the back"),
        (lambda: s.assert_same_float_dtype([convert_to_tensor(1)]), ValueError, "floating point"),
        (
            lambda: s.assert_same_float_dtype([convert_to_tensor(1.0)], "float64"),
            ValueError,
            "same type",
        ),
        (lambda: s.assert_proper_iterable("ab"), TypeError, "proper"),
        (lambda: s.assert_proper_iterable(1), TypeError, "to be iterable"),
    ):
        with pytest.raises(error, match=text):
            bad()
    assert s.assert_same_float_dtype([]) is dt.float32
    assert s.is_numeric_tensor(convert_to_tensor(1))
    assert not s.is_numeric_tensor([1])
    assert not s.is_numeric_tensor(convert_to_tensor("a"))


def test_unknown_shapes_are_checked_when_the_graph_runs():
    graph = Graph()
    with context.graph_scope(graph):
        x = b.placeholder(dt.float32)
        wide = b.placeholder(dt.float32, [None, None])
        ranked = s.assert_rank(x, 1)
        square = s.assert_shapes_v1([(wide, ("N", "N"))])
    run(graph, [], [(x, np.float32([1]))], [ranked])
    with pytest.raises(BAD, match="must have rank"):
        run(graph, [], [(x, np.float32(1))], [ranked])
    run(graph, [], [(wide, np.zeros((2, 2), np.float32))], [square])
    with pytest.raises(BAD, match="must have size"):
        run(graph, [], [(wide, np.zeros((2, 3), np.float32))], [square])


def test_finite_values_pass():
    assert a.assert_all_finite([1.0], "m").numpy().tolist() == [1]
    with pytest.raises(BAD, match="m : Tensor had Inf values"):
        a.verify_tensor_all_finite([np.inf], "m")


# ---- printing


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (np.arange(20), 3, "[0 1 2 ... 17 18 19]"),
        (np.arange(20), 2, "[0 1 ... 18 19]"),
        (np.arange(4), -1, "[0 1 2 3]"),
        (np.arange(8).reshape(2, 2, 2), 1, "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]"),
        (np.arange(12).reshape(4, 3), 1, "[[0 ... 2]\n ...\n [9 ... 11]]"),
        (np.float32([1e-10, 0.1, 1 / 3]), 3, "[1e-10 0.1 0.333333343]"),
        (np.float64([0.1, 1 / 3]), 3, "[0.1 0.33333333333333331]"),
        (np.float32([1e16, np.nan, np.inf]), 3, "[1e+16 nan inf]"),
        (np.float32(16777216), 3, "16777216"),
        (np.float16([0.1, 3.14159]), 3, "[0.0999755859 3.140625]"),
        (np.array([True, False]), 3, "[1 0]"),
        (np.array([b"a", "h\xe9".encode()], object), 3, '["a" "h\xe9"]'),
        (np.zeros((2, 0)), 3, "[\n ...]"),
        (np.zeros(0), 3, "[]"),
    ],
)
def test_tensors_as_text(value, limit, text):
    assert summarize(value, limit) == text


def test_flat_text_stops_early():
    assert summarize_flat(np.arange(5), 3) == "0 1 2..."
    assert summarize_flat(np.arange(4).reshape(2, 2), -1) == "[0 1][2 3]"
    assert summarize_flat(np.array(b"t", object), 3) == "t"


def test_formatted_strings():
    assert string_format("a {} b {}", [1, [2, 3]]).numpy() == b"a 1 b [2 3]"
    with pytest.raises(ValueError, match="expects 2 tensors"):
        string_format("{} {}", [1])


def test_print_writes_where_it_is_told(capsys, tmp_path, monkeypatch):
    p.print_v2(
        "x =",
        convert_to_tensor([1.5, 2.0]),
        {"b": convert_to_tensor(1), "a": [convert_to_tensor("s")]},
        3,
        None,
    )
    assert capsys.readouterr().err == "x = [1.5 2] {'a': [\"s\"], 'b': 1} 3 None\n"
    p.print_v2("a", "b", sep="", end="|", output_stream=sys.stdout)
    p.print_v2(SparseTensor([[0]], [5], [2]), output_stream=sys.stdout)
    assert capsys.readouterr().out == "ab|'SparseTensor(indices=[[0]], values=[5], shape=[2])'\n"
    path = tmp_path / "out.txt"
    p.print_v2(1, output_stream=f"file://{path}")
    p.print_v2(np.arange(2), output_stream=f"file://{path}")
    assert path.read_text() == "1\narray([0, 1])\n"
    with pytest.raises(ValueError, match="Unsupported output stream"):
        p.print_v2(1, output_stream=io.StringIO())
    with pytest.raises(ValueError, match="Unrecognized keyword"):
        p.print_v2(1, colour="red")


def test_print_happens_at_every_step(capsys):
    graph = Graph()
    with context.graph_scope(graph):
        x = b.placeholder(dt.int32, [])
        op = p.print_v2("x", x, output_stream=sys.stdout)
        y = p.print_v1(x, [x, [1, 2]], "m: ", first_n=1)
    assert op.type == "PrintV2"
    for value in (1, 2):
        assert run(graph, [y], [(x, np.int32(value))], [op])[0] == value
    captured = capsys.readouterr()
    assert captured.out == "x 1\nx 2\n"
    assert captured.err == "m: [1][1 2]\n"


# ---- Python functions: EagerPyFunc, PyFunc, PyFuncStateless


def test_functions_run_at_once():
    assert f.py_function(lambda x: x + 1, [1.0], dt.float32).numpy() == 2
    assert [
        t.numpy()
        for t in f.numpy_function(lambda x: (x, x * 2), [np.int64(3)], [dt.int64, dt.int64])
    ] == [3, 6]
    assert f.py_function(lambda: None, [], []) == []
    with pytest.raises(BAD, match="returned 2 values, expected 1"):
        f.numpy_function(lambda: (1, 2), [], [dt.int32])
    with pytest.raises(BAD, match="is int64, but expects int32"):
        f.numpy_function(lambda: np.int64(1), [], dt.int32)
    with pytest.raises(ValueError, match="callable"):
        f.py_function(1, [], dt.int32)


def test_a_tape_sees_inside_a_function_that_runs_at_once():
    x = convert_to_tensor(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = f.py_function(lambda v: v * v, [x], dt.float32)
    assert tape.gradient(y, x).numpy() == 6


@pytest.mark.parametrize(
    ("function", "op"), [(f.py_function, "EagerPyFunc"), (f.numpy_function, "PyFunc")]
)
def test_functions_run_in_a_graph(function, op):
    calls = []

    def double(x):
        calls.append(type(x))
        return x + x

    graph = Graph()
    with context.graph_scope(graph):
        x = b.placeholder(dt.float32, [2])
        y = function(double, [x], dt.float32)
    assert y.op.type == op
    assert y.dims is None
    assert run(graph, [y], [(x, np.float32([1, 2]))])[0].tolist() == [2, 4]
    assert len(calls) == 1


def test_a_stateless_function_is_shared():
    calls = []

    def count(x):
        calls.append(1)
        return x

    graph = Graph()
    with context.graph_scope(graph):
        x = b.placeholder(dt.int32, [])
        y = f.py_func(count, [x], dt.int32, stateful=False)
    assert y.op.type == "PyFuncStateless"
    run(graph, [y], [(x, np.int32(1))])
    assert calls == [1]


def test_the_gradient_in_a_graph_is_that_of_the_call():
    calls = []

    def cube(x, n):
        calls.append(1)
        return x * x * x, n

    graph = Graph()
    with context.graph_scope(graph):
        x = b.placeholder(dt.float32, [2])
        y, _ = f.py_function(cube, [x, 7], [dt.float32, dt.int32])
        rule = y.op.op_def.gradient_function
        grads = rule(y.op, b.constant([1.0, 10.0]), None)
    assert grads[1] is None
    value, slope = run(graph, [y, grads[0]], [(x, np.float32([1, 2]))])
    assert value.tolist() == [1, 8]
    assert slope.tolist() == [3, 120]
    with pytest.raises(BAD, match="callback"):
        execute("PyFunc", ([],), {"token": "none", "Tin": [], "Tout": []})
