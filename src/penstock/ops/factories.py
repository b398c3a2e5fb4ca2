"""Factories for operations that follow a pattern.

`unary("Tanh", ...)` and `binary("AddV2", ...)` define an operation, register its host and compiled
kernels, and return the OpDef and the public function. `reduction` does the same for operations with
axes. The public functions take eager tensors straight to the host kernel when nothing else wants to
see the operation.
"""

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import dispatch, shapes
from penstock.core.context import at_home, state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute, is_symbolic
from penstock.core.kernels import HOST_LIMIT, quiet, register_kernel, select
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import OpDef, define_op
from penstock.core.tensor import EagerTensor, Tensor, wrap
from penstock.types.dtypes import DType, as_dtype, float32, float64

Array = Any  # numpy.ndarray, jax.Array or a tracer
# Elements up to which NumPy does what XLA does slowly on CPU: a million arc cosines take it 0.4 ms
# of processor time where XLA takes 18, arctan2 1.2 and 24, sines 1.0 and 7 (docs/ops_speed.md).
SLOW_IN_XLA = 1 << 24


# jax.numpy's functions -> those of jax.lax that do the same to arrays of one dtype, traced in half
# the time: they need not look for the dtype and shape that both can take.
PRIMITIVES = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "true_divide": "div",
    "maximum": "max",
    "minimum": "min",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "negative": "neg",
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "tanh": "tanh",
}


def jnp_function(name: str) -> Callable[..., Any]:
    """`jax.numpy.<name>`, looked up when it is called, or what `PRIMITIVES` has in its place."""
    primitive = PRIMITIVES.get(name)

    def call(*arrays: Array) -> Array:
        if primitive is not None and _alike(arrays):
            return getattr(lax, primitive)(*arrays)
        return getattr(jnp, name)(*arrays)

    call.__name__ = name
    return call


def _alike(arrays: tuple[Array, ...]) -> bool:
    """Whether they have one dtype, and one shape, or none of them more than a number beside it."""
    first = arrays[0]
    return all(
        each.dtype == first.dtype and (each.shape == first.shape or not each.ndim or not first.ndim)
        for each in arrays
    )


def define_elementwise(
    text: str,
    host: Callable[..., Any] | None,
    compiled: Callable[..., Any] | str | None,
    doc: str,
    shape: Any,
    limit: int = 0,
    **options: Any,
) -> OpDef:
    """An operation with a kernel for the host and one for regions (or a jax.numpy name).

    With `limit` the host's is preferred for float32 and float64 up to so many elements.
    """
    op = define_op(text, shape=shape, doc=doc, **options)
    if host is not None:
        register_kernel(op, host, kind="host")
    if limit:
        assert host is not None
        register_kernel(op, host, kind="host", limit=limit, types={"T": ["float", "double"]})
    if compiled is not None:
        register_kernel(
            op, jnp_function(compiled) if isinstance(compiled, str) else compiled, kind="compiled"
        )
    return op


def unary(
    name: str,
    types: str,
    host: Callable[..., Any] | None,
    compiled: Callable[..., Any] | str | None,
    doc: str,
    signature: str | None = None,
    **options: Any,
) -> OpDef:
    """An element-wise operation of one input: `Name(x: T; T: types) -> y: T`."""
    text = signature or f"{name}(x: T; T: {{{types}}}) -> y: T"
    return define_elementwise(text, host, compiled, doc, shapes.same, **options)


def binary(
    name: str,
    types: str,
    host: Callable[..., Any] | None,
    compiled: Callable[..., Any] | str | None,
    doc: str,
    signature: str | None = None,
    **options: Any,
) -> OpDef:
    """An element-wise operation of inputs that broadcast: `Name(x: T, y: T; T: types) -> z: T`."""
    text = signature or f"{name}(x: T, y: T; T: {{{types}}}) -> z: T"
    return define_elementwise(text, host, compiled, doc, shapes.broadcast, **options)


def reduction(
    name: str,
    types: str,
    kernel: Callable[..., Any],
    doc: str,
    signature: str | None = None,
) -> OpDef:
    """An operation over axes: `kernel(xp, x, axes, keep)` for the host and for compiled regions."""
    attrs = f"keep_dims: bool = False, T: {types}, Tidx: {{int32, int64}} = int32"
    text = signature or f"{name}(input: T, reduction_indices: Tidx; {attrs}) -> output: T"
    op = define_op(text, shape=shapes.reduced, host_inputs=("reduction_indices",), doc=doc)

    def run(xp: Any, x: Array, axes: Array, *, keep_dims: bool) -> Array:
        return kernel(xp, x, tuple([int(a) for a in axes.reshape(-1)]), keep_dims)

    register_kernel(op, run, kind="host")
    register_kernel(op, run, kind="compiled")
    return op


