"""Public names of linear algebra."""


def _with_older(new: str, *old: str) -> list[str]:
    return [f"linalg.{new}", *(f"compat.v1.{name}" for name in old)]


_OPERATORS = "penstock.ops.linear_operators."
# The module of each class of linear operators; one of them imports all (see the package).
_LINEAR_OPERATORS = {
    "base": [""],
    "block_diag": ["BlockDiag"],
    "block_lower_triangular": ["BlockLowerTriangular"],
    "circulant": ["Circulant", "Circulant2D", "Circulant3D"],
    "composition": ["Composition"],
    "dense": ["FullMatrix", "LowerTriangular"],
    "derived": ["Adjoint", "Inversion"],
    "diagonal": ["Diag"],
    "householder": ["Householder"],
    "identity": ["Identity", "ScaledIdentity"],
    "kronecker": ["Kronecker"],
    "low_rank_update": ["LowRankUpdate"],
    "permutation": ["Permutation"],
    "toeplitz": ["Toeplitz"],
    "tridiag": ["Tridiag"],
    "zeros": ["Zeros"],
}

EXPORTS = {
    **{
        _OPERATORS + module: {
            f"LinearOperator{kind}": [f"linalg.LinearOperator{kind}"] for kind in kinds
        }
        for module, kinds in _LINEAR_OPERATORS.items()
    },
    _OPERATORS + "conjugate_gradient": {
        "conjugate_gradient": ["linalg.experimental.conjugate_gradient"]
    },
    "penstock.ops.linalg_banded": {"banded_triangular_solve": ["linalg.banded_triangular_solve"]},
    "penstock.ops.linalg_common": {"adjoint": _with_older("adjoint")},
    "penstock.ops.linalg_decompose": {
        "eig": ["linalg.eig"],
        "eigh": _with_older("eigh", "self_adjoint_eig"),
        "eigvals": ["linalg.eigvals"],
        "eigvalsh": _with_older("eigvalsh", "self_adjoint_eigvals"),
        "qr": _with_older("qr", "qr"),
        "svd": _with_older("svd", "svd"),
    },
    "penstock.ops.linalg_functions": {
        "expm": ["linalg.expm"],
        "logm": ["linalg.logm"],
        "lstsq": _with_older("lstsq", "matrix_solve_ls"),
        "lu_matrix_inverse": ["linalg.lu_matrix_inverse"],
        "lu_reconstruct": ["linalg.lu_reconstruct"],
        "lu_solve": ["linalg.lu_solve"],
        "matrix_rank": ["linalg.matrix_rank"],
        "pinv": ["linalg.pinv"],
        "sqrtm": _with_older("sqrtm", "matrix_square_root"),
    },
    "penstock.ops.linalg_solve": {
        "cholesky": _with_older("cholesky", "cholesky"),
        "cholesky_solve": _with_older("cholesky_solve", "cholesky_solve"),
        "det": _with_older("det", "matrix_determinant"),
        "inv": _with_older("inv", "matrix_inverse"),
        "logdet": ["linalg.logdet"],
        "lu": ["linalg.lu"],
        "slogdet": ["linalg.slogdet"],
        "solve": _with_older("solve", "matrix_solve"),
        "triangular_solve": _with_older("triangular_solve", "matrix_triangular_solve"),
    },
    "penstock.ops.linalg_tridiagonal": {
        name: [f"linalg.{name}"]
        for name in ("eigh_tridiagonal", "tridiagonal_matmul", "tridiagonal_solve")
    },
}
