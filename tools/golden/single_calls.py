"""Golden cases by hand: single calls of operations that no test calls eagerly, to be varied."""

from __future__ import annotations

from typing import Any

from tools.golden.values import INF, NAN, Value, a, d, s, several, t, texts, var

_IMAGE = t([i * 7 % 32 / 32 for i in range(1 * 4 * 4 * 3)], shape=(1, 4, 4, 3))
_BYTES = t([i * 37 % 256 for i in range(4 * 5 * 3)], "uint8", (4, 5, 3))
_FILTER = t([i * 5 % 16 / 16 - 0.5 for i in range(2 * 2 * 3 * 2)], shape=(2, 2, 3, 2))
_PADDINGS = t([[0, 0], [1, 1], [0, 2], [0, 0]], "int32")
_ONES = several(a(1), a(1), a(1), a(1))
_BOXES = t([[0.1, 0.2, 0.8, 0.9], [-0.2, 0.0, 1.2, 0.5]])
_SCORES = [0.9, 0.75, 0.6, 0.95]
_CORNERS = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11]]
_TRANSFORM = t([[1.0, 0.25, -1.0, 0.0, 0.75, 0.5, 0.0, 0.0]])
_KEY, _COUNTER = t([0x3EC8F720], "uint64"), t([2, 3], "uint64")
_ALG = t(1, "int32")


def _rule(op: str, **more: Value) -> tuple[str, dict[str, Value]]:
    return op, more


