"""`tf.saved_model.load` for models of sessions: each signature becomes a function.

A session reads the model as it was written: it restores the variables and runs the operation that
initializes. Then each variable and lookup table becomes one of ours with the content that it has
there, and each signature a function: the part of the graph that its outputs need, with variables
and tables of ours where the graph had its own.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from penstock import errors, proto
from penstock.checkpoint.saved_model import constants as c
from penstock.checkpoint.saved_model import loader
from penstock.checkpoint.saved_model.objects import SignatureMap, UserObject
from penstock.checkpoint.saved_model.options import LoadOptions
from penstock.checkpoint.saved_model.restored import RestoredConcreteFunction, fill
from penstock.checkpoint.saved_model.session_tables import session_tables
from penstock.core import context
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.func_graph import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.graph_def import as_graph_def
from penstock.graph.import_graph import import_graph_def
from penstock.graph.operation import Operation
from penstock.graph.shape_proto import dims_from_proto
from penstock.ops.lookup_ops import MAKERS
from penstock.ops.lookup_tables import LookupInterface
from penstock.ops.variables import Variable
from penstock.ops.variables_v1 import GraphKeys
from penstock.runtime.client import Session
from penstock.types import dtypes as dt
from penstock.types.composite_specs import SparseTensorSpec
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_shape import TensorShape
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest

_REFERENCES = ("Variable", "VariableV2")
_HANDLE = "VarHandleOp"


def choose_graph(message: Any, tags: Any) -> Any:
    """The graph of a model that has these tags; the only one when None.

    Raises:
      ValueError: there are several, and no tags to choose by.
      RuntimeError: none has these tags.
    """
    if tags is not None:
        return loader.find_meta_graph(message, tags)
    if len(message.meta_graphs) != 1:
        known = [list(each.meta_info_def.tags) for each in message.meta_graphs]
        raise ValueError(
            "Importing a SavedModel with `tf.saved_model.load` requires a `tags=` argument if "
            f"there is more than one MetaGraph. Got `tags=None`, but there are {len(known)} "
            f"MetaGraphs in the SavedModel with tag sets: {known}. Pass a `tags=` argument to load "
            "this SavedModel."
        )
    return message.meta_graphs[0]


def load_session_model(meta_graph: Any, path: str, options: LoadOptions) -> UserObject:
    """An object with the signatures and variables of a session's model.

    Args:
      meta_graph: the MetaGraphDef.
      path: the folder of the model.
      options: a LoadOptions.

    Returns:
      An object with `signatures`, `variables`, `asset_paths`, `graph`, and a method `prune` for
      functions of other tensors of the graph.

    Raises:
      ValueError: a signature needs a placeholder that is none of its inputs.
      NotImplementedError: a signature uses state that is no variable or table, or changes a
        variable of the first kind.
    """
    outer, graph = context.state.graph, Graph()
    with Session(graph=graph) as session:
        loader.load_graph(session, meta_graph, path, options.experimental_skip_checkpoint)
        variables = _variables(session, graph, outer)
        tables = session_tables(session, graph, outer)
    root = UserObject()
    root.variables = list(variables.values())
    root._tables = list(tables.values())
    state: dict[str, Variable | LookupInterface] = {**variables, **tables}
    signatures = SignatureMap()
    graph_def = as_graph_def(graph)
    for key, signature in sorted(meta_graph.signature_def.items()):
        if key not in (c.INIT_OP_SIGNATURE_KEY, c.TRAIN_OP_SIGNATURE_KEY):
            where = f"SavedModel {path}, signature '{key}'"
            signatures._add_signature(key, _Part(graph, graph_def, state, where).make(signature))
    whole = _Part(graph, graph_def, state, f"SavedModel {path}, prune")
    root.signatures = signatures
    root._setattr_tracking = False
    root.asset_paths = sorted(loader.asset_feeds(meta_graph, path).values())
    root.graph = graph
    root.prune = whole.prune
    root.tensorflow_version = meta_graph.meta_info_def.tensorflow_version
    root._setattr_tracking = True
    return root


def _variables(session: Session, graph: Graph, outer: Graph | None) -> dict[str, Variable]:
    """A variable of ours, of the graph `outer` if any, for each of `graph`, by its operation."""
    trainable = {v.op.name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    found = [op for op in graph.get_operations() if op.type in (*_REFERENCES, _HANDLE)]
    made = {}
    for op in found:
        with graph.as_default():
            if op.type == _HANDLE:
                is_there = execute("VarIsInitializedOp", (op.outputs[0],))
                read = execute("ReadVariableOp", (op.outputs[0],), {"dtype": op.attrs["dtype"]})
            else:
                is_there = execute("IsVariableInitialized", (op.outputs[0],))
                read = op.outputs[0]
        if not session.run(is_there):
            continue  # a signature that reads it is told so
        value = session.run(read)
        dtype = op.attrs["dtype"].base_dtype
        with context.graph_scope(outer):
            made[op.name] = Variable(
                value, op.name in trainable, name=op.name, dtype=dtype,
                shape=TensorShape.from_dims(op.attrs["shape"]),
            )  # fmt: skip
    return made


class _Part:
    """A signature's part of the graph, as a function."""

    def __init__(
        self, graph: Graph, graph_def: Any, state: dict[str, Variable | LookupInterface], where: str
    ) -> None:
        self.graph, self.graph_def, self.state = graph, graph_def, state
        self.where = where

    def make(self, signature: Any) -> RestoredConcreteFunction:
        inputs = {name: signature.inputs[name] for name in sorted(signature.inputs)}
        outputs = {name: signature.outputs[name] for name in sorted(signature.outputs)}
        in_specs = {name: self._spec(info, name) for name, info in inputs.items()}
        out_specs = {name: self._spec(info, name) for name, info in outputs.items()}
        wanted = [name for info in outputs.values() for name in self._names(info)]
        body = FuncGraph(f"pruned_{len(wanted)}")
        with context.graph_scope(body), context.no_recording():
            fed: dict[str, Any] = {}
            for name, spec in in_specs.items():
                parts = [spec] if isinstance(spec, TensorSpec) else spec.flatten()
                for part, tensor in zip(parts, self._names(inputs[name]), strict=True):
                    fed[tensor] = body.add_input(part.dtype, part.shape.dims_tuple, name)
            body.outputs, _ = self._import(body, fed, wanted)
            body.structured_outputs = fill(out_specs, iter(body.outputs).__next__)
        body.structured_input_signature = ((), in_specs)
        body.finish()
        return RestoredConcreteFunction(body, None, None, out_specs)

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> RestoredConcreteFunction:
        """A function of chosen inputs and outputs of the graph.

        Args:
          feeds: a nest of tensors of the graph, or their names: the inputs, in flat order.
          fetches: a nest of tensors and operations, or their names: the outputs. The function gives
            None for an operation, which it runs.
          name: of the new function.
          input_signature: the specs of the inputs as a pair of args and kwargs; those of `feeds`
            if None.

        Returns:
          A function that shares the variables.

        Raises:
          KeyError: the graph has nothing of a name.
          ValueError: an output needs a placeholder that is not among the feeds; a feed is no
            tensor.
        """
        inputs = [self.graph.as_graph_element(feed) for feed in nest.flatten(feeds)]
        for found in inputs:
            if not isinstance(found, SymbolicTensor):
                raise self._refuse("tensors as feeds, such as 'x:0'", repr(found))
        wanted = nest.map_structure(self.graph.as_graph_element, fetches)
        flat = nest.flatten(wanted)
        tensors = [each.name for each in flat if isinstance(each, SymbolicTensor)]
        runs = [each.name for each in flat if isinstance(each, Operation)]
        body = FuncGraph(name or f"pruned_{len(flat)}")
        with context.graph_scope(body), context.no_recording():
            fed = {t.name: body.add_input(t.dtype, t.dims, t.op.name) for t in inputs}
            body.outputs, operations = self._import(body, fed, tensors, runs)
        results = iter(body.outputs)
        body.structured_outputs = nest.map_structure(
            lambda each: next(results) if isinstance(each, SymbolicTensor) else None, wanted
        )
        specs = tuple(TensorSpec(t.shape, t.dtype, t.op.name) for t in inputs)
        body.structured_input_signature = input_signature or (specs, {})
        body.finish()
        body.control_outputs += [op for op in operations if op not in body.control_outputs]
        outputs = nest.map_structure(
            lambda t: None if t is None else TensorSpec(t.shape, t.dtype), body.structured_outputs
        )
        return RestoredConcreteFunction(body, None, None, outputs)

    def _import(
        self, body: FuncGraph, fed: dict[str, Any], wanted: list[str], runs: Sequence[str] = ()
    ) -> tuple[list[Any], list[Any]]:
        """Adds what tensors and operations need to a function; returns what stands for them."""
        nodes, used = self._needed([*wanted, *(f"^{name}" for name in runs)], set(fed))
        mapped = {**fed, **{f"{name}:0": self._value(body, name) for name in used}}
        given = {key: value for key, value in mapped.items() if key in nodes.inputs}
        elements = [*nodes.outputs(wanted, mapped), *runs]
        made = import_graph_def(nodes.message, given, elements, name="")
        found = iter(made or ())
        results = [mapped[name] if name in mapped else next(found) for name in wanted]
        for name in used:
            if isinstance(self.state[name], Variable):
                body.watch_variable(self.state[name])
        return [execute("Identity", (tensor,)) for tensor in results], list(found)

    def _names(self, info: Any) -> list[str]:
        encoding = info.WhichOneof("encoding")
        if encoding == "name":
            return [info.name]
        if encoding == "coo_sparse":
            sparse = info.coo_sparse
            return [
                sparse.indices_tensor_name, sparse.values_tensor_name,
                sparse.dense_shape_tensor_name,
            ]  # fmt: skip
        raise NotImplementedError(
            errors.located(
                self.where, "tensors and sparse tensors", str(encoding),
                "Load the model in a session: tf.compat.v1.saved_model.load.",
            )
        )  # fmt: skip

    def _spec(self, info: Any, name: str) -> Any:
        shape = TensorShape.from_dims(dims_from_proto(info.tensor_shape, self.where))
        dtype = as_dtype(info.dtype)
        if info.WhichOneof("encoding") == "coo_sparse":
            return SparseTensorSpec(shape, dtype)
        return TensorSpec(shape, dtype, name)

    def _value(self, body: FuncGraph, name: str) -> SymbolicTensor:
        """What stands for a variable: its handle, or for one of the first kind its value."""
        variable = self.state[name]
        if isinstance(variable, LookupInterface):
            return body.capture(variable.resource_handle)
        handle = body.capture(variable.handle)
        if self.graph.get_operation_by_name(name).type == _HANDLE:
            return handle
        value: SymbolicTensor = execute("ReadVariableOp", (handle,), {"dtype": variable.dtype})
        return value

    def _needed(self, wanted: Iterable[str], fed: set[str]) -> tuple["_Nodes", list[str]]:
        """The nodes that the outputs need, and the variables and tables among what they take."""
        known = {node.name: node for node in self.graph_def.node}
        nodes, variables, inputs = {}, [], set()
        waiting = [self._full(name) for name in wanted]
        while waiting:
            text = waiting.pop()
            name = text.lstrip("^").partition(":")[0]
            if text in fed or name in nodes or name in variables:
                continue
            if name not in known:
                raise self._refuse("tensors of the graph", repr(text))
            node = known[name]
            if node.op in (*_REFERENCES, _HANDLE, *MAKERS):
                if name not in self.state:
                    raise self._refuse("variables and tables with values", f"'{name}' without one")
                variables.append(name)
                continue
            self._check(node)
            nodes[name] = node
            taken = [self._full(each) for each in node.input]
            inputs.update(taken)
            waiting += taken
        message = proto.graph_pb2.GraphDef()
        message.node.extend(node for node in self.graph_def.node if node.name in nodes)
        message.library.CopyFrom(self.graph_def.library)
        message.versions.CopyFrom(self.graph_def.versions)
        return _Nodes(message, inputs), variables

    def _full(self, text: str) -> str:
        return text if text.startswith("^") or ":" in text else f"{text}:0"

    def _check(self, node: Any) -> None:
        if node.op == "Placeholder":
            raise self._refuse(
                "an input for each placeholder that its outputs use",
                f"'{node.name}', which is no input",
            )
        op = self.graph.get_operation_by_name(node.name)
        other = [t for t in op.outputs if t.dtype in (dt.resource, dt.variant)]
        if other and op.op_def.stateful and not op.inputs:
            raise NotImplementedError(
                errors.located(
                    self.where, "no state but variables and lookup tables",
                    f"{node.op} '{node.name}'",
                    "Load the model in a session: tf.compat.v1.saved_model.load.",
                )
            )  # fmt: skip
        if any(arg.is_ref for arg in op.op_def.input_arg):
            raise NotImplementedError(
                errors.located(
                    self.where, "variables that are only read", f"{node.op} '{node.name}'",
                    "Load the model in a session: tf.compat.v1.saved_model.load.",
                )
            )  # fmt: skip

    def _refuse(self, expected: str, got: str) -> ValueError:
        return ValueError(
            errors.located(self.where, expected, got, "Save the model with another signature.")
        )


class _Nodes:
    """A part of a graph: its message, and all that its nodes take."""

    def __init__(self, message: Any, inputs: set[str]) -> None:
        self.message, self.inputs = message, inputs

    def outputs(self, wanted: Iterable[str], mapped: dict[str, Any]) -> list[str]:
        """What is wanted of the nodes themselves."""
        return [name for name in wanted if name not in mapped]
