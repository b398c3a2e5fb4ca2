"""Runs every record of the `records_*.py` beside this file; every operation must have one."""

import functools
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.ops import harness
from tests.ops.harness import Record, arrays_of, as_tensors, assert_close, draw_inputs
from tools.op_signature import load_op_defs, signature

from penstock import errors, ops, proto
from penstock.autodiff.tape import GradientTape
from penstock.core import context
from penstock.core.arrays import HashableArray
from penstock.core.kernels import kernels_of
from penstock.core.op_def import parse_signature, registered
from penstock.data import operations as data_operations
from penstock.graph.tensor_proto import make_ndarray
from penstock.types.dims import compatible
from penstock.types.dtypes import as_dtype

ops.load_all()
data_operations.load_all()
HERE = Path(__file__).parent


def _records() -> list[Record]:
    found: list[Record] = []
    for path in sorted(HERE.glob("records_*.py")):
        found.extend(importlib.import_module(f"tests.ops.{path.stem}").RECORDS)
    return found


RECORDS = _records()
RUN = [r for r in RECORDS if r.tested_by is None]


def _ids(records: list[Record]) -> list[str]:
    seen: dict[str, int] = {}
    names = []
    for record in records:
        count = seen[record.op] = seen.get(record.op, 0) + 1
        names.append(record.op if count == 1 else f"{record.op}-{count}")
    return names


def over(records: list[Record]) -> Any:
    return pytest.mark.parametrize("record", records, ids=_ids(records))


@over([r for r in RUN if r.reference is not None])
def test_values_shapes_and_dtypes(record: Record) -> None:
    """The eager result is the reference's, in every case and dtype."""
    for dtype in record.dtypes:
        for the_case in record.cases:
            what = f"{record.op}({the_case}) in {dtype}"
            inputs = draw_inputs(record, the_case, dtype)
            got = arrays_of(record.call(as_tensors(inputs), the_case.attrs))
            wanted = harness.expected_arrays(record, the_case, inputs)
            assert len(got) == len(wanted), f"{what}: {len(got)} outputs, expected {len(wanted)}"
            result = record.result_dtype or dtype
            assert got[0].dtype == as_dtype(result).numpy_dtype, (
                f"{what}: result is {got[0].dtype}, expected {result}"
            )
            for a, b in zip(got, wanted, strict=True):
                assert_close(a, b, harness.tolerance_of(record, dtype), what)


@over([r for r in RUN if r.compiled and not r.is_composed])
def test_compiled_equals_host(record: Record) -> None:
    """The compiled kernel gives what the eager call gave; every listed dtype has one."""
    for i, dtype in enumerate(record.dtypes):
        seen = harness.operations_run(record, record.cases[0], dtype)
        calls = [c for c in seen.calls if c[0].name == record.op]
        assert calls, f"{record.op}: the function runs {[c[0].name for c in seen.calls]} instead"
        op, inputs, attrs, outputs = calls[0]
        if i:  # compiling costs 50 ms: one dtype is run
            harness.prepared_for_compiling(op, inputs, attrs)
            continue
        got = harness.run_compiled_like(op, inputs, attrs)
        tolerance = max(harness.tolerance_of(record, dtype), 1e-15)
        for a, b in zip(got, outputs, strict=True):
            assert a.dtype == np.asarray(b._array).dtype
            assert_close(
                a, b._array, tolerance, f"{record.op}({record.cases[0]}) compiled in {dtype}"
            )


@over([r for r in RUN if r.graph])
def test_graph_equals_eager(record: Record) -> None:
    """A graph gives the eager result, and what it said of the shape before holds."""
    dtype = record.dtypes[0]
    has_host = record.is_composed or any(k.kind == "host" for k in kernels_of(record.op))
    for the_case in record.cases:  # without a host kernel each of them compiles
        inputs = draw_inputs(record, the_case, dtype)
        wanted = arrays_of(record.call(as_tensors(inputs), the_case.attrs))
        for known in record.known if the_case is record.cases[0] and has_host else ("full",):
            what = f"{record.op}({the_case}) in a graph, shapes known: {known}"
            symbols, got = harness.run_in_graph(record, the_case, dtype, known)
            for symbol, a, b in zip(symbols, got, wanted, strict=True):
                assert compatible(symbol.dims, a.shape), (
                    f"{what}: said {symbol.shape}, is {a.shape}"
                )
                assert symbol.dtype.numpy_dtype == a.dtype, what
                assert_close(a, b, max(harness.tolerance_of(record, dtype), 1e-15), what)


