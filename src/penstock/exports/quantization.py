"""Public names of quantisation."""

_FAKE = (
    "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient"
    " fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient"
    " fake_quant_with_min_max_vars_per_channel fake_quant_with_min_max_vars_per_channel_gradient"
).split()
_BOTH = "quantize dequantize quantized_concat".split()
_NN = "quantized_avg_pool quantized_conv2d quantized_max_pool quantized_relu_x".split()

EXPORTS = {
    "penstock.ops.quant_fake": {
        name: [f"quantization.{name}", f"compat.v1.{name}"] for name in _FAKE
    },
    "penstock.ops.quant_functions": {
        **{name: [f"quantization.{name}", f"compat.v1.{name}"] for name in _BOTH},
        "quantize_and_dequantize": ["quantization.quantize_and_dequantize"],
        "quantize_and_dequantize_v2": ["quantization.quantize_and_dequantize_v2"],
        "quantize_v2": ["compat.v1.quantize_v2"],
        **{name: [f"compat.v1.nn.{name}"] for name in _NN},
    },
}
