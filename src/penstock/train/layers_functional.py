"""`compat.v1.layers`: the functions, each of which makes a layer and calls it.

A function takes the inputs, then the arguments of its layer's class, and where they apply `reuse`
and `training`.
"""

import inspect
from collections.abc import Callable
from typing import Any

from penstock.train.layer import Layer, constructor_arguments
from penstock.train.layers_convolution import (
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    SeparableConv1D,
    SeparableConv2D,
)
from penstock.train.layers_dense import Dense, Dropout, Flatten
from penstock.train.layers_normalization import BatchNormalization
from penstock.train.layers_pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
)

_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _signature(layer: type[Layer], extra: dict[str, tuple[str, Any]]) -> inspect.Signature:
    """The class's arguments behind `inputs`, and each of `extra` behind the one it names."""
    names = [inspect.Parameter("inputs", _KEYWORD), *_arguments(layer)]
    for name, (before, default) in extra.items():
        place = [p.name for p in names].index(before) + 1
        names.insert(place, inspect.Parameter(name, _KEYWORD, default=default))
    return inspect.Signature(names)


def _arguments(layer: type[Layer]) -> list[inspect.Parameter]:
    found = constructor_arguments(layer)
    return [p for n, p in found.items() if not (_transposes(layer) and n == "dilation_rate")]


def _transposes(layer: type[Layer]) -> bool:
    return layer in (Conv2DTranspose, Conv3DTranspose)


def _function(name: str, layer: type[Layer], *extra: str) -> Callable[..., Any]:
    """The function of a layer's class."""
    before = {"reuse": ("name", None)}
    last = "gamma_constraint" if layer is BatchNormalization else "seed"
    before["training"] = (last, False)  # type: ignore[assignment]
    signature = _signature(layer, {e: before[e] for e in extra})

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs).arguments
        inputs = bound.pop("inputs")
        called = {"training": bound.pop("training")} if "training" in bound else {}
        if "reuse" in extra:
            bound["_reuse"], bound["_scope"] = bound.pop("reuse", None), bound.get("name")
        return layer(**bound)(inputs, **called)

    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__doc__ = (
        f"Calls a new layer `{layer.__name__}`; see the class for its arguments.\n\n"
        "Args:\n  inputs: a floating tensor.\n"
        "  training: whether it is training: Python bool, or bool[].\n"
        "  reuse: whether the variables of the scope `name` are shared.\n\n"
        "Returns:\n  The outputs of the layer."
    )
    return call


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """All axes but the first as one.

    Args:
      inputs: a tensor [batch, ...].
      name: the name of the operations.
      data_format: "channels_last" or "channels_first".

    Returns:
      The inputs as [batch, size].
    """
    return Flatten(data_format=data_format, name=name)(inputs)


dense = _function("dense", Dense, "reuse")
dropout = _function("dropout", Dropout, "training")
batch_normalization = _function("batch_normalization", BatchNormalization, "training", "reuse")
conv1d = _function("conv1d", Conv1D, "reuse")
conv2d = _function("conv2d", Conv2D, "reuse")
conv3d = _function("conv3d", Conv3D, "reuse")
conv2d_transpose = _function("conv2d_transpose", Conv2DTranspose, "reuse")
conv3d_transpose = _function("conv3d_transpose", Conv3DTranspose, "reuse")
separable_conv1d = _function("separable_conv1d", SeparableConv1D, "reuse")
separable_conv2d = _function("separable_conv2d", SeparableConv2D, "reuse")
average_pooling1d = _function("average_pooling1d", AveragePooling1D)
average_pooling2d = _function("average_pooling2d", AveragePooling2D)
average_pooling3d = _function("average_pooling3d", AveragePooling3D)
max_pooling1d = _function("max_pooling1d", MaxPooling1D)
max_pooling2d = _function("max_pooling2d", MaxPooling2D)
max_pooling3d = _function("max_pooling3d", MaxPooling3D)
