"""Running one operation now.

Small work runs on the host kernel, inline. Large work runs compiled when the shapes came before: a
size that is new runs on the host, so that sizes that never come back cost no compilation.
"""

import functools
import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import determinism, effects, lapack
from penstock.core.compiling import compile_function, is_elementwise
from penstock.core.context import state, watching
from penstock.core.host_runs import (
    changes_rows_in_place,
    few_rows,
    is_single_work,
    jax_loaded,
    located,
    locked,
    on_accelerator,
    referred,
    run_host,
    run_small,
    validate,
)
from penstock.core.kernels import KernelContext, TooMuchWork
from penstock.core.lazy import jax, jnp, wide_types
from penstock.core.locks import Locks, call, drain
from penstock.core.op_def import OpDef
from penstock.core.prepared import UNBOUNDED, PreparedOp, prepare
from penstock.core.resources import ResourceHandle
from penstock.core.tensor import EagerTensor, wrap
from penstock.core.traced import (
    Check,
    CheckedContext,
    Collected,
    NotStatic,
    TraceContext,
    TracedRef,
    gate,
    raise_failed,
)
from penstock.util.frames import user_frame

SEEN_SHAPES = 4096  # shape combinations remembered, per prepared operation
COMPILED_OPS = 1024  # single-operation executables kept


def run_eager(
    op: OpDef, flat: tuple[EagerTensor, ...], counts: Sequence[int] | None, attrs: dict[str, Any]
) -> tuple[Sequence[EagerTensor], dict[str, Any]]:
    """Runs an operation now; returns its flat outputs and completed attributes."""
    place = state.place
    if place is not None:
        place(())  # a device that is not there is refused before anything happens
    policy = state.policy
    if policy is not None:
        policy(op, flat)
    device = device_type(state.device)
    prepared = prepare(op, flat, counts, attrs, device)
    watcher = watching.watcher  # another thread may take it away
    if prepared.small_limit >= 0 and watcher is None and place is None:
        small = run_small(prepared, flat)
        if small is not None:
            return small, prepared.attrs
    in_turn = effects.switch.log is not None and op.stateful
    run = _run_in_turn if in_turn else _run_now
    if watcher is None:
        outputs = run(prepared, flat)
    else:
        outputs = watcher.run_eager(prepared, flat, lambda: run(prepared, flat))
    if place is not None:
        place(outputs)
    return outputs, prepared.attrs


def _run_in_turn(prepared: PreparedOp, flat: tuple[EagerTensor, ...]) -> Sequence[EagerTensor]:
    """Runs an operation with effects while they are recorded or replayed."""
    kernel = prepared.host_kernel
    touched = resources_of([t._array for t in flat])
    return effects.run(  # type: ignore[no-any-return]
        None,
        prepared.op.name,
        str(user_frame() or ""),
        None if kernel is not None and kernel.reentrant else touched,
        lambda: _run_now(prepared, flat),
    )


def resources_of(arrays: Sequence[Any]) -> list[Any]:
    """What the handles among some arrays refer to."""
    return [a.resource for a in arrays if a.__class__ is ResourceHandle and a.resource is not None]


def _run_now(prepared: PreparedOp, flat: tuple[EagerTensor, ...]) -> Sequence[EagerTensor]:
    arrays = [t._array for t in flat]
    if prepared.leasing:
        cells = referred(prepared, arrays)
        return locked(cells, lambda: _run_leasing(prepared, flat, arrays))  # type: ignore[no-any-return]
    results = run_prepared(prepared, arrays)
    outputs = [wrap(a, t) for a, t in zip(results, prepared.out_dtypes, strict=True)]
    if prepared.refs or not prepared.op.stateful:
        _keep_leases(prepared, flat, results, outputs)
    return outputs


def _run_leasing(
    prepared: PreparedOp, flat: Sequence[EagerTensor], arrays: list[Any]
) -> list[EagerTensor]:
    """Runs, and leases the variables' arrays that outputs share, all under the variables' locks.

    Another thread could give such an array away between the run and the lease.
    """
    results = run_prepared(prepared, arrays)
    outputs = [wrap(a, t) for a, t in zip(results, prepared.out_dtypes, strict=True)]
    _keep_leases(prepared, flat, results, outputs)
    return outputs


