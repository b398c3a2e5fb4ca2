"""Kernels of `PenstockVectorizedCall`.

In a compiled region the body's nodes are traced for one row and JAX vectorises them. On the host
the body runs once for each row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native
from penstock.core.kernels import KernelContext, register_kernel
from penstock.core.lazy import jax, jnp
from penstock.core.traced import Collected, NotStatic, TraceContext
from penstock.graph.body import CallBody
from penstock.runtime.bodies import run_body, trace_body
from penstock.runtime.step import Step
from penstock.types.dims import is_full, text


def _on_host(ctx: KernelContext, mapped: Any, shared: Any, *, body: CallBody) -> list[Any]:
    step = ctx.step if ctx.step is not None else Step(ctx.resources)
    inside = KernelContext(ctx.op_name, ctx.attrs, ctx.resources, ctx.device, step)
    results = [
        run_body(inside, body, [*[m[i, ...] for m in mapped], *shared])
        for i in range(len(mapped[0]))
    ]
    return [_stacked(body, k, [row[k] for row in results]) for k in range(len(body.outputs))]


def _stacked(body: CallBody, number: int, rows: Sequence[Any]) -> Any:
    if rows:
        return np.stack(rows)
    output = body.outputs[number]
    if not is_full(output.dims):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{body.name}: expected at least one row to know the shape of output {number}, "
            f"{text(output.dims)}, got none.",
        )
    return np.zeros((0, *(output.dims or ())), output.dtype.numpy_dtype)


def _compiled(ctx: TraceContext, mapped: Any, shared: Any, *, body: CallBody) -> Any:
    checks: list[Any] = []

    def one(rows: Sequence[Any]) -> Any:
        collected = Collected()
        results = trace_body(body, ctx.device or "CPU", [*rows, *shared], collected)
        checks[:] = collected.checks
        outputs = [
            jnp.asarray(r, t.dtype.numpy_dtype) for r, t in zip(results, body.outputs, strict=True)
        ]
        held = [tuple(jnp.asarray(v) for v in values) for values in collected.values]
        return outputs, [jnp.asarray(ok).reshape(()) for ok in collected.conditions], held

    try:
        with native.unused():
            outputs, oks, held = jax.vmap(one)([jnp.asarray(m) for m in mapped])
    except NotStatic as signal:
        raise NotStatic(ctx.op_key, str(signal)) from signal
    except errors.OpError:
        raise
    except (TypeError, ValueError) as problem:
        raise NotStatic(ctx.op_key, str(problem)) from problem
    for check, ok, values in zip(checks, oks, held, strict=True):
        first = jnp.argmin(ok)  # the first row that fails
        ctx.collected.checks.append(check)
        ctx.collected.conditions.append(ok.all())
        ctx.collected.values.append(tuple(v[first] for v in values))
    return outputs


register_kernel("PenstockVectorizedCall", _on_host, kind="host", limit=-1, reentrant=True)
register_kernel("PenstockVectorizedCall", _compiled, kind="compiled")
