"""Classes drawn at random to train with, instead of all of them.

Every sampler draws `num_sampled` classes from its distribution over [0, range_max), without
repeating one when `unique`, and says how often each class is to be expected in such a draw. Numbers
are TensorFlow's for the same seeds.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native_draws
from penstock.core.file_object import GFile
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.class_distributions import (
    Distribution,
    Fixed,
    Learned,
    LogUniform,
    Uniform,
    Words,
)
from penstock.ops.composing import named
from penstock.ops.random_philox import Stream
from penstock.ops.random_state import seed_attrs, stream_on_host
from penstock.ops.sparse_common import Array, invalid
from penstock.types import dims as d
from penstock.types.dims import Dims

BLOCKS_PER_CLASS = 512  # blocks of random words set apart for each class drawn
AT_ONCE = 1 << 16  # draws that are looked through for different classes; a draw more at a time then
SEEDS = "seed: int = 0, seed2: int = 0"
COUNTS = "num_true: int >= 1, num_sampled: int >= 1, unique: bool"
OUTPUTS = "sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float"


_LOWEST = np.finfo(np.float32).min


def _draw(distribution: Distribution, stream: Stream, count: int, unique: bool) -> tuple[Any, int]:
    """Classes, a sequence, and how many draws it took."""
    if not unique:
        return distribution.draw_many(Words(stream), count), count
    drawn = 2 * count
    while drawn <= AT_ONCE:
        classes = np.asarray(distribution.draw_many(Words(stream), drawn))
        first = np.sort(np.unique(classes, return_index=True)[1])[:count]
        if len(first) == count:
            return classes[first], int(first[-1]) + 1
        drawn *= 4
    source, tries = Words(stream), 0
    found: dict[int, None] = {}
    while len(found) < count:
        found.setdefault(distribution.draw(source))
        tries += 1
    return list(found), tries


def _expected(distribution: Distribution, classes: Array, tries: int, drawn: int) -> Array:
    """How often a class is to be expected, by TensorFlow's rule: what was tried again says.

    Each step is rounded to float32, as there.
    """
    shares, times = distribution.probabilities(classes).astype(np.float32), np.float32(tries)
    if tries == drawn:
        counted = shares * times
    else:
        none = times * np.log1p(-shares.astype(np.float64)).astype(np.float32)
        counted = -np.expm1(none.astype(np.float64)).astype(np.float32)
    if counted.ndim:
        return counted
    found = np.empty(classes.shape, np.float32)
    found.fill(counted)
    return found


def _sampled(
    ctx: KernelContext, distribution: Distribution, classes: Array, count: int, unique: bool
) -> list[Array]:
    if unique and count > distribution.size:
        raise invalid(
            f"Sampler's range is too small. Expected num_sampled <= {distribution.size}, got "
            f"{count}. Draw fewer, or with unique=False."
        )
    _check_classes(classes, distribution.size)
    stream = stream_on_host(ctx, BLOCKS_PER_CLASS * count)
    with distribution.lock:
        drawn, tries = _draw(distribution, stream, count, unique)
        sampled = np.asarray(drawn, np.int64)
        every = np.concatenate([classes.reshape(-1), sampled])
        expected, size = _expected(distribution, every, tries, count), classes.size
        if isinstance(distribution, Learned):
            distribution.learn(classes)
    return [sampled, expected[:size].reshape(classes.shape), expected[size:]]


def _check_classes(classes: Array, size: int) -> None:
    # As numbers without a sign negative ones are beyond all others.
    if classes.size and np.maximum.reduce(classes.view(np.uint64), None) >= size:
        wrong = classes[(classes < 0) | (classes >= size)]
        raise invalid(f"`true_candidate` out of range [0, {size}), received {wrong[0]}.")


def _shapes(c: ShapeContext) -> list[Dims]:
    classes, count, columns = (
        c.rank(0, 2, "true_classes"),
        c.attr("num_sampled"),
        c.attr("num_true"),
    )
    assert classes is not None
    if classes[1] not in (None, columns):
        c.fail(f"true_classes of num_true = {columns} columns", f"shape {d.text(classes)}")
    return [(count,), (classes[0], columns), (count,)]


def _define(
    name: str, attrs: str, doc: str, make: Callable[[KernelContext], Distribution]
) -> OpDef:
    op = define_op(
        f"{name}CandidateSampler(true_classes: int64; {COUNTS}, {attrs}{SEEDS}) -> {OUTPUTS}",
        shape=_shapes,
        stateful=True,
        doc=doc,
    ).not_differentiable("classes are whole numbers")

    @host_kernel(op, draws=True)
    def run(
        ctx: KernelContext, true_classes: Array, *, num_sampled: int, unique: bool
    ) -> list[Array]:
        return _sampled(ctx, make(ctx), true_classes, num_sampled, unique)

    return op


RANGE = "range_max: int >= 1, "
UNIFORM = _define(
    "Uniform", RANGE, "Draws classes that are all as likely.",
    lambda ctx: Uniform(ctx.attrs["range_max"]),
)  # fmt: skip
LOG_UNIFORM = _define(
    "LogUniform", RANGE, "Draws classes, the first ones most often, as Zipf's law has it.",
    lambda ctx: LogUniform(ctx.attrs["range_max"]),
)  # fmt: skip


class _Learning:
    """What eager learned samplers have seen, by attributes."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # guards: eager, and the entries of steps
        self.eager: dict[Any, Any] = {}

    def of(self, ctx: KernelContext) -> Learned:
        """The distribution of an operation: of its node in a session or function, or eagerly."""
        table = self.eager if ctx.step is None else ctx.step.state
        attrs = tuple(ctx.attrs.items()) if ctx.step is None else ()
        with self.lock:
            key = ("learned classes", ctx.op_name, attrs)
            if key not in table:
                table[key] = Learned(ctx.attrs["range_max"])
            return table[key]  # type: ignore[no-any-return]


