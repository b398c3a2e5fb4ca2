# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.ops.array_diag import band_part as band_part
from penstock.ops.math_matmul import cross as cross
from penstock.ops.array_diag import diag as diag
from penstock.ops.array_diag import diag_part as diag_part
from penstock.ops.math_einsum import einsum as einsum
from penstock.ops.array_fill import eye as eye
from penstock.ops.math_norms import global_norm as global_norm
from penstock.ops.nn_moments import l2_normalize as l2_normalize
from penstock.ops.math_matmul import matmul as matmul
from penstock.ops.array_order import matrix_transpose as matrix_transpose
from penstock.ops.math_matmul import matvec as matvec
from penstock.ops.math_norms import norm as norm
from penstock.ops.array_diag import set_diag as set_diag
from penstock.ops.array_diag import tensor_diag as tensor_diag
from penstock.ops.array_diag import tensor_diag_part as tensor_diag_part
from penstock.ops.math_einsum import tensordot as tensordot
from penstock.ops.array_diag import trace as trace
