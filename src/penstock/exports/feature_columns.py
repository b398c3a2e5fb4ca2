"""Public names of feature columns."""

_MODULES = {
    "categorical": (
        "categorical_column_with_hash_bucket categorical_column_with_identity"
        " categorical_column_with_vocabulary_list sequence_categorical_column_with_hash_bucket"
        " sequence_categorical_column_with_identity"
        " sequence_categorical_column_with_vocabulary_file"
        " sequence_categorical_column_with_vocabulary_list weighted_categorical_column"
    ),
    "dense": "embedding_column indicator_column numeric_column sequence_numeric_column",
    "derived": "bucketized_column crossed_column",
    "models": "make_parse_example_spec",
}
_PACKAGE = "penstock.train.feature_columns"

EXPORTS = {
    f"{_PACKAGE}.{module}": {
        name: [f"feature_column.{name}", f"compat.v1.feature_column.{name}"]
        for name in names.split()
    }
    for module, names in _MODULES.items()
}
_FILE = "categorical_column_with_vocabulary_file"
EXPORTS[f"{_PACKAGE}.categorical"][_FILE] = [f"feature_column.{_FILE}"]
EXPORTS[f"{_PACKAGE}.categorical"][f"{_FILE}_v1"] = [f"compat.v1.feature_column.{_FILE}"]
EXPORTS[f"{_PACKAGE}.dense"]["shared_embedding_columns"] = [
    "feature_column.shared_embeddings",
    "compat.v1.feature_column.shared_embedding_columns",
]
for _name in ("input_layer", "linear_model"):
    EXPORTS[f"{_PACKAGE}.models"][_name] = [f"compat.v1.feature_column.{_name}"]
