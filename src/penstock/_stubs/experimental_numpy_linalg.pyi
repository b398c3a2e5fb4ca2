# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.numpy_linalg import cholesky as cholesky
from penstock.ops.numpy_linalg import cross as cross
from penstock.ops.numpy_linalg import det as det
from penstock.ops.numpy_linalg import diagonal as diagonal
from penstock.ops.numpy_linalg import eigh as eigh
from penstock.ops.numpy_linalg import eigvalsh as eigvalsh
from penstock.ops.numpy_linalg import inv as inv
from penstock.ops.numpy_linalg import matmul as matmul
from penstock.ops.numpy_linalg import matrix_norm as matrix_norm
from penstock.ops.numpy_linalg import matrix_power as matrix_power
from penstock.ops.numpy_linalg import matrix_rank as matrix_rank
from penstock.ops.numpy_linalg import matrix_transpose as matrix_transpose
from penstock.ops.numpy_linalg import outer as outer
from penstock.ops.numpy_linalg import pinv as pinv
from penstock.ops.numpy_linalg import qr as qr
from penstock.ops.numpy_linalg import slogdet as slogdet
from penstock.ops.numpy_linalg import solve as solve
from penstock.ops.numpy_linalg import svd as svd
from penstock.ops.numpy_linalg import svdvals as svdvals
from penstock.ops.numpy_linalg import tensordot as tensordot
from penstock.ops.numpy_linalg import trace as trace
from penstock.ops.numpy_linalg import vecdot as vecdot
from penstock.ops.numpy_linalg import vector_norm as vector_norm
