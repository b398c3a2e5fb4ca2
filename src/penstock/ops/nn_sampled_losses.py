"""Losses over drawn classes instead of all: noise contrast, sampled softmax."""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.ops.composing import (
    cast,
    concat,
    expand,
    number,
    reshape,
    scope,
    shape_of,
    tensor,
    total,
)
from penstock.ops.math_arithmetic import add_v2, multiply, subtract
from penstock.ops.math_matmul import matmul
from penstock.ops.nn_candidate_samplers import (
    compute_accidental_hits,
    log_uniform_candidate_sampler,
)
from penstock.ops.nn_embedding import embedding_lookup_v1
from penstock.ops.nn_losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from penstock.types import dtypes

Sampled = Any  # classes, and how often the right and the drawn ones are expected; or None


def _stop(x: Any) -> Any:
    return execute("StopGradient", (x,))


def _logits(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int,
    num_true: int, sampled: Sampled, remove_hits: bool, strategy: str, seed: int | None,
) -> tuple[Any, Any]:  # fmt: skip
    """Logits [B, num_true + num_sampled] of the right and the drawn classes, and their labels."""
    labels = cast(tensor(labels), dtypes.int64)
    inputs = tensor(inputs)
    if sampled is None:
        sampled = log_uniform_candidate_sampler(
            labels, num_true, num_sampled, True, num_classes, seed
        )
    classes, true_count, sampled_count = (_stop(tensor(s)) for s in sampled)
    classes = cast(classes, dtypes.int64)
    flat = reshape(labels, [-1])
    ids = concat([flat, classes], 0)
    rows = cast(embedding_lookup_v1(weights, ids, strategy), inputs.dtype.base_dtype)
    offsets = cast(embedding_lookup_v1(biases, ids, strategy), inputs.dtype.base_dtype)
    count = execute("Shape", (flat,))
    true_rows, sampled_rows = _cut(rows, count, 2)
    true_offsets, sampled_offsets = _cut(offsets, count, 1)
    width = execute("Slice", (execute("Shape", (rows,)), [1], [1]))
    grouped = execute(
        "Reshape", (true_rows, concat([tensor(np.array([-1, num_true], np.int32)), width], 0))
    )
    true = total(multiply(expand(inputs, 1), grouped), [2])
    true = add_v2(true, reshape(true_offsets, [-1, num_true]))
    drawn = add_v2(matmul(inputs, sampled_rows, transpose_b=True), sampled_offsets)
    if remove_hits:
        drawn = add_v2(drawn, _hits(labels, classes, num_true, drawn))
    true = subtract(true, cast(execute("Log", (true_count,)), true.dtype))
    drawn = subtract(drawn, cast(execute("Log", (sampled_count,)), drawn.dtype))
    share = number(1 / num_true, true.dtype)
    shares = multiply(execute("OnesLike", (true,)), share)
    return concat([true, drawn], 1), concat([shares, execute("ZerosLike", (drawn,))], 1)


def _cut(x: Any, count: Any, rank: int) -> tuple[Any, Any]:
    """The first `count` (int32[1]) rows, and the others."""
    zeros = tensor(np.zeros(rank, np.int32))
    rest = tensor(np.full(rank - 1, -1, np.int32))
    starts = tensor(np.zeros(rank - 1, np.int32))
    head = execute("Slice", (x, zeros, concat([count, rest], 0)))
    tail = execute("Slice", (x, concat([count, starts], 0), np.full(rank, -1, np.int32)))
    return head, tail


def _hits(labels: Any, classes: Any, num_true: int, logits: Any) -> Any:
    """What takes drawn classes out that are right: a very low number there."""
    rows, places, weights = compute_accidental_hits(labels, classes, num_true)
    indices = execute("Pack", ([rows, cast(places, dtypes.int32)],), {"axis": 1})
    low = cast(weights, logits.dtype)
    inputs = (indices, shape_of(logits), low, number(0, logits.dtype))
    return execute("SparseToDense", inputs, {"validate_indices": False})


