"""New values of many arrays as one call of the native library, in place.

A `Group` is arrays of one shape and, for some of them, the `Term` that gives each its new value:
functions of single elements of the group's arrays and of numbers that are the same for all
elements. `Namespace` stands for `numpy` in functions that are written against `xp`, so that the
kernels of optimizers can be written down by running them. `encoded` turns groups into the numbers
that `native/update.h` works through, `call` makes the call.

Every function of CODES is rounded as NumPy's of that name is, one after the other.
"""

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.core import native
from penstock.core.lazy import jax, jnp
from penstock.core.products import Product
from penstock.core.recurrence import NUMBERS

MOST_STEPS = 120  # instructions of a group
MOST_OPERANDS = 64  # arrays, numbers and registers of a group, as native/kernels.h states it
Array = Any  # numpy.ndarray, jax.Array or a tracer


class Unfit(Exception):
    """It cannot be written down."""


class Term:
    """A value of each element of a group. Operators make others.

    Attributes:
      code: "ARRAY", "NUMBER" or a name of the library's instructions.
      of: what it is made of.
      detail: the array, the number, or the constant of FILL.
      shape: of the arrays.
    """

    __slots__ = ("code", "detail", "of", "shape")
    __array_ufunc__ = None  # so that NumPy's numbers leave operators to this class
    dtype = np.dtype(np.float32)

    def __init__(
        self, code: str, shape: tuple[int, ...], of: "tuple[Term, ...]" = (), detail: Any = None
    ) -> None:
        self.code = code
        self.shape = shape
        self.of = of
        self.detail = detail

    @property
    def ndim(self) -> int:
        """The rank of the arrays."""
        return len(self.shape)

    def apply(self, code: str, *others: Any) -> "Term":
        """A function of this and others: terms, or numbers."""
        return Term(code, self.shape, (self, *(self.operand(each) for each in others)))

    def operand(self, value: Any) -> "Term":
        """What stands beside this one: a term of its shape, or a number for all elements."""
        if isinstance(value, Term):
            if value.shape != self.shape:
                raise Unfit
            return value
        if isinstance(value, int | float):
            return Term("FILL", self.shape, (), float(value))
        if math.prod(value.shape) != 1 or len(value.shape) > self.ndim:
            raise Unfit
        if value.dtype not in (np.float32, np.bool_):
            raise Unfit
        if isinstance(value, (np.ndarray, np.generic)):
            return Term("FILL", self.shape, (), float(np.asarray(value).reshape(-1)[0]))
        return Term("NUMBER", self.shape, (), value)

    def __add__(self, other: Any) -> "Term":
        return self.apply("ADD", other)

    def __radd__(self, other: Any) -> "Term":
        return self.operand(other).apply("ADD", self)

    def __sub__(self, other: Any) -> "Term":
        return self.apply("SUBTRACT", other)

    def __rsub__(self, other: Any) -> "Term":
        return self.operand(other).apply("SUBTRACT", self)

    def __mul__(self, other: Any) -> "Term":
        return self.apply("MULTIPLY", other)

    def __rmul__(self, other: Any) -> "Term":
        return self.operand(other).apply("MULTIPLY", self)

    def __truediv__(self, other: Any) -> "Term":
        return self.apply("DIVIDE", other)

    def __rtruediv__(self, other: Any) -> "Term":
        return self.operand(other).apply("DIVIDE", self)

    def __neg__(self) -> "Term":
        return self.apply("NEGATIVE")

    def __pow__(self, other: Any) -> "Term":
        raise Unfit  # it has no rounding that all libraries agree on

    def __gt__(self, other: Any) -> "Term":
        return self.apply("GREATER", other)


def _function(code: str, name: str) -> Callable[..., Any]:
    """NumPy's function `name` of terms, and of numbers alone."""

    def function(self: Any, *operands: Any) -> Any:
        first = next((each for each in operands if isinstance(each, Term)), None)
        if first is None:
            return getattr(jnp, name)(*operands)
        head, *rest = (first.operand(each) for each in operands)
        return head.apply(code, *rest)

    return function


