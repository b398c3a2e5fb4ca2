"""Whole variables, and rows by optimizers' rules, are updated where they are: nobody else looks."""

import numpy as np
import pytest

import penstock as tf
from penstock.core.resources import VariableCell
from penstock.ops.optimizer_rules import RULES

SHAPE = (100, 1000)  # more than what is small work
SPARSE = sorted(name for name, rule in RULES.items() if rule.sparse)


def made(shape=SHAPE, dtype=tf.float32):
    return tf.Variable(tf.constant(2, dtype, shape))


def address(variable):
    array = variable._cell.value
    assert isinstance(array, np.ndarray)
    return array.ctypes.data


def rule_call(name, sparse, grad, shape=SHAPE, dtype=tf.float32, **more):
    """The variables of an optimizer's operation, and a function that runs it."""
    rule, kind = RULES[name], "SparseApply" if sparse else "Apply"
    names = rule.sparse_inputs() if sparse else rule.dense_inputs()
    variables = {n: made(shape, dtype) for n in rule.slots.split()}
    given = {n: v.handle for n, v in variables.items()}
    for n in names:
        if n == "global_step":
            given[n] = tf.constant(3, tf.int64)
        elif n not in given and n not in ("grad", "delta", "indices"):
            given[n] = tf.constant(0.25 if n != "lr_power" else -0.5, dtype)
    given["delta" if "delta" in names else "grad"] = grad
    operation = getattr(tf.raw_ops, f"Resource{kind}{name}")
    return list(variables.values()), lambda: operation(**given, **more)


@pytest.mark.parametrize(("method", "wanted"), [("assign_add", 5), ("assign_sub", -1)])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int64, tf.bfloat16])
def test_sums_are_written_over_the_variable(method, wanted, dtype):
    variable = made((10, 10), dtype)
    place = address(variable)
    getattr(variable, method)(tf.constant(3, dtype, (10, 10)))
    assert address(variable) == place
    assert (variable.numpy() == wanted).all()


@pytest.mark.parametrize("method", ["assign_add", "assign_sub"])
def test_large_sums_too(method):
    variable = made()
    place = address(variable)
    kept = []
    for _ in range(3):
        getattr(variable, method)(tf.ones(SHAPE))
        kept.append(np.empty(SHAPE, np.float32))  # takes the place of an array that was given up
        assert address(variable) == place
    assert (variable.numpy() == (5 if method == "assign_add" else -1)).all()


def test_a_variable_is_added_to_itself():
    variable = made()
    variable.assign_add(variable)
    assert (variable.numpy() == 4).all()
    half = made((10,))
    half.assign_add(tf.reverse(half, [0]) + half[:1])
    assert (half.numpy() == 6).all()


@pytest.mark.parametrize("name", ["GradientDescent", "Adam", "Ftrl"])
def test_rules_are_written_over_the_variables(name):
    variables, run = rule_call(name, False, tf.ones(SHAPE), **_flags(name))
    places = [address(v) for v in variables]
    run()
    assert [address(v) for v in variables] == places
    assert not (variables[0].numpy() == 2).any()


def _flags(name):
    return {"use_nesterov": True} if "use_nesterov" in RULES[name].attrs else {}


def test_what_was_read_before_stays():
    grad = tf.ones(SHAPE)
    (_variable, slot), run = rule_call("Momentum", False, grad)
    held = slot.read_value()
    run()
    assert (held.numpy() == 2).all()
    assert not (slot.numpy() == 2).any()
    total = made()
    before = total.read_value()
    total.assign_add(grad)
    assert (before.numpy() == 2).all()
    assert (total.numpy() == 3).all()


def test_one_variable_in_two_places_is_copied():
    variable = made()
    tf.raw_ops.ResourceApplyMomentum(
        var=variable.handle, accum=variable.handle, lr=tf.constant(0.5), grad=tf.ones(SHAPE),
        momentum=tf.constant(0.5),
    )  # fmt: skip
    assert (variable.numpy() == 2).all()  # the second result: 2 * 0.5 + 1


@pytest.mark.parametrize("name", SPARSE)
def test_rows_are_written_where_they_are(name):
    grad = tf.ones((3, SHAPE[1]))
    ids = tf.constant([7, 0, 7])
    variables, run = rule_call(name, True, grad, indices=ids, **_flags(name))
    places = [address(v) for v in variables]
    run()
    assert [address(v) for v in variables] == places
    changed = np.flatnonzero((variables[0].numpy() != 2).any(1))
    assert set(changed) <= {0, 7}
    assert (variables[0].numpy()[8:] == 2).all()


@pytest.mark.parametrize("name", SPARSE)
def test_rows_by_numpy_are_the_library_s(name, monkeypatch):
    grad = tf.constant(np.random.default_rng(0).normal(size=(3, SHAPE[1])), tf.float32)
    found = []
    for switch in ("1", "0"):
        monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", switch)
        variables, run = rule_call(name, True, grad, indices=tf.constant([7, 0, 7]), **_flags(name))
        places = [address(v) for v in variables]
        run()
        assert [address(v) for v in variables] == places
        found.append([v.numpy() for v in variables])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_row_that_is_not_there_changes_nothing():
    grad = tf.ones((2, SHAPE[1]))
    variables, run = rule_call("Adagrad", True, grad, indices=tf.constant([1, 100]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"100 is not in \[0, 100\)"):
        run()
    assert all((v.numpy() == 2).all() for v in variables)


def test_a_sum_of_another_shape_changes_nothing():
    variable = made((3,))
    assert isinstance(variable._cell, VariableCell)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.raw_ops.AssignAddVariableOp(resource=variable.handle, value=tf.ones((1, 3)))
    assert (variable.numpy() == 2).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("size", [10, 1 << 18, (1 << 18) + 1, 1_000_001])
def test_sums_of_few_and_of_many_numbers_are_numpys(size, dtype):
    draw = np.random.default_rng(1)
    first, more = ((draw.standard_normal(size) * 100).astype(dtype) for _ in range(2))
    variable = tf.Variable(first)
    variable.assign_add(more, read_value=False)  # the first array is the caller's
    variable.assign_add(more, read_value=False)
    np.testing.assert_array_equal(variable.numpy(), first + more + more)
    variable.assign_sub(more, read_value=False)
    variable.assign_sub(more, read_value=False)
    np.testing.assert_array_equal(variable.numpy(), first + more + more - more - more)
