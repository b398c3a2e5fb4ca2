"""The two ends of an edge between devices; the partition pass adds them."""

from penstock.core import shapes
from penstock.core.op_def import define_op

_NAMES = (
    "tensor_name: string, send_device: string, send_device_incarnation: int, recv_device: string, "
    "client_terminated: bool = False"
)

SEND = define_op(
    f"_Send(tensor: T; T: type, {_NAMES}) -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Sends a value to `recv_device`.",
).not_differentiable("the partition pass adds it, after gradients")

RECV = define_op(
    f"_Recv(; tensor_type: type, {_NAMES}) -> tensor: tensor_type",
    shape=shapes.unknown,
    stateful=True,
    doc="Waits for a value of `send_device`.",
).not_differentiable("the partition pass adds it, after gradients")
