"""The update rules of optimizers, dense and sparse.

A rule is a function `rule(xp, slots, grad, hyper, attrs)` of the values of the variable and its
slots, the gradient, the scalars by name and the attributes; it returns the new values in the same
order. Each rule makes two operations: `ResourceApplyX` updates whole variables,
`ResourceSparseApplyX` the rows that `indices` names, one after the other, so that a row named
twice is updated twice.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import HOST_LIMIT, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.state_scatter import check_rows
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray, jax.Array or a tracer
Hyper = dict[str, Array]  # the scalar inputs by name
Rule = Callable[[Any, tuple[Array, ...], Array, Hyper, dict[str, Any]], tuple[Array, ...]]


def _descend(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    (var,) = slots
    return (var - h["alpha"] * grad,)


def _proximal(xp: Any, value: Array, rate: Array, h: Hyper) -> Array:
    """What is left of `value` after shrinking by l1 and l2 at `rate`."""
    shrunk = (
        xp.sign(value) * xp.maximum(xp.abs(value) - rate * h["l1"], 0)
        if value.dtype.kind != "c"
        else value
    )
    return xp.where(h["l1"] > 0, shrunk, value) / (1 + h["l2"] * rate)


def _proximal_descend(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    (var,) = slots
    return (_proximal(xp, var - h["alpha"] * grad, h["alpha"], h),)


def _momentum(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, accum = slots
    accum = accum * h["momentum"] + grad
    if attrs["use_nesterov"]:
        return var - (grad * h["lr"] + accum * h["momentum"] * h["lr"]), accum
    return var - accum * h["lr"], accum


def _keras_momentum(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, accum = slots
    accum = accum * h["momentum"] - grad * h["lr"]
    if attrs["use_nesterov"]:
        return var + (accum * h["momentum"] - grad * h["lr"]), accum
    return var + accum, accum


def _adagrad(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, accum = slots
    accum = accum + grad * grad if attrs["update_slots"] else xp.copy(accum)
    return var - grad * h["lr"] / xp.sqrt(accum), accum


def _adagrad_v2(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, accum = slots
    accum = accum + grad * grad if attrs["update_slots"] else xp.copy(accum)
    return var - grad * h["lr"] / (xp.sqrt(accum) + h["epsilon"]), accum


def _proximal_adagrad(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, accum = slots
    accum = accum + grad * grad
    rate = h["lr"] / xp.sqrt(accum)
    return _proximal(xp, var - grad * rate, rate, h), accum


def _adadelta(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, accum, accum_update = slots
    rho, epsilon = h["rho"], h["epsilon"]
    accum = accum * rho + grad * grad * (1 - rho)
    update = xp.sqrt(accum_update + epsilon) / xp.sqrt(accum + epsilon) * grad
    return var - update * h["lr"], accum, accum_update * rho + update * update * (1 - rho)


def _rms_prop(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, ms, mom = slots
    ms = ms + (grad * grad - ms) * (1 - h["rho"])
    mom = mom * h["momentum"] + grad * h["lr"] / xp.sqrt(ms + h["epsilon"])
    return var - mom, ms, mom


def _centered_rms_prop(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, mg, ms, mom = slots
    ms = ms + (grad * grad - ms) * (1 - h["rho"])
    mg = mg + (grad - mg) * (1 - h["rho"])
    mom = mom * h["momentum"] + grad * h["lr"] / xp.sqrt(ms - mg * mg + h["epsilon"])
    return var - mom, mg, ms, mom


def _ftrl(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]) -> tuple[Array, ...]:
    var, accum, linear = slots
    lr, l1, power = h["lr"], h["l1"], -h["lr_power"]
    shrinkage = h.get("l2_shrinkage")
    step = grad if shrinkage is None else grad + 2 * shrinkage * var
    new = accum + grad * grad
    change = (new**power - accum**power) * var
    if attrs["multiply_linear_by_lr"]:
        linear = linear + step * lr - change
        quadratic, bound = new**power + 2 * h["l2"] * lr, l1 * lr
    else:
        linear = linear + step - change / lr
        quadratic, bound = new**power / lr + 2 * h["l2"], l1
    var = xp.where(
        xp.abs(linear) > bound,
        (xp.sign(linear) * bound - linear) / quadratic,
        xp.zeros_like(linear),
    )
    return var, new, linear


def _adam(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]) -> tuple[Array, ...]:
    var, m, v = slots
    rate = h["lr"] * xp.sqrt(1 - h["beta2_power"]) / (1 - h["beta1_power"])
    m = m + (grad - m) * (1 - h["beta1"])
    v = v + (grad * grad - v) * (1 - h["beta2"])
    mean = grad * (1 - h["beta1"]) + h["beta1"] * m if attrs["use_nesterov"] else m
    return var - mean * rate / (xp.sqrt(v) + h["epsilon"]), m, v


def _amsgrad(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, m, v, vhat = slots
    rate = h["lr"] * xp.sqrt(1 - h["beta2_power"]) / (1 - h["beta1_power"])
    m = m + (grad - m) * (1 - h["beta1"])
    v = v + (grad * grad - v) * (1 - h["beta2"])
    vhat = xp.maximum(vhat, v)
    return var - m * rate / (xp.sqrt(vhat) + h["epsilon"]), m, v, vhat


def _ada_max(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    var, m, v = slots
    m = m + (grad - m) * (1 - h["beta1"])
    v = xp.maximum(v * h["beta2"], xp.abs(grad))
    return var - h["lr"] / (1 - h["beta1_power"]) * (m / (v + h["epsilon"])), m, v


def _adagrad_da(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    """Duchi, Hazan, Singer, "Adaptive subgradient methods", 2011: regularised dual averaging.

    The weights follow from the sums alone; what they were before does not matter.
    """
    _, total, squares = slots
    total, squares = total + grad, squares + grad * grad
    lr, step = h["lr"], h["global_step"].astype(total.dtype)
    shrunk = xp.sign(total) * xp.maximum(xp.abs(total) - h["l1"] * step, 0)
    numerator = -lr * xp.where(h["l1"] > 0, shrunk, total)
    return numerator / (lr * h["l2"] * step + xp.sqrt(squares)), total, squares


def _agreement(xp: Any, m: Array, grad: Array, h: Hyper) -> tuple[Array, Array]:
    """The mean of gradients, and `sign_decay` with the sign of their agreement with this one."""
    m = m * h["beta"] + grad * (1 - h["beta"])
    return m, h["sign_decay"] * xp.sign(grad) * xp.sign(m)


def _add_sign(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    """Bello, Zoph, Vasudevan, Le, "Neural optimizer search", 2017; as is `_power_sign`."""
    m, agreement = _agreement(xp, slots[1], grad, h)
    return slots[0] - h["lr"] * (h["alpha"] + agreement) * grad, m


def _power_sign(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    m, agreement = _agreement(xp, slots[1], grad, h)
    return slots[0] - h["lr"] * xp.exp(h["logbase"] * agreement) * grad, m


# shapes
def _apply_shape(
    slots: tuple[str, ...], gradient: str, sparse: bool
) -> Callable[[ShapeContext], list[Dims]]:
    """Variable and slots have one shape, as has the gradient; the other inputs are scalars."""

    def rule(c: ShapeContext) -> list[Dims]:
        names = _input_names[c.op_name]
        held: Dims = None
        for i, name in enumerate(names):
            if name in slots:
                held = c.merge(held, c.variable_shape(i))
            elif name not in (gradient, "indices"):
                c.rank(i, 0, name)
        grad = c.shape(names.index(gradient))
        if not sparse:
            c.merge(held, grad)
            return []
        (count,) = c.rank(names.index("indices"), 1, "indices") or (None,)
        if (
            held is not None
            and grad is not None
            and (not held or not d.compatible(grad, (count, *held[1:])))
        ):
            c.fail(
                f"a gradient of shape {d.text((count, *held[1:]))}, one row for each index",
                f"shape {d.text(grad)}",
            )
        return []

    return rule


_input_names: dict[str, tuple[str, ...]] = {}


def _check_shapes(
    op_name: str, slots: tuple[str, ...], values: tuple[Array, ...], hyper: Hyper
) -> None:
    for name, value in zip(slots[1:], values[1:], strict=True):
        if value.shape != values[0].shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"var and {name} do not have the same shape {d.text(values[0].shape)} "
                f"{d.text(value.shape)}",
            )
    for name, value in hyper.items():
        if value.ndim:
            raise errors.InvalidArgumentError(
                None, None, f"{name} is not a scalar: {d.text(value.shape)}"
            )


# what TensorFlow checks when these run; their other forms take any number
_PENALTIES = {"lr": "> 0", "l1": ">= 0", "l2": ">= 0"}
_FTRL = {**_PENALTIES, "l2_shrinkage": ">= 0", "lr_power": "<= 0"}
_RANGES = {
    "ResourceApplyProximalAdagrad": _PENALTIES,
    "ResourceSparseApplyProximalAdagrad": _PENALTIES,
    "ResourceSparseApplyFtrl": _FTRL,
    "ResourceSparseApplyFtrlV2": _FTRL,
}
_COMPARISONS: dict[str, Callable[[Any], Any]] = {
    "> 0": lambda value: value > 0,
    ">= 0": lambda value: value >= 0,
    "<= 0": lambda value: value <= 0,
}


def _check_ranges(ctx: Any, op_name: str, hyper: Hyper) -> None:
    """Fails the step where a scalar is out of the range that `_RANGES` gives it, or NaN."""
    for name, comparison in _RANGES.get(op_name, {}).items():
        if name not in hyper:
            continue
        if name == "lr" and ctx.attrs.get("multiply_linear_by_lr"):
            comparison = ">= 0"  # nothing is divided by it

        def message(value: Any, name: str = name, comparison: str = comparison) -> str:
            return f"expected {name} {comparison}, got {value}. Pass another {name}."

        ok = _COMPARISONS[comparison](hyper[name])
        ctx.check(ok, errors.InvalidArgumentError, message, hyper[name])


_OWN_TYPES = {"indices": "Tindices", "global_step": "int64"}  # of inputs that have another than T


# dense
def _define(
    name: str, slots: str, rule: Rule, attrs: str, order: str, doc: str, sparse: bool
) -> OpDef:
    names = tuple(order.split())
    slot_names = tuple(slots.split())
    gradient = "delta" if "delta" in names else "grad"
    inputs = ", ".join(
        f"{n}: {'resource' if n in slot_names else _OWN_TYPES.get(n, 'T')}" for n in names
    )
    types = "T: numbertype, Tindices: {int32, int64}" if sparse else "T: numbertype"
    op = define_op(
        f"{name}({inputs}; {types}, use_locking: bool = False{attrs}) -> ",
        shape=_apply_shape(slot_names, gradient, sparse),
        stateful=True,
        effects=dict.fromkeys(slot_names, "rw"),
        fallible=sparse or name in _RANGES,
        doc=doc,
    ).not_differentiable("it has no outputs")
    _input_names[name] = names
    if sparse:
        _sparse_kernels(op, names, slot_names, rule)
    else:
        _dense_kernel(op, names, slot_names, gradient, rule)
    return op


def _split(
    names: tuple[str, ...], slots: tuple[str, ...], inputs: tuple[Any, ...]
) -> tuple[list[Any], dict[str, Any]]:
    named = dict(zip(names, inputs, strict=True))
    return [named.pop(s) for s in slots], named


def _dense_kernel(
    op: OpDef, names: tuple[str, ...], slots: tuple[str, ...], gradient: str, rule: Rule
) -> None:
    @kernel(op, limit=HOST_LIMIT)
    def _apply(ctx: Any, xp: Any, *inputs: Any) -> None:
        refs, hyper = _split(names, slots, inputs)
        grad = hyper.pop(gradient)
        old = tuple(xp.asarray(r.read()) for r in refs)  # arrays of JAX would compute in float32
        _check_shapes(op.name, slots, old, hyper)
        _check_ranges(ctx, op.name, hyper)
        if grad.shape != old[0].shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"var and {gradient} do not have the same shape {d.text(old[0].shape)} "
                f"{d.text(grad.shape)}",
            )
        for ref, before, value in zip(
            refs, old, rule(xp, old, grad, hyper, ctx.attrs), strict=True
        ):
            ref.write(xp.asarray(value, before.dtype))


# sparse
def _check_sparse(
    op: OpDef,
    slots: tuple[str, ...],
    old: tuple[Array, ...],
    grad: Array,
    indices: Array,
    hyper: Hyper,
) -> None:
    _check_shapes(op.name, slots, old, hyper)
    if indices.ndim != 1:
        raise errors.InvalidArgumentError(
            None, None, f"indices must be one-dimensional, got shape {d.text(indices.shape)}"
        )
    if old[0].ndim == 0 or grad.shape != (indices.shape[0], *old[0].shape[1:]):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"grad must have one row of the variable's shape {d.text(old[0].shape)} for each of "
            f"{indices.shape[0]} indices, got "
            f"shape {d.text(grad.shape)}",
        )


def _sparse_kernels(op: OpDef, names: tuple[str, ...], slots: tuple[str, ...], rule: Rule) -> None:
    @host_kernel(op, limit=HOST_LIMIT)
    def _on_host(ctx: Any, *inputs: Any) -> None:
        refs, hyper = _split(names, slots, inputs)
        grad, indices = hyper.pop("grad"), hyper.pop("indices")
        old = tuple(r.read() for r in refs)
        _check_sparse(op, slots, old, grad, indices, hyper)
        _check_ranges(ctx, op.name, hyper)
        check_rows(ctx, indices, old[0].shape[0])
        new = tuple(np.array(o) for o in old)
        for group in _groups(indices):
            rows = indices[group]
            results = rule(np, tuple(n[rows] for n in new), grad[group], hyper, ctx.attrs)
            for array, result in zip(new, results, strict=True):
                array[rows] = result
        for ref, value in zip(refs, new, strict=True):
            ref.write(value)

    @compiled_kernel(op)
    def _compiled(ctx: Any, *inputs: Any) -> None:
        refs, hyper = _split(names, slots, inputs)
        grad, indices = hyper.pop("grad"), hyper.pop("indices")
        old = tuple(r.read() for r in refs)
        _check_sparse(op, slots, old, grad, indices, hyper)
        _check_ranges(ctx, op.name, hyper)
        check_rows(ctx, indices, old[0].shape[0])
        attrs = ctx.attrs
        made: dict[Any, tuple[Array, ...]] = {}

        def all_slots(values: tuple[Array, ...], ok: Any) -> tuple[Array, ...]:
            key = (id(ok), *map(id, values))
            if key not in made:
                made[key] = _rows_in_turn(rule, values, indices, grad, hyper, attrs, ok)
            return made[key]

        _write_together(ctx, refs, old, all_slots)

    @op.checked_on_host
    def _checks(ctx: Any, *inputs: Any) -> None:
        hyper = dict(zip(names, inputs, strict=True))
        _check_ranges(ctx, op.name, hyper)
        check_rows(ctx, hyper["indices"], hyper["var"].shape[0])


def _groups(indices: Array) -> list[Any]:
    """Places of rows that are all different, in the order of their turns; on the host."""
    if len(indices) <= _FEW and len(set(indices.tolist())) == len(indices):
        return [slice(None)] if len(indices) else []
    order = np.argsort(indices, kind="stable")
    rows = indices[order]
    turn = np.empty(len(rows), np.int64)
    turn[order] = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return [np.flatnonzero(turn == t) for t in range(int(turn.max(initial=-1)) + 1)]


def _rows_in_turn(
    rule: Rule,
    values: Any,
    indices: Array,
    grad: Array,
    hyper: Hyper,
    attrs: dict[str, Any],
    ok: Any,
) -> tuple[Array, ...]:
    """Slots after rows that are there several times had their turns one after the other.

    Rows of one turn are all different, so they are updated together, up to _AT_ONCE of them.
    """
    count = indices.shape[0]
    if count == 0:
        return tuple(jnp.copy(v) for v in values)
    size, height = min(count, _AT_ONCE), values[0].shape[0]
    order, turn = _turns(indices)
    order = jnp.concatenate([order, jnp.zeros(size, order.dtype)])
    turn = jnp.concatenate([turn, jnp.full(size, -1, turn.dtype)])

    def step(state: tuple[Any, tuple[Array, ...]]) -> tuple[Any, tuple[Array, ...]]:
        start, held = state
        places = lax.dynamic_slice_in_dim(order, start, size)
        turns = lax.dynamic_slice_in_dim(turn, start, size)
        mine, rows = turns == turns[0], indices[places]
        after = rule(jnp, tuple(h[rows] for h in held), grad[places], hyper, attrs)
        where = jnp.where(mine, rows, height)  # those of the next turn fall off
        new = zip(held, after, strict=True)
        held = tuple(h.at[where].set(a.astype(h.dtype), mode="drop") for h, a in new)
        return start + mine.sum(dtype=jnp.int32), held

    end = jnp.asarray(count, jnp.int32)
    end = end if ok is True else jnp.where(ok, end, 0)
    start = (jnp.int32(0), tuple(jnp.asarray(v) for v in values))
    done: tuple[Any, tuple[Array, ...]] = lax.while_loop(lambda s: s[0] < end, step, start)
    return done[1]


_AT_ONCE = 1024  # rows; more hold more memory, fewer make more turns
_FEW = 64  # rows whose numbers Python compares


def _turns(indices: Array) -> tuple[Array, Array]:
    """Places in the order of their turns, and the turns: how often the row came before."""
    by_row = jnp.argsort(indices, stable=True)
    rows, number = indices[by_row], jnp.arange(indices.shape[0])
    new = jnp.concatenate([jnp.ones(1, bool), rows[1:] != rows[:-1]])
    turn = number - lax.cummax(jnp.where(new, number, 0))
    by_turn = jnp.argsort(turn, stable=True)
    return by_row[by_turn], turn[by_turn]


def _write_together(
    ctx: Any,
    refs: list[Any],
    old: tuple[Array, ...],
    update: Callable[[Any, Any], tuple[Array, ...]],
) -> None:
    """`write_rows` for variables updated as one: `update(values, ok)` gives all new values."""
    again = [getattr(r, "regate", None) for r in refs]
    gated = [not r.written or a is not None for r, a in zip(refs, again, strict=True)]

    def before(ok: Any) -> tuple[Array, ...]:
        return tuple(a(ok) if a is not None else o for a, o in zip(again, old, strict=True))

    new = update(old, ctx.all_ok)
    for i, ref in enumerate(refs):
        ref.write(
            new[i],
            gated_at=ctx.checks_so_far if all(gated) else -1,
            regate=(lambda ok, i=i: update(before(ok), ok)[i]) if all(gated) else None,
        )


# the table
_UPDATE_SLOTS = ", update_slots: bool = True"
_NESTEROV = ", use_nesterov: bool = False"
_BY_LR = ", multiply_linear_by_lr: bool = False"

# name: (slots, rule, attributes, dense inputs in order, sparse inputs in order or "", what it does)
RULES: dict[str, tuple[str, Rule, str, str, str, str]] = {
    "GradientDescent": ("var", _descend, "", "var alpha delta", "", "gradient descent"),
    "ProximalGradientDescent": (
        "var",
        _proximal_descend,
        "",
        "var alpha l1 l2 delta",
        "var alpha l1 l2 grad indices",
        "FOBOS with a fixed rate",
    ),
    "Momentum": (
        "var accum",
        _momentum,
        _NESTEROV,
        "var accum lr grad momentum",
        "var accum lr grad indices momentum",
        "momentum",
    ),
    "KerasMomentum": (
        "var accum",
        _keras_momentum,
        _NESTEROV,
        "var accum lr grad momentum",
        "var accum lr grad indices momentum",
        "momentum whose accumulator includes the learning rate",
    ),
    "Adagrad": (
        "var accum",
        _adagrad,
        _UPDATE_SLOTS,
        "var accum lr grad",
        "var accum lr grad indices",
        "Adagrad",
    ),
    "AdagradV2": (
        "var accum",
        _adagrad_v2,
        _UPDATE_SLOTS,
        "var accum lr epsilon grad",
        "var accum lr epsilon grad indices",
        "Adagrad with an epsilon",
    ),
    "ProximalAdagrad": (
        "var accum",
        _proximal_adagrad,
        "",
        "var accum lr l1 l2 grad",
        "var accum lr l1 l2 grad indices",
        "FOBOS with Adagrad's rates",
    ),
    "Adadelta": (
        "var accum accum_update",
        _adadelta,
        "",
        "var accum accum_update lr rho epsilon grad",
        "var accum accum_update lr rho epsilon grad indices",
        "Adadelta",
    ),
    "RMSProp": (
        "var ms mom",
        _rms_prop,
        "",
        "var ms mom lr rho momentum epsilon grad",
        "var ms mom lr rho momentum epsilon grad indices",
        "RMSProp",
    ),
    "CenteredRMSProp": (
        "var mg ms mom",
        _centered_rms_prop,
        "",
        "var mg ms mom lr rho momentum epsilon grad",
        "var mg ms mom lr rho momentum epsilon grad indices",
        "RMSProp with centred moments",
    ),
    "Ftrl": (
        "var accum linear",
        _ftrl,
        _BY_LR,
        "var accum linear grad lr l1 l2 lr_power",
        "var accum linear grad indices lr l1 l2 lr_power",
        "FTRL-proximal",
    ),
    "FtrlV2": (
        "var accum linear",
        _ftrl,
        _BY_LR,
        "var accum linear grad lr l1 l2 l2_shrinkage lr_power",
        "var accum linear grad indices lr l1 l2 l2_shrinkage lr_power",
        "FTRL-proximal with a shrinkage penalty",
    ),
    "Adam": (
        "var m v",
        _adam,
        _NESTEROV,
        "var m v beta1_power beta2_power lr beta1 beta2 epsilon grad",
        "",
        "Adam",
    ),
    "AdamWithAmsgrad": (
        "var m v vhat",
        _amsgrad,
        "",
        "var m v vhat beta1_power beta2_power lr beta1 beta2 epsilon grad",
        "",
        "AMSGrad",
    ),
    "AdaMax": (
        "var m v",
        _ada_max,
        "",
        "var m v beta1_power lr beta1 beta2 epsilon grad",
        "",
        "AdaMax",
    ),
    "AdagradDA": (
        "var gradient_accumulator gradient_squared_accumulator",
        _adagrad_da,
        "",
        "var gradient_accumulator gradient_squared_accumulator grad lr l1 l2 global_step",
        "var gradient_accumulator gradient_squared_accumulator grad indices lr l1 l2 global_step",
        "Adagrad's dual averaging",
    ),
    "AddSign": (
        "var m",
        _add_sign,
        "",
        "var m lr alpha sign_decay beta grad",
        "",
        "AddSign",
    ),
    "PowerSign": (
        "var m",
        _power_sign,
        "",
        "var m lr logbase sign_decay beta grad",
        "",
        "PowerSign",
    ),
}

APPLY: dict[str, OpDef] = {}
SPARSE_APPLY: dict[str, OpDef] = {}
for _name, (_slots, _rule, _attrs, _dense, _sparse, _doc) in RULES.items():
    APPLY[_name] = _define(
        f"ResourceApply{_name}",
        _slots,
        _rule,
        _attrs,
        _dense,
        f"Updates a variable by {_doc}.",
        False,
    )
    if _sparse:
        SPARSE_APPLY[_name] = _define(
            f"ResourceSparseApply{_name}",
            _slots,
            _rule,
            _attrs,
            _sparse,
            f"Updates rows of a variable by {_doc}.",
            True,
        )

__all__ = ["APPLY", "RULES", "SPARSE_APPLY"]
