"""The optimizers' update operations against their textbook formulas, row by row, in every mode."""

import numpy as np
import pytest
from tests.ops.variables_helper import MODES, run_op

import penstock as tf
from penstock import errors
from penstock.ops.optimizer_rules import RULES
from penstock.ops.state_optimizers import APPLY, SPARSE_APPLY

RNG = np.random.default_rng(5)
HYPER = {
    "alpha": 0.1, "lr": 0.3, "l1": 0.2, "l2": 0.1, "l2_shrinkage": 0.15, "lr_power": -0.4,
    "momentum": 0.9, "rho": 0.8, "epsilon": 1e-3, "beta1_power": 0.9, "beta2_power": 0.99,
    "beta1": 0.9, "beta2": 0.95, "beta": 0.8, "sign_decay": 0.7, "logbase": 1.1, "global_step": 3,
}  # fmt: skip


def shrink(x, rate, h):
    return np.sign(x) * np.maximum(np.abs(x) - rate * h["l1"], 0) / (1 + h["l2"] * rate)


def descent(g, var, h, a):
    return [var - h["alpha"] * g]


def proximal(g, var, h, a):
    return [shrink(var - h["alpha"] * g, h["alpha"], h)]


def momentum(g, var, accum, h, a):
    accum = h["momentum"] * accum + g
    look_ahead = g + h["momentum"] * accum if a["use_nesterov"] else accum
    return [var - h["lr"] * look_ahead, accum]


def keras_momentum(g, var, accum, h, a):
    accum = h["momentum"] * accum - h["lr"] * g
    return [var + (h["momentum"] * accum - h["lr"] * g if a["use_nesterov"] else accum), accum]


def adagrad(g, var, accum, h, a):
    accum = accum + g**2 if a["update_slots"] else accum
    return [var - h["lr"] * g / np.sqrt(accum), accum]


def adagrad_v2(g, var, accum, h, a):
    accum = accum + g**2 if a["update_slots"] else accum
    return [var - h["lr"] * g / (np.sqrt(accum) + h["epsilon"]), accum]


def proximal_adagrad(g, var, accum, h, a):
    accum = accum + g**2
    rate = h["lr"] / np.sqrt(accum)
    return [shrink(var - rate * g, rate, h), accum]


def adadelta(g, var, accum, accum_update, h, a):
    rho, eps = h["rho"], h["epsilon"]
    accum = rho * accum + (1 - rho) * g**2
    step = np.sqrt((accum_update + eps) / (accum + eps)) * g
    return [var - h["lr"] * step, accum, rho * accum_update + (1 - rho) * step**2]


def rms_prop(g, var, ms, mom, h, a):
    ms = h["rho"] * ms + (1 - h["rho"]) * g**2
    mom = h["momentum"] * mom + h["lr"] * g / np.sqrt(ms + h["epsilon"])
    return [var - mom, ms, mom]


def centered_rms_prop(g, var, mg, ms, mom, h, a):
    ms = h["rho"] * ms + (1 - h["rho"]) * g**2
    mg = h["rho"] * mg + (1 - h["rho"]) * g
    mom = h["momentum"] * mom + h["lr"] * g / np.sqrt(ms - mg**2 + h["epsilon"])
    return [var - mom, mg, ms, mom]


def ftrl(g, var, accum, linear, h, a):
    new, power = accum + g**2, -h["lr_power"]
    step = g + 2 * h.get("l2_shrinkage", 0.0) * var
    sigma = (new**power - accum**power) / h["lr"]
    if a["multiply_linear_by_lr"]:
        linear = (linear / h["lr"] + step - sigma * var) * h["lr"]
        unscaled = linear / h["lr"]
    else:
        linear = unscaled = linear + step - sigma * var
    quadratic = new**power / h["lr"] + 2 * h["l2"]
    kept = (np.sign(unscaled) * h["l1"] - unscaled) / quadratic
    return [np.where(np.abs(unscaled) > h["l1"], kept, 0.0), new, linear]


def adam_rate(h):
    return h["lr"] * np.sqrt(1 - h["beta2_power"]) / (1 - h["beta1_power"])


def adam(g, var, m, v, h, a):
    m = h["beta1"] * m + (1 - h["beta1"]) * g
    v = h["beta2"] * v + (1 - h["beta2"]) * g**2
    mean = h["beta1"] * m + (1 - h["beta1"]) * g if a["use_nesterov"] else m
    return [var - adam_rate(h) * mean / (np.sqrt(v) + h["epsilon"]), m, v]


def amsgrad(g, var, m, v, vhat, h, a):
    _, m, v = adam(g, var, m, v, h, {"use_nesterov": False})
    vhat = np.maximum(v, vhat)
    return [var - adam_rate(h) * m / (np.sqrt(vhat) + h["epsilon"]), m, v, vhat]