@over([r for r in RUN if r.errors])
def test_errors(record: Record) -> None:
    """What cannot be right is refused, with words that say why."""
    dtype = record.dtypes[0]
    for failure in record.errors:
        the_case = harness.Case(failure.inputs, failure.attrs)
        with pytest.raises(failure.eager or errors.InvalidArgumentError, match=failure.match):
            record.call(as_tensors(draw_inputs(record, the_case, dtype)), failure.attrs)
        if failure.graph is not None:
            with pytest.raises(failure.graph, match=failure.match):
                harness.run_in_graph(record, the_case, dtype)


@over([r for r in RUN if r.differentiable])
def test_gradients(record: Record) -> None:
    """Gradients agree with finite differences along a random direction, to the record's order."""
    for the_case in record.cases:
        check_gradient(record, the_case, order=record.order if the_case is record.cases[0] else 1)


def check_gradient(record: Record, the_case: harness.Case, order: int) -> None:
    """Compares the directional derivative of a random projection with central differences."""
    rng = np.random.default_rng(1)
    inputs = as_tensors(draw_inputs(record, the_case, record.grad_dtype))
    flat, rebuild = _flattened(inputs)
    positions = list(record.differentiable)
    points = [np.asarray(flat[i]._array) for i in positions]
    weights: list[Any] = []

    def value(arrays: list[Any]) -> Any:
        given = list(flat)
        for i, a in zip(positions, arrays, strict=True):
            given[i] = a if not isinstance(a, np.ndarray) else harness.eager_tensor(a)
        outputs = [
            t
            for t in harness.flat_tensors(record.call(rebuild(given), the_case.attrs))
            if t.dtype.is_floating or t.dtype.is_complex
        ]
        if not weights:
            weights.extend(_random_like(rng, np.asarray(t._array)) for t in outputs)
        return _project(outputs, weights)

    for depth in range(1, order + 1):
        value = _compare(record, the_case, value, points, rng, depth)


def _flattened(inputs: list[Any]) -> tuple[list[Any], Any]:
    layout = [len(i) if isinstance(i, list) else None for i in inputs]
    flat = [t for i in inputs for t in (i if isinstance(i, list) else [i])]

    def rebuild(items: list[Any]) -> list[Any]:
        rest = iter(items)
        return [next(rest) if n is None else [next(rest) for _ in range(n)] for n in layout]

    return flat, rebuild


