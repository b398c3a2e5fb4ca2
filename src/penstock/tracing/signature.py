"""What a traced function is specialised to.

A call's arguments become a key: tensors and arrays by dtype and shape, other values by their own
value, variables by their spec. `trace_key` makes the key and the list of tensors; `substitute`
rebuilds the arguments with a placeholder for each tensor; `relax` and `accepts` say which keys a
trace serves. `parameters` brings arguments into order before.
"""

import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penstock.core import context
from penstock.core.composite import CompositeTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor
from penstock.tracing.variable_arguments import VariableKey, is_variable, variable_key
from penstock.types import dims as d
from penstock.types.composite_specs import SparseTensorSpec, VariableSpec
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.spec_parts import hashable, map_parts
from penstock.types.tensor_shape import TensorShape
from penstock.types.tensor_spec import BoundedTensorSpec, DenseSpec, TensorSpec
from penstock.types.trace_type import TracingContext
from penstock.types.type_spec import TypeSpec
from penstock.util import nest

# What functions take where they take a tensor.
TensorLike = (
    Tensor | int | float | bool | str | bytes | complex | tuple[Any, ...] | list[Any]
    | np.ndarray[Any, Any] | np.generic
)  # fmt: skip


class Opaque:
    """Key of a value that can only be told apart by identity."""

    __slots__ = ("_id", "_ref")

    def __init__(self, value: Any) -> None:
        self._id = id(value)
        try:
            self._ref: Any = weakref.ref(value)
        except TypeError:
            self._ref = lambda: value

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Opaque)
            and self._id == other._id
            and self._ref() is not None
            and self._ref() is other._ref()
        )

    @property
    def value(self) -> Any:
        """The value; None when it is gone."""
        return self._ref()

    def __repr__(self) -> str:
        value = self._ref()
        kind = "object that is gone" if value is None else f"{type(value).__name__} object"
        return f"<{kind} at {self._id:#x}>"


def specs_of_values(structure: Any, known: Mapping[int, Any] | None = None) -> Any:
    """The nest with the spec of each tensor and composite value in its place.

    `known` gives the specs of some leaves, by their ids.
    """
    known = known or {}
    return nest.map_structure(lambda v: known.get(id(v)) or _spec_of_value(v), structure)


def _spec_of_value(value: Any) -> Any:
    if isinstance(value, CompositeTensor):
        return value._type_spec
    if isinstance(value, Tensor):
        name = None
        if isinstance(value, SymbolicTensor):
            name = value.op.attrs.get("_user_specified_name")
        return TensorSpec(value.shape, value.dtype, name)
    return value


def weaken(structure: Any) -> Any:
    """The nest with what can only be told apart by identity in an Opaque, which lets go of it."""
    return nest.map_structure(lambda leaf: Opaque(leaf) if _by_identity(leaf) else leaf, structure)


def restore(structure: Any) -> Any:
    """The nest that `weaken` was given; None for what is gone."""
    return nest.map_structure(
        lambda leaf: leaf.value if isinstance(leaf, Opaque) else leaf, structure
    )


def _by_identity(value: Any) -> bool:
    equality: object = type(value).__eq__
    return equality is object.__eq__ and value is not None


class CallKey(NamedTuple):
    """The key of a call, taken apart.

    Attributes:
      args: the key of the positional arguments: their class, then one key for each.
      kwargs: that of the keyword arguments, or ().
      graph: the id of the graph that the trace belongs to, or None.
    """

    args: Any
    kwargs: Any
    graph: int | None


def call_graph(key: Any) -> int | None:
    """The id of the graph that a key belongs to."""
    of_graph = key.__class__ is tuple and len(key) == 2 and key[1].__class__ is int
    return key[1] if of_graph else None


def call_key(key: Any) -> CallKey:
    """A key as `trace_key` makes it, alone or with that of keywords or the id of a graph."""
    graph = call_graph(key)
    if graph is not None:
        key = key[0]
    if isinstance(key[0], type):
        return CallKey(key, (), graph)
    return CallKey(key[0], key[1], graph)