def run_prepared(prepared: PreparedOp, arrays: list[Any]) -> Sequence[Any]:
    """Runs the kernel that suits the sizes; returns flat arrays."""
    if prepared.host is None or (
        prepared.compiled is not None and not _prefers_host(prepared, arrays)
    ):
        return run_compiled(prepared, arrays)
    try:
        return run_host(prepared, arrays)
    except TooMuchWork:
        return run_compiled(prepared, arrays)


def _keep_leases(
    prepared: PreparedOp,
    flat: Sequence[EagerTensor],
    results: Sequence[Any],
    outputs: Sequence[EagerTensor],
) -> None:
    """An output that shares a variable's array, read or passed on, holds its lease."""
    for array, output in zip(results, outputs, strict=True):
        if array is None or array.__class__ is np.ndarray:
            continue
        for position in prepared.refs:
            cell = flat[position]._array.resource
            if getattr(cell, "value", None) is array:
                value, lease = cell.borrow()
                if value is array:
                    output._lease = lease
        for tensor in flat:
            if tensor._array is array and hasattr(tensor, "_lease"):
                output._lease = tensor._lease


def device_type(device: str | None) -> str:
    """CPU, GPU, ... of a canonical device name; CPU when none is requested."""
    if device is None:
        return "CPU"
    _, _, last = device.rpartition("device:")
    return last.partition(":")[0].upper() or "CPU"


def _prefers_host(prepared: PreparedOp, arrays: Sequence[Any]) -> bool:
    """Whether the host kernel runs: on small work, and sizes that are new, where the host is.

    What is on a device with memory of its own stays there, also for a change of shape alone. Of
    variables this holds where the kernel looks at their numbers.
    """
    total = 0
    looked_at = []
    if prepared.writes and changes_rows_in_place(
        prepared, [arrays[i].resource for i in prepared.refs]
    ):
        return not on_accelerator(arrays)
    for i, array in enumerate(arrays):
        if i in prepared.refs:
            array = getattr(array.resource, "value", None)
            if prepared.limit >= UNBOUNDED:
                continue
            if _reads_rows(prepared) and few_rows(array, arrays[i + 1 :]):
                return not on_accelerator([array])
        total += getattr(array, "size", 0)
        if array.__class__ is not np.ndarray:
            looked_at.append(array)
    if total <= prepared.limit or is_single_work(prepared, total):
        return not looked_at or _runs_user_code(prepared) or not on_accelerator(looked_at)
    if determinism.switch.fixed or any(i in prepared.refs for i in range(len(arrays))):
        return False
    if prepared.host_kernel is not None and prepared.host_kernel.singly:
        return False
    key = tuple(getattr(a, "shape", None) for a in arrays)
    if key in prepared.seen:
        return False
    if len(prepared.seen) > SEEN_SHAPES:
        prepared.seen.clear()
    prepared.seen.add(key)
    return not any(isinstance(a, jax.Array) for a in arrays) if jax_loaded() else True


def _reads_rows(prepared: PreparedOp) -> bool:
    kernel = prepared.host_kernel
    return kernel is not None and kernel.by_rows and not prepared.writes


def _runs_user_code(prepared: PreparedOp) -> bool:
    return prepared.host_kernel is not None and prepared.host_kernel.reentrant


# ---- compiled ------------------------------------------------------------------------------------


_executables: "OrderedDict[Any, Any]" = OrderedDict()
_executables_lock = threading.Lock()  # guards: _executables


def run_compiled(prepared: PreparedOp, arrays: list[Any]) -> Sequence[Any]:
    """Runs the operation as an executable of its own."""
    if prepared.op.shape_rule is not None:
        validate(prepared, arrays)
    cells = dict(zip(prepared.refs, referred(prepared, arrays), strict=True))
    locks = Locks(cells.values())
    held: list[Any] = []
    back = map(call, iter(held))
    try:
        held.extend(compress(locks.releases, map(call, locks.acquires)))
        try:
            return _run_locked(prepared, arrays, prepared.static, cells)
        except NotStatic:  # bounds of a slice, say: known here, though not in every region
            prepared.static = _with_small_vectors(prepared.static, arrays)
            return _run_locked(prepared, arrays, prepared.static, cells)
    except errors.OpError as problem:
        raise located(problem, prepared.op.name) from problem.__cause__
    finally:
        drain(back)


