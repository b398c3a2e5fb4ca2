"""Public names of what describes this build, and of exchange with other libraries."""

_BUILD = "COMPILER_VERSION GIT_VERSION VERSION".split()
_GRAPH_DEF = (
    "GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER".split()
)

EXPORTS = {
    "penstock.core.trackable": {
        "AutoTrackable": ["__internal__.tracking.AutoTrackable"],
        "Trackable": ["__internal__.tracking.Trackable"],
        "no_automatic_dependency_tracking": [
            "__internal__.tracking.no_automatic_dependency_tracking"
        ],
    },
    "penstock.core.extension_type": {
        "BatchableExtensionType": ["experimental.BatchableExtensionType"],
        "ExtensionType": ["experimental.ExtensionType"],
        "ExtensionTypeBatchEncoder": ["experimental.ExtensionTypeBatchEncoder"],
        "ExtensionTypeSpec": ["experimental.ExtensionTypeSpec"],
        "as_dict": ["experimental.extension_type.as_dict"],
    },
    "penstock.ops.optional": {
        "Optional": ["experimental.Optional"],
        "OptionalSpec": ["OptionalSpec"],
    },
    "penstock.ops.dispatch_for": {
        "dispatch_for_api": ["experimental.dispatch_for_api"],
        "dispatch_for_binary_elementwise_apis": [
            "experimental.dispatch_for_binary_elementwise_apis"
        ],
        "dispatch_for_binary_elementwise_assert_apis": [
            "experimental.dispatch_for_binary_elementwise_assert_apis"
        ],
        "dispatch_for_unary_elementwise_apis": ["experimental.dispatch_for_unary_elementwise_apis"],
        "unregister_dispatch_for": ["experimental.unregister_dispatch_for"],
    },
    "penstock.core.build_info": {
        **{
            name: [f"version.{name}", f"compat.v1.{name}", f"__{name.lower()}__"] for name in _BUILD
        },
        **{name: [f"version.{name}", f"compat.v1.{name}"] for name in _GRAPH_DEF},
        "get_build_info": ["sysconfig.get_build_info"],
        **{
            name: [f"sysconfig.{name}", f"compat.v1.{name}", f"__{name.lower()}__"]
            for name in ("CXX11_ABI_FLAG", "CXX_VERSION", "MONOLITHIC_BUILD")
        },
    },
    "penstock.util.text": {
        name: [f"compat.{name}"]
        for name in (
            "as_bytes",
            "as_str",
            "as_str_any",
            "as_text",
            "bytes_or_text_types",
            "complex_types",
            "integral_types",
            "path_to_str",
            "real_types",
        )
    },
    "penstock.core.dlpack": {
        "to_dlpack": ["experimental.dlpack.to_dlpack"],
        "from_dlpack": ["experimental.dlpack.from_dlpack"],
    },
}
