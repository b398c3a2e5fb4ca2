"""What shape rules work with.

A shape rule is `rule(c: ShapeContext)` and returns the dimensions of the outputs: one tuple (or
None for unknown rank) when the operation has one output, else a list of them. It raises ValueError,
through `c.fail`, when the inputs cannot be right. Rules for common patterns are here; the others
stand beside their operation.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Sentence = Callable[[], str]  # made only where there is an error


class LeftToTheStepError(ValueError):
    """Inputs that a graph may hold: the step that runs the operation refuses them.

    Attributes:
      known: the shape of the output as far as it is known all the same.
    """

    def __init__(self, message: str, known: Dims) -> None:
        super().__init__(message)
        self.known = known


class ShapeContext:
    """Input shapes, known input values and attributes of one operation."""

    __slots__ = (
        "_constants",
        "_handles",
        "_shape_values",
        "attrs",
        "dtypes",
        "op_name",
        "running",
        "shapes",
    )

    def __init__(
        self,
        op_name: str,
        shapes: Sequence[Dims],
        dtypes: Sequence[DType],
        attrs: dict[str, Any],
        constants: Callable[[int], np.ndarray[Any, Any] | None],
        shape_values: Callable[[int], Dims],
        handles: Callable[[int], Dims] = lambda index: None,
        running: bool = False,
    ) -> None:
        self.op_name = op_name
        self.running = running  # the rule is asked before a kernel, not for a graph
        self._handles = handles
        self.shapes = shapes
        self.dtypes = dtypes
        self.attrs = attrs
        self._constants = constants
        self._shape_values = shape_values

    def __len__(self) -> int:
        return len(self.shapes)

    def shape(self, index: int) -> Dims:
        """The dimensions of flat input `index`."""
        return self.shapes[index]

    def constant(self, index: int) -> np.ndarray[Any, Any] | None:
        """The value of flat input `index` if it is known when the graph is built, else None."""
        return self._constants(index)

    def shape_value(self, index: int) -> Dims:
        """Flat input `index` read as a shape (int vector, -1 is unknown), as far as known.

        Raises:
          ValueError: it is no vector, nor the scalar -1, which stands for an unknown rank; in a
            graph also a scalar that may be anything.
        """
        given = self.shapes[index]
        if given is not None and len(given) != 1:
            value = self.constant(index) if not given else None
            if given or (value is not None and value != -1):
                self.fail("a shape as a vector of integers", f"one of shape {d.text(given)}")
            if value is None and not self.running:
                self.fail(
                    "a shape as a vector of integers, or the scalar -1",
                    "a scalar that is not known while the graph is built",
                )
        return None if given == () else self._shape_values(index)

    def sizes(self, index: int) -> Dims:
        """Flat input `index` read as the sizes of an output, as far as known.

        Raises:
          ValueError: building a graph of sizes below -1.
          LeftToTheStepError: a size is negative, which only a step refuses.
        """
        value = self.constant(index)
        given = [] if value is None else value.reshape(-1).tolist()
        if min(given, default=0) < 0:
            self._refuse_sizes(given)
        return self.shape_value(index)

    def _refuse_sizes(self, given: Sequence[int]) -> NoReturn:
        least = next((n for n in given if n < -1), None)
        if least is not None and not self.running:
            self.fail("sizes >= 0", f"{given}: Invalid value in tensor used for shape: {least}")
        fact = f"Dimension {next(n for n in given if n < 0)} must be >= 0"
        known = tuple([None if n < 0 else n for n in given])
        self.fail_at_step("dimensions >= 0", f"{given}: {fact}", known=known)

    def variable_shape(self, index: int) -> Dims:
        """The static shape of the variable whose handle is flat input `index`."""
        return self._handles(index)

    def attr(self, name: str) -> Any:
        """The value of an attribute."""
        return self.attrs[name]

    def fail(self, expected: str, got: str, fix: str = "") -> NoReturn:
        """Refuses the inputs.

        Args:
          expected: what the rule wants.
          got: what came.
          fix: a sentence that says what to do.

        Raises:
          ValueError: always.
        """
        raise ValueError(
            f"{self.op_name}: expected {expected}, got {got}." + (f" {fix}" if fix else "")
        )

    def fail_at_step(self, expected: str, got: str, fix: str = "", known: Dims = None) -> NoReturn:
        """Refuses inputs that TensorFlow lets into a graph: there only a step refuses them.

        Args:
          expected: what the rule wants.
          got: what came.
          fix: a sentence that says what to do.
          known: the shape of the output in such a graph, as far as it is known.

        Raises:
          LeftToTheStepError: always.
        """
        text = f"{self.op_name}: expected {expected}, got {got}." + (f" {fix}" if fix else "")
        raise LeftToTheStepError(text, known)

    def refuse(self, sentence: str) -> NoReturn:
        """Refuses the inputs in one sentence, which says what was expected and came.

        Raises:
          ValueError: always.
        """
        raise ValueError(f"{self.op_name}: {sentence}.")

    def bracketed(self, sentence: str, index: int) -> str:
        """A sentence with the shape of an input in the place of `{}`, as TensorFlow writes it."""
        return sentence.format(d.bracketed(self.shapes[index]))

    def says(self, kernel: str, graph: str) -> str:
        """The sentence that programs know an error by: a kernel's, or that of building a graph."""
        return kernel if self.running else graph

    def rank(self, index: int, expected: int, name: str = "", kernel: Sentence = str) -> Dims:
        """The dimensions of an input that must have a certain rank; unknown where it is unknown.

        Args:
          index: which flat input.
          expected: the rank.
          name: what messages call the input; its number by default.
          kernel: what a kernel's error is known by; the same as that of a graph by default.

        Raises:
          ValueError: the rank is another.
        """
        dims = self.shapes[index]
        if dims is None:
            return (None,) * expected
        if len(dims) != expected:
            known = f"Shape must be rank {expected} but is rank {len(dims)}"
            self.fail(
                f"{name or f'input {index}'} of rank {expected}",
                f"shape {d.text(dims)} of rank {len(dims)}: {self.says(kernel() or known, known)}",
            )
        return dims

    def number(self, index: int, name: str) -> None:
        """Refuses an input that is no number; eager kernels take a vector of one for it too."""
        if not (self.running and self.shapes[index] == (1,)):
            said = f"{name} must be a scalar, not shape {{}}"
            self.rank(index, 0, name, lambda: self.bracketed(said, index))

    def rank_at_least(
        self, index: int, expected: int, name: str = "", kernel: Sentence = str
    ) -> Dims:
        """The dimensions of an input that must have at least a certain rank, None when unknown.

        Args:
          index: which flat input.
          expected: the least rank.
          name: what messages call the input; its number by default.
          kernel: what a kernel's error is known by; the same as that of a graph by default.

        Raises:
          ValueError: the rank is lower.
        """
        dims = self.shapes[index]
        if dims is not None and len(dims) < expected:
            known = f"Shape must be at least rank {expected} but is rank {len(dims)}"
            self.fail(
                f"{name or f'input {index}'} of rank at least {expected}",
                f"shape {d.text(dims)} of rank {len(dims)}: {self.says(kernel() or known, known)}",
            )
        return dims

    def axis(self, axis: int, rank: int, what: str = "axis", known: Sentence = str) -> int:
        """An axis counted from the front.

        Args:
          axis: from -rank to rank - 1.
          rank: the number of dimensions.
          what: what messages call it.
          known: a sentence that programs know the error by.

        Raises:
          ValueError: there is no such axis.
        """
        if not -rank <= axis < rank:
            said = known()
            self.refuse(
                f"Expected {what} in the range [{-rank}, {rank}), but got {axis}"
                f"{': ' if said else ''}{said}"
            )
        return axis % rank

    def merge(self, a: Dims, b: Dims, kernel: Sentence = str) -> Dims:
        """What is known of a shape from two sources that must agree.

        Args:
          a: one shape.
          b: the other.
          kernel: what a kernel's error is known by; the same as that of a graph by default.

        Raises:
          ValueError: they contradict each other.
        """
        try:
            return d.merge(a, b)
        except ValueError:
            known = _unequal(a, b)
            said = self.says(kernel() or known, known)
            self.fail("equal shapes", f"{d.text(a)} and {d.text(b)}: {said}")

    def starts(self, expected: str, got: Sentence, whole: Dims, start: Dims) -> None:
        """Refuses a shape that does not start with another one.

        Args:
          expected: what the rule wants, for the message.
          got: what came, as a kernel says it.
          whole: the shape.
          start: what it has to start with.

        Raises:
          ValueError: it does not.
        """
        if whole is None or start is None:
            return
        head = whole[: len(start)]
        if len(whole) < len(start):
            known = f"Shape must be at least rank {len(start)} but is rank {len(whole)}"
        elif not d.compatible(head, start):
            pairs = zip(head, start, strict=True)
            m, n = next(p for p in pairs if None not in p and p[0] != p[1])
            known = f"Dimensions must be equal, but are {m} and {n}"
        else:
            return
        self.fail(expected, self.says(got(), f"{got()}: {known}"))


