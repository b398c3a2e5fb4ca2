"""Iterators of datasets, as Python sees them."""

import abc
from collections.abc import Iterator as PythonIterator
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.composite import CompositeTensor, SparseTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.resources import eager_resources
from penstock.core.tensor import EagerTensor, Tensor, wrap
from penstock.core.trackable import Trackable
from penstock.data.iterating import (
    ANONYMOUS,
    GET_NEXT,
    GET_NEXT_OPTIONAL,
    MAKE,
    IteratorState,
    anonymous,
    end_of_sequence,
    state_of,
)
from penstock.data.operations import held
from penstock.data.structure import Structure
from penstock.graph.behavior import device
from penstock.ops.optional import Optional
from penstock.ops.sparse_tensors import to_dense
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec, register
from penstock.util import nest

# Any: elements are of whatever structure the dataset has.

_MOST_TRACED = 2048
_KEY, _OLD_KEY = "ITERATOR_STATE", "_STATE"  # in checkpoints; the second in earlier ones


class IteratorBase(PythonIterator[Any], Trackable, CompositeTensor, abc.ABC):
    """What `iter(dataset)` gives: the elements of a dataset, one after the other.

    Example:
      >>> import penstock as tf
      >>> iterator = iter(tf.data.Dataset.range(2))
      >>> isinstance(iterator, tf.data.Iterator), int(iterator.get_next())
      (True, 0)
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of the elements."""

    @abc.abstractmethod
    def get_next(self) -> Any:
        """The next element.

        Raises:
          OutOfRangeError: there is none.
        """

    @abc.abstractmethod
    def get_next_as_optional(self) -> Optional:
        """The next element as an optional, which is empty behind the last one."""


class OwnedIterator(IteratorBase):
    """The iterator of one dataset, which goes when nobody has it any more.

    Args:
      dataset: the dataset; or
      components: the handle of an iterator, with
      element_spec: the structure of its elements.

    Raises:
      ValueError: both, or neither, are given.
    """

    def __init__(
        self, dataset: Any = None, components: Any = None, element_spec: Any = None
    ) -> None:
        if dataset is None:
            if components is None or element_spec is None:
                raise ValueError(
                    "When `dataset` is not provided, both `components` and `element_spec` must be"
                    " specified."
                )
            (self._iterator_resource,) = (
                components if isinstance(components, (list, tuple)) else (components,)
            )
            self._structure = Structure(element_spec)
        else:
            if components is not None or element_spec is not None:
                raise ValueError(
                    "When `dataset` is provided, `element_spec` and `components` must not be"
                    " specified."
                )
            self._structure = dataset._structure
            self._iterator_resource = self._made(dataset)
        self._dataset = dataset
        self._traced = 0  # calls of `next` in graphs
        self._device = getattr(dataset, "_target_device", None)  # where elements are to be
        found = getattr(self._iterator_resource, "_array", None)
        self._state: IteratorState | None = None if found is None else state_of(found)

    def _made(self, dataset: Any) -> Tensor:
        variant = dataset._variant_tensor
        types, shapes = self._structure.types, self._structure.shapes
        if state.graph is None and isinstance(variant, EagerTensor):
            handle = anonymous(types, shapes)
            handle.resource.begin(held(variant._array), eager_resources)
            return wrap(handle, dt.resource)
        resource: Tensor = execute(ANONYMOUS, (), self._structure.attrs)
        execute(MAKE, (variant, resource))
        return resource

    def __iter__(self) -> "OwnedIterator":
        return self

    def __next__(self) -> Any:
        if state.graph is not None or self._state is None:
            self._check_traced()
            return self.get_next()
        found = self._state.next()
        if found is None:
            raise StopIteration
        structure = self._structure
        tensors = [wrap(v, t) for v, t in zip(found, structure.types, strict=True)]
        if self._device is not None:
            with device(self._device):
                tensors = [execute("Identity", (t,)) for t in tensors]
        return structure.pack(tensors)

    def _check_traced(self) -> None:
        """Refuses a loop of Python that would add elements to a graph for ever."""
        self._traced += 1
        if self._traced > _MOST_TRACED:
            raise RuntimeError(
                f"next(iterator) was called {_MOST_TRACED} times while a function is traced:"
                " expected a loop that AutoGraph converts, got one of Python, which would never"
                " end. Define the function in a file, without do_not_convert, or use"
                " Dataset.reduce."
            )

    def next(self) -> Any:
        """As `next(iterator)`."""
        return self.__next__()

    def get_next(self) -> Any:
        """The next element.

        Returns:
          It, in the structure of `element_spec`.

        Raises:
          OutOfRangeError: there is none.
        """
        if state.graph is None and self._state is not None:
            try:
                return self.__next__()
            except StopIteration:
                raise end_of_sequence() from None
        return self._structure.pack(
            execute(GET_NEXT, (self._iterator_resource,), self._structure.attrs)
        )

    def get_next_as_optional(self) -> Optional:
        """The next element as an optional, which is empty behind the last one."""
        variant = execute(GET_NEXT_OPTIONAL, (self._iterator_resource,), self._structure.attrs)
        return Optional(variant, self._structure.spec)

    @property
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of the elements."""
        return self._structure.spec

    @property
    def _type_spec(self) -> "IteratorSpec":
        return IteratorSpec(self.element_spec)

    def _serialize_to_tensors(self) -> dict[str, Any]:
        if self._state is None:
            raise errors.UnimplementedError(
                None, None, "An iterator of a graph is saved with make_saveable_from_iterator."
            )
        return {_KEY: convert_to_tensor(self._state.save())}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        found = restored_tensors[_KEY if _KEY in restored_tensors else _OLD_KEY]
        data: Any = np.asarray(found.numpy(), object).reshape(())[()]
        assert self._state is not None
        self._state.restore(data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.element_spec}>"


@register("tf.IteratorSpec")
class IteratorSpec(TypeSpec):
    """Describes an iterator of a dataset.

    Args:
      element_spec: a structure of TypeSpecs, of the elements.
    """

    __slots__ = ("_element_spec",)
    _hides_types = True

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def value_type(self) -> type:
        """The class of iterators."""
        return OwnedIterator

    @staticmethod
    def from_value(value: Any) -> "IteratorSpec":
        """The spec of an iterator."""
        return IteratorSpec(value.element_spec)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> list[Any]:
        return [TensorSpec((), dt.resource)]

    def _to_components(self, value: Any) -> list[Any]:
        return [value._iterator_resource]

    def _from_components(self, components: Any) -> OwnedIterator:
        return OwnedIterator(components=components, element_spec=self._element_spec)


class NumpyIterator(PythonIterator[Any], Trackable):
    """The elements of a dataset as NumPy arrays; what `as_numpy_iterator` gives."""

    def __init__(self, dataset: Any) -> None:
        self._iterator = iter(dataset)

    def __iter__(self) -> "NumpyIterator":
        return self

    def __next__(self) -> Any:
        return nest.map_structure(_as_numpy, next(self._iterator))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(iterator={self._iterator!r})"

    def _serialize_to_tensors(self) -> dict[str, Any]:
        return self._iterator._serialize_to_tensors()  # type: ignore[no-any-return]

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        return self._iterator._restore_from_tensors(restored_tensors)


def _as_numpy(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        value = to_dense(value)
    return value.numpy() if hasattr(value, "numpy") else value
