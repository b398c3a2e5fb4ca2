"""The update rules of optimizers: arithmetic on values, and the table of them.

A rule is a function `rule(xp, slots, grad, hyper, attrs)` of the values of the variable and its
slots, the gradient, the scalars by name and the attributes; it returns the new values in the same
order. `state_optimizers` makes operations of them.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.core.lazy import lax

Array = Any  # numpy.ndarray, jax.Array or a tracer
Hyper = dict[str, Array]  # the scalar inputs by name
Attrs = dict[str, Any]
Values = tuple[Array, ...]  # of the variable and its slots
Rule = Callable[[Any, Values, Array, Hyper, Attrs], Values]
Move = Callable[[Array, Array, Hyper], Array]


def _descend(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
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


def _proximal_descend(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    (var,) = slots
    return (_proximal(xp, var - h["alpha"] * grad, h["alpha"], h),)


def _momentum(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    var, accum = slots
    accum = accum * h["momentum"] + grad
    if attrs["use_nesterov"]:
        return var - (grad * h["lr"] + accum * h["momentum"] * h["lr"]), accum
    return var - accum * h["lr"], accum


def _keras_momentum(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    var, accum = slots
    accum = accum * h["momentum"] - grad * h["lr"]
    if attrs["use_nesterov"]:
        return var + (accum * h["momentum"] - grad * h["lr"]), accum
    return var + accum, accum


def _adagrad(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    var, accum = slots
    accum = accum + grad * grad if attrs["update_slots"] else xp.copy(accum)
    return var - grad * h["lr"] / xp.sqrt(accum), accum


def _adagrad_v2(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    var, accum = slots
    accum = accum + grad * grad if attrs["update_slots"] else xp.copy(accum)
    return var - grad * h["lr"] / (xp.sqrt(accum) + h["epsilon"]), accum


def _proximal_adagrad(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    var, accum = slots
    accum = accum + grad * grad
    rate = h["lr"] / xp.sqrt(accum)
    return _proximal(xp, var - grad * rate, rate, h), accum


def _adadelta(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    var, accum, accum_update = slots
    rho, epsilon = h["rho"], h["epsilon"]
    accum = accum * rho + grad * grad * (1 - rho)
    update = xp.sqrt(accum_update + epsilon) / xp.sqrt(accum + epsilon) * grad
    return var - update * h["lr"], accum, accum_update * rho + update * update * (1 - rho)


def _moved(mean: Array, new: Array, h: Hyper) -> Array:
    """A moving mean of whole variables."""
    return mean + (new - mean) * (1 - h["rho"])


def _moved_rows(mean: Array, new: Array, h: Hyper) -> Array:
    """The same of rows, where it is computed otherwise: infinite means stay infinite."""
    return mean * h["rho"] + new * (1 - h["rho"])


def _rms_prop(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs, moved: Move = _moved
) -> Values:
    var, ms, mom = slots
    ms = moved(ms, grad * grad, h)
    mom = mom * h["momentum"] + grad * h["lr"] / xp.sqrt(ms + h["epsilon"])
    return var - mom, ms, mom


def _centered_rms_prop(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs, moved: Move = _moved
) -> Values:
    var, mg, ms, mom = slots
    ms = moved(ms, grad * grad, h)
    mg = moved(mg, grad, h)
    mom = mom * h["momentum"] + grad * h["lr"] / xp.sqrt(ms - mg * mg + h["epsilon"])
    return var - mom, mg, ms, mom


def _ftrl(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs, keeps_nan: bool = False
) -> Values:
    """The usual power of 0.5 is a square root, which costs a tenth of other powers.

    NaN in a gradient makes the weight zero in whole variables, and stays in rows (`keeps_nan`).
    """
    power, given = -h["lr_power"], (slots, grad, h, attrs, keeps_nan)
    if xp is np:
        return _ftrl_with(xp, np.sqrt if power == 0.5 else lambda x: x**power, *given)
    by_root, by_power = (
        functools.partial(_ftrl_with, xp, root, *given) for root in (xp.sqrt, lambda x: x**power)
    )
    found: Values = lax.cond(power == 0.5, by_root, by_power)
    return found


def _ftrl_by_root(
    xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs, keeps_nan: bool = False
) -> Values:
    return _ftrl_with(xp, xp.sqrt, slots, grad, h, attrs, keeps_nan)


def _ftrl_with(
    xp: Any,
    power: Callable[[Array], Array],
    slots: Any,
    grad: Array,
    h: Hyper,
    attrs: Attrs,
    keeps_nan: bool,
) -> Values:
    var, accum, linear = slots
    lr, l1 = h["lr"], h["l1"]
    shrinkage = h.get("l2_shrinkage")
    step = grad if shrinkage is None else grad + 2 * shrinkage * var
    new = accum + grad * grad
    root = power(new)
    change = (root - power(accum)) * var
    if attrs["multiply_linear_by_lr"]:
        linear = linear + step * lr - change
        quadratic, bound = root + 2 * h["l2"] * lr, l1 * lr
    else:
        linear = linear + step - change / lr
        quadratic, bound = root / lr + 2 * h["l2"], l1
    var = xp.where(
        xp.abs(linear) > bound,
        (xp.sign(linear) * bound - linear) / quadratic,
        linear - linear if keeps_nan else xp.zeros_like(linear),
    )
    return var, new, linear


def _adam(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    var, m, v = slots
    rate = h["lr"] * xp.sqrt(1 - h["beta2_power"]) / (1 - h["beta1_power"])
    m = m + (grad - m) * (1 - h["beta1"])
    v = v + (grad * grad - v) * (1 - h["beta2"])
    mean = grad * (1 - h["beta1"]) + h["beta1"] * m if attrs["use_nesterov"] else m
    return var - mean * rate / (xp.sqrt(v) + h["epsilon"]), m, v


def _largest(xp: Any, held: Array, new: Array) -> Array:
    """The larger one; NaN in what is new is passed over, as no comparison with it is true."""
    return xp.where(new > held, new, held)


def _amsgrad(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    var, m, v, vhat = slots
    rate = h["lr"] * xp.sqrt(1 - h["beta2_power"]) / (1 - h["beta1_power"])
    m = m + (grad - m) * (1 - h["beta1"])
    v = v + (grad * grad - v) * (1 - h["beta2"])
    vhat = _largest(xp, vhat, v)
    return var - m * rate / (xp.sqrt(vhat) + h["epsilon"]), m, v, vhat


def _ada_max(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    var, m, v = slots
    m = m + (grad - m) * (1 - h["beta1"])
    v = _largest(xp, v * h["beta2"], xp.abs(grad))
    return var - h["lr"] / (1 - h["beta1_power"]) * (m / (v + h["epsilon"])), m, v


def _adagrad_da(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    """Duchi, Hazan, Singer, "Adaptive subgradient methods", 2011: regularised dual averaging.

    The weights follow from the sums alone; what they were before does not matter.
    """
    _, total, squares = slots
    total, squares = total + grad, squares + grad * grad
    lr, step = h["lr"], h["global_step"].astype(total.dtype)
    shrunk = xp.sign(total) * xp.maximum(xp.abs(total) - h["l1"] * step, 0)
    numerator = -lr * xp.where(h["l1"] > 0, shrunk, total)
    return numerator / (lr * h["l2"] * step + xp.sqrt(squares)), total, squares


def _add_sign(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    """Bello, Zoph, Vasudevan, Le, "Neural optimizer search", 2017; as is `_power_sign`."""
    m = slots[1] * h["beta"] + grad * (1 - h["beta"])
    agreement = h["sign_decay"] * xp.sign(grad) * xp.sign(m)
    return slots[0] - h["lr"] * (h["alpha"] + agreement) * grad, m


def _powers(xp: Any, h: Hyper) -> Hyper:
    """The powers that steps are taken by: where signs agree, where they do not, where one is 0."""
    power = h["logbase"] * h["sign_decay"]
    return {**h, "more": xp.exp(power), "less": xp.exp(-power), "as_much": xp.exp(power * 0)}


def _power_sign(xp: Any, slots: Any, grad: Array, h: Hyper, attrs: Attrs) -> Values:
    m = slots[1] * h["beta"] + grad * (1 - h["beta"])
    alike = xp.sign(grad) * xp.sign(m)
    rest = xp.where(-alike > 0, h["less"], h["as_much"] + alike)  # which is NaN where `alike` is
    return slots[0] - h["lr"] * xp.where(alike > 0, h["more"], rest) * grad, m


@dataclass(frozen=True, slots=True)
class UpdateRule:
    """A rule, and the interface of the operations that apply it.

    Args:
      slots: names of the variable and its slots, the first inputs.
      inputs: names of the other inputs; one is `grad`, or `delta`.
      rule: the new values.
      doc: what an update is made by.
      attrs: attributes of the operations, as in a definition.
      sparse: whether there is an operation that updates rows.
      rows: the rule of rows, if it is another one.
      by_root: the rule where `lr_power` is -0.5; None where there is no such number.
      rows_by_root: the same for rows.
      numbers: the scalars with more that the rule is given, computed of them alone.
    """

    slots: str
    inputs: str
    rule: Rule
    doc: str
    attrs: str = ""
    sparse: bool = True
    rows: Rule | None = None
    by_root: Rule | None = None
    rows_by_root: Rule | None = None
    numbers: Callable[[Any, Hyper], Hyper] | None = None

    def given(self, xp: Any, hyper: Hyper) -> Hyper:
        """The scalars that the rule is given, where these are the inputs."""
        return hyper if self.numbers is None else self.numbers(xp, hyper)

    def of_rows(self) -> "UpdateRule":
        """The rule of the operation that updates rows."""
        rule, by_root = self.rows or self.rule, self.rows_by_root or self.by_root
        return replace(self, rule=rule, by_root=by_root)

    def dense_inputs(self) -> tuple[str, ...]:
        """The inputs of the operation that updates whole variables."""
        return (*self.slots.split(), *self.inputs.split())

    def sparse_inputs(self) -> tuple[str, ...]:
        """The inputs of the operation that updates rows: `indices` follows the gradient."""
        rest = re.sub(r"\b(grad|delta)\b", "grad indices", self.inputs)
        return (*self.slots.split(), *rest.split())


_UPDATE_SLOTS = ", update_slots: bool = True"
_NESTEROV = ", use_nesterov: bool = False"
_BY_LR = ", multiply_linear_by_lr: bool = False"

_FTRL: dict[str, Any] = {
    "attrs": _BY_LR,
    "rows": functools.partial(_ftrl, keeps_nan=True),
    "by_root": _ftrl_by_root,
    "rows_by_root": functools.partial(_ftrl_by_root, keeps_nan=True),
}
RULES = {
    "GradientDescent": UpdateRule("var", "alpha delta", _descend, "gradient descent", sparse=False),
    "ProximalGradientDescent": UpdateRule(
        "var", "alpha l1 l2 delta", _proximal_descend, "FOBOS with a fixed rate"
    ),
    "Momentum": UpdateRule("var accum", "lr grad momentum", _momentum, "momentum", attrs=_NESTEROV),
    "KerasMomentum": UpdateRule(
        "var accum",
        "lr grad momentum",
        _keras_momentum,
        "momentum whose accumulator includes the learning rate",
        attrs=_NESTEROV,
    ),
    "Adagrad": UpdateRule("var accum", "lr grad", _adagrad, "Adagrad", attrs=_UPDATE_SLOTS),
    "AdagradV2": UpdateRule(
        "var accum", "lr epsilon grad", _adagrad_v2, "Adagrad with an epsilon", attrs=_UPDATE_SLOTS
    ),
    "ProximalAdagrad": UpdateRule(
        "var accum", "lr l1 l2 grad", _proximal_adagrad, "FOBOS with Adagrad's rates"
    ),
    "Adadelta": UpdateRule("var accum accum_update", "lr rho epsilon grad", _adadelta, "Adadelta"),
    "RMSProp": UpdateRule(
        "var ms mom",
        "lr rho momentum epsilon grad",
        _rms_prop,
        "RMSProp",
        rows=functools.partial(_rms_prop, moved=_moved_rows),
    ),
    "CenteredRMSProp": UpdateRule(
        "var mg ms mom",
        "lr rho momentum epsilon grad",
        _centered_rms_prop,
        "RMSProp with centred moments",
        rows=functools.partial(_centered_rms_prop, moved=_moved_rows),
    ),
    "Ftrl": UpdateRule(
        "var accum linear",
        "grad lr l1 l2 lr_power",
        _ftrl,
        "FTRL-proximal",
        **_FTRL,
    ),
    "FtrlV2": UpdateRule(
        "var accum linear",
        "grad lr l1 l2 l2_shrinkage lr_power",
        _ftrl,
        "FTRL-proximal with a shrinkage penalty",
        **_FTRL,
    ),
    "Adam": UpdateRule(
        "var m v",
        "beta1_power beta2_power lr beta1 beta2 epsilon grad",
        _adam,
        "Adam",
        attrs=_NESTEROV,
        sparse=False,
    ),
    "AdamWithAmsgrad": UpdateRule(
        "var m v vhat",
        "beta1_power beta2_power lr beta1 beta2 epsilon grad",
        _amsgrad,
        "AMSGrad",
        sparse=False,
    ),
    "AdaMax": UpdateRule(
        "var m v", "beta1_power lr beta1 beta2 epsilon grad", _ada_max, "AdaMax", sparse=False
    ),
    "AdagradDA": UpdateRule(
        "var gradient_accumulator gradient_squared_accumulator",
        "grad lr l1 l2 global_step",
        _adagrad_da,
        "Adagrad's dual averaging",
    ),
    "AddSign": UpdateRule(
        "var m", "lr alpha sign_decay beta grad", _add_sign, "AddSign", sparse=False
    ),
    "PowerSign": UpdateRule(
        "var m",
        "lr logbase sign_decay beta grad",
        _power_sign,
        "PowerSign",
        sparse=False,
        numbers=_powers,
    ),
}

__all__ = ["RULES", "Array", "Hyper", "Rule", "UpdateRule", "Values"]
