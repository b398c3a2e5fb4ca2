"""Python functions as operations: `py_function`, `numpy_function`, and version 1's `py_func`.

When operations run at once the function is simply called, and a tape sees the operations inside it.
In a graph an operation holds a token; `_functions` maps tokens to functions as long as the graph
lives. The gradient of `py_function` runs the tape of the forward call: the kernel keeps the last
`KEPT_TAPES` of them once a gradient is asked for, each for its step.
"""

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import context
from penstock.core.arrays import is_held, to_array
from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.core.convert import constant_tensor, convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.tensor import EagerTensor, wrap
from penstock.ops.py_composites import flattened, packed, tensor_types
from penstock.types.dtypes import DType, as_dtype
from penstock.types.type_spec import TypeSpec
from penstock.util import nest

Array = Any
KEPT_TAPES = 64  # forward calls of one function that wait for their gradient

PY_FUNC = define_op(
    "PyFunc(input: [Tin]; token: string, Tin: list(type) >= 0, Tout: list(type) >= 0) -> output: "
    "[Tout]",
    shape=lambda c: [None] * len(c.attr("Tout")),
    stateful=True,
    doc="Calls a Python function on NumPy arrays.",
).not_differentiable("it calls a function on arrays, outside of any tape; use tf.py_function")
PY_FUNC_STATELESS = define_op(
    "PyFuncStateless(input: [Tin]; token: string, Tin: list(type) >= 0, Tout: list(type) >= 0) -> "
    "output: [Tout]",
    shape=lambda c: [None] * len(c.attr("Tout")),
    doc="Calls a Python function without effects on NumPy arrays.",
).not_differentiable("it calls a function on arrays, outside of any tape; use tf.py_function")
EAGER_PY_FUNC = define_op(
    "EagerPyFunc(input: [Tin]; token: string, is_async: bool = False, Tin: list(type) >= 0, Tout: "
    "list(type) >= 0) -> output: [Tout]",
    shape=lambda c: [None] * len(c.attr("Tout")),
    stateful=True,
    doc="Calls a Python function on eager tensors.",
)


