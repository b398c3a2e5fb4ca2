"""Stochastic dual coordinate ascent for linear models: `SdcaOptimizer` and what goes with it.

One call goes over the examples once. Each has a dual variable, which is set to the best one for it
while the others stay, and the weights follow at once. An example's state is a row of four numbers:
its dual variable, its loss, the conjugate loss of the dual variable that it came with, its weight.

The order of the examples is shuffled, the same way for the same number of them; with `adaptive`
those whose dual variable is far from the best one are taken more often, others not at all.
"""

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.sdca_losses import LOSSES, Loss
from penstock.ops.string_hashes import fingerprints_128
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
_HOST = 1 << 62
_WHY = "it is a step of training itself"
_LOSSES = "{" + ", ".join(f"'{name}'" for name in LOSSES) + "}"


def _optimizer_shapes(c: ShapeContext) -> list[Dims]:
    sparse, dense = c.attr("num_sparse_features"), c.attr("num_dense_features")
    valued = c.attr("num_sparse_features_with_values")
    weights = 3 * sparse + valued + dense + 2  # where sparse_weights begin
    return [(None, 4), *(c.shape(weights + i) for i in range(sparse + dense))]


def _define(name: str, adaptive: str) -> OpDef:
    """The optimizer; its two versions differ in how an attribute is spelt."""
    op = define_op(
        f"{name}(sparse_example_indices: num_sparse_features*int64, "
        "sparse_feature_indices: num_sparse_features*int64, "
        "sparse_feature_values: num_sparse_features_with_values*float, "
        "dense_features: num_dense_features*float, example_weights: float, "
        "example_labels: float, sparse_indices: num_sparse_features*int64, "
        "sparse_weights: num_sparse_features*float, dense_weights: num_dense_features*float, "
        f"example_state_data: float; loss_type: {_LOSSES}, {adaptive}: bool = False, "
        "num_sparse_features: int >= 0, num_sparse_features_with_values: int >= 0, "
        "num_dense_features: int >= 0, l1: float, l2: float, num_loss_partitions: int >= 1, "
        "num_inner_iterations: int >= 1) -> out_example_state_data: float, "
        "out_delta_sparse_weights: num_sparse_features*float, "
        "out_delta_dense_weights: num_dense_features*float",
        shape=_optimizer_shapes,
        fallible=True,
        doc="A pass of stochastic dual coordinate ascent over examples; num_inner_iterations "
        "changes nothing.",
    ).not_differentiable(_WHY)

    @host_kernel(op, limit=_HOST)
    def run(
        ctx: Any, example_ids: list[Array], feature_ids: list[Array], values: list[Array],
        dense: list[Array], example_weights: Array, labels: Array, ids: list[Array],
        sparse_weights: list[Array], dense_weights: list[Array], state: Array,
        *, loss_type: Any, l1: float, l2: float, num_loss_partitions: int,
    ) -> list[Array]:  # fmt: skip
        _check(example_weights, labels, state, len(example_ids) + len(dense))
        groups = [
            *(_sparse_group(len(labels), *parts) for parts in
              zip(example_ids, feature_ids, _padded(values, len(ids)), ids, sparse_weights,
                  strict=True)),
            *(_dense_group(len(labels), *parts) for parts in
              zip(dense, dense_weights, strict=True)),
        ]  # fmt: skip
        kind = loss_type.decode() if isinstance(loss_type, bytes) else loss_type
        with np.errstate(all="ignore"):  # without strength of L2 all is infinite or no number
            model = _Model(groups, l1, np.float64(l2), num_loss_partitions, LOSSES[kind])
            made = model.trained(labels, example_weights, state, ctx.attrs[adaptive])
        return [made, *(g.delta.reshape(g.shape).astype(np.float32) for g in groups)]

    return op


OPTIMIZER = _define("SdcaOptimizer", "adaptative")  # as TensorFlow spells it
OPTIMIZER_V2 = _define("SdcaOptimizerV2", "adaptive")


def _invalid(sentence: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, sentence)


