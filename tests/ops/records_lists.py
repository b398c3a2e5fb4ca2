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

RECORDS = [Record(name, tested_by="tests/ops/test_tensor_lists.py") for name in OPERATIONS]
