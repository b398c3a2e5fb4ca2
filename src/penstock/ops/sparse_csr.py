"""Sparse matrices in rows, as variants hold them: what the SparseMatrix operations share.

A `CsrMatrix` is a matrix, or a batch of them, stored row by row (CSR: compressed sparse rows). A
batch is kept as one matrix with its members along the diagonal, so that products, transposes and
sums are one call whatever the batch. Its values keep the order in which they were given; gradients
with respect to a matrix have its places, in its order (`at_places_of`).
"""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.lazy_module import LazyModule
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.standard_forms import standard_form
from penstock.ops.sparse_common import Array, add_rows, invalid
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

HOST = 1 << 62
NUMBERS = "{float, double, complex64, complex128}"
sparse: Any = LazyModule("scipy.sparse")  # jax depends on scipy


class CsrMatrix:
    """A sparse matrix or a batch of them. Immutable; thread-safe.

    Attributes:
      dims: (rows, columns), or (batch, rows, columns).
      values: the stored values of all members, row by row: T[N].
      indices: their columns along the diagonal.
      indptr: where rows begin and end.
    """

    __slots__ = ("_diagonal", "dims", "indices", "indptr", "values")

    def __init__(
        self, dims: tuple[int, ...], values: Array, indices: Array, indptr: Array, whole: Any = None
    ) -> None:
        self.dims = dims
        self.values, self.indices, self.indptr = values, indices, indptr
        self._diagonal = whole

    @classmethod
    def of(cls, dims: tuple[int, ...], diagonal: Any) -> "CsrMatrix":
        """A matrix whose members are along the diagonal of a `scipy.sparse.csr_array`."""
        return cls(dims, diagonal.data, diagonal.indices, diagonal.indptr, diagonal)

    @property
    def diagonal(self) -> Any:
        """The members along the diagonal, a `scipy.sparse.csr_array`; made when first wanted."""
        if self._diagonal is None:
            parts = (self.values, self.indices, self.indptr)
            self._diagonal = sparse.csr_array(parts, self.extent, copy=False)
        return self._diagonal

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns of all members."""
        return self.batch * self.dims[-2], self.batch * self.dims[-1]

    def __repr__(self) -> str:
        return f"<CsrMatrix: {d.text(self.dims)}, {self.values.size} values>"

    @property
    def batch(self) -> int:
        """The number of members; 1 when there is no batch dimension."""
        return self.dims[0] if len(self.dims) == 3 else 1

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return int(self.values.nbytes + self.indices.nbytes + self.indptr.nbytes)

    def ends(self) -> Array:
        """Where the values of each member begin and end: int[batch + 1]."""
        return (
            self.indptr[:: self.dims[-2]] if self.dims[-2] else np.zeros(self.batch + 1, np.int32)
        )

    def places(self) -> tuple[Array, Array]:
        """Row and column of each value along the diagonal: int64[N] each."""
        rows = np.repeat(np.arange(self.extent[0], dtype=np.int64), np.diff(self.indptr))
        return rows, self.indices.astype(np.int64)

    def keys(self) -> Array:
        """A number for the place of each value, in row-major order: int64[N]."""
        rows, columns = self.places()
        return rows * max(self.extent[1], 1) + columns

    def having(self, values: Array) -> "CsrMatrix":
        """Other values at the same places."""
        return CsrMatrix(self.dims, values, self.indices, self.indptr)

    def has_places_of(self, other: "CsrMatrix") -> bool:
        """Whether both have the same places in the same order."""
        return self.dims == other.dims and all(
            x is y or np.array_equal(x, y)
            for x, y in ((self.indptr, other.indptr), (self.indices, other.indices))
        )

    def zeros(self) -> "CsrMatrix":
        """Zeros at the same places."""
        return self.having(np.zeros_like(self.values))

    def plus(self, other: "CsrMatrix") -> "CsrMatrix":
        """The sum, with the places of both; values at one place are added up."""
        if self.dims != other.dims or self.values.dtype != other.values.dtype:
            raise invalid(
                f"expected two sparse matrices of one shape and dtype, got {d.text(self.dims)} of "
                f"{self.values.dtype} and {d.text(other.dims)} of {other.values.dtype}."
            )
        if self.has_places_of(other):
            return self.having(self.values + other.values)
        keys = np.concatenate([self.keys(), other.keys()])
        values = np.concatenate([self.values, other.values])
        places, slots = np.unique(keys, return_inverse=True)
        summed = add_rows(values, slots.reshape(-1), places.size)
        width = max(self.extent[1], 1)
        return from_places(self.dims, places // width, places % width, summed)

    def at(self, places: "CsrMatrix") -> "CsrMatrix":
        """The values at the places of another matrix of this shape; 0 where there are none."""
        if self.has_places_of(places):
            return self
        known, slots = np.unique(self.keys(), return_inverse=True)
        summed = add_rows(self.values, slots.reshape(-1), known.size)
        asked = places.keys()
        found = np.searchsorted(known, asked)
        here = np.append(known, -1)[found] == asked
        summed = np.append(summed, np.zeros(1, summed.dtype))
        return places.having(summed[np.where(here, found, known.size)])


def from_places(dims: tuple[int, ...], rows: Array, columns: Array, values: Array) -> CsrMatrix:
    """A matrix of places along the diagonal, in the order of their rows."""
    batch = dims[0] if len(dims) == 3 else 1
    size = (batch * dims[-2], batch * dims[-1])
    kind = np.int32 if max(*size, values.size) < 1 << 31 else np.int64
    ends = np.searchsorted(rows, np.arange(size[0] + 1)).astype(kind)
    return CsrMatrix(tuple(dims), values, columns.astype(kind), ends)


def held(value: Any, dtype: DType | None = None, name: str = "the input") -> CsrMatrix:
    """The matrix that a variant holds.

    Raises:
      InvalidArgumentError: it holds something else, or numbers of another dtype than `dtype`.
    """
    found = value.item() if isinstance(value, np.ndarray) and value.shape == () else value
    if not isinstance(found, CsrMatrix):
        raise invalid(
            f"Could not retrieve a sparse matrix from {name}: expected a variant that "
            f"SparseTensorToCSRSparseMatrix or its kin made, got {found!r}."
        )
    if dtype is not None and found.values.dtype != dtype.numpy_dtype:
        raise invalid(
            f"Asked for a CSRSparseMatrix of type {dtype.name} but saw dtype: "
            f"{as_dtype(found.values.dtype).name}. Give the dtype of {name}."
        )
    return found


class HoldsMatrix(tuple):  # type: ignore[type-arg]
    """The shape of a variant, a scalar, of which a graph also knows what shape the matrix has."""

    def __init__(self, dims: Dims) -> None:
        self.dims = dims

    def __new__(cls, dims: Dims) -> "HoldsMatrix":  # noqa: D102
        return super().__new__(cls)


def matrix_dims(c: ShapeContext, index: int, name: str) -> Dims:
    """What is known, while a graph is built, of the shape of the matrix in input `index`."""
    c.rank(index, 0, name)
    return getattr(c.shape(index), "dims", None)


def one_turn(c: ShapeContext, name: str) -> bool:
    """Whether the factor `name` is turned; both ways at once are refused."""
    if c.attr(f"transpose_{name}") and c.attr(f"adjoint_{name}"):
        c.fail(f"at most one of adjoint_{name} and transpose_{name}", "both")
    return bool(c.attr(f"transpose_{name}") or c.attr(f"adjoint_{name}"))


def turned_dims(dims: Dims, turn: bool) -> Dims:
    """Dimensions with the last two exchanged, when `turn`."""
    return dims if dims is None or not turn else (*dims[:-2], dims[-1], dims[-2])


# ---- the values of one matrix at the places of another


def _at_shape(c: ShapeContext) -> Dims:
    dims = c.merge(matrix_dims(c, 0, "matrix"), matrix_dims(c, 1, "places"))
    return HoldsMatrix(dims)


AT: OpDef = define_op(
    f"PenstockSparseMatrixAt(matrix: variant, places: variant; type: {NUMBERS} = float) -> "
    "output: variant",
    shape=_at_shape,
    doc="The values of a sparse matrix at the places of another one; zeros where it has none.",
)


@host_kernel(AT, limit=HOST)
def _at(matrix: Any, places: Any, *, type: DType) -> CsrMatrix:
    # Older files leave the type out, whatever it is: the matrix says.
    source, wanted = held(matrix), held(places)
    if source.dims != wanted.dims:
        raise invalid(
            f"expected matrices of one shape, got {d.text(source.dims)} and {d.text(wanted.dims)}."
        )
    return source.at(wanted)


@AT.gradient
def _at_gradient(op: Any, grad: Any) -> list[Any]:
    return [at_places_of(grad, op.inputs[0], op.get_attr("type")), None]


@standard_form(AT, in_place=True)
def _at_in_files(matrix: Any, places: Any, *, type: DType) -> Any:
    kept = (
        execute("CSRSparseMatrixToSparseTensor", (x,), {"type": type}) for x in (matrix, places)
    )
    source, (wanted, _, sizes) = kept
    ordered, values = execute("SparseReorder", source)
    known, slots = execute("Unique", (_keys(ordered, sizes),))
    count = execute("Size", (known,))
    summed = execute("UnsortedSegmentSum", (values, slots, count + 1))  # the last one is 0
    known = execute("ConcatV2", ([known, np.array([np.iinfo(np.int64).max])], np.int32(0)))
    asked = _keys(wanted, sizes)
    found = execute("LowerBound", (known[None], asked[None]))[0]
    here = execute("Equal", (execute("GatherV2", (known, found, np.int32(0))), asked))
    at = execute("SelectV2", (here, found, count))
    values = execute("GatherV2", (summed, at, np.int32(0)))
    return execute("SparseTensorToCSRSparseMatrix", (wanted, values, sizes))


def _keys(places: Any, sizes: Any) -> Any:
    """A number for each place, in row-major order: int64[N]."""
    steps = execute("Cumprod", (sizes, np.int32(0)), {"exclusive": True, "reverse": True})
    return execute("Sum", (execute("Mul", (places, steps)), np.int32(1)))


def at_places_of(matrix: Any, places: Any, dtype: DType) -> Any:
    """The values of a matrix at the places of another one; what gradients are given by."""
    return execute(AT, (matrix, places), {"type": dtype})
