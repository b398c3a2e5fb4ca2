"""Host kernels: NumPy arrays in, arrays of the declared dtypes out, errors with their place.

The shape rule of the operation checks the inputs first. What it allowed is remembered by the shapes
and the few numbers that it read.
"""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import determinism, effects
from penstock.core.kernels import HOST_LIMIT, ErrorClass, KernelContext, quiet
from penstock.core.lazy import jax, jax_is_loaded
from penstock.core.locks import Locks, holding
from penstock.core.prepared import UNBOUNDED, PreparedOp
from penstock.core.resources import (
    ResourceHandle,
    VariableCell,
    eager_resources,
    variables_of,
)
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import EagerTensor, wrap
from penstock.types.dims import Dims
from penstock.util.frames import at_user_line

# Up to Python 3.13 Ctrl-C is not raised between a lock's taking and the body of its `with`, nor
# between two locks of one; later ones are not known to promise that.
WITH_IS_WHOLE = sys.version_info < (3, 14)
KNOWN_LOCKS = 1024  # combinations of variables, per prepared operation
VALIDATED_SHAPES = 4096  # shape combinations remembered as valid, per prepared operation
SHORT_VALUES = 64  # bytes of an input whose values are remembered with the shapes


def run_small(prepared: PreparedOp, flat: Sequence[EagerTensor]) -> list[EagerTensor] | None:
    """The outputs of an operation on few numbers, which takes less time than to decide on it.

    None where something is to be decided: an input is no array of NumPy, there is much work, the
    operation has not met these shapes, or it failed; then the long way has the words for it.
    """
    if prepared.refs:
        return _small_on_variables(prepared, flat)
    if prepared.op.stateful and effects.switch.log is not None:
        return None
    arrays: list[Any] = []
    size = 0
    for tensor in flat:
        array = tensor._array
        if array.__class__ is not np.ndarray:
            if not isinstance(array, np.generic):
                return None
            array = np.asarray(array)
        arrays.append(array)
        size += array.size
    if size > prepared.small_limit and not is_single_work(prepared, size):
        return None
    key = tuple([a.shape for a in arrays])
    if prepared.op.shape_rule is not None and not _is_known(prepared, key, arrays):
        return None
    try:
        results = quiet.run(prepared.host, *prepared.head, *arrays)  # type: ignore[arg-type]
    except Exception:
        return None
    dtypes = prepared.out_dtypes
    if (
        prepared.single
        and results.__class__ is np.ndarray
        and results.dtype is prepared.out_numpy[0]
    ):
        return [wrap(results, dtypes[0])]
    return [wrap(a, t) for a, t in zip(conform(prepared, results), dtypes, strict=True)]


def is_single_work(prepared: PreparedOp, total: int) -> bool:
    """Whether a single call on so many elements runs on the host, where no accelerator is known.

    Nothing is imported to find out. With determinism, sizes that the machine sets decide nothing.
    """
    if total > prepared.single_limit or determinism.switch.fixed:
        return False
    return not jax_loaded() or host_computes()


def host_computes() -> bool:
    """Whether compiled code runs on the host's processors too: there is no accelerator."""
    return bool(jax.default_backend() == "cpu")


def jax_loaded() -> bool:
    """Whether somebody has imported JAX; asking does not."""
    return "Array" in jax.__dict__ or jax_is_loaded()


def _small_on_variables(
    prepared: PreparedOp, flat: Sequence[EagerTensor]
) -> list[EagerTensor] | None:
    """`run_small` of an operation that updates variables, or reads some numbers of one."""
    if effects.switch.log is not None:
        return None
    arrays: list[Any] = [tensor._array for tensor in flat]
    cells: list[VariableCell] = []
    shapes: list[Dims] = []
    for place, array in enumerate(arrays):
        if array.__class__ is np.ndarray:
            shapes.append(array.shape)
            continue
        cell = array.resource if array.__class__ is ResourceHandle else None
        if cell.__class__ is not VariableCell:  # an array of XLA's, or another resource
            return None
        arrays[place] = cell
        cells.append(cell)
        shapes.append(cell.dims)
    if len(cells) != len(prepared.refs):
        return None
    last, size = prepared.last
    if shapes != last:
        size = _known_size(prepared, arrays, cells)
        if size < 0:
            return None
        prepared.last = (shapes, size) if not prepared.reads else _NOTHING
    locks = _locks(prepared, cells)
    if not WITH_IS_WHOLE:
        owners = {id(cell): cell for cell in cells}.values()
        found: list[EagerTensor] | None = holding(
            Locks(owners), lambda: _small_locked(prepared, arrays, cells, size)
        )
        return found
    match len(locks):
        case 1:
            with locks[0]:
                return _small_locked(prepared, arrays, cells, size)
        case 2:
            with locks[0], locks[1]:
                return _small_locked(prepared, arrays, cells, size)
        case 3:
            with locks[0], locks[1], locks[2]:
                return _small_locked(prepared, arrays, cells, size)
        case 4:
            with locks[0], locks[1], locks[2], locks[3]:
                return _small_locked(prepared, arrays, cells, size)
    return None


