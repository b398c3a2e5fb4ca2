"""The operations that update variables by the rules of optimizers, dense and sparse.

Each rule of `optimizer_rules` makes two: `ResourceApplyX` updates whole variables,
`ResourceSparseApplyX` the rows that `indices` names, one after the other.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import HOST_LIMIT, compiled_kernel, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.ops import optimizer_checks as checks
from penstock.ops.optimizer_native import NativeRule
from penstock.ops.optimizer_rules import RULES, Array, Hyper, UpdateRule, Values
from penstock.ops.optimizer_turns import groups, rows_in_turn
from penstock.ops.state_host_rows import own_arrays
from penstock.ops.state_scatter import check_rows
from penstock.types import dims as d

_OWN_TYPES = {"indices": "Tindices", "global_step": "int64"}  # of inputs that have another than T


def _define(name: str, update: UpdateRule, sparse: bool) -> OpDef:
    names = update.sparse_inputs() if sparse else update.dense_inputs()
    slots = tuple(update.slots.split())
    gradient = "delta" if "delta" in names else "grad"
    inputs = ", ".join(
        f"{n}: {'resource' if n in slots else _OWN_TYPES.get(n, 'T')}" for n in names
    )
    types = "T: numbertype, Tindices: {int32, int64}" if sparse else "T: numbertype"
    op = define_op(
        f"{name}({inputs}; {types}, use_locking: bool = False{update.attrs}) -> ",
        shape=checks.update_shape(names, slots, gradient),
        stateful=True,
        effects=dict.fromkeys(slots, "rw"),
        fallible=sparse or name in checks.RANGES,
        doc=f"Updates {'rows of ' if sparse else ''}a variable by {update.doc}.",
    ).not_differentiable("it has no outputs")
    if sparse:
        _sparse_kernels(op, names, slots, update.of_rows())
    else:
        _dense_kernel(op, names, slots, gradient, update)
    return op


def _scalars(xp: Any, hyper: Hyper) -> Hyper:
    """Numbers of NumPy for its arrays of one: they compute the same in a third of the time."""
    if xp is not np:
        return hyper
    return {n: v[()] if v.dtype.kind == "f" else v for n, v in hyper.items()}


def _dense_kernel(
    op: OpDef, names: tuple[str, ...], slots: tuple[str, ...], gradient: str, update: UpdateRule
) -> None:
    count, others = len(slots), names[len(slots) :]
    native = NativeRule(op.name, names, slots, update)

    @host_kernel(op, limit=HOST_LIMIT)
    def _on_host(ctx: Any, *inputs: Any) -> None:
        if not native.run(ctx, inputs):
            _apply(ctx, np, *inputs)

    @compiled_kernel(op)
    def _apply(ctx: Any, xp: Any, *inputs: Any) -> None:
        refs, hyper = inputs[:count], dict(zip(others, inputs[count:], strict=True))
        grad = hyper.pop(gradient)
        old = tuple([xp.asarray(r.read()) for r in refs])  # arrays of JAX would compute in float32
        checks.check_values(slots, old, grad, hyper)
        checks.check_ranges(ctx, op.name, hyper)
        if grad.shape != old[0].shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"var and {gradient} do not have the same shape {d.text(old[0].shape)} "
                f"{d.text(grad.shape)}",
            )
        scalars = update.given(xp, _scalars(xp, hyper))
        found = update.rule(xp, old, grad, scalars, ctx.attrs)
        for ref, value, before in zip(refs, found, old, strict=True):
            ref.write(xp.asarray(value, before.dtype))


def _sparse_kernels(
    op: OpDef, names: tuple[str, ...], slots: tuple[str, ...], update: UpdateRule
) -> None:
    count, others, rule = len(slots), names[len(slots) :], update.rule
    native = NativeRule(op.name, names, slots, update)

    def checked(ctx: Any, inputs: Any) -> tuple[Any, Values, Array, Array, Hyper]:
        refs, hyper = inputs[:count], dict(zip(others, inputs[count:], strict=True))
        grad, indices = hyper.pop("grad"), hyper.pop("indices")
        old = tuple([r.read() for r in refs])
        checks.check_sparse_shapes(op.name, slots, old, grad, indices, hyper)
        checks.check_ranges(ctx, op.name, hyper)
        check_rows(ctx, indices, old[0].shape[0])
        return refs, old, grad, indices, hyper

    @host_kernel(op, limit=HOST_LIMIT, by_rows=True)
    def _on_host(ctx: Any, *inputs: Any) -> None:
        if native.run(ctx, inputs):
            return
        refs, old, grad, indices, hyper = checked(ctx, inputs)
        touched, places = np.unique(indices, return_inverse=True)
        grad, scalars = np.asarray(grad), _scalars(np, hyper)
        new = [np.asarray(o)[touched] for o in old]  # rows of JAX could not be written
        for group in groups(places):
            rows = places[group]
            results = rule(np, tuple([n[rows] for n in new]), grad[group], scalars, ctx.attrs)
            for array, result in zip(new, results, strict=True):
                array[rows] = result
        del old
        own = own_arrays(refs)
        for i, (ref, value) in enumerate(zip(refs, new, strict=True)):
            whole = own[i] if own else np.array(ref.read())
            whole[touched] = value
            if own is None:
                ref.write(whole)

    @compiled_kernel(op)
    def _compiled(ctx: Any, *inputs: Any) -> None:
        refs, old, grad, indices, hyper = checked(ctx, inputs)
        attrs = ctx.attrs
        made: dict[Any, Values] = {}

        def all_slots(values: Values, ok: Any) -> Values:
            key = (id(ok), *map(id, values))
            if key not in made:
                made[key] = rows_in_turn(rule, values, indices, grad, hyper, attrs, ok)
            return made[key]

        _write_together(ctx, refs, old, all_slots)

    @op.checked_on_host
    def _checks(ctx: Any, *inputs: Any) -> None:
        hyper = dict(zip(names, inputs, strict=True))
        checks.check_ranges(ctx, op.name, hyper)
        check_rows(ctx, hyper["indices"], hyper["var"].shape[0])


def _write_together(ctx: Any, refs: Any, old: Values, update: Callable[[Any, Any], Values]) -> None:
    """`write_rows` for variables updated as one: `update(values, ok)` gives all new values."""
    again = [getattr(r, "regate", None) for r in refs]
    gated = [not r.written or a is not None for r, a in zip(refs, again, strict=True)]

    def before(ok: Any) -> Values:
        return tuple(a(ok) if a is not None else o for a, o in zip(again, old, strict=True))

    new = update(old, ctx.all_ok)
    for i, ref in enumerate(refs):
        ref.write(
            new[i],
            gated_at=ctx.checks_so_far if all(gated) else -1,
            regate=(lambda ok, i=i: update(before(ok), ok)[i]) if all(gated) else None,
        )


APPLY = {n: _define(f"ResourceApply{n}", r, sparse=False) for n, r in RULES.items()}
SPARSE_APPLY = {
    n: _define(f"ResourceSparseApply{n}", r, sparse=True) for n, r in RULES.items() if r.sparse
}

__all__ = ["APPLY", "SPARSE_APPLY"]
