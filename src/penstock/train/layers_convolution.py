"""`compat.v1.layers`: convolutions, their transposes, and separable ones."""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import stack
from penstock.ops.array_pad import pad
from penstock.ops.array_shape import expand_dims, squeeze
from penstock.ops.initializers_v1 import Zeros
from penstock.ops.nn_bias import bias_add
from penstock.ops.nn_conv_ops import convolution, separable_conv2d
from penstock.ops.nn_conv_transpose import conv2d_transpose, conv3d_transpose
from penstock.train.layer import Layer
from penstock.train.layer_functions import activation as activation_of
from penstock.train.layer_functions import initializer as initializer_of
from penstock.train.layer_inputs import InputSpec, as_tuple, last_size
from penstock.train.layers_dense import check_floating, checked_layout
from penstock.types.tensor_shape import TensorShape

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def layout_name(rank: int, data_format: str) -> str:
    """The layout as operations name it, such as "NHWC".

    Args:
      rank: the number of spatial axes.
      data_format: "channels_last" or "channels_first".
    """
    letters = _LETTERS[rank]
    return f"NC{letters}" if data_format == "channels_first" else f"N{letters}C"


def checked_padding(padding: Any, causal: bool = False) -> str:
    """The padding in lower case.

    Args:
      padding: "valid" or "same", "causal" where `causal` allows it.
      causal: whether it does.

    Raises:
      ValueError: it is none of these.
    """
    given = padding.lower() if isinstance(padding, str) else padding
    if given not in ("valid", "same", *(("causal",) if causal else ())):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", '
            f"only for `Conv1D). Received: {padding}"
        )
    return str(given)