def _check(weights: Array, labels: Array, state: Array, features: int) -> None:
    if not features:
        raise _invalid("Requires at least one feature to train, got none. Give some.")
    if weights.ndim != 1 or labels.ndim != 1 or len(weights) != len(labels):
        raise _invalid(
            f"Expected {weights.size} example labels but got {labels.size}: there is one for each "
            "of the example weights."
        )
    if state.shape != (len(labels), 4):
        raise _invalid(
            f"Expected shape [{len(labels)},4] for example_state_data, got {list(state.shape)}. "
            "Start with zeros."
        )


def _padded(values: list[Array], count: int) -> list[Array | None]:
    """The values of groups of features: the first have some, those of the others are 1."""
    return [*values, *[None] * (count - len(values))]


@dataclass(slots=True)
class _Group:
    """A group of features, and the weights that it has.

    Attributes:
      starts: row i's entries are starts[i] to starts[i + 1].
      places: for each entry, the weight that it belongs to.
      values: for each entry, the feature's value.
      weights: the weights before the step, flat.
      delta: what is added to them.
      shape: the weights' own.
    """

    starts: Array
    places: Array
    values: Array
    weights: Array
    delta: Array
    shape: tuple[int, ...]

    def row(self, i: int) -> tuple[Array, Array]:
        """Which weights an example has, and its values there."""
        part = slice(self.starts[i], self.starts[i + 1])
        return self.places[part], self.values[part]


def _group(starts: Array, places: Array, values: Array, weights: Array) -> _Group:
    flat = weights.reshape(-1).astype(np.float64)
    kept = values.reshape(-1).astype(np.float64)
    return _Group(starts, places, kept, flat, np.zeros_like(flat), weights.shape)


def _dense_group(count: int, features: Array, weights: Array) -> _Group:
    if features.ndim != 2 or len(features) < count:
        raise _invalid(
            f"Dense features must be a matrix with a row for each of {count} examples, got shape "
            f"{list(features.shape)}."
        )
    width = features.shape[1]
    if width > weights.size:
        raise _invalid(
            f"More dense features than we have parameters for: {width}, with {weights.size} "
            "weights."
        )
    starts = np.arange(count + 1) * width
    places = np.tile(np.arange(width), count)
    return _group(starts, places, features[:count], weights)


def _sparse_group(
    count: int, examples: Array, features: Array, values: Array | None, ids: Array, weights: Array
) -> _Group:
    if examples.shape != features.shape or examples.ndim != 1:
        raise _invalid(
            f"Found mismatched example_indices and feature_indices {examples.tolist()} vs "
            f"{features.tolist()}. Give an example for each feature."
        )
    if values is not None and values.shape != features.shape:
        raise _invalid(
            f"Found {values.size} sparse feature values for {features.size} feature indices. Give "
            "one for each."
        )
    if ids.shape != weights.reshape(-1).shape:
        raise _invalid(f"Found {ids.size} sparse indices for {weights.size} sparse weights.")
    order = np.argsort(ids, kind="stable")
    found: Array = np.searchsorted(ids[order], features)
    known: Array = found < len(ids)
    known[known] = ids[order][found[known]] == features[known]
    if not known.all():
        raise _invalid(
            f"Found sparse feature indices out of valid range: {int(features[~known][0])}. Give a "
            "weight for each in sparse_indices."
        )
    starts = _starts(count, examples)
    places = order[found]
    for i in range(count):
        part = places[starts[i] : starts[i + 1]]
        if len(np.unique(part)) != len(part):
            raise _invalid(
                f"Duplicate index in sparse vector: example {i} has features "
                f"{features[starts[i] : starts[i + 1]].tolist()}. Add up their values."
            )
    ones = np.ones(features.shape) if values is None else values
    return _group(starts, places, ones, weights)


def _starts(count: int, examples: Array) -> Array:
    """Where each example's entries begin; entries that come too late for theirs are left out."""
    starts, at = np.zeros(count + 1, np.int64), 0
    for i in range(count):
        starts[i] = at
        while at < len(examples) and examples[at] == i:
            at += 1
    starts[count] = at
    return starts


