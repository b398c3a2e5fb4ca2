"""Operations that GraphDefs may not hold any more, and those in their place.

A GraphDef says which version of TensorFlow wrote it. Up to the version that removed an operation it
may hold it; such a node is imported as the operation in its place, with the same inputs and
attributes. Handles of the first TensorArrays are strings in the file and resources here, so what
moves them through branches and loops moves resources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock import errors
from penstock.core.op_def import OpDef, find, lookup
from penstock.core.tensor import Tensor
from penstock.types import dtypes as dt


@dataclass(frozen=True, slots=True)
class Superseded:
    """Since which version of GraphDefs an operation is gone, and what is in its place.

    Attributes:
      since: the version.
      in_place: the operation that its nodes are imported as.
      use: what to use where a program makes graphs; `in_place` when empty.
    """

    since: int
    in_place: str
    use: str = ""


def _batches(since: int, names: str) -> dict[str, Superseded]:
    """Operations on batches, which those on single matrices took over."""
    return {f"Batch{name}": Superseded(since, name) for name in names.split()}


def _kept(since: int, name: str, use: str) -> dict[str, Superseded]:
    """An operation that nothing stands for: one of ours does what it did."""
    return {name: Superseded(since, f"Penstock{name}", use)}


SUPERSEDED: dict[str, Superseded] = {
    **_batches(13, "Cholesky CholeskyGrad MatrixDeterminant MatrixInverse MatrixSolve"),
    **_batches(13, "MatrixSolveLs MatrixTriangularSolve SelfAdjointEigV2 Svd"),
    **_batches(14, "MatrixBandPart MatrixDiag MatrixDiagPart MatrixSetDiag"),
    **_batches(15, "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D"),
    **_kept(2, "AdjustContrast", "AdjustContrastv2"),
    **_kept(3, "TileGrad", "tf.reduce_sum"),
    **_kept(8, "RandomCrop", "tf.image.random_crop"),
    **_kept(9, "BatchNormWithGlobalNormalization", "tf.nn.batch_normalization()"),
    **_kept(9, "BatchNormWithGlobalNormalizationGrad", "tf.nn.batch_normalization()"),
    **_kept(10, "Conv3DBackpropFilter", "Conv3DBackpropFilterV2"),
    **_kept(10, "Conv3DBackpropInput", "Conv3DBackpropInputV2"),
    **_kept(11, "SelfAdjointEig", "SelfAdjointEigV2"),
    "BatchSelfAdjointEig": Superseded(11, "PenstockSelfAdjointEig", "SelfAdjointEigV2"),
    **_kept(15, "AudioSummary", "AudioSummaryV2"),
    **_kept(29, "StatefulStandardNormal", "StatefulStandardNormalV2"),
    "PlaceholderV2": Superseded(23, "Placeholder"),
    **{
        f"TensorArray{kind}V2": Superseded(26, f"TensorArray{kind}V3")
        for kind in ("", "Grad", "Write", "Read", "Gather", "Scatter", "Split", "Size", "Close")
    },
    "TensorArrayConcatV2": Superseded(1 << 31, "TensorArrayConcatV3"),  # never removed
    **{
        f"TensorArray{kind}": Superseded(16, f"TensorArray{kind}V3")
        for kind in ("", "Grad", "Write", "Read", "Gather", "Concat", "Split", "Size", "Close")
    },
    "TensorArrayScatter": Superseded(19, "TensorArrayScatterV3"),
    "TensorArrayPack": Superseded(16, "PenstockTensorArrayPack", "TensorArrayGatherV3 with Range"),
    "TensorArrayUnpack": Superseded(
        20, "PenstockTensorArrayUnpack", "TensorArrayScatterV3 with Range"
    ),
}
_MOVES = frozenset(("Enter", "Exit", "Switch", "Merge", "NextIteration", "Identity"))


def definition_in_place(kind: str, producer: int) -> OpDef | None:
    """The definition that stands for an operation in a GraphDef of version `producer`.

    Returns:
      None when the operation was never removed.

    Raises:
      UnimplementedError: a GraphDef of that version may not hold it.
    """
    found = SUPERSEDED.get(kind)
    if found is None or find(kind) is not None:
        return None
    if producer >= found.since:
        raise errors.UnimplementedError(
            None,
            None,
            f"Op {kind} is not available in GraphDef version {producer}. It has been removed in "
            f"version {found.since}. Use {found.use or found.in_place}.",
        )
    return lookup(found.in_place)


def moving_handles(
    op: OpDef, given: dict[str, Any], tensors: Sequence[Tensor]
) -> tuple[OpDef, dict[str, Any]]:
    """What moves a handle that the file has as a string: the same, moving a resource."""
    name = op.name.removeprefix("Ref")
    if name not in _MOVES or given.get("T") is not dt.string or tensors[0].dtype is not dt.resource:
        return op, given
    return lookup(name), {**given, "T": dt.resource}


__all__ = ["SUPERSEDED", "Superseded", "definition_in_place", "moving_handles"]
