"""Linear operators: matrices known by what they do, `tf.linalg.LinearOperator` and its subclasses.

`base` has the class and its public methods, on top of `checked` (what is refused), `defaults` (what
follows from a product) and `shaped`; `hints` says what operators promise, `rules` and `algebra`
which class a product has, `spec` and `slicing` how they are taken apart. The other modules each
define the operators of a kind: a subclass states its shape and its own mathematics.

Importing this package imports all of them, so that `algebra` knows the classes, the functions of
`tf.linalg` take operators, and SavedModels find their specs.
"""

from typing import Any

from penstock.ops.linear_operators import (
    algebra,
    block_lower_triangular,
    conjugate_gradient,
    handlers,
    householder,
    kronecker,
    low_rank_update,
    permutation,
    toeplitz,
    tridiag,
)
from penstock.ops.linear_operators.base import LinearOperator
from penstock.types import type_spec

__all__ = [
    "algebra",
    "block_lower_triangular",
    "conjugate_gradient",
    "handlers",
    "householder",
    "kronecker",
    "low_rank_update",
    "permutation",
    "toeplitz",
    "tridiag",
]


def _register_specs(kind: Any) -> None:
    """Gives the specs of the public classes the names that TensorFlow's files have for them."""
    for cls in kind.__subclasses__():
        if cls.__name__.startswith("LinearOperator"):
            type_spec.register(f"tf.linalg.{cls.__name__}Spec")(cls._Spec)
        _register_specs(cls)


_register_specs(LinearOperator)
