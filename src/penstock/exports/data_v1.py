"""Public names of the old API of datasets."""

EXPORTS = {
    "penstock.data.dataset_v1": {"DatasetV1": ["compat.v1.data.Dataset"]},
    "penstock.data.iterator_v1": {
        "Iterator": ["compat.v1.data.Iterator"],
        "make_one_shot_iterator": ["compat.v1.data.make_one_shot_iterator"],
        "make_initializable_iterator": ["compat.v1.data.make_initializable_iterator"],
    },
    "penstock.data.legacy": {
        "get_legacy_output_types": ["compat.v1.data.get_output_types"],
        "get_legacy_output_shapes": ["compat.v1.data.get_output_shapes"],
        "get_legacy_output_classes": ["compat.v1.data.get_output_classes"],
    },
}
