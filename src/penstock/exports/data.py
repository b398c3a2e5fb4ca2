"""Public names of datasets."""

EXPORTS = {
    "penstock.data.dataset": {
        "Dataset": ["data.Dataset"],
    },
    "penstock.data.base": {"DatasetSpec": ["data.DatasetSpec"]},
    "penstock.data.iterator": {
        "IteratorBase": ["data.Iterator"],
        "IteratorSpec": ["data.IteratorSpec"],
        "NumpyIterator": ["data.NumpyIterator"],
    },
    "penstock.data.stages": {
        "INFINITE": ["data.INFINITE_CARDINALITY"],
        "UNKNOWN": ["data.UNKNOWN_CARDINALITY"],
    },
    "penstock.data.mapping": {"AUTOTUNE": ["data.AUTOTUNE"]},
}
