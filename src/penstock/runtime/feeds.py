"""Feeds: the keys of a `feed_dict` as tensors, and functions that turn values into arrays.

`compile_feeds` looks at the keys once: names, tensors, variables, composite tensors and tuples of
these become flat tensors with one converter each. Values come with every step.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from penstock.core.arrays import to_array
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.graph.graph import Graph
from penstock.types import dtypes as dt
from penstock.types.dims import text
from penstock.types.ragged_value import RaggedTensorValue
from penstock.types.type_spec import TypeSpec
from penstock.util.nest_kinds import KINDS, Kind, children

Converter = Callable[[Any], Any]  # any: what the user feeds -> a NumPy or JAX array


class Feeds:
    """The compiled keys of a feed_dict.

    Attributes:
      tensors: the fed tensors.
      converters: for each of them what makes its array from a value.
      plain: each key is one tensor, so the values are in the order of `tensors`.
    """

    __slots__ = ("_expanders", "converters", "plain", "tensors")

    def __init__(self, graph: Graph, keys: Iterable[Any]) -> None:
        self.tensors: list[SymbolicTensor] = []
        self._expanders: list[Callable[[Any], list[Any]] | None] = []
        for key in keys:
            self.tensors.extend(_fed_tensors(graph, key))
            self._expanders.append(_expander(key))
        self.converters = [converter(t) for t in self.tensors]
        self.plain = all(e is None for e in self._expanders) and len(
            set(map(id, self.tensors))
        ) == len(self.tensors)

    def flat(self, values: Iterable[Any]) -> list[Any]:
        """The values of the keys, one for each tensor."""
        out: list[Any] = []
        for expand, value in zip(self._expanders, values, strict=True):
            if expand is None:
                out.append(value)
            else:
                out.extend(expand(value))
        return out

    def arrays(self, values: Iterable[Any]) -> dict[int, Any]:
        """Arrays by id of their tensor; the last feed of a tensor holds."""
        flat = values if self.plain else self.flat(values)
        return {id(t): c(v) for t, c, v in zip(self.tensors, self.converters, flat, strict=True)}


_TUPLES = (Kind.TUPLE, Kind.NAMEDTUPLE)


def _fed_tensors(graph: Graph, key: Any) -> list[SymbolicTensor]:
    """The tensors that one key stands for."""
    kind = KINDS[type(key)]
    if kind in _TUPLES:
        return [t for part in children(key, kind) for t in _fed_tensors(graph, part)]
    components = components_of(key)
    return [_fed_tensor(graph, part) for part in ([key] if components is None else components)]


def _expander(key: Any) -> Callable[[Any], list[Any]] | None:
    """What turns the value of a key into one value for each of its tensors.

    None when the key is one tensor.
    """
    kind = KINDS[type(key)]
    if kind not in _TUPLES:
        components = components_of(key)
        return (
            None if components is None else lambda value: _component_values(value, len(components))
        )
    parts = [_expander(part) for part in children(key, kind)]

    def expand(value: Any) -> list[Any]:
        values = list(value)
        if len(values) != len(parts):
            raise ValueError(
                f"Could not flatten dictionary: the key {key!r} had {len(parts)} elements, but its "
                f"value had {len(values)} "
                "elements. Feed one value for each."
            )
        return [
            v
            for part, item in zip(parts, values, strict=True)
            for v in ([item] if part is None else part(item))
        ]

    return expand


def check_feed_dict(feed_dict: Any) -> None:
    """Refuses what is no mapping.

    Raises:
      TypeError: it is none.
    """
    if not isinstance(feed_dict, Mapping):
        raise TypeError(
            f"feed_dict: expected a dict from tensors to values, got {type(feed_dict).__name__}. "
            "'dict' must be a dictionary or "
            "collection.Mapping type object."
        )


def components_of(value: Any) -> list[Tensor] | None:
    """The component tensors of a composite tensor; None for anything else."""
    cls = type(value)
    if (
        isinstance(value, (Tensor, str))
        or getattr(cls, "__nest_leaf__", False)
        or not hasattr(cls, "_type_spec")
    ):
        return None
    spec = value._type_spec
    if not isinstance(spec, TypeSpec):
        return None
    found = spec._to_components(value)
    return [c for c in _flat(found) if c is not None]


def _flat(structure: Any) -> list[Any]:
    kind = KINDS[type(structure)]
    if kind is Kind.LEAF:
        inner = None if isinstance(structure, Tensor) else components_of(structure)
        return [structure] if inner is None else inner
    return [leaf for child in children(structure, kind) for leaf in _flat(child)]


def _component_values(value: Any, count: int) -> list[Any]:
    if isinstance(value, RaggedTensorValue):
        own: list[Any] | None = [value.flat_values, *value.nested_row_splits]
    else:
        own = components_of(value)
    if own is None and count == 1 and not isinstance(value, (list, tuple)):
        own = [value]  # a composite of one tensor takes what the tensor takes
    values = own if own is not None else [v for v in value if v is not None]
    if len(values) != count:
        raise ValueError(
            f"Expected {count} components for the feed of a composite tensor, got {len(values)}: "
            f"{value!r}."
        )
    return values


def _fed_tensor(graph: Graph, key: Any) -> SymbolicTensor:
    try:
        tensor = graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
    except (TypeError, ValueError, KeyError) as problem:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {problem.args[0]}") from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor.name} may not be fed. Feed what it is computed from.")
    return tensor  # type: ignore[no-any-return]


# ---- values -------------------------------------------------------------------------------------


def converter(tensor: SymbolicTensor) -> Converter:
    """What turns a fed value into an array of the tensor's dtype.

    The converter raises TypeError when a tensor was fed or the value does not convert, ValueError
    when its shape is not compatible with the tensor's.
    """
    dtype = tensor.dtype.base_dtype
    if dtype in (dt.resource, dt.variant):
        return lambda value: value
    wanted = dtype.numpy_dtype
    if dtype is dt.string:
        return lambda value: _with_shape(tensor, _text_array(tensor, value))

    known_dims = tensor._dims
    rank = None if known_dims is None else len(known_dims)
    sizes = [(i, n) for i, n in enumerate(known_dims or ()) if n is not None]

    def convert(value: Any) -> Any:
        if value.__class__ is not np.ndarray or value.dtype is not wanted:
            value = _convert(tensor, value, wanted)
        if tensor._dims is not known_dims:  # `set_shape` came later
            return _with_shape(tensor, value)
        if known_dims is not None:
            shape = value.shape
            if len(shape) != rank:
                return _with_shape(tensor, value)
            for i, size in sizes:
                if shape[i] != size:
                    return _with_shape(tensor, value)
        return value

    return convert


def _with_shape(tensor: SymbolicTensor, array: Any) -> Any:
    dims, shape = tensor._dims, array.shape
    if dims is None or (
        len(shape) == len(dims)
        and all(d is None or d == n for n, d in zip(shape, dims, strict=True))
    ):
        return array
    raise ValueError(
        f"Cannot feed value of shape {shape} for Tensor {tensor.name}, which has shape "
        f"{text(dims)} (defined at "
        f"{tensor.op.location}). Reshape the value, or give the placeholder None for dimensions "
        "that vary."
    )


def _convert(tensor: SymbolicTensor, value: Any, wanted: Any) -> Any:
    _refuse_tensor(tensor, value)
    if value.__class__ is np.ndarray and value.dtype == wanted:
        return value
    if hasattr(type(value), "addressable_shards"):  # a JAX array stays where it is
        return value if value.dtype == wanted else np.asarray(value).astype(wanted)
    if not isinstance(value, int):
        return np.asarray(value, dtype=wanted)
    try:
        array = np.asarray(value).astype(wanted)
    except OverflowError:
        raise _too_large(value, wanted.type) from None
    if array != value:
        raise _too_large(value, wanted.type)
    return array


def _refuse_tensor(tensor: SymbolicTensor, value: Any) -> None:
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, "
            f"numpy ndarrays, or TensorHandles. For reference, the tensor object was {value!r} "
            "which was passed to the argument "
            f"`feed_dict` with key {tensor!r}."
        )


def _too_large(value: Any, kind: Any) -> TypeError:
    return TypeError(
        f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type "
        f"{kind}. Try explicitly setting "
        "the type of the feed tensor to a larger type (e.g. int64)."
    )


def _text_array(tensor: SymbolicTensor, value: Any) -> Any:
    _refuse_tensor(tensor, value)
    if isinstance(value, (int, float)):
        raise _too_large(value, object)
    return to_array(value, dt.string)[0]