_NOTHING: tuple[Any, int] = (None, 0)


def _known_size(prepared: PreparedOp, arrays: Sequence[Any], cells: Sequence[Any]) -> int:
    """How many elements the arrays have; -1 where these shapes are not known to be allowed."""
    key = [a.shape if a.__class__ is np.ndarray else () for a in arrays]
    key += [cell.dims for cell in cells]
    if not _is_known(prepared, tuple(key), arrays):
        return -1
    return sum(array.size for array in arrays if array.__class__ is np.ndarray)


def _locks(prepared: PreparedOp, cells: list[VariableCell]) -> tuple[Any, ...]:
    """The variables' locks, each once, in their order, which is found once for the same variables.

    Locks, and not variables, are the key: no variable lives longer for it.
    """
    if len(cells) == 1:
        return (cells[0].lock,)
    key = tuple([cell.lock for cell in cells])
    found = prepared.locks.get(key)
    if found is None:
        if len(prepared.locks) >= KNOWN_LOCKS:
            prepared.locks.clear()
        ordered = sorted({id(cell): cell for cell in cells}.values(), key=id)
        found = prepared.locks[key] = tuple([cell.lock for cell in ordered])
    return found


def _small_locked(
    prepared: PreparedOp, arrays: list[Any], cells: list[VariableCell], size: int
) -> list[EagerTensor] | None:
    """The same while the variables' locks are held; `size` is that of the other inputs."""
    if not _is_small(prepared, arrays, cells, size) and not changes_rows_in_place(prepared, cells):
        return None
    try:
        results = quiet.run(prepared.host, *prepared.head, *arrays)  # type: ignore[arg-type]
    except Exception:  # variables have their old values: kernels write when all is computed
        return None
    if results is None:
        return []
    several = results if results.__class__ in (list, tuple) else (results,)
    if any(hasattr(type(each), "addressable_shards") for each in several):
        return None  # an array on a device, which may be the variable's own
    dtypes = prepared.out_dtypes
    return [wrap(a, t) for a, t in zip(conform(prepared, results), dtypes, strict=True)]


def _is_small(
    prepared: PreparedOp, arrays: list[Any], cells: list[VariableCell], size: int
) -> bool:
    """Whether the host has the variables and they are few numbers, or the kernel looks at few."""
    for cell in cells:
        value = cell.value
        if value.__class__ is np.ndarray and value.size <= prepared.single_limit:
            size += value.size
        elif prepared.compiled is None and prepared.limit >= UNBOUNDED and value is not None:
            pass  # a question that looks at no numbers
        elif not _reads_few_rows(prepared, value, arrays[prepared.refs[0] + 1 :]):
            return False
    return size <= prepared.small_limit or is_single_work(prepared, size)


def changes_rows_in_place(prepared: PreparedOp, cells: Sequence[Any]) -> bool:
    """Whether an operation changes some rows of a variable where the host has them.

    Its work does not depend on the variable's size then. The variable's lock is held, or another
    thread may make the answer wrong: the kernel asks again.
    """
    kernel = prepared.host_kernel
    if not prepared.writes or kernel is None or not kernel.by_rows:
        return False
    if determinism.switch.fixed:  # compiled code has other results below the least normal number
        return False
    return all(cell.__class__ is VariableCell and cell.holds_alone() for cell in cells)


def _reads_few_rows(prepared: PreparedOp, value: Any, indices: list[Any]) -> bool:
    """Whether an operation takes some rows out of a variable's array on this machine's memory."""
    kernel = prepared.host_kernel
    if prepared.writes or kernel is None or not kernel.by_rows or value is None:
        return False
    return few_rows(value, indices) and not on_accelerator([value])


def few_rows(variable: Any, indices: Sequence[Any]) -> bool:
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
        if hasattr(type(array), "addressable_shards")
        for device in array.devices()
    )


def _is_known(prepared: PreparedOp, key: tuple[Dims, ...], arrays: Sequence[Any]) -> bool:
    """Whether the shape rule has allowed these shapes before, with the numbers that it reads."""
    if key in prepared.validated:
        return True
    read = prepared.reads
    return bool(read) and (*key, *_numbers(read, arrays)) in prepared.validated


_TOO_BIG = "array is too big"  # NumPy says so of arrays whose bytes no number counts