class _Function:
    """A Python function behind a token, and the tapes of its calls that wait for their gradient."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", "of class " + type(function).__name__)
        self.wants_tapes = False
        self.tapes: deque[tuple[Any, Any, list[Any], list[Any]]] = deque(maxlen=KEPT_TAPES)
        self.lock = threading.Lock()  # guards: tapes

    def take(self, step: Any) -> Any:
        """The tape of the last call in this step, or None."""
        with self.lock:
            for i in reversed(range(len(self.tapes))):
                if self.tapes[i][0] is step:
                    entry = self.tapes[i]
                    del self.tapes[i]
                    return entry
        return None


_functions: dict[str, _Function] = {}
_lock = threading.Lock()  # guards: _functions, _count
_count = 0


def _register(function: Callable[..., Any], graph: Any) -> str:
    """A token for `function`, valid as long as `graph` lives."""
    global _count
    with _lock:
        token = f"pyfunc_{_count}"
        _count += 1
        _functions[token] = _Function(function)
    weakref.finalize(graph, _functions.pop, token, None)
    return token


def _lookup(token: Any) -> _Function:
    name = token.decode() if isinstance(token, bytes) else token
    found = _functions.get(name)
    if found is None:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"callback {name} is not found: expected a function of this process whose graph is "
            "alive. A graph that calls Python functions cannot be run elsewhere.",
        )
    return found


# ---- kernels

_STATUS = (  # the first that fits: the status of an operation whose function raised
    ((TypeError, ValueError), errors.InvalidArgumentError),
    ((StopIteration,), errors.OutOfRangeError),
    ((MemoryError,), errors.ResourceExhaustedError),
    ((NotImplementedError,), errors.UnimplementedError),
    ((Exception,), errors.UnknownError),
)


class _Raised:
    """A context in which what a function raises becomes the error of the operation that calls it.

    The exception itself stays the cause. KeyboardInterrupt and SystemExit pass.
    """

    def __init__(self, name: str, passing: tuple[type[Exception], ...] = ()) -> None:
        self.name = name
        self.passing = passing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: BaseException | None, traceback: Any) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, self.passing):
            error = next(status for kinds, status in _STATUS if isinstance(problem, kinds))
            raise error(
                None,
                None,
                f"{type(problem).__name__}: {problem}\n\nRaised by the Python function "
                f"{self.name}; its traceback is above.",
            ) from problem


def _outputs(result: Any, types: Sequence[DType], name: str) -> list[Array]:
    """What a function returned as arrays of the declared dtypes."""
    if result is None and not types:
        given: list[Any] = []
    else:
        given = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(given) != len(types):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{name} returned {len(given)} values, expected {len(types)}. Return one value for "
            "each entry of Tout.",
        )
    return [_as_output(v, t, i, name) for i, (v, t) in enumerate(zip(given, types, strict=True))]


def _as_output(value: Any, dtype: DType, index: int, name: str) -> Array:
    array, found = (
        (np.asarray(value._array), value.dtype)
        if isinstance(value, EagerTensor)
        else to_array(value, None)
    )
    if found is not dtype:
        if isinstance(value, (EagerTensor, np.ndarray, np.generic)):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{index}-th value returned by {name} is {found.name}, but expects {dtype.name}. "
                "Cast it.",
            )
        array = to_array(value, dtype)[0]
    if not isinstance(value, EagerTensor) and is_held(array, value):
        return array.copy()  # the function may fill the same one again when it is called next
    return array


def _call_on_arrays(token: Any, arrays: Sequence[Array], types: Sequence[DType]) -> list[Array]:
    held = _lookup(token)
    with context.graph_scope(None), context.no_recording():
        with _Raised(held.name):
            result = held.function(*[a[()] if a.ndim == 0 else a for a in arrays])
        with _Raised(held.name, passing=(errors.OpError,)):
            return _outputs(result, types, held.name)


for _op in (PY_FUNC, PY_FUNC_STATELESS):

    @host_kernel(_op, limit=1 << 62, reentrant=True)
    def _py_func(inputs: list[Array], *, token: Any, Tout: Any) -> list[Array]:
        return _call_on_arrays(token, inputs, Tout)


@host_kernel(EAGER_PY_FUNC, limit=1 << 62, reentrant=True)
def _eager_py_func(
    ctx: KernelContext, inputs: list[Array], *, token: Any, Tin: Any, Tout: Any
) -> list[Array]:
    held = _lookup(token)
    tensors = [wrap(a, t) for a, t in zip(inputs, Tin, strict=True)]
    _step.current = ctx.step
    with context.graph_scope(None), context.no_recording():
        with _Raised(held.name):
            if held.wants_tapes:
                entry = _record(held, tensors)
                result: Any = entry[2]
                with held.lock:
                    held.tapes.append((ctx.step, *entry))
            else:
                result = held.function(*tensors)
        with _Raised(held.name, passing=(errors.OpError,)):
            return _outputs(result, Tout, held.name)


def _record(held: _Function, tensors: list[Any]) -> tuple[Any, list[Any], list[Any]]:
    """Calls the function under a tape: the tape, its inputs and its outputs."""
    tape = context.new_tape()
    with tape:
        tape.watch([t for t in tensors if t.dtype.is_floating or t.dtype.is_complex])
        result = held.function(*tensors)
    outputs = (
        [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
    )
    return tape, tensors, [convert_to_tensor(v) for v in outputs]


@EAGER_PY_FUNC.gradient
def _eager_py_func_gradient(op: Any, *grads: Any) -> list[Any]:
    held = _lookup(op.get_attr("token"))
    held.wants_tapes = True
    inputs = list(op.inputs)
    places = [i for i, x in enumerate(inputs) if x.dtype.is_floating or x.dtype.is_complex]
    given = [i for i, g in enumerate(grads) if g is not None]

    def backward(*values: Any) -> list[Any]:
        entry = held.take(_step.current)
        if state.recorders:  # for a second derivative: by the tensors that this tape watches
            entry = None
        tape, tensors, outputs = (
            entry[1:] if entry is not None else _record(held, list(values[: len(inputs)]))
        )
        wanted = [tensors[i] for i in places]
        found = tape.gradient(
            [outputs[i] for i in given], wanted, output_gradients=list(values[len(inputs) :])
        )
        return [
            execute("ZerosLike", (x,)) if g is None else convert_to_tensor(g)
            for g, x in zip(found, wanted, strict=True)
        ]

    token = _register(backward, op.graph)
    types = [inputs[i].dtype for i in places]
    results = execute(
        EAGER_PY_FUNC, ([*inputs, *(grads[i] for i in given)],), {"token": token, "Tout": types}
    )
    for i, result in zip(places, results, strict=True):
        result.set_shape(inputs[i].shape)
    found = dict(zip(places, results, strict=True))
    return [found.get(i) for i in range(len(inputs))]


class _Step(threading.local):
    current: Any = None


_step = _Step()


# ---- public functions


def py_function(
    func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None
) -> Any:
    """Calls a Python function on eager tensors, as an operation that has a gradient.

    Args:
      func: a function of as many tensors as `inp` has; returns one value for each entry of `Tout`.
      inp: a list of tensors and composite tensors.
      Tout: a dtype or a TypeSpec, or a list of them ([] or None for no result).
      name: the name in a graph.

    Returns:
      A tensor or composite tensor, or a list of them like `Tout`.

    Raises:
      InvalidArgumentError: what the function returns does not fit `Tout`.

    Example:
      >>> py_function(lambda x: x[0], [[1.0, 2.0]], "float32").numpy()
      np.float32(1.0)
    """
    return _run(EAGER_PY_FUNC, func, inp, Tout, name)


def numpy_function(
    func: Any = None,
    inp: Any = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls a Python function on NumPy arrays, as an operation without a gradient.

    Args:
      func: a function of as many arrays as `inp` has; returns one value for each entry of `Tout`.
      inp: a list of tensors.
      Tout: a dtype, or a list of dtypes.
      stateful: whether it has effects or varying results; else calls may be shared or left out.
      name: the name in a graph.

    Returns:
      A tensor, or a list of tensors like `Tout`.

    Raises:
      InvalidArgumentError: what the function returns does not fit `Tout`.
    """
    return _run(PY_FUNC if stateful else PY_FUNC_STATELESS, func, inp, Tout, name)


