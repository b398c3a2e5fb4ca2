"""Linear operators as values: in functions, control flow, gradients, variables, slices, files."""

import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from tests.ops.linear_operators.cases import SQUARE, Plain, adjoint, numbers

import penstock as tf
from penstock.types import type_spec

L = tf.linalg
SIZELESS = {"identity"}  # known from its spec alone


def case_of(kind: str, batch: tuple[int, ...] = (2,), dtype: str = "float64") -> Any:
    operator, dense = SQUARE[kind](np.random.default_rng(5), dtype, batch)
    return operator, np.asarray(dense, dtype)


def everything(operator: Any, x: Any) -> list[Any]:
    """What an operator answers, as tensors."""
    return [
        operator.to_dense(),
        operator.matmul(x),
        operator.matmul(x, adjoint=True),
        operator.solve(x),
        operator.solve(x, adjoint=True),
        operator.matvec(x[..., 0]),
        operator.diag_part(),
        operator.trace(),
        operator.determinant(),
        operator.log_abs_determinant(),
        operator.cond(),
        operator.add_to_tensor(operator.to_dense()),
        operator.inverse().to_dense(),
        operator.H.to_dense(),
        operator.shape_tensor(),
        operator.batch_shape_tensor(),
        operator.domain_dimension_tensor(),
    ]