_learning = _Learning()
LEARNED = _define(
    "LearnedUnigram", RANGE, "Draws classes as often as they were true ones so far.", _learning.of
)
UNSAFE = _define(
    "ThreadUnsafeUnigram", RANGE, "The same as LearnedUnigramCandidateSampler.", _learning.of
)


def _fixed(ctx: KernelContext) -> Fixed:
    attrs = ctx.attrs
    given: list[float] = list(attrs["unigrams"])
    if not given and not attrs["vocab_file"]:
        raise invalid("Must provide either vocab_file or unigrams.")
    if given and attrs["vocab_file"]:
        raise invalid("Must only provide one of vocab_file and unigrams, got both.")
    if not given:
        given = _weights_in(attrs["vocab_file"])
    found = _of_unigrams(
        tuple(given), attrs["distortion"], attrs["shard"], attrs["num_shards"],
        attrs["num_reserved_ids"],
    )  # fmt: skip
    if found.size != attrs["range_max"]:
        raise invalid(
            f"range is {attrs['range_max']} must be equal to weights size  {found.size}. "
            "Reserved ids count, and only the weights of the shard."
        )
    return found


@functools.lru_cache(maxsize=16)
def _of_unigrams(
    given: tuple[float, ...], distortion: float, shard: int, shards: int, reserved: int
) -> Fixed:
    powered = np.array(given, np.float32).astype(np.float64) ** np.float64(np.float32(distortion))
    return Fixed(np.concatenate([np.zeros(reserved), powered[shard::shards]]))


def _weights_in(path: Any) -> list[float]:
    """The last column of a file of comma-separated values."""
    with GFile(path) as file:
        lines = [line for line in file.read().splitlines() if line]
    return [float(line.rsplit(",", 1)[-1]) for line in lines]


FIXED = _define(
    "FixedUnigram",
    f"{RANGE}vocab_file: string = '', distortion: float = 1.0, num_reserved_ids: int = 0, "
    "num_shards: int >= 1 = 1, shard: int >= 0 = 0, unigrams: list(float) = [], ",
    "Draws classes by given weights.",
    _fixed,
)
ALL = define_op(
    f"AllCandidateSampler(true_classes: int64; {COUNTS}, {SEEDS}) -> {OUTPUTS}",
    shape=_shapes,
    stateful=True,
    doc="Draws every class once: the classes are [0, num_sampled).",
).not_differentiable("classes are whole numbers")


@host_kernel(ALL, draws=True)
def _all(true_classes: Array, *, num_sampled: int) -> list[Array]:
    _check_classes(true_classes, num_sampled)
    ones = np.ones(num_sampled, np.float32)
    return [np.arange(num_sampled), np.ones(true_classes.shape, np.float32), ones]


def _hits_shape(c: ShapeContext) -> list[Dims]:
    c.merge(c.rank(0, 2, "true_classes"), (None, c.attr("num_true")))
    c.rank(1, 1, "sampled_candidates")
    return [(None,), (None,), (None,)]


HITS = define_op(
    f"ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64; num_true: int, "
    f"{SEEDS}) -> indices: int32, ids: int64, weights: float",
    shape=_hits_shape,
    doc="Where true classes were drawn: their rows and places, and the lowest float32 for each.",
).not_differentiable("positions are whole numbers")


