"""Operations on lookup tables are tested in a file of their own."""

from tests.ops.harness import Record

_MAKERS = {
    "HashTable": "StaticHashTable",
    "MutableHashTable": "MutableHashTable",
    "MutableHashTableOfTensors": "of_vectors",
    "MutableDenseHashTable": "DenseHashTable",
}
_USES = {
    "Find": "lookup(",
    "Insert": "insert(",
    "Size": "size(",
    "Export": "export(",
    "Import": "_restore_from_tensors",
}
_NAMED = {
    **{f"{form}": named for name, named in _MAKERS.items() for form in (name, f"{name}V2")},
    **{f"Anonymous{name}": "experimental_is_anonymous" for name in _MAKERS},
    **{f"LookupTable{use}{v}": named for use, named in _USES.items() for v in ("", "V2")},
    "LookupTableRemoveV2": "remove(",
    "InitializeTable": "InitializeTable(",
    "InitializeTableV2": "InitializeTableV2",
    "InitializeTableFromTextFile": "TextFileInitializer",
    "InitializeTableFromTextFileV2": "TextFileInitializer",
    "PenstockMutableDenseHashTable": "raw.MutableDenseHashTable",
}
RECORDS = [
    Record(op, tested_by="tests/ops/test_lookup.py", named_by=named) for op, named in _NAMED.items()
]
