"""Seeds, and where each random operation stands in its stream.

The global seed belongs to the default graph, or to eager execution; an operation adds a seed of its
own, and both become the attributes `seed` and `seed2`. Two zeros mean that nobody chose: the stream
then starts at a random place.

A stateful operation reads on where it stopped. Its position is kept in `step.state` under the
node's name, so each session and function has its own; an eager call keeps it here, under the
operation and its attributes. `set_seed` in eager code starts functions and eager calls again, not
sessions. A node whose output size is not known when the graph is built moves on by a fixed large
stride each step instead of by the numbers it drew. In a loop an operation with seeds has a stream
for each round instead.
"""

import random
import secrets
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import determinism, rounds, streams
from penstock.core.context import state
from penstock.core.effects import drawn, switch
from penstock.graph.default_graph import get_default_graph
from penstock.ops.random_philox import Stream, fold, skip
from penstock.types import dims as d

DEFAULT_GRAPH_SEED = 87654321
LARGEST_SEED = 2**31 - 1
BLOCKS_PER_NUMBER = 256  # blocks that TensorFlow sets apart for each number drawn
UNKNOWN_SIZE_BLOCKS = 1 << 40  # blocks set apart for a draw of unknown size
_WORD = (1 << 64) - 1
_Taken = tuple[int, int, int]  # a key and the halves of a counter


class _EagerSeeds:
    """The global seed of eager execution, and what is derived from it."""

    def __init__(self) -> None:
        self.name = "random streams"
        self.lock = threading.RLock()  # guards: all fields, and the positions of steps
        self.seed: int | None = None
        self.derived = random.Random()
        self.positions: dict[Any, Any] = {}

    def reset(self, seed: int | None) -> None:
        """Starts again from a global seed, or without one."""
        with self.lock:
            self.seed = seed
            self.derived = random.Random(seed)
            self.positions = {}
            streams.start_again()

    def next_seed(self) -> int:
        """The seed of the next operation that has none of its own."""
        log = switch.log
        with self.lock if log is None else log.turn(None, "derived seed", (self,)):
            return self.derived.randint(0, LARGEST_SEED)


_eager = _EagerSeeds()


