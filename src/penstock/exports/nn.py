"""Public names of neural networks."""

EXPORTS = {
    "penstock.ops.nn_ctc": {
        "collapse_repeated": ["nn.collapse_repeated"],
        "ctc_loss": ["nn.ctc_loss", "compat.v1.nn.ctc_loss_v2"],
        "ctc_loss_v1": ["compat.v1.nn.ctc_loss"],
        "ctc_unique_labels": ["nn.ctc_unique_labels"],
    },
    "penstock.ops.nn_ctc_decoders": {
        "ctc_beam_search_decoder": [
            "nn.ctc_beam_search_decoder",
            "compat.v1.nn.ctc_beam_search_decoder_v2",
        ],
        "ctc_beam_search_decoder_v1": ["compat.v1.nn.ctc_beam_search_decoder"],
        "ctc_greedy_decoder": ["nn.ctc_greedy_decoder"],
    },
    "penstock.ops.nn_activations": {
        "relu": ["nn.relu"],
        "relu6": ["nn.relu6"],
        "elu": ["nn.elu"],
        "selu": ["nn.selu"],
        "leaky_relu": ["nn.leaky_relu"],
        "log_sigmoid": ["math.log_sigmoid", "compat.v1.log_sigmoid"],
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
        "softmax_cross_entropy_with_logits_v1": ["compat.v1.nn.softmax_cross_entropy_with_logits"],
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
    "penstock.ops.nn_conv_ops": {
        "conv2d": ["nn.conv2d"],
        "conv2d_v1": ["compat.v1.nn.conv2d"],
        "conv3d": ["nn.conv3d"],
        "conv3d_v1": ["compat.v1.nn.conv3d"],
        "conv1d": ["nn.conv1d"],
        "conv1d_v1": ["compat.v1.nn.conv1d"],
        "convolution": ["nn.convolution"],
        "convolution_v1": ["compat.v1.nn.convolution"],
        "atrous_conv2d": ["nn.atrous_conv2d"],
        "depthwise_conv2d": ["nn.depthwise_conv2d"],
        "depthwise_conv2d_v1": ["compat.v1.nn.depthwise_conv2d"],
        "depthwise_conv2d_native": ["compat.v1.nn.depthwise_conv2d_native"],
        "separable_conv2d": ["nn.separable_conv2d"],
        "separable_conv2d_v1": ["compat.v1.nn.separable_conv2d"],
    },
    "penstock.ops.nn_conv_transpose": {
        "conv_transpose": ["nn.conv_transpose"],
        "conv1d_transpose": ["nn.conv1d_transpose"],
        "conv2d_transpose": ["nn.conv2d_transpose"],
        "conv2d_transpose_v1": ["compat.v1.nn.conv2d_transpose"],
        "conv3d_transpose": ["nn.conv3d_transpose"],
        "conv3d_transpose_v1": ["compat.v1.nn.conv3d_transpose"],
        "atrous_conv2d_transpose": ["nn.atrous_conv2d_transpose"],
        "conv2d_backprop_input": ["compat.v1.nn.conv2d_backprop_input"],
        "conv2d_backprop_filter": ["compat.v1.nn.conv2d_backprop_filter"],
        "conv3d_backprop_filter": [
            "compat.v1.nn.conv3d_backprop_filter",
            "compat.v1.nn.conv3d_backprop_filter_v2",
        ],
        "depthwise_conv2d_backprop_input": [
            "nn.depthwise_conv2d_backprop_input",
            "compat.v1.nn.depthwise_conv2d_native_backprop_input",
        ],
        "depthwise_conv2d_backprop_filter": [
            "nn.depthwise_conv2d_backprop_filter",
            "compat.v1.nn.depthwise_conv2d_native_backprop_filter",
        ],
    },
    "penstock.ops.nn_pool_ops": {
        "max_pool": ["nn.max_pool", "compat.v1.nn.max_pool_v2"],
        "max_pool_v1": ["compat.v1.nn.max_pool"],
        "max_pool1d": ["nn.max_pool1d"],
        "max_pool2d": ["nn.max_pool2d"],
        "max_pool3d": ["nn.max_pool3d"],
        "avg_pool": ["nn.avg_pool", "compat.v1.nn.avg_pool_v2"],
        "avg_pool_v1": ["compat.v1.nn.avg_pool", "compat.v1.nn.avg_pool2d"],
        "avg_pool1d": ["nn.avg_pool1d"],
        "avg_pool2d": ["nn.avg_pool2d"],
        "avg_pool3d": ["nn.avg_pool3d"],
        "pool": ["nn.pool"],
        "pool_v1": ["compat.v1.nn.pool"],
        "max_pool_with_argmax": ["nn.max_pool_with_argmax"],
        "max_pool_with_argmax_v1": ["compat.v1.nn.max_pool_with_argmax"],
    },
    "penstock.ops.nn_batch_norm": {"fused_batch_norm": ["compat.v1.nn.fused_batch_norm"]},
    "penstock.ops.nn_moments": {
        "moments": ["nn.moments"],
        "moments_v1": ["compat.v1.nn.moments"],
        "weighted_moments": ["nn.weighted_moments"],
        "weighted_moments_v1": ["compat.v1.nn.weighted_moments"],
        "sufficient_statistics": ["nn.sufficient_statistics"],
        "sufficient_statistics_v1": ["compat.v1.nn.sufficient_statistics"],
        "normalize_moments": ["nn.normalize_moments"],
        "batch_normalization": ["nn.batch_normalization"],
        "batch_norm_with_global_normalization": ["nn.batch_norm_with_global_normalization"],
        "batch_norm_with_global_normalization_v1": [
            "compat.v1.nn.batch_norm_with_global_normalization"
        ],
        "l2_normalize": ["nn.l2_normalize", "math.l2_normalize", "linalg.l2_normalize"],
        "zero_fraction": ["nn.zero_fraction", "math.zero_fraction"],
    },
    "penstock.ops.nn_response": {
        "local_response_normalization": ["nn.local_response_normalization", "nn.lrn"],
        "in_top_k": ["nn.in_top_k", "math.in_top_k"],
        "in_top_k_v1": ["compat.v1.nn.in_top_k", "compat.v1.math.in_top_k"],
    },
    "penstock.ops.nn_dropout": {
        "dropout": ["nn.dropout"],
        "dropout_v1": ["compat.v1.nn.dropout"],
        "stateless_dropout": ["nn.experimental.stateless_dropout"],
        "general_dropout": ["nn.experimental.general_dropout"],
    },
    "penstock.ops.nn_embedding": {
        "embedding_lookup": ["nn.embedding_lookup"],
        "embedding_lookup_v1": ["compat.v1.nn.embedding_lookup"],
    },
    "penstock.ops.nn_loss_scaling": {
        "compute_average_loss": ["nn.compute_average_loss"],
        "scale_regularization_loss": ["nn.scale_regularization_loss"],
    },
    "penstock.ops.array_partition": {
        "dynamic_partition": ["dynamic_partition"],
        "dynamic_stitch": ["dynamic_stitch"],
    },
}
