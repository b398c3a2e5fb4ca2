"""Probability distributions of `compat.v1.distributions`.

`base` has the class and its public methods, which fall back on one another; `divergence` the
registry of Kullback-Leibler divergences. The other modules define distributions: a subclass states
its shapes and its own mathematics in methods with a leading underscore.
"""
