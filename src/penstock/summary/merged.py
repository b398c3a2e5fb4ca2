"""The first generation's summaries: operations whose result is a serialised Summary.

Each is added to a collection, `summaries` by default; `merge_all` merges that collection, a session
fetches it, and a `FileWriter` takes what it gives.
"""

from typing import Any

from penstock import proto
from penstock.config import logging
from penstock.core import context
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.behavior import current_name_scope, name_scope
from penstock.ops import summary_messages as ops
from penstock.summary.writers import text_of_scope
from penstock.types import dtypes as dt

SUMMARIES = "summaries"  # TensorFlow's GraphKeys.SUMMARIES


def _summary(
    op: Any, name: str, family: str | None, collections: Any, inputs: Any, attrs: Any = None
) -> Tensor:
    """Adds a summary; `inputs` are those after the tag."""
    wanted = text_of_scope(name)
    if wanted != name:
        logging.info("Summary name %s is illegal; using %s instead.", name, wanted)
    inner = f"{text_of_scope(family)}/{wanted}" if family else wanted
    with name_scope(inner) as scope:
        tag = f"{family}/{scope}".rstrip("/") if family else _tag(scope, inner)
        made = execute(op, (tag, *inputs), attrs, scope or None)
    if not context.executing_eagerly():
        keys = [SUMMARIES] if collections is None else collections
        made.graph.add_to_collections(keys, made)
    return made  # type: ignore[no-any-return]


def _tag(scope: str, name: str) -> str:
    return scope.rstrip("/") if scope else f"{current_name_scope()}{name}"


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of one number.

    Args:
      name: the tag, after the scopes around.
      tensor: a real scalar.
      collections: the graph collections it is added to; `summaries` when None.
      family: put in front of the tag, which groups it in the viewer.

    Returns:
      A string scalar: a serialised Summary.
    """
    return _summary(ops.SCALAR, name, family, collections, (tensor,))


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of how numbers are distributed.

    Args:
      name: the tag, after the scopes around.
      values: real numbers of any shape; neither NaN nor infinite.
      collections: as for `scalar`.
      family: as for `scalar`.

    Returns:
      A string scalar: a serialised Summary.
    """
    return _summary(ops.HISTOGRAM, name, family, collections, (values,))


def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """A summary of pictures.

    Args:
      name: the tag, after the scopes around; `/image/0` and so on is added.
      tensor: [batch, height, width, channels] of uint8, float16, float32 or float64 with 1, 3 or 4
        channels. Floating-point pictures are scaled to the brightest.
      max_outputs: how many of the batch.
      collections: as for `scalar`.
      family: as for `scalar`.

    Returns:
      A string scalar: a serialised Summary.
    """
    attrs = {"max_images": max_outputs}
    return _summary(ops.IMAGE, name, family, collections, (tensor,), attrs)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """A summary of sounds.

    Args:
      name: the tag, after the scopes around; `/audio/0` and so on is added.
      tensor: float32[batch, frames, channels] or [batch, frames], in [-1, 1].
      sample_rate: float32 scalar, frames a second.
      max_outputs: how many of the batch.
      collections: as for `scalar`.
      family: as for `scalar`.

    Returns:
      A string scalar: a serialised Summary.
    """
    attrs = {"max_outputs": max_outputs}
    return _summary(ops.AUDIO, name, family, collections, (tensor, sample_rate), attrs)


def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: Any = None,
    collections: Any = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary of a tensor as it is.

    Args:
      name: the tag, after the scopes around.
      tensor: any dtype and shape.
      summary_description: a longer description.
      collections: as for `scalar`.
      summary_metadata: a SummaryMetadata that says which part of the viewer it is for.
      family: as for `scalar`.
      display_name: what the viewer shows instead of the tag.

    Returns:
      A string scalar: a serialised Summary.
    """
    metadata = proto.summary_pb2.SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description
    inputs = (tensor, metadata.SerializeToString())
    return _summary(ops.TENSOR, name, family, collections, inputs)


def text(name: str, tensor: Any, collections: Any = None) -> Tensor:
    """A summary of text, which the viewer reads as Markdown.

    Args:
      name: the tag, after the scopes around.
      tensor: strings; a vector is a list, a matrix a table.
      collections: as for `scalar`.

    Returns:
      A string scalar: a serialised Summary.

    Raises:
      ValueError: `tensor` holds no strings.
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not dt.string:
        raise ValueError(
            f"Expected tensor {tensor!r} to have dtype string, got {tensor.dtype.name}. "
            "Make text of it first."
        )
    metadata = proto.summary_pb2.SummaryMetadata()
    metadata.plugin_data.plugin_name = "text"
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """One summary with the values of all.

    Args:
      inputs: string tensors, each a serialised Summary; no two with one tag.
      collections: the graph collections the result is added to; none when None.
      name: the name of the operation.

    Returns:
      A string scalar.

    Raises:
      RuntimeError: operations run eagerly.
    """
    if context.executing_eagerly():
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution: expected a graph. "
            "Use the writers of tf.summary."
        )
    text = None if name is None else text_of_scope(name)
    with name_scope(text or "Merge"):
        made = execute(ops.MERGE, (list(inputs),))
    if collections is not None:
        made.graph.add_to_collections(collections, made)
    return made  # type: ignore[no-any-return]


def merge_all(
    key: Any = SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """All summaries of a collection as one.

    Args:
      key: the collection.
      scope: only those whose names begin like this.
      name: the name of the operation.

    Returns:
      A string scalar, or None when the collection is empty.

    Raises:
      RuntimeError: operations run eagerly.
    """
    if context.executing_eagerly():
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution: expected a graph. "
            "Use the writers of tf.summary."
        )
    found = context.state.graph.get_collection(key, scope=scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def: Any) -> Any:
    """The SummaryDescription in a NodeDef of type TensorSummary.

    Raises:
      ValueError: it is another operation.
    """
    if node_def.op != "TensorSummary":
        raise ValueError(
            f"Cannot get_summary_description on {node_def.op}: expected TensorSummary."
        )
    description = proto.summary_pb2.SummaryDescription()
    proto.json_format.Parse(node_def.attr["description"].s.decode(), description)
    return description
