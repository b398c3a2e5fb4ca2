"""Stages that work on many elements at once.

A function whose operations work on rows (`vectorize`) runs once for many elements where the stage
before it gives them at once. Where it fails so, they are given to it one by one, so that the error
is that of the element that fails, and no other is lost.
"""

from penstock.data import restoring
from penstock.data.stages import (
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    rows_from,
    rows_of,
    stack,
)

BLOCK = 64  # elements that a function of rows is given at once where nobody asks for more, ...
BLOCK_BYTES = 1 << 18  # ... of this size at most, but one


class BlockStage(UnaryStage):
    """Works on many elements of a stacked input at once.

    A block is what was taken of the input at once: results, where all could be made at once, else
    the elements themselves, each of which is then worked on by itself.
    """

    stacked = True

    def __init__(self, input: Stage, description: Description) -> None:
        super().__init__(input)
        self._of = description  # of the results
        self._block: Element | None = None
        self._rows: list[Element] | None = None  # the block as elements, once one was asked for
        self._made = False  # whether the block holds results
        self._at = 0
        self._next_size = 1  # of a block where nobody says: the first one is soon there
        self._taken = 1, 0  # elements that were taken last, and their bytes

    def of_block(self, found: Element) -> Element:
        """The results for a block of elements; raises where one of them fails."""
        raise NotImplementedError(type(self).__name__)

    def of_one(self, found: Element) -> Element | None:
        """The result for one element; None where it is left out."""
        raise NotImplementedError(type(self).__name__)

    def check_wanted(self) -> None:
        """Fails when nobody waits for a result any more; see `Run.check_wanted`."""

    def _take(self, count: int) -> bool:
        """Takes a block; False when there are no more elements."""
        found = self.input.columns(count)
        if found is None:
            return False
        self._taken = rows_of(found), sum(c.nbytes for c in found)
        # the elements are there, also where Ctrl-C ends the function
        self._block, self._rows, self._at, self._made = found, None, 0, False
        try:
            made = self.of_block(found)
        except Exception:  # whichever element it was: it will say so itself
            return True
        self._block, self._made = made, True
        return True

    def _take_some(self) -> bool:
        """Takes a block of a size of our own."""
        size = self._next_size
        if not self._take(size):
            return False
        assert self._block is not None
        taken, before = self._taken
        after = sum(c.nbytes for c in self._block)  # nothing, where no element was chosen
        room = BLOCK_BYTES * taken // (1 + max(before, after))
        self._next_size = max(1, min(2 * size, BLOCK, room))
        return True

    def _pop(self) -> Element | None:
        """The next of the block; None at its end."""
        block = self._block
        if block is None:
            return None
        if self._rows is None:
            self._rows = rows_from(block)
        at = self._at
        if at == len(self._rows):
            self._block = self._rows = None
            return None
        self._at = at + 1
        return self._rows[at]

    def next(self) -> Element | None:
        """The next result."""
        while True:
            found = self._pop()
            if found is None:
                if not self._take_some():
                    return None
            elif self._made:
                return found
            elif (made := self.of_one(found)) is not None:
                return made
            self.check_wanted()

    def columns(self, count: int) -> Element | None:
        """The next results."""
        while True:
            if self._block is None and not self._take(count):
                return None
            assert self._block is not None
            if not self._made:
                found = self.next()
                return None if found is None else stack([found], self._of.types)
            block, at = self._block, self._at
            self._at = at + count
            if self._at >= rows_of(block):
                self._block = self._rows = None
            if at == 0 and rows_of(block) <= count:
                found = block
            else:
                found = tuple(column[at : at + count] for column in block)
            if rows_of(found):
                return found
            self.check_wanted()

    def save(self) -> State:
        """Where the input is, and what is left of the block."""
        block = self._block
        left = None if block is None else [column[self._at :] for column in block]
        return {**super().save(), "block": left, "made": self._made}

    def restore(self, state: State) -> None:
        """Puts the input there, and has the block again."""
        super().restore(state)
        block, kind = state["block"], self._of.kind
        made = self._made = restoring.flag(state["made"], kind)
        of = self._of if made else self._of.inputs[0]
        self._block = None if block is None else restoring.columns(block, of, kind)
        self._rows, self._at = None, 0