def low_rank(axis: int, rank: int) -> str:
    """What programs know an axis by that a shape of this rank does not have."""
    needed = axis + 1 if axis >= 0 else -axis
    return f"Shape must be at least rank {needed} but is rank {rank}"


def _unequal(a: Dims, b: Dims) -> str:
    """What keeps two shapes of known ranks from being one."""
    x, y = a or (), b or ()
    if len(x) != len(y):
        return f"Shapes must be equal rank, but are {len(x)} and {len(y)}"
    pairs = enumerate(zip(x, y, strict=True))
    i, (m, n) = next((i, p) for i, p in pairs if None not in p and p[0] != p[1])
    return (
        f"Dimension {i} in both shapes must be equal, but are {m} and {n}."
        f" Shapes are {d.bracketed(a)} and {d.bracketed(b)}"
    )


def same(c: ShapeContext) -> Dims:
    """The output has the shape of the first input."""
    return c.shapes[0]


def scalar(c: ShapeContext) -> Dims:
    """The output is a scalar."""
    return ()


def unknown(c: ShapeContext) -> Dims:
    """Nothing is known about the output."""
    return None


def no_output(c: ShapeContext) -> list[Dims]:
    """The operation has no outputs."""
    return []


def merged(c: ShapeContext) -> Dims:
    """All inputs and the output have one shape."""
    result = c.shapes[0]
    for other in c.shapes[1:]:
        result = c.merge(result, other)
    return result


