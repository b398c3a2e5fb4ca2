"""Public names of compat.v1: layers, cells and loops of recurrent networks, proximal optimizers."""

_CELLS = "BasicLSTMCell BasicRNNCell GRUCell LSTMCell MultiRNNCell".split()
_WRAPPERS = "DeviceWrapper DropoutWrapper ResidualWrapper".split()
_STATIC = (
    "bidirectional_dynamic_rnn static_bidirectional_rnn static_rnn static_state_saving_rnn"
).split()

_CONVOLUTIONS = (
    "Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose SeparableConv1D SeparableConv2D"
).split()
_POOLINGS = [f"{kind}Pooling{n}D" for kind in ("Average", "Max") for n in (1, 2, 3)]
_FUNCTIONS = (
    "average_pooling1d average_pooling2d average_pooling3d batch_normalization conv1d conv2d"
    " conv2d_transpose conv3d conv3d_transpose dense dropout flatten max_pooling1d max_pooling2d"
    " max_pooling3d separable_conv1d separable_conv2d"
).split()


def _named(prefix: str, names: list[str]) -> dict[str, list[str]]:
    return {name: [f"compat.v1.{prefix}.{name}"] for name in names}


EXPORTS = {
    "penstock.train.optimizers_proximal": _named(
        "train",
        ["AdagradDAOptimizer", "ProximalAdagradOptimizer", "ProximalGradientDescentOptimizer"],
    ),
    "penstock.train.layer": _named("layers", ["Layer"]),
    "penstock.train.layer_inputs": _named("layers", ["InputSpec"]),
    "penstock.train.layer_style": _named(
        "layers.experimental", ["keras_style_scope", "set_keras_style"]
    ),
    "penstock.train.layers_convolution": _named("layers", _CONVOLUTIONS),
    "penstock.train.layers_dense": _named("layers", ["Dense", "Dropout", "Flatten"]),
    "penstock.train.layers_functional": _named("layers", _FUNCTIONS),
    "penstock.train.layers_normalization": _named("layers", ["BatchNormalization"]),
    "penstock.train.layers_pooling": _named("layers", _POOLINGS),
    "penstock.train.rnn_cell_base": _named("nn.rnn_cell", ["LSTMStateTuple", "RNNCell"]),
    "penstock.train.rnn_cells": _named("nn.rnn_cell", _CELLS),
    "penstock.train.rnn_wrappers": _named("nn.rnn_cell", _WRAPPERS),
    "penstock.train.rnn_steps": _named("nn", ["dynamic_rnn", "raw_rnn"]),
    "penstock.train.rnn_static": _named("nn", _STATIC),
}
