"""Public names of SavedModel."""

_CONSTANTS = (
    "ASSETS_DIRECTORY ASSETS_KEY CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES "
    "CLASSIFY_OUTPUT_SCORES DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB "
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY GPU PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS "
    "REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS SAVED_MODEL_FILENAME_PB "
    "SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION SERVING TPU TRAINING "
    "VARIABLES_DIRECTORY VARIABLES_FILENAME"
).split()

_V1 = "compat.v1.saved_model"
_FILES = (
    "ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY "
    "MAIN_OP_KEY SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION "
    "VARIABLES_DIRECTORY VARIABLES_FILENAME"
).split()
_TAGS = "GPU SERVING TPU TRAINING".split()
_V1_ONLY = ("LEGACY_INIT_OP_KEY", "MAIN_OP_KEY")


def _constant(name: str) -> list[str]:
    group = "constants" if name in _FILES else "signature_constants"
    group = "tag_constants" if name in _TAGS else group
    plain = f"{_V1}.{name}" if name in _V1_ONLY else f"saved_model.{name}"
    return [plain, f"{_V1}.{group}.{name}"]


def _both(name: str, module: str) -> list[str]:
    return [f"{_V1}.{name}", f"{_V1}.{module}.{name}"]


_SIGNATURES = (
    "build_signature_def classification_signature_def is_valid_signature predict_signature_def "
    "regression_signature_def"
).split()

EXPORTS = {
    "penstock.checkpoint.saved_model.builder": {
        "SavedModelBuilder": [f"{_V1}.Builder", f"{_V1}.builder.SavedModelBuilder"],
        "main_op": [f"{_V1}.main_op.main_op"],
        "main_op_with_restore": _both("main_op_with_restore", "main_op"),
        "simple_save": [f"{_V1}.simple_save"],
    },
    "penstock.checkpoint.saved_model.constants": {
        name: _constant(name) for name in (*_CONSTANTS, *_V1_ONLY)
    },
    "penstock.checkpoint.saved_model.fingerprint": {
        "Fingerprint": ["saved_model.experimental.Fingerprint"],
        "read_fingerprint": ["saved_model.experimental.read_fingerprint"],
    },
    "penstock.checkpoint.saved_model.folder": {
        "contains_saved_model": ["saved_model.contains_saved_model"],
        "maybe_saved_model_directory": _both("maybe_saved_model_directory", "loader"),
    },
    "penstock.checkpoint.saved_model.load": {"load": ["saved_model.load", f"{_V1}.load_v2"]},
    "penstock.checkpoint.saved_model.loader": {
        "MethodNameUpdater": [f"{_V1}.signature_def_utils.MethodNameUpdater"],
        "load": _both("load", "loader"),
    },
    "penstock.checkpoint.saved_model.options": {
        "LoadOptions": ["saved_model.LoadOptions"],
        "SaveOptions": ["saved_model.SaveOptions"],
        "VariablePolicy": ["saved_model.experimental.VariablePolicy"],
    },
    "penstock.checkpoint.saved_model.save": {
        "save": ["saved_model.save", f"{_V1}.experimental.save"],
    },
    "penstock.checkpoint.saved_model.signature_defs": {
        **{name: _both(name, "signature_def_utils") for name in _SIGNATURES},
        "build_tensor_info": _both("build_tensor_info", "utils"),
        "get_tensor_from_tensor_info": _both("get_tensor_from_tensor_info", "utils"),
    },
    "penstock.ops.trackable_resource": {
        "Asset": ["saved_model.Asset"],
        "TrackableResource": ["saved_model.experimental.TrackableResource"],
    },
}
