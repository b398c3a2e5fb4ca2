from tests.ops.harness import Record

OPERATIONS = (
    "If",
    "StatelessIf",
    "Case",
    "StatelessCase",
    "While",
    "StatelessWhile",
)
IN_GRADIENTS = (
    "PartitionedCall",
    "StatefulPartitionedCall",
    "PenstockStackWrite",
    "PenstockStackRead",
    "PenstockStackAdd",
)

RECORDS = [
    *(Record(name, tested_by="tests/ops/test_control_flow.py") for name in OPERATIONS),
    *(Record(name, tested_by="tests/ops/test_control_flow_gradients.py") for name in IN_GRADIENTS),
    *(
        Record(name, tested_by="tests/ops/test_raw_functions.py")
        for name in ("For", "RemoteCall", "SymbolicGradient")
    ),
    Record(
        "BatchFunction",
        tested_by="tests/runtime/test_batching.py",
        named_by="nondifferentiable_batch_function",
    ),
]
