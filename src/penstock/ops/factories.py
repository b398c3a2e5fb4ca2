"""Factories for operations that follow a pattern.

`unary("Tanh", ...)` and `binary("AddV2", ...)` define an operation, register its host and compiled kernels, and return the
OpDef and the public function. `reduction` does the same for operations with axes. The public functions take eager tensors
straight to the host kernel when nothing else wants to see the operation.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import shapes
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import HOST_LIMIT, quiet, register_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.tensor import EagerTensor, Tensor, wrap
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray, jax.Array or a tracer


def jnp_function(name: str) -> Callable[..., Any]:
    """`jax.numpy.<name>`, looked up when it is called."""

    def call(*arrays: Array) -> Array:
        return getattr(jnp, name)(*arrays)

    call.__name__ = name
    return call


def define_elementwise(
    text: str, host: Callable[..., Any] | None, compiled: Callable[..., Any] | str | None, doc: str, shape: Any, **options: Any
) -> OpDef:
    """An operation with one kernel for the host and one for compiled regions; `compiled` may name a jax.numpy function."""
    op = define_op(text, shape=shape, doc=doc, **options)
    if host is not None:
        register_kernel(op, host, kind="host")
    if compiled is not None:
        register_kernel(op, jnp_function(compiled) if isinstance(compiled, str) else compiled, kind="compiled")
    return op


def unary(
    name: str,
    types: str,
    host: Callable[..., Any] | None,
    compiled: Callable[..., Any] | str,
    doc: str,
    signature: str | None = None,
) -> OpDef:
    """An element-wise operation of one input: `Name(x: T; T: types) -> y: T`."""
    return define_elementwise(signature or f"{name}(x: T; T: {{{types}}}) -> y: T", host, compiled, doc, shapes.same)


def binary(
    name: str,
    types: str,
    host: Callable[..., Any] | None,
    compiled: Callable[..., Any] | str,
    doc: str,
    signature: str | None = None,
    **options: Any,
) -> OpDef:
    """An element-wise operation of two inputs that broadcast: `Name(x: T, y: T; T: types) -> z: T`."""
    return define_elementwise(
        signature or f"{name}(x: T, y: T; T: {{{types}}}) -> z: T", host, compiled, doc, shapes.broadcast, **options
    )


def binary_function(op: OpDef, name: str, doc: str, result_dtype: DType | None = None) -> Callable[..., Any]:
    """The public function `name(x, y, name=None)` of a binary operation.

    Two small eager tensors of one dtype go to the host ufunc directly when no tape or graph is active.
    """
    kernels = _FastBinary(op, result_dtype)
    fast = kernels.table

    def function(x: Any, y: Any, name: str | None = None) -> Any:
        if x.__class__ is EagerTensor and y.__class__ is EagerTensor and state.plain:
            found = fast.get(x._dtype)
            if found is not None and x._dtype is y._dtype:
                a, b = x._array, y._array
                if a.__class__ is np.ndarray and b.__class__ is np.ndarray and a.size + b.size <= HOST_LIMIT:
                    try:
                        result = quiet.run(found[0], a, b)
                    except ValueError:
                        return execute(op, (x, y), None, name)  # raises with the operation's own words
                    return wrap(result, found[1])
            elif found is None and x._dtype is y._dtype:
                kernels.learn(x._dtype)
        return convert_binary(op, x, y, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


class _FastBinary:
    """For each dtype the ufunc that gives exactly that dtype's result, once it is known that one does."""

    def __init__(self, op: OpDef, result: DType | None) -> None:
        self.op = op
        self.result = result
        self.table: dict[DType, tuple[Callable[..., Any], DType]] = {}
        self._refused: set[DType] = set()

    def learn(self, dtype: DType) -> None:
        """Looks whether the host kernel for `dtype` is a bare ufunc with the right result dtype."""
        if dtype in self._refused:
            return
        from_kernel = _bare_ufunc(self.op, dtype)
        wanted = self.result or dtype
        if from_kernel is not None:
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
    return chosen if isinstance(chosen, np.ufunc) else None


def _select(op: OpDef, attrs: dict[str, Any]) -> Any:
    from_registry = select(op.name, "host", "CPU", attrs)
    return from_registry.function if from_registry is not None else None


def convert_binary(op: OpDef, x: Any, y: Any, name: str | None) -> Any:
    """Runs a binary operation; a Python or NumPy operand takes the dtype of the tensor beside it."""
    if not isinstance(x, Tensor):
        x = convert_to_tensor(x, dtype_hint=y.dtype.base_dtype if isinstance(y, Tensor) else None)
    if not isinstance(y, Tensor):
        y = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype)
    return execute(op, (x, y), None, name)


def unary_function(op: OpDef, name: str, doc: str, argument: str = "x") -> Callable[..., Any]:
    """The public function `name(x, name=None)` of a unary operation."""
    namespace = {"execute": execute, "op": op}
    exec(f"def {name}({argument}, name=None):\n    return execute(op, ({argument},), None, name)", namespace)
    function: Callable[..., Any] = namespace[name]  # type: ignore[assignment]
    function.__module__ = __name__
    function.__doc__ = doc
    return function


from penstock.core.kernels import select  # noqa: E402  (below its only users, which run later)
