"""Composite values row by row, as `tf.map_fn` takes them apart and puts them together again.

A loop reads rows of tensors and sets elements of lists. What is no tensor goes through it as some
that stand for it: a ragged row as one variant, a sparse row as two of them and its shape, a value
of a BatchableExtensionType as what its encoder makes of it.

`encode_rows` gives the parts [N, ...] of a stack, `decode_row` a row from its parts;
`encode_row` and `decode_rows` are their counterparts for results. Specs are always those of a row.
"""

from typing import Any

from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops import ragged_class as _ragged_class  # noqa: F401 (the values of its specs)
from penstock.ops.composing import number
from penstock.types.composite_specs import SparseTensorSpec
from penstock.types.dimension import dimension_value
from penstock.types.dtypes import int64, variant
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.tensor_shape import TensorShape
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec
from penstock.util import nest


def spec_of(value: Any) -> TypeSpec | None:
    """The spec of a value whose rows need an encoding, or such a spec itself; None for others."""
    spec = value if isinstance(value, TypeSpec) else getattr(value, "_type_spec", None)
    ours = isinstance(spec, RaggedTensorSpec | SparseTensorSpec) or hasattr(spec, "_encoder")
    return spec if ours else None


class EncodedRows:
    """A nest of values, taken apart into tensors whose rows a loop takes.

    Attributes:
      parts: the tensors, [N, ...].
    """

    def __init__(self, elems: Any) -> None:
        self._structure = elems
        leaves = nest.flatten(elems)
        stacks = [spec_of(leaf) for leaf in leaves]
        self._specs = [None if s is None else s._unbatch() for s in stacks]  # type: ignore[attr-defined]
        self._nested = [encode_rows(s, e) for s, e in zip(self._specs, leaves, strict=True)]
        self.parts = nest.flatten(self._nested)

    def row(self, parts: Any) -> Any:
        """The row that `parts`, one for each of the tensors, stand for."""
        nested = nest.pack_sequence_as(self._nested, nest.flatten(parts))
        rows = [decode_row(s, p) for s, p in zip(self._specs, nested, strict=True)]
        return nest.pack_sequence_as(self._structure, rows)

    @property
    def signature(self) -> Any:
        """The dtype, or the spec, of each value of a row."""
        flat = zip(self._specs, self._nested, strict=True)
        kinds = [convert_to_tensor(p[0]).dtype if s is None else s for s, p in flat]
        return nest.pack_sequence_as(self._structure, kinds)


def decode_results(structure: Any, specs: list[Any], parts: list[Any]) -> Any:
    """The stacks of what a function returned, from its parts in order, each [N, ...]."""
    left = list(parts)
    count = dimension_value(next((p.shape[0] for p in left if p is not None), None))
    stacks = []
    for spec in specs:
        size = len(part_specs(spec))
        stacks.append(decode_rows(spec, left[:size], count))
        left = left[size:]
    return nest.pack_sequence_as(structure, stacks)


def part_specs(spec: Any) -> list[Any]:
    """The dtype and shape of each part of a row."""
    if isinstance(spec, RaggedTensorSpec):
        return [TensorSpec([], variant)]
    if isinstance(spec, SparseTensorSpec):
        return [*[TensorSpec([], variant)] * 2, TensorSpec([spec.shape.rank], int64)]
    if hasattr(spec, "_encoder"):
        return [part for inner in _inner(spec) for part in part_specs(inner)]
    return [spec]


def encode_rows(spec: Any, value: Any) -> list[Any]:
    """The parts of a stack of rows, each [N, ...]."""
    if isinstance(spec, RaggedTensorSpec):
        return value._type_spec._to_batched_tensor_list(value)  # type: ignore[no-any-return]
    if isinstance(spec, SparseTensorSpec):
        return _sparse_rows(spec, value)
    if hasattr(spec, "_encoder"):
        stack = value._type_spec
        return _each(encode_rows, spec, spec._encoder.encode(stack, value, minimum_rank=1))
    return [value]


def decode_row(spec: Any, parts: list[Any]) -> Any:
    """The row that `parts` stand for."""
    if isinstance(spec, RaggedTensorSpec):
        return spec._from_compatible_tensor_list(parts)
    if isinstance(spec, SparseTensorSpec):
        values, indices = (
            s._from_compatible_tensor_list([p])
            for s, p in zip(_sparse_parts(spec), parts[:2], strict=True)
        )
        row = SparseTensor(indices, values, parts[2])
        row.set_shape(spec.shape)
        return row
    if hasattr(spec, "_encoder"):
        return spec._encoder.decode(spec, _packed(decode_row, spec, parts))
    return parts[0]


