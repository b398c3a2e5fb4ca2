"""Operations on variables: all are tested beside the variables they need."""

from tests.ops.harness import Record

from penstock.ops.state_optimizers import APPLY, SPARSE_APPLY
from penstock.ops.state_scatter import SCATTER, SCATTER_ND

VARIABLES = [
    "VarHandleOp",
    "VarIsInitializedOp",
    "ReadVariableOp",
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "DestroyResourceOp",
    "VariableShape",
    "ResourceGather",
    "ResourceGatherNd",
    "ResourceStridedSliceAssign",
]
UPDATES = [op.name for table in (SCATTER, SCATTER_ND) for op in table.values()]
RULES = [op.name for table in (APPLY, SPARSE_APPLY) for op in table.values()]

RECORDS = [
    *(Record(name, tested_by="tests/ops/test_state_ops.py") for name in VARIABLES),
    Record("ResourceCountUpTo", tested_by="tests/ops/test_state_ops.py", named_by="count_up_to"),
    *(
        Record(name, tested_by="tests/ops/test_state_ops.py", named_by="scatter_")
        for name in UPDATES
    ),
    *(
        Record(name, tested_by="tests/ops/test_state_rules.py", named_by="SPARSE_APPLY")
        for name in RULES
    ),
    Record("Qr", tested_by="tests/ops/test_initializers.py"),
    *(
        Record(name, tested_by="tests/runtime/test_session_tensors.py", named_by=function)
        for name, function in (
            ("GetSessionHandle", "get_session_handle"),
            ("GetSessionHandleV2", "GetSessionHandleV2"),
            ("GetSessionTensor", "get_session_tensor"),
            ("DeleteSessionTensor", "delete_session_tensor"),
        )
    ),
]
