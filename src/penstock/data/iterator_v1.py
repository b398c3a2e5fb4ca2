"""Iterators of graphs that sessions run: `tf.compat.v1.data.Iterator`, and how they are made."""

import warnings
from typing import Any

from penstock.core import context
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.deprecation import deprecated
from penstock.core.execute import execute
from penstock.core.op_def import lookup
from penstock.core.tensor import Tensor
from penstock.core.trackable import Trackable
from penstock.data import old_iterators as old
from penstock.data.base import DatasetBase
from penstock.data.iterating import GET_NEXT, GET_NEXT_OPTIONAL, ITERATOR, MAKE
from penstock.data.iterator import OwnedIterator
from penstock.data.legacy import legacy_classes, legacy_shapes, legacy_types, spec_of_legacy
from penstock.data.structure import Structure
from penstock.graph.behavior import colocate_with
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.graph_util import extract_sub_graph
from penstock.graph.import_graph import import_graph_def
from penstock.ops.optional import Optional
from penstock.types import dtypes as dt
from penstock.util import nest

# Any: elements are of whatever structure the dataset has.

GET_NEXT_CALL_WARNING_THRESHOLD = 32
_COPIED = ("Dataset", "SeedGenerator", "MemoryCache")  # a copy of them is as good
_TOO_MANY = (
    "An unusually high number of `Iterator.get_next()` calls was detected. This often means that"
    " it is called in a training loop, where each call adds an operation to the graph. Call"
    " `next_element = iterator.get_next()` once before the loop, and run `next_element` in it."
)


