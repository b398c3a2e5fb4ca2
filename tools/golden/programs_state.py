"""Golden cases of variables: update rules, scatters and assignments, by handle and by reference.

The arguments follow from the definitions: slots are variables, gradients have the variable's shape
or one row for each index, everything else is a number that is usual for its name.
"""

from __future__ import annotations

import re
from typing import Any

from tools.golden.codec import Case
from tools.golden.values import (
    INF,
    NAN,
    Value,
    a,
    d,
    eager,
    ints,
    of,
    ref,
    s,
    session,
    several,
    t,
    var,
)  # fmt: skip
from tools.op_signature import load_op_defs

RULES = re.compile(r"(Resource)?(Sparse)?Apply\w+")
SCATTERS = re.compile(r"Scatter(Nd)?(Add|Sub|Mul|Div|Min|Max|Update)")

_VARIABLE = [[1.0, -2.0], [0.5, 3.0], [-0.25, 0.0]]
_SLOT = [[0.5, 1.5], [0.25, 2.0], [1.0, 0.125]]
_GRADIENT = [[0.5, -1.0], [0.25, 2.0], [-3.0, 1.5]]
_NUMBERS = {
    "lr": 0.125, "alpha": 0.125, "rho": 0.75, "momentum": 0.5, "epsilon": 1e-3, "beta1": 0.75,
    "beta2": 0.875, "beta1_power": 0.5625, "beta2_power": 0.25, "l1": 0.0625, "l2": 0.03125,
    "l2_shrinkage": 0.25, "lr_power": -0.5, "logbase": 2.0, "sign_decay": 0.5, "beta": 0.5,
}  # fmt: skip
_INTEGER_STEPS = {"global_step": 3}


def programs() -> dict[str, list[Case]]:
    """Operation -> its cases."""
    found = {n: _of_rule(n) for n in load_op_defs() if RULES.fullmatch(n)}
    found |= {n: _of_scatter(n) for n in load_op_defs() if SCATTERS.fullmatch(n)}
    return found | _others()


def _of_rule(op: str) -> list[Case]:
    definition = load_op_defs()[op]
    usual = _arguments(definition, _GRADIENT)
    flags = {i["name"] for i in definition["attrs"]} & {
        "use_nesterov",
        "update_slots",
        "multiply_linear_by_lr",
    }
    double = _arguments(definition, _GRADIENT, "float64")
    cases = [usual, double, _arguments(definition, [[NAN, INF], [-INF, 0.0], [1.0, 1e38]])]
    cases += [usual | {flag: a(value)} for flag in sorted(flags) for value in (True, False)]
    gradient = "grad" if "grad" in usual else "delta"
    cases += [usual | {gradient: t([1.0])}, usual | {gradient: t([[1, 2]], "int32")}]
    if "lr" in usual:
        cases += [usual | {"lr": t([0.125])}, usual | {"lr": t(-1.0)}]
    if "indices" in usual:
        cases += [usual | {"indices": ints(2, 2)}, usual | {"indices": ints(0, 3)}]
        cases += [usual | {"indices": ints(0)}, usual | {"indices": ints(-1, 0)}]
        cases += [usual | {"indices": t([], "int32"), "grad": t([], shape=(0, 2))}]
    mode = session if any(i.get("is_ref") for i in definition["inputs"]) else eager
    return [mode((op, arguments)) for arguments in cases]


def _arguments(
    definition: dict[str, Any], gradient: Any, dtype: str = "float32"
) -> dict[str, Value]:
    sparse = any(i["name"] == "indices" for i in definition["inputs"])
    made: dict[str, Value] = {}
    for i, argument in enumerate(definition["inputs"]):
        name = argument["name"]
        if argument.get("is_ref") or argument.get("type") == "resource":
            variable = ref if argument.get("is_ref") else var
            made[name] = variable(_SLOT if i else _VARIABLE, dtype)
        elif name == "indices":
            made[name] = ints(2, 0)
        elif name in ("grad", "delta"):
            made[name] = t(gradient[:2] if sparse else gradient, dtype)
        elif name in _INTEGER_STEPS:
            made[name] = t(_INTEGER_STEPS[name], "int64")
        else:
            made[name] = t(_NUMBERS[name], dtype)
    return made


def _of_scatter(op: str) -> list[Case]:
    nd = op.startswith("ScatterNd")

    def call(
        values: Any, indices: Any, updates: Any, dtype: str = "float32", **attrs: Value
    ) -> Case:
        where = t([[i] for i in indices] if nd and indices else indices, "int32")
        arguments = {"ref": ref(values, dtype), "indices": where, "updates": t(updates, dtype)}
        return session((op, arguments | attrs))

    rows = [[2.0, 4.0], [-1.0, 0.5]]
    return [
        call(_VARIABLE, [2, 0], rows),
        call(_VARIABLE, [1, 1], rows, use_locking=a(True)),
        call(_VARIABLE, [0, 1], [[NAN, INF], [-INF, 0.0]]),
        call([5, -7, 9], [0, 2], [2, -3], "int32"),
        call([2**63 - 1, -(2**63)], [0, 1], [1, -1], "int64"),
        call([1.5, 2.5], [1], [3.0], "float64"),
        call(_VARIABLE, [], [] if nd else [[0.0, 0.0]][:0], use_locking=a(False)),
        call(_VARIABLE, [3, 0], rows),
        call(_VARIABLE, [-1, 0], rows),
        call(_VARIABLE, [0], rows),
        call(_VARIABLE, [0, 1], 2.0),
    ]


