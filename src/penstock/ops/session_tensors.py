"""Tensors that stay in a session: a step leaves one there, later steps read it by its handle.

`get_session_handle` gives the tensor that a session answers with a `TensorHandle` (see
`penstock.runtime.tensor_handles`); `get_session_tensor` reads what a handle names, and
`delete_session_tensor` drops it. The store is the session's; it ends with the session.
"""

import itertools
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.resources import ResourceHandle
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.graph.behavior import device
from penstock.ops.array_basics import placeholder
from penstock.types import dtypes
from penstock.types.dims import Dims

Array = Any
STORE = "session tensors"  # the key in a session's state: handles to arrays
_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
_numbers = itertools.count()


def _one_text(c: ShapeContext) -> Dims:
    return ()


def _takes_handle(c: ShapeContext) -> Dims:
    c.rank(0, 0, "handle")
    return None


GET_SESSION_HANDLE = define_op(
    "GetSessionHandle(value: T; T: type) -> handle: string",
    shape=_one_text,
    stateful=True,
    doc="Leaves the input in the session; the output names it.",
).not_differentiable("its output is a name")


@host_kernel(GET_SESSION_HANDLE, limit=1 << 62)
def _get_session_handle(ctx: KernelContext, value: Array) -> Array:
    handle = f"{ctx.op_name};{next(_numbers)};{_DEVICE}".encode()
    _store(ctx)[handle] = np.array(value)  # a copy: the step may reuse its arrays
    named = np.empty((), object)
    named[()] = handle
    return named


GET_SESSION_HANDLE_V2 = define_op(
    "GetSessionHandleV2(value: T; T: type) -> handle: resource",
    shape=_one_text,
    stateful=True,
    doc="Leaves the input in the session; the output is a handle with the name it has there.",
).not_differentiable("its output is a name")


@host_kernel(GET_SESSION_HANDLE_V2, limit=1 << 62)
def _get_session_handle_v2(ctx: KernelContext, value: Array) -> ResourceHandle:
    return ResourceHandle("", _get_session_handle(ctx, value).item().decode(), value, _DEVICE)


GET_SESSION_TENSOR = define_op(
    "GetSessionTensor(handle: string; dtype: type) -> value: dtype",
    shape=_takes_handle,
    stateful=True,
    doc="The tensor of the session that a handle names.",
).not_differentiable("its input is a name")


@host_kernel(GET_SESSION_TENSOR, limit=1 << 62)
def _get_session_tensor(ctx: KernelContext, handle: Array, *, dtype: Any) -> Array:
    found = _store(ctx).get(handle.item())
    if found is None:
        raise _unknown("GetSessionTensor", handle)
    if found.dtype != dtype.numpy_dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"GetSessionTensor: expected dtype {found.dtype} of the tensor '{handle.item()!r}', "
            f"got {dtype.name}. Pass the dtype it was left with.",
        )
    return found


DELETE_SESSION_TENSOR = define_op(
    "DeleteSessionTensor(handle: string) -> ",
    shape=lambda c: [],
    stateful=True,
    doc="Drops the tensor of the session that a handle names.",
).not_differentiable("it has no outputs")


@host_kernel(DELETE_SESSION_TENSOR, limit=1 << 62)
def _delete_session_tensor(ctx: KernelContext, handle: Array) -> tuple[()]:
    if _store(ctx).pop(handle.item(), None) is None:
        raise _unknown("DeleteSessionTensor", handle)
    return ()


def _store(ctx: KernelContext) -> dict[bytes, Array]:
    if ctx.step is None:
        raise errors.FailedPreconditionError(
            None, None, f"{ctx.op_name}: expected to run in a session. Use a tensor itself eagerly."
        )
    store: dict[bytes, Array] = ctx.step.state.setdefault(STORE, {})
    return store


def _unknown(op: str, handle: Array) -> Exception:
    return errors.InvalidArgumentError(
        None,
        None,
        f"{op}: the tensor with handle {handle.item()!r} is not in the session: expected a handle "
        "that get_session_handle gave here and that was not deleted.",
    )


# ---- public functions


def get_session_handle(data: Any, name: str | None = None) -> Any:
    """A tensor that a session answers with a handle of `data`, which stays in the session.

    Args:
      data: a tensor of a graph.
      name: the name of the operation.

    Returns:
      A string scalar; `Session.run` gives a `TensorHandle` for it.

    Raises:
      TypeError: `data` is no tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"`data` must be of type Tensor, got {data!r} of {type(data).__name__}.")
    with device(_DEVICE):
        return execute(GET_SESSION_HANDLE, (data,), None, name)


def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Any, Any]:
    """What reads a tensor that was left in the session.

    Args:
      handle: the text of a handle; not used, because the handle is fed.
      dtype: the dtype of the tensor.
      name: the name of the operation.

    Returns:
      A string placeholder to feed the handle's text to, and the tensor.
    """
    with device(_DEVICE):
        holder = placeholder(dtypes.string)
        return holder, execute(GET_SESSION_TENSOR, (holder,), {"dtype": dtype}, name)


def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Any, Any]:
    """What drops a tensor that was left in the session.

    Args:
      handle: the text of a handle; not used, because the handle is fed.
      name: the name of the operation.

    Returns:
      A string placeholder to feed the handle's text to, and the operation.
    """
    with device(_DEVICE):
        holder = placeholder(dtypes.string)
        return holder, execute(DELETE_SESSION_TENSOR, (holder,), None, name)
