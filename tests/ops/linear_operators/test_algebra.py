"""Which class products, solutions, adjoints and inverses have, with their names, hints and numbers.

The classes are those that TensorFlow 2.21 gives.
"""

from typing import Any

import numpy as np
import pytest
from tests.ops.linear_operators.cases import SQUARE, numbers

import penstock as tf

L = tf.linalg
HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
DEFINITE = {"is_non_singular": True, "is_self_adjoint": True, "is_positive_definite": True}
KINDS = ("full", "diag", "triangular", "identity", "scaled", "householder", "permutation")
KINDS += ("circulant", "toeplitz", "tridiag", "low_rank", "composition", "adjoint", "inversion")


def short(operator: Any) -> str:
    return type(operator).__name__.removeprefix("LinearOperator")


def hints(operator: Any) -> str:
    return "".join({True: "T", False: "F", None: "?"}[getattr(operator, h)] for h in HINTS)


def make(kind: str) -> tuple[Any, Any]:
    if kind == "zeros":
        return L.LinearOperatorZeros(4, dtype=tf.float64), np.zeros((4, 4))
    case = SQUARE[kind](np.random.default_rng(11), "float64", ())
    return case.operator, case.dense


# left, right -> the class of the product; a composition where nothing is said
PRODUCTS = {
    ("diag", "diag"): "Diag",
    ("diag", "scaled"): "Diag",
    ("scaled", "diag"): "Diag",
    ("scaled", "scaled"): "ScaledIdentity",
    ("diag", "triangular"): "LowerTriangular",
    ("triangular", "diag"): "LowerTriangular",
    ("circulant", "circulant"): "Circulant",
}
SOLUTIONS = {pair: kind for pair, kind in PRODUCTS.items() if pair != ("triangular", "diag")}


@pytest.mark.parametrize("left", [*KINDS, "zeros"])
@pytest.mark.parametrize("right", [*KINDS, "zeros"])
def test_products_of_pairs(left: str, right: str) -> None:
    (a, a_dense), (b, b_dense) = make(left), make(right)
    for turn_a in (False, True):
        for turn_b in (False, True):
            product = a.matmul(b, adjoint=turn_a, adjoint_arg=turn_b)
            one, two = a_dense.T if turn_a else a_dense, b_dense.T if turn_b else b_dense
            np.testing.assert_allclose(product.to_dense(), one @ two, atol=1e-9)
    product = a @ b
    if "zeros" in (left, right):
        assert short(product) == "Zeros"
    elif "identity" in (left, right):
        assert product is (b if left == "identity" else a)
    else:
        assert short(product) == PRODUCTS.get((left, right), "Composition")


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", [*KINDS, "zeros"])
def test_solutions_of_pairs(left: str, right: str) -> None:
    (a, a_dense), (b, b_dense) = make(left), make(right)
    solution = a.solve(b)
    np.testing.assert_allclose(solution.to_dense(), np.linalg.solve(a_dense, b_dense), atol=1e-9)
    turned = a.solve(b, adjoint=True, adjoint_arg=True).to_dense()
    np.testing.assert_allclose(turned, np.linalg.solve(a_dense.T, b_dense.T), atol=1e-9)
    if "identity" in (left, right):
        assert short(solution) == short(b if left == "identity" else a.inverse())
    elif left == "inversion":
        assert short(solution) == short(a.operator @ b)
    else:
        assert short(solution) == SOLUTIONS.get((left, right), "Composition")


@pytest.mark.parametrize("depth", ["circulant2d", "circulant3d"])
def test_circulant_operators_of_one_depth_stay_circulant(depth: str) -> None:
    a, dense = make(depth)
    assert short(a @ a) == short(a.solve(a)) == f"Circulant{depth[-2].upper()}D"
    np.testing.assert_allclose((a @ a).to_dense(), dense @ dense, atol=1e-9)
    small = L.LinearOperatorCirculant(np.ones(a.shape[-1]) + 1j, input_output_dtype=tf.float64)
    assert short(a @ small) == "Composition"