def py_func(func: Any, inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:
    """Calls a Python function on NumPy arrays; see `tf.numpy_function`."""
    return numpy_function(func, inp, Tout, stateful, name)


def _run(op: OpDef, func: Any, inp: Any, wanted: Any, name: str | None) -> Any:
    if not callable(func):
        raise ValueError(
            f"Expected func to be callable. Received func={func} of type {type(func)}."
        )
    single = not isinstance(wanted, (list, tuple)) and wanted is not None
    kinds = [wanted] if single else nest.flatten(wanted) if wanted is not None else []
    composites = op is EAGER_PY_FUNC and any(
        isinstance(v, (CompositeTensor, TypeSpec)) for v in (*inp, *kinds)
    )
    if composites:
        func = flattened(func, inp, kinds)
        inp = nest.flatten(inp, expand_composites=True)
    types = [as_dtype(t) for t in (tensor_types(kinds) if composites else kinds)]
    tensors = [convert_to_tensor(v) for v in inp]
    if state.graph is None:
        results = _run_now(op, func, tensors, types)
    else:
        token = _register(func, state.graph)
        results = execute(op, (tensors,), {"token": token, "Tout": types}, name)
        if not types:
            return results
    if composites:
        results = packed(kinds, results)
    return results[0] if single else results


def _run_now(op: OpDef, func: Any, tensors: list[Any], types: list[DType]) -> list[Any]:
    name = getattr(func, "__name__", "the function")
    if op is EAGER_PY_FUNC:
        with _Raised(name):
            result = func(*tensors)
        with _Raised(name, passing=(errors.OpError,)):
            return _as_tensors(result, types, name)
    arrays = [np.asarray(t._array) for t in tensors]
    with context.no_recording():
        result = func(*arrays)
    return _as_tensors(result, types, name)


def _as_tensors(result: Any, types: list[DType], name: str) -> list[Any]:
    """What a function returned as eager tensors: the same ones where it can, so tapes know them."""
    given = [result] if len(types) == 1 and not isinstance(result, (list, tuple)) else result
    if (
        isinstance(given, (list, tuple))
        and len(given) == len(types)
        and all(
            isinstance(v, EagerTensor) and v.dtype is t for v, t in zip(given, types, strict=True)
        )
    ):
        return list(given)
    arrays = _outputs(result, types, name)
    return [constant_tensor(a, t) for a, t in zip(arrays, types, strict=True)]