def _run_locked(
    prepared: PreparedOp, arrays: list[Any], static: tuple[int, ...], cells: dict[int, Any]
) -> Sequence[Any]:
    step_value = (
        prepared.op.step_input(None, prepared.attrs) if prepared.op.step_input is not None else None
    )
    values = list(arrays)
    for i, cell in cells.items():
        values[i] = cell.value
    touched = prepared.op.effects_at(prepared.counts, prepared.attrs) if prepared.refs else {}
    for i in prepared.refs:
        if touched[i] in ("r", "rw"):
            cells[i].read()
    known = {i: np.asarray(values[i]) for i in static}
    executable = _executable(prepared, values, known, _check_on_host(prepared, values))
    dynamic = [v for i, v in enumerate(values) if i not in known and i not in prepared.writes]
    with wide_types():
        taken = [cells[i].take() for i in prepared.writes]
        outputs, written, conditions, held = executable.call(step_value, dynamic, taken)
    for i, value in zip(executable.written, written, strict=True):
        cells[i].write(value, fresh=True)
    if executable.checks:
        raise_failed(executable.checks, conditions, held, lambda key: "")
    return list(outputs)


def _check_on_host(prepared: PreparedOp, values: list[Any]) -> bool:
    """Whether all checks of the compiled kernel were made here, as the inputs allow it."""
    checks = prepared.op.host_checks
    if checks is None:
        return False
    inputs = [v for i, v in enumerate(values) if i not in prepared.refs]
    if not all(v.__class__ is np.ndarray for v in inputs):
        return False
    checks(KernelContext(prepared.op.name, prepared.attrs, None), *values)
    return True


def _with_small_vectors(static: tuple[int, ...], arrays: list[Any]) -> tuple[int, ...]:
    """`static` and the positions of integer vectors on the host that may be indices or sizes."""
    more = [
        i
        for i, a in enumerate(arrays)
        if a.__class__ is np.ndarray and a.ndim <= 1 and a.size <= 64 and a.dtype.kind in "iu"
    ]
    return tuple(sorted({*static, *more}))


class _Executable:
    """A jitted single operation; `checks` and `written` are filled while it is traced."""

    def __init__(
        self, prepared: PreparedOp, known: dict[int, Any], count: int, checked: bool
    ) -> None:
        self.checks: list[Check] = []
        self.written: list[int] = []
        function, wants_context = prepared.compiled  # type: ignore[misc]
        context = CheckedContext if checked else TraceContext

        def traced(step_value: Any, dynamic: list[Any], taken: list[Any]) -> Any:
            collected = Collected()
            remaining, owned = iter(dynamic), iter(taken)
            arguments: list[Any] = []
            for i in range(count):
                value = (
                    known[i] if i in known else next(owned if i in prepared.writes else remaining)
                )
                arguments.append(
                    TracedRef(prepared.op.name, value) if i in prepared.refs else value
                )
            old = [a.value if isinstance(a, TracedRef) else None for a in arguments]
            head = (
                (context(prepared.op.name, prepared.attrs, None, collected, step_value),)
                if wants_context
                else ()
            )
            results = function(*head, *arguments)
            outputs = _traced_outputs(prepared, results)
            self.checks[:] = collected.checks
            self.written[:] = [
                i for i, a in enumerate(arguments) if isinstance(a, TracedRef) and a.written
            ]
            written = [gate(collected, arguments[i], old[i]) for i in self.written]
            return outputs, written, collected.conditions, collected.values

        self.call = compile_function(
            traced, donate=(2,), elementwise=is_elementwise([prepared.op.name])
        )
        if prepared.op.name in lapack.OPERATIONS:  # none of them writes a variable
            self.call = functools.partial(lapack.Limit().run, self.call)


def _traced_outputs(prepared: PreparedOp, results: Any) -> list[Any]:
    flat = (results,) if prepared.single else (results if results is not None else ())
    return [jnp.asarray(r).astype(t) for r, t in zip(flat, prepared.out_numpy, strict=True)]


def _executable(
    prepared: PreparedOp, values: Sequence[Any], known: dict[int, Any], checked: bool
) -> _Executable:
    shapes = tuple((v.shape, v.dtype) if hasattr(v, "shape") else None for v in values)
    key = (id(prepared), checked, shapes, tuple((i, v.tobytes()) for i, v in known.items()))
    with _executables_lock:
        found = _executables.get(key)
        if found is not None:
            _executables.move_to_end(key)
            return found[1]  # type: ignore[no-any-return]
        made = _Executable(prepared, known, len(values), checked)
        _executables[key] = (prepared, made)
        if len(_executables) > COMPILED_OPS:
            _executables.popitem(last=False)
        return made
