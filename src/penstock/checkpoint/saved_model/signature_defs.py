"""SignatureDef and TensorInfo messages: what is fed and fetched, for servers and loaders."""

from collections.abc import Mapping
from typing import Any

from penstock import proto
from penstock.checkpoint.saved_model import constants as c
from penstock.core.composite import CompositeTensor, SparseTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import EagerTensor
from penstock.data import structure_messages as structures
from penstock.graph.default_graph import get_default_graph
from penstock.graph.operation import Operation
from penstock.graph.shape_proto import dims_from_proto, dims_to_proto
from penstock.graph.tensor_proto import make_tensor_proto
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype
from penstock.util import nest


def build_tensor_info(tensor: Any) -> Any:
    """A TensorInfo that names a tensor of a graph.

    Args:
      tensor: a tensor, a sparse tensor, or another value made of tensors.

    Raises:
      RuntimeError: in eager mode.
    """
    if state.graph is None and not isinstance(tensor, CompositeTensor):
        _refuse_eager("build_tensor_info", tensor)
    info = proto.meta_graph_pb2.TensorInfo()
    if isinstance(tensor, SparseTensor):
        indices, values, dense_shape = nest.flatten(tensor, expand_composites=True)
        info.coo_sparse.values_tensor_name = values.name
        info.coo_sparse.indices_tensor_name = indices.name
        info.coo_sparse.dense_shape_tensor_name = dense_shape.name
    elif isinstance(tensor, CompositeTensor):
        spec = tensor._type_spec
        info.composite_tensor.type_spec.CopyFrom(structures.encode(spec).type_spec_value)
        for part in nest.flatten(tensor, expand_composites=True):
            info.composite_tensor.components.append(build_tensor_info(part))
        return info
    else:
        info.name = tensor.name
    info.dtype = as_dtype(tensor.dtype).as_datatype_enum  # type: ignore[assignment]
    info.tensor_shape.CopyFrom(dims_to_proto(tensor.shape.dims_tuple))
    return info


def _refuse_eager(where: str, tensor: Any) -> None:
    raise RuntimeError(
        f"`{where}` is not supported in eager execution: expected a tensor of a graph, got "
        f"{tensor!r}. Enter a graph with `with tf.Graph().as_default():`."
    )


def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Any = None, import_scope: str | None = None
) -> Any:
    """The tensor that a TensorInfo names.

    Args:
      tensor_info: the message.
      graph: the graph; the default one when None.
      import_scope: what the names begin with in the graph.

    Raises:
      KeyError: the graph has none of that name.
      ValueError: the message names nothing.
    """
    graph = graph or get_default_graph()

    def find(name: str) -> Any:
        full = f"{import_scope}/{name}" if import_scope else name
        return graph.as_graph_element(full, allow_tensor=True, allow_operation=False)

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return find(tensor_info.name)
    if encoding == "coo_sparse":
        sparse = tensor_info.coo_sparse
        return SparseTensor(
            find(sparse.indices_tensor_name),
            find(sparse.values_tensor_name),
            find(sparse.dense_shape_tensor_name),
        )
    if encoding == "composite_tensor":
        message = proto.struct_pb2.StructuredValue()
        message.type_spec_value.ParseFromString(
            tensor_info.composite_tensor.type_spec.SerializeToString()
        )
        spec = structures.decode(message, "TensorInfo")
        parts = tensor_info.composite_tensor.components
        return spec.from_tensors(iter([find(part.name) for part in parts]))
    raise ValueError(
        f"Invalid TensorInfo.encoding: {encoding}. Expected `coo_sparse`, `composite_tensor`, or "
        "`name` for a dense tensor."
    )


def op_from_tensor_info(info: Any, graph: Any, import_scope: str | None = None) -> Operation:
    """The operation that a TensorInfo of an initializer names."""
    name = f"{import_scope}/{info.name}" if import_scope else info.name
    found = graph.as_graph_element(name)
    return found if isinstance(found, Operation) else found.op


# ---- SignatureDef --------------------------------------------------------------------------------


