"""What a linear operator refuses: arguments of another dtype or size, what cannot be solved."""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.defaults import Defaults

NO_SOLVE = "Exact solve not implemented for an operator that is expected to "
NO_DET = (
    "Determinant not implemented for an operator that is expected to not be square: {}. Ask "
    "is_square first."
)


class Checked(Defaults):
    """Checks of a linear operator's arguments; the base class of `LinearOperator`."""

    _dtype: Any
    is_square: Any
    is_non_singular: Any

    def _argument(self, value: Any, name: str, least: int) -> Any:
        value = convert_to_tensor(value, name=name)
        self._check_input_dtype(value, name)
        v.require_rank(value, least, f"{self._name}: argument {name}")
        return value

    def _check_input_dtype(self, value: Any, name: str = "x") -> None:
        """Refuses an argument of another dtype than the matrices'; subclasses ask it too."""
        if value.dtype.base_dtype != self._dtype:
            raise TypeError(
                f"Expected argument to have dtype {self._dtype!r}.  Found: {value.dtype!r} in "
                f"tensor {value}. Use tf.cast({name}, {self._dtype.name!r})."
            )

    def _check_size(self, value: Any, axis: int, own: int, name: str) -> None:
        given, dims = value.dims, self._dims
        wanted = None if dims is None else dims[own]
        if given is None or wanted is None or given[axis] in (None, wanted):
            return
        raise ValueError(
            f"Dimensions {wanted} and {given[axis]} are not compatible: {self._name} of shape "
            f"{self.shape} expected {name} with size {wanted} along axis {axis}, got shape "
            f"{value.shape}. Pass adjoint=True or adjoint_arg=True if that is meant."
        )

    def _require_solvable(self) -> None:
        if self.is_non_singular is False:
            raise NotImplementedError(f"{NO_SOLVE}be singular. Got {self._name}.")
        if self.is_square is False:
            raise NotImplementedError(
                f"{NO_SOLVE}not be square. Got {self._name} of shape {self.shape}. Use "
                "tf.linalg.lstsq(operator.to_dense(), rhs)."
            )

    def _require_square(self) -> None:
        if self.is_square is False:
            raise NotImplementedError(NO_DET.format(self._name))


def require_fitting(left: Any, rows: Any, name: str) -> None:
    """Refuses operators whose sizes do not fit.

    Args:
      left: the operator on the left of "x", or whose inverse is on the left of "rhs".
      rows: the number of rows of the other one, a Dimension.
      name: "x" or "rhs".

    Raises:
      ValueError: they do not.
    """
    columns = left.domain_dimension if name == "x" else left.range_dimension
    if None not in (columns.value, rows.value) and columns.value != rows.value:
        raise ValueError(
            f"Operators are incompatible. Expected `{name}` to have dimension {columns.value} but "
            f"got {rows.value}."
        )