def _others() -> dict[str, list[Case]]:
    value = t([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    one = ref(_VARIABLE)
    declared = ("VariableV2", {"shape": s(2), "dtype": d("float32")})
    found = {
        op: [
            session((op, {"ref": one, "value": value})),
            session((op, {"ref": ref([1, 2], "int32"), "value": t([3, 4], "int32")})),
            session((op, {"ref": one, "value": t([[NAN, INF]] * 3)})),
            session((op, {"ref": one, "value": t([1.0])})),
            session((op, {"ref": one, "value": t([[1, 2]], "int32")})),
        ]
        for op in ("Assign", "AssignAdd", "AssignSub")
    }
    found["Assign"] += [
        session(("Assign", {"ref": one, "value": t([1.0, 2.0]), "validate_shape": a(False)})),
        session(declared, ("Assign", {"ref": of(0), "value": t([1.0, NAN])})),
    ]
    found["CountUpTo"] = [
        session(("CountUpTo", {"ref": ref(at, kind), "limit": a(3)}))
        for at, kind in ((0, "int32"), (2, "int64"), (3, "int32"), (4, "int64"), ([0], "int32"))
    ]
    found["IsVariableInitialized"] = [
        session(("IsVariableInitialized", {"ref": one})),
        session(declared, ("IsVariableInitialized", {"ref": of(0)})),
        session(("IsVariableInitialized", {"ref": ref([True, False], "bool")})),
    ]
    for op in ("VariableV2", "Variable"):
        found[op] = [
            session((op, {"shape": s(), "dtype": d("float32")}), ("Assign", {"ref": of(0), "value": t(1.5)})),
            session((op, {"shape": s(0, 2), "dtype": d("int64")}),
                    ("Assign", {"ref": of(0), "value": t([], "int64", (0, 2))})),
            session((op, {"shape": s(2), "dtype": d("float32")}), ("Assign", {"ref": of(0), "value": t([1.0])})),
            session((op, {"shape": s(2), "dtype": d("float32")}), ("Identity", {"input": of(0)})),
        ]  # fmt: skip
    found["TemporaryVariable"] = found["DestroyTemporaryVariable"] = [
        session(
            ("TemporaryVariable", {"shape": s(2), "dtype": d("float32"), "var_name": a("v")}),
            ("Assign", {"ref": of(0), "value": t(values)}),
            ("DestroyTemporaryVariable", {"ref": of(1), "var_name": a(name)}),
        )
        for values, name in (([1.0, 2.0], "v"), ([NAN, INF], "v"), ([1.0], "v"))
    ]
    for op, output in (("RefIdentity", "input"),):
        found[op] = [
            session((op, {output: ref(v, k)}))
            for v, k in (([1.0], "float32"), (7, "int32"), ([], "bool"))
        ]
    found["RefSelect"] = [
        session(("RefSelect", {"index": t(i, "int32"), "inputs": several(ref([1.0]), ref([2.0]))}),
                ("Identity", {"input": of(0)}))
        for i in (0, 1, 2, -1, [0])
    ]  # fmt: skip
    found["RefMerge"] = [
        session(("RefMerge", {"inputs": several(ref(v))}), ("Identity", {"input": of(0)}))
        for v in ([1.0], 2.0, [[NAN]])
    ]
    for op, data in (("Switch", t([1.0, 2.0])), ("RefSwitch", ref([1.0, 2.0]))):
        merge = "Merge" if op == "Switch" else "RefMerge"
        found[op] = [
            session((op, {"data": data, "pred": t(pred, "bool")}),
                    (merge, {"inputs": several(of(0, 0), of(0, 1))}), ("Identity", {"input": of(1)}))
            for pred in (True, False, [True])
        ]  # fmt: skip
    found["VarHandleOp"] = [
        eager(("VarHandleOp", {"dtype": d("float32"), "shape": s(*dims), "shared_name": a("golden_own")}),
              ("AssignVariableOp", {"resource": of(0), "value": t(values)}),
              ("ReadVariableOp", {"resource": of(0), "dtype": d(kind)}))
        for dims, values, kind in (((2,), [1.0, 2.0], "float32"), ((2,), [1.0], "float32"),
                                   ((), 3.0, "float64"), ((None,), [], "float32"))
    ]  # fmt: skip
    found["VariableShape"] = [
        eager(("VariableShape", {"input": var(v), "out_type": d(k)}))
        for v, k in ((1.0, "int32"), ([], "int64"), (_VARIABLE, "int32"), (_VARIABLE, "float32"))
    ]
    return found