def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Any:
    """A SignatureDef.

    Args:
      inputs: TensorInfo messages by name.
      outputs: likewise.
      method_name: what kind of call it is, for servers.
      defaults: values for inputs that are not given, by name: TensorProtos, arrays or tensors.

    Raises:
      ValueError: a default belongs to no input, or its name is no string.
    """
    message = proto.meta_graph_pb2.SignatureDef()
    for name, info in (inputs or {}).items():
        message.inputs[name].ParseFromString(info.SerializeToString())
    for name, info in (outputs or {}).items():
        message.outputs[name].ParseFromString(info.SerializeToString())
    if method_name is not None:
        message.method_name = method_name
    for name, value in (defaults or {}).items():
        if str(name) not in message.inputs:
            raise ValueError(
                f"defaults: expected names of inputs {sorted(message.inputs)}, got {name!r}."
            )
        if not hasattr(value, "SerializeToString"):
            value = value.numpy() if isinstance(value, EagerTensor) else value
            value = make_tensor_proto(value)
        message.defaults[name].ParseFromString(value.SerializeToString())
    return message


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """A SignatureDef for predictions.

    Args:
      inputs: tensors by name.
      outputs: likewise.

    Raises:
      ValueError: there are none.
    """
    if not inputs:
        raise ValueError("Prediction `inputs` cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction `outputs` cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), c.PREDICT_METHOD_NAME)


def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """A SignatureDef for regression.

    Args:
      examples: string[N], serialized examples.
      predictions: float32.

    Raises:
      ValueError: one is missing, or of another dtype.
    """
    _required("Regression", "examples", examples)
    _required("Regression", "predictions", predictions)
    examples, predictions = convert_to_tensor(examples), convert_to_tensor(predictions)
    _check("Regression input tensors", "string", examples, dt.string)
    _check("Regression output tensors", "float", predictions, dt.float32)
    return build_signature_def(
        _infos({c.REGRESS_INPUTS: examples}),
        _infos({c.REGRESS_OUTPUTS: predictions}),
        c.REGRESS_METHOD_NAME,
    )


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """A SignatureDef for classification.

    Args:
      examples: string[N], serialized examples.
      classes: string, or None.
      scores: float32, or None.

    Raises:
      ValueError: examples or both of the others are missing, or one is of another dtype.
    """
    _required("Classification", "examples", examples)
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    examples = convert_to_tensor(examples)
    _check("Classification input tensors", "string", examples, dt.string)
    outputs = {}
    if classes is not None:
        outputs[c.CLASSIFY_OUTPUT_CLASSES] = convert_to_tensor(classes)
        _check("Classification classes", "string", outputs[c.CLASSIFY_OUTPUT_CLASSES], dt.string)
    if scores is not None:
        outputs[c.CLASSIFY_OUTPUT_SCORES] = convert_to_tensor(scores)
        _check("Classification scores", "float", outputs[c.CLASSIFY_OUTPUT_SCORES], dt.float32)
    return build_signature_def(
        _infos({c.CLASSIFY_INPUTS: examples}), _infos(outputs), c.CLASSIFY_METHOD_NAME
    )


def _infos(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: build_tensor_info(tensor) for name, tensor in tensors.items()}


def _required(kind: str, name: str, value: Any) -> None:
    if value is None:
        raise ValueError(f"{kind} `{name}` cannot be None.")


def _check(what: str, expected: str, tensor: Any, dtype: Any) -> None:
    if tensor.dtype.base_dtype is not dtype:
        raise ValueError(
            f"{what} must be of type {expected}. Found tensors with type "
            f"{tensor.dtype.as_datatype_enum} ({tensor.dtype.name})."
        )


_FIXED = {  # method -> dtypes that inputs and outputs of certain names must have
    c.CLASSIFY_METHOD_NAME: (
        {c.CLASSIFY_INPUTS: dt.string},
        {c.CLASSIFY_OUTPUT_CLASSES: dt.string, c.CLASSIFY_OUTPUT_SCORES: dt.float32},
    ),
    c.REGRESS_METHOD_NAME: ({c.REGRESS_INPUTS: dt.string}, {c.REGRESS_OUTPUTS: dt.float32}),
}


def is_valid_signature(signature_def: Any) -> bool:
    """Whether a SignatureDef has what the servers of its method need.

    Args:
      signature_def: the message; None is not valid.
    """
    if signature_def is None:
        return False
    method, inputs, outputs = (
        signature_def.method_name, signature_def.inputs, signature_def.outputs
    )  # fmt: skip
    if method == c.PREDICT_METHOD_NAME:
        return len(inputs) > 0 and len(outputs) > 0
    if method not in _FIXED:
        return False
    wanted_inputs, wanted_outputs = _FIXED[method]
    return (
        set(inputs) == set(wanted_inputs)
        and set(outputs) <= set(wanted_outputs)
        and len(outputs) > 0
        and all(inputs[k].dtype == v.as_datatype_enum for k, v in wanted_inputs.items())
        and all(outputs[k].dtype == wanted_outputs[k].as_datatype_enum for k in outputs)
    )


def check_tensor_info(info: Any) -> None:
    """Refuses a TensorInfo that names nothing.

    Raises:
      AssertionError: that is so.
    """
    if info.WhichOneof("encoding") is None:
        raise AssertionError(
            f"Invalid `tensor_info`: {info}. All TensorInfo protos used in the SignatureDefs must "
            "have one of the 'encoding' fields (e.g., name or coo_sparse) set."
        )
    dims_from_proto(info.tensor_shape, "TensorInfo")
