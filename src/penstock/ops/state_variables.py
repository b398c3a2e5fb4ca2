"""Operations on variables: handles, reads, assignments."""

from typing import Any

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.resources import ResourceHandle, VariableCell

Array = Any

VAR_HANDLE = define_op(
    "VarHandleOp(; container: string = '', shared_name: string = '', debug_name: string = '', dtype: type, shape: shape, "
    "allowed_devices: list(string) = []) -> resource: resource",
    shape=shapes.scalar,
    stateful=True,
    doc="The handle of the variable with this container and shared name; made when there is none.",
).not_differentiable("a handle is no number")


@host_kernel(VAR_HANDLE)
def _var_handle(ctx: KernelContext, *, container: str, shared_name: str, dtype: Any, shape: Any) -> ResourceHandle:
    name = shared_name or ctx.op_name
    cell = ctx.resources.lookup_or_create(container, name, VariableCell, lambda: VariableCell(name, dtype, shape))
    if cell.dtype is not dtype:
        raise errors.InvalidArgumentError(
            None, None, f"variable {name} exists with dtype {cell.dtype.name}, expected {dtype.name}. Give it another shared_name."
        )
    return ResourceHandle(container, name, cell)


READ = define_op(
    "ReadVariableOp(resource: resource; dtype: type) -> value: dtype",
    shape=lambda c: c.variable_shape(0),
    stateful=True,
    effects={"resource": "r"},
    doc="The value of a variable.",
)


@kernel(READ, limit=1 << 62)
def _read(xp: Any, resource: Any) -> Array:
    return resource.read()


@READ.gradient
def _read_gradient(op: Any, grad: Any) -> Any:
    return grad


ASSIGN = define_op(
    "AssignVariableOp(resource: resource, value: dtype; dtype: type, validate_shape: bool = False) -> ",
    shape=shapes.no_output,
    stateful=True,
    effects={"resource": "w"},
    doc="Replaces the value of a variable.",
).not_differentiable("it has no outputs")


@kernel(ASSIGN, limit=1 << 62)
def _assign(xp: Any, resource: Any, value: Array) -> None:
    resource.write(value)


ASSIGN_ADD = define_op(
    "AssignAddVariableOp(resource: resource, value: dtype; dtype: type) -> ",
    shape=shapes.no_output,
    stateful=True,
    effects={"resource": "rw"},
    doc="Adds to the value of a variable.",
).not_differentiable("it has no outputs")


@kernel(ASSIGN_ADD)
def _assign_add(xp: Any, resource: Any, value: Array) -> None:
    resource.write(xp.add(resource.read(), value))
