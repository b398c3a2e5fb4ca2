# Written by tools/make_stubs.py.
# ruff: noqa
from penstock.train.loss_reduction import Reduction as Reduction
from penstock.train.losses import absolute_difference as absolute_difference
from penstock.train.loss_collections import add_loss as add_loss
from penstock.train.loss_reduction import compute_weighted_loss as compute_weighted_loss
from penstock.train.losses import cosine_distance as cosine_distance
from penstock.train.loss_collections import get_losses as get_losses
from penstock.train.loss_collections import get_regularization_loss as get_regularization_loss
from penstock.train.loss_collections import get_regularization_losses as get_regularization_losses
from penstock.train.loss_collections import get_total_loss as get_total_loss
from penstock.train.losses import hinge_loss as hinge_loss
from penstock.train.losses import huber_loss as huber_loss
from penstock.train.losses import log_loss as log_loss
from penstock.train.losses import mean_pairwise_squared_error as mean_pairwise_squared_error
from penstock.train.losses import mean_squared_error as mean_squared_error
from penstock.train.losses import sigmoid_cross_entropy as sigmoid_cross_entropy
from penstock.train.losses import softmax_cross_entropy as softmax_cross_entropy
from penstock.train.losses import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