def set_seed(seed: Any) -> None:
    """Sets the global random seed.

    Args:
      seed: an integer, or None for no seed; what is no number is refused by the operations that
        draw. In an eager context it starts all eager operations again, and those in functions
        that were traced before; in a graph it is the graph's seed.

    Raises:
      TypeError: `seed` stands for no integer.

    Example:
      >>> set_seed(42); first = get_seed(None); set_seed(42); first == get_seed(None)
      True
    """
    plain = seed is None or isinstance(seed, (float, str))
    if not (plain or hasattr(seed, "__int__")):
        raise TypeError(
            f"set_seed: expected an integer seed, got {seed!r} of type {type(seed).__name__}. Pass"
            " one number."
        )
    number = seed if plain else int(seed)
    if state.graph is None:
        _eager.reset(number)
    else:
        get_default_graph().seed = number


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of an operation: from the global seed and the operation's own.

    Args:
      op_seed: the operation's seed, or None.

    Returns:
      Two integers in [0, 2**31 - 1], never both zero; (None, None) when no seed was set at all.

    Raises:
      RuntimeError: no seed was set, and operations must be deterministic.
      TypeError: a seed is a string.
    """
    graph = state.graph
    global_seed = _eager.seed if graph is None else _graph_seed(graph)
    if global_seed is None:
        if op_seed is None:
            if determinism.required():
                raise RuntimeError(determinism.NO_SEED)
            return None, None
        pair = DEFAULT_GRAPH_SEED, op_seed
    else:
        if op_seed is None:
            op_seed = _eager.next_seed() if graph is None else _next_in_graph(graph)
        pair = global_seed, op_seed
    if any(isinstance(s, (str, bytes)) for s in pair):
        raise TypeError(f"expected integer seeds, got {pair}. Leave the seed out for a random one.")
    first, second = (int(s) % LARGEST_SEED for s in pair)
    return (0, LARGEST_SEED) if (first, second) == (0, 0) else (first, second)


def _graph_seed(graph: Any) -> int | None:
    if graph.seed is None and getattr(graph, "building_function", False):
        outer = graph.outer_graph
        return _eager.seed if outer is None else _graph_seed(outer)
    return graph.seed  # type: ignore[no-any-return]


def _next_in_graph(graph: Any) -> int:
    with _eager.lock:
        count = getattr(graph, "_random_seed_counter", 0)
        graph._random_seed_counter = count + 1
        return count


def seed_attrs(op_seed: int | None) -> dict[str, Any]:
    """`get_seed` as the attributes of an operation."""
    first, second = get_seed(op_seed)
    return {"seed": first or 0, "seed2": second or 0}


def seed_pair(op_seed: int | None) -> tuple[int, int]:
    """Two seeds for a stateless operation; random ones when none was set."""
    first, second = get_seed(op_seed)
    if first is None or second is None:
        return seeds_from_outside(31)
    return first, second


def seeds_from_outside(bits: int) -> tuple[int, int]:
    """Two random numbers from the operating system; in a replay those that were drawn then."""
    first, second = drawn("random seeds", lambda: [secrets.randbits(bits), secrets.randbits(bits)])
    return first, second


class _Position:
    """Where an operation stands: key and 128-bit block number."""

    __slots__ = ("block", "key")

    def __init__(self, attrs: dict[str, Any]) -> None:
        seed, seed2 = attrs["seed"], attrs["seed2"]
        if seed == 0 and seed2 == 0:
            if determinism.required():
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    "When determinism is enabled, random ops must have a seed specified: expected "
                    "attributes seed and seed2 that are not both 0, got 0 and 0. Give one, or call "
                    "tf.random.set_seed before the op is made.",
                )
            seed, seed2 = secrets.randbits(64), secrets.randbits(64)
        self.key = seed & _WORD
        self.block = (seed2 & _WORD) << 64

    def take(self, blocks: int) -> _Taken:
        """The stream from here: its key and the halves of its counter. Moves on by `blocks`."""
        block = self.block
        self.block = (block + blocks) & ((1 << 128) - 1)
        return self.key, block & _WORD, block >> 64

    def give_back(self, stream: np.ndarray[Any, Any], blocks: int) -> None:
        """Undoes a `take` that gave `stream`, unless others have followed."""
        block = int(stream[1]) | int(stream[2]) << 64
        if self.block == (block + blocks) & ((1 << 128) - 1):
            self.block = block


def _take(step: Any, key: Any, attrs: dict[str, Any], blocks: int) -> _Taken:
    """The stream of an operation of a step, or of an eager one without a step."""
    log = switch.log
    if log is None:
        with _eager.lock:
            return _take_now(step, key, attrs, blocks)
    moved: list[bool] = []

    def draw() -> list[int]:
        moved.append(True)
        with _eager.lock:
            return list(_take_now(step, key, attrs, blocks))

    name = f"{key[0] if isinstance(key, tuple) else key} (stream)"
    first, low, high = log.drawn(step, name, draw)
    if not moved:  # it came from a log; what follows the log goes on from here
        draw()
    return first, low, high


def _take_now(step: Any, key: Any, attrs: dict[str, Any], blocks: int) -> _Taken:
    positions = _eager.positions if step is None else streams.positions_of(step, "random")
    found = positions.get(key)
    if found is None:
        found = positions[key] = _Position(attrs)
    taken: _Taken = found.take(blocks)
    return taken


def stream_of(values: Any) -> Stream:
    """A stream of uint64[3]: key, low and high half of the counter."""
    return Stream(values[0], values[1], values[2])


def _scalars(taken: _Taken) -> Stream:
    key, low, high = taken
    return Stream(np.uint64(key), np.uint64(low), np.uint64(high))


def stream_on_host(ctx: Any, blocks: int) -> Stream:
    """The stream that a host kernel reads now, when it sets `blocks` blocks apart."""
    step, given = ctx.step, getattr(ctx, "step_value", None)
    if given is not None:
        return stream_of(given)
    if step is not None:
        return _scalars(_take(step, rounds.key_of(ctx.op_name), ctx.attrs, blocks))
    key = (ctx.op_name, tuple(ctx.attrs.items()))
    return _scalars(_take(None, key, ctx.attrs, blocks))


class StepStream:
    """A step input: where a node's stream stands.

    In a round of a loop a node that has seeds reads a stream found from the round's number, see
    `penstock.runtime.draws`.
    """

    def __init__(
        self, blocks_of: Callable[[int, Any], int], count_of: Callable[[Any], Any]
    ) -> None:
        self._blocks_of = blocks_of
        self._count_of = count_of

    def __call__(self, step: Any, node: Any) -> np.ndarray[Any, Any]:
        """uint64[3]: the stream that the node reads now."""
        if step is None:
            raise errors.InternalError(
                None, None, "a random operation runs eagerly on its host kernel only"
            )
        if rounds.path() and _has_seeds(node.attrs):
            return self.start(node, 0)
        taken = _take(step, rounds.key_of(node.name), node.attrs, self._blocks(node))
        return np.array(taken, np.uint64)

    def _blocks(self, node: Any) -> int:
        count = self._count_of(node)
        return UNKNOWN_SIZE_BLOCKS if count is None else self._blocks_of(count, node)

    def give_back(self, step: Any, node: Any, stream: np.ndarray[Any, Any]) -> None:
        """Undoes that a node was given `stream`, unless others have read on from there."""
        if rounds.path() and _has_seeds(node.attrs):
            return  # nothing moved
        with _eager.lock:
            position = streams.positions_of(step, "random").get(rounds.key_of(node.name))
            if position is not None:
                position.give_back(stream, self._blocks(node))

    def start(self, node: Any, skipped: int) -> np.ndarray[Any, Any]:
        """uint64[3]: the stream in the rounds that run now, without its first blocks."""
        stream = _scalars(_Position(node.attrs).take(0))
        with np.errstate(over="ignore"):
            for number in rounds.path():
                stream = fold(np, stream, np.uint64(number))
            return np.array(skip(np, stream, np.uint64(skipped)), np.uint64)

    @staticmethod
    def in_round(xp: Any, start: Any, number: Any) -> Any:
        """uint64[3]: the stream of a round of the loop whose run starts at `start`."""
        return xp.stack(fold(xp, stream_of(start), number))


def _has_seeds(attrs: dict[str, Any]) -> bool:
    return bool(attrs["seed"] or attrs["seed2"])


def _elements(node: Any) -> int | None:
    return d.num_elements(node.shapes[0])


def step_stream(
    blocks_of: Callable[[int, Any], int], count_of: Callable[[Any], Any] = _elements
) -> StepStream:
    """The step input of a random operation.

    Args:
      blocks_of: what `count` numbers of a node take up, in blocks.
      count_of: how many numbers a node draws, None where that is not known.
    """
    return StepStream(blocks_of, count_of)