class Iterator(Trackable):
    """An iterator of a graph: an operation gives its next element each time it is run.

    Args:
      iterator_resource: resource[], its handle.
      initializer: the operation that has it begin, or None.
      output_types: a structure of the dtypes of elements.
      output_shapes: that of their shapes.
      output_classes: that of their classes.
    """

    def __init__(
        self,
        iterator_resource: Tensor | None,
        initializer: Any,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any,
    ) -> None:
        if iterator_resource is None:
            raise ValueError("Iterator: expected the handle of an iterator, got None.")
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._structure = Structure(spec_of_legacy(output_types, output_shapes, output_classes))
        self._string_handle: Tensor = execute(old.TO_STRING, (iterator_resource,))
        self._get_next_calls = 0
        self._attach()

    def _attach(self) -> None:
        """Says in the graph that the iterator is saved, for `Saver`s of everything."""

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> "Iterator":
        """An iterator without a dataset: `make_initializer` gives it one of several.

        Args:
          output_types: a structure of the dtypes of elements.
          output_shapes: that of their shapes; None leaves them open.
          shared_name: iterators of that name share their position between sessions of a task.
          output_classes: that of their classes; None for tensors.

        Example:
          >>> import penstock as tf
          >>> v1 = tf.compat.v1
          >>> with tf.Graph().as_default():
          ...     iterator = v1.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
          ...     short = iterator.make_initializer(v1.data.Dataset.range(1))
          ...     element = iterator.get_next()
          ...     with v1.Session() as session:
          ...         _ = session.run(short)
          ...         int(session.run(element))
          0
        """
        spec = spec_of_legacy(output_types, output_shapes, output_classes)
        attrs = {"container": "", "shared_name": shared_name or "", **Structure(spec).attrs}
        resource = execute(ITERATOR, (), attrs)
        return Iterator._of(resource, None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> "Iterator":
        """The iterator that a string names: fed, it chooses where elements come from.

        Args:
          string_handle: string[], what `string_handle()` of an iterator gave in the session.
          output_types: a structure of the dtypes of elements.
          output_shapes: that of their shapes; None leaves them open.
          output_classes: that of their classes; None for tensors.
        """
        spec = spec_of_legacy(output_types, output_shapes, output_classes)
        text = convert_to_tensor(string_handle, dt.string)
        resource = execute(old.FROM_STRING_V2, (text,), Structure(spec).attrs)
        return Iterator._of(resource, None, spec)

    @staticmethod
    def _of(resource: Tensor, initializer: Any, spec: Any) -> "Iterator":
        parts = legacy_types(spec), legacy_shapes(spec), legacy_classes(spec)
        return Iterator(resource, initializer, *parts)

    @property
    def initializer(self) -> Any:
        """The operation that has the iterator begin before the first element.

        Raises:
          ValueError: it has none.
        """
        if self._initializer is None:
            raise ValueError(
                "The iterator does not have an initializer: expected one of"
                " `make_initializable_iterator`, got one of `make_one_shot_iterator`, or of a"
                " structure. Use the former, or `make_initializer(dataset)`."
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """An operation that has the iterator begin before the first element of a dataset.

        Args:
          dataset: of elements like the iterator's.
          name: the operation's name.

        Raises:
          TypeError: its elements are others.
        """
        mine, its = self._structure.spec, dataset.element_spec
        try:
            nest.assert_same_structure(mine, its)
        except (TypeError, ValueError) as problem:
            raise TypeError(
                f"Expected output structure {mine!r} but got dataset with output structure"
                f" {its!r}. {problem}"
            ) from None
        for one, other in zip(nest.flatten(mine), nest.flatten(its), strict=True):
            _check_leaf(one, other)
        with colocate_with(self._iterator_resource):
            return execute(
                MAKE,
                (dataset._variant_tensor, self._iterator_resource),
                None,
                name or "make_initializer",
            )

    def get_next(self, name: str | None = None) -> Any:
        """The next element, each time it is run.

        Args:
          name: the operation's name.

        Returns:
          A structure of tensors; OutOfRangeError when they are run behind the last element.
        """
        self._get_next_calls += 1
        if self._get_next_calls > GET_NEXT_CALL_WARNING_THRESHOLD:
            warnings.warn(_TOO_MANY, stacklevel=2)
        with colocate_with(self._iterator_resource):
            attrs = self._structure.attrs
            found = execute(GET_NEXT, (self._iterator_resource,), attrs, name)
            return self._structure.pack(found)

    def get_next_as_optional(self) -> Optional:
        """The next element as an optional, which is empty behind the last one."""
        with colocate_with(self._iterator_resource):
            attrs = self._structure.attrs
            variant = execute(GET_NEXT_OPTIONAL, (self._iterator_resource,), attrs)
        return Optional(variant, self._structure.spec)

    def string_handle(self, name: str | None = None) -> Tensor:
        """What names the iterator in `from_string_handle`, string[].

        Args:
          name: the operation's name.
        """
        if name is None:
            return self._string_handle
        found: Tensor = execute(old.TO_STRING, (self._iterator_resource,), None, name)
        return found

    @property
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of the elements."""
        return self._structure.spec

    @property
    @deprecated("Use `tf.compat.v1.data.get_output_types`.")
    def output_types(self) -> Any:
        """The structure of the dtypes of elements."""
        return legacy_types(self.element_spec)

    @property
    @deprecated("Use `tf.compat.v1.data.get_output_shapes`.")
    def output_shapes(self) -> Any:
        """The structure of the shapes of elements."""
        return legacy_shapes(self.element_spec)

    @property
    @deprecated("Use `tf.compat.v1.data.get_output_classes`.")
    def output_classes(self) -> Any:
        """The structure of the classes of elements."""
        return legacy_classes(self.element_spec)


def _check_leaf(mine: Any, its: Any) -> None:
    for what, of in (
        ("types", legacy_types),
        ("shapes", legacy_shapes),
        ("classes", legacy_classes),
    ):
        one, other = of(mine), of(its)
        fits = one.is_compatible_with(other) if what == "shapes" else one == other
        if not fits:
            alike = "compatible with " if what == "shapes" else ""
            raise TypeError(
                f"Expected output {what} {alike}{one!r} but got dataset with output {what}"
                f" {other!r}. Map its elements."
            )


def make_one_shot_iterator(dataset: Any) -> Any:
    """An iterator over a dataset that needs no initializer.

    Args:
      dataset: a dataset; in a graph one that depends on nothing but constants.

    Returns:
      A tf.compat.v1.data.Iterator; eagerly and in a function, what `iter(dataset)` gives.

    Raises:
      ValueError: in a graph, the dataset depends on a placeholder, a variable or the like.

    Example:
      >>> import penstock as tf
      >>> v1 = tf.compat.v1
      >>> with tf.Graph().as_default():
      ...     element = v1.data.make_one_shot_iterator(v1.data.Dataset.range(3)).get_next()
      ...     with v1.Session() as session:
      ...         [int(session.run(element)) for _ in range(3)]
      [0, 1, 2]
    """
    graph = state.graph
    if graph is None or graph.building_function:
        return OwnedIterator(_of_methods(dataset))
    body = _factory(_of_methods(dataset)._variant_tensor)
    attrs = {"dataset_factory": body, "container": "", "shared_name": ""}
    resource = execute(old.ONE_SHOT, (), {**attrs, **dataset._structure.attrs})
    return Iterator._of(resource, None, dataset.element_spec)


def _of_methods(dataset: Any) -> Any:
    if not isinstance(dataset, DatasetBase):
        raise TypeError(
            f"expected a tf.data.Dataset, got {dataset!r} of type {type(dataset).__name__}."
        )
    return dataset


def _factory(variant: Any) -> CallBody:
    """A function without arguments that makes a dataset: a copy of what makes it in the graph.

    Raises:
      ValueError: it depends on what cannot be copied.
    """
    op = variant.op
    message = extract_sub_graph(op.graph.as_graph_def(), [op.name])
    for node in message.node:
        _check_copied(node)
    graph = FuncGraph(op.graph.unique_name("_make_dataset", mark_as_used=False))
    with context.graph_scope(graph), context.no_recording():
        wanted = f"{op.name}:{variant.value_index}"
        made = import_graph_def(message, return_elements=[wanted], name="")
    assert made is not None
    graph.outputs = [made[0]]
    graph.structured_outputs = made[0]
    graph.finish()
    return CallBody(f"_make_dataset_{op.graph.unique_name('factory')}", graph)


def _check_copied(node: Any) -> None:
    if node.op in ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault"):
        raise ValueError(
            f"Cannot capture a placeholder (name:{node.name}, type:{node.op}) by value: expected a"
            " dataset of constants. Use make_initializable_iterator."
        )
    if lookup(node.op).stateful and not any(part in node.op for part in _COPIED):
        raise ValueError(
            f"Cannot capture a stateful node (name:{node.name}, type:{node.op}) by value: expected"
            " a dataset that captures no variable, table or the like. Use"
            " make_initializable_iterator."
        )


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """An iterator over a dataset that begins when its `initializer` is run.

    Args:
      dataset: a dataset.
      shared_name: iterators of that name share their position between sessions of a task.

    Raises:
      RuntimeError: eagerly.

    Example:
      >>> import penstock as tf
      >>> v1 = tf.compat.v1
      >>> with tf.Graph().as_default():
      ...     iterator = v1.data.make_initializable_iterator(v1.data.Dataset.range(3))
      ...     element = iterator.get_next()
      ...     with v1.Session() as session:
      ...         session.run(iterator.initializer)
      ...         int(session.run(element))
      0
    """
    if state.graph is None:
        raise RuntimeError(
            "`make_initializable_iterator()` is not supported in eager mode. Use Python-style"
            " iteration instead."
        )
    variant = _of_methods(dataset)._variant_tensor
    with colocate_with(variant):
        attrs = {"container": "", "shared_name": shared_name or "", **dataset._structure.attrs}
        resource = execute(ITERATOR, (), attrs)
    with colocate_with(resource):
        initializer = execute(MAKE, (variant, resource))
    return Iterator._of(resource, initializer, dataset.element_spec)
