from tests.ops.harness import Record

FAKE = {
    "FakeQuantWithMinMaxArgs": "fake_quant_with_min_max_args",
    "FakeQuantWithMinMaxArgsGradient": "fake_quant_with_min_max_args_gradient",
    "FakeQuantWithMinMaxVars": "fake_quant_with_min_max_vars",
    "FakeQuantWithMinMaxVarsGradient": "fake_quant_with_min_max_vars_gradient",
    "FakeQuantWithMinMaxVarsPerChannel": "fake_quant_with_min_max_vars_per_channel",
    "FakeQuantWithMinMaxVarsPerChannelGradient": "fake_quant_with_min_max_vars_per_channel_gradient",
}
# Named in the texts of tools/tf_facts_quantized.py, which these files evaluate.
BY_FACTS = [
    *("QuantizeV2 Dequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3").split(),
    *("QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad QuantizeDownAndShrinkRange").split(),
    *("Requantize RequantizationRange RequantizationRangePerChannel RequantizePerChannel").split(),
    *("QuantizedAdd QuantizedMul QuantizedBiasAdd QuantizedRelu QuantizedRelu6").split(),
    *("QuantizedMatMul QuantizedMatMulWithBias QuantizedMatMulWithBiasAndRelu").split(),
    *("QuantizedMatMulWithBiasAndRequantize QuantizedMatMulWithBiasAndDequantize").split(),
    "QuantizedMatMulWithBiasAndReluAndRequantize",
    *("QuantizedConv2D QuantizedConv2DAndRelu QuantizedConv2DAndReluAndRequantize").split(),
    *("QuantizedConv2DAndRequantize QuantizedConv2DWithBias").split(),
    *("QuantizedConv2DWithBiasAndRelu QuantizedConv2DWithBiasAndRequantize").split(),
    "QuantizedConv2DWithBiasAndReluAndRequantize",
    *("QuantizedDepthwiseConv2D QuantizedDepthwiseConv2DWithBias").split(),
    "QuantizedDepthwiseConv2DWithBiasAndRelu",
    "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
    *("QuantizedMaxPool QuantizedAvgPool QuantizedResizeBilinear QuantizedInstanceNorm").split(),
    *("QuantizedBatchNormWithGlobalNormalization QuantizedConcat QuantizedReshape").split(),
    *("UniformQuantize UniformDequantize UniformRequantize UniformQuantizedAdd").split(),
    *("UniformQuantizedClipByValue UniformQuantizedDot UniformQuantizedDotHybrid").split(),
    *("UniformQuantizedConvolution UniformQuantizedConvolutionHybrid").split(),
]
# What TensorFlow does not run, or computes otherwise.
BY_DEFINITION = ["QuantizeAndDequantize", "QuantizedReluX"]
PRODUCTS = [
    "QuantizedConv2DPerChannel",
    "QuantizedConv2DWithBiasSumAndRelu",
    "QuantizedConv2DWithBiasSumAndReluAndRequantize",
    "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize",
]
RECORDS = [
    *(
        Record(op, tested_by="tests/ops/test_quant_fake.py", named_by=name)
        for op, name in FAKE.items()
    ),
    *(
        Record(op, tested_by="tests/ops/test_quant_facts.py", named_by="tf_facts_quantized")
        for op in BY_FACTS
    ),
    *(Record(op, tested_by="tests/ops/test_quant.py") for op in BY_DEFINITION),
    *(Record(op, tested_by="tests/ops/test_quant_products.py") for op in PRODUCTS),
]
