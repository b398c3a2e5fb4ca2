"""Optimizers and what long training runs use."""