@dataclass(slots=True)
class _Model:
    """Groups of features with their weights, and how they are trained."""

    groups: list[_Group]
    l1: float
    l2: Any  # numpy.float64, whose quotients by zero are no errors
    partitions: int
    loss: Loss

    def trained(self, labels: Array, weights: Array, state: Array, adaptive: bool) -> Array:
        """The states of the examples after each was taken once; `delta` holds what weights gain."""
        made = state.astype(np.float64)
        try:
            wanted = [self.loss.label(float(y)) for y in labels]
        except ValueError as problem:
            raise _invalid(f"{problem}. Give the labels of this loss.") from None
        rng = np.random.default_rng(len(labels))
        if adaptive and len(labels):
            chances = self._chances(wanted, weights, made)
            order = rng.choice(len(labels), len(labels), p=chances)
        else:
            order = rng.permutation(len(labels))
        for i in order.tolist():
            made[i] = self._step(i, wanted[i], float(weights[i]), float(made[i, 0]))
        return made.astype(np.float32)

    def _step(self, i: int, y: float, weight: float, dual: float) -> tuple[float, ...]:
        before, now, norm = self._prediction(i)
        scaled = float(self.partitions * weight * norm / self.l2)
        best = self.loss.dual(y, now, dual, scaled)
        step = (best - dual) * weight / self.l2
        for group in self.groups:
            places, values = group.row(i)
            group.delta[places] += step * values
        primal, conjugate = self.loss.primal(y, before), self.loss.conjugate(y, dual)
        return best, primal * weight, conjugate * weight, weight

    def _prediction(self, i: int) -> tuple[float, float, float]:
        """An example's prediction before the step and now, and its squared norm."""
        before = now = norm = 0.0
        for group in self.groups:
            places, values = group.row(i)
            held = group.weights[places]
            before += float(self._shrunk(held) @ values)
            now += float(self._shrunk(held + self.partitions * group.delta[places]) @ values)
            norm += float(values @ values)
        return before, now, norm

    def _shrunk(self, weights: Array) -> Array:
        return shrunk(weights, self.l1 / self.l2)

    def _chances(self, labels: list[float], weights: Array, state: Array) -> Array:
        """How likely each example is taken: more when its dual variable is far from the best."""
        found = np.zeros(len(labels))
        for i, y in enumerate(labels):
            _, now, norm = self._prediction(i)
            scaled = float(self.partitions * float(weights[i]) * norm / self.l2)
            gap = abs(self.loss.dual(y, now, float(state[i, 0]), scaled) - state[i, 0])
            found[i] = gap * np.sqrt(norm + self.l2)
        total = found.sum()
        usable = np.isfinite(total) and total > 0
        return found / total if usable else np.full(len(labels), 1 / len(labels))


def shrunk(weights: Array, by: Any) -> Array:
    """Weights moved towards zero by `by`, and no further."""
    return np.sign(weights) * np.maximum(np.abs(weights) - by, 0)


SHRINK_L1 = define_op(
    "SdcaShrinkL1(ref weights: num_features*float; num_features: int >= 0, l1: float, l2: float) "
    "-> ()",
    shape=shapes.no_output,
    doc="Moves weights towards zero by l1 / l2.",
).not_differentiable("it changes variables")

SHRINK_RESOURCES = define_op(
    "PenstockSdcaShrinkL1(weights: num_features*resource; num_features: int >= 0, l1: float, "
    "l2: float) -> ()",
    shape=shapes.no_output,
    stateful=True,
    effects={"weights": "rw"},
    doc="Moves weights towards zero by l1 / l2.",
).not_differentiable("it changes variables")


@host_kernel(SHRINK_RESOURCES, limit=_HOST)
def _shrink(weights: list[Any], *, l1: float, l2: float) -> None:
    for each in weights:
        held = np.asarray(each.read())
        each.write(shrunk(held, np.float32(l1 / l2)).astype(held.dtype))


