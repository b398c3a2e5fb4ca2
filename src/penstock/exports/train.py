"""Public names of optimizers and of the global step."""

_OPTIMIZERS = (
    "GradientDescentOptimizer MomentumOptimizer AdagradOptimizer AdadeltaOptimizer "
    "RMSPropOptimizer FtrlOptimizer AdamOptimizer"
).split()
_STEPS = (
    "get_global_step create_global_step get_or_create_global_step assert_global_step global_step"
).split()

EXPORTS = {
    "penstock.train.optimizer": {"Optimizer": ["compat.v1.train.Optimizer"]},
    "penstock.train.optimizers": {name: [f"compat.v1.train.{name}"] for name in _OPTIMIZERS},
    "penstock.train.global_step": {name: [f"compat.v1.train.{name}"] for name in _STEPS},
}
