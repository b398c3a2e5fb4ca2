"""Records of the operation table, and the checks that `test_table.py` runs over them.

A `Record` says how one operation (or one composed public function) is called, with which inputs,
and what NumPy says the answer is. Inputs are `Sample`s, drawn anew for each dtype, or fixed values
that are passed as they are. A case with several inputs of one dtype names each of them by a sample;
sizes 0 and 1 belong in the cases.

    RECORDS = [
        Record("AddV2", binary_cases(normal()), np.add, function=add, dtypes=FLOATS),
        Record("Sum", [case(normal(2, 3), fixed(np.int32([1])), keep_dims=True)], sum_reference),
    ]

What cannot be said this way (resources, queues, functions) says `tested_by="tests/ops/test_....py"`
instead.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.core import context
from penstock.core.convert import convert_to_tensor
from penstock.core.eager import run_compiled
from penstock.core.execute import execute
from penstock.core.prepared import prepare
from penstock.core.tensor import EagerTensor, Tensor, eager_tensor
from penstock.graph.graph import Graph
from penstock.runtime.session import DirectSession
from penstock.types.dtypes import DType, as_dtype
from penstock.util import nest

FLOATS = ("float32", "float64")
HALVES = ("bfloat16", "float16")
SIGNED = ("int32", "int64", "int8", "int16")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
TOLERANCE = {
    "float64": 1e-12, "complex128": 1e-12, "float32": 2e-6, "complex64": 4e-6,
    "float16": 2e-3, "bfloat16": 1.6e-2,
}  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]

Draw = Callable[[np.random.Generator, np.dtype[Any]], np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Sample:
    """An input drawn for the dtype under test."""

    shape: tuple[int, ...]
    draw: Callable[[np.random.Generator, np.dtype[Any], tuple[int, ...]], np.ndarray[Any, Any]]

    def shaped(self, *shape: int) -> "Sample":
        """The same distribution in another shape."""
        return replace(self, shape=shape)

    def make(self, rng: np.random.Generator, dtype: DType) -> np.ndarray[Any, Any]:
        """An array."""
        return np.asarray(self.draw(rng, dtype.numpy_dtype, self.shape)).astype(dtype.numpy_dtype)


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu"


def _uniform(
    rng: np.random.Generator, dtype: np.dtype[Any], shape: Any, low: float, high: float
) -> Any:
    if dtype == np.bool_:
        return rng.integers(0, 2, shape)
    if dtype.kind == "O":
        return np.array(
            [[b"", b"a", b"bc", b"\xff\x00"][i] for i in rng.integers(0, 4, shape).reshape(-1)],
            object,
        ).reshape(shape)
    if _is_integer(dtype):
        low = max(low, np.iinfo(dtype).min)
        return rng.integers(int(np.ceil(low)), int(np.floor(high)) + 1, shape)
    if dtype.kind == "c":
        return rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
    return rng.uniform(low, high, shape)


def uniform(low: float, high: float, *shape: int) -> Sample:
    """Evenly between `low` and `high`; whole numbers for integer dtypes."""
    return Sample(shape, lambda rng, dtype, dims: _uniform(rng, dtype, dims, low, high))


def normal(*shape: int) -> Sample:
    """Around zero, without zeros for floating dtypes; -3 to 3 for integers."""

    def draw(rng: np.random.Generator, dtype: np.dtype[Any], dims: tuple[int, ...]) -> Any:
        if _is_integer(dtype) or dtype.kind in "bO":
            return _uniform(rng, dtype, dims, -3, 3)
        value = rng.uniform(0.2, 2.0, dims) * rng.choice([-1.0, 1.0], dims)
        return value + 1j * rng.uniform(0.2, 2.0, dims) if dtype.kind == "c" else value

    return Sample(shape, draw)


def nonzero(low: float, high: float, *shape: int) -> Sample:
    """As `uniform`, either sign, never zero; for divisors. 0 < low."""

    def draw(rng: np.random.Generator, dtype: np.dtype[Any], dims: tuple[int, ...]) -> Any:
        value = _uniform(rng, dtype, dims, max(low, 1) if _is_integer(dtype) else low, high)
        return value if dtype.kind == "u" else value * rng.choice([-1, 1], dims)

    return Sample(shape, draw)


def distinct(*shape: int) -> Sample:
    """All elements different, so that maxima are unique."""

    def draw(rng: np.random.Generator, dtype: np.dtype[Any], dims: tuple[int, ...]) -> Any:
        count = int(np.prod(dims))
        values = rng.permutation(count).reshape(dims)
        return values if _is_integer(dtype) else (values - count / 2) / max(count / 4, 1) + 0.1

    return Sample(shape, draw)


def values(*numbers: float) -> Sample:
    """These numbers, in the dtype under test."""
    return Sample((len(numbers),), lambda rng, dtype, dims: np.array(numbers))


@dataclass(frozen=True)
class Case:
    """One call: inputs (samples, values passed as they are, lists of these) and attributes."""

    inputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shapes = ",".join(str(getattr(i, "shape", "..")).replace(" ", "") for i in self.inputs)
        return shapes + "".join(f",{k}={v}" for k, v in self.attrs.items())


def case(*inputs: Any, **attrs: Any) -> Case:
    """A case."""
    return Case(inputs, attrs)


def unary_cases(sample: Sample, **attrs: Any) -> list[Case]:
    """Scalar, matrix, one element, none."""
    return [case(sample.shaped(*s), **attrs) for s in ((2, 3), (), (1,), (0, 3))]


def binary_cases(a: Sample, b: Sample | None = None, **attrs: Any) -> list[Case]:
    """Equal shapes, broadcasting in every way, scalars, one element, none."""
    shapes = [
        ((2, 3), (2, 3)),
        ((2, 3), (3,)),
        ((2, 1), (1, 3)),
        ((), (2, 2)),
        ((), ()),
        ((1,), (2, 1)),
        ((0, 3), (1, 3)),
        ((0,), ()),
    ]
    return [case(a.shaped(*s), (b or a).shaped(*t), **attrs) for s, t in shapes]


def list_cases(sample: Sample, counts: Iterable[int] = (1, 2, 3), **attrs: Any) -> list[Case]:
    """A list input of so many tensors."""
    return [case([sample.shaped(*s)] * n, **attrs) for n in counts for s in ((2, 3), (), (0,))]


@dataclass(frozen=True)
class Failure:
    """A refused call: its error at once, and when a graph is built (None: only when it runs)."""

    inputs: tuple[Any, ...]
    match: str
    attrs: dict[str, Any] = field(default_factory=dict)
    eager: type[Exception] | tuple[type[Exception], ...] = ()
    graph: type[Exception] | None = ValueError


@dataclass(frozen=True)
class Record:
    """How one operation is tested.

    Attributes:
      op: the operation's name; for a composed public function, the function's name with a leading
        dot (".reduce_std").
      cases: the calls; the first is the one that is compared compiled and differentiated.
      reference: `reference(*arrays, **attrs)` in NumPy, computed in the widest dtype of the kind
        and cast down when `widen`.
      function: the public function, called `function(*inputs, **attrs)`; the operation itself when
        None.
      dtypes: dtypes that samples take.
      tolerance: relative and absolute error by dtype name, over `TOLERANCE`.
      differentiable: positions of flat inputs whose gradient is checked (in float64).
      order: highest derivative that is checked.
      grad_dtype, grad_tolerance: how gradients are compared with finite differences.
      errors: calls that are refused.
      compiled, graph: whether the operation runs in these ways (False needs a reason in a comment
        beside it).
      known: how much of the shapes graphs are built with, see `placeholder`.
      result_dtype: dtype of the first output, when it is not the dtype under test.
      widen: whether the reference computes in double precision.
      tested_by: the file that tests the operation when the table cannot.
      named_by: what that file names instead of the operation: the table it goes through.
    """

    op: str
    cases: Sequence[Case] = ()
    reference: Callable[..., Any] | None = None
    function: Callable[..., Any] | None = None
    dtypes: Sequence[str] = ("float32",)
    tolerance: dict[str, float] = field(default_factory=dict)
    differentiable: Sequence[int] = ()
    order: int = 2
    grad_dtype: str = "float64"
    grad_tolerance: float = 1e-5
    errors: Sequence[Failure] = ()
    compiled: bool = True
    graph: bool = True
    known: Sequence[str] = ("full", "dims", "rank")
    widen: bool = True
    result_dtype: str | None = None
    tested_by: str | None = None
    named_by: str | None = None

    @property
    def is_composed(self) -> bool:
        """Whether it stands for a public function that is no operation."""
        return self.op.startswith(".")

    def call(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Calls the public function, or the operation."""
        if self.function is not None:
            return self.function(*inputs, **attrs)
        return execute(self.op, inputs, attrs)


