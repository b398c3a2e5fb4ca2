"""Functions of `tf.data.experimental` about datasets and iterators, rather than their elements."""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import proto
from penstock.core import shapes
from penstock.core.context import state
from penstock.core.deprecation import deprecated
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.tensor import EagerTensor, Tensor
from penstock.data.base import DatasetBase, dataset_class
from penstock.data.functions import debugging
from penstock.data.iterating import state_of
from penstock.data.iterator import IteratorBase
from penstock.data.operations import HOST, held
from penstock.data.stages import Description
from penstock.data.structure import Structure
from penstock.ops.optional import Optional

# Any: elements are of whatever structure the dataset has.


def cardinality(dataset: Any) -> Any:
    """How many elements a dataset has: see `tf.data.Dataset.cardinality`.

    Args:
      dataset: a dataset.

    Returns:
      int64[].
    """
    return dataset.cardinality()


@deprecated("Use `tf.data.Dataset.get_single_element`.")
def get_single_element(dataset: Any) -> Any:
    """The only element of a dataset: see `tf.data.Dataset.get_single_element`.

    Args:
      dataset: a dataset of one element.

    Raises:
      TypeError: it is no dataset.
      InvalidArgumentError: it has none, or more.
    """
    if not isinstance(dataset, DatasetBase):
        raise TypeError(
            f"Invalid `dataset`. Expected a `tf.data.Dataset` object but got {type(dataset)}."
        )
    return dataset.get_single_element()  # type: ignore[attr-defined]


def get_structure(dataset_or_iterator: Any) -> Any:
    """The structure of TypeSpecs of the elements of a dataset or an iterator.

    Args:
      dataset_or_iterator: it.

    Raises:
      TypeError: it is neither.

    Example:
      >>> import penstock as tf
      >>> tf.data.experimental.get_structure(tf.data.Dataset.range(3))
      TensorSpec(shape=(), dtype=tf.int64, name=None)
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "Invalid `dataset_or_iterator`. `dataset_or_iterator` must be a `tf.data.Dataset` or"
            f" tf.data.Iterator object, but got {type(dataset_or_iterator)}."
        ) from None


def to_variant(dataset: Any) -> Tensor:
    """The tensor that stands for a dataset, variant[].

    Args:
      dataset: a dataset.

    Example:
      >>> import penstock as tf
      >>> variant = tf.data.experimental.to_variant(tf.data.Dataset.range(2))
      >>> spec = tf.TensorSpec([], tf.int64)
      >>> [int(x) for x in tf.data.experimental.from_variant(variant, spec)]
      [0, 1]
    """
    return dataset._variant_tensor  # type: ignore[no-any-return]


def from_variant(variant: Any, structure: Any) -> Any:
    """The dataset that a tensor stands for.

    Args:
      variant: variant[], which an operation on datasets gave.
      structure: the structure of TypeSpecs of its elements.
    """
    return dataset_class()(variant, Structure(structure))


def get_next_as_optional(iterator: Any) -> Optional:
    """The next element of an iterator as an optional: see `tf.data.Iterator`.

    Args:
      iterator: an iterator.
    """
    return iterator.get_next_as_optional()  # type: ignore[no-any-return]


def enable_debug_mode() -> None:
    """From now on functions of elements run as Python, element by element: for a debugger.

    Datasets that were made before stay as they are.

    Raises:
      ValueError: not in eager mode.
    """
    if state.graph is not None:
        raise ValueError("tf.data debug mode is only supported in eager mode.")
    debugging.on = True


def prefetch_to_device(device: str, buffer_size: int | None = None) -> Callable[[Any], Any]:
    """For `Dataset.apply`: elements are read ahead, and are on a device when they are taken.

    Args:
      device: the name of the device.
      buffer_size: how many are read ahead; None leaves it to Penstock.

    Returns:
      A function from a dataset to a dataset. What comes behind it takes elements from the host.
    """

    def apply(dataset: Any) -> Any:
        return _on_device(dataset.prefetch(-1 if buffer_size is None else buffer_size), device)

    return apply


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Callable[[Any], Any]:
    """For `Dataset.apply`: elements are on a device when they are taken.

    Args:
      target_device: the name of the device.
      source_device: where they come from; accepted for compatibility.

    Returns:
      A function from a dataset to a dataset.
    """
    del source_device
    return lambda dataset: _on_device(dataset, target_device)


def _on_device(dataset: Any, device: str) -> Any:
    made = type(dataset)(dataset._variant_tensor, dataset._structure, (dataset,))
    made._target_device = device
    return made


# ---- what stages there are

MODEL = define_op(
    "IteratorGetModelProto(iterator: resource) -> model_proto: string",
    shape=shapes.scalar,
    stateful=True,
    fallible=True,
    doc="The stages of an iterator, as a serialized ModelProto.",
).not_differentiable("it is a string")


@host_kernel(MODEL, limit=HOST)
def _model(iterator: Any) -> Any:
    message = proto.model_pb2.ModelProto()
    description = state_of(iterator).description
    if description is not None:
        message.output = _add_node(description, message)
        message.id_counter = len(message.nodes) + 1
    return np.array(message.SerializeToString(deterministic=True), object)


def _add_node(description: Description, message: Any) -> int:
    inputs = [_add_node(each, message) for each in description.inputs]
    number = len(message.nodes) + 1
    node = message.nodes[number]
    node.id, node.name = number, repr(description).strip("<>").removesuffix("Dataset")
    node.inputs.extend(inputs)
    return number


def get_model_proto(iterator: Any) -> Any:
    """The stages of an iterator.

    Args:
      iterator: an iterator, or one of NumPy arrays.

    Returns:
      A ModelProto: the stages with their names and inputs; nothing is measured.

    Raises:
      ValueError: it is no iterator of eager mode.
    """
    inner = getattr(iterator, "_iterator", iterator)
    resource = getattr(inner, "_iterator_resource", None)
    if not isinstance(inner, IteratorBase) or not isinstance(resource, EagerTensor):
        raise ValueError(
            "Can only get the model proto of a tf.data.Iterator or tf.data.NumpyIterator of eager"
            f" mode, got {iterator!r}."
        )
    data: Any = execute(MODEL, (resource,)).numpy()
    return proto.model_pb2.ModelProto.FromString(data)


# ---- datasets within variants

WRAP = define_op(
    "WrapDatasetVariant(input_handle: variant) -> output_handle: variant",
    shape=shapes.scalar,
    fallible=True,
    doc="The same dataset, in a tensor of the host.",
).not_differentiable("it is a dataset")
UNWRAP = define_op(
    "UnwrapDatasetVariant(input_handle: variant) -> output_handle: variant",
    shape=shapes.scalar,
    fallible=True,
    doc="What WrapDatasetVariant was given.",
).not_differentiable("it is a dataset")


@host_kernel(WRAP, limit=HOST)
@host_kernel(UNWRAP, limit=HOST)
def _wrap(input_handle: Any) -> Any:
    return held(input_handle)
