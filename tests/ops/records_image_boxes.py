from tests.ops.harness import Record

NAMES = {
    "DrawBoundingBoxes": "draw_bounding_boxes",
    "DrawBoundingBoxesV2": "draw_bounding_boxes",
    "NonMaxSuppression": "NonMaxSuppression",
    "NonMaxSuppressionV2": "NonMaxSuppressionV2",
    "NonMaxSuppressionV3": "non_max_suppression",
    "NonMaxSuppressionV4": "NonMaxSuppressionV4",
    "NonMaxSuppressionV5": "non_max_suppression_with_scores",
    "NonMaxSuppressionWithOverlaps": "non_max_suppression_overlaps",
    "PenstockNonMaxSuppressionOfBatches": "non_max_suppression_padded",
    "CombinedNonMaxSuppression": "combined_non_max_suppression",
}
FILE = "tests/ops/test_image_boxes.py"
RECORDS = [Record(op, tested_by=FILE, named_by=name) for op, name in NAMES.items()]
SAMPLING = "tests/ops/test_image_box_sampling.py"
GLIMPSES = "tests/ops/test_image_glimpses.py"
RECORDS += [
    Record("SampleDistortedBoundingBox", tested_by=SAMPLING, named_by="SampleDistortedBoundingBox"),
    Record(
        "SampleDistortedBoundingBoxV2", tested_by=SAMPLING, named_by="SampleDistortedBoundingBoxV2"
    ),
    Record(
        "StatelessSampleDistortedBoundingBox",
        tested_by=SAMPLING,
        named_by="stateless_sample_distorted_bounding_box",
    ),
    Record("ExtractGlimpse", tested_by=GLIMPSES, named_by="ExtractGlimpse"),
    Record("ExtractGlimpseV2", tested_by=GLIMPSES, named_by="extract_glimpse"),
]