# ---- running a record ----------------------------------------------------------------------------


def draw_inputs(record: Record, the_case: Case, dtype: str, seed: int = 0) -> list[Any]:
    """The inputs of a case: arrays for samples, other values as they are."""
    rng = np.random.default_rng([seed, sum(map(ord, record.op + dtype))])
    wanted = as_dtype(dtype)

    def one(item: Any) -> Any:
        if isinstance(item, Sample):
            return item.make(rng, wanted)
        return [one(i) for i in item] if isinstance(item, list) else item

    return [one(i) for i in the_case.inputs]


def as_tensors(inputs: Sequence[Any]) -> list[Any]:
    """Arrays as eager tensors; other values (axes, None, numbers) as they are."""

    def one(item: Any) -> Any:
        if isinstance(item, np.ndarray):
            return eager_tensor(item)
        return [one(i) for i in item] if isinstance(item, list) else item

    return [one(i) for i in inputs]


def flat_tensors(result: Any) -> list[Tensor]:
    """The tensors of a result, in order."""
    return [t for t in nest.flatten(result) if isinstance(t, Tensor)]


def arrays_of(result: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of an eager result."""
    return [np.asarray(t._array) for t in flat_tensors(result) if isinstance(t, EagerTensor)]


_WIDE = {"b": None, "f": np.float64, "V": np.float64, "c": np.complex128}


def widened(inputs: Sequence[Any]) -> list[Any]:
    """Floating arrays in double precision, for the reference."""

    def one(item: Any) -> Any:
        if isinstance(item, np.ndarray) and item.dtype.kind in "fVc":
            return item.astype(_WIDE[item.dtype.kind])
        return [one(i) for i in item] if isinstance(item, list) else item

    return [one(i) for i in inputs]


def expected_arrays(
    record: Record, the_case: Case, inputs: Sequence[Any]
) -> list[np.ndarray[Any, Any]]:
    """What the reference says."""
    assert record.reference is not None
    with np.errstate(all="ignore"):
        result = record.reference(*(widened(inputs) if record.widen else inputs), **the_case.attrs)
    results = result if isinstance(result, (list, tuple)) else [result]
    return [np.array(r, object) if isinstance(r, bytes) else np.asarray(r) for r in results]


def tolerance_of(record: Record, dtype: str) -> float:
    """The allowed error."""
    return record.tolerance.get(dtype, TOLERANCE.get(dtype, 0.0))


def assert_close(got: Any, wanted: Any, tolerance: float, what: str) -> None:
    """Equal shapes, and values within `tolerance` (exactly, for integers, bools and strings)."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape, f"{what}: shape {got.shape}, expected {wanted.shape}"
    if got.dtype.kind in "fVc":
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                got.astype(wide), wanted.astype(wide), tolerance, tolerance, err_msg=what
            )
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=what)


