"""Golden cases of sparse matrices in rows, which variants hold."""

from __future__ import annotations

from typing import Any

from tools.golden.codec import Case
from tools.golden.programs_containers import Found, Step, each
from tools.golden.values import INF, NAN, Value, a, d, eager, of, t

_PLACES = [[0, 1], [1, 0], [1, 2]]
_BATCH = [[0, 0, 1], [0, 1, 0], [2, 1, 2]]
_POSITIVE = [[4.0, 0.0, 1.0, 0.0], [0.0, 5.0, 0.0, 2.0], [1.0, 0.0, 6.0, 1.0], [0.0, 2.0, 1.0, 7.0]]


def programs() -> Found:
    """Operation -> its cases."""
    found: Found = {}
    for case in [*_forms(), *_products(), *_factors()]:
        for op, cases in each(case):
            found.setdefault(op, []).extend(cases)
    return found


def _made(
    places: Any = _PLACES, values: Any = (2.0, NAN, -4.0), sizes: Any = (2, 3), dtype: str = "float32"
) -> Step:  # fmt: skip
    indices = t(places, "int64") if places else t([], "int64", (0, len(sizes)))
    arguments = {"indices": indices, "values": t(values, dtype), "dense_shape": t(sizes, "int64")}
    return ("SparseTensorToCSRSparseMatrix", arguments)


def _dense(step: int, dtype: str = "float32") -> Step:
    return ("CSRSparseMatrixToDense", {"sparse_input": of(step), "type": d(dtype)})


def _parts(step: int, index: Value, dtype: str = "float32") -> Step:
    arguments = {"csr_sparse_matrix": of(step), "index": index, "type": d(dtype)}
    return ("CSRSparseMatrixComponents", arguments)


def _forms() -> list[Case]:
    def listed(step: int, dtype: str = "float32") -> Step:
        return ("CSRSparseMatrixToSparseTensor", {"sparse_matrix": of(step), "type": d(dtype)})

    def turned(step: int, dtype: str = "float32", conjugate: bool = False) -> Step:
        attrs = {"conjugate": a(conjugate), "type": d(dtype)}
        return ("SparseMatrixTranspose", {"input": of(step), **attrs})

    def taken(dense: Value, places: Value) -> Step:
        return ("DenseToCSRSparseMatrix", {"dense_input": dense, "indices": places})

    count: Step = ("SparseMatrixNNZ", {"sparse_matrix": of(0)})
    zero, one = t(0, "int32"), t(1, "int32")
    batch = _made(_BATCH, sizes=(3, 2, 3))
    none = _made([], [], (2, 3))
    whole = t([[0.0, INF, 0.0], [3.0, 0.0, NAN]])
    return [
        eager(_made(), _dense(0), listed(0), count, _parts(0, zero)),
        eager(batch, _dense(0), listed(0), count, _parts(0, zero), _parts(0, one), _parts(0, t(2, "int32"))),
        eager(none, _dense(0), listed(0), count, _parts(0, zero)),
        eager(_made([], [], (0, 3)), _dense(0), listed(0), count),
        eager(_made(values=(1.0, 2.0, 3.0), dtype="float64"), _dense(0, "float64"), listed(0, "float64")),
        eager(_made(values=(1 + 2j, 2, 3j), dtype="complex64"), turned(0, "complex64", True), _dense(1, "complex64")),
        eager(_made(values=(1 + 2j, 2, 3j), dtype="complex128"), turned(0, "complex128"), _dense(1, "complex128")),
        eager(_made(_PLACES[:1] * 3), _dense(0), listed(0), count),
        eager(_made([[0, 2], [0, 0], [1, 1]]), _dense(0), listed(0), _parts(0, zero)),
        eager(_made(), _parts(0, one)), eager(_made(), _parts(0, t(-1, "int32"))),
        eager(_made(), _parts(0, t([0], "int32"))), eager(_made(), _parts(0, zero, "float64")),
        eager(_made(), _dense(0, "float64")), eager(_made(), listed(0, "complex64")), eager(_made(), turned(0, "float64")),
        eager(batch, turned(0), _dense(1), listed(1)), eager(none, turned(0), _dense(1), count),
        eager(taken(whole, t(_PLACES, "int64")), _dense(0), listed(0), count),
        eager(taken(whole, t([[0, 0], [0, 1]], "int64")), _dense(0), count),
        eager(taken(whole, t([], "int64", (0, 2))), _dense(0), count),
        eager(taken(whole, t([[0, 3]], "int64"))), eager(taken(whole, t([[0]], "int64"))),
        eager(taken(t([1.0]), t([[0]], "int64"))),
        eager(_made(sizes=(2, 2))), eager(_made(sizes=(3,))), eager(_made(sizes=(2, -3))), eager(_made(values=(1.0, 2.0))),
        eager(_made(values=(1, 2, 3), dtype="int32")), eager(_made([[0, 1], [1, 0], [1, -1]])),
        eager(("EmptyTensorMap", {}), count), eager(("EmptyTensorMap", {}), _dense(0)),
    ]  # fmt: skip


