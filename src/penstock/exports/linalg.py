"""Public names of linear algebra."""


def _with_older(new: str, *old: str) -> list[str]:
    return [f"linalg.{new}", *(f"compat.v1.{name}" for name in old)]


EXPORTS = {
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
