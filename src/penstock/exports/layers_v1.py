"""Public names of compat.v1: layers, cells of recurrent networks, and the loops over them."""

_CELLS = "BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple MultiRNNCell RNNCell".split()
_WRAPPERS = "DeviceWrapper DropoutWrapper ResidualWrapper".split()
_STATIC = (
    "bidirectional_dynamic_rnn static_bidirectional_rnn static_rnn static_state_saving_rnn"
).split()


def _named(prefix: str, names: list[str]) -> dict[str, list[str]]:
    return {name: [f"compat.v1.{prefix}.{name}"] for name in names}


EXPORTS = {
    "penstock.train.layer": _named("layers", ["InputSpec", "Layer"]),
    "penstock.train.rnn_cells": _named("nn.rnn_cell", _CELLS),
    "penstock.train.rnn_wrappers": _named("nn.rnn_cell", _WRAPPERS),
    "penstock.train.rnn_steps": _named("nn", ["dynamic_rnn", "raw_rnn"]),
    "penstock.train.rnn_static": _named("nn", _STATIC),
}
