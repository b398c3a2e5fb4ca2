"""Activations that work element by element, their gradient operations, and compositions of them.

An operation's gradient is an operation of its own (`ReluGrad`), as in TensorFlow, with a gradient
again.
"""

import numbers
from typing import Any

import numpy as np

from penstock.core import shapes
from penstock.core.choosing import between, maximum, where
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.native_passes import one_pass
from penstock.core.op_def import OpDef, define_op
from penstock.ops.composing import concat, like, number, scope, tensor
from penstock.ops.math_arithmetic import add_v2, multiply, negative
from penstock.types import dtypes

Array = Any
FLOATS = "{half, bfloat16, float, double}"
SELU_SCALE = 1.0507009873554804934193349852946
SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


def _define(name: str, types: str, doc: str, extra: str = "") -> OpDef:
    """Defines `Name(features: T) -> activations: T`."""
    text = f"{name}(features: T; {extra}T: {types}) -> activations: T"
    return define_op(text, shape=shapes.same, doc=doc)


def _define_gradient(name: str, types: str, second: str, extra: str = "") -> OpDef:
    """Defines `NameGrad(gradients: T, <second>: T) -> backprops: T`."""
    text = f"{name}Grad(gradients: T, {second}: T; {extra}T: {types}) -> backprops: T"
    return define_op(text, shape=shapes.merged, doc=f"The gradient of {name}.")


def _where(condition: Any, x: Any, y: Any) -> Any:
    return execute("SelectV2", (condition, x, y))


def _zero(x: Array) -> Any:
    return x.dtype.type(0)


RELU_TYPES = "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}"  # noqa: E501


RELU = _define("Relu", RELU_TYPES, "max(features, 0).")


@kernel(RELU)
def _relu(xp: Any, features: Array) -> Array:
    if xp is not np:
        return xp.maximum(features, _zero(features))
    found = one_pass("relu", features)
    return maximum(features, _zero(features)) if found is None else found


RELU_GRAD = _define_gradient("Relu", "realnumbertype", "features")


def _flat(features: Any) -> Any:
    """The gradient with respect to features that only choose between two slopes."""
    return execute("ZerosLike", (features,))


@kernel(RELU_GRAD)
def _relu_grad(xp: Any, gradients: Array, features: Array) -> Array:
    found = one_pass("relu_grad", gradients, features)
    if found is not None:
        return found
    return where(xp, features > _zero(features), gradients, _zero(gradients))


@RELU.gradient
def _relu_gradient(op: Any, grad: Any) -> Any:
    return execute(RELU_GRAD, (grad, op.outputs[0]))


@RELU_GRAD.gradient
def _relu_grad_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(RELU_GRAD, (grad, op.inputs[1])), _flat(op.inputs[1])]


RELU6 = _define("Relu6", "realnumbertype", "min(max(features, 0), 6).")


@kernel(RELU6)
def _relu6(xp: Any, features: Array) -> Array:
    return between(xp, features, _zero(features), features.dtype.type(6))


RELU6_GRAD = _define_gradient("Relu6", "realnumbertype", "features")


@kernel(RELU6_GRAD)
def _relu6_grad(xp: Any, gradients: Array, features: Array) -> Array:
    found = one_pass("relu6_grad", gradients, features)
    if found is not None:
        return found
    inside = (features > _zero(features)) & (features < features.dtype.type(6))
    return where(xp, inside, gradients, _zero(gradients))


@RELU6.gradient
def _relu6_gradient(op: Any, grad: Any) -> Any:
    return execute(RELU6_GRAD, (grad, op.outputs[0]))


@RELU6_GRAD.gradient
def _relu6_grad_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(RELU6_GRAD, (grad, op.inputs[1])), _flat(op.inputs[1])]


ELU = _define("Elu", FLOATS, "Features where positive, exp(features) - 1 elsewhere.")


@kernel(ELU)
def _elu(xp: Any, features: Array) -> Array:
    return where(xp, features < _zero(features), xp.expm1(features), features)


ELU_GRAD = _define_gradient("Elu", FLOATS, "outputs")


@kernel(ELU_GRAD)
def _elu_grad(xp: Any, gradients: Array, outputs: Array) -> Array:
    found = one_pass("elu_grad", gradients, outputs)
    if found is not None:
        return found
    steep = gradients * (outputs + outputs.dtype.type(1))
    return where(xp, outputs < _zero(outputs), steep, gradients)


@ELU.gradient
def _elu_gradient(op: Any, grad: Any) -> Any:
    return execute(ELU_GRAD, (grad, op.outputs[0]))


SELU = _define("Selu", FLOATS, "Elu scaled so that mean 0 and variance 1 stay as they are.")


@kernel(SELU)
def _selu(xp: Any, features: Array) -> Array:
    kind = features.dtype.type
    bent = kind(SELU_SCALE_ALPHA) * xp.expm1(features)
    return where(xp, features < _zero(features), bent, kind(SELU_SCALE) * features)


SELU_GRAD = _define_gradient("Selu", FLOATS, "outputs")


