"""Public names of neural networks."""

EXPORTS = {
    "penstock.ops.nn_activations": {
        "relu": ["nn.relu"],
        "relu6": ["nn.relu6"],
        "elu": ["nn.elu"],
        "selu": ["nn.selu"],
        "leaky_relu": ["nn.leaky_relu"],
        "softplus": ["nn.softplus", "math.softplus"],
        "softsign": ["nn.softsign", "math.softsign"],
        "crelu": ["nn.crelu"],
        "crelu_v1": ["compat.v1.nn.crelu"],
        "gelu": ["nn.gelu"],
        "silu": ["nn.silu", "nn.swish"],
    },
    "penstock.ops.nn_losses": {
        "softmax": ["nn.softmax", "math.softmax"],
        "softmax_v1": ["compat.v1.nn.softmax", "compat.v1.math.softmax"],
        "log_softmax": ["nn.log_softmax", "math.log_softmax"],
        "log_softmax_v1": ["compat.v1.nn.log_softmax", "compat.v1.math.log_softmax"],
        "softmax_cross_entropy_with_logits": ["nn.softmax_cross_entropy_with_logits"],
        "softmax_cross_entropy_with_logits_v1": [
            "compat.v1.nn.softmax_cross_entropy_with_logits"
        ],
        "softmax_cross_entropy_with_logits_v2": [
            "compat.v1.nn.softmax_cross_entropy_with_logits_v2"
        ],
        "sparse_softmax_cross_entropy_with_logits": ["nn.sparse_softmax_cross_entropy_with_logits"],
        "sparse_softmax_cross_entropy_with_logits_v1": [
            "compat.v1.nn.sparse_softmax_cross_entropy_with_logits"
        ],
        "sigmoid_cross_entropy_with_logits": ["nn.sigmoid_cross_entropy_with_logits"],
        "weighted_cross_entropy_with_logits": ["nn.weighted_cross_entropy_with_logits"],
        "weighted_cross_entropy_with_logits_v1": [
            "compat.v1.nn.weighted_cross_entropy_with_logits"
        ],
        "log_poisson_loss": ["nn.log_poisson_loss"],
    },
    "penstock.ops.nn_bias": {
        "bias_add": ["nn.bias_add"],
        "xw_plus_b": ["compat.v1.nn.xw_plus_b"],
        "relu_layer": ["compat.v1.nn.relu_layer"],
    },
}