def ada_max(g, var, m, v, h, a):
    m = h["beta1"] * m + (1 - h["beta1"]) * g
    v = np.maximum(h["beta2"] * v, np.abs(g))
    return [var - h["lr"] / (1 - h["beta1_power"]) * m / (v + h["epsilon"]), m, v]


def adagrad_da(g, var, total, squares, h, a):
    total, squares = total + g, squares + g**2
    bound = h["l1"] * h["global_step"]
    pull = h["l2"] * h["global_step"] + np.sqrt(squares) / h["lr"]
    return [
        np.where(np.abs(total) > bound, np.sign(total) * bound - total, 0) / pull,
        total,
        squares,
    ]


def add_sign(g, var, m, h, a):
    m = h["beta"] * m + (1 - h["beta"]) * g
    return [var - h["lr"] * g * (h["alpha"] + h["sign_decay"] * np.sign(g * m)), m]


def power_sign(g, var, m, h, a):
    m = h["beta"] * m + (1 - h["beta"]) * g
    return [var - h["lr"] * g * np.exp(h["logbase"] * h["sign_decay"]) ** np.sign(g * m), m]


REFERENCE = {
    "GradientDescent": descent, "ProximalGradientDescent": proximal, "Momentum": momentum,
    "KerasMomentum": keras_momentum, "Adagrad": adagrad, "AdagradV2": adagrad_v2,
    "ProximalAdagrad": proximal_adagrad, "Adadelta": adadelta, "RMSProp": rms_prop,
    "CenteredRMSProp": centered_rms_prop, "Ftrl": ftrl, "FtrlV2": ftrl, "Adam": adam,
    "AdamWithAmsgrad": amsgrad, "AdaMax": ada_max, "AdagradDA": adagrad_da, "AddSign": add_sign,
    "PowerSign": power_sign,
}  # fmt: skip
FLAGS = ("use_nesterov", "update_slots", "multiply_linear_by_lr")


def cases():
    for name in RULES:
        for table, sparse in ((APPLY, False), (SPARSE_APPLY, True)):
            if name in table:
                flags = [f for f in FLAGS if f in table[name].attrs]
                for value in (False, True) if flags else (None,):
                    yield pytest.param(
                        name, sparse, dict.fromkeys(flags, value), id=f"{table[name].name}-{value}"
                    )


def draw(op, rows, dtype="float32", dims=(5, 3)):
    """Slots and inputs of an operation; slots that hold squares are positive."""
    slots, values = {}, {}
    for arg in op.inputs:
        if arg.name in op.effects:
            positive = arg.name in (
                "accum", "accum_update", "ms", "v", "vhat", "gradient_squared_accumulator",
            )  # fmt: skip
            drawn = (
                RNG.uniform(0.2, 2.0, dims) + (arg.name == "ms") * 2
                if positive
                else RNG.normal(size=dims)
            )
            scale = (
                0.3 if arg.name == "mg" else 1.0
            )  # a mean is smaller than the root of its squares
            slots[arg.name] = (scale * drawn).astype(dtype)
        elif arg.name in ("grad", "delta"):
            height = dims[0] if rows is None else len(rows)
            values[arg.name] = RNG.normal(size=(height, dims[1])).astype(dtype)
        elif arg.name == "indices":
            values[arg.name] = np.int32(rows)
        else:
            own = np.int64 if arg.name == "global_step" else dtype
            values[arg.name] = np.asarray(HYPER[arg.name], own)
    return slots, values


def expected(name, slots, values, attrs, rows):
    state = {n: v.astype(np.float64) for n, v in slots.items()}
    hyper = {n: HYPER[n] for n in values if n in HYPER}
    grad = values["delta" if "delta" in values else "grad"].astype(np.float64)
    for i in [None] if rows is None else range(len(rows)):
        at = slice(None) if i is None else rows[i]
        g = grad if i is None else grad[i]
        new = REFERENCE[name](g, *(s[at] for s in state.values()), hyper, attrs)
        for slot, value in zip(state.values(), new, strict=True):
            slot[at] = value
    return state


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "sparse", "attrs"), list(cases()))
def test_rule(name, sparse, attrs, mode):
    """Rows named twice are updated twice; other rows keep their values exactly."""
    rows = [3, 0, 3, 1] if sparse else None
    op = (SPARSE_APPLY if sparse else APPLY)[name]
    slots, values = draw(op, rows)
    got, _ = run_op(op.name, slots, values, attrs, mode)
    for slot, value in expected(name, slots, values, attrs, rows).items():
        np.testing.assert_allclose(got[slot], value, 2e-5, 2e-6, err_msg=slot)
        if sparse:
            np.testing.assert_array_equal(got[slot][[2, 4]], slots[slot][[2, 4]], err_msg=slot)