class Seen:
    """A recorder that keeps every operation that runs."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]] = []

    def record(self, op: Any, inputs: Any, attrs: Any, outputs: Any) -> None:
        self.calls.append((op, inputs, attrs, outputs))


def operations_run(record: Record, the_case: Case, dtype: str) -> Seen:
    """The operations that an eager call runs."""
    seen = Seen()
    with context.recording(seen):
        record.call(as_tensors(draw_inputs(record, the_case, dtype)), the_case.attrs)
    return seen


def prepared_for_compiling(op: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """The prepared operation for eager inputs, which has a compiled kernel."""
    counts = _counts(op, attrs, len(inputs))
    prepared = prepare(
        op, tuple(inputs), counts, {n: v for n, v in attrs.items() if v is not None}, "CPU"
    )
    assert prepared.compiled is not None, (
        f"{op.name} has no compiled kernel for {[t.dtype.name for t in inputs]}"
    )
    return prepared


def run_compiled_like(
    op: Any, inputs: Sequence[Any], attrs: dict[str, Any]
) -> list[np.ndarray[Any, Any]]:
    """Outputs of an operation's compiled kernel for eager inputs."""
    prepared = prepared_for_compiling(op, inputs, attrs)
    return [np.asarray(a) for a in run_compiled(prepared, [t._array for t in inputs])]


def _counts(op: Any, attrs: dict[str, Any], total: int) -> tuple[int, ...] | None:
    if not any(a.is_list for a in op.inputs):
        return None
    return tuple(
        attrs[a.number_attr]
        if a.number_attr
        else len(attrs[a.type_list_attr])
        if a.type_list_attr
        else 1
        for a in op.inputs
    )


def placeholder(array: np.ndarray[Any, Any], known: str) -> Any:
    """A placeholder whose shape is fully known, of known rank, or unknown."""
    dims = {"full": array.shape, "dims": (None,) * array.ndim, "rank": None}[known]
    dtype = eager_tensor(array).dtype
    return execute("Placeholder", (), {"dtype": dtype, "shape": dims})


def run_in_graph(
    record: Record, the_case: Case, dtype: str, known: str = "full"
) -> tuple[list[Any], list[Any]]:
    """Builds the call in a graph and runs it: symbolic outputs and their arrays.

    Samples become placeholders. Fixed arrays become constants when shapes are fully known, else
    placeholders too, so that operations are seen with and without the values of their axes and
    sizes.
    """
    graph, feeds, values = Graph(), [], []

    def one(template: Any, item: Any) -> Any:
        if isinstance(item, list):
            return [one(t, i) for t, i in zip(template, item, strict=True)]
        if not isinstance(item, np.ndarray):
            return item
        if known == "full" and not isinstance(template, Sample):
            return convert_to_tensor(item)
        made = placeholder(item, known)
        feeds.append(made)
        values.append(item)
        return made

    inputs = draw_inputs(record, the_case, dtype)
    with context.graph_scope(graph):
        given = [one(t, i) for t, i in zip(the_case.inputs, inputs, strict=True)]
        fetched = flat_tensors(record.call(given, the_case.attrs))
    session = DirectSession(graph)
    plan = session.plan(fetched, feeds, [])
    arrays, _ = session.run(plan, values)
    return fetched, [np.asarray(a) for a in arrays]
