"""`compat.v1.layers`: pooling over one, two or three axes."""

from collections.abc import Callable
from typing import Any

from penstock.ops.array_shape import expand_dims, squeeze
from penstock.ops.nn_pool_ops import avg_pool2d, avg_pool3d, max_pool2d, max_pool3d
from penstock.train.layer import Layer
from penstock.train.layer_inputs import InputSpec, as_tuple
from penstock.train.layers_convolution import checked_padding, layout_name
from penstock.train.layers_dense import checked_layout


class _Pooling(Layer):
    """A window moves over the spatial axes and gives one number at each place."""

    _rank = 0
    _name_in_graphs: str | None = None  # of the operation
    _run: Callable[..., Any]

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = as_tuple(pool_size, self._rank, "pool_size")
        if strides is None:
            raise ValueError(
                "Argument `strides` must not be None: expected one number, or one for each axis."
                f" Pass strides={pool_size} for windows side by side."
            )
        self.strides = as_tuple(strides, self._rank, "strides")
        self.padding = checked_padding(padding)
        self.data_format = checked_layout(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs: Any) -> Any:
        """The outputs, in the layout of the inputs."""
        sizes, strides, padding = list(self.pool_size), list(self.strides), self.padding.upper()
        if self._rank > 1:
            layout = layout_name(self._rank, self.data_format)
            return type(self)._run(inputs, sizes, strides, padding, layout, self._name_in_graphs)
        layout = layout_name(2, self.data_format)
        added = 3 if self.data_format == "channels_first" else 2
        wide = expand_dims(inputs, added)
        outputs = type(self)._run(
            wide, [*sizes, 1], [*strides, 1], padding, layout, self._name_in_graphs
        )
        return squeeze(outputs, [added])


class MaxPooling1D(_Pooling):
    """The largest element of each window over one axis.

    Args:
      pool_size: the size of the window.
      strides: how far it moves.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      name: the name of the operations.
    """

    _rank, _run, _name_in_graphs = 1, staticmethod(max_pool2d), "MaxPool"


class MaxPooling2D(_Pooling):
    """The largest element of each window over two axes; arguments as for `MaxPooling1D`."""

    _rank, _run, _name_in_graphs = 2, staticmethod(max_pool2d), "MaxPool"


class MaxPooling3D(_Pooling):
    """The largest element of each window over three axes; arguments as for `MaxPooling1D`."""

    _rank, _run = 3, staticmethod(max_pool3d)


class AveragePooling1D(_Pooling):
    """The mean of each window over one axis; arguments as for `MaxPooling1D`."""

    _rank, _run, _name_in_graphs = 1, staticmethod(avg_pool2d), "AvgPool"


class AveragePooling2D(_Pooling):
    """The mean of each window over two axes; arguments as for `MaxPooling1D`."""

    _rank, _run, _name_in_graphs = 2, staticmethod(avg_pool2d), "AvgPool"


class AveragePooling3D(_Pooling):
    """The mean of each window over three axes; arguments as for `MaxPooling1D`."""

    _rank, _run = 3, staticmethod(avg_pool3d)
