from tests.ops.harness import Record

NAMES = {
    "DecodePng": "decode_png",
    "DecodeJpeg": "decode_jpeg",
    "DecodeAndCropJpeg": "decode_and_crop_jpeg",
    "ExtractJpegShape": "extract_jpeg_shape",
    "DecodeGif": "decode_gif",
    "DecodeBmp": "decode_bmp",
    "DecodeWebP": "decode_webp",
    "DecodeImage": "decode_image",
    "EncodeJpeg": "encode_jpeg",
    "EncodeJpegVariableQuality": "EncodeJpegVariableQuality",
}
FILE = "tests/ops/test_image_files.py"
RECORDS = [
    *(Record(op, tested_by=FILE, named_by=name) for op, name in NAMES.items()),
    Record("DecodeJxl", tested_by="tests/ops/test_image_jxl.py", named_by="decode_jxl"),
]