class TensorKey:
    """Key of a tensor argument: dtype and shape, where None fits every size.

    A TensorSpec may have a name too, which the input of the trace then has; None fits every name.
    """

    __slots__ = ("dims", "dtype", "hash", "name")

    def __init__(self, dtype: Any, dims: d.Dims, name: str | None = None) -> None:
        self.dtype = dtype
        self.dims = dims
        self.name = name
        self.hash = hash((dtype, dims))

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorKey)
            and self.dtype is other.dtype
            and self.dims == other.dims
            and self.name == other.name
        )

    def accepts(self, other: "TensorKey") -> bool:
        """Whether a graph traced for this key serves tensors of the other."""
        if self.dtype is not other.dtype or other.name not in (None, self.name):
            return False
        if self.dims is None:
            return True
        return (
            other.dims is not None
            and len(self.dims) == len(other.dims)
            and all(a is None or a == b for a, b in zip(self.dims, other.dims, strict=True))
        )

    def __repr__(self) -> str:
        name = "" if self.name is None else f", name={self.name!r}"
        return f"Tensor(dtype={self.dtype.name}, shape={d.text(self.dims)}{name})"


class TypeKey:
    """Key of a value that follows the tracing protocol: its type."""

    __slots__ = ("kind",)

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeKey) and bool(self.kind == other.kind)

    def __repr__(self) -> str:
        return repr(self.kind)


@dataclass(frozen=True, slots=True)
class ShapeKey:
    """Key of the shape of a value whose tensors do not show it: a sparse tensor's."""

    dims: d.Dims

    def accepts(self, other: "ShapeKey") -> bool:
        """Whether a graph traced for this shape serves values of the other."""
        return d.is_subtype(other.dims, self.dims)


class SpecKey:
    """Key of the spec of a value whose tensors do not show the types within: a dataset's."""

    __slots__ = ("spec",)

    def __init__(self, spec: TypeSpec) -> None:
        self.spec = spec

    def __hash__(self) -> int:
        return hash(self.spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpecKey) and self.spec == other.spec

    def __repr__(self) -> str:
        if type(self.spec).__repr__ is TypeSpec.__repr__ and _compares_itself(self.spec):
            return type(self.spec).__name__  # its parts may not be there to be shown
        return repr(self.spec)


CONTEXT = TracingContext()


def placeholder_for(key: TypeKey, replacement: Callable[[Any], Any]) -> Any:
    """What the Python function gets for a value of a type, with `replacement(spec)` for tensors."""
    parts = [replacement(spec) for spec in key.kind.flatten()]
    return key.kind.from_tensors(iter(parts)) if parts else key.kind.placeholder_value(CONTEXT)


def type_keys(key: Any) -> list[TypeKey]:
    """The keys of types inside a key, in order."""
    if isinstance(key, TypeKey):
        return [key]
    return [k for part in key for k in type_keys(part)] if isinstance(key, tuple) else []


def trace_key(arguments: Any, tensors: list[Any]) -> Any:
    """The key of a nest of arguments; the tensors found are appended to `tensors` in order."""
    kind = arguments.__class__
    if kind is EagerTensor:
        tensors.append(arguments)
        dtype, dims = arguments._dtype, arguments.dims
        return _keys.get((dtype.index, dims)) or _new_key(dtype, dims)
    if kind is int or kind is str or kind is bool or kind is bytes or arguments is None:
        return (kind, arguments)
    if kind is float:
        return (float, arguments) if arguments == arguments else _NAN
    if kind is tuple or kind is list:
        return (kind, *[trace_key(a, tensors) for a in arguments])
    return _slow_key(arguments, tensors)


_NAN = (float, "nan")  # which is not equal to itself
_MOST_KEYS = 4096
_keys: dict[tuple[int, d.Dims], TensorKey] = {}  # one for each kind of eager tensor: no __eq__ runs


