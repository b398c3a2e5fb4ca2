from tests.ops.harness import Record

TESTS = "tests/runtime/test_references.py"
OPERATIONS = (
    "Variable", "VariableV2", "TemporaryVariable", "DestroyTemporaryVariable", "RefSwitch",
    "RefMerge", "RefSelect", "RefEnter", "RefExit", "RefNextIteration", "RefIdentity", "Assign",
    "AssignAdd", "AssignSub", "IsVariableInitialized", "CountUpTo", "ScatterUpdate", "ScatterAdd",
    "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMin", "ScatterMax", "ScatterNdUpdate",
    "ScatterNdAdd", "ScatterNdSub", "ScatterNdMin", "ScatterNdMax",
)  # fmt: skip
RULES = (
    "GradientDescent", "ProximalGradientDescent", "Momentum", "Adagrad", "AdagradV2",
    "ProximalAdagrad", "Adadelta", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2", "Adam", "AdaMax",
    "AdagradDA", "AddSign", "PowerSign",
)  # fmt: skip
DENSE_ONLY = ("GradientDescent", "Adam", "AdaMax", "AddSign", "PowerSign")
RULE_OPS = [
    *(f"Apply{rule}" for rule in RULES),
    *(f"SparseApply{rule}" for rule in RULES if rule not in DENSE_ONLY),
]

RECORDS = [
    *(Record(name, tested_by=TESTS) for name in OPERATIONS),
    *(Record(name, tested_by=TESTS, named_by="RULE_OPS") for name in RULE_OPS),
    *(
        Record(name, tested_by="tests/ops/test_composite_variants.py")
        for name in ("StridedSliceAssign", "DebugGradientRefIdentity", "FakeQueue")
    ),
    Record("PenstockTemporaryVariable", tested_by=TESTS, named_by="TemporaryVariable"),
    Record("PenstockSelectHandle", tested_by=TESTS, named_by="RefSelect"),
    Record("PenstockAssignAnyShape", tested_by=TESTS, named_by="validate_shape=False"),
]
