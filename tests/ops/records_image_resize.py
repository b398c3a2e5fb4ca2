from tests.ops.harness import Record

NAMES = {
    "ResizeBilinear": "ResizeBilinear",
    "ResizeBilinearGrad": "test_derivatives",
    "ResizeBicubic": "resize_bicubic",
    "ResizeBicubicGrad": "test_derivatives",
    "ResizeArea": "resize_area",
    "ResizeNearestNeighbor": "resize_nearest_neighbor",
    "ResizeNearestNeighborGrad": "test_derivatives",
    "ScaleAndTranslate": "ScaleAndTranslate",
    "ScaleAndTranslateGrad": "test_derivatives",
}
FILE = "tests/ops/test_image_resize.py"
RECORDS = [Record(op, tested_by=FILE, named_by=name) for op, name in NAMES.items()]
