"""What all datasets have: the variant tensor, the structure, iterators, and how others are made."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op, lookup
from penstock.core.shapes import scalar
from penstock.core.tensor import EagerTensor, Tensor
from penstock.core.trackable import Trackable
from penstock.data.iterator import NumpyIterator, OwnedIterator
from penstock.data.operations import HOST, held
from penstock.data.origins import VariantTracker, remember
from penstock.data.stages import INFINITE, UNKNOWN, Array
from penstock.data.structure import Structure
from penstock.types import dtypes as dt
from penstock.types.composite_specs import NoneTensorSpec, SparseTensorSpec
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import BatchableTypeSpec, register
from penstock.util import nest

if TYPE_CHECKING:
    pass

# Any: elements are of whatever structure the dataset has.

CARDINALITY = define_op(
    "DatasetCardinality(input_dataset: variant; cardinality_options: string = '') -> cardinality:"
    " int64",
    shape=scalar,
    fallible=True,
    doc="How many elements a dataset has, the largest number for more; -1 for infinitely many, -2"
    " where it is not known.",
).not_differentiable("the result is an integer")


def cardinality_of(variant: Array) -> Array:
    """How many elements the dataset in a variant has, int64[]; see `CARDINALITY`."""
    most = np.iinfo(np.int64).max
    return np.asarray(min(held(variant).cardinality(), most), np.int64)


@host_kernel(CARDINALITY, limit=HOST)
def _cardinality(input_dataset: Array) -> Array:
    return cardinality_of(input_dataset)


_classes: dict[str, type] = {}
_AS_ARRAYS = (TensorSpec, RaggedTensorSpec, SparseTensorSpec, NoneTensorSpec)
_VERSION = re.compile(r"V\d+$")
_SHOWN = {  # TensorFlow's classes, where they are not called as the operations
    "CacheDataset": "CacheDataset",
    "CsvDataset": "CsvDatasetV2",
    "FixedLengthRecordDataset": "FixedLengthRecordDatasetV2",
    "GeneratorDataset": "_FlatMapDataset",
    "SqlDataset": "SqlDatasetV2",
    "TextLineDataset": "TextLineDatasetV2",
    "TFRecordDataset": "TFRecordDatasetV2",
}


def install_class(kind: type) -> None:
    """Says which class the datasets are of that methods make."""
    _classes["dataset"] = kind


def dataset_class() -> Any:
    """The class of datasets that methods make."""
    return _classes["dataset"]


class DatasetBase(CompositeTensor, Trackable):
    """A dataset without its methods.

    Args:
      variant_tensor: variant[], which an operation made.
      structure: of the elements.
      inputs: the datasets that it takes its elements from.
    """

    _made_by = ""  # the operation
    _class_of_results: ClassVar[Any] = None  # of what methods give, where it is not `Dataset`

    def __init__(
        self, variant_tensor: Tensor, structure: Any = None, inputs: Sequence[Any] = ()
    ) -> None:
        self._variant_tensor = variant_tensor
        self._own_structure = structure
        self._own_inputs = tuple(inputs)

    @property
    def _structure(self) -> Structure:
        found = self.__dict__.get("_own_structure")
        if found is None:
            found = self.__dict__["_own_structure"] = Structure(self.element_spec)
        return found

    @property
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of the elements.

        Example:
          >>> import penstock as tf
          >>> tf.data.Dataset.range(3).element_spec
          TensorSpec(shape=(), dtype=tf.int64, name=None)
        """
        return self._structure.spec

    def _inputs(self) -> list[Any]:
        """The datasets that it takes its elements from."""
        return list(self._own_inputs)

    def _derived(
        self,
        op: OpDef | str,
        inputs: Sequence[Any],
        spec: Any,
        attrs: dict[str, Any] | None = None,
        name: str | None = None,
        others: Sequence[Any] = (),
    ) -> Any:
        """The dataset that an operation makes of this one, and of `others`.

        Args:
          op: the operation.
          inputs: its inputs.
          spec: the structure of the elements.
          attrs: its attributes, beside those that follow from the structure.
          name: its name in a graph.
          others: the other datasets that it takes.
        """
        structure = spec if isinstance(spec, Structure) else Structure(spec)
        definition = lookup(op) if isinstance(op, str) else op
        known = {k: v for k, v in structure.attrs.items() if k in definition.attrs}
        given = {**known, **(attrs or {})}
        variant = execute(op, inputs, given, name)
        remember(variant, op, inputs, given)
        kind = type(self)._class_of_results or dataset_class()
        made = kind(variant, structure, (self, *others))
        made._made_by = op if isinstance(op, str) else op.name
        return made

    def __iter__(self) -> Iterator[Any]:
        """An iterator from the first element.

        Raises:
          RuntimeError: in a plain graph: there `tf.compat.v1.data.make_one_shot_iterator` serves.
        """
        if state.graph is not None and not state.graph.building_function:
            raise RuntimeError(
                "`tf.data.Dataset` only supports Python-style iteration in eager mode or within"
                " tf.function. Use tf.compat.v1.data.make_one_shot_iterator in a graph."
            )
        return OwnedIterator(self)

    def as_numpy_iterator(self) -> NumpyIterator:
        """An iterator of the elements as NumPy arrays, eagerly.

        Returns:
          An iterator of structures like `element_spec`, of arrays and NumPy scalars; sparse tensors
          become dense, ragged ones arrays of arrays.

        Raises:
          TypeError: elements hold datasets or other values without such a form.
          RuntimeError: not in eager mode.

        Example:
          >>> import penstock as tf
          >>> [int(x) for x in tf.data.Dataset.range(3).as_numpy_iterator()]
          [0, 1, 2]
        """
        if state.graph is not None:
            raise RuntimeError(
                "`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode."
            )
        for spec in nest.flatten(self.element_spec):
            if not isinstance(
                spec, (TensorSpec, RaggedTensorSpec, SparseTensorSpec, NoneTensorSpec)
            ):
                raise TypeError(
                    "`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that"
                    f" produce values of type {spec.value_type}: expected tensors, got {spec}."
                )
        return NumpyIterator(self)

    def cardinality(self, name: str | None = None) -> Any:
        """How many elements there are.

        Args:
          name: the operation's name in a graph.

        Returns:
          int64[]; `tf.data.INFINITE_CARDINALITY` for infinitely many, and
          `tf.data.UNKNOWN_CARDINALITY` where that is not known without running.

        Example:
          >>> import penstock as tf
          >>> int(tf.data.Dataset.range(42).cardinality())
          42
        """
        return execute(CARDINALITY, (self._variant_tensor,), None, name)

    def __len__(self) -> int:
        """How many elements there are.

        Raises:
          TypeError: in a graph; or there are infinitely many, or it is not known.
        """
        if state.graph is not None:
            raise TypeError(
                "`tf.data.Dataset` only supports `len` in eager mode. Use"
                " `tf.data.Dataset.cardinality()` instead."
            )
        found = int(self.cardinality())
        if found == INFINITE:
            raise TypeError("The dataset is infinite: it has no length. Take some of it first.")
        if found == UNKNOWN:
            raise TypeError(
                "The dataset length is unknown. Count the elements, or say how many there are with"
                " tf.data.experimental.assert_cardinality."
            )
        return found

    def __bool__(self) -> bool:
        return True

    __nonzero__ = __bool__

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        if save_type != "savedmodel" or not isinstance(self._variant_tensor, EagerTensor):
            return {}
        tracker = self.__dict__.get("_tracker")
        if tracker is None:
            tracker = self.__dict__["_tracker"] = VariantTracker(self._variant_tensor)
        return {"_variant_tracker": tracker}

    @property
    def _type_spec(self) -> "DatasetSpec":
        return DatasetSpec(self.element_spec)

    def __repr__(self) -> str:
        made_by = _VERSION.sub("", self._made_by)
        if not made_by and type(self) is not dataset_class():
            name = _SHOWN.get(type(self).__name__, type(self).__name__)
        else:
            name = _SHOWN.get(made_by, f"_{made_by or 'VariantDataset'}")
        return f"<{name} element_spec={self.element_spec}>"

    def __debug_string__(self) -> str:
        """The operations that make it, as a tree."""
        lines: list[str] = []
        todo: list[tuple[int, Any]] = [(0, self)]
        while todo:
            depth, dataset = todo.pop()
            lines.append("-" * 2 * depth + repr(dataset))
            todo.extend((depth + 1, each) for each in reversed(dataset._inputs()))
        return "\n".join(lines)


