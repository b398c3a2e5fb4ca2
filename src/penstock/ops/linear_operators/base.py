"""`LinearOperator`: a stack of matrices that need not exist as numbers.

An operator has a shape [..., M, N], a dtype and hints (see `hints`), and multiplies, solves, and
answers what one asks of matrices. It is a `Module`, which owns the variables that it was made with,
and a composite value, which functions and control flow take apart (see `spec`). Its public methods
check their arguments, open a name scope and call the method with an underscore (see `defaults`).
"""

import inspect
from typing import Any, ClassVar

from penstock.core import dispatch
from penstock.core.composite import CompositeTensor
from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import name_scope
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import slicing, spec
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.checked import Checked, require_fitting
from penstock.ops.linear_operators.scopes import scoped
from penstock.ops.module import Module
from penstock.types import dtypes as dt
from penstock.types.dims import Dims


class LinearOperator(Checked, Module, CompositeTensor):
    """The base class of operators; a subclass defines `_shape`, `_matmul` and what else it can.

    Args:
      dtype: the dtype of the matrices, and of what they are multiplied with.
      graph_parents: kept and returned; makes no other difference.
      is_non_singular: whether the matrices can be inverted; None when that is not known.
      is_self_adjoint: whether they equal their conjugate transposes.
      is_positive_definite: whether the real part of x^H A x is positive for all x but 0; A need
        not be self-adjoint.
      is_square: whether they have as many rows as columns.
      name: the name of the scope of its operations in a graph; the class name by default.
      parameters: what `parameters` returns; the arguments of the constructor by default.

    Raises:
      ValueError: the hints contradict each other.
      TypeError: the class lacks `_shape` or `_matmul`.

    Example:
      >>> class Twice(LinearOperator):
      ...     def __init__(self, size):
      ...         self._rows = size
      ...         super().__init__(tf.float32)
      ...     def _shape(self):
      ...         return tf.TensorShape([self._rows, self._rows])
      ...     def _matmul(self, x, adjoint=False, adjoint_arg=False):
      ...         return 2 * (tf.linalg.adjoint(x) if adjoint_arg else x)
      >>> Twice(2).solvevec([4.0, 6.0]).numpy().tolist()
      [2.0, 3.0]
    """

    __array_priority__ = 200  # tensors and arrays leave `x @ operator` to the operator
    _TF_MODULE_IGNORED_PROPERTIES = Module._TF_MODULE_IGNORED_PROPERTIES | {
        "_self_parameters", "_graph_parents"
    }  # fmt: skip
    _signature: ClassVar[inspect.Signature | None] = None
    # How many axes at the end of each parameter belong to one matrix, for slices of the stack; a
    # subclass may have a property instead.
    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {}
    _size_names: ClassVar[tuple[str, ...]] = ()  # parameters that are sizes
    _Spec: ClassVar[type[spec.LinearOperatorSpec]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._signature = None
        cls._Spec = spec.spec_class(cls)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An operator that knows the arguments of its constructor; see `parameters`."""
        made = super().__new__(cls)
        if cls.__dict__.get("_signature") is None:
            cls._signature = inspect.signature(cls.__init__)
        try:
            given = cls._signature.bind(made, *args, **kwargs)  # type: ignore[union-attr]
        except TypeError:
            return made  # the constructor says what is wrong
        given.apply_defaults()
        made.__dict__["_self_parameters"] = dict(list(given.arguments.items())[1:])
        return made

    def __init__(
        self,
        dtype: Any,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self._hints = tuple(
            h.checked(is_non_singular, is_self_adjoint, is_positive_definite, is_square).items()
        )
        self._dtype = None if dtype is None else dt.as_dtype(dtype).base_dtype
        self._graph_parents = list(graph_parents or ())
        if parameters is not None:
            self.__dict__["_self_parameters"] = dict(parameters)
        self._name = name or type(self).__name__

    # ---- what it is

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the operator was made with, by name."""
        return dict(self.__dict__["_self_parameters"])

    @property
    def dtype(self) -> Any:
        """The dtype of the matrices."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of its scope in graphs."""
        return self._name

    def _name_scope(self, name: str | None = None) -> name_scope:  # type: ignore[override]
        """The scope of a method of a subclass: the operator's, then `name`.

        A module has its scope under this name; an operator makes its own, see `name_scope`.
        """
        return name_scope(self._name if name is None else f"{self._name}/{name}")

    @property
    def name_scope(self) -> name_scope:
        """A scope in which operations are named after this operator."""
        return name_scope(self._name)

    @property
    def graph_parents(self) -> list[Any]:
        """The list given to the base class; deprecated."""
        return self._graph_parents

    def _hint(self, name: str) -> h.Hint:
        found: h.Hint = dict(self._hints)[name]
        return found

    @property
    def is_non_singular(self) -> bool | None:
        """Whether the matrices can be inverted; None when that is not known."""
        return self._hint("is_non_singular")

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether the matrices equal their conjugate transposes; None when that is not known."""
        return self._hint("is_self_adjoint")

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether the real part of x^H A x is positive for all x but 0; None when not known."""
        return self._hint("is_positive_definite")

    @property
    def is_square(self) -> bool | None:
        """Whether there are as many rows as columns: the hint, or what the shape says.

        Raises:
          ValueError: the hint says no, but the shape is square.
        """
        hint, dims = self._hint("is_square"), self._dims
        seen = None if dims is None or None in dims[-2:] else dims[-1] == dims[-2]
        if hint is False and seen:
            raise ValueError(
                "User set is_square hint to False, but the operator was square. Got shape "
                f"{self.shape}: leave the hint out."
            )
        return seen if hint is None else hint

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self._name!r} shape={self.shape} dtype={self._dtype}>"

    # ---- products

    @scoped
    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Multiplies matrices, or another operator, by this operator from the left.

        Args:
          x: tensor [..., N, K] of the operator's dtype, or a LinearOperator. Stacks broadcast.
          adjoint: whether the conjugate transposes of this operator's matrices are meant.
          adjoint_arg: whether those of `x` are meant, which is then [..., K, N].
          name: the name of the scope in a graph.

        Returns:
          Tensor [..., M, K]; for an operator a LinearOperator.

        Raises:
          ValueError: the sizes do not fit.
          TypeError: `x` has another dtype.
        """
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            require_fitting(left, right.range_dimension, "x")
            return self._linop_matmul(left, right)
        x = self._argument(x, "x", 2)
        self._check_size(x, -1 if adjoint_arg else -2, -2 if adjoint else -1, "x")
        return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def __rmatmul__(self, other: Any) -> Any:
        turned = self.matmul(convert_to_tensor(other), adjoint=True, adjoint_arg=True)
        return v.turned(turned, True)

    @scoped
    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """Multiplies vectors by this operator from the left.

        Args:
          x: tensor [..., N] of the operator's dtype. Stacks broadcast.
          adjoint: whether the conjugate transposes of the matrices are meant.
          name: the name of the scope in a graph.

        Returns:
          Tensor [..., M].

        Raises:
          ValueError: the sizes do not fit.
          TypeError: `x` has another dtype.
        """
        x = self._argument(x, "x", 1)
        self._check_size(x, -1, -2 if adjoint else -1, "x")
        return self._matvec(x, adjoint=adjoint)

    # ---- equations

    @scoped
    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Solves A X = rhs.

        Args:
          rhs: tensor [..., M, K] of the operator's dtype, or a LinearOperator. Stacks broadcast.
          adjoint: whether the equations are A^H X = rhs.
          adjoint_arg: whether the conjugate transposes of `rhs` are meant.
          name: the name of the scope in a graph.

        Returns:
          Tensor [..., N, K]; for an operator a LinearOperator.

        Raises:
          NotImplementedError: the operator is known to be singular or not square.
          ValueError: the sizes do not fit.
          TypeError: `rhs` has another dtype.
        """
        self._require_solvable()
        if isinstance(rhs, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = rhs.adjoint() if adjoint_arg else rhs
            require_fitting(left, right.range_dimension, "rhs")
            return self._linop_solve(left, right)
        rhs = self._argument(rhs, "rhs", 2)
        self._check_size(rhs, -1 if adjoint_arg else -2, -1 if adjoint else -2, "rhs")
        return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    @scoped
    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """Solves A x = rhs for vectors; see `solve`.

        Args:
          rhs: tensor [..., M] of the operator's dtype.
          adjoint: whether the equations are A^H x = rhs.
          name: the name of the scope in a graph.

        Returns:
          Tensor [..., N].
        """
        rhs = self._argument(rhs, "rhs", 1)
        self._check_size(rhs, -1, -1 if adjoint else -2, "rhs")
        self._require_solvable()
        return self._solvevec(rhs, adjoint=adjoint)

    # ---- other operators

    @scoped
    def adjoint(self, name: str = "adjoint") -> "LinearOperator":
        """The operator of the conjugate transposes; this one if it is known to be self-adjoint."""
        return self if self.is_self_adjoint else self._linop_adjoint()

    H = property(adjoint, doc="The operator of the conjugate transposes.")

    @scoped
    def inverse(self, name: str = "inverse") -> "LinearOperator":
        """The operator of the inverses.

        Raises:
          ValueError: the operator is known to be singular or not square.
        """
        for fault, what in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if fault is False:
                raise ValueError(
                    f"Cannot take the Inverse: This operator represents a {what} matrix. Got "
                    f"{self._name} of shape {self.shape}."
                )
        return self._linop_inverse()  # type: ignore[no-any-return]

    @scoped
    def cholesky(self, name: str = "cholesky") -> "LinearOperator":
        """The operator of the lower triangular factors L with L L^H = A.

        Raises:
          ValueError: the operator is not known to be self-adjoint and positive definite.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                f"matrix. Got {self._name}; pass is_self_adjoint=True and "
                "is_positive_definite=True if it is."
            )
        return self._linop_cholesky()  # type: ignore[no-any-return]

    def __getitem__(self, slices: Any) -> "LinearOperator":
        return slicing.batch_slice(self, slices)  # type: ignore[no-any-return]

    def _sliced(self, entries: list[Any], dims: Dims) -> "LinearOperator":
        """The part of the stack that one entry for each of its axes, sizes `dims`, picks."""
        parameters = slicing.sliced_parameters(self, entries, dims)
        if "name" in self.__dict__["_self_parameters"]:
            parameters["name"] = self._name
        return type(self)(**parameters)

    # ---- numbers

    @scoped
    def to_dense(self, name: str = "to_dense") -> Any:
        """The matrices as a tensor [..., M, N]."""
        return self._to_dense()

    @scoped
    def diag_part(self, name: str = "diag_part") -> Any:
        """The main diagonals, [..., min(M, N)]."""
        return self._diag_part()

    @scoped
    def trace(self, name: str = "trace") -> Any:
        """The sums of the main diagonals, [...]."""
        return self._trace()

    @scoped
    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Any:
        """The matrices added to `x`: [..., M, N] of the operator's dtype."""
        return self._add_to_tensor(self._argument(x, "x", 2))

    @scoped
    def determinant(self, name: str = "det") -> Any:
        """The determinants, [...].

        Raises:
          NotImplementedError: the operator is not square.
        """
        self._require_square()
        return self._determinant()

    @scoped
    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """The logarithms of the absolute values of the determinants, [...], in the dtype.

        Those of a lower triangular operator and of a scaled identity are real.

        Raises:
          NotImplementedError: the operator is not square.
        """
        self._require_square()
        return self._log_abs_determinant()

    @scoped
    def eigvals(self, name: str = "eigvals") -> Any:
        """The eigenvalues, [..., N].

        Raises:
          NotImplementedError: the operator is not known to be self-adjoint.
        """
        if not self.is_self_adjoint:
            raise NotImplementedError(
                f"Only self-adjoint matrices are supported. Got {self._name}; pass "
                "is_self_adjoint=True if it is, or use tf.linalg.eigvals(operator.to_dense())."
            )
        return self._eigvals()

    @scoped
    def cond(self, name: str = "cond") -> Any:
        """The condition numbers: largest by smallest singular value, [...], real.

        Those that are 1 by the operator's class have the operator's dtype.
        """
        return self._cond()

    # ---- checks

    @scoped
    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """Fails unless the matrices can be inverted in their precision.

        Returns:
          None; in a graph the Operation that checks.

        Raises:
          InvalidArgumentError: one cannot (in a graph when it runs).
        """
        return self._assert_non_singular()

    @scoped
    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """Fails unless the matrices are positive definite; returns as `assert_non_singular`.

        Raises:
          InvalidArgumentError: one is not.
          NotImplementedError: the operator is not known to be self-adjoint.
        """
        return self._assert_positive_definite()

    @scoped
    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """Fails unless the matrices equal their adjoints; returns as `assert_non_singular`.

        Raises:
          InvalidArgumentError: one does not.
        """
        return self._assert_self_adjoint()

    # ---- as a composite value

    @property
    def _type_spec(self) -> spec.LinearOperatorSpec:
        return self._Spec.from_operator(self)

    def _spec_parameters(self) -> dict[str, Any]:
        """What the operator can be made from again: tensors and settings by parameter name."""
        given = self.__dict__["_self_parameters"]
        return {
            name: getattr(self, name) if self._has_property(name) else value
            for name, value in given.items()
            if name not in ("name", "graph_parents", "parameters")
        }

    def _has_property(self, name: str) -> bool:
        return name in vars(self) or isinstance(getattr(type(self), name, None), property)


dispatch.add_kinds([LinearOperator])
