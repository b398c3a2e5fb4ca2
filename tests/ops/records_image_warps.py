from tests.ops.harness import Record

NAMES = {
    "ImageProjectiveTransformV2": "ImageProjectiveTransformV2",
    "ImageProjectiveTransformV3": "ImageProjectiveTransformV3",
    "CropAndResize": "crop_and_resize",
    "CropAndResizeGradImage": "test_derivatives",
    "CropAndResizeGradBoxes": "test_derivatives",
}
FILE = "tests/ops/test_image_warps.py"
RECORDS = [Record(op, tested_by=FILE, named_by=name) for op, name in NAMES.items()]
