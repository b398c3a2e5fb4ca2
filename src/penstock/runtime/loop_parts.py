"""What a loop is made of once it is rewritten, and what is known of it before.

Descriptions alone: `penstock.runtime.loop_form` makes them, `penstock.runtime.traced_loops` runs
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.runtime.loop_nodes import Counter
from penstock.runtime.program import Node, Program


@dataclass(frozen=True, slots=True)
class Rows:
    """An array of which rounds read rows: input `feed` of the loop, `axis` in front.

    Attributes:
      listed: the input is a list, whose elements are the rows.
    """

    feed: int
    axis: int = 0
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Rows `begin` to `end` of input `feed` of the loop, a matrix; columns when `across`."""

    feed: int
    begin: int
    end: int
    across: bool


@dataclass(frozen=True, slots=True)
class RowProduct:
    """All rows of `rows` times input `weight` of the loop, or a part of it, as `node` does."""

    rows: Rows
    weight: int | Part
    node: Node


Before = Rows | Part | RowProduct  # what is made before the loop


@dataclass(frozen=True, slots=True)
class Operand:
    """Rows of all rounds.

    Attributes:
      held: "input" where an input of the loop holds them, else "stack".
      number: of the input or the stack.
    """

    held: str
    number: int


@dataclass(frozen=True, slots=True)
class Term:
    """What all rounds together add: `node` on the rows of all rounds."""

    node: Node
    operands: tuple[Operand, ...]


@dataclass
class LoopForm:
    """A loop rewritten.

    Attributes:
      rounds: how often it runs.
      program: a round. Its feeds are the inputs of the loop, then what `before` makes; its fetches
        the `carried` variables, then a row for each of `stacks`.
      carried: the loop variables that go from round to round.
      counters: those whose value follows from the round's number.
      before: what is made before the loop.
      stacks: for each stack of rows the index of the row that a round gives.
      sums: for each loop variable that adds up its terms.
      vectors: for each that collects a counter, what it holds after the loop.
      copies: for each that collects all rows of an array in their order, that array.
      zeroed: lists of which the loop leaves zeros.
      numbers: for each list to which each round appends a counter, what the loop appends.
      lengths: for each list that grew or shrank, its length in all rounds and after them.
      indices: the numbers of rows that a round asks for; keys are (id of the node, its output).
    """

    rounds: int
    program: Program
    carried: list[int]
    counters: dict[int, Counter]
    before: list[Before] = field(default_factory=list)
    stacks: list[Counter] = field(default_factory=list)
    sums: dict[int, list[Term]] = field(default_factory=dict)
    vectors: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    copies: dict[int, Rows] = field(default_factory=dict)
    zeroed: list[int] = field(default_factory=list)
    numbers: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    lengths: dict[int, tuple[int, int]] = field(default_factory=dict)
    indices: dict[tuple[int, int], Counter] = field(default_factory=dict)

    def describe(self) -> list[str]:
        """One line for each thing that was taken out of the rounds."""
        lines = [f"counter {self.program.feeds[i].name}" for i in self.counters]
        grown = {**self.numbers, **self.lengths}
        lines += [f"one length in all rounds: {self.program.feeds[i].name}" for i in grown]
        for each in self.before:
            if isinstance(each, RowProduct):
                lines.append(f"one product for all rows before the loop: {each.node.name}")
        for terms in self.sums.values():
            names = ", ".join(term.node.name for term in terms)
            lines.append(f"one for all rounds after the loop: {names}")
        return lines


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """What is known of a loop's inputs.

    Attributes:
      rounds: how often the loop runs.
      starts: values of integer scalars.
      fixed: those that are the same in every round.
      dims: shapes; of a list that of its elements in a row; missing where there is none.
      listed: which are lists.
      lengths: of lists.
      vectors: values of vectors of integers, and of lists of them.
    """

    rounds: int
    starts: Mapping[int, int]
    fixed: frozenset[int]
    dims: Mapping[int, tuple[int, ...]]
    listed: frozenset[int] = frozenset()
    lengths: Mapping[int, int] = field(default_factory=dict)
    vectors: Mapping[int, Sequence[int]] = field(default_factory=dict)


__all__ = [
    "Before",
    "LoopFacts",
    "LoopForm",
    "Operand",
    "Part",
    "RowProduct",
    "Rows",
    "Term",
]
