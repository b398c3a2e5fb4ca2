"""The rules of optimizers as programs of the native library, written down by running them.

A rule runs once with terms in place of arrays and numbers; what it computes of them is the program.
Rules that need what the library has not (other powers) have none.
"""

from typing import Any

import numpy as np

from penstock.core.native_rules import CODES, MOST_SLOTS, MOST_VALUES, Program
from penstock.core.updates import Namespace, Term, Unfit
from penstock.ops.optimizer_rules import Attrs, Hyper, UpdateRule


class _Number(Term):
    """A scalar that a rule is given, of the dtype of the arrays."""

    __slots__ = ()

    def astype(self, dtype: Any) -> "_Number":
        """The number itself."""
        return self


class _Namespace(Namespace):
    """What `xp` is for a rule that is written down."""

    def zeros_like(self, value: Term) -> Term:
        """Zeros."""
        return value.operand(0.0)


class _Writer:
    """A program on the way: the values so far, by what they are made of."""

    def __init__(self, inputs: list[Term], arrays: int) -> None:
        self.inputs, self.arrays = inputs, arrays
        self.constants: dict[float, None] = {}  # in order
        self.steps: dict[int, Term] = {}
        self.alike: dict[int, bool] = {id(t): i >= arrays for i, t in enumerate(inputs)}

    def visit(self, term: Term) -> None:
        """Notes the steps that a term needs, each after those that it needs itself."""
        if id(term) in self.alike:
            return
        for each in term.of:
            self.visit(each)
        self.alike[id(term)] = all(self.alike[id(each)] for each in term.of)
        if term.code == "FILL":
            self.constants[term.detail] = None
        else:
            self.steps[id(term)] = term

    def program(self, results: list[Term]) -> Program:
        """The program.

        Raises:
          Unfit: the library cannot have it.
        """
        for term in results:
            self.visit(term)
        constants = tuple(self.constants)
        places = {id(t): i for i, t in enumerate(self.inputs)}
        first = len(places)
        ordered = sorted(self.steps.values(), key=lambda t: not self.alike[id(t)])  # stable
        made = first + len(constants)
        places.update((id(t), made + i) for i, t in enumerate(ordered))

        def place(term: Term) -> int:
            if term.code == "FILL":
                return first + constants.index(term.detail)
            return places[id(term)]

        ends = [place(t) for t in results]
        moved = any(e < self.arrays and e != i for i, e in enumerate(ends))
        if made + len(ordered) > MOST_VALUES or len(ends) > MOST_SLOTS or moved:
            raise Unfit
        code: list[int] = [len(ends), made - self.arrays, sum(self.alike[id(t)] for t in ordered)]
        code += [len(ordered), *ends, *[0] * (MOST_SLOTS - len(ends))]
        for term in ordered:
            if term.code not in CODES:
                raise Unfit
            code += [CODES.index(term.code), *map(place, term.of), 0, 0][:4]
        return Program(np.array(code, np.int32), constants, len(ordered))


def _written(update: UpdateRule, names: tuple[str, ...], attrs: Attrs) -> Program | None:
    slots = tuple(Term("ARRAY", ()) for _ in update.slots.split())
    grad, hyper = Term("ARRAY", ()), {n: _Number("NUMBER", ()) for n in names}
    rule = update.by_root or update.rule
    try:
        results = rule(_Namespace(), slots, grad, hyper, attrs)
        return _Writer([*slots, grad, *hyper.values()], len(slots) + 1).program(list(results))
    except Unfit:
        return None


class Programs:
    """The programs of one rule, for each of its attributes' values. Thread-safe.

    Attributes:
      flags: names of these attributes.
    """

    def __init__(self, update: UpdateRule) -> None:
        self._update = update
        self.flags = [part.split(":")[0].strip() for part in update.attrs.split(",")[1:]]
        self._made: dict[tuple[Any, ...], Program | None] = {}

    def program(self, hyper: Hyper, attrs: Attrs) -> Program | None:
        """The program for these attributes; None where there is none."""
        if self._update.by_root is not None and hyper["lr_power"] != -0.5:
            return None
        key = tuple([attrs[n] for n in self.flags])
        try:
            return self._made[key]
        except KeyError:
            program = self._made[key] = _written(self._update, tuple(hyper), attrs)
            return program


__all__ = ["Programs"]
