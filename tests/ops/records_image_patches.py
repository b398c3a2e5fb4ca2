from tests.ops.harness import Record

FILE = "tests/ops/test_image_geometry.py"
RECORDS = [
    Record("ExtractImagePatches", tested_by=FILE, named_by="extract_patches"),
    Record("PenstockExtractImagePatchesGrad", tested_by=FILE, named_by="derivatives"),
]
