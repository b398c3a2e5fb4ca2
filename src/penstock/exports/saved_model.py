"""Public names of SavedModel."""

_CONSTANTS = (
    "ASSETS_DIRECTORY ASSETS_KEY CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES "
    "CLASSIFY_OUTPUT_SCORES DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB "
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY GPU PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS "
    "REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS SAVED_MODEL_FILENAME_PB "
    "SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION SERVING TPU TRAINING "
    "VARIABLES_DIRECTORY VARIABLES_FILENAME"
).split()

EXPORTS = {
    "penstock.checkpoint.saved_model.constants": {
        **{name: [f"saved_model.{name}"] for name in _CONSTANTS},
    },
    "penstock.checkpoint.saved_model.fingerprint": {
        "Fingerprint": ["saved_model.experimental.Fingerprint"],
        "read_fingerprint": ["saved_model.experimental.read_fingerprint"],
    },
    "penstock.checkpoint.saved_model.folder": {
        "contains_saved_model": ["saved_model.contains_saved_model"],
    },
    "penstock.checkpoint.saved_model.load": {"load": ["saved_model.load"]},
    "penstock.checkpoint.saved_model.objects": {
        "Asset": ["saved_model.Asset"],
        "TrackableResource": ["saved_model.experimental.TrackableResource"],
    },
    "penstock.checkpoint.saved_model.options": {
        "LoadOptions": ["saved_model.LoadOptions"],
        "SaveOptions": ["saved_model.SaveOptions"],
        "VariablePolicy": ["saved_model.experimental.VariablePolicy"],
    },
    "penstock.checkpoint.saved_model.save": {"save": ["saved_model.save"]},
}
