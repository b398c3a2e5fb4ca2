"""Handlers of native kernels called with arrays and attributes that do not fit: an error, no crash.

`CALLS` has a call of each function that is right. Every size, rank, dtype and attribute of it is
changed, one at a time. Python's predicates let none of these through; a handler that took one would
read and write the memory of others.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tests.ops.native_draws import compiled, result

from penstock.core import native
from penstock.core.lazy import jax

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")
FLOAT, LONG, FLAG = np.float32, np.int64, np.bool_
Array = tuple[type, tuple[int, ...]]


@dataclass(frozen=True)
class Call:
    """A call of a function: dtypes and shapes of results and arguments, and attributes.

    Attributes:
      free: results ("r0") and arguments ("a1") whose sizes may be others, as another window or
        what is not used explains them, or whose dtype may be; and attributes that may be others.
    """

    results: list[Array]
    arguments: list[Array]
    attrs: dict[str, Any] = field(default_factory=dict)
    free: tuple[str, ...] = ()


def of(*shapes, dtype=FLOAT):
    return [(dtype, shape) for shape in shapes]


def window(*numbers):
    return {"window": np.array(numbers, np.int64)}


def ints(**numbers):
    return {name: np.int32(number) for name, number in numbers.items()}


def flags(**values):
    return {name: np.bool_(value) for name, value in values.items()}


WINDOW = window(1, 1, 1, 1, 1, 1)  # strides, dilations, pads
IMAGE, FILTER, GRAD = (2, 6, 7, 8), (3, 3, 4, 10), (2, 6, 7, 10)
POOL = window(2, 2, 2, 2, 0, 0)
HEADS, MASK = (2, 3, 5, 4), (2, 1, 1, 6)
KEYS, VALUES, OUT, STATISTICS = (2, 3, 6, 4), (2, 3, 6, 7), (2, 3, 5, 7), (2, 3, 5, 2)
ATTENTION = {**ints(masking=1), "low": np.float32(-1e9), **flags(interleaved=False)}
ATTENDED = [*of(HEADS, KEYS, VALUES), (FLAG, MASK), *of(())]
FEW = 64 * 4

CALLS = {
    "product": Call(of((2, 4, 6)), of((2, 4, 5), (2, 5, 6)), flags(adj_a=False, adj_b=False)),
    "finished_product": Call(
        of((4, 6)), of((4, 5), (5, 6), (6,), (4, 6), (4, 6)),
        {**flags(adj_a=False, adj_b=False), **ints(uses=7, activation=1)}, ("uses",),
    ),
    "conv": Call(of(GRAD), of(IMAGE, FILTER), WINDOW, ("a0", "a1", "r0", "window")),
    "finished_conv": Call(
        of(GRAD), of(IMAGE, FILTER, (10,), GRAD), {**WINDOW, **ints(uses=3, activation=2)},
        ("a0", "a1", "window", "uses"),
    ),
    "conv_input_grad": Call(of(IMAGE), of(FILTER, GRAD), WINDOW, ("r0", "a0", "a1", "window")),
    "finished_conv_input_grad": Call(
        of(IMAGE), of(FILTER, GRAD, IMAGE, IMAGE), {**WINDOW, **ints(uses=6)},
        ("a0", "a1", "window", "uses"),
    ),
    "conv_filter_grad": Call(of(FILTER), of(IMAGE, GRAD), WINDOW, ("r0", "a0", "a1", "window")),
    "max_pool": Call(of((2, 3, 3, 5)), of((2, 6, 7, 5)), POOL, ("r0", "a0", "window")),
    "avg_pool": Call(of((2, 3, 3, 5)), of((2, 6, 7, 5)), POOL, ("r0", "a0", "window")),
    "max_pool_grad": Call(
        of((2, 6, 7, 5)), of((2, 6, 7, 5), (2, 3, 3, 5), (2, 3, 3, 5)), POOL, ("window",)
    ),
    "avg_pool_grad": Call(of((2, 6, 7, 5)), of((2, 3, 3, 5)), POOL, ("r0", "a0", "window")),
    "dot_product": Call(
        [(np.int32, (2, 4, 6))], [(np.int8, (2, 4, 5)), (np.int8, (2, 5, 6))], flags(adj_b=False)
    ),
    "dot_conv": Call(
        [(np.int32, GRAD)], [(np.uint8, IMAGE), (np.int8, (3, 3, 8, 10))], WINDOW,
        ("r0", "a0", "a1", "window"),
    ),
    "attention": Call(of(OUT, STATISTICS), ATTENDED, ATTENTION, ("low", "interleaved")),
    "attention_grad": Call(
        of(HEADS, KEYS, VALUES), [*ATTENDED, *of(STATISTICS, OUT)], ATTENTION,
        ("low", "interleaved"),
    ),
    "layer_norm": Call(
        of((4, 20), (4, 1), (4, 1)), of((4, 20), (20,), (20,)),
        {"epsilon": np.float32(0.1), **ints(uses=3)}, ("uses", "epsilon"),
    ),
    "layer_norm_grad": Call(
        of((4, 20), (20,), (20,)), of((4, 20), (4, 1), (4, 1), (20,), (4, 20), (4, 20)),
        ints(uses=5), ("uses",),
    ),
    "special": Call(of((3, 5)), of((3, 5), (3, 5)), ints(number=25), ("number",)),
    "top": Call([(FLOAT, (3, 2)), (LONG, (3, 2))], of((3, 7)), {}, ("a0",)),
    "among": Call(
        [(FLAG, (3,))], [*of((3, 7)), (LONG, (3,)), (LONG, ())], {}, ("a0", "a1")
    ),
    "extreme": Call([(LONG, (3,))], of((3, 7)), flags(least=True), ("a0", "least")),
    "nth": Call(of((3,)), of((3, 7)), {"place": np.int64(2)}, ("a0", "place")),
    "outside": Call(
        [(LONG, ())], [(np.int32, (5, 2))], {"sizes": np.array([3, 4], LONG), **flags(below=False)},
        ("a0", "below"),
    ),
    "put": Call(
        [(FLOAT, (3, 4)), (LONG, ()), (LONG, ())], [(np.int32, (5, 2)), *of((5,), ())],
        flags(rising=True), ("r0", "a1", "rising"),
    ),
    "taken": Call(
        [(FLOAT, (5, 2)), (LONG, ())], [(FLOAT, (3, 4, 2)), (LONG, (5, 2))], {}, ("a0", "a1")
    ),
    "combined": Call(
        [(FLOAT, (5, 2)), (LONG, ())], [(FLOAT, (5, 2)), (LONG, (3, 1)), (FLOAT, (3, 2))],
        {"operation": np.int64(0), "order": np.int64(2)}, ("a1",),
    ),
    "sparse_product": Call(
        [(FLOAT, (4, 5)), (LONG, ())], [(LONG, (3, 2)), (FLOAT, (3,)), (FLOAT, (2, 5))],
        flags(turned=False), ("a0", "r0", "a2", "turned"),
    ),
    "truncated": Call(
        of((5, 4)), [(np.uint64, (3,))], {"reserved": np.int64(FEW)}, ("r0", "reserved")
    ),
    "order": Call([(LONG, (5,))], [(np.uint64, (3,))], {}, ("a0", "r0")),
    "tridiagonal_product": Call(of((3, 4, 2)), of((3, 4), (3, 4), (3, 4), (3, 4, 2))),
}  # fmt: skip
REPEATS = {"product", "dot_product", "attention", "attention_grad"}  # leading axes, if they are 1
PROGRAMS = {"recurrence", "update"}  # test_native_programs.py


def made(function, call):
    """Makes a call of ones."""
    results = [result(shape, dtype) for dtype, shape in call.results]
    arrays = [np.ones(shape, dtype) for dtype, shape in call.arguments]
    with jax.enable_x64(True):
        return compiled(function, results, *arrays, **call.attrs)()


def refused(function, call):
    """The error of a call; None where it is taken."""
    try:
        made(function, call)
    except jax.errors.JaxRuntimeError as error:
        return str(error)
    return None


def other_shapes(shape):
    """One size more or less along each axis, none, one axis more and one less."""
    for axis, size in enumerate(shape):
        for other in (size + 1, size - 1, 0):
            yield (*shape[:axis], other, *shape[axis + 1 :])
    yield (1, *shape)
    if shape:
        yield shape[1:]
        yield shape[:-1]


def changes(call, kind):
    """Calls with one array changed, and its name."""
    arrays = call.results if kind == "r" else call.arguments
    where = "results" if kind == "r" else "arguments"
    for number, (dtype, shape) in enumerate(arrays):
        others = [(dtype, other) for other in other_shapes(shape)]
        others += [(other, shape) for other in (np.float64, np.int32, np.int16) if other != dtype]
        for other in others:
            changed = [*arrays[:number], other, *arrays[number + 1 :]]
            yield f"{kind}{number}", other, dataclasses.replace(call, **{where: changed})


def test_every_function_has_a_call():
    assert set(CALLS) | PROGRAMS == set(native.FUNCTIONS)


@pytest.mark.parametrize("function", CALLS)
def test_the_call_is_right(function):
    if function.startswith("dot") and not native.dot_available():
        pytest.skip("no products of bfloat16 and bytes here")
    for found, (dtype, shape) in zip(
        made(function, CALLS[function]), CALLS[function].results, strict=True
    ):
        assert (found.dtype, found.shape) == (np.dtype(dtype), shape)


@pytest.mark.parametrize("kind", ["r", "a"])
@pytest.mark.parametrize("function", CALLS)
def test_other_sizes_ranks_and_dtypes_are_refused(function, kind):
    """But for axes of 1, which change no place in memory, and where XLA has nothing to call for."""
    call = CALLS[function]
    for name, (dtype, shape), changed in changes(call, kind):
        error = refused(function, changed)
        kept, before = (call.results if kind == "r" else call.arguments)[int(name[1:])]
        if error is not None:
            continue
        alike = [n for n in shape if n != 1] == [n for n in before if n != 1]
        leads = function in REPEATS and shape[-2:] == before[-2:]
        assert name in call.free or (dtype == kept and (alike or leads or 0 in shape)), (
            name,
            shape,
        )
        assert dtype is not np.int16


NUMBERS = (-(2**31), -1, 3, 9, 100, 2**31 - 1)


@pytest.mark.parametrize("function", CALLS)
def test_other_attributes_are_refused(function):
    call = CALLS[function]
    for name, value in call.attrs.items():
        others = [np.float64(1), np.array([1], value.dtype)]  # of another type: never taken
        if value.ndim:
            others = [value[:-1], np.append(value, 1), value.astype(np.int32)]
        for other in others:
            changed = dataclasses.replace(call, attrs={**call.attrs, name: other})
            assert refused(function, changed) is not None, (name, other)
        for number in NUMBERS if value.dtype == np.int32 else ():
            changed = dataclasses.replace(call, attrs={**call.attrs, name: np.int32(number)})
            assert refused(function, changed) is not None or name in call.free, (name, number)


@pytest.mark.parametrize("function", [name for name in CALLS if "window" in CALLS[name].attrs])
def test_windows_out_of_bounds_are_refused(function):
    """Strides and sizes of zero, pads below it, and what would need more memory than there is."""
    call = CALLS[function]
    for place in range(len(call.attrs["window"])):
        for other in (-1, 2**31, 2**62, -(2**63), *([0] if place < 4 else [])):
            numbers = call.attrs["window"].copy()
            numbers[place] = other
            error = refused(
                function, dataclasses.replace(call, attrs={**call.attrs, "window": numbers})
            )
            assert error is not None, (place, other)
            assert "a call of a native kernel lacks" in error


def test_an_error_says_what_is_lacking():
    call = CALLS["product"]
    changed = dataclasses.replace(call, arguments=of((2, 4, 5), (2, 4, 6)))
    assert "a product's rows, columns and sums that fit" in refused("product", changed)