def binary_function(
    op: OpDef,
    name: str,
    doc: str,
    result_dtype: DType | None = None,
    slow: Callable[..., Any] | None = None,
    arguments: tuple[str, str] = ("x", "y"),
    ufunc: Any = None,
) -> Callable[..., Any]:
    """The public function `name(x, y, name=None)` of a binary operation.

    Two small eager tensors of one dtype go to the host ufunc directly when no tape or graph is
    active.

    Args:
      op: the operation.
      name: the function's name.
      doc: what it does, in one line.
      result_dtype: the dtype of the result, when it is not that of the inputs.
      slow: what to call otherwise, `slow(x, y, name)`; `convert_binary` when None.
      arguments: the names of the two arguments.
      ufunc: what the host kernel amounts to for inputs that fit, when it is no bare ufunc itself.
    """
    kernels = _FastBinary(op, result_dtype, ufunc)
    fast = kernels.table
    otherwise = slow or (lambda x, y, name: convert_binary(op, x, y, name))
    module = sys._getframe(1).f_globals["__name__"]
    key = f"{module.removeprefix(dispatch.PREFIX)}.{name}"

    def function(x: Any, y: Any, name: str | None = None) -> Any:
        if x.__class__ is EagerTensor and y.__class__ is EagerTensor and state.plain:
            found = fast.get(x._dtype)
            if found is not None and x._dtype is y._dtype:
                a, b = x._array, y._array
                if (
                    a.__class__ is np.ndarray
                    and b.__class__ is np.ndarray
                    and a.size + b.size <= HOST_LIMIT
                ):
                    try:
                        result = quiet.run(found[0], a, b)
                    except ValueError:
                        return execute(op, (x, y), None, name)  # raises with the operation's words
                    return wrap(result, found[1])
            elif found is None and x._dtype is y._dtype:
                kernels.learn(x._dtype)
        elif (
            state.plain
            and x.__class__ is EagerTensor
            and y.__class__ in _NUMBERS
            and x._dtype in _PLAIN_FLOATS
            and -_LARGE < y < _LARGE
        ):
            return function(x, wrap(np.asarray(y, x._dtype.numpy_dtype), x._dtype), name)
        if dispatch.kinds and dispatch.wanted((x, y), {}):
            result = dispatch.call(public, key, (x, y), {} if name is None else {"name": name})
            if result is not dispatch.UNHANDLED:
                return result
        with at_home(x, y):
            return otherwise(x, y, name)

    public = function if arguments == ("x", "y") else _renamed(function, arguments)
    public.__name__ = public.__qualname__ = name
    public.__module__ = module
    public.__doc__ = _binary_doc(op, doc, arguments)
    return dispatch.dispatches_itself(public)


def _renamed(function: Callable[..., Any], arguments: tuple[str, str]) -> Callable[..., Any]:
    a, b = arguments
    namespace = {"function": function}
    source = f"def renamed({a}, {b}, name=None):\n    return function({a}, {b}, name)"
    exec(compile(source, __file__, "exec"), namespace)  # our file: user lines are outside it
    return namespace["renamed"]


def _types_of(op: OpDef) -> str:
    """The dtypes an operation takes, in words; from its text, to parse nothing at import."""
    _, found, rest = op.text.partition("T: {")
    if found:
        return rest.partition("}")[0]
    _, found, rest = op.text.partition("; T: ")
    return rest.partition(",")[0].partition(")")[0] if found else "bool"


def _binary_doc(op: OpDef, doc: str, arguments: tuple[str, str]) -> str:
    result = "bool" if "-> z: bool" in op.text else f"of the dtype of `{arguments[0]}`"
    return (
        f"{doc}\n\n"
        f"Args:\n  {arguments[0]}: tensor of {_types_of(op)}.\n"
        f"  {arguments[1]}: tensor of the same dtype, of a shape that broadcasts.\n"
        f"  name: the name of the operation in a graph.\n\n"
        f"Returns:\n  Tensor {result}, of the broadcast shape.\n\n"
        f"Raises:\n  InvalidArgumentError, TypeError, ValueError: dtypes or shapes do not fit.\n"
    )


_NUMBERS = (float, int)
_PLAIN_FLOATS = (float32, float64)
_LARGE = 3e38  # numbers beyond may overflow, of which NumPy would warn


LIKE_UFUNCS: set[Any] = set()  # host kernels that take and give all that a ufunc does


class _FastBinary:
    """For each dtype the ufunc that gives exactly that dtype's result, once one is known to."""

    def __init__(self, op: OpDef, result: DType | None, ufunc: Any) -> None:
        self.op = op
        self.ufunc = ufunc
        self.result = result
        self.table: dict[DType, tuple[Callable[..., Any], DType]] = {}
        self._refused: set[DType] = set()

    def learn(self, dtype: DType) -> None:
        """Looks whether the host kernel for `dtype` is a bare ufunc with the right result dtype."""
        if dtype in self._refused:
            return
        from_kernel = self.ufunc or _bare_ufunc(self.op, dtype)
        wanted = self.result or dtype
        if from_kernel is not None and dtype.is_numeric:
            one = np.ones((1,), dtype.numpy_dtype)
            if from_kernel(one, one).dtype == wanted.numpy_dtype:
                self.table[dtype] = (from_kernel, wanted)
                return
        self._refused.add(dtype)


