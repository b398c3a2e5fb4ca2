"""What a stage asks of the parts of a state before it goes on from there.

States come from files. One whose parts are missing, or stand for something else, is of another
dataset: that is a NotFoundError, as in TensorFlow. Values of other dtypes or shapes than the
dataset's are an InvalidArgumentError; numbers that cannot be, a DataLossError.

A stage that is restored is a new one, which nobody has yet. What a restore changes beside it (a
generator that other iterators draw from, files) it hands to `Run.when_restored`: it is done when
all stages are where they should be, or not at all.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.data.options_dataset import Settings
from penstock.data.stages import Array, Description, Element, State
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_FIX = "Restore a state that was saved of this dataset."
_LARGEST = 2**63 - 1


def kinds(description: Description) -> list[Any]:
    """What a dataset is made of: its operation, and the same of its inputs."""
    while isinstance(description, Settings):
        (description,) = description.inputs
    return [description.kind, *map(kinds, description.inputs)]


def check_kinds(saved: Any, description: Description) -> None:
    """Refuses the state of a dataset that is made of other operations.

    Args:
      saved: what `kinds` gave of it; None where nobody has asked then.
      description: the dataset.

    Raises:
      NotFoundError: it is another.
    """
    expected = kinds(description)
    if saved is not None and saved != expected:
        raise errors.NotFoundError(
            None,
            None,
            errors.located(
                "Failed to restore an iterator", f"the state of {_chain(expected)}",
                f"that of {_chain(saved)}", _FIX,
            ),
        )  # fmt: skip


def _chain(found: Any) -> str:
    if not isinstance(found, list) or not found:
        return repr(found)
    inputs = ", ".join(map(_chain, found[1:]))
    return f"{found[0]}({inputs})" if inputs else str(found[0])


def whole(value: Any, what: str, least: int = 0, most: int = _LARGEST) -> int:
    """A number of a state.

    Raises:
      NotFoundError: it is no integer.
      DataLossError: it is below `least` or above `most`.
    """
    if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu":
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise other(what, "an integer", value)
    if not least <= value <= most:
        raise errors.DataLossError(
            None, None, errors.located(what, f"a number from {least} to {most}", str(value), _FIX)
        )
    return int(value)


def flag(value: Any, what: str) -> bool:
    """A truth value of a state.

    Raises:
      NotFoundError: it is none.
    """
    if not isinstance(value, bool):
        raise other(what, "a bool", value)
    return value


def several(value: Any, what: str, count: int | None = None) -> list[Any]:
    """A list of a state.

    Raises:
      NotFoundError: it is none, or not of as many as expected.
    """
    if not isinstance(value, list) or (count is not None and len(value) != count):
        raise other(what, "a list" if count is None else f"a list of {count}", value)
    return value


def other(what: str, expected: str, got: Any) -> errors.OpError:
    """The error for a part of a state that is something else."""
    shown = f"{len(got)} of them" if isinstance(got, list) else f"{type(got).__name__} {got!r:.80}"
    return errors.NotFoundError(None, None, errors.located(what, expected, shown, _FIX))


def element(value: Any, of: Description, what: str) -> Element:
    """An element of a dataset.

    Raises:
      NotFoundError: it is none.
      InvalidArgumentError: it has other dtypes or shapes.
    """
    parts = several(value, what, len(of.types))
    for i, part in enumerate(parts):
        check_array(part, of.types[i], of.shapes[i], i, what)
    return tuple(parts)


def elements(value: Any, of: Description, what: str) -> list[Element]:
    """Elements of a dataset; see `element`."""
    return [element(each, of, what) for each in several(value, what)]


def outcomes(value: Any, of: Description, what: str) -> list[Any]:
    """Elements of a dataset, and errors in the place of some; see `element`."""
    return [
        each if isinstance(each, Exception) else element(each, of, what)
        for each in several(value, what)
    ]


def error(value: Any, what: str) -> Exception:
    """The error of a state that stands in the place of an element.

    Raises:
      NotFoundError: it is none.
    """
    if not isinstance(value, Exception):
        raise other(what, "an error", value)
    return value


def columns(value: Any, of: Description, what: str) -> Element:
    """Elements of a dataset as columns; see `element`.

    Raises:
      DataLossError: of another number in each component, too.
    """
    return _rows(value, of.types, [None if s is None else (None, *s) for s in of.shapes], what)


def stack_or_none(value: Any, of: Description, what: str) -> Element | None:
    """An element whose rows are given one by one, or None; see `columns`."""
    return None if value is None else _rows(value, of.types, of.shapes, what)


def rest_or_none(value: Any, of: Description, what: str) -> Element | None:
    """Some of the rows of an element, or None; see `columns`."""
    shapes = [None if not s else (None, *s[1:]) for s in of.shapes]
    return None if value is None else _rows(value, of.types, shapes, what)


def _rows(value: Any, types: Sequence[DType], shapes: Sequence[Dims], what: str) -> Element:
    parts = several(value, what, len(types))
    for i, part in enumerate(parts):
        check_array(part, types[i], shapes[i], i, what)
        if not np.ndim(part) or len(part) != len(parts[0]):
            raise errors.DataLossError(
                None, None,
                errors.located(what, "as many rows of each component", f"{np.shape(part)}", _FIX),
            )  # fmt: skip
    return tuple(parts)


def arrays(value: Any, types: Sequence[DType], what: str) -> list[Array]:
    """Values of these dtypes, of any shapes.

    Raises:
      NotFoundError: there are more, or fewer.
      InvalidArgumentError: they have other dtypes.
    """
    found = several(value, what, len(types))
    for i, each in enumerate(found):
        check_array(each, types[i], None, i, what)
    return found


def check_array(value: Any, dtype: DType, dims: Dims, number: int, what: str) -> None:
    """Refuses a component that is not what the dataset says; see `element`."""
    if dtype in (dt.variant, dt.resource):
        return
    if not isinstance(value, np.ndarray):
        raise other(what, f"an array in component {number}", value)
    wanted = dtype.numpy_dtype
    texts = dtype != dt.string or all(isinstance(v, bytes) for v in value.reshape(-1))
    if value.dtype != wanted or not texts:
        raise _mismatch(what, number, dtype.name, "objects" if not texts else str(value.dtype))
    if not d.compatible(dims, value.shape):
        raise _mismatch(what, number, f"shape {d.text(dims)}", f"shape {d.text(value.shape)}")


def _mismatch(what: str, number: int, expected: str, got: str) -> errors.OpError:
    return errors.InvalidArgumentError(
        None, None, errors.located(f"{what}, component {number}", expected, got, _FIX)
    )


def words(value: Any, what: str) -> tuple[int, int, int]:
    """Two seeds, and how many words of their stream were drawn."""
    first, second, drawn = several(value, what, 3)
    least = -_LARGEST - 1
    return whole(first, what, least), whole(second, what, least), whole(drawn, what)


def seeds(value: Any, what: str) -> tuple[int, int]:
    """Two seeds."""
    first, second = several(value, what, 2)
    least = -_LARGEST - 1
    return whole(first, what, least), whole(second, what, least)


def missing(problem: Exception, name: str, state: State) -> errors.OpError:
    """The error for a state whose parts are not those that a stage looks for."""
    return errors.NotFoundError(
        None,
        None,
        errors.located(
            f"{name}: failed to restore", "the state of an iterator of this dataset",
            f"another of type {type(state).__name__} ({type(problem).__name__}: {problem})", _FIX,
        ),
    )  # fmt: skip
