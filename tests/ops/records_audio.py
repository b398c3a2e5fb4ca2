from tests.ops.harness import Record

NAMES = {"DecodeWav": "decode_wav", "AudioSpectrogram": "AudioSpectrogram", "Mfcc": "Mfcc"}
FILE = "tests/ops/test_audio.py"
RECORDS = [Record(op, tested_by=FILE, named_by=name) for op, name in NAMES.items()]
