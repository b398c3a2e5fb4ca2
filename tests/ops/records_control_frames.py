from tests.ops.harness import Record

OPERATIONS = (
    "Switch",
    "Merge",
    "Enter",
    "Exit",
    "NextIteration",
    "LoopCond",
    "ControlTrigger",
    "Abort",
    "StackV2",
    "StackPushV2",
    "StackPopV2",
    "StackCloseV2",
    "PenstockStack",
    "Stack",
    "StackPush",
    "StackPop",
    "StackClose",
)

RECORDS = [Record(name, tested_by="tests/runtime/test_flow.py") for name in OPERATIONS]