class Namespace:
    """What `xp` is where a kernel is written down; a function that it lacks is `Unfit`."""

    add = _function("ADD", "add")
    subtract = _function("SUBTRACT", "subtract")
    sqrt = _function("SQUARE_ROOT", "sqrt")
    abs = _function("ABSOLUTE", "abs")
    sign = _function("SIGN", "sign")
    maximum = _function("MAXIMUM", "maximum")
    minimum = _function("MINIMUM", "minimum")
    where = _function("SELECT", "where")

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        """A term as it is."""
        if not isinstance(value, Term) or dtype not in (None, value.dtype):
            raise Unfit
        return value

    def copy(self, value: Any) -> Any:
        """A term as it is: arrays get new values when all are computed."""
        return self.asarray(value)

    def __getattr__(self, name: str) -> Any:
        raise Unfit


@dataclass(frozen=True, slots=True)
class Group:
    """Arrays that are updated together.

    Attributes:
      arrays: those that get new values.
      terms: the new values.
    """

    arrays: Sequence[Array]
    terms: Sequence[Term]


Step = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A group as a program, and what it is given.

    Attributes:
      count: arrays that get new values.
      program: its sizes, then its steps, as native/update_handlers.cc reads them.
      arrays: those that get new values, then those that are read alone.
      numbers: what is the same for all elements.
      product: the number of an array that the library is to compute, and as which product; or None.
    """

    count: int
    program: tuple[int, ...]
    arrays: list[Array]
    numbers: list[Array]
    product: tuple[int, Product] | None = None


class _Writer:
    """The translation of one group."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.arrays: dict[int, Array] = {id(a): a for a in group.arrays}
        self.numbers: dict[int, Array] = {}
        self.fills: dict[bytes, Term] = {}
        self.order: list[Term] = []  # each after what it is made of

    def written(self) -> Written:
        """The program.

        Raises:
          Unfit: it is too long.
        """
        roots = self._roots()
        for root in roots:
            self._visit(root)
        places = self._places(roots)
        steps = [self._step(term, places) for term in self.order]
        steps += self._moves(roots, places)
        fills = [
            (NUMBERS["FILL"], place, 0, 0, 0, struct.unpack("<i", bits)[0])
            for bits, place in ((bits, places[bits]) for bits in self.fills)
        ]
        all_steps = fills + steps
        most = max(places.values(), default=0) + 1
        if len(all_steps) > MOST_STEPS or most > MOST_OPERANDS:
            raise Unfit
        first = len(self.arrays) + len(self.numbers)
        sizes = (len(roots), len(self.arrays), len(self.numbers), max(most - first, 0))
        head = (*sizes, len(fills), len(all_steps))
        program = (*head, *(number for step in all_steps for number in step))
        return Written(len(roots), program, list(self.arrays.values()), list(self.numbers.values()))

    def _roots(self) -> list[Term]:
        """New values, each computed by a step of its own."""
        roots: list[Term] = []
        for term in self.group.terms:
            own = bool(term.of) and all(term is not root for root in roots)
            roots.append(term if own else term.apply("MOVE"))
        return roots

    def _visit(self, root: Term) -> None:
        """Notes what a term is made of; without recursion, as terms may be long chains."""
        seen = {id(term) for term in self.order}
        waiting = [(root, False)]
        while waiting:
            term, ready = waiting.pop()
            if id(term) in seen:
                continue
            if term.of and not ready:
                waiting.append((term, True))
                waiting += [(each, False) for each in reversed(term.of)]
                continue
            seen.add(id(term))
            self._note(term)

    def _note(self, term: Term) -> None:
        if term.code == "ARRAY":
            self.arrays.setdefault(id(term.detail), term.detail)
        elif term.code == "NUMBER":
            self.numbers.setdefault(id(term.detail), term.detail)
        elif term.code == "FILL":
            self.fills.setdefault(_bits(term), term)
        else:
            self.order.append(term)

    def _places(self, roots: list[Term]) -> dict[Any, int]:
        """The operand that each term is; a register is taken again after its last use.

        A new value goes where the old one is if no later step reads the old one.
        """
        places: dict[Any, int] = {key: i for i, key in enumerate(self.arrays)}
        for key in (*self.numbers, *self.fills):
            places[key] = len(places)
        last: dict[Any, int] = {}
        for i, term in enumerate(self.order):
            last.update((_key(each), i) for each in term.of)
        ends = {id(root): len(self.order) for root in roots}
        free: list[int] = []
        most = len(places)
        for i, term in enumerate(self.order):
            free += [
                places[k]
                for k in dict.fromkeys(map(_key, term.of))
                if self._ends(k, i, last, ends, places)
            ]
            target = next((k for k, root in enumerate(roots) if root is term), None)
            if target is not None and last.get(id(self.group.arrays[target]), -1) <= i:
                places[id(term)] = target
                continue
            if not free:
                free.append(most)
                most += 1
            places[id(term)] = free.pop()
        return places

    def _ends(
        self,
        key: Any,
        step: int,
        last: dict[Any, int],
        ends: dict[int, int],
        places: dict[Any, int],
    ) -> bool:
        """Whether a register is free after a step."""
        first = len(self.arrays) + len(self.numbers) + len(self.fills)
        return last[key] == step and key not in ends and places[key] >= first

    def _step(self, term: Term, places: dict[Any, int]) -> Step:
        a, b, c = ([places[_key(each)] for each in term.of] + [0, 0])[:3]
        return (NUMBERS[term.code], places[id(term)], a, b, c, 0)

    def _moves(self, roots: list[Term], places: dict[Any, int]) -> list[Step]:
        """New values that could not go where the old ones were, as those were still read."""
        return [
            (NUMBERS["MOVE"], target, places[id(root)], 0, 0, 0)
            for target, root in enumerate(roots)
            if places[id(root)] != target
        ]