class _Convolution(Layer):
    """What all convolutions have in common; `_rank` is the number of spatial axes."""

    _rank = 0
    _kernels: tuple[str, ...] = ("kernel",)

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
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
        self.groups = int(kwargs.pop("groups", 1))
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        rank = self._rank
        self.filters = int(filters)
        if self.filters <= 0:
            raise ValueError(
                "Invalid value for argument `filters`. Expected a strictly positive value. "
                f"Received filters={filters}."
            )
        if self.groups <= 0 or self.filters % self.groups:
            raise ValueError(
                "Expected `filters` to be a multiple of a positive number of `groups`. "
                f"Received: groups={self.groups}, filters={filters}"
            )
        self.kernel_size = as_tuple(kernel_size, rank, "kernel_size")
        self.strides = as_tuple(strides, rank, "strides")
        self.padding = checked_padding(padding, rank == 1)
        self.data_format = checked_layout(data_format)
        self.dilation_rate = as_tuple(dilation_rate, rank, "dilation_rate")
        self.activation, self.use_bias = activation_of(activation), use_bias
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.bias_initializer = initializer_of(bias_initializer)
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=rank + 2)
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
                f"strides={self.strides} and dilation_rate={self.dilation_rate}"
            )

    def get_config(self) -> dict[str, Any]:
        """The arguments that `from_config` makes an equal layer of, functions as they are."""
        return {**super().get_config(), "groups": self.groups}

    @property
    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    def _depth(self, input_shape: Any) -> int:
        """The number of channels, which the inputs must have from now on."""
        check_floating(self)
        axis = self._channel_axis
        depth = last_size(input_shape, "The channel dimension of the inputs", axis)
        place = axis if axis > 0 else input_shape.rank - 1
        self.input_spec = InputSpec(min_ndim=self._rank + 2, axes={place: depth})
        return depth

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        depth = self._depth(input_shape)
        if depth % self.groups:
            raise ValueError(
                "The number of input channels must be evenly divisible by the number of groups. "
                f"Received groups={self.groups}, but the input has {depth} channels."
            )
        shape = self._kernel_shape(depth // self.groups)
        self.kernel = self._make("kernel", shape)
        self._make_bias()
        self.built = True

    def _kernel_shape(self, depth: int) -> list[int]:
        return [*self.kernel_size, depth, self.filters]

    def _make(self, name: str, shape: list[int]) -> Any:
        kind = name.removesuffix("_kernel") if name != "kernel" else "kernel"
        return self.add_weight(
            name,
            shape,
            initializer=getattr(self, f"{kind}_initializer"),
            regularizer=getattr(self, f"{kind}_regularizer"),
            constraint=getattr(self, f"{kind}_constraint"),
        )

    def _make_bias(self) -> None:
        self.bias = self._make("bias", [self.filters]) if self.use_bias else None

    def _biased(self, outputs: Any) -> Any:
        layout = "NC.." if self.data_format == "channels_first" else "N..C"
        return bias_add(outputs, self.bias, data_format=layout)

    def _finished(self, outputs: Any) -> Any:
        outputs = outputs if self.bias is None else self._biased(outputs)
        return outputs if self.activation is None else self.activation(outputs)

    def call(self, inputs: Any) -> Any:
        """The outputs, in the layout of the inputs."""
        padding = self.padding.upper()
        if padding == "CAUSAL":
            inputs, padding = self._padded_before(inputs), "VALID"
        outputs = convolution(
            inputs,
            self.kernel,
            strides=list(self.strides),
            padding=padding,
            data_format=layout_name(self._rank, self.data_format),
            dilations=list(self.dilation_rate),
            name=type(self).__name__,
        )
        return self._finished(outputs)

    def _padded_before(self, inputs: Any) -> Any:
        """Zeros before the first step, so that no output sees later inputs."""
        before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        if self.data_format == "channels_first":
            return pad(inputs, [[0, 0], [0, 0], [before, 0]])
        return pad(inputs, [[0, 0], [before, 0], [0, 0]])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs for a shape of inputs."""
        sizes = TensorShape(input_shape).as_list()
        first = self.data_format == "channels_first"
        spatial = sizes[2:] if first else sizes[1:-1]
        new = [self._output_size(size, axis) for axis, size in enumerate(spatial)]
        return TensorShape(
            [sizes[0], self.filters, *new] if first else [sizes[0], *new, self.filters]
        )

    def _output_size(self, size: int | None, axis: int) -> int | None:
        if size is None:
            return None
        window = self.dilation_rate[axis] * (self.kernel_size[axis] - 1) + 1
        room = size if self.padding in ("same", "causal") else size - window + 1
        return -(-room // self.strides[axis])


class Conv1D(_Convolution):
    """A convolution over one axis.

    Args:
      filters: the number of output channels.
      kernel_size: the size of the window.
      strides: how far the window moves.
      padding: "valid", "same" or "causal".
      data_format: "channels_last" or "channels_first".
      dilation_rate: the distance of the elements in a window.
      activation: a function or its name.
      use_bias, kernel_initializer, ..., name: as for `Dense`.
    """

    _rank = 1


class Conv2D(_Convolution):
    """A convolution over two axes; arguments as for `Conv1D`, with sizes one or two numbers."""

    _rank = 2


class Conv3D(_Convolution):
    """A convolution over three axes; arguments as for `Conv1D`, with sizes one or three numbers."""

    _rank = 3


class _Transpose(_Convolution):
    """The transpose of a convolution: from the shape of its outputs to that of its inputs."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        given, rate = kwargs.pop("output_padding", None), kwargs.pop("dilation_rate", 1)
        super().__init__(
            filters, kernel_size, strides, padding, data_format, rate, activation, *args, **kwargs
        )
        self.output_padding = (
            None
            if given is None
            else as_tuple(given, self._rank, "output_padding", allow_zero=True)
        )
        for extra, stride in zip(self.output_padding or (), self.strides, strict=False):
            if extra >= stride:
                raise ValueError(
                    f"Strides must be greater than output padding. Received strides={self.strides},"
                    f" output_padding={self.output_padding}."
                )

    def get_config(self) -> dict[str, Any]:
        """The arguments that `from_config` makes an equal layer of, functions as they are."""
        return {**super().get_config(), "output_padding": self.output_padding}

    def _kernel_shape(self, depth: int) -> list[int]:
        return [*self.kernel_size, self.filters, depth]

    def call(self, inputs: Any) -> Any:
        """The outputs, in the layout of the inputs."""
        run = conv2d_transpose if self._rank == 2 else conv3d_transpose
        sizes = self.compute_output_shape(inputs.shape).as_list()
        return self._finished(
            run(
                inputs,
                self.kernel,
                self._wanted_shape(inputs, sizes),
                strides=list(self.strides),
                padding=self.padding.upper(),
                data_format=layout_name(self._rank, self.data_format),
                dilations=list(self.dilation_rate),
            )
        )

    def _wanted_shape(self, inputs: Any, sizes: list[int | None]) -> Any:
        """The shape of the outputs, computed where it is not known."""
        if None not in sizes:
            return sizes
        actual = shape_of(inputs)
        begin = 2 if self.data_format == "channels_first" else 1
        parts: list[Any] = [actual[0] if size is None else size for size in sizes]
        for axis in range(self._rank):
            if sizes[begin + axis] is None:
                parts[begin + axis] = self._grown(actual[begin + axis], axis)
        return stack([convert_to_tensor(part) for part in parts])

    def _grown(self, size: Any, axis: int) -> Any:
        """The size of an output axis for one of inputs."""
        stride = self.strides[axis]
        window = self.dilation_rate[axis] * (self.kernel_size[axis] - 1) + 1
        if self.output_padding is None:
            extra = 0 if self.padding == "same" else max(window - stride, 0)
            return size * stride + extra
        cut = window // 2 if self.padding == "same" else 0
        return (size - 1) * stride + window - 2 * cut + self.output_padding[axis]

    def _output_size(self, size: int | None, axis: int) -> int | None:
        return None if size is None else int(self._grown(size, axis))


class Conv2DTranspose(_Transpose):
    """The transpose of a convolution over two axes; arguments as for `Conv2D` without dilation."""

    _rank = 2


class Conv3DTranspose(_Transpose):
    """The transpose of a convolution over three axes; arguments as for `Conv2DTranspose`."""

    _rank = 3

    def get_config(self) -> dict[str, Any]:
        """The arguments that `from_config` makes an equal layer of, functions as they are."""
        found = super().get_config()
        found.pop("dilation_rate")
        return found


_OF_KERNEL = ("kernel_initializer", "kernel_regularizer", "kernel_constraint")


class _Separable(_Convolution):
    """A convolution of each channel by itself, then one that mixes the channels."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008  # it holds nothing
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        of_kernel = [kwargs.pop(name, None) for name in _OF_KERNEL]  # kept, without an effect
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
            use_bias, of_kernel[0], bias_initializer, of_kernel[1], bias_regularizer,
            activity_regularizer, of_kernel[2], bias_constraint, trainable, name, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializer_of(depthwise_initializer)
        self.pointwise_initializer = initializer_of(pointwise_initializer)
        self.depthwise_regularizer = depthwise_regularizer
        self.pointwise_regularizer = pointwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint

    def get_config(self) -> dict[str, Any]:
        """The arguments that `from_config` makes an equal layer of, functions as they are."""
        return {**super().get_config(), **{name: getattr(self, name) for name in _OF_KERNEL}}

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        depth = self._depth(input_shape)
        times = self.depth_multiplier
        ones = [1] * self._rank
        self.depthwise_kernel = self._make("depthwise_kernel", [*self.kernel_size, depth, times])
        shape = [*ones, depth * times, self.filters]
        self.pointwise_kernel = self._make("pointwise_kernel", shape)
        self._make_bias()
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The outputs, in the layout of the inputs."""
        first = self.data_format == "channels_first"
        strides, dilations = self.strides, self.dilation_rate
        depthwise: Any = self.depthwise_kernel
        pointwise: Any = self.pointwise_kernel
        padding, axis = self.padding.upper(), 2 if first else 1
        if self._rank == 1:
            if padding == "CAUSAL":
                inputs, padding = self._padded_before(inputs), "VALID"
            inputs = expand_dims(inputs, axis)
            depthwise, pointwise = expand_dims(depthwise, 0), expand_dims(pointwise, 0)
            strides, dilations = strides * 2, (1, *dilations)
        outputs = separable_conv2d(
            inputs,
            depthwise,
            pointwise,
            strides=[1, 1, *strides] if first else [1, *strides, 1],
            padding=padding,
            data_format=layout_name(2, self.data_format),
            dilations=list(dilations),
        )
        if self._rank == 1:  # biased before it is squeezed, so that names are TensorFlow's
            outputs = outputs if self.bias is None else self._biased(outputs)
            outputs = squeeze(outputs, [axis])
            return outputs if self.activation is None else self.activation(outputs)
        return self._finished(outputs)


class SeparableConv1D(_Separable):
    """A separable convolution over one axis.

    Args:
      filters, kernel_size, strides, padding, data_format, dilation_rate: as for `Conv1D`.
      depth_multiplier: how many channels the first part makes of each.
      activation: a function or its name.
      depthwise_initializer, pointwise_initializer, ...: for the kernels of the two parts.
    """

    _rank = 1


class SeparableConv2D(_Separable):
    """A separable convolution over two axes; arguments as for `SeparableConv1D`."""

    _rank = 2


__all__ = [
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "SeparableConv1D",
    "SeparableConv2D",
]