def _fingerprint_shape(c: ShapeContext) -> Dims:
    return (c.rank(0, 1, "input")[0], 2)  # type: ignore[index]


FINGERPRINT = define_op(
    "SdcaFprint(input: string) -> output: int64",
    shape=_fingerprint_shape,
    doc="128-bit fingerprints of strings, each as two integers.",
).not_differentiable("a hash has no derivative")


@host_kernel(FINGERPRINT, limit=_HOST)
def _fingerprint(input: Array) -> Array:
    return fingerprints_128(input.tolist())


SdcaOptimizer = namedtuple(
    "SdcaOptimizer",
    ["out_example_state_data", "out_delta_sparse_weights", "out_delta_dense_weights"],
)


def sdca_optimizer(
    sparse_example_indices: Any,
    sparse_feature_indices: Any,
    sparse_feature_values: Any,
    dense_features: Any,
    example_weights: Any,
    example_labels: Any,
    sparse_indices: Any,
    sparse_weights: Any,
    dense_weights: Any,
    example_state_data: Any,
    loss_type: str,
    l1: float,
    l2: float,
    num_loss_partitions: int,
    num_inner_iterations: int,
    adaptative: bool = True,
    name: str | None = None,
) -> Any:
    """A pass of stochastic dual coordinate ascent over examples of a linear model.

    Features come in groups. A sparse group has an entry for each feature that an example has, in
    the order of the examples.

    Args:
      sparse_example_indices: for each sparse group, int64[E]: the example of each entry.
      sparse_feature_indices: for each, int64[E]: the feature of each entry.
      sparse_feature_values: for the first of them, float32[E]: the values; those of the others are
        1.
      dense_features: for each dense group, float32[N, D].
      example_weights: float32[N].
      example_labels: float32[N]; 0 or 1 for the logistic loss and the hinge losses.
      sparse_indices: for each sparse group, int64[F]: the features that have weights.
      sparse_weights: for each, float32[F].
      dense_weights: for each dense group, float32 of D elements.
      example_state_data: float32[N, 4], zeros at first, then what came out.
      loss_type: 'logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss' or
        'poisson_loss'.
      l1: the strength of the L1 penalty.
      l2: the strength of the L2 penalty, more than 0.
      num_loss_partitions: how many of these run at once on parts of the examples.
      num_inner_iterations: accepted; a call goes over the examples once, as in TensorFlow.
      adaptative: whether examples that have far to go are taken more often, and others not.
      name: the name in a graph.

    Returns:
      A named tuple: the states float32[N, 4], and what weights gain, for each group.

    Raises:
      InvalidArgumentError: shapes do not fit, a label cannot be, a feature has no weight.
    """
    inputs = (
        sparse_example_indices, sparse_feature_indices, sparse_feature_values, dense_features,
        example_weights, example_labels, sparse_indices, sparse_weights, dense_weights,
        example_state_data,
    )  # fmt: skip
    attrs = {
        "loss_type": loss_type,
        "l1": l1,
        "l2": l2,
        "num_loss_partitions": num_loss_partitions,
        "num_inner_iterations": num_inner_iterations,
        "adaptative": adaptative,
    }
    state, *deltas = execute(OPTIMIZER, inputs, attrs, name)
    return SdcaOptimizer(state, *deltas)


def sdca_fprint(input: Any, name: str | None = None) -> Any:
    """128-bit fingerprints of strings.

    Args:
      input: string[N].
      name: the name in a graph.

    Returns:
      int64[N, 2], the low and the high half of each.
    """
    return execute(FINGERPRINT, (input,), None, name)


def sdca_shrink_l1(weights: Any, l1: float, l2: float, name: str | None = None) -> Any:
    """Moves weights towards zero by l1 / l2, and no further.

    Args:
      weights: references to float32 variables.
      l1: the strength of the L1 penalty.
      l2: the strength of the L2 penalty.
      name: the name in a graph.

    Returns:
      The operation.

    Raises:
      RuntimeError: operations run at once.
    """
    return execute(SHRINK_L1, (weights,), {"l1": l1, "l2": l2}, name)