def _bits(term: Term) -> bytes:
    return struct.pack("<f", term.detail)


def _key(term: Term) -> Any:
    if term.code == "FILL":
        return _bits(term)
    return id(term.detail) if term.code in ("ARRAY", "NUMBER") else id(term)


def written(group: Group) -> Written | None:
    """A group's program; None where the library cannot have it."""
    try:
        return _Writer(group).written()
    except Unfit:
        return None


class _Arguments:
    """The arguments of a call after the first one, each once."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = list(arrays)
        self._numbers: dict[int, int] = {id(a): i for i, a in enumerate(arrays)}

    def number(self, array: Array) -> int:
        """Where an array is."""
        found = self._numbers.setdefault(id(array), len(self.arrays))
        if found == len(self.arrays):
            self.arrays.append(array)
        return found


def _product_entries(product: tuple[int, Product] | None, arguments: _Arguments) -> list[int]:
    if product is None:
        return [0]
    number, made = product
    operands = [arguments.number(each) for each in (made.a, made.b)]
    return [1, number, *operands, int(made.adj_a), int(made.adj_b)]


def call(groups: Sequence[Written], wanted: Any) -> list[Array]:
    """Updates the arrays of all groups.

    Args:
      groups: their programs.
      wanted: a boolean scalar; where it is false all arrays stay as they are.

    Returns:
      New values, group by group.
    """
    changed = [a for group in groups for a in group.arrays[: group.count]]
    arguments = _Arguments(changed)
    programs: dict[tuple[int, ...], int] = {}
    entries: list[int] = []
    for group in groups:
        entries.append(programs.setdefault(group.program, len(programs)))
        arrays = list(group.arrays)
        if group.product is not None:
            arrays[group.product[0]] = arrays[0]  # any of its shape
        entries += [arguments.number(each) for each in (*arrays, *group.numbers)]
        entries += _product_entries(group.product, arguments)
    encoded = [len(programs), *(n for p in programs for n in p), len(groups), *entries]
    results = [jax.ShapeDtypeStruct(a.shape, np.float32) for a in changed]
    given = [jnp.asarray(a, np.float32) for a in arguments.arrays]
    return list(
        native.call(
            "update",
            results,
            jnp.asarray(wanted),
            *given,
            aliases={i + 1: i for i in range(len(changed))},
            program=np.array(encoded, np.int64),
        )
    )