class DatasetStack(CompositeTensor):
    """Datasets that `batch` has stacked; `unbatch` gives them one by one.

    Args:
      variant_tensor: variant[...], which holds them.
      element_spec: the structure of TypeSpecs of their elements.
      shape: that of the stack.
    """

    __slots__ = ("_element_spec", "_shape", "_variant_tensor")

    def __init__(self, variant_tensor: Tensor, element_spec: Any, shape: Any) -> None:
        self._variant_tensor = variant_tensor
        self._element_spec = element_spec
        self._shape = shape

    @property
    def _type_spec(self) -> "DatasetSpec":
        return DatasetSpec(self._element_spec, self._shape)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shape={self._shape} element_spec={self._element_spec}>"


@register("tf.data.DatasetSpec")
class DatasetSpec(BatchableTypeSpec):
    """Describes a dataset: as an argument of a function, or the element of another dataset.

    Args:
      element_spec: a structure of TypeSpecs, of the elements.
      dataset_shape: the shape of a stack of datasets; () for one.

    Example:
      >>> import penstock as tf
      >>> tf.data.DatasetSpec.from_value(tf.data.Dataset.range(3))
      DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))
    """

    __slots__ = ("_dataset_shape", "_element_spec")
    _hides_types = True

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self._element_spec = element_spec
        self._dataset_shape = TensorSpec(dataset_shape, dt.variant).shape

    @property
    def value_type(self) -> type:
        """The class of datasets."""
        return dataset_class()  # type: ignore[no-any-return]

    @property
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of the elements."""
        return self._element_spec

    @staticmethod
    def from_value(value: Any) -> "DatasetSpec":
        """The spec of a dataset."""
        return DatasetSpec(value.element_spec)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec, self._dataset_shape)

    @property
    def _component_specs(self) -> Any:
        return TensorSpec(self._dataset_shape, dt.variant)

    def _to_components(self, value: Any) -> Any:
        return value._variant_tensor

    def _from_components(self, components: Any) -> Any:
        if self._dataset_shape.rank == 0:
            return dataset_class()(components, Structure(self._element_spec))
        return DatasetStack(components, self._element_spec, self._dataset_shape)

    def _batch(self, batch_size: int | None) -> "DatasetSpec":
        return DatasetSpec(self._element_spec, [batch_size, *self._dataset_shape])

    def _unbatch(self) -> "DatasetSpec":
        if self._dataset_shape.rank == 0:
            raise ValueError("Slicing dataset elements is not supported for rank 0.")
        return DatasetSpec(self._element_spec, self._dataset_shape[1:])

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        if self._dataset_shape.rank == 0:
            raise ValueError("Slicing dataset elements is not supported for rank 0.")
        return self._to_tensor_list(value)
