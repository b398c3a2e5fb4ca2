"""Rules of optimizers in the native library: the same bits as NumPy's, row after row."""

import itertools

import numpy as np
import pytest

from penstock.core import native_arrays, native_rules
from penstock.ops.optimizer_programs import Programs
from penstock.ops.optimizer_rules import RULES, UpdateRule

pytestmark = pytest.mark.skipif(
    not native_arrays.LIBRARY.is_in_use(), reason="the native library was not built"
)


def _attributes(update: UpdateRule) -> list[dict[str, bool]]:
    names = [part.split(":")[0].strip() for part in update.attrs.split(",")[1:]]
    return [
        dict(zip(names, values, strict=True))
        for values in itertools.product([False, True], repeat=len(names))
    ]


def _hyper(update: UpdateRule, dtype: type, draw: np.random.Generator) -> dict[str, np.ndarray]:
    names = [n for n in update.inputs.split() if n not in ("grad", "delta")]
    hyper = {n: np.asarray(draw.uniform(0.05, 0.9), dtype) for n in names}
    if "lr_power" in hyper:
        hyper["lr_power"] = np.asarray(-0.5, dtype)
    if "global_step" in hyper:
        hyper["global_step"] = np.asarray(7, np.int64)
    return update.given(np, hyper)


def _values(update: UpdateRule, shape: tuple[int, ...], dtype: type, draw: np.random.Generator):
    """Slots that are often zero, and positive but for the first and the means."""
    slots = [
        abs(draw.standard_normal(shape)).astype(dtype) + dtype(0.1) for _ in update.slots.split()
    ]
    slots[0] *= draw.choice([-1, 0, 1], shape).astype(dtype)
    grad = draw.standard_normal(shape).astype(dtype) * draw.choice([0, 1], shape).astype(dtype)
    return slots, grad


def _updated(update, slots, grad, hyper, attrs, indices=None, threads=None):
    """New slots by the rule's program."""
    program, new = Programs(update).program(hyper, attrs), [s.copy() for s in slots]
    assert program is not None
    kind = native_rules.kind_served(grad.dtype)
    assert kind is not None
    values = native_rules.values_of(program, list(hyper.values()), grad.dtype)
    assert native_rules.update(program, kind, new, grad, values, indices, threads)
    return new


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(RULES.keys()))
def test_dense(name: str, dtype: type) -> None:
    update, draw = RULES[name], np.random.default_rng(1)
    for attrs, shape in itertools.product(_attributes(update), [(), (0,), (7,), (3, 211)]):
        slots, grad = _values(update, shape, dtype, draw)
        hyper = _hyper(update, dtype, draw)
        with np.errstate(all="ignore"):
            wanted = update.rule(np, tuple(slots), grad, hyper, attrs)
        found = _updated(update, slots, grad, hyper, attrs)
        for a, b in zip(found, wanted, strict=True):
            assert a.dtype == dtype
            np.testing.assert_array_equal(a.tobytes(), np.asarray(b, dtype).tobytes())


@pytest.mark.parametrize("wide", [np.int32, np.int64])
@pytest.mark.parametrize("name", sorted(n for n, u in RULES.items() if u.sparse))
def test_rows_in_turn(name: str, wide: type) -> None:
    update, draw = RULES[name], np.random.default_rng(2)
    slots, _ = _values(update, (5, 300), np.float32, draw)
    _, grad = _values(update, (4, 300), np.float32, draw)
    indices = np.array([3, 0, 3, 3], wide)
    for attrs in _attributes(update):
        hyper, wanted = _hyper(update, np.float32, draw), [s.copy() for s in slots]
        for row, each in zip(indices, grad, strict=True):
            with np.errstate(all="ignore"):
                new = update.rule(np, tuple([w[row] for w in wanted]), each, hyper, attrs)
            for array, value in zip(wanted, new, strict=True):
                array[row] = value
        found = _updated(update, slots, grad, hyper, attrs, indices)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a.tobytes(), b.tobytes())


def test_other_powers_are_left_to_numpy() -> None:
    update, draw = RULES["Ftrl"], np.random.default_rng(3)
    hyper = _hyper(update, np.float32, draw) | {"lr_power": np.float32(-0.4)}
    assert Programs(update).program(hyper, {"multiply_linear_by_lr": False}) is None


@pytest.mark.parametrize("decay", [0.7, -0.7])
def test_powers_are_those_of_each_number(decay: float) -> None:
    """Where signs agree, where they do not, and where one is 0 or NaN."""
    update = RULES["PowerSign"]
    numbers = {"lr": 0.5, "logbase": 0.9, "sign_decay": decay, "beta": 0.8}
    hyper = {n: np.float32(v) for n, v in numbers.items()}
    grad = np.array([2, -2, 0, 3, np.nan, 1], np.float32)
    var, m = np.ones(6, np.float32), np.array([5, 7, 1, -9, 2, np.nan], np.float32)
    mean = m * hyper["beta"] + grad * (1 - hyper["beta"])
    power = np.exp(hyper["logbase"] * (hyper["sign_decay"] * np.sign(grad) * np.sign(mean)))
    found = update.rule(np, (var, m), grad, update.given(np, hyper), {})
    for a, b in zip(found, (var - hyper["lr"] * power * grad, mean), strict=True):
        np.testing.assert_array_equal(a.tobytes(), b.tobytes())


def test_what_has_no_program() -> None:
    assert native_rules.kind_served(np.dtype(np.float16)) is None


def test_threads_share_columns() -> None:
    """Adam's 19 steps make a share of 55,189 numbers, so there is one for each of the threads."""
    update, draw, attrs = RULES["Adam"], np.random.default_rng(5), {"use_nesterov": False}
    hyper = _hyper(update, np.float32, draw)
    slots, grad = _values(update, (300_001,), np.float32, draw)
    wanted = update.rule(np, tuple(slots), grad, hyper, attrs)
    found = _updated(update, slots, grad, hyper, attrs, threads=3)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    update = RULES["Momentum"]
    hyper = _hyper(update, np.float32, draw)
    slots, _ = _values(update, (3, 200_001), np.float32, draw)
    _, grad = _values(update, (4, 200_001), np.float32, draw)
    indices, now = np.array([2, 0, 2, 2]), [s.copy() for s in slots]
    for row, each in zip(indices, grad, strict=True):  # those that come twice are updated in turn
        new = update.rule(np, tuple([n[row] for n in now]), each, hyper, attrs)
        for array, value in zip(now, new, strict=True):
            array[row] = value
    found = _updated(update, slots, grad, hyper, attrs, indices, threads=3)
    for a, b in zip(found, now, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("outside", [-1, 3])
def test_an_index_outside_leaves_all_as_it_is(outside: int) -> None:
    update, draw = RULES["Adagrad"], np.random.default_rng(6)
    slots, _ = _values(update, (3, 5), np.float32, draw)
    _, grad = _values(update, (2, 5), np.float32, draw)
    program = Programs(update).program({"lr": np.float32(1)}, {"update_slots": True})
    assert program is not None
    values = native_rules.values_of(program, [np.float32(1)], grad.dtype)
    new = [s.copy() for s in slots]
    assert not native_rules.update(program, 0, new, grad, values, np.array([0, outside]))
    for a, b in zip(new, slots, strict=True):
        np.testing.assert_array_equal(a, b)