def broadcast(c: ShapeContext) -> Dims:
    """The inputs broadcast together."""
    result: Dims = c.shapes[0]
    for other in c.shapes[1:]:
        try:
            result = d.broadcast(result, other)
        except ValueError:
            refuse_broadcast(c, result, other)
    return result


def refuse_broadcast(c: ShapeContext, a: Dims, b: Dims) -> NoReturn:
    """Raises the ValueError of two shapes that do not broadcast together."""
    listed = " vs. ".join(d.bracketed(s) for s in c.shapes)
    why = "" if c.running else f". {not_broadcast(a, b)}"
    c.refuse(f"Incompatible shapes: {listed}: expected shapes that broadcast together{why}")


def not_broadcast(a: Dims, b: Dims) -> str:
    """The sizes that keep two shapes from being broadcast."""
    pairs = zip((a or ())[::-1], (b or ())[::-1], strict=False)  # from the last dimension on
    m, n = [(m, n) for m, n in pairs if m != n and None not in (m, n) and 1 not in (m, n)][-1]
    return f"Dimensions must be equal, but are {m} and {n}"


def reduced(c: ShapeContext) -> Dims:
    """Input 0 without the axes that input 1 names; attribute keep_dims keeps them as 1."""
    dims, axes, keep = c.shapes[0], c.constant(1), c.attrs.get("keep_dims", False)
    if dims is None:
        return None
    if axes is None:
        count = d.num_elements(c.shapes[1])
        if keep:
            return (None,) * len(dims)
        return (
            (None,) * (len(dims) - count)
            if count is not None and count <= len(dims) and count == 1
            else None
        )
    listed = [_reduced_axis(c, int(a), len(dims)) for a in np.asarray(axes).reshape(-1)]
    wanted = set(listed)
    if c.running and len(wanted) < len(listed):
        twice = next(a for i, a in enumerate(listed) if a in listed[:i])
        c.refuse(
            f"Invalid reduction arguments: Axes contains duplicate dimension: {twice}: expected"
            " each axis once"
        )
    if keep:
        return tuple(1 if i in wanted else n for i, n in enumerate(dims))
    return tuple(n for i, n in enumerate(dims) if i not in wanted)


def _reduced_axis(c: ShapeContext, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        opening = "(" if c.running else ""  # so in TensorFlow's kernels
        dimensions = "dimension(s)" if c.running else "dimensions"
        c.refuse(
            f"Invalid reduction dimension {opening}{axis} for input with {rank} {dimensions}:"
            f" expected one in [{-rank}, {rank})"
        )
    return axis % rank
