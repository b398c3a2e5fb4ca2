"""Linear operators: matrices known by what they do, `tf.linalg.LinearOperator` and its subclasses.

`base` has the class and its public methods, on top of `defaults` (what follows from a product) and
`shaped`; `hints` says what operators promise, `rules` and `algebra` which class a product has,
`spec` and `slicing` how they are taken apart. The other modules each define the operators of a
kind: a subclass states its shape and its own mathematics.

Importing this package imports all of them, so that `algebra` knows every class.
"""

from penstock.ops.linear_operators import algebra, handlers

__all__ = ["algebra", "handlers"]