def run_host(
    prepared: PreparedOp, arrays: Sequence[Any], context: KernelContext | None = None
) -> Sequence[Any]:
    """Runs the host kernel on NumPy arrays and returns flat results in the declared dtypes."""
    op = prepared.op
    arguments: list[Any] = [a if a.__class__ is np.ndarray else host_value(a) for a in arrays]
    if op.shape_rule is not None:
        validate(prepared, arguments)
    for position, resource in zip(prepared.refs, referred(prepared, arguments), strict=True):
        arguments[position] = resource
    try:
        results = _call_host(prepared, arguments, context)
    except errors.OpError as problem:
        raise located(problem, op.name) from problem.__cause__
    except (MemoryError, ValueError, TypeError, IndexError, OverflowError) as problem:
        if not isinstance(problem, MemoryError):
            kernel = prepared.host_kernel
            if kernel is not None and kernel.reentrant:
                raise
            if not str(problem).startswith(_TOO_BIG):
                raise errors.InvalidArgumentError(
                    None, None, f"{problem} [Op:{op.name}]{at_user_line()}"
                ) from problem
        what = str(problem).rstrip(".") or "there is no memory left"
        raise errors.ResourceExhaustedError(
            None,
            None,
            f"OOM when allocating: {what}. Take smaller batches or sizes. [Op:{op.name}]"
            f"{at_user_line()}",
        ) from problem
    return conform(prepared, results)


def referred(prepared: PreparedOp, arrays: Sequence[Any]) -> list[Any]:
    """What the handles refer to that an operation has effects on.

    Raises:
      InvalidArgumentError: they are to be variables, and one is not.
    """
    handles = [arrays[i] for i in prepared.refs]
    if not prepared.of_variables:
        return [handle.resource for handle in handles]
    try:
        return variables_of(handles)
    except errors.OpError as problem:
        raise located(problem, prepared.op.name) from None


def plain_kernel(prepared: PreparedOp) -> Callable[..., Any] | None:
    """The host kernel, if it takes arrays and gives arrays and nothing else happens; else None.

    What asks for a context of its step although it has no effects only wants to check its inputs.
    """
    kernel, function = prepared.host_kernel, prepared.host
    if kernel is None or function is None or prepared.refs or prepared.op.stateful:
        return None
    if kernel.reentrant or prepared.op.step_input is not None:
        return None
    if not kernel.wants_context:
        return function
    checks = KernelContext(prepared.op.name, prepared.attrs, eager_resources, prepared.device)
    return functools.partial(function, checks)


def allow(
    prepared: PreparedOp,
    allowed: set[tuple[Dims, ...]],
    fixed: frozenset[int],
    key: tuple[Dims, ...],
    *arguments: Any,
) -> None:
    """Checks shapes for an operation in one place of a program.

    Args:
      prepared: the operation.
      allowed: the shapes that are known to be allowed in this place; new ones are added.
      fixed: positions of inputs that are always the same here.
      key: the shapes of the inputs, () for what has none.
      arguments: the inputs.
    """
    validate(prepared, arguments)
    if fixed.issuperset(prepared.reads) and _is_known(prepared, key, arguments):
        if len(allowed) > VALIDATED_SHAPES:
            allowed.clear()
        allowed.add(key)


def host_value(array: Any) -> Any:
    """What a host kernel takes for an input: an array of NumPy's, or what is no array."""
    if array.__class__ is ResourceHandle:
        return array
    if isinstance(array, np.generic):
        return np.asarray(array)
    # of the type: the property itself collects what it gives
    return np.asarray(array) if hasattr(type(array), "addressable_shards") else array


def _call_host(prepared: PreparedOp, arguments: list[Any], context: KernelContext | None) -> Any:
    kernel, function = prepared.host_kernel, prepared.host
    assert kernel is not None
    assert function is not None
    if kernel.wants_context:
        if context is None:
            context = KernelContext(
                prepared.op.name, prepared.attrs, eager_resources, prepared.device
            )
        if kernel.reentrant:
            return function(context, *arguments)
        touched = [arguments[i] for i in prepared.refs]
        with np.errstate(all="ignore"):
            return locked(touched, lambda: function(context, *arguments))
    if kernel.reentrant:
        return function(*arguments)
    touched = [arguments[i] for i in prepared.refs]
    if touched:
        return locked(touched, lambda: quiet.run(function, *arguments))
    return quiet.run(function, *arguments)


def locked(touched: Sequence[Any], run: Callable[[], Any]) -> Any:
    """Runs while holding the locks of the variables that are touched, taken in one order."""
    cells = {id(c): c for c in touched if hasattr(c, "lock")}
    if not cells:
        return run()
    return holding(Locks(cells.values()), run)


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
        elif hasattr(type(array), "addressable_shards"):
            out.append(array if array.dtype == wanted else np.asarray(array).astype(wanted))
        else:
            out.append(_object_scalar(array) if wanted.kind == "O" else np.asarray(array, wanted))
    return out


