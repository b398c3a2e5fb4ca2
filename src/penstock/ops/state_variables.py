"""Operations on whole variables: handles, reads, assignments.

A variable is a `VariableCell`, named by a tensor of dtype resource. Kernels see it as an object
with `read()` and `write(value)`: the cell itself on the host, a `TracedRef` in a compiled region,
so one function serves both.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.resources import ResourceHandle, VariableCell
from penstock.core.shapes import ShapeContext
from penstock.core.traced import TracedRef
from penstock.graph.handles import handle_dims
from penstock.ops.state_host_rows import own_arrays
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype

Array = Any  # numpy.ndarray, jax.Array or a tracer

NUMERIC = (
    dt.bfloat16,
    dt.float16,
    dt.float32,
    dt.float64,
    dt.int8,
    dt.int16,
    dt.int32,
    dt.int64,
    dt.uint8,
    dt.uint16,
    dt.uint32,
    dt.uint64,
    dt.complex64,
    dt.complex128,
)

VAR_HANDLE = define_op(
    "VarHandleOp(; container: string = '', shared_name: string = '', debug_name: string = '', "
    "dtype: type, shape: shape, "
    "allowed_devices: list(string) = []) -> resource: resource",
    shape=shapes.scalar,
    stateful=True,
    doc="The handle of the variable with this container and shared name; made when there is none.",
).not_differentiable("a handle is no number")


@host_kernel(VAR_HANDLE)
def _var_handle(
    ctx: KernelContext, *, container: str, shared_name: str, dtype: Any, shape: Any
) -> ResourceHandle:
    cell = ctx.resources.lookup_or_create(  # one without a name is shared as any other
        container, shared_name, VariableCell, lambda: VariableCell(shared_name, dtype, shape)
    )
    if cell.dtype is not dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Trying to use variable {shared_name!r} as {dtype.name} in {ctx.op_name}: expected"
            f" {cell.dtype.name}, the dtype it exists with. Give it another shared_name.",
        )
    return ResourceHandle(container, shared_name, cell)


VAR_IS_INITIALIZED = define_op(
    "VarIsInitializedOp(resource: resource) -> is_initialized: bool",
    shape=shapes.scalar,
    stateful=True,
    effects={"resource": "r"},
    any_resource=True,
    doc="Whether a variable has a value.",
).not_differentiable("it is a question")


@host_kernel(VAR_IS_INITIALIZED, limit=1 << 62)
def _var_is_initialized(resource: Any) -> Array:
    return np.asarray(getattr(resource, "value", None) is not None)  # other resources are none


DESTROY = define_op(
    "DestroyResourceOp(resource: resource; ignore_lookup_error: bool = True) -> ",
    shape=shapes.no_output,
    stateful=True,
    doc="Takes a resource out of its resource manager; its memory goes with its last user.",
).not_differentiable("it has no outputs")


@host_kernel(DESTROY)
def _destroy(ctx: KernelContext, resource: ResourceHandle, *, ignore_lookup_error: bool) -> None:
    held = resource.resource
    if ctx.resources.lookup(resource.container, resource.name) is held:
        ctx.resources.delete(resource.container, resource.name)
    elif not getattr(held, "initialized", True) and not ignore_lookup_error:
        raise errors.NotFoundError(
            None,
            None,
            f"Resource {resource.container}/{resource.name} does not exist: expected one that was "
            "not destroyed before. "
            "Pass ignore_lookup_error=True.",
        )
    clear = getattr(held, "clear", None)
    if clear is not None:
        clear()


READ = define_op(
    "ReadVariableOp(resource: resource; dtype: type) -> value: dtype",
    shape=lambda c: c.variable_shape(0),
    stateful=True,
    effects={"resource": "r"},
    any_resource=True,
    doc="The value of a variable.",
)


@kernel(READ, limit=1 << 62)
def _read(xp: Any, resource: Any, *, dtype: Any) -> Array:
    if not isinstance(resource, (VariableCell, TracedRef)):
        if dtype is not dt.string:
            raise errors.FailedPreconditionError(
                None,
                None,
                "Could not find variable: expected the handle of one, got that of a "
                f"{type(resource).__name__}. Read the handle of a tf.Variable.",
            )
        # The reference to a queue, a table or a reader, fetched: where it is kept, and its name.
        return np.array([b"localhost", resource.name.encode()], object)
    value = resource.read()
    if value.dtype != dtype.numpy_dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Trying to read variable with wrong dtype. Expected {dt.from_numpy(value.dtype).name} "
            f"got {dtype.name}.",
        )
    return value


@READ.gradient
def _read_gradient(op: Any, grad: Any) -> Any:
    return grad


def _rank_of_variable(c: ShapeContext) -> Dims:
    held = c.variable_shape(0)
    return (None if held is None else len(held),)


VARIABLE_SHAPE = define_op(
    "VariableShape(input: resource; out_type: {int32, int64} = int32) -> output: out_type",
    shape=_rank_of_variable,
    stateful=True,
    effects={"input": "r"},
    doc="The shape of a variable's value.",
).not_differentiable("a shape is an integer")


@kernel(VARIABLE_SHAPE, limit=1 << 62)
def _variable_shape(xp: Any, input: Any, *, out_type: Any) -> Array:
    return np.array(input.read().shape, out_type.numpy_dtype)


# assignments
def _assign_shape(c: ShapeContext) -> list[Dims]:
    held = c.variable_shape(0)
    if not d.compatible(held, c.shape(1)):
        c.fail(f"a value of the variable's shape {d.text(held)}", f"shape {d.text(c.shape(1))}")
    return []


ASSIGN = define_op(
    "AssignVariableOp(resource: resource, value: dtype; dtype: type, validate_shape: bool = False) "
    "-> ",
    shape=_assign_shape,
    stateful=True,
    effects={"resource": "w"},
    doc="Replaces the value of a variable. With validate_shape the value before, if any, must have "
    "had the same shape.",
).not_differentiable("it has no outputs")


@kernel(ASSIGN, limit=1 << 62)
def _assign(xp: Any, resource: Any, value: Array, *, dtype: Any, validate_shape: bool) -> None:
    before = resource.value
    held = getattr(resource, "dtype", None)
    if held is not None and held is not dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Trying to assign variable with wrong dtype. Expected {held.name} got {dtype.name}. "
            "Cast the value.",
        )
    if validate_shape and before is not None and before.shape != value.shape:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Trying to assign to variable with tensor with wrong shape. Expected "
            f"{d.text(before.shape)} got "
            f"{d.text(value.shape)}.",
        )
    resource.write(value)


def _define_assign_op(name: str, doc: str, function: str) -> Any:
    op = define_op(
        f"{name}(resource: resource, value: dtype; dtype: type) -> ",
        shape=_assign_shape,
        stateful=True,
        effects={"resource": "rw"},
        doc=doc,
    ).not_differentiable("it has no outputs")

    @kernel(op, types={"dtype": NUMERIC})
    def _update(xp: Any, resource: Any, value: Array) -> None:
        old = resource.read()
        if old.dtype != value.dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{name}: expected a value of the variable's dtype {old.dtype}, got {value.dtype}. "
                "Cast the value.",
            )
        if old.shape != value.shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Cannot update variable with shape {d.text(old.shape)} using a Tensor with shape "
                f"{d.text(value.shape)}, "
                "shapes must be equal.",
            )
        if xp is np:
            del old  # it would be another holder
            own = own_arrays((resource,))
            if own is not None:
                getattr(np, function)(own[0], value, out=own[0])
                return
            old = resource.read()
        resource.write(xp.asarray(getattr(xp, function)(old, value)))

    return op


ASSIGN_ADD = _define_assign_op("AssignAddVariableOp", "Adds to the value of a variable.", "add")
ASSIGN_SUB = _define_assign_op(
    "AssignSubVariableOp", "Subtracts from the value of a variable.", "subtract"
)

COUNT_UP_TO = define_op(
    "ResourceCountUpTo(resource: resource; limit: int, T: {int32, int64}) -> output: T",
    shape=shapes.scalar,
    stateful=True,
    effects={"resource": "rw"},
    doc="The value of a scalar variable, which grows by one; OutOfRangeError when it has reached "
    "the limit.",
).not_differentiable("a counter is an integer")


@host_kernel(COUNT_UP_TO, limit=1 << 62)
def _count_up_to(resource: Any, *, limit: int, T: Any) -> Array:
    before = np.asarray(resource.read())
    if before.shape != ():
        raise errors.InvalidArgumentError(
            None,
            None,
            f"input is not a scalar: expected shape (), got {d.text(before.shape)}. Count in a "
            "scalar variable.",
        )
    if T.as_numpy_dtype != before.dtype or limit > np.iinfo(before.dtype).max:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"ResourceCountUpTo: expected a limit of the variable's dtype {before.dtype}, got "
            f"{limit} as {T.name}. Count in an int64 variable.",
        )
    if before >= limit:
        raise errors.OutOfRangeError(None, None, f"Reached limit of {limit}")
    resource.write(np.asarray(before + 1, before.dtype))
    return before


def is_variable_initialized(handle: Any, name: str | None = None) -> Any:
    """Whether the variable of `handle` has a value: a bool scalar."""
    return execute(VAR_IS_INITIALIZED, (handle,), None, name)


def variable_shape(handle: Any, out_type: Any = dt.int32, name: str | None = None) -> Any:
    """The shape of a variable: a constant when it is known, else computed when the graph runs.

    Args:
      handle: the variable's resource tensor.
      out_type: tf.int32 or tf.int64.
      name: the name in a graph.

    Returns:
      A vector of `out_type`.
    """
    dims = handle_dims(handle)
    if dims is None or None in dims:
        return execute(VARIABLE_SHAPE, (handle,), {"out_type": out_type}, name)
    return convert_to_tensor(np.array(dims, as_dtype(out_type).numpy_dtype), name=name)