@kernel(SELU_GRAD)
def _selu_grad(xp: Any, gradients: Array, outputs: Array) -> Array:
    found = one_pass("selu_grad", gradients, outputs)
    if found is not None:
        return found
    kind = outputs.dtype.type
    bent = gradients * (outputs + kind(SELU_SCALE_ALPHA))
    return where(xp, outputs < _zero(outputs), bent, gradients * kind(SELU_SCALE))


@SELU.gradient
def _selu_gradient(op: Any, grad: Any) -> Any:
    return execute(SELU_GRAD, (grad, op.outputs[0]))


def _bent_grad_gradient(op: Any, grad: Any) -> list[Any]:
    gradients, outputs = op.inputs
    below = execute("Less", (outputs, number(0, outputs.dtype)))
    bent = _where(below, multiply(grad, gradients), number(0, outputs.dtype))
    return [execute(op.type, (grad, outputs)), bent]


ELU_GRAD.gradient(_bent_grad_gradient)
SELU_GRAD.gradient(_bent_grad_gradient)

ALPHA = "alpha: float = 0.2, "
LEAKY = "{half, bfloat16, float, double} = float"


LEAKY_RELU = _define(
    "LeakyRelu", LEAKY, "Features where positive, alpha * features elsewhere.", ALPHA
)


@kernel(LEAKY_RELU)
def _leaky_relu(xp: Any, features: Array, *, alpha: float) -> Array:
    found = one_pass("leaky_relu", features, number=alpha)
    if found is not None:
        return found
    return where(xp, features > _zero(features), features, features * features.dtype.type(alpha))


LEAKY_RELU_GRAD = _define_gradient("LeakyRelu", LEAKY, "features", ALPHA)


@kernel(LEAKY_RELU_GRAD)
def _leaky_relu_grad(xp: Any, gradients: Array, features: Array, *, alpha: float) -> Array:
    found = one_pass("leaky_relu_grad", gradients, features, number=alpha)
    if found is not None:
        return found
    slope = gradients * gradients.dtype.type(alpha)
    return where(xp, features > _zero(features), gradients, slope)


@LEAKY_RELU.gradient
def _leaky_relu_gradient(op: Any, grad: Any) -> Any:
    return execute(LEAKY_RELU_GRAD, (grad, op.inputs[0]), {"alpha": op.get_attr("alpha")})


@LEAKY_RELU_GRAD.gradient
def _leaky_relu_grad_gradient(op: Any, grad: Any) -> list[Any]:
    attrs = {"alpha": op.get_attr("alpha")}
    return [execute(LEAKY_RELU_GRAD, (grad, op.inputs[1]), attrs), _flat(op.inputs[1])]


SOFTPLUS = _define("Softplus", FLOATS, "log(exp(features) + 1).")


@kernel(SOFTPLUS)
def _softplus(xp: Any, features: Array) -> Array:
    zero = _zero(features)
    return xp.maximum(features, zero) + xp.log1p(xp.exp(-xp.abs(features)))


SOFTPLUS_GRAD = _define_gradient("Softplus", FLOATS, "features")


@kernel(SOFTPLUS_GRAD)
def _softplus_grad(xp: Any, gradients: Array, features: Array) -> Array:
    return gradients / (xp.exp(-features) + features.dtype.type(1))


@SOFTPLUS.gradient
def _softplus_gradient(op: Any, grad: Any) -> Any:
    return execute(SOFTPLUS_GRAD, (grad, op.inputs[0]))


@SOFTPLUS_GRAD.gradient
def _softplus_grad_gradient(op: Any, grad: Any) -> list[Any]:
    gradients, features = op.inputs
    rising = execute("Sigmoid", (features,))
    slope = multiply(rising, execute("Sigmoid", (negative(features),)))
    first = execute(SOFTPLUS_GRAD, (grad, features))
    return [first, multiply(multiply(grad, gradients), slope)]


SOFTSIGN = _define("Softsign", FLOATS, "Features / (abs(features) + 1).")


@kernel(SOFTSIGN)
def _softsign(xp: Any, features: Array) -> Array:
    return features / (xp.abs(features) + features.dtype.type(1))


SOFTSIGN_GRAD = _define_gradient("Softsign", FLOATS, "features")


@kernel(SOFTSIGN_GRAD)
def _softsign_grad(xp: Any, gradients: Array, features: Array) -> Array:
    below = xp.abs(features) + features.dtype.type(1)
    return gradients / (below * below)


@SOFTSIGN.gradient
def _softsign_gradient(op: Any, grad: Any) -> Any:
    return execute(SOFTSIGN_GRAD, (grad, op.inputs[0]))


@SOFTSIGN_GRAD.gradient
def _softsign_grad_gradient(op: Any, grad: Any) -> list[Any]:
    gradients, x = op.inputs
    below = add_v2(execute("Abs", (x,)), number(1, x.dtype))
    factor = multiply(execute("Sign", (x,)), number(-2, x.dtype))
    slope = execute("RealDiv", (factor, below))
    first = execute(SOFTSIGN_GRAD, (grad, x))
    return [first, multiply(multiply(first, gradients), slope)]


