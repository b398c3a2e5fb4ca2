from tests.ops.harness import Record

OPERATIONS = (
    "EmptyTensorList",
    "TensorListReserve",
    "TensorListPushBack",
    "TensorListPopBack",
    "TensorListSetItem",
    "TensorListGetItem",
    "PenstockTensorListAddItem",
    "TensorListLength",
    "TensorListResize",
    "TensorListElementShape",
    "TensorListStack",
    "TensorListFromTensor",
    "TensorListGather",
    "TensorListScatter",
    "TensorListScatterV2",
    "TensorListScatterIntoExistingList",
    "TensorListConcat",
    "TensorListConcatV2",
    "TensorListSplit",
    "TensorListConcatLists",
    "TensorListPushBackBatch",
)

ARRAYS = (
    "TensorArrayV3",
    "TensorArrayGradV3",
    "TensorArrayGradWithShape",
    "TensorArrayWriteV3",
    "TensorArrayReadV3",
    "TensorArrayGatherV3",
    "TensorArrayScatterV3",
    "TensorArraySizeV3",
    "TensorArrayConcatV3",
    "TensorArraySplitV3",
    "TensorArrayCloseV3",
)

RECORDS = [
    *[Record(name, tested_by="tests/ops/test_tensor_lists.py") for name in OPERATIONS],
    *[Record(name, tested_by="tests/ops/test_tensor_array_v3.py") for name in ARRAYS],
    *[
        Record(
            f"PenstockTensorArray{name}",
            tested_by="tests/graph/test_superseded.py",
            named_by=f"TensorArray{name}",
        )
        for name in ("Pack", "Unpack")
    ],
    Record(
        "PenstockVectorizedCall",
        tested_by="tests/ops/test_vectorized_map.py",
        named_by="vectorized_map",
    ),
]