@pytest.mark.parametrize("name", sorted(SPARSE_APPLY))
def test_constant_rows_of_functions_that_must_compile(name):
    """What a function names itself are arrays of NumPy while it is traced."""
    op, rows = SPARSE_APPLY[name], [3, 0, 3, 1]
    slots, values = draw(op, rows)
    attrs = {f: f == "update_slots" for f in FLAGS if f in op.attrs}
    variables = {n: tf.Variable(v) for n, v in slots.items()}

    @tf.function(jit_compile=True)
    def step():
        getattr(tf.raw_ops, op.name)(
            **{n: v.handle for n, v in variables.items()}, **values, **attrs
        )

    step()
    for slot, value in expected(name, slots, values, attrs, rows).items():
        np.testing.assert_allclose(variables[slot].numpy(), value, 2e-5, 2e-6, err_msg=slot)


@pytest.mark.parametrize("mode", MODES)
def test_no_rows_change_nothing(mode):
    op = SPARSE_APPLY["RMSProp"]
    slots, values = draw(op, [])
    got, _ = run_op(op.name, slots, values, {}, mode)
    for name, value in slots.items():
        np.testing.assert_array_equal(got[name], value)


@pytest.mark.parametrize("name", sorted(n for n, r in RULES.items() if r.sparse))
@pytest.mark.parametrize("rows", [0, 2])
def test_rows_without_elements(name, rows):
    """TensorFlow refuses them for these rules, also where there is no index."""
    update, refused = RULES[name], name.startswith(("Adagrad", "Ftrl", "Proximal"))
    slots = update.slots.split()
    given = {n: HYPER[n] for n in update.sparse_inputs() if n in HYPER}
    given |= {"grad": np.zeros((rows, 0), np.float32), "indices": np.arange(rows)}
    variables = {n: tf.Variable(np.zeros((3, 0), np.float32)) for n in slots}
    op = getattr(tf.raw_ops, f"ResourceSparseApply{name}")

    def step():
        op(**{n: v.handle for n, v in variables.items()}, **given)

    for way in (step, tf.function(step)):
        if refused:
            with pytest.raises(errors.InvalidArgumentError, match="should be greater than zero"):
                way()
        else:
            way()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("row", [-1, 5])
def test_a_bad_row_leaves_every_slot_alone(mode, row):
    op = SPARSE_APPLY["Momentum"]
    slots, values = draw(op, [0, row])
    with pytest.raises(
        errors.InvalidArgumentError, match=rf"indices\[1\] = {row} is not in \[0, 5\)"
    ):
        run_op(op.name, slots, values, {}, mode)


@pytest.mark.parametrize("mode", ["host", "in place"])
def test_slots_of_another_shape_are_refused(mode):
    slots, values = draw(APPLY["Momentum"], None)
    with pytest.raises(errors.InvalidArgumentError, match=r"\(5, 3\) and \(4, 3\)"):
        run_op("ResourceApplyMomentum", {**slots, "accum": slots["accum"][:4]}, values, {}, mode)
    with pytest.raises(errors.InvalidArgumentError, match=r"\(5, 3\) and \(2, 3\)"):
        run_op("ResourceApplyMomentum", slots, {**values, "grad": values["grad"][:2]}, {}, mode)
    with pytest.raises(errors.InvalidArgumentError, match="lr of rank 0"):
        run_op("ResourceApplyMomentum", slots, {**values, "lr": np.ones(2, np.float32)}, {}, mode)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
@pytest.mark.parametrize("sparse", [False, True])
def test_slots_of_another_dtype_are_refused(dtype, sparse):
    op = (SPARSE_APPLY if sparse else APPLY)["Momentum"]
    slots, values = draw(op, [1] if sparse else None)
    with pytest.raises(errors.InvalidArgumentError, match=f"accum must .* float32, got {dtype}"):
        run_op(op.name, {**slots, "accum": slots["accum"].astype(dtype)}, values, {}, "host")


@pytest.mark.parametrize("mode", ["host", "compiled"])
@pytest.mark.parametrize(
    ("op", "scalar", "wrong", "least"),
    [
        ("ResourceApplyProximalAdagrad", "lr", 0.0, "> 0"),
        ("ResourceApplyProximalAdagrad", "l2", np.nan, ">= 0"),
        ("ResourceSparseApplyProximalAdagrad", "l1", -1.0, ">= 0"),
        ("ResourceSparseApplyFtrl", "lr", 0.0, "> 0"),
        ("ResourceSparseApplyFtrl", "lr_power", 0.5, "<= 0"),
        ("ResourceSparseApplyFtrlV2", "l2_shrinkage", -1.0, ">= 0"),
    ],
)
def test_scalars_out_of_range_fail_the_step(op, scalar, wrong, least, mode):
    sparse = "Sparse" in op
    name = op.removeprefix("ResourceSparseApply").removeprefix("ResourceApply")
    slots, values = draw((SPARSE_APPLY if sparse else APPLY)[name], [0, 2] if sparse else None)
    values = {**values, scalar: np.float32(wrong)}
    attrs = {"multiply_linear_by_lr": False} if "Ftrl" in op else {}
    with pytest.raises(errors.InvalidArgumentError, match=f"expected {scalar} {least}, got"):
        run_op(op, slots, values, attrs, mode)


