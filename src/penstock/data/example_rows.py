"""Operations on datasets of serialised Examples, and datasets of slices of sparse tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data.operations import HOST, TYPES, dataset_kernel, dataset_op, held, number
from penstock.data.run import Run
from penstock.data.sources import CountedStage
from penstock.data.stages import Array, Description, Element, Stage, UnaryStage
from penstock.ops.parse_examples import Wanted, check_dense, parse_rows
from penstock.ops.ragged_variants import RaggedVariant
from penstock.ops.sparse_messages import HeldTensor
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

# ---- Examples


class Parsed(Description):
    """The features of vectors of Examples, in the order of their keys."""

    kind = "ParseExampleDatasetV2"
    __slots__ = ("order", "wanted")

    def __init__(
        self,
        input: Description,
        wanted: Wanted,
        order: Sequence[int],
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.wanted = wanted
        self.order = tuple(order)

    def cardinality(self) -> int:
        """That of the input."""
        return self.inputs[0].cardinality()

    def start(self, run: Run) -> Stage:
        """A state before the first vector."""
        return _ParsedStage(self.inputs[0].start(run), self)


class _ParsedStage(UnaryStage):
    def __init__(self, input: Stage, description: Parsed) -> None:
        super().__init__(input)
        self._wanted = description.wanted
        self._order = description.order

    def next(self) -> Element | None:
        found = self.input.next()
        if found is None:
            return None
        texts = np.asarray(found[0], object)
        if texts.ndim != 1:
            raise _invalid(
                f"expected vectors of strings, got shape {list(texts.shape)}. Batch them."
            )
        names = np.zeros(0, object)
        parts = parse_rows("ParseExampleDataset", texts, names, self._wanted)
        components = self._components(parts)
        return tuple(components[i] for i in self._order)

    def _components(self, parts: list[Array]) -> list[Array]:
        """One component for each feature: sparse, dense, then ragged ones."""
        sparse, dense = len(self._wanted.sparse), len(self._wanted.dense)
        ragged = len(self._wanted.ragged)
        found: list[Array] = []
        for i, (_, dtype) in enumerate(self._wanted.sparse):
            three = (parts[i], parts[sparse + i], parts[2 * sparse + i])
            kinds = (dt.int64, dtype, dt.int64)
            made = np.empty(3, object)
            made[:] = [HeldTensor(a, t) for a, t in zip(three, kinds, strict=True)]
            found.append(made)
        found += parts[3 * sparse : 3 * sparse + dense]
        rest = parts[3 * sparse + dense :]
        found += [RaggedVariant([rest[ragged + i]], rest[i]) for i in range(ragged)]
        return found


def _invalid(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, f"ParseExampleDataset: {text}")


_PARSED = (
    "(input_dataset: variant, num_parallel_calls: int64, dense_defaults: [Tdense]; sparse_keys:"
    " list(string) >= 0, dense_keys: list(string) >= 0, sparse_types: list({float, int64, string})"
    " >= 0, Tdense: list({float, int64, string}) >= 0, dense_shapes: list(shape) >= 0, "
)
_RAGGED = (
    "ragged_keys: list(string) >= 0 = [], ragged_value_types: list({float, int64, string}) >= 0 ="
    " [], ragged_split_types: list({int32, int64}) >= 0 = []) -> handle: variant"
)
PARSE = dataset_op(
    f"ParseExampleDataset{_PARSED}{TYPES}, sloppy: bool = False, {_RAGGED}",
    "The features of vectors of serialised Examples.",
)
OLD_PARSE = dataset_op(
    f"ExperimentalParseExampleDataset{_PARSED}{TYPES}, sloppy: bool = False) -> handle: variant",
    "The features of vectors of serialised Examples.",
)
PARSE_V2 = dataset_op(
    f"ParseExampleDatasetV2{_PARSED}{TYPES}, deterministic: string = 'default', {_RAGGED}",
    "The features of vectors of serialised Examples.",
)


@host_kernel(OLD_PARSE, limit=HOST)
def _parse_old(
    input_dataset: Array, num_parallel_calls: Array, dense_defaults: list[Array], *,
    sparse_keys: Any, dense_keys: Any, sparse_types: Any, Tdense: Any, dense_shapes: Any,
    output_types: Any, output_shapes: Any,
) -> Description:  # fmt: skip
    wanted = _wanted(
        (_keys(sparse_keys), sparse_types),
        (_keys(dense_keys), Tdense, dense_shapes, dense_defaults),
        ([], [], []),
    )
    return _parsed(held(input_dataset), wanted, output_types, output_shapes)


@host_kernel(PARSE, limit=HOST)
@host_kernel(PARSE_V2, limit=HOST)
def _parse(
    input_dataset: Array, num_parallel_calls: Array, dense_defaults: list[Array], *,
    sparse_keys: Any, dense_keys: Any, sparse_types: Any, Tdense: Any, dense_shapes: Any,
    output_types: Any, output_shapes: Any, ragged_keys: Any, ragged_value_types: Any,
    ragged_split_types: Any,
) -> Description:  # fmt: skip
    wanted = _wanted(
        (_keys(sparse_keys), sparse_types),
        (_keys(dense_keys), Tdense, dense_shapes, dense_defaults),
        (_keys(ragged_keys), ragged_value_types, ragged_split_types),
    )
    return _parsed(held(input_dataset), wanted, output_types, output_shapes)


def _wanted(sparse: Any, dense: Any, ragged: Any) -> Wanted:
    """The features that are wanted, from lists with an entry for each."""
    for kind, lists in (("sparse", sparse), ("dense", dense), ("ragged", ragged)):
        counts = [len(each) for each in lists]
        if len(set(counts)) > 1:
            raise _invalid(f"expected lists of one length for {kind} features, got {counts}.")
    rows = enumerate(zip(*dense, strict=True))
    return Wanted(
        list(zip(*sparse, strict=True)),
        [
            (key, kind, check_dense("ParseExampleDataset", i, dims, default), default)
            for i, (key, kind, dims, default) in rows
        ],
        list(zip(*ragged, strict=True)),
    )


def _parsed(
    input: Description, wanted: Wanted, types: Sequence[DType], shapes: Sequence[Dims]
) -> Description:
    keys = [each[0] for part in (wanted.sparse, wanted.dense, wanted.ragged) for each in part]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return Parsed(input, wanted, order, types, shapes)


def _keys(given: Any) -> list[bytes]:
    return [k if isinstance(k, bytes) else str(k).encode() for k in given]


# ---- slices


class Slices(Description):
    """The slices of a sparse tensor along its first dimension: indices, values, shape."""

    kind = "SparseTensorSliceDataset"
    __slots__ = ("bounds", "dense", "indices", "values")

    def __init__(self, indices: Array, values: Array, dense: Array, dtype: DType) -> None:
        rank = indices.shape[1]
        types = (dt.int64, dtype, dt.int64)
        super().__init__((), types, ((None, rank - 1), (None,), (rank - 1,)))
        self.indices, self.values, self.dense = indices[:, 1:], values, dense[1:]
        self.bounds = np.searchsorted(indices[:, 0], np.arange(int(dense[0]) + 1))

    def cardinality(self) -> int:
        """The size of the first dimension."""
        return len(self.bounds) - 1

    def start(self, run: Run) -> Stage:
        """A state before the first slice."""
        return _SlicesStage(self, run)


class _SlicesStage(CountedStage):
    stacked = False

    def __init__(self, description: Slices, run: Run) -> None:
        super().__init__(description.cardinality(), run)
        self._of = description

    def next(self) -> Element | None:
        self.check_wanted()
        at = self._at
        if at >= self._count:
            return None
        self._at = at + 1
        first, last = self._of.bounds[at : at + 2]
        return self._of.indices[first:last], self._of.values[first:last], self._of.dense


SLICES = dataset_op(
    "SparseTensorSliceDataset(indices: int64, values: Tvalues, dense_shape: int64; Tvalues: type)"
    " -> handle: variant",
    "The slices of a sparse tensor along its first dimension.",
    stateful=True,
)


@dataset_kernel(SLICES)
def _slices(indices: Array, values: Array, dense_shape: Array, *, Tvalues: DType) -> Description:
    rank = len(dense_shape) if dense_shape.ndim == 1 else 0
    if indices.ndim != 2 or values.ndim != 1 or rank < 1 or indices.shape != (len(values), rank):
        raise errors.InvalidArgumentError(
            None,
            None,
            "SparseTensorSliceDataset: expected indices [N, R], values [N] and a shape [R], got"
            f" shapes {list(indices.shape)}, {list(values.shape)} and {list(dense_shape.shape)}.",
        )
    rows = indices[:, 0]
    inside = not len(rows) or (rows.min() >= 0 and rows.max() < number(dense_shape[0]))
    if not inside or np.any(np.diff(rows) < 0):
        raise errors.UnimplementedError(
            None,
            None,
            "The SparseTensor must be ordered in the batch dimension, with indices in"
            f" [0, {number(dense_shape[0])}). Use tf.sparse.reorder.",
        )
    return Slices(indices, values, dense_shape, Tvalues)