def _products() -> list[Case]:
    right = t([[1.0, 2.0], [3.0, -4.0], [0.5, 0.25]])
    left = t([[1.0, 2.0], [3.0, -4.0]])
    complex_right = t([[1.0, 2j], [3 - 1j, -4.0], [0.5, 0.25j]], "complex64")
    finite, imaginary = (
        _made(values=(2.0, 3.0, -4.0)),
        _made(values=(1 + 2j, 2, 3j), dtype="complex64"),
    )
    batch = _made(_BATCH, (1.0, 2.0, 3.0), (3, 2, 3))
    members = t([i / 4 for i in range(18)], shape=(3, 3, 2))

    def times(b: Value, **attrs: bool) -> Step:
        return ("SparseMatrixMatMul", {"a": of(0), "b": b, **{k: a(v) for k, v in attrs.items()}})

    def both(dtype: str = "float32", second: int = 1, **attrs: bool) -> Step:
        more = {k: a(v) for k, v in attrs.items()}
        return ("SparseMatrixSparseMatMul", {"a": of(0), "b": of(second), "type": d(dtype), **more})

    tall = _made([[0, 1], [1, 0], [2, 1]], (1.0, -2.0, 3.0), (3, 2))
    return [
        eager(finite, times(right)), eager(finite, times(left, transpose_a=True)),
        eager(finite, times(left, adjoint_a=True, transpose_output=True)), eager(batch, times(members)),
        eager(imaginary, times(complex_right, conjugate_output=True)), eager(_made([], [], (2, 3)), times(right)),
        eager(finite, times(t([[1.0, 2.0, 3.0]]), transpose_b=True)), eager(finite, times(left)),
        eager(imaginary, times(t([[1j, 2.0, 3.0]], "complex64"), adjoint_b=True)),
        eager(finite, times(t([1.0]))), eager(finite, times(members)), eager(finite, times(t([[1.0]] * 3, "float64"))),
        eager(finite, times(left, transpose_a=True, adjoint_a=True)), eager(batch, times(t([[[1.0]] * 3]))),
        eager(finite, tall, both(), _dense(2), _parts(2, t(0, "int32"))),
        eager(finite, finite, both(transpose_b=True), _dense(2)), eager(finite, finite, both(transpose_a=True), _dense(2)),
        eager(imaginary, imaginary, both("complex64", adjoint_b=True), _dense(2, "complex64")),
        eager(imaginary, imaginary, both("complex64", adjoint_a=True), _dense(2, "complex64")),
        eager(batch, batch, both(transpose_b=True), _dense(2)), eager(finite, finite, both()),
        eager(finite, tall, both("float64")), eager(finite, tall, both(transpose_b=True, adjoint_b=True)),
    ]  # fmt: skip


def _factors() -> list[Case]:
    def factor(order: Value, dtype: str = "float32") -> Step:
        more = {"permutation": order, "type": d(dtype)}
        return ("SparseMatrixSparseCholesky", {"input": of(0), **more})

    def of_dense(rows: Any, dtype: str = "float32") -> Step:
        places = t([[i, j] for i, row in enumerate(rows) for j, v in enumerate(row) if v], "int64")
        return ("DenseToCSRSparseMatrix", {"dense_input": t(rows, dtype), "indices": places})

    plain, mixed = t([0, 1, 2, 3], "int32"), t([2, 0, 3, 1], "int32")
    negative = [[-v for v in row] for row in _POSITIVE]
    lower = [[v if j <= i else 0.0 for j, v in enumerate(row)] for i, row in enumerate(_POSITIVE)]
    return [
        eager(of_dense(_POSITIVE), factor(plain), _dense(1), _parts(1, t(0, "int32"))),
        eager(of_dense(_POSITIVE, "float64"), factor(mixed, "float64"), _dense(1, "float64")),
        eager(of_dense(lower), factor(mixed), _dense(1)), eager(of_dense(_POSITIVE, "complex64"), factor(mixed, "complex64"), _dense(1, "complex64")),
        eager(of_dense(negative), factor(plain)), eager(of_dense(_POSITIVE), factor(t([0, 1, 1, 2], "int32"))),
        eager(of_dense(_POSITIVE), factor(t([0, 1, 2], "int32"))), eager(of_dense(_POSITIVE), factor(t([[0, 1, 2, 3]], "int32"))),
        eager(of_dense(_POSITIVE[:2]), factor(t([0, 1], "int32"))), eager(of_dense(_POSITIVE), factor(plain, "float64")),
    ]  # fmt: skip