def _random_like(rng: np.random.Generator, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    value = rng.normal(size=array.shape)
    return (value + 1j * rng.normal(size=array.shape) if array.dtype.kind == "c" else value).astype(
        array.dtype
    )


def _project(tensors: list[Any], weights: list[Any]) -> Any:
    """The real number sum(Re(conj(w) * t)), as a tensor."""
    total: Any = None
    for tensor, weight in zip(tensors, weights, strict=True):
        product = harness.execute("Mul", (tensor, harness.eager_tensor(np.conj(weight))))
        if tensor.dtype.is_complex:
            product = harness.execute("Real", (product,), {"Tout": tensor.dtype.real_dtype})
        axes = np.arange(weight.ndim, dtype=np.int32)
        part = harness.execute("Sum", (product, harness.eager_tensor(axes)))
        total = part if total is None else harness.execute("AddV2", (total, part))
    return total


def _compare(
    record: Record, the_case: harness.Case, value: Any, points: list[Any], rng: Any, depth: int
) -> Any:
    what = f"{record.op}({the_case}): derivative of order {depth}"
    direction = [_random_like(rng, p) for p in points]

    def slope(arrays: list[Any]) -> Any:
        tensors = [a if not isinstance(a, np.ndarray) else harness.eager_tensor(a) for a in arrays]
        with GradientTape() as tape:
            tape.watch(tensors)
            result = value(tensors)
        grads = tape.gradient(result, tensors)
        pairs = [(g, d) for g, d in zip(grads, direction, strict=True) if g is not None]
        return (
            _project([g for g, _ in pairs], [d for _, d in pairs])
            if pairs
            else harness.eager_tensor(np.zeros((), record.grad_dtype).real)
        )

    step = 1e-6 if record.grad_dtype in ("float64", "complex128") else 1e-2
    at = [_moved_value(value, points, direction, sign * step) for sign in (1, -1)]
    if not np.isfinite(at).all():  # an empty mean, say: there is no slope to compare with
        return slope
    got = float(np.asarray(slope(points)._array))
    scale = max(1.0, abs(at[0]))
    np.testing.assert_allclose(
        got,
        (at[0] - at[1]) / (2 * step),
        record.grad_tolerance,
        record.grad_tolerance * scale,
        err_msg=what,
    )
    return slope


def _moved_value(value: Any, points: list[Any], direction: list[Any], step: float) -> float:
    moved = [np.asarray(p + step * d) for p, d in zip(points, direction, strict=True)]
    return float(np.asarray(value(moved)._array))


# ---- completeness --------------------------------------------------------------------------------


@functools.cache
def _facts() -> dict[str, Any]:
    return load_op_defs()


# Operations that other tests of this process define for themselves are theirs to test.
ALL_OPS = sorted(name for name in registered() if not name.startswith(("Toy", "PenstockTest")))


RECORDED = {r.op for r in RECORDS}


@pytest.mark.parametrize("name", ALL_OPS)
def test_operation_is_complete(name: str) -> None:
    """Shape rule, documentation, gradient or reason, and a record."""
    op = registered()[name]
    lacks = {
        "shape rule": op.shape_rule is None,
        "doc": not op.doc,
        "gradient or reason": not op.has_gradient_record,
        "record": name not in RECORDED,
    }
    assert not any(lacks.values()), [what for what, missing in lacks.items() if missing]


@pytest.mark.parametrize("name", ALL_OPS)
def test_signature_is_tensorflows(name: str) -> None:
    """Inputs, outputs, attributes, defaults and types are those of the recorded definition."""
    fact = _facts().get(name)
    if fact is None:
        assert name.startswith("Penstock"), (
            f"{name} is no operation of TensorFlow; name our own Penstock..."
        )
        return
    op = registered()[name]
    inputs, outputs, attrs = parse_signature(signature(name, fact))
    assert op.inputs == inputs
    assert op.outputs == outputs
    for key, wanted in attrs.items():
        got = op.attrs[key]
        default = wanted.default
        if got.kind == "tensor" and isinstance(default, bytes):  # a message, as it is recorded
            array = make_ndarray(proto.tensor_pb2.TensorProto.FromString(default))
            default = HashableArray(array, as_dtype(array.dtype))
        assert (got.kind, got.default, got.minimum) == (wanted.kind, default, wanted.minimum), key
        assert (got.allowed and frozenset(got.allowed)) == (
            wanted.allowed and frozenset(wanted.allowed)
        ), key
    assert list(op.attrs) == list(attrs), (
        "the order of attributes is that of positional arguments of raw_ops"
    )


@pytest.mark.parametrize("record", [r for r in RECORDS if r.tested_by], ids=lambda r: r.op)
def test_tested_elsewhere(record: Record) -> None:
    """The file that a record points to exists and names the operation."""
    path = harness.ROOT / str(record.tested_by)
    assert path.exists()
    assert (record.named_by or record.op) in path.read_text()


def test_operations_import_no_jax() -> None:
    """`load_all` alone does not import JAX."""
    code = "import sys; from penstock import ops; ops.load_all(); sys.exit('jax' in sys.modules)"
    env = {"PYTHONPATH": str(harness.ROOT / "src")}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
    assert context.executing_eagerly()
