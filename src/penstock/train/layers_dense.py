"""`compat.v1.layers`: densely connected layers, dropout, and flattening."""

from typing import Any

from penstock.core.context import state
from penstock.ops.array_basics import identity, reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import concat
from penstock.ops.array_order import transpose
from penstock.ops.array_shape import expand_dims, rank
from penstock.ops.initializers_v1 import Zeros
from penstock.ops.math_arithmetic import maximum, minimum
from penstock.ops.math_einsum import tensordot
from penstock.ops.math_matmul import matmul
from penstock.ops.math_range import range as range_of
from penstock.ops.nn_bias import bias_add
from penstock.ops.nn_dropout import dropout_v1
from penstock.ops.smart_cond import smart_cond
from penstock.train.layer import Layer
from penstock.train.layer_functions import activation as activation_of
from penstock.train.layer_functions import initializer as initializer_of
from penstock.train.layer_inputs import InputSpec, last_size
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


def check_floating(layer: Layer) -> None:
    """Refuses to build a layer of weights for inputs that are not floating.

    Args:
      layer: the layer.

    Raises:
      TypeError: its dtype is not floating or complex.
    """
    kind = layer.dtype or dt.float32
    if not (kind.is_floating or kind.is_complex):
        raise TypeError(
            f"A {type(layer).__name__} layer can only be built with a floating-point dtype. "
            f"Received: dtype={kind}"
        )


class Dense(Layer):
    """`activation(inputs @ kernel + bias)` over the last axis.

    Args:
      units: the size of the outputs.
      activation: a function or its name.
      use_bias: whether there is a bias.
      kernel_initializer: of the kernel; that of the variable scope by default.
      bias_initializer: of the bias.
      kernel_regularizer: a function of the kernel whose value is a loss.
      bias_regularizer: likewise of the bias.
      activity_regularizer: likewise of the outputs.
      kernel_constraint: a function that optimizers project the kernel with.
      bias_constraint: likewise the bias.
      trainable: whether optimizers update the variables.
      name: the name of the variable scope.

    Raises:
      ValueError: `units` is negative.
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008  # it holds nothing
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        self.units = int(units)
        if self.units < 0:
            raise ValueError(
                "Received an invalid value for `units`, expected a non-negative integer. "
                f"Received: units={units}"
            )
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.bias_initializer = initializer_of(bias_initializer)
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        check_floating(self)
        depth = last_size(input_shape, "The last dimension of the inputs to a Dense layer")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: depth})
        self.kernel = self.add_weight(
            "kernel",
            [depth, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias: Any = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The outputs [..., units] for inputs [..., depth]."""
        rank = inputs.shape.rank
        if rank == 2:
            outputs = matmul(inputs, self.kernel)
        else:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            if state.graph is not None:
                outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs for a shape of inputs."""
        return TensorShape([*TensorShape(input_shape).as_list()[:-1], self.units])


class Dropout(Layer):
    """Sets inputs to 0 at random in training, and scales the others so that the sum stays.

    Args:
      rate: the part that is set to 0.
      noise_shape: the shape of the choices, as for `tf.nn.dropout`.
      seed: makes the choices repeat.
      name: the name of the operations.
    """

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        if isinstance(rate, int | float) and not 0 <= rate <= 1:
            raise ValueError(
                f"Invalid value {rate} received for `rate`, expected a value between 0 and 1."
            )
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def _noise_shape(self, inputs: Any) -> Any:
        """The shape of the choices, None in it replaced by the size of the inputs."""
        if self.noise_shape is None or None not in tuple(self.noise_shape):
            return self.noise_shape
        sizes = shape_of(inputs)
        return [sizes[axis] if n is None else n for axis, n in enumerate(self.noise_shape)]

    def call(self, inputs: Any, training: Any = False) -> Any:
        """The inputs, or in training what is left of them.

        Args:
          inputs: floating tensor.
          training: Python bool, or bool[]; None counts as False.
        """

        def dropped() -> Any:
            noise_shape = self._noise_shape(inputs)
            kept = dropout_v1(inputs, noise_shape=noise_shape, seed=self.seed, rate=self.rate)
            return identity(inputs) if kept is inputs else kept

        training = False if training is None else training
        return smart_cond(training, dropped, lambda: identity(inputs))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs for a shape of inputs."""
        return TensorShape(input_shape)


class Flatten(Layer):
    """All axes but the first as one.

    Args:
      data_format: "channels_last" or "channels_first"; the channels come last in the result.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = checked_layout(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        """The inputs [batch, ...] as [batch, size]."""
        axes = inputs.shape.rank
        if self.data_format == "channels_first" and axes is not None and axes > 1:
            inputs = transpose(inputs, [0, *range(2, axes), 1])
        if axes == 1:
            return expand_dims(inputs, 1)
        if axes is None:
            return self._of_unknown_rank(inputs)
        sizes = inputs.shape.as_list()
        size = TensorShape(sizes[1:]).num_elements()
        if size is not None:
            known = sizes[0] if sizes[0] is not None else -1
            return reshape(inputs, [known, size] if size else [shape_of(inputs)[0], size])
        return reshape(inputs, [shape_of(inputs)[0], -1])

    def _of_unknown_rank(self, inputs: Any) -> Any:
        if self.data_format == "channels_first":
            count = rank(inputs)
            places = [[0], range_of(2, maximum(count, 2)), range_of(1, minimum(count, 2))]
            inputs = transpose(inputs, concat(places, 0))
        return reshape(inputs, [shape_of(inputs)[0], -1])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs for a shape of inputs."""
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], TensorShape(sizes[1:]).num_elements()])


def checked_layout(data_format: str | None) -> str:
    """The layout in lower case; channels last by default.

    Args:
      data_format: a layout or None.

    Raises:
      ValueError: there is no such layout.
    """
    layout = "channels_last" if data_format is None else data_format.lower()
    if layout not in ("channels_first", "channels_last"):
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". '
            f"Received: {data_format}"
        )
    return layout


__all__ = ["Dense", "Dropout", "Flatten", "check_floating", "checked_layout"]
