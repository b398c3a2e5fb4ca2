"""Where the random operations of functions and sessions stand in their streams.

Positions live in the state that a step keeps for the next one, by `penstock.core.rounds.key_of`.
`set_seed` in eager code starts those of functions again, as it does those of eager operations;
sessions have their graph's seed.
"""

from typing import Any

from penstock.core.resources import eager_resources


class _Epoch:
    """How often eager code has set the global seed. Thread-safe: numbers are only compared."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0


_epoch = _Epoch()


def start_again() -> None:
    """Forgets the positions of functions: each stream starts again when it is next read."""
    _epoch.number += 1


def positions_of(step: Any, kind: str) -> dict[Any, Any]:
    """The positions of one kind in a step's state; the caller holds the lock that guards them.

    Args:
      step: the step that reads streams.
      kind: whose positions: one user of this function.
    """
    now = _epoch.number if step.resources is eager_resources else 0
    kept = step.state.get(kind)
    if kept is None or kept[0] != now:
        kept = step.state[kind] = (now, {})
    return kept[1]  # type: ignore[no-any-return]


__all__ = ["positions_of", "start_again"]