def relu(features: Any, name: str | None = None) -> Any:
    """max(features, 0).

    Args:
      features: any real dtype and shape.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.
    """
    return execute(RELU, (features,), None, name)


def relu6(features: Any, name: str | None = None) -> Any:
    """min(max(features, 0), 6).

    Args:
      features: any real dtype and shape.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.

    Source:
      Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10 (2010).
    """
    with scope(name, "Relu6") as full:
        return execute(RELU6, (features,), None, full)


def elu(features: Any, name: str | None = None) -> Any:
    """Gives features where positive, exp(features) - 1 elsewhere.

    Args:
      features: floating dtype, any shape.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.

    Source:
      Clevert et al., Fast and Accurate Deep Network Learning by Exponential Linear Units (2015).
    """
    return execute(ELU, (features,), None, name)


def selu(features: Any, name: str | None = None) -> Any:
    """Elu, scaled so that mean 0 and variance 1 stay as they are.

    Args:
      features: floating dtype, any shape.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.

    Source:
      Klambauer et al., Self-Normalizing Neural Networks (2017).
    """
    return execute(SELU, (features,), None, name)


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Any:
    """Gives features where positive, alpha * features elsewhere.

    Args:
      features: floating dtype, any shape; integers become float32.
      alpha: the slope of the negative part: a number or a scalar tensor.
      name: the name in a graph.

    Returns:
      A tensor of the same shape.
    """
    with scope(name, "LeakyRelu") as full:
        features = tensor(features, name="features")
        if features.dtype.is_integer:
            features = execute("Cast", (features,), {"DstT": dtypes.float32})
        if isinstance(alpha, (int, float, np.number, np.ndarray)):
            return execute(LEAKY_RELU, (features,), {"alpha": float(alpha)}, full)
        sloped = multiply(like(alpha, features), features)
        return execute("Maximum", (sloped, features), None, full)


def softplus(features: Any, name: str | None = None) -> Any:
    """log(exp(features) + 1).

    Args:
      features: floating dtype, any shape.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.
    """
    return execute(SOFTPLUS, (features,), None, name)


def log_sigmoid(x: Any, name: str | None = None) -> Any:
    """log(1 / (1 + exp(-x))), exact for large negative `x`.

    Args:
      x: floating dtype, any shape.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.
    """
    with scope(name, "LogSigmoid") as full:
        return execute("Neg", (softplus(negative(tensor(x, name="x"))),), None, full)


def softsign(features: Any, name: str | None = None) -> Any:
    """Gives features / (abs(features) + 1).

    Args:
      features: floating dtype, any shape.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.
    """
    return execute(SOFTSIGN, (features,), None, name)


def crelu(features: Any, axis: int = -1, name: str | None = None) -> Any:
    """The positive part, and beside it the negative part, of `features`: twice as many channels.

    Args:
      features: floating dtype, rank at least 1.
      axis: where the parts are put side by side.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype.

    Source:
      Shang et al., Understanding and Improving CNNs via Concatenated Rectified Linear Units (2016).
    """
    with scope(name, "CRelu"):
        features = tensor(features, name="features")
        return relu(concat([features, negative(features)], axis))


def crelu_v1(features: Any, name: str | None = None, axis: int = -1) -> Any:
    """`crelu` with the order of arguments of compat.v1."""
    return crelu(features, axis, name)


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Any:
    """Gives features * P(X <= features) for a standard normal X.

    Args:
      features: floating dtype, any shape.
      approximate: whether to approximate the normal distribution's integral by a tanh.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype and shape.

    Raises:
      ValueError: the dtype is not floating.

    Source:
      Hendrycks and Gimpel, Gaussian Error Linear Units (2016).
    """
    with scope(name, "Gelu"):
        x = tensor(features, name="features")
        kind = x.dtype
        if not kind.is_floating:
            raise ValueError(
                "`features.dtype` must be a floating point tensor."
                f"Received:features.dtype={kind!r}. Cast it to float32."
            )
        half = multiply(number(0.5, kind), x)
        if approximate:
            cube = multiply(x, multiply(x, x, name="square"), name="cube")
            inner = add_v2(x, multiply(number(0.044715, kind), cube))
            bent = execute("Tanh", (multiply(number(0.7978845608028654, kind), inner),))
        else:
            bent = execute("Erf", (multiply(x, number(0.7071067811865476, kind)),))
        return multiply(half, add_v2(number(1, kind), bent), name=f"mul_{3 if approximate else 2}")


def silu(features: Any, beta: Any = 1.0) -> Any:
    """Gives features * sigmoid(beta * features), also called swish.

    Args:
      features: floating dtype, any shape.
      beta: a number or scalar tensor.

    Returns:
      A tensor of the same dtype and shape.

    Source:
      Elfwing et al. (2017); Ramachandran et al., Searching for Activation Functions (2017).
    """
    with scope(None, "swish"):
        features = tensor(features, name="features")
        inner = features
        if not isinstance(beta, numbers.Real) or float(beta) != 1:
            inner = multiply(like(beta, features), features)
        return multiply(features, execute("Sigmoid", (inner,)))