@pytest.mark.parametrize("kind", SQUARE)
def test_parameters_of_unknown_sizes_in_a_function(kind: str) -> None:
    operator, dense = case_of(kind)
    x = numbers(np.random.default_rng(1), "float64", 2, dense.shape[-1], 3)
    leaves = tf.nest.flatten(operator, expand_composites=True)
    signature = [tf.TensorSpec([None] * t.shape.rank, t.dtype) for t in [*leaves, tf.constant(x)]]

    @tf.function(input_signature=signature)
    def run(*tensors: Any) -> list[Any]:
        made = tf.nest.pack_sequence_as(operator, tensors[:-1], expand_composites=True)
        assert kind in SIZELESS or None in made.shape.as_list()
        return everything(made, tensors[-1])

    for got, wanted in zip(run(*leaves, x), everything(operator, x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", SQUARE)
def test_operators_as_arguments_and_results(kind: str) -> None:
    operator, dense = case_of(kind)
    traces = []

    @tf.function
    def both(given: Any) -> Any:
        traces.append(given)
        return given, given.matvec(tf.ones([dense.shape[-1]], tf.float64))

    for _ in range(2):
        same, product = both(operator)
    assert len(traces) == 1
    assert type(same) is type(operator) is type(traces[0])
    assert same._type_spec == operator._type_spec
    np.testing.assert_allclose(same.to_dense(), dense, atol=1e-9)
    np.testing.assert_allclose(product, dense.sum(-1), atol=1e-9)


@pytest.mark.parametrize("kind", SQUARE)
def test_specs(kind: str) -> None:
    operator, dense = case_of(kind)
    spec = operator._type_spec
    assert spec.is_compatible_with(operator)
    assert spec == SQUARE[kind](np.random.default_rng(6), "float64", (2,)).operator._type_spec
    assert spec != SQUARE[kind](np.random.default_rng(6), "float64", (3,)).operator._type_spec
    assert tf.type_spec_from_value(operator) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec
    again = tf.nest.pack_sequence_as(
        operator, tf.nest.flatten(operator, expand_composites=True), expand_composites=True
    )
    np.testing.assert_allclose(again.to_dense(), dense, atol=1e-9)
    if kind != "plain":
        assert type(spec).__name__ == f"{type(operator).__name__}Spec"


def test_other_hints_mean_another_trace() -> None:
    traces = []

    @tf.function
    def trace_of(given: Any) -> Any:
        traces.append(given)
        return given.trace()

    matrix = np.eye(2)
    full = L.LinearOperatorFullMatrix
    hinted = full(matrix, is_self_adjoint=True)
    operators = [full(matrix), full(2 * matrix), hinted]
    operators += [L.LinearOperatorKronecker([o, o]) for o in (full(matrix), hinted)]
    assert [trace_of(o).numpy() for o in operators] == [2, 4, 2, 4, 4]
    assert len(traces) == 4
    assert [t.is_self_adjoint for t in traces] == [None, True, None, True]


def test_control_flow_chooses_between_operators() -> None:
    first, second = (L.LinearOperatorDiag(v) for v in ([1.0, 2.0], [3.0, 4.0]))

    @tf.function
    def chosen(flag: Any) -> Any:
        return tf.cond(flag, lambda: first, lambda: second)

    assert chosen(tf.constant(True)).trace().numpy() == 3
    assert chosen(tf.constant(False)).trace().numpy() == 7

    @tf.function
    def squared(operator: Any) -> Any:
        for _ in tf.range(3):
            operator = operator @ operator
        return operator

    np.testing.assert_allclose(squared(first).diag, [1, 256])


# ---- variables


def test_variables_are_kept_and_seen_when_they_change() -> None:
    variable = tf.Variable([1.0, 2.0], name="v")
    operator = L.LinearOperatorDiag(variable)
    assert operator.diag is variable
    product = L.LinearOperatorFullMatrix(np.float32([[0, 1], [1, 0]])) @ operator
    traced = tf.function(lambda o: o.matvec([1.0, 1.0]))
    assert traced(product).numpy().tolist() == [2, 1]
    variable.assign([5.0, 6.0])
    assert traced(product).numpy().tolist() == [6, 5]
    assert operator.trace().numpy() == 11
    for module in (operator, product, L.LinearOperatorBlockDiag([product])):
        assert module.trainable_variables == (variable,)
    assert [type(m).__name__ for m in product.submodules] == [
        "LinearOperatorFullMatrix",
        "LinearOperatorDiag",
    ]
    holder = tf.Module()
    holder.operator = product
    assert holder.variables == (variable,)


def test_checkpoints_of_operators_with_variables(tmp_path: Any) -> None:
    def make(value: float) -> Any:
        base = L.LinearOperatorDiag(tf.Variable([value, 2.0]))
        return L.LinearOperatorComposition([base, L.LinearOperatorIdentity(2)])

    path = tf.train.Checkpoint(operator=make(7.0)).save(str(tmp_path / "c"))
    other = make(1.0)
    tf.train.Checkpoint(operator=other).restore(path).assert_existing_objects_matched()
    assert other.trace().numpy() == 9


# ---- gradients


@pytest.mark.parametrize("kind", [k for k in SQUARE if k not in SIZELESS | {"permutation"}])
def test_gradients_equal_differences(kind: str) -> None:
    operator, dense = case_of(kind, ())
    leaves = tf.nest.flatten(operator, expand_composites=True)
    x = numbers(np.random.default_rng(2), "float64", dense.shape[-1], 2)
    index = next(i for i, t in enumerate(leaves) if t.dtype.is_floating or t.dtype.is_complex)

    def value(leaf: Any) -> Any:
        parts = [leaf if i == index else t for i, t in enumerate(leaves)]
        made = tf.nest.pack_sequence_as(operator, parts, expand_composites=True)
        product = tf.reduce_sum(made.matmul(x) ** 2) + tf.reduce_sum(made.solve(x))
        return product + made.log_abs_determinant() + tf.reduce_sum(made.matvec(x[:, 0], True))

    leaf = leaves[index]
    direction = numbers(np.random.default_rng(3), leaf.dtype.name, *leaf.shape)
    if kind.startswith("definite"):
        direction = direction + adjoint(direction)
    with tf.GradientTape() as tape:
        tape.watch(leaf)
        result = value(leaf)
    slope = np.sum(np.conj(tape.gradient(result, leaf).numpy()) * direction).real
    step = 1e-6
    ends = [value(leaf + sign * step * direction).numpy() for sign in (1, -1)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=2e-5, atol=2e-5)


def test_gradients_with_respect_to_operators() -> None:
    diag = L.LinearOperatorDiag(tf.constant([1.0, 4.0]))
    unused = L.LinearOperatorDiag(tf.constant([1.0]))
    pair = L.LinearOperatorBlockDiag([diag, unused])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([diag.diag, unused.diag])
        result = diag.log_abs_determinant()
    assert tape.gradient(result, diag).diag.numpy().tolist() == [1, 0.25]
    assert tape.gradient(result, unused) is None
    both = tape.gradient(result, pair)
    assert [o.diag.numpy().tolist() for o in both.operators] == [[1, 0.25], [0]]
    variable = tf.Variable([2.0, 5.0])
    with tf.GradientTape() as tape:
        result = tf.reduce_sum(L.LinearOperatorDiag(variable).inverse().to_dense())
    np.testing.assert_allclose(tape.gradient(result, variable), [-0.25, -0.04], rtol=1e-6)


def test_gradients_of_operators_made_under_the_tape() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        operator = L.LinearOperatorDiag(x * x)
    assert tape.gradient(operator, x).numpy().tolist() == [2, 4]


# ---- slices


@pytest.mark.parametrize("kind", SQUARE)
@pytest.mark.parametrize(
    "index",
    [0, -1, slice(1, None), (0, 2), (slice(None), 1), (..., 0), (None, 1), (0, None), ...],
    ids=str,
)
def test_slices_of_stacks(kind: str, index: Any) -> None:
    operator, dense = case_of(kind, (2, 3))
    part = operator[index]
    assert type(part) is type(operator)
    assert part.is_self_adjoint == operator.is_self_adjoint
    wanted = np.broadcast_to(dense, (2, 3, *dense.shape[-2:]))
    spread = index if isinstance(index, tuple) else (index,)
    spread = spread if ... in spread else (*spread, ...)
    wanted = wanted[(*spread, slice(None), slice(None))]
    assert part.shape.as_list() == list(wanted.shape)
    np.testing.assert_allclose(part.to_dense(), wanted, atol=1e-9)


Plain._experimental_parameter_ndims_to_matrix_ndims = {"matrix": 2}


def test_slices_of_parameters_that_broadcast() -> None:
    operator = L.LinearOperatorLowRankUpdate(
        L.LinearOperatorDiag(np.ones((1, 3)) * 2), np.arange(12.0).reshape(4, 3, 1), [3.0]
    )
    np.testing.assert_allclose(operator[2].to_dense(), operator.to_dense()[2])
    np.testing.assert_allclose(operator[1:3].to_dense(), operator.to_dense()[1:3])
    at = tf.constant(3)
    np.testing.assert_allclose(operator[at].to_dense(), operator.to_dense()[3])
    zeros = L.LinearOperatorZeros(2, 3, [4, 5], is_square=False, is_self_adjoint=False)
    assert zeros[1, 2:].shape == [3, 2, 3]
    assert L.LinearOperatorIdentity(2, [4, 5])[..., None, 0].shape == [4, 1, 2, 2]


def test_too_many_indices_are_refused() -> None:
    for operator in (L.LinearOperatorDiag([1.0]), L.LinearOperatorIdentity(1)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="at most 0 indices"):
            operator[0]


@pytest.mark.parametrize(
    "slices", [0, ..., slice(1, 3), (..., 1), (..., None), (None, 0), (0, ..., 1)], ids=str
)
def test_stacks_of_unknown_rank(slices: Any) -> None:
    value = np.random.default_rng(5).normal(size=(3, 2, 4, 4)).astype(np.float32)
    kinds = (
        (L.LinearOperatorFullMatrix, value),
        (L.LinearOperatorDiag, value[..., 0]),
        (lambda x: L.LinearOperatorFullMatrix(x).adjoint(), value),
        (lambda x: L.LinearOperatorIdentity(2, tf.shape(x)), value[..., 0, 0]),
    )
    for make, given in kinds:
        function = tf.function(
            lambda x, make=make: make(x)[slices].to_dense(),
            input_signature=[tf.TensorSpec(None)],
        )
        np.testing.assert_array_equal(function(given), make(given)[slices].to_dense())


def test_stacks_of_unknown_rank_and_several_parameters_are_refused() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def first(x: Any) -> Any:
        operator = L.LinearOperatorFullMatrix(x)
        return operator.matmul(operator)[0].to_dense()

    with pytest.raises(ValueError, match="stack of known rank, got shape <unknown> of several"):
        first(np.ones((1, 1, 1), np.float32))


# ---- saved models


def test_saved_functions_of_operators(tmp_path: Any) -> None:
    full = L.LinearOperatorFullMatrix(np.eye(2), is_self_adjoint=True)
    diag = L.LinearOperatorDiag(np.array([1.0, 2.0]))
    operators = {
        "kronecker": L.LinearOperatorKronecker(
            [full, L.LinearOperatorIdentity(2, dtype=full.dtype)]
        ),
        "lower": L.LinearOperatorBlockLowerTriangular([[full], [full, diag]]),
        "update": L.LinearOperatorLowRankUpdate(diag, np.ones((2, 1))),
        "zeros": L.LinearOperatorZeros(2, batch_shape=[3]),
        "tridiag": L.LinearOperatorTridiag([np.ones(2)] * 3, diagonals_format="sequence"),
    }

    def trace_and_self(operator: Any) -> Any:
        return operator.trace(), operator

    module = tf.Module()
    for name, operator in operators.items():
        signature = [operator._type_spec]
        setattr(module, name, tf.function(trace_and_self, input_signature=signature))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one piece of code in several functions
        tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for name, operator in operators.items():
        trace, same = getattr(loaded, name)(operator)
        np.testing.assert_allclose(trace, operator.trace())
        assert type(same) is type(operator)
        assert same.is_self_adjoint == operator.is_self_adjoint


def test_every_public_class_has_a_name_in_files() -> None:
    kinds = [n for n in dir(L) if n.startswith("LinearOperator") and n != "LinearOperator"]
    assert len(kinds) == 20
    for name in kinds:
        found = type_spec.lookup(f"tf.linalg.{name}Spec")
        assert found.__name__ == f"{name}Spec"
        assert found is getattr(L, name)._Spec


def test_files_are_read_before_an_operator_was_made() -> None:
    program = (
        "import penstock.types.type_spec as t, sys; import penstock;"
        "assert not any('linear_operators' in m for m in sys.modules);"
        "print(t.lookup('tf.linalg.LinearOperatorDiagSpec').__name__)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "LinearOperatorDiagSpec"