def _object_scalar(value: Any) -> np.ndarray[Any, Any]:
    result = np.empty((), object)
    result[()] = value
    return result


class _RuleInputs:
    """The inputs of an operation as its shape rule sees them, and which values it looked at."""

    def __init__(self, prepared: PreparedOp, arrays: Sequence[Any]) -> None:
        self._refs = prepared.refs
        self._arrays = arrays
        self.read: set[int] = set()
        self.uses_values = False  # whether more than the shapes and a few numbers were looked at

    def constant(self, index: int) -> np.ndarray[Any, Any] | None:
        """The value of an input."""
        array = self._arrays[index]
        self.read.add(index)
        self.uses_values = self.uses_values or not _is_short(array)
        return array if array.__class__ is np.ndarray else None

    def shape_value(self, index: int) -> Dims:
        """The value of an input that is a shape."""
        value = self.constant(index)
        if value is None:
            return None
        return tuple([None if v < 0 else int(v) for v in value.reshape(-1)])

    def variable_shape(self, index: int) -> Dims:
        """The shape of the variable that an input refers to."""
        resource = getattr(self._arrays[index], "resource", None)  # lists of tensors have none
        self.uses_values |= resource is not None and index not in self._refs
        return getattr(resource, "dims", None)


def validate(prepared: PreparedOp, arrays: Sequence[Any]) -> None:
    """Runs the shape rule on the actual shapes: once each, with the few numbers that it reads."""
    op = prepared.op
    key = tuple([getattr(a, "shape", ()) for a in arrays])
    for position in prepared.refs:
        key += (getattr(arrays[position].resource, "dims", None),)
    if _is_known(prepared, key, arrays):
        return
    inputs = _RuleInputs(prepared, arrays)
    try:
        op.shape_rule(_context(prepared, key[: len(arrays)], inputs))  # type: ignore[misc]
    except (ValueError, TypeError) as problem:
        raise errors.InvalidArgumentError(
            None, None, f"{problem} [Op:{op.name}]{at_user_line()}"
        ) from None
    if not inputs.uses_values:
        _remember(prepared, key, arrays, inputs.read)


def refusal(prepared: PreparedOp, arrays: Sequence[Any]) -> str:
    """What the shape rule has against inputs that are traced; empty where it allows them.

    Compiled kernels check nothing: what a graph could not know of shapes and values, and what it
    left to the step, shows here.
    """
    if prepared.op.shape_rule is None or prepared.op.calls:  # those look at their bodies themselves
        return ""
    shapes = tuple([_traced_shape(a) for a in arrays])
    context = _context(prepared, shapes, _RuleInputs(prepared, arrays))
    try:
        prepared.op.shape_rule(context)
    except (ValueError, TypeError) as problem:
        return str(problem)
    return ""


def _traced_shape(array: Any) -> Dims:
    """The shape of a traced array; sizes that an export leaves open are unknown."""
    if not isinstance(array, (np.ndarray, np.generic, jax.Array)):
        return ()  # a handle or a list
    return tuple([n if isinstance(n, int) else None for n in array.shape])


def _context(prepared: PreparedOp, shapes: tuple[Dims, ...], inputs: "_RuleInputs") -> ShapeContext:
    return ShapeContext(
        prepared.op.name,
        shapes,
        prepared.in_dtypes,
        prepared.attrs,
        inputs.constant,
        inputs.shape_value,
        inputs.variable_shape,
        running=True,
    )


def _remember(
    prepared: PreparedOp, key: tuple[Dims, ...], arrays: Sequence[Any], read: set[int]
) -> None:
    """Notes that the shape rule allowed these shapes, having read these inputs."""
    if len(prepared.validated) > VALIDATED_SHAPES:
        prepared.validated.clear()
    known = prepared.reads  # another thread may change it: the key has what this call read
    if not read <= set(known):
        known = prepared.reads = tuple(sorted(read.union(known)))
    prepared.validated.add((*key, *_numbers(known, arrays)))


def _is_short(array: Any) -> bool:
    """Whether an input is a few numbers: axes, sizes, a shape, a limit."""
    if array.__class__ is not np.ndarray:
        return False
    return array.nbytes <= SHORT_VALUES and array.dtype.kind in "iubf"


def _numbers(positions: tuple[int, ...], arrays: Sequence[Any]) -> list[Any]:
    """The positions and values of inputs that shape rules read, for the table of valid shapes."""
    return [(i, arrays[i].tobytes() if _is_short(arrays[i]) else None) for i in positions]


def located(problem: errors.OpError, op_name: str) -> errors.OpError:
    """The error with the operation's name and the user's line, unless it has them."""
    if "[Op:" in problem.message:
        return problem
    made: ErrorClass = type(problem)
    return made(None, None, f"{problem.message} [Op:{op_name}]{at_user_line()}")
