"""Arithmetic: add, subtract, multiply, divide, and what follows from them element by element."""

import numpy as np
from typing import Any

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel, compiled_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef
from penstock.ops.factories import binary, binary_function, unary, unary_function

NUMBERS = "bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128"

ADD_V2 = binary("AddV2", NUMBERS, np.add, "add", "Returns x + y element by element.")
add_v2 = binary_function(ADD_V2, "add_v2", ADD_V2.doc)

SUB = binary("Sub", NUMBERS, np.subtract, "subtract", "Returns x - y element by element.")
subtract = binary_function(SUB, "subtract", SUB.doc)

MUL = binary("Mul", NUMBERS, np.multiply, "multiply", "Returns x * y element by element.")
multiply = binary_function(MUL, "multiply", MUL.doc)

NEG = unary("Neg", "bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128", np.negative, "negative",
            "Returns -x element by element.")
negative = unary_function(NEG, "negative", NEG.doc)

TANH = unary("Tanh", "bfloat16, half, float, double, complex64, complex128", np.tanh, "tanh", "Hyperbolic tangent, element by element.")
tanh = unary_function(TANH, "tanh", TANH.doc)


def reduce_to(op: Any, grad: Any, index: int) -> Any:
    """The gradient of a broadcast input: `grad` summed over the axes along which input `index` was repeated."""
    x, y = op.inputs[index], op.inputs[1 - index]
    if x.dims == y.dims and x.dims is not None and None not in x.dims:
        return grad
    rx, ry = execute("BroadcastGradientArgs", (execute("Shape", (x,)), execute("Shape", (y,))))
    return execute("Reshape", (execute("Sum", (grad, rx)), execute("Shape", (x,))))


@ADD_V2.gradient
def _add_gradient(op: Any, grad: Any) -> list[Any]:
    return [reduce_to(op, grad, 0), reduce_to(op, grad, 1)]


@SUB.gradient
def _sub_gradient(op: Any, grad: Any) -> list[Any]:
    return [reduce_to(op, grad, 0), reduce_to(op, negative(grad), 1)]


@MUL.gradient
def _mul_gradient(op: Any, grad: Any) -> list[Any]:
    x, y = op.inputs
    return [reduce_to(op, multiply(grad, conjugate(y)), 0), reduce_to(op, multiply(grad, conjugate(x)), 1)]


@NEG.gradient
def _neg_gradient(op: Any, grad: Any) -> Any:
    return negative(grad)


def conjugate(x: Any) -> Any:
    """The complex conjugate; real tensors as they are."""
    return execute("Conj", (x,)) if x.dtype.is_complex else x
