"""What optimizers' update operations check: shapes when made, shapes and values when run."""

from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.core.shapes import ShapeContext
from penstock.ops.optimizer_rules import Array, Hyper, Values
from penstock.types import dims as d
from penstock.types.dims import Dims


def update_shape(
    names: tuple[str, ...], slots: tuple[str, ...], gradient: str
) -> Callable[[ShapeContext], list[Dims]]:
    """Variable and slots have one shape, as has the gradient; the other inputs are scalars."""

    def rule(c: ShapeContext) -> list[Dims]:
        held: Dims = None
        for i, name in enumerate(names):
            if name in slots:
                held = c.merge(held, c.variable_shape(i))
            elif name not in (gradient, "indices"):
                c.rank(i, 0, name)
        grad = c.shape(names.index(gradient))
        if "indices" not in names:
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


def check_values(slots: tuple[str, ...], values: Values, grad: Array, hyper: Hyper) -> None:
    """Refuses slots of another shape than the variable's, and hyperparameters of rank above 0.

    Variable and slots have the gradient's dtype: a graph knows it, eagerly only the values tell.
    """
    shape, dtype = values[0].shape, grad.dtype
    for name, value in zip(slots, values, strict=True):
        if value.dtype is not dtype and value.dtype != dtype:  # mostly one object
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{name} must have the gradient's dtype {dtype.name}, got {value.dtype.name}. "
                "Cast the gradient and the hyperparameters.",
            )
        if value.shape != shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"var and {name} do not have the same shape {d.text(shape)} {d.text(value.shape)}",
            )
    for name, value in hyper.items():
        if value.ndim:
            raise errors.InvalidArgumentError(
                None, None, f"{name} is not a scalar: {d.text(value.shape)}"
            )


# what TensorFlow checks when these run; their other forms take any number
_PENALTIES = {"lr": "> 0", "l1": ">= 0", "l2": ">= 0"}
_FTRL = {**_PENALTIES, "l2_shrinkage": ">= 0", "lr_power": "<= 0"}
RANGES = {
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


def check_ranges(ctx: Any, op_name: str, hyper: Hyper) -> None:
    """Fails the step where a scalar is out of the range that `RANGES` gives it, or NaN."""
    ranges = RANGES.get(op_name)
    if ranges is None:
        return
    for name, comparison in ranges.items():
        if name not in hyper:
            continue
        if name == "lr" and ctx.attrs.get("multiply_linear_by_lr"):
            comparison = ">= 0"  # nothing is divided by it

        def message(value: Any, name: str = name, comparison: str = comparison) -> str:
            return f"expected {name} {comparison}, got {value}. Pass another {name}."

        ok = _COMPARISONS[comparison](hyper[name])
        ctx.check(ok, errors.InvalidArgumentError, message, hyper[name])


# what TensorFlow refuses for rows without elements; the others update nothing
_ELEMENTS = "Adagrad AdagradV2 AdagradDA Ftrl FtrlV2 ProximalGradientDescent ProximalAdagrad"
NEED_ELEMENTS = frozenset(f"ResourceSparseApply{name}" for name in _ELEMENTS.split())


def check_sparse_shapes(
    op_name: str,
    slots: tuple[str, ...],
    old: Values,
    grad: Array,
    indices: Array,
    hyper: Hyper,
) -> None:
    """The same, and that there is a row of the gradient for each index, which has elements."""
    check_values(slots, old, grad, hyper)
    if indices.ndim != 1:
        raise errors.InvalidArgumentError(
            None, None, f"indices must be one-dimensional, got shape {d.text(indices.shape)}"
        )
    if old[0].ndim == 0 or grad.shape != (indices.shape[0], *old[0].shape[1:]):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"grad must have one row of the variable's shape {d.text(old[0].shape)} for each of "
            f"{indices.shape[0]} indices, got shape {d.text(grad.shape)}",
        )
    if op_name in NEED_ELEMENTS and 0 in old[0].shape[1:]:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Inner dimension should be greater than zero: expected rows with elements, got a "
            f"variable of shape {d.text(old[0].shape)}. Leave the variable out.",
        )