def _bare_ufunc(op: OpDef, dtype: DType) -> Callable[..., Any] | None:
    attr = op.attrs.get("T")
    if attr is None or (attr.allowed is not None and dtype not in attr.allowed):
        return None
    chosen = _select(op, {"T": dtype})
    return chosen if isinstance(chosen, np.ufunc) or chosen in LIKE_UFUNCS else None


def _select(op: OpDef, attrs: dict[str, Any]) -> Any:
    from_registry = select(op.name, "host", "CPU", attrs)
    return from_registry.function if from_registry is not None else None


def graph_name_scope(name: str) -> contextlib.AbstractContextManager[str]:
    """A name scope of the graph that is being built; nothing when operations run at once."""
    graph = state.graph
    return contextlib.nullcontext(name) if graph is None else graph.name_scope(name)


def convert_pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Both operands as tensors; one that is none takes the dtype of the other.

    Raises:
      TypeError: a Python value does not convert to the other's dtype.
    """
    if isinstance(x, Tensor):
        return x, y if isinstance(y, Tensor) else as_dtype_of(x, y, "y")
    if isinstance(y, Tensor):
        return as_dtype_of(y, x, "x"), y
    if is_variable(y) and not is_variable(x):
        return as_dtype_of(y, x, "x"), convert_to_tensor(y, name="y")
    x = convert_to_tensor(x, name="x")
    return x, as_dtype_of(x, y, "y")


def convert_second(x: Any, y: Any) -> tuple[Any, Any]:
    """Both operands as tensors; the second one takes the dtype of the first, or is refused.

    Raises:
      ValueError: it is a tensor of another dtype.
      TypeError: a Python value does not convert to the first one's dtype.
    """
    x = convert_to_tensor(x, name="x")
    return x, convert_to_tensor(y, x.dtype.base_dtype, name="y")


def convert_binary(
    op: OpDef,
    x: Any,
    y: Any,
    name: str | None,
    pair: Callable[[Any, Any], tuple[Any, Any]] = convert_pair,
) -> Any:
    """Runs a binary operation; `pair` makes tensors of what are none."""
    graph = state.graph
    if graph is None or (is_symbolic(x) and is_symbolic(y)):
        x, y = pair(x, y)
        return execute(op, (x, y), None, name)
    with graph.name_scope(name or op.name) as scope:
        x, y = pair_or_own(x, y, pair)  # a constant made of an operand is named in the scope
        return execute(op, (x, y), None, scope)


def pair_or_own(
    x: Any, y: Any, pair: Callable[[Any, Any], tuple[Any, Any]] = convert_pair
) -> tuple[Any, Any]:
    """`pair(x, y)`; an array that does not fit the other's dtype, text say, keeps its own.

    The operation then names both dtypes.
    """
    try:
        return pair(x, y)
    except (TypeError, ValueError):
        if not any(
            isinstance(v, (np.ndarray, np.generic)) and v.dtype.kind in "SUO" for v in (x, y)
        ):
            raise
        return convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")


def as_dtype_of(tensor: Tensor, value: Any, name: str | None = None) -> Any:
    """`value` as a tensor of the dtype of `tensor`; what has a dtype of its own keeps it."""
    dtype = tensor.dtype.base_dtype
    if hasattr(value, "handle") or hasattr(value, "_dense_var_to_tensor"):
        return convert_to_tensor(value, name=name)
    return convert_to_tensor(number_of(value, dtype), dtype, name=name)


_TAKES_BOOL = frozenset(
    as_dtype(t) for t in "float16 float32 float64 int32 int64 uint64 complex128".split()
)


def operand(value: Any) -> Any:
    """`value` as a tensor; in a graph a variable as it is, for `execute` to read it.

    `execute` puts the read into the scope of the operation, as in TensorFlow.
    """
    return value if state.graph is not None and is_variable(value) else convert_to_tensor(value)


def is_variable(value: Any) -> bool:
    """Whether `value` is a variable, also one that another library made like one."""
    return hasattr(value, "sparse_read")


def number_of(value: Any, dtype: DType) -> Any:
    """A Python bool as a number beside the dtypes where TensorFlow does so; else `value` itself."""
    return int(value) if value.__class__ is bool and dtype in _TAKES_BOOL else value


def unary_function(op: OpDef, name: str, doc: str, argument: str = "x") -> Callable[..., Any]:
    """The public function `name(x, name=None)` of a unary operation."""
    namespace = {"execute": execute, "op": op}
    source = (
        f"def {name}({argument}, name=None):\n    return execute(op, ({argument},), None, name)"
    )
    exec(compile(source, __file__, "exec"), namespace)  # our file: user lines are outside it
    function: Callable[..., Any] = namespace[name]  # type: ignore[assignment]
    function.__module__ = sys._getframe(1).f_globals["__name__"]
    result = "bool" if "-> y: bool" in op.text else f"of the dtype of `{argument}`"
    function.__doc__ = (
        f"{doc}\n\n"
        f"Args:\n  {argument}: tensor of {_types_of(op)}, any shape.\n"
        f"  name: the name of the operation in a graph.\n\n"
        f"Returns:\n  Tensor {result}, of the same shape.\n"
    )
    return function
