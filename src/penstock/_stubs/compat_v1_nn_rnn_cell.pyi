# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.train.rnn_cells import BasicLSTMCell as BasicLSTMCell
from penstock.train.rnn_cells import BasicRNNCell as BasicRNNCell
from penstock.train.rnn_wrappers import DeviceWrapper as DeviceWrapper
from penstock.train.rnn_wrappers import DropoutWrapper as DropoutWrapper
from penstock.train.rnn_cells import GRUCell as GRUCell
from penstock.train.rnn_cells import LSTMCell as LSTMCell
from penstock.train.rnn_cell_base import LSTMStateTuple as LSTMStateTuple
from penstock.train.rnn_cells import MultiRNNCell as MultiRNNCell
from penstock.train.rnn_cell_base import RNNCell as RNNCell
from penstock.train.rnn_wrappers import ResidualWrapper as ResidualWrapper