def test_a_compiled_update_with_a_scalar_out_of_range_changes_nothing():
    var, accum = tf.Variable(tf.ones([3000])), tf.Variable(tf.ones([3000]))

    @tf.function
    def update(lr):
        tf.raw_ops.ResourceApplyProximalAdagrad(
            var=var.handle, accum=accum.handle, lr=lr, l1=0.0, l2=0.0, grad=tf.ones([3000])
        )

    for _ in range(2):  # the second time it is compiled
        with pytest.raises(errors.InvalidArgumentError, match=r"expected lr > 0, got -1.0"):
            update(tf.constant(-1.0))
    assert np.all(var.numpy() == 1)
    assert np.all(accum.numpy() == 1)
    update(tf.constant(1.0))
    np.testing.assert_array_equal(accum, np.full(3000, 2))


@pytest.mark.parametrize("mode", ["host", "compiled"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["AdaMax", "AdamWithAmsgrad"])
def test_the_largest_one_so_far_passes_over_nan(name, dtype, mode):
    """The slot keeps what it holds where the gradient is NaN, and its own NaN, as TensorFlow's."""
    held = np.array([1, 0.0, np.inf, -np.inf, np.nan, np.nan, 1, -0.0], dtype)
    grad = np.array([np.nan, np.nan, np.nan, np.nan, 1, np.inf, -np.inf, 0], dtype)
    slots, values = draw(APPLY[name], None, dtype, dims=(1, 8))
    slot, beta2 = ("v", values["beta2"]) if name == "AdaMax" else ("vhat", 1)
    slots[slot], values["grad"] = held[None], grad[None]
    got, _ = run_op(f"ResourceApply{name}", slots, values, {}, mode)
    want = (held * beta2).astype(dtype)
    want[6] = np.inf
    if name == "AdamWithAmsgrad":
        want[7] = got["v"][0, 7]
    np.testing.assert_array_equal(got[slot][0], want)
    np.testing.assert_array_equal(np.signbit(got[slot][0]), np.signbit(want))
    assert np.isnan(got["m"][0, :4]).all()


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", ["Adam", "Ftrl", "AdagradDA", "PowerSign"])
def test_other_floats_keep_their_dtype(name, dtype):
    slots, values = draw(APPLY[name], None, dtype)
    flags = {"Adam": "use_nesterov", "Ftrl": "multiply_linear_by_lr"}
    attrs = {flags[name]: False} if name in flags else {}
    for mode in ("host", "compiled"):
        got, _ = run_op(f"ResourceApply{name}", slots, values, attrs, mode)
        for slot, value in expected(name, slots, values, attrs, None).items():
            assert got[slot].dtype == dtype
            tolerance = 2e-2 if dtype == "float16" else 1e-12
            np.testing.assert_allclose(got[slot], value, tolerance, tolerance)


def test_what_a_compiled_step_wrote_is_updated_on_the_host_in_its_own_dtype():
    """Arrays of JAX compute in float32 outside of compiled code."""
    values = np.array([np.pi, 1 / 3])
    variable = tf.Variable(values)
    tf.function(lambda: variable.assign(variable * 1.5), jit_compile=True)()
    third = tf.constant([1 / 3, 1 / 3], tf.float64)
    alpha = tf.constant(0.1, tf.float64)
    tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=alpha, delta=third)
    np.testing.assert_allclose(variable.numpy(), values * 1.5 - 0.1 / 3, rtol=1e-15)


@pytest.mark.parametrize("name", ["Adagrad", "Momentum"])
def test_many_wide_rows_take_their_turns_in_a_compiled_step(name):
    """More rows than are updated together, and some of them named several times."""
    op, height, width = SPARSE_APPLY[name], 50, 3000
    rows = np.concatenate([RNG.permutation(height), RNG.integers(height, size=90)]).tolist()
    slots, values = draw(op, rows, dims=(height, width))
    got, _ = run_op(op.name, slots, values, {}, "compiled")
    attrs = {n: a.default for n, a in op.attrs.items()}
    for slot, value in expected(name, slots, values, attrs, rows).items():
        np.testing.assert_allclose(got[slot], value, 2e-5, 2e-5, err_msg=slot)
