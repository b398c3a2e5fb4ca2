"""Names of what compositions of operations give in a graph, as programs ask for them."""

from typing import Any

import pytest

import penstock as tf

v1 = tf.compat.v1
NAMES = {
    "matrix_transpose/transpose": tf.linalg.matrix_transpose,
    "adjoint/matrix_transpose/transpose": tf.linalg.adjoint,
    "pinv/MatMul": tf.linalg.pinv,
    "logdet/mul": tf.linalg.logdet,
    "cholesky_solve/MatrixTriangularSolve_1": lambda x: tf.linalg.cholesky_solve(x, x),
    "triangular_solve/MatrixTriangularSolve": lambda x: tf.linalg.triangular_solve(x, x),
    "matrix_solve_ls/cholesky_solve/MatrixTriangularSolve_1": lambda x: tf.linalg.lstsq(x, x),
    "normalize/truediv": lambda x: tf.linalg.normalize(x)[0],
    "lbeta/sub": tf.math.lbeta,
    "MatMul": lambda x: tf.matmul(x[None], x[None]),
    "ReduceJoin/ReduceJoin": lambda x: tf.strings.reduce_join(["a", "b"]),
    "convolution": lambda x: tf.nn.convolution(x[None, ..., None], tf.ones([1, 1, 1, 1])),
    "per_image_standardization": lambda x: tf.image.per_image_standardization(x[..., None]),
    "grayscale_to_rgb": lambda x: tf.image.grayscale_to_rgb(x[..., None]),
    "linear_to_mel_weight_matrix": lambda x: tf.signal.linear_to_mel_weight_matrix(3, 5),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_result(name: str) -> None:
    with tf.Graph().as_default():
        found: Any = NAMES[name](v1.placeholder(tf.float32, [2, 2], "x"))
    assert found.name == f"{name}:0"


def test_a_name_that_is_given_is_the_scope() -> None:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2, 2], "x")
        assert tf.linalg.matrix_transpose(x, name="turned").name == "turned/transpose:0"
        assert tf.linalg.adjoint(x, "other").name == "other/matrix_transpose/transpose:0"
        assert tf.linalg.pinv(x, name="p").name == "p/MatMul:0"