def test_blocks_meet_blocks_of_the_same_sizes() -> None:
    def blocks(*sizes: int) -> Any:
        rng = np.random.default_rng(sum(sizes))
        parts = [numbers(rng, "float64", n, n) + 3 * np.eye(n) for n in sizes]
        return L.LinearOperatorBlockDiag([L.LinearOperatorFullMatrix(p) for p in parts])

    one, two, other = blocks(2, 3), blocks(2, 3), blocks(3, 2)
    for made, kind in ((one @ two, "BlockDiag"), (one @ other, "Composition")):
        assert short(made) == kind
    np.testing.assert_allclose(
        (one @ other).to_dense(), one.to_dense().numpy() @ other.to_dense().numpy(), atol=1e-9
    )
    solution = one.solve(two)
    assert short(solution) == "BlockDiag"
    wanted = np.linalg.solve(one.to_dense(), two.to_dense())
    np.testing.assert_allclose(solution.to_dense(), wanted, atol=1e-9)


OTHERS = {  # kind -> the classes of adjoint and inverse, without hints
    "full": ("Adjoint", "Inversion"),
    "diag": ("Diag", "Diag"),
    "triangular": ("Adjoint", "Inversion"),
    "identity": ("Identity", "Identity"),
    "scaled": ("ScaledIdentity", "ScaledIdentity"),
    "householder": ("Householder", "Householder"),
    "permutation": ("Adjoint", "Inversion"),
    "circulant": ("Circulant", "Circulant"),
    "circulant2d": ("Circulant2D", "Circulant2D"),
    "circulant3d": ("Circulant3D", "Circulant3D"),
    "toeplitz": ("Adjoint", "Inversion"),
    "tridiag": ("Adjoint", "Inversion"),
    "kronecker": ("Kronecker", "Kronecker"),
    "block_diag": ("BlockDiag", "BlockDiag"),
    "block_triangular": ("Adjoint", "BlockLowerTriangular"),
    "low_rank": ("Adjoint", "Inversion"),
    "low_rank_definite": ("LowRankUpdate", "Inversion"),
    "composition": ("Adjoint", "Inversion"),
    "adjoint": ("FullMatrix", "Inversion"),
    "inversion": ("Adjoint", "FullMatrix"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_adjoints_and_inverses(kind: str) -> None:
    operator, dense = make(kind)
    turned, inverse = operator.adjoint(), operator.inverse()
    assert (short(turned), short(inverse)) == OTHERS[kind]
    assert short(operator.H) == short(turned)
    np.testing.assert_allclose(turned.to_dense(), dense.T, atol=1e-9)
    np.testing.assert_allclose(inverse.to_dense(), np.linalg.inv(dense), atol=1e-9)
    np.testing.assert_allclose(turned.inverse().to_dense(), np.linalg.inv(dense.T), atol=1e-9)
    np.testing.assert_allclose(inverse.H.to_dense(), np.linalg.inv(dense.T), atol=1e-9)


def definite_operators() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    value = numbers(rng, "float64", 3, 3)
    full = L.LinearOperatorFullMatrix(value @ value.T + np.eye(3), **DEFINITE)
    diag = L.LinearOperatorDiag([1.0, 2.0, 4.0], **DEFINITE)
    wide = L.LinearOperatorDiag(np.array([1.0, 2.0, 4.0]), **DEFINITE)
    toeplitz = L.LinearOperatorToeplitz([3.0, 1.0, 0.5], [3.0, 1.0, 0.5], **DEFINITE)
    return {
        "LowerTriangular": full,
        "Diag": diag,
        "Identity": L.LinearOperatorIdentity(3),
        "ScaledIdentity": L.LinearOperatorScaledIdentity(3, 4.0, **DEFINITE),
        "BlockDiag": L.LinearOperatorBlockDiag([full, wide]),
        "Kronecker": L.LinearOperatorKronecker([full, wide]),
        "LowerTriangular of Toeplitz": toeplitz,
        "LowerTriangular of LowRankUpdate": L.LinearOperatorLowRankUpdate(
            diag, np.ones((3, 1), "f")
        ),
    }


@pytest.mark.parametrize("kind", definite_operators())
def test_cholesky_factors(kind: str) -> None:
    operator = definite_operators()[kind]
    factor = operator.cholesky()
    assert short(factor) == kind.split()[0]
    dense = operator.to_dense().numpy()
    np.testing.assert_allclose(factor.to_dense(), np.linalg.cholesky(dense), atol=1e-5)
    np.testing.assert_allclose((factor @ factor.H).to_dense(), dense, atol=1e-5)


def test_hints_of_what_is_derived() -> None:
    full = L.LinearOperatorFullMatrix(np.eye(2), **DEFINITE)
    plain = L.LinearOperatorFullMatrix(np.eye(2))
    singular = L.LinearOperatorFullMatrix(np.eye(2), is_non_singular=False)
    wide = L.LinearOperatorFullMatrix(np.ones((2, 3)))
    diag = L.LinearOperatorDiag(np.ones(2), **DEFINITE)
    turned = L.LinearOperatorDiag(np.ones(2) + 0j, is_self_adjoint=False)
    self_adjoint = L.LinearOperatorDiag(np.ones(2) + 0j, is_self_adjoint=True)
    wanted = {
        "TTTT": [full, full.H, full.inverse(), diag @ diag, diag.solve(diag), full @ full],
        "TF?T": [full.cholesky()],
        "???T": [plain, plain.H, plain.inverse(), plain @ full, plain @ plain],
        "T??T": [full @ diag, full.solve(diag)],
        "F??T": [singular, singular @ full, full @ singular, singular.H],
        "FFFF": [full @ wide, plain.solve(wide)],
        "???F": [wide, wide.H, L.LinearOperatorComposition([plain, wide])],
        "?T?T": [plain @ plain.H, plain.H @ plain, wide @ wide.H, self_adjoint @ self_adjoint],
        "?F?T": [turned @ self_adjoint],
        "TTTT of a pair": [L.LinearOperatorComposition([full, full])],
    }
    for text, operators in wanted.items():
        assert [hints(o) for o in operators] == [text[:4]] * len(operators)


def test_names() -> None:
    full, diag = L.LinearOperatorFullMatrix(np.eye(2)), L.LinearOperatorDiag(np.ones(2))
    first, second = full.name, diag.name
    assert (first, second) == ("LinearOperatorFullMatrix", "LinearOperatorDiag")
    assert (full @ diag).name == f"{first}_o_{second}"
    assert full.H.name == f"{first}_adjoint"
    assert full.inverse().name == f"{first}_inv"
    assert diag.inverse().name == second
    assert L.LinearOperatorKronecker([full, diag]).name == f"{first}_x_{second}"
    assert L.LinearOperatorBlockDiag([full, diag]).name == f"{first}_ds_{second}"
    assert L.LinearOperatorFullMatrix(np.eye(2), name="mine").H.name == "mine_adjoint"


def test_self_adjoint_operators_are_their_own_adjoints() -> None:
    for kind in ("definite", "householder", "diag", "low_rank_definite"):
        operator, _ = make(kind)
        assert operator.adjoint() is operator


def test_subclasses_name_the_scopes_of_their_methods():
    class Kept(tf.linalg.LinearOperatorFullMatrix):
        def doubled(self, name="doubled"):
            with self._name_scope(name):
                with pytest.raises(TypeError, match=r"Expected argument to have dtype tf\.float32"):
                    self._check_input_dtype(tf.constant(1))
                return tf.multiply(self.to_dense(), 2.0, name="twice")

    with tf.Graph().as_default():
        operator = Kept(tf.eye(2), name="kept")
        assert operator.doubled().op.name == "kept/doubled/twice"
        with operator._name_scope():
            assert tf.constant(1.0, name="one").op.name.endswith("/one")
