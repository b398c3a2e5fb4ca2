from tests.ops.harness import Record

NAMES = {
    "FakeQuantWithMinMaxArgs": "fake_quant_with_min_max_args",
    "FakeQuantWithMinMaxArgsGradient": "fake_quant_with_min_max_args_gradient",
    "FakeQuantWithMinMaxVars": "fake_quant_with_min_max_vars",
    "FakeQuantWithMinMaxVarsGradient": "fake_quant_with_min_max_vars_gradient",
    "FakeQuantWithMinMaxVarsPerChannel": "fake_quant_with_min_max_vars_per_channel",
    "FakeQuantWithMinMaxVarsPerChannelGradient": "fake_quant_with_min_max_vars_per_channel_gradient",
}
FILE = "tests/ops/test_quant_fake.py"
RECORDS = [Record(op, tested_by=FILE, named_by=name) for op, name in NAMES.items()]