@host_kernel(HITS)
def _hits(true_classes: Array, sampled: Array, *, num_true: int) -> list[Array]:
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise invalid(
            f"true_classes must have num_true columns: expected [B, {num_true}], got "
            f"{list(true_classes.shape)}."
        )
    if sampled.ndim != 1:
        raise invalid(f"sampled_candidates must be a vector, got shape {list(sampled.shape)}.")
    given = native_draws.hits(sampled, true_classes)
    if given is not None:
        rows, ids = given
        lowest = np.empty(len(ids), np.float32)
        lowest.fill(_LOWEST)
        return [rows, ids, lowest]
    places = {value: i for i, value in enumerate(sampled.tolist())}
    found = [
        (row, places[value])
        for row, values in enumerate(true_classes.tolist())
        for value in values
        if value in places
    ]
    rows, ids = np.array(found, np.int64).reshape(-1, 2).T
    return [rows.astype(np.int32), ids, np.full(len(found), _LOWEST)]


# ---- public functions

_DOC = """{word}

Args:
  true_classes: int64[B, num_true], the classes that are right.
  num_true: the number of right classes of an example.
  num_sampled: the number of classes to draw.
  unique: whether no class is drawn twice.
  range_max: the number of classes.
  seed: integer, or None; see `tf.random.set_seed`.
  name: the name of the operation in a graph.

Returns:
  The classes int64[num_sampled], and how often they are expected: float32[B, num_true] for the
  right ones and float32[num_sampled] for the drawn ones.

Raises:
  InvalidArgumentError: a class is out of range, or more unique classes are wanted than there are.
"""


def _sample(
    op: OpDef,
    classes: Any,
    num_true: int,
    count: int,
    unique: bool,
    more: Any,
    seed: Any,
    name: Any,
) -> Any:
    attrs = {
        "num_true": num_true,
        "num_sampled": count,
        "unique": unique,
        **more,
        **seed_attrs(seed),
    }
    return named(op, (classes,), attrs, name)


def _public(op: OpDef, name: str) -> Callable[..., Any]:
    def sampler(
        true_classes: Any,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        more = {"range_max": range_max}
        return _sample(op, true_classes, num_true, num_sampled, unique, more, seed, name)

    sampler.__name__ = sampler.__qualname__ = name
    sampler.__doc__ = _DOC.format(word=op.doc)
    return sampler


uniform_candidate_sampler = _public(UNIFORM, "uniform_candidate_sampler")
log_uniform_candidate_sampler = _public(LOG_UNIFORM, "log_uniform_candidate_sampler")
learned_unigram_candidate_sampler = _public(LEARNED, "learned_unigram_candidate_sampler")


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Any = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws classes by given weights.

    Args:
      true_classes: int64[B, num_true], the classes that are right.
      num_true: the number of right classes of an example.
      num_sampled: the number of classes to draw.
      unique: whether no class is drawn twice.
      range_max: the number of classes.
      vocab_file: a file of a line for each class whose last column is its weight.
      distortion: the power that weights are raised to.
      num_reserved_ids: classes of weight 0 before the others.
      num_shards: the number of parts that the classes are dealt out to.
      shard: which of them to draw from.
      unigrams: the weights, instead of a file.
      seed: integer, or None; see `tf.random.set_seed`.
      name: the name of the operation in a graph.

    Returns:
      As `uniform_candidate_sampler`.
    """
    more = {
        "range_max": range_max, "vocab_file": vocab_file, "distortion": distortion,
        "num_reserved_ids": num_reserved_ids, "num_shards": num_shards, "shard": shard,
        "unigrams": list(unigrams),
    }  # fmt: skip
    return _sample(FIXED, true_classes, num_true, num_sampled, unique, more, seed, name)


def all_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, seed: int | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Draws every class once, for tests and small problems; see `uniform_candidate_sampler`."""
    return _sample(ALL, true_classes, num_true, num_sampled, unique, {}, seed, name)


def compute_accidental_hits(
    true_classes: Any, sampled_candidates: Any, num_true: int, seed: int | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Where right classes are among the drawn ones.

    Args:
      true_classes: int64[B, num_true].
      sampled_candidates: int64[S].
      num_true: the number of right classes of an example.
      seed: not used.
      name: the name of the operation in a graph.

    Returns:
      For each hit its row in the batch (int32), its place among the drawn classes (int64) and the
      lowest float32.
    """
    attrs = {"num_true": num_true, **seed_attrs(seed)}
    return named(HITS, (true_classes, sampled_candidates), attrs, name)
