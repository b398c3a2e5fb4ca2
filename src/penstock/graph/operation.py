"""`Operation`: one use of an OpDef in a Graph."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from penstock import proto
from penstock.core.op_def import OpDef
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph import attr_values, graph_def
from penstock.types.dims import Dims
from penstock.types.dtypes import DType
from penstock.util.frames import Frame

if TYPE_CHECKING:
    from penstock.graph.graph import Graph


class RefusedShapes(tuple[Dims, ...]):
    """The shapes of an operation whose inputs a step refuses, as far as they are known.

    Attributes:
      why: what is wrong with the inputs.
    """

    why: str

    def __new__(cls, shapes: Iterable[Dims], why: str) -> Self:
        """These shapes, refused because of `why`."""
        made = super().__new__(cls, shapes)
        made.why = why
        return made


class Operation:
    """A node of a graph: kind of operation, name, inputs, attributes, device, control inputs."""

    __slots__ = (
        "__dict__",  # programs hang things of their own on operations
        "__weakref__", "_control_inputs", "_device", "_id", "_inputs", "_outputs", "attrs",
        "form", "frames", "graph", "input_counts", "name", "op_def", "original_name",
        "refused",
    )  # fmt: skip

    form: Any  # what files have instead, where that was asked for: see StandardForm.of

    def __init__(
        self,
        graph: "Graph",
        op_def: OpDef,
        name: str,
        inputs: tuple[SymbolicTensor, ...],
        input_counts: Sequence[int] | None,
        attrs: dict[str, Any],
        out_dtypes: Sequence[DType],
        shapes: Sequence[Dims],
        control_inputs: "tuple[Operation, ...]",
        device: str,
        frames: tuple[Frame, ...],
    ) -> None:
        self.graph = graph
        self.op_def = op_def
        self.name = name
        self._inputs = inputs
        self.input_counts = input_counts
        self.attrs = attrs
        self._control_inputs = control_inputs
        self._device = device
        self.frames = frames
        self.refused = shapes.why if isinstance(shapes, RefusedShapes) else ""
        self._id = -1
        self._outputs = tuple(
            SymbolicTensor(self, i, t, s)
            for i, (t, s) in enumerate(zip(out_dtypes, shapes, strict=True))
        )

    @property
    def type(self) -> str:
        """The name of the kind of operation, as `MatMul`."""
        return self.op_def.name

    @property
    def inputs(self) -> tuple[SymbolicTensor, ...]:
        """The data inputs, flat."""
        return self._inputs

    @property
    def outputs(self) -> list[SymbolicTensor]:
        """The outputs, flat."""
        return list(self._outputs)

    @property
    def control_inputs(self) -> "list[Operation]":
        """The operations that must run before this one."""
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The requested device, "" when none was."""
        return self._device

    @property
    def location(self) -> str:
        """The user's file and line where the operation was created."""
        return f"{self.frames[-1].file}:{self.frames[-1].line}" if self.frames else "<unknown>"

    @property
    def traceback(self) -> tuple[Frame, ...]:
        """The user's frames at creation, outermost first."""
        return self.frames

    def values(self) -> tuple[SymbolicTensor, ...]:
        """The outputs as a tuple."""
        return self._outputs

    def get_attr(self, name: str) -> Any:
        """The value of an attribute, as TensorFlow gives it.

        A DType for a type, bytes for a string, a TensorShapeProto for a shape, a TensorProto for a
        tensor, a NameAttrList for a function, a list for a list. Gradient rules and passes read
        `attrs`, which holds plain values.

        Raises:
          ValueError: the operation has no such attribute.
        """
        if name not in self.attrs:
            raise ValueError(
                f"Operation '{self.name}' has no attr named '{name}'. It has {sorted(self.attrs)}."
            )
        attr = self.op_def.attrs.get(name)
        kind = "any" if attr is None else attr.kind
        return attr_values.public_value(kind, self.attrs[name])

    def _set_attr(self, name: str, value: Any) -> None:
        """Sets an attribute to a value in its one form, or to that of an AttrValue message."""
        if isinstance(value, proto.attr_value_pb2.AttrValue):
            attr = self.op_def.attrs.get(name)
            kind = "any" if attr is None else attr.kind
            value = attr_values.attr_from_proto(kind, value, f"Attribute {name!r} of '{self.name}'")
        self.attrs[name] = value

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs the operation in a session.

        Args:
          feed_dict: values by tensor, as for `Session.run`.
          session: the session; the default one when None.

        Raises:
          ValueError: there is no default session.
        """
        run_operation(self, feed_dict, session)

    def colocation_groups(self) -> list[bytes]:
        """The operations this one must be placed with, as `loc:@name`."""
        texts = self.attrs.get("_class", ())
        groups = [g.encode() if isinstance(g, str) else g for g in texts]
        return [g for g in groups if g.startswith(b"loc:@")] or [f"loc:@{self.name}".encode()]

    @property
    def node_def(self) -> Any:
        """The operation as a NodeDef message."""
        return graph_def.node_def_of(self)

    def add_control_inputs(self, ops: "Sequence[Operation]") -> None:
        """Makes this operation wait for `ops`."""
        self._control_inputs = tuple(dict.fromkeys((*self._control_inputs, *ops)))
        self.graph.touch()

    _add_control_inputs = add_control_inputs

    def add_control_input(self, op: "Operation") -> None:
        """Makes this operation wait for `op`."""
        self.add_control_inputs([op])

    _add_control_input = add_control_input

    def set_device(self, device: Any) -> None:
        """Requests a device for the operation."""
        self._device = self.graph.device_text(device)
        self.graph.touch()

    _set_device = set_device

    def update_input(self, index: int, tensor: SymbolicTensor) -> None:
        """Replaces a data input.

        Args:
          index: which input.
          tensor: a tensor of this graph, of the same dtype.

        Raises:
          ValueError: the tensor belongs to another graph.
          TypeError: it has another dtype.
        """
        if tensor.graph is not self.graph:
            raise ValueError(f"{tensor!r} must be from the same graph as operation '{self.name}'.")
        if tensor.dtype.base_dtype is not self._inputs[index].dtype.base_dtype:
            raise TypeError(
                f"input {index} of '{self.name}' has type {self._inputs[index].dtype.name}, got"
                f" {tensor.dtype.name}"
            )
        self._inputs = (*self._inputs[:index], tensor, *self._inputs[index + 1 :])
        self.graph.add_consumer(self, tensor)

    _update_input = update_input

    def experimental_set_type(self, type_proto: Any) -> None:
        """Accepted for compatibility: full types are not used."""

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"operation '{self.name}' cannot be pickled; pickle the graph's GraphDef instead"
        )


def _no_session(op: Operation, feed_dict: Any, session: Any) -> Any:
    raise ValueError(
        "Cannot execute operation using `run()`: No default session is registered. Use"
        " `with sess.as_default():` or pass an explicit session to `run(session=sess)`"
    )


run_operation: Callable[..., Any] = _no_session  # set by the session's module


def set_runner(function: Callable[..., Any]) -> None:
    """Installs what `Operation.run` calls."""
    global run_operation
    run_operation = function
