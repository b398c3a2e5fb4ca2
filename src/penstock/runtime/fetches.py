"""Fetches: any structure of tensors, operations and names, taken apart and put together again.

`Fetches` is made once for a structure and kept. `fingerprint` tells structures apart without
looking anything up: equal fingerprints of structures whose leaves are alive mean the same leaves in
the same places.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.errors import InaccessibleTensorError
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation
from penstock.runtime.feeds import components_of
from penstock.types import dtypes as dt
from penstock.types.composite_specs import IndexedSlicesSpec, SparseTensorSpec
from penstock.types.composite_values import IndexedSlicesValue, SparseTensorValue
from penstock.util.nest_kinds import KINDS, Kind, children, rebuild

Build = Callable[
    [list[Any]], Any
]  # any: values of the flat tensors -> values in the form of the fetches
IDENTITY_CLASSES = frozenset({SymbolicTensor, Operation})

_VALUE_CLASSES: dict[type, Callable[..., Any]] = {
    SparseTensorSpec: SparseTensorValue,
    IndexedSlicesSpec: IndexedSlicesValue,
}


def fingerprint(fetches: Any) -> Any:
    """A hashable form of a structure of fetches, made of the identities of its leaves."""
    cls = fetches.__class__
    if cls in IDENTITY_CLASSES:
        return id(fetches)
    if cls is str:
        return fetches
    if isinstance(fetches, Mapping):
        return (cls, *fetches.keys(), *[fingerprint(v) for v in fetches.values()])
    kind = KINDS[cls]
    if kind is Kind.LEAF:
        return id(fetches)
    return (cls, *[fingerprint(child) for child in children(fetches, kind)])


class Fetches:
    """What a structure of fetches asks for.

    Attributes:
      tensors: each fetched tensor once.
      targets: the fetched operations, each once.
      build: puts the values of `tensors` into the structure; operations become None.
      leaves: the user's objects, kept so that a fingerprint stays valid.
      single: the structure is one tensor.
    """

    __slots__ = ("_graph", "_positions", "build", "leaves", "single", "targets", "tensors")

    def __init__(self, graph: Graph, fetches: Any) -> None:
        self.tensors: list[SymbolicTensor] = []
        self.targets: list[Operation] = []
        self.leaves: list[Any] = []
        self._graph = graph
        self._positions: dict[int, int] = {}
        self.build = self._compile(fetches)
        self.single = (
            len(self.leaves) == 1
            and self.leaves[0] is fetches
            and len(self.tensors) == 1
            and components_of(fetches) is None
        )

    def _compile(self, fetch: Any) -> Build:
        if fetch is None:
            raise TypeError(
                'Argument `fetches` = None has invalid type "NoneType". Cannot be None: expected a '
                "tensor, an operation, a name "
                "or a structure of these. Leave the entry out."
            )
        if isinstance(fetch, Mapping):
            return self._compile_mapping(fetch)
        kind = KINDS[type(fetch)]
        if kind is not Kind.LEAF:
            builds = [self._compile(child) for child in children(fetch, kind)]
            return lambda values: rebuild(fetch, kind, [b(values) for b in builds])
        self.leaves.append(fetch)
        components = components_of(fetch)
        return (
            self._compile_leaf(fetch)
            if components is None
            else self._compile_composite(fetch, components)
        )

    def _compile_mapping(self, fetch: Mapping[Any, Any]) -> Build:
        keys = list(fetch)
        cls: Any = type(fetch)  # any: the user's own mapping class
        builds = [self._compile(fetch[key]) for key in keys]
        make = (
            (lambda pairs: cls(fetch.default_factory, pairs))
            if isinstance(fetch, defaultdict)
            else cls
        )
        return lambda values: make([(k, b(values)) for k, b in zip(keys, builds, strict=True)])

    def _compile_composite(self, fetch: Any, components: list[Tensor]) -> Build:
        builds = [self._compile_leaf(c) for c in components]
        spec = fetch._type_spec
        make = _VALUE_CLASSES.get(type(spec)) or (lambda *parts: spec._from_components(list(parts)))
        return lambda values: make(*[b(values) for b in builds])

    def _compile_leaf(self, fetch: Any) -> Build:
        element = self._element(fetch)
        if not self._graph.is_fetchable(element):
            raise InaccessibleTensorError(
                "Operation "
                f"{(element.op if isinstance(element, SymbolicTensor) else element).name} has been "
                "marked as not "
                "fetchable. Typically this happens when it is defined in another function or code "
                "block. Use return values, "
                "explicit Python locals or TensorFlow collections to access it."
            )
        if isinstance(element, Operation):
            if element not in self.targets:
                self.targets.append(element)
            return _nothing
        position = self._positions.setdefault(id(element), len(self.tensors))
        if position == len(self.tensors):
            self.tensors.append(element)
        return lambda values: values[position]

    def _element(self, fetch: Any) -> Any:
        try:
            return self._graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
        except TypeError as problem:
            raise TypeError(
                f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}" must be a '
                f"string or Tensor. ({problem})"
            ) from None
        except (ValueError, KeyError) as problem:
            raise ValueError(
                f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({problem})"
            ) from None


def _nothing(values: list[Any]) -> None:
    return None


# ---- values -------------------------------------------------------------------------------------


def finisher(tensor: SymbolicTensor, fresh: bool) -> Callable[[Any], Any]:
    """What turns a computed array into the user's: their own array, a NumPy scalar, or bytes.

    Args:
      tensor: the fetched tensor.
      fresh: nobody else holds the array, so it need not be copied.
    """
    dtype = tensor.dtype.base_dtype
    if dtype in (dt.resource, dt.variant):
        return lambda value: value
    if dtype is dt.string:
        return _finish_text
    return _finish_fresh if fresh else _finish


def _finish_text(array: Any) -> Any:
    return array.item() if array.ndim == 0 else array.copy()


def _finish_fresh(array: Any) -> Any:
    if array.__class__ is np.ndarray:
        return array if array.ndim else array[()]
    return _finish(array)


def _finish(array: Any) -> Any:
    return np.array(array) if array.ndim else np.asarray(array)[()]