def _new_key(dtype: Any, dims: d.Dims) -> TensorKey:
    """A key for eager tensors, which later calls find. Thread-safe."""
    if len(_keys) >= _MOST_KEYS:
        _keys.clear()
    return _keys.setdefault((dtype.index, dims), TensorKey(dtype, dims))


def _slow_key(value: Any, tensors: list[Any]) -> Any:
    if isinstance(value, Tensor):
        tensors.append(value)
        return TensorKey(value.dtype, value.dims)
    if isinstance(value, (np.ndarray, np.generic)):
        tensor = convert_to_tensor(value)
        tensors.append(tensor)
        return TensorKey(tensor.dtype, tensor.dims)
    if isinstance(value, TensorSpec):
        tensors.append(value)
        return TensorKey(value.dtype, value.shape.dims_tuple, value.name)
    if isinstance(value, CompositeTensor):
        spec = value._type_spec
        return (type(value), _static_parts(spec), *_component_keys(value, spec, tensors))
    if is_variable(value):
        return variable_key(value, tensors)
    if isinstance(value, Mapping):
        return (type(value), *[(k, trace_key(value[k], tensors)) for k in sorted_keys(value)])
    if isinstance(value, (tuple, list)):
        return (type(value), *[trace_key(a, tensors) for a in value])
    if isinstance(value, TypeSpec):
        specs = value.flatten()
        tensors += specs
        parts = [TensorKey(s.dtype, s.shape.dims_tuple) for s in specs]
        return (value.value_type, _static_parts(value), *parts)
    if hasattr(value, "__tf_tracing_type__"):
        kind = value.__tf_tracing_type__(CONTEXT)
        tensors += kind.to_tensors(value)
        return TypeKey(kind)
    if nest.is_nested(value):
        return (type(value), *[trace_key(a, tensors) for a in nest.flatten(value)])
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"Could not generate a generic TraceType for {value!r}: expected a tensor, a nest or a"
            f" value that can be hashed, got one of type {type(value).__name__}, which cannot."
            " Pass its tensors, or give its class __tf_tracing_type__."
        ) from None
    return Opaque(value) if _by_identity(value) else (type(value), value)


def _component_keys(value: CompositeTensor, spec: TypeSpec, tensors: list[Any]) -> list[Any]:
    """The keys of a composite's tensors, as far as its spec knows their shapes.

    So the number of values of a ragged or sparse tensor is open: no two batches have as many.
    """
    components = nest.flatten(value, expand_composites=True)
    specs = [] if spec._hides_types else spec.flatten()
    plain = len(specs) == len(components) and all(type(s) is TensorSpec for s in specs)
    if not plain or not all(isinstance(c, Tensor) for c in components):
        return [trace_key(c, tensors) for c in components]
    tensors += components
    return [TensorKey(s.dtype, s.shape.dims_tuple) for s in specs]


def _static_parts(spec: TypeSpec) -> Any:
    """What a composite's spec says beside the shapes and dtypes of its tensors."""
    if spec._hides_types or _compares_itself(spec):
        return SpecKey(spec)
    parts = hashable(tuple(map_parts(_static_part, spec._serialize())))
    # The tensors of a sparse one do not tell the shape of the whole, which its trace has.
    return (ShapeKey(spec.shape.dims_tuple), parts) if isinstance(spec, SparseTensorSpec) else parts


def _compares_itself(spec: TypeSpec) -> bool:
    """Whether its class says itself which specs are equal; such specs may not be serializable."""
    return type(spec).__eq__ not in _OWN_EQUALITIES


_OWN_EQUALITIES = [cls.__eq__ for cls in (TypeSpec, DenseSpec, BoundedTensorSpec, VariableSpec)]


