from tests.ops.harness import Record

NAMES = {
    "RGBToHSV": "rgb_to_hsv",
    "HSVToRGB": "hsv_to_rgb",
    "AdjustHue": "adjust_hue",
    "AdjustSaturation": "adjust_saturation",
    "AdjustContrastv2": "adjust_contrast",
}
FILE = "tests/ops/test_image_color.py"
RECORDS = [Record(op, tested_by=FILE, named_by=name) for op, name in NAMES.items()]