def encode_row(spec: Any, value: Any) -> list[Any]:
    """The parts of a row."""
    if isinstance(spec, RaggedTensorSpec):
        return spec._to_tensor_list(value)
    if isinstance(spec, SparseTensorSpec):
        values, indices = _sparse_parts(spec)
        return [
            *values._to_tensor_list(value.values),
            *indices._to_tensor_list(value.indices),
            value.dense_shape,
        ]
    if hasattr(spec, "_encoder"):
        return _each(encode_row, spec, spec._encoder.encode(spec, value))
    return [value]


def decode_rows(spec: Any, parts: list[Any], count: int | None) -> Any:
    """The stack of rows whose parts, each [N, ...], a loop has set; N where it is known."""
    if isinstance(spec, RaggedTensorSpec):
        return spec._batch(count)._from_compatible_tensor_list(parts)
    if isinstance(spec, SparseTensorSpec):
        return _sparse_stack(spec, parts, count)
    if hasattr(spec, "_encoder"):
        stack = spec._batch(count)
        made = _packed(lambda inner, p: decode_rows(inner, p, count), spec, parts)
        return stack._encoder.decode(stack, made)
    return parts[0]


# ---- extension types


def _inner(spec: Any) -> list[Any]:
    """The specs of what the encoder of an extension type makes of a row."""
    return nest.flatten(spec._encoder.encoding_specs(spec))


def _each(encode: Any, spec: Any, encoded: Any) -> list[Any]:
    """The parts of all that the encoder made."""
    values = nest.flatten(encoded)
    return [p for s, v in zip(_inner(spec), values, strict=True) for p in encode(s, v)]


def _packed(decode: Any, spec: Any, parts: list[Any]) -> Any:
    """What the encoder made, from all its parts."""
    left, values = list(parts), []
    for inner in _inner(spec):
        count = len(part_specs(inner))
        values.append(decode(inner, left[:count]))
        left = left[count:]
    return nest.pack_sequence_as(spec._encoder.encoding_specs(spec), values)


# ---- sparse tensors


def _sparse_parts(spec: SparseTensorSpec) -> tuple[RaggedTensorSpec, RaggedTensorSpec]:
    """The specs of the values and the indices of a row, which differ in length."""
    values = RaggedTensorSpec([None], spec.dtype, ragged_rank=0)
    return values, RaggedTensorSpec([None, spec.shape.rank], int64, ragged_rank=0)


def _sparse_rows(spec: SparseTensorSpec, value: SparseTensor) -> list[Any]:
    shape = value.dense_shape
    indices, values = execute("SparseReorder", (value.indices, value.values, shape))
    count, sizes = shape[0], shape[1:]
    ends = execute("Range", (number(0, int64), count + 1, number(1, int64)))
    splits = execute("LowerBound", (indices[None, :, 0], ends[None]), {"out_type": int64})[0]
    rows = [
        execute("RaggedTensorToVariant", ([splits], part), {"batched_input": True})
        for part in (values, indices[:, 1:])
    ]
    return [*rows, execute("BroadcastTo", (sizes, execute("Pack", ([count, _size(sizes)],))))]


def _sparse_stack(spec: SparseTensorSpec, parts: list[Any], count: int | None) -> SparseTensor:
    ragged = [
        execute(
            "RaggedTensorFromVariant",
            (part,),
            {"input_ragged_rank": 0, "output_ragged_rank": 1, "Tvalues": kind, "Tsplits": int64},
        )
        for part, kind in zip(parts[:2], (spec.dtype, int64), strict=True)
    ]
    ((splits,), values), (_, indices) = ragged
    values = execute("Reshape", (values, [-1]))
    places = execute("Range", (number(0, int64), _size(values), number(1, int64)))
    rows = execute("UpperBound", (splits[None], places[None]), {"out_type": int64})[0] - 1
    rank = spec.shape.rank
    known: Any = number(0, int64)
    if rank is None:
        rank = execute("Shape", (parts[2],), {"out_type": int64})[1]
    else:  # what counts where there are no rows
        known = [n or 0 for n in spec.shape.as_list()]
    indices = execute("Reshape", (indices, execute("Pack", ([number(-1, int64), rank],))))
    sizes = execute("Maximum", (execute("Max", (parts[2], [0])), known))
    stack = SparseTensor(
        execute("ConcatV2", ([rows[:, None], indices], 1)),
        values,
        execute("ConcatV2", ([execute("ExpandDims", (_size(parts[2]), 0)), sizes], 0)),
    )
    stack.set_shape(TensorShape([count]).concatenate(spec.shape))
    return stack


def _size(x: Any) -> Any:
    """The number of rows of a tensor, int64."""
    return execute("Shape", (x,), {"out_type": int64})[0]