def _static_part(part: Any) -> Any:
    if isinstance(part, TensorShape) or (
        isinstance(part, DenseSpec) and not _compares_itself(part)
    ):
        return None
    if isinstance(part, TypeSpec):  # a value made of tensors within another one
        return type(part), _static_parts(part)
    return part


def sorted_keys(value: Mapping[Any, Any]) -> list[Any]:
    """The keys of a mapping in the order in which its values are flattened.

    Raises:
      TypeError: they do not sort.
    """
    try:
        return sorted(value)
    except TypeError as problem:
        raise TypeError(
            f"a dictionary passed to a tf.function needs keys that sort, got {list(value)!r}"
        ) from problem


def shape_keys(key: Any) -> list[ShapeKey]:
    """The keys of shapes inside a key, in order."""
    if isinstance(key, ShapeKey):
        return [key]
    return [k for part in key for k in shape_keys(part)] if isinstance(key, tuple) else []


def substitute(
    arguments: Any,
    replacement: Callable[[Any], Any],
    custom: Callable[[Any], Any],
    outer: Any = None,
    shapes: Iterable[ShapeKey] = (),
) -> Any:
    """The nest with each tensor-like leaf replaced, called in the order of `trace_key`.

    Args:
      arguments: the nest.
      replacement: gives what stands for a tensor, an array or a spec.
      custom: gives what stands for a value of a class with the tracing protocol.
      outer: the graph around the function, None eagerly: values are taken apart there, since that
        may take operations.
      shapes: an iterator over the keys of shapes in the nest's key; none for the values' own.
    """

    def inside(value: Any) -> Any:
        return substitute(value, replacement, custom, outer, shapes)

    if isinstance(arguments, (Tensor, np.ndarray, np.generic, TensorSpec)) or is_variable(
        arguments
    ):
        return replacement(arguments)
    if isinstance(arguments, CompositeTensor):
        with context.graph_scope(outer):
            components = nest.flatten(arguments, expand_composites=True)
        parts = [inside(c) for c in components]
        spec = arguments._type_spec
        form = _of_key(spec, shapes) or _opened(spec, parts) or arguments
        return nest.pack_sequence_as(form, parts, expand_composites=True)
    if isinstance(arguments, TypeSpec):
        form = _of_key(arguments, shapes) or arguments
        return form.from_tensors(iter([replacement(spec) for spec in arguments.flatten()]))
    if isinstance(arguments, Mapping):
        order = {k: inside(arguments[k]) for k in sorted_keys(arguments)}
        made = {k: order[k] for k in arguments}
        return made if type(arguments) is dict else _rebuild_mapping(arguments, made)
    if isinstance(arguments, (tuple, list)):
        parts = [inside(a) for a in arguments]
        if hasattr(arguments, "_fields"):
            return type(arguments)(*parts)
        return tuple(parts) if isinstance(arguments, tuple) else parts
    if hasattr(arguments, "__tf_tracing_type__"):
        return custom(arguments)
    if nest.is_nested(arguments):
        return nest.pack_sequence_as(arguments, [inside(a) for a in nest.flatten(arguments)])
    return arguments


def _of_key(spec: TypeSpec, shapes: Iterable[ShapeKey]) -> TypeSpec | None:
    """The spec of a sparse tensor of the shape that its key has, which may be more general."""
    count = len(shape_keys(_static_parts(spec)))
    own = list(itertools.islice(shapes, count))
    if not own or not isinstance(spec, SparseTensorSpec):
        return None
    return SparseTensorSpec(TensorShape.from_dims(own[0].dims), spec.dtype)


def _opened(spec: TypeSpec, parts: list[Any]) -> TypeSpec | None:
    """The spec of ragged tensors of any size where parts know less of theirs, else None."""
    if not isinstance(spec, RaggedTensorSpec) or spec.shape.rank is None:
        return None
    pairs = list(zip(parts, spec.flatten(), strict=True))
    if all(isinstance(p, Tensor) and d.is_subtype(p.dims, s.shape.dims_tuple) for p, s in pairs):
        return None
    flat = getattr(parts[0], "dims", None)
    sizes = None if flat is None else [None] * (spec.ragged_rank + len(flat))
    return RaggedTensorSpec(sizes, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)


