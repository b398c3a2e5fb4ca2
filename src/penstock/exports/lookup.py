"""Public names of lookup tables."""


def _both(name: str) -> list[str]:
    return [f"lookup.{name}", f"compat.v1.lookup.{name}"]


EXPORTS = {
    "penstock.ops.lookup_initializers": {
        name: _both(name)
        for name in ("KeyValueTensorInitializer", "TextFileIndex", "TextFileInitializer")
    },
    "penstock.ops.lookup_tables": {
        "StaticHashTable": ["lookup.StaticHashTable"],
        "StaticHashTableV1": ["compat.v1.lookup.StaticHashTable"],
        "MutableHashTable": _both("experimental.MutableHashTable"),
        "DenseHashTable": _both("experimental.DenseHashTable"),
    },
    "penstock.ops.lookup_vocabulary": {
        "StaticVocabularyTable": ["lookup.StaticVocabularyTable"],
        "StaticVocabularyTableV1": ["compat.v1.lookup.StaticVocabularyTable"],
    },
}