def nce_loss_v1(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int,
    num_true: int = 1, sampled_values: Sampled = None, remove_accidental_hits: bool = False,
    partition_strategy: str = "mod", name: str = "nce_loss",
) -> Any:  # fmt: skip
    """The noise-contrastive loss: right classes against drawn ones.

    Args:
      weights: table [num_classes, D], or a list of parts.
      biases: [num_classes], or a list of parts.
      labels: integers [B, num_true], the right classes.
      inputs: floats [B, D].
      num_sampled: the number of classes to draw for the batch.
      num_classes: the number of classes.
      num_true: the number of right classes of an example.
      sampled_values: what a candidate sampler gave; None for `log_uniform_candidate_sampler`.
      remove_accidental_hits: whether drawn classes that are right do not count.
      partition_strategy: how rows are spread over parts, "mod" or "div".
      name: the name of the scope in a graph.

    Returns:
      Tensor [B], the loss of each example.
    """
    with scope(name, "nce_loss"):
        logits, shares = _logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            remove_accidental_hits, partition_strategy, None,
        )  # fmt: skip
        return total(sigmoid_cross_entropy_with_logits(labels=shares, logits=logits), [1])


def nce_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int,
    num_true: int = 1, sampled_values: Sampled = None, remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Any:  # fmt: skip
    """The noise-contrastive loss: right classes against drawn ones.

    As `tf.compat.v1.nn.nce_loss`, where each part of a table holds a range of classes.

    Args:
      weights: table [num_classes, D], or a list of parts.
      biases: [num_classes], or a list of parts.
      labels: integers [B, num_true], the right classes.
      inputs: floats [B, D].
      num_sampled: the number of classes to draw for the batch.
      num_classes: the number of classes.
      num_true: the number of right classes of an example.
      sampled_values: what a candidate sampler gave; None for `log_uniform_candidate_sampler`.
      remove_accidental_hits: whether drawn classes that are right do not count.
      name: the name of the scope in a graph.

    Returns:
      Tensor [B], the loss of each example.
    """
    return nce_loss_v1(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, "div", name,
    )  # fmt: skip


def sampled_softmax_loss_v1(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int,
    num_true: int = 1, sampled_values: Sampled = None, remove_accidental_hits: bool = True,
    partition_strategy: str = "mod", name: str = "sampled_softmax_loss", seed: int | None = None,
) -> Any:  # fmt: skip
    """The softmax loss over right and drawn classes, for training with many classes.

    Args:
      weights: table [num_classes, D], or a list of parts.
      biases: [num_classes], or a list of parts.
      labels: integers [B, num_true], the right classes.
      inputs: floats [B, D].
      num_sampled: the number of classes to draw for the batch.
      num_classes: the number of classes.
      num_true: the number of right classes of an example.
      sampled_values: what a candidate sampler gave; None for `log_uniform_candidate_sampler`.
      remove_accidental_hits: whether drawn classes that are right do not count.
      partition_strategy: how rows are spread over parts, "mod" or "div".
      name: the name of the scope in a graph.
      seed: integer, or None; see `tf.random.set_seed`.

    Returns:
      Tensor [B], the loss of each example.
    """
    with scope(name, "sampled_softmax_loss"):
        logits, shares = _logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            remove_accidental_hits, partition_strategy, seed,
        )  # fmt: skip
        return softmax_cross_entropy_with_logits_v2(labels=_stop(shares), logits=logits)


def sampled_softmax_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int,
    num_true: int = 1, sampled_values: Sampled = None, remove_accidental_hits: bool = True,
    seed: int | None = None, name: str = "sampled_softmax_loss",
) -> Any:  # fmt: skip
    """The softmax loss over right and drawn classes, for training with many classes.

    As `tf.compat.v1.nn.sampled_softmax_loss`, where each part of a table holds a range of classes.

    Args:
      weights: table [num_classes, D], or a list of parts.
      biases: [num_classes], or a list of parts.
      labels: integers [B, num_true], the right classes.
      inputs: floats [B, D].
      num_sampled: the number of classes to draw for the batch.
      num_classes: the number of classes.
      num_true: the number of right classes of an example.
      sampled_values: what a candidate sampler gave; None for `log_uniform_candidate_sampler`.
      remove_accidental_hits: whether drawn classes that are right do not count.
      seed: integer, or None; see `tf.random.set_seed`.
      name: the name of the scope in a graph.

    Returns:
      Tensor [B], the loss of each example.
    """
    return sampled_softmax_loss_v1(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, "div", name, seed,
    )  # fmt: skip