CALLS: list[tuple[str, dict[str, Any]]] = [
    _rule("AudioSpectrogram", input=t([[i * 5 % 9 / 8, i * 3 % 7 / 8] for i in range(20)]), window_size=a(8), stride=a(4)),
    _rule("CropAndResize", image=_IMAGE, boxes=_BOXES, box_ind=t([0, 0], "int32"), crop_size=t([3, 2], "int32")),
    _rule("CropAndResizeGradBoxes", grads=t([i / 8 for i in range(36)], shape=(2, 3, 2, 3)), image=_IMAGE, boxes=_BOXES,
          box_ind=t([0, 0], "int32")),
    _rule("CombinedNonMaxSuppression", boxes=t([[[c] for c in _CORNERS]]), scores=t([[[v] for v in _SCORES]]),
          max_output_size_per_class=t(2, "int32"), max_total_size=t(3, "int32"), iou_threshold=t(0.5),
          score_threshold=t(0.1), clip_boxes=a(False)),
    _rule("NonMaxSuppressionWithOverlaps", overlaps=t([[1.0, 0.5, 0.1], [0.5, 1.0, 0.75], [0.1, 0.75, 1.0]]),
          scores=t([0.5, 0.75, 0.25]), max_output_size=t(2, "int32"), overlap_threshold=t(0.6), score_threshold=t(0.1)),
    _rule("DrawBoundingBoxesV2", images=_IMAGE, boxes=t([[[0.1, 0.2, 0.8, 0.9]]]), colors=t([[1.0, 0.5, 0.25]])),
    _rule("ImageProjectiveTransformV2", images=_IMAGE, transforms=_TRANSFORM, output_shape=t([3, 5], "int32"),
          interpolation=a("BILINEAR")),
    _rule("ImageProjectiveTransformV3", images=_IMAGE, transforms=_TRANSFORM, output_shape=t([3, 5], "int32"),
          fill_value=t(0.5), interpolation=a("NEAREST"), fill_mode=a("REFLECT")),
    _rule("ImageProjectiveTransformV3", images=_IMAGE, transforms=_TRANSFORM, output_shape=t([3, 5], "int32"),
          fill_value=t(0.5), interpolation=a("BILINEAR"), fill_mode=a("WRAP")),
    _rule("RandomGammaGrad", alpha=t([0.5, 1.0, 4.0]), sample=t([0.25, 1.5, 3.0])),
    _rule("Assert", condition=t(True, "bool"), data=several(t([1.0]), texts(b"x"))),
    _rule("Assert", condition=t(False, "bool"), data=several(t([1.0]))),
    _rule("NoOp"),
    _rule("ControlTrigger"),
    _rule("Placeholder", dtype=d("float32"), shape=s(2)),
    _rule("Placeholder", dtype=d("int32"), shape=s(None)),
    _rule("Placeholder", dtype=d("string"), shape=s()),
    _rule("PlaceholderWithDefault", input=t([1.0, NAN]), shape=s(2)),
    _rule("StatelessRandomNormalV2", shape=t([7], "int32"), key=_KEY, counter=_COUNTER, alg=_ALG),
    _rule("StatelessTruncatedNormalV2", shape=t([7], "int32"), key=_KEY, counter=_COUNTER, alg=_ALG),
    _rule("StatelessRandomUniformV2", shape=t([7], "int32"), key=_KEY, counter=_COUNTER, alg=_ALG),
    _rule("StatelessRandomGammaV3", shape=t([5, 2], "int32"), key=_KEY, counter=_COUNTER, alg=_ALG, alpha=t([0.5, 2.0])),
    _rule("ScalarSummary", tags=t(b"loss", "string"), values=t(1.5)),
    _rule("ScalarSummary", tags=texts(b"a", b"b"), values=t([NAN, INF])),
    _rule("HistogramSummary", tag=t(b"h", "string"), values=t([0.0, 1.0, -2.5, 1.0, 100.0])),
    _rule("AudioSummaryV2", tag=t(b"s", "string"), tensor=t([[0.0, 0.5, -0.5, 1.0]]), sample_rate=t(8000.0)),
    _rule("TensorSummaryV2", tag=t(b"x", "string"), tensor=t([1.0, 2.0]), serialized_summary_metadata=t(b"", "string")),
    _rule("MergeSummary", inputs=several(t(b"\n\t\n\x01a\x15\x00\x00\x80?", "string"),
                                         t(b"\n\t\n\x01b\x15\x00\x00\x80?", "string"))),
    _rule("MatchingFiles", pattern=t(b"no/such/folder/*", "string")),
    _rule("ReadFile", filename=t(b"no/such/file", "string")),
    _rule("VarIsInitializedOp", resource=var([1.0])),
    _rule("AssignVariableOp", resource=var([1.0, 2.0]), value=t([3.0, NAN])),
    _rule("AssignAddVariableOp", resource=var([1.0, 2.0]), value=t([3.0, NAN])),
    _rule("AssignSubVariableOp", resource=var([1.0, 2.0]), value=t([3.0, NAN])),
    _rule("TensorListPushBackBatch", input_handles=t([1.0]), tensor=t([1.0])),
    _rule("ToBool", input=t([1.0])),
    _rule("ToBool", input=texts(b"a", b"")),
    _rule("ToBool", input=t(0, "int64")),
    _rule("ImageSummary", tag=t(b"i", "string"), tensor=t([0.0, 0.5, 1.0, 0.25], shape=(1, 2, 2, 1))),
    _rule("CholeskyGrad", l=t([[2.0, 0.0], [0.5, 1.5]]), grad=t([[1.0, 0.0], [0.25, 2.0]])),
    _rule("NearestNeighbors", points=t([[0.0, 1.0], [2.0, 3.0]]), centers=t([[0.0, 0.0], [2.0, 2.0], [5.0, 1.0]]),
          k=t(2, "int64")),
    _rule("KMC2ChainInitialization", distances=t([1.0, 4.0, 0.5, 2.0]), seed=t(7, "int64")),
    _rule("KmeansPlusPlusInitialization", points=t([[0.0, 1.0], [2.0, 3.0], [5.0, 1.0]]), num_to_sample=t(2, "int64"),
          seed=t(7, "int64"), num_retries_per_sample=t(1, "int64")),
    _rule("Conv", input=_IMAGE, filter=_FILTER, strides=_ONES, padding=a("SAME")),
    _rule("FusedPadConv2D", input=_IMAGE, paddings=_PADDINGS, filter=_FILTER, mode=a("REFLECT"), strides=_ONES,
          padding=a("VALID")),
    _rule("FusedResizeAndPadConv2D", input=_IMAGE, size=t([3, 5], "int32"), paddings=_PADDINGS, filter=_FILTER,
          mode=a("REFLECT"), strides=_ONES, padding=a("VALID")),
    _rule("EncodeJpeg", image=_BYTES),
    _rule("EncodeJpegVariableQuality", images=_BYTES, quality=t(75, "int32")),
]  # fmt: skip
