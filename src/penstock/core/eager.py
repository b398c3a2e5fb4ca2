"""Running one operation now.

`PreparedOp` holds what follows from an operation's definition, the dtypes of its inputs and its
attributes: completed attributes, output dtypes, kernels with attributes bound. It is built once and
found again by that key.

Small work runs on the host kernel, inline. Large work runs compiled when the shapes came before: a
size that is new runs on the host, so that sizes that never come back cost no compilation.
"""

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import attributes, determinism, effects, lapack
from penstock.core.compiling import compile_function, is_elementwise
from penstock.core.context import state, watching
from penstock.core.kernels import (
    HOST_LIMIT,
    ErrorClass,
    Kernel,
    KernelContext,
    bind,
    missing_kernel,
    quiet,
    select,
)
from penstock.core.lazy import jax, jax_is_loaded, jnp, wide_types
from penstock.core.locks import Locks, call, drain
from penstock.core.op_def import OpDef
from penstock.core.resources import ResourceHandle, ResourceManager
from penstock.core.shapes import ShapeContext
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
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType
from penstock.util.frames import user_frame

VALIDATED_SHAPES = 4096  # shape combinations remembered as valid, per prepared operation
SHORT_VALUES = 64  # bytes of an input whose values are remembered with the shapes
COMPILED_OPS = 1024  # single-operation executables kept
UNBOUNDED = 1 << 62  # the limit of kernels that take arrays of any size as they are

eager_resources = ResourceManager()


class PreparedOp:
    """An operation with known dtypes and attributes, ready to run."""

    __slots__ = (
        "attrs", "compiled", "counts", "device", "host", "host_kernel", "in_dtypes", "leasing",
        "limit", "op", "out_dtypes", "out_numpy", "reads", "refs", "seen", "single", "static",
        "validated", "writes",
    )  # fmt: skip

    def __init__(
        self,
        op: OpDef,
        in_dtypes: tuple[DType, ...],
        counts: Sequence[int],
        given: dict[str, Any],
        device: str,
    ) -> None:
        self.op = op
        self.device = device
        self.in_dtypes = in_dtypes
        self.counts = tuple(counts)
        self.attrs = attributes.complete(op, in_dtypes, given, counts, runtime=True)
        self.out_dtypes = attributes.output_dtypes(op, self.attrs)
        self.out_numpy = tuple(
            None if t in (dt.resource, dt.variant) else t.numpy_dtype for t in self.out_dtypes
        )
        self.single = len(op.outputs) == 1 and not op.outputs[0].is_list
        self.refs, self.writes = effect_positions(op, counts, self.attrs)
        self.host_kernel: Kernel | None = select(op.name, "host", device, self.attrs)
        arrays = not any(t is dt.string for t in (*in_dtypes, *self.out_dtypes))
        compiled = select(op.name, "compiled", device, self.attrs) if arrays else None
        if self.host_kernel is None and compiled is None:
            raise missing_kernel(op.name, device, self.attrs)
        self.host: Callable[..., Any] | None = (
            bind(op, self.host_kernel, self.attrs) if self.host_kernel else None
        )
        if self.host is not None and op.name in lapack.OPERATIONS:
            self.host = lapack.limited(self.host)
        self.compiled: tuple[Callable[..., Any], bool] | None = (
            (bind(op, compiled, self.attrs), compiled.wants_context) if compiled else None
        )
        self.limit = self.host_kernel.limit if self.host_kernel else 0
        if dt.variant in in_dtypes or dt.variant in self.out_dtypes:
            self.limit = 1 << 62  # only regions hold lists as arrays
        reentrant = self.host_kernel is not None and self.host_kernel.reentrant
        # Whether outputs may be variables' own arrays; user code takes no part in it.
        self.leasing = bool(self.refs and self.out_dtypes) and not reentrant
        self.validated: set[Any] = set()
        self.reads: tuple[int, ...] = ()  # inputs whose values the shape rule has read
        self.seen: set[Any] = set()
        self.static = _static_positions(self)


