"""Public names of the conversion of Python control flow."""

EXPORTS = {
    "penstock.tracing.autograph.public": {
        "to_graph": ["autograph.to_graph"],
        "to_graph_v1": ["compat.v1.autograph.to_graph"],
        "to_code": ["autograph.to_code"],
        "to_code_v1": ["compat.v1.autograph.to_code"],
        "set_verbosity": ["autograph.set_verbosity"],
        "trace": ["autograph.trace"],
        "control_status_ctx": ["__internal__.autograph.control_status_ctx"],
        "tf_convert": ["__internal__.autograph.tf_convert"],
    },
    "penstock.tracing.autograph.options": {
        "Feature": ["autograph.experimental.Feature"],
        "set_loop_options": ["autograph.experimental.set_loop_options"],
    },
    "penstock.tracing.autograph.status": {
        "do_not_convert": ["autograph.experimental.do_not_convert"],
    },
}