def _rebuild_mapping(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    flat = [values[k] for k in sorted(values)]
    if not any(nest.is_nested(v) for v in flat):
        return nest.pack_sequence_as(like, flat)
    kind: Any = type(like)  # a Mapping promises no constructor; nests rebuild with this one
    return kind(values)


def tensor_keys(key: Any) -> list[TensorKey | VariableKey]:
    """The keys of tensors and variables inside a key, in order."""
    if isinstance(key, (TensorKey, VariableKey)):
        return [key]
    if isinstance(key, TypeKey):
        return [TensorKey(s.dtype, s.shape.dims_tuple) for s in key.kind.flatten()]
    if isinstance(key, tuple):
        return [k for part in key for k in tensor_keys(part)]
    return []


def relax(old: Any, new: Any) -> Any:
    """A key that accepts both when only sizes of tensors differ; None when more does."""
    common = _relax(old, new)
    return None if common is _APART else common


_APART = object()  # not None: that is part of a key


def _relax(old: Any, new: Any) -> Any:
    if isinstance(old, TensorKey) and isinstance(new, TensorKey):
        return _relax_tensors(old, new)
    if isinstance(old, VariableKey) and isinstance(new, VariableKey):
        common = old.relaxed(new)
        return _APART if common is None else common
    if isinstance(old, TypeKey) and isinstance(new, TypeKey):
        common = old.kind.most_specific_common_supertype([new.kind])
        return _APART if common is None else TypeKey(common)
    if isinstance(old, ShapeKey) and isinstance(new, ShapeKey):
        return ShapeKey(_common(old.dims, new.dims))
    if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        parts = [_relax(a, b) for a, b in zip(old, new, strict=True)]
        return _APART if any(p is _APART for p in parts) else tuple(parts)
    return old if old == new else _APART


def _relax_tensors(old: TensorKey, new: TensorKey) -> Any:
    if old.dtype is not new.dtype:
        return _APART
    name = old.name if old.name == new.name else None
    return TensorKey(old.dtype, _common(old.dims, new.dims), name)


def _common(old: d.Dims, new: d.Dims) -> d.Dims:
    """A shape that both have, with the sizes open that differ."""
    if old is None or new is None or len(old) != len(new):
        return None
    return tuple(a if a == b else None for a, b in zip(old, new, strict=True))


def accepts(known: Any, asked: Any) -> bool:
    """Whether a graph traced for `known` serves a call of key `asked`."""
    if isinstance(known, TensorKey):
        return isinstance(asked, TensorKey) and known.accepts(asked)
    if isinstance(known, VariableKey):
        return isinstance(asked, VariableKey) and known.accepts(asked)
    if isinstance(known, TypeKey):
        return isinstance(asked, TypeKey) and bool(asked.kind.is_subtype_of(known.kind))
    if isinstance(known, ShapeKey):
        return isinstance(asked, ShapeKey) and known.accepts(asked)
    if isinstance(known, SpecKey):
        return isinstance(asked, SpecKey) and bool(asked.spec.is_subtype_of(known.spec))
    if isinstance(known, tuple):
        return (
            isinstance(asked, tuple)
            and len(known) == len(asked)
            and all(accepts(k, a) for k, a in zip(known, asked, strict=True))
        )
    return bool(known == asked)


def specs_of(signature: Sequence[Any]) -> list[Any]:
    """The flat TensorSpecs of an input signature.

    Raises:
      TypeError: something else is in it.
    """
    flat = nest.flatten(signature, expand_composites=True)
    for spec in flat:
        if not isinstance(spec, TensorSpec):
            raise TypeError(
                "input_signature must be a possibly nested sequence of TensorSpec objects, got"
                f" {spec!r}."
            )
    return flat
