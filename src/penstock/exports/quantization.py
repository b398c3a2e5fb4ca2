"""Public names of quantisation."""

_FAKE = (
    "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient"
    " fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient"
    " fake_quant_with_min_max_vars_per_channel fake_quant_with_min_max_vars_per_channel_gradient"
).split()

EXPORTS = {
    "penstock.ops.quant_fake": {
        name: [f"quantization.{name}", f"compat.v1.{name}"] for name in _FAKE
    },
}