def effect_positions(
    op: OpDef, counts: Sequence[int], attrs: dict[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Flat positions of the inputs the operation has effects on, and of those it writes."""
    touched = op.effects_at(counts, attrs)
    refs = sorted(touched)
    return tuple(refs), tuple(i for i in refs if "w" in touched[i])


def prepare(
    op: OpDef, flat: Sequence[Any], counts: Sequence[int] | None, attrs: dict[str, Any], device: str
) -> PreparedOp:
    """The prepared operation for these inputs and attributes."""
    in_dtypes = tuple([t._dtype for t in flat])
    key: Any = (
        (in_dtypes, counts, tuple(attrs.items()), device)
        if attrs or counts or device != "CPU"
        else in_dtypes
    )
    try:
        found = op.prepared.get(key)
    except TypeError:  # an attribute given as a list, say
        attrs = {
            n: attributes.canonical(op, attributes._known(op, n), v)
            for n, v in attrs.items()
            if v is not None
        }
        key = (in_dtypes, counts, tuple(attrs.items()), device)
        found = op.prepared.get(key)
    if found is None:
        _refuse_references(op)
        if len(op.prepared) > 4096:
            op.prepared.clear()
        for name, value in attrs.items():  # a value of the wrong kind is a TypeError here too
            if value is not None and name in op.attrs:
                attributes.canonical(op, op.attrs[name], value)
        try:
            found = PreparedOp(op, in_dtypes, counts or (1,) * len(op.inputs), attrs, device)
        except errors.UnimplementedError as problem:  # no kernel: eager TensorFlow says not found
            raise errors.NotFoundError(None, None, problem.message) from None
        except (TypeError, ValueError) as problem:
            raise attributes.user_error(op.name, problem, eager=True) from None
        if not op.calls:  # its bodies would live as long as the cache
            op.prepared[key] = found
    return found


def _refuse_references(op: OpDef) -> None:
    for arg in (*op.outputs, *op.inputs):
        if arg.is_ref:
            raise RuntimeError(
                f"{op.name} op does not support eager execution. Arg '{arg.name}' is a ref. Use it "
                "in a tf.Graph, or tf.Variable and its methods."
            )


def run_eager(
    op: OpDef, flat: tuple[EagerTensor, ...], counts: Sequence[int] | None, attrs: dict[str, Any]
) -> tuple[Sequence[EagerTensor], dict[str, Any]]:
    """Runs an operation now; returns its flat outputs and completed attributes."""
    place = state.place
    if place is not None:
        place(())  # a device that is not there is refused before anything happens
    device = device_type(state.device)
    prepared = prepare(op, flat, counts, attrs, device)
    in_turn = effects.switch.log is not None and op.stateful
    run = _run_in_turn if in_turn else _run_now
    watcher = watching.watcher  # another thread may take it away
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
        cells = [arrays[i].resource for i in prepared.refs]
        return _locked(cells, lambda: _run_leasing(prepared, flat, arrays))  # type: ignore[no-any-return]
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
    return run_host(prepared, arrays)


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
    for i, array in enumerate(arrays):
        if i in prepared.refs:
            array = getattr(array.resource, "value", None)
            if prepared.limit >= UNBOUNDED:
                continue
            if prepared.host_kernel.by_rows and _few_rows(array, arrays[i + 1 :]):  # type: ignore[union-attr]
                return not on_accelerator([array])
        total += getattr(array, "size", 0)
        if array.__class__ is not np.ndarray:
            looked_at.append(array)
    if total <= prepared.limit:
        return not looked_at or _runs_user_code(prepared) or not on_accelerator(looked_at)
    if determinism.switch.fixed or any(i in prepared.refs for i in range(len(arrays))):
        return False
    key = tuple(getattr(a, "shape", None) for a in arrays)
    if key in prepared.seen:
        return False
    if len(prepared.seen) > VALIDATED_SHAPES:
        prepared.seen.clear()
    prepared.seen.add(key)
    return not any(isinstance(a, jax.Array) for a in arrays) if _jax_loaded() else True


def _few_rows(variable: Any, indices: Sequence[Any]) -> bool:
    """Whether the rows of the variable that `indices` name are small work."""
    if getattr(variable, "size", 0) == 0 or variable.ndim == 0:
        return False
    width = variable.size // len(variable)
    return bool(sum(a.size for a in indices) * width <= HOST_LIMIT)


def on_accelerator(arrays: Sequence[Any]) -> bool:
    """Whether one of the arrays is on a device that has memory of its own."""
    return any(
        device.platform != "cpu"
        for array in arrays
        if hasattr(array, "addressable_shards")
        for device in array.devices()
    )


def _runs_user_code(prepared: PreparedOp) -> bool:
    return prepared.host_kernel is not None and prepared.host_kernel.reentrant


def _jax_loaded() -> bool:
    return "Array" in jax.__dict__ or jax_is_loaded()


# ---- host ----------------------------------------------------------------------------------------


def run_host(
    prepared: PreparedOp, arrays: Sequence[Any], context: KernelContext | None = None
) -> Sequence[Any]:
    """Runs the host kernel on NumPy arrays and returns flat results in the declared dtypes."""
    op = prepared.op
    arguments: list[Any] = [a if a.__class__ is np.ndarray else _host_value(a) for a in arrays]
    if op.shape_rule is not None:
        validate(prepared, arguments)
    for position in prepared.refs:
        arguments[position] = arguments[position].resource
    try:
        results = _call_host(prepared, arguments, context)
    except errors.OpError as problem:
        raise located(problem, op.name) from problem.__cause__
    except (ValueError, TypeError, IndexError, OverflowError) as problem:
        kernel = prepared.host_kernel
        if kernel is not None and kernel.reentrant:
            raise
        raise errors.InvalidArgumentError(
            None, None, f"{problem} [Op:{op.name}]{_at_user_line()}"
        ) from problem
    return conform(prepared, results)


def _host_value(array: Any) -> Any:
    if isinstance(array, np.generic):
        return np.asarray(array)
    return np.asarray(array) if hasattr(array, "addressable_shards") else array


def _call_host(prepared: PreparedOp, arguments: list[Any], context: KernelContext | None) -> Any:
    kernel, function = prepared.host_kernel, prepared.host
    assert kernel is not None
    assert function is not None
    touched = [arguments[i] for i in prepared.refs]
    if kernel.wants_context:
        if context is None:
            context = KernelContext(
                prepared.op.name, prepared.attrs, eager_resources, prepared.device
            )
        if kernel.reentrant:
            return function(context, *arguments)
        with np.errstate(all="ignore"):
            return _locked(touched, lambda: function(context, *arguments))
    if kernel.reentrant:
        return function(*arguments)
    if touched:
        return _locked(touched, lambda: quiet.run(function, *arguments))
    return quiet.run(function, *arguments)


def _locked(touched: Sequence[Any], run: Callable[[], Any]) -> Any:
    """Runs while holding the locks of the variables that are touched, taken in one order."""
    cells = {id(c): c for c in touched if hasattr(c, "lock")}
    if not cells:
        return run()
    locks = Locks(cells.values())
    held: list[Any] = []
    back = map(call, iter(held))
    try:
        held.extend(compress(locks.releases, map(call, locks.acquires)))
        return run()
    finally:
        drain(back)


def conform(prepared: PreparedOp, results: Any) -> list[Any]:
    """Flat results as arrays of the declared dtypes."""
    if prepared.single:
        results = (results,)
    elif results is None:
        results = ()
    out = []
    for array, wanted in zip(results, prepared.out_numpy, strict=True):
        if wanted is None:
            out.append(array)
        elif array.__class__ is np.ndarray or isinstance(array, np.generic):
            out.append(array if array.dtype == wanted else array.astype(wanted))
        elif hasattr(array, "addressable_shards"):
            out.append(array if array.dtype == wanted else np.asarray(array).astype(wanted))
        else:
            out.append(_object_scalar(array) if wanted.kind == "O" else np.asarray(array, wanted))
    return out


def _object_scalar(value: Any) -> np.ndarray[Any, Any]:
    result = np.empty((), object)
    result[()] = value
    return result


def validate(prepared: PreparedOp, arrays: Sequence[Any]) -> None:
    """Runs the shape rule on the actual shapes: once each, with the few numbers that it reads."""
    op = prepared.op
    key = tuple([getattr(a, "shape", ()) for a in arrays])
    for position in prepared.refs:
        key += (getattr(arrays[position].resource, "dims", None),)
    if key in prepared.validated:
        return
    read_before = prepared.reads
    if read_before and (*key, *_numbers(read_before, arrays)) in prepared.validated:
        return
    uses_values = False
    read: set[int] = set()

    def constant(index: int) -> np.ndarray[Any, Any] | None:
        nonlocal uses_values
        array = arrays[index]
        read.add(index)
        uses_values = uses_values or not _is_short(array)
        return array if array.__class__ is np.ndarray else None

    def shape_value(index: int) -> Dims:
        value = constant(index)
        return (
            None if value is None else tuple(None if v < 0 else int(v) for v in value.reshape(-1))
        )

    def variable_shape(index: int) -> Dims:
        nonlocal uses_values
        uses_values = uses_values or index not in prepared.refs
        return getattr(getattr(arrays[index], "resource", None), "dims", None)

    context = ShapeContext(
        op.name,
        key[: len(arrays)],
        prepared.in_dtypes,
        prepared.attrs,
        constant,
        shape_value,
        variable_shape,
        running=True,
    )
    try:
        op.shape_rule(context)  # type: ignore[misc]
    except (ValueError, TypeError) as problem:
        raise errors.InvalidArgumentError(
            None, None, f"{problem} [Op:{op.name}]{_at_user_line()}"
        ) from None
    if not uses_values:
        if len(prepared.validated) > VALIDATED_SHAPES:
            prepared.validated.clear()
        if not read <= set(read_before):
            read_before = prepared.reads = tuple(sorted(read.union(read_before)))
        prepared.validated.add((*key, *_numbers(read_before, arrays)))


def _is_short(array: Any) -> bool:
    """Whether an input is a few whole numbers: axes, sizes, a shape."""
    if array.__class__ is not np.ndarray:
        return False
    return array.nbytes <= SHORT_VALUES and array.dtype.kind in "iub"


def _numbers(positions: tuple[int, ...], arrays: Sequence[Any]) -> list[Any]:
    """The positions and values of inputs that shape rules read, for the table of valid shapes."""
    return [(i, arrays[i].tobytes() if _is_short(arrays[i]) else None) for i in positions]


def located(problem: errors.OpError, op_name: str) -> errors.OpError:
    """The error with the operation's name and the user's line, unless it has them."""
    if "[Op:" in problem.message:
        return problem
    made: ErrorClass = type(problem)
    return made(None, None, f"{problem.message} [Op:{op_name}]{_at_user_line()}")


def _at_user_line() -> str:
    frame = user_frame()
    return f" (at {frame.file}:{frame.line})" if frame is not None else ""


# ---- compiled ------------------------------------------------------------------------------------


_executables: "OrderedDict[Any, Any]" = OrderedDict()
_executables_lock = threading.Lock()  # guards: _executables


def run_compiled(prepared: PreparedOp, arrays: list[Any]) -> Sequence[Any]:
    """Runs the operation as an executable of its own."""
    if prepared.op.shape_rule is not None:
        validate(prepared, arrays)
    cells = {i: arrays[i].resource for i in prepared.refs}
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


def _static_positions(prepared: PreparedOp) -> tuple[int, ...]:
    """Flat positions of inputs whose values the compiled kernel must know."""
    op = prepared.op
    if not op.host_inputs:
        return ()
    positions: list[int] = []
    position = 0
    for arg in op.inputs:
        if arg.number_attr is not None:
            count = prepared.attrs[arg.number_attr]
        elif arg.type_list_attr is not None:
            count = len(prepared.attrs[arg.type_list_attr])
        else:
            count = 1
        if arg.name in op.host_inputs:
            positions.extend(range(position, position + count))
        position += count
    return tuple(positions)


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
