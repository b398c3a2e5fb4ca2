"""Public names of optimizers and of the global step."""

_OPTIMIZERS = (
    "GradientDescentOptimizer MomentumOptimizer AdagradOptimizer AdadeltaOptimizer "
    "RMSPropOptimizer FtrlOptimizer AdamOptimizer"
).split()
_STEPS = (
    "get_global_step create_global_step get_or_create_global_step assert_global_step global_step"
).split()

_LOSSES = (
    "Reduction absolute_difference add_loss compute_weighted_loss cosine_distance get_losses"
    " get_regularization_loss get_regularization_losses get_total_loss hinge_loss huber_loss"
    " log_loss mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy"
    " softmax_cross_entropy sparse_softmax_cross_entropy"
).split()

EXPORTS = {
    "penstock.train.losses": {name: [f"compat.v1.losses.{name}"] for name in _LOSSES},
    "penstock.train.optimizer": {"Optimizer": ["compat.v1.train.Optimizer"]},
    "penstock.train.optimizers": {name: [f"compat.v1.train.{name}"] for name in _OPTIMIZERS},
    "penstock.train.global_step": {name: [f"compat.v1.train.{name}"] for name in _STEPS},
}
