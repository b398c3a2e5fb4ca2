"""Golden cases of what holds tensors: queues, barriers, stages, stacks, arrays, lists."""

from __future__ import annotations

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
    s,
    session,
    several,
    t,
    texts,
)  # fmt: skip

Step = tuple[str, dict[str, Value]]
Found = dict[str, list[Case]]


def programs() -> Found:
    """Operation -> its cases."""
    found: Found = {}
    for part in (_queues, _barriers, _stages, _stacks, _arrays, _lists, _maps):
        for op, cases in part():
            found.setdefault(op, []).extend(c for c in cases if c not in found.get(op, []))
    return found


def each(case: Case) -> list[tuple[str, list[Case]]]:
    """The case for each operation that it runs."""
    return [(op, [case]) for op in dict.fromkeys(step[0] for step in case["steps"])]


# ---- queues


def _queues() -> list[tuple[str, list[Case]]]:
    found = [pair for case in _queue_programs("", session) for pair in each(case)]
    for i, case in enumerate(_queue_programs("V2", eager)):
        found += [(op, [_named(case, f"golden_{op}_{i}")]) for op, _ in each(case)]
    return found


def _named(case: Case, name: str) -> Case:
    """With a queue of its own: eager queues of one name are one queue."""
    (kind, arguments), *others = case["steps"]
    return {**case, "steps": [[kind, arguments | {"shared_name": a(name)}], *others]}


def _queue_programs(v: str, run: Any) -> list[Case]:
    one = {"component_types": several(d("float32")), "shapes": several(s(2))}
    make = (f"FIFOQueue{v}", one)
    rows = t([[1.0, 2.0], [3.0, NAN], [INF, 6.0]])

    def put(*values: Value) -> Step:
        return (f"QueueEnqueue{v}", {"handle": of(0), "components": several(*values)})

    def put_many(*values: Value) -> Step:
        return (f"QueueEnqueueMany{v}", {"handle": of(0), "components": several(*values)})

    def take(name: str = "", types: tuple[str, ...] = ("float32",), **n: Value) -> Step:
        kinds = several(*map(d, types))
        return (f"QueueDequeue{name}{v}", {"handle": of(0), "component_types": kinds, **n})

    size: Step = (f"QueueSize{v}", {"handle": of(0)})
    close: Step = (f"QueueClose{v}", {"handle": of(0)})
    closed: Step = (f"QueueIsClosed{v}", {"handle": of(0)})
    three = t(3, "int32")
    pairs = {"component_types": several(d("int64"), d("string")), "shapes": several(s(), s())}
    order = {"component_types": several(d("string")), "shapes": several(s())}
    padded = {"component_types": several(d("int32")), "shapes": several(s(None))}
    return [
        run(make, put(t([1.0, 2.0])), size, take()),
        run(make, put_many(rows), take("Many", n=t(2, "int32")), size, closed),
        run(make, put_many(rows), close, closed, take("UpTo", n=t(5, "int32")), size),
        run(make, put_many(rows), close, take("Many", n=t(5, "int32"))),
        run(make, close, put(t([1.0, 2.0]))),
        run(make, put_many(rows), close, closed),
        run(make, closed, size),
        run(make, close, close, closed),
        run(make, close, take()),
        run(make, put(t([1.0]))),
        run(make, put(t([1, 2], "int32"))),
        run(make, put(t([1.0, 2.0]), t([1.0, 2.0]))),
        run(make, put_many(t([1.0, 2.0]))),
        run(make, put_many(t([], shape=(0, 2))), size),
        run(make, take("Many", n=t(-1, "int32"))),
        run(make, take("Many", n=t(0, "int32"))),
        run(make, put_many(rows), take("UpTo", n=t(-1, "int32"))),
        run(make, put_many(rows), take("", ("int32",))),
        run(make, take("UpTo", n=t(0, "int32"))),
        run((f"FIFOQueue{v}", pairs), put(t(2**63 - 1, "int64"), t(b"\xff", "string")), take("", ("int64", "string"))),
        run((f"FIFOQueue{v}", {**one, "capacity": a(0)}), size),
        run((f"FIFOQueue{v}", {"component_types": several()}), size),
        run((f"PriorityQueue{v}", order), put(t(3, "int64"), t(b"c", "string")), put(t(1, "int64"), t(b"a", "string")),
            take("Many", ("int64", "string"), n=t(2, "int32")), size),
        run((f"PriorityQueue{v}", order), put(t(-5, "int64"), t(b"", "string")), take("", ("int64", "string"))),
        run((f"PriorityQueue{v}", order), put(t(1.0), t(b"", "string"))),
        run((f"PaddingFIFOQueue{v}", padded), put(ints(1)), put(ints(2, 3)), take("Many", ("int32",), n=t(2, "int32"))),
        run((f"PaddingFIFOQueue{v}", padded), put(ints()), take("", ("int32",))),
        run((f"PaddingFIFOQueue{v}", padded), put(t(1, "int32"))),
        run((f"RandomShuffleQueue{v}", {**one, "seed": a(3)}), put(t([1.0, 2.0])), take(), size),
        run((f"RandomShuffleQueue{v}", {**one, "seed": a(3)}), put_many(t([[1.0, 1.0]] * 3)), size, take("Many", n=three)),
        run((f"RandomShuffleQueue{v}", {**one, "min_after_dequeue": a(-1)}), size),
        run((f"RandomShuffleQueue{v}", {**one, "min_after_dequeue": a(3), "capacity": a(2)}), size),
    ]  # fmt: skip


def _barriers() -> list[tuple[str, list[Case]]]:
    make = (
        "Barrier",
        {"component_types": several(d("float32"), d("int32")), "shapes": several(s(), s())},
    )
    keys = texts(b"a", b"b")

    def insert(values: Value, component: int, under: Value = keys) -> Step:
        return (
            "BarrierInsertMany",
            {"handle": of(0), "keys": under, "values": values, "component_index": a(component)},
        )

    take = ("BarrierTakeMany", {"handle": of(0), "num_elements": t(2, "int32"),
                                "component_types": several(d("float32"), d("int32"))})  # fmt: skip
    sizes = [("BarrierReadySize", {"handle": of(0)}), ("BarrierIncompleteSize", {"handle": of(0)})]
    close = ("BarrierClose", {"handle": of(0)})
    cases = [
        session(make, insert(t([1.0, NAN]), 0), insert(ints(3, 4), 1), *sizes, take),
        session(make, insert(t([1.0, 2.0]), 0), *sizes, close),
        session(make, insert(t([]), 0, t([], "string")), *sizes),
        session(make, insert(t([1.0]), 0), *sizes),
        session(make, insert(ints(1, 2), 0)),
        session(make, insert(t([1.0, 2.0]), 2)),
        session(make, insert(t([1.0, 2.0]), 0), insert(t([1.0, 2.0]), 0)),
        session(make, close, insert(t([1.0, 2.0]), 0)),
        session(make, close, take),
        session(make, ("BarrierTakeMany", {**take[1], "num_elements": t(0, "int32")})),
    ]
    return [pair for case in cases for pair in each(case)]


# ---- stages, stacks, arrays


def _stages() -> list[tuple[str, list[Case]]]:
    kinds: dict[str, Value] = {
        "dtypes": several(d("float32"), d("int32")),
        "shared_name": a("golden"),
    }
    values = several(t([1.0, NAN]), t(7, "int32"))
    stage = ("Stage", {"values": values, "shared_name": a("golden")})
    zero = t(0, "int32")
    cases = [
        session(stage, ("StageSize", kinds), ("StagePeek", {"index": zero, **kinds}), ("Unstage", kinds), ("StageSize", kinds)),
        session(stage, stage, ("StageClear", kinds), ("StageSize", kinds)),
        session(stage, ("Unstage", kinds)),
        session(("Stage", {"values": several(), "shared_name": a("golden")}), ("StageSize", kinds)),
        session(("Stage", {"values": values, "capacity": a(-1)})),
        session(("StageClear", kinds), ("StageSize", kinds)),
        session(stage, ("StagePeek", {"index": t(0, "int64"), **kinds})),
        session(stage, ("Unstage", {**kinds, "dtypes": several(d("float32"))})),
        session(("StageClear", {**kinds, "dtypes": several()}), ("StageSize", kinds)),
        session(stage, stage, ("StagePeek", {"index": t(1, "int32"), **kinds}), ("StageSize", kinds)),
    ]  # fmt: skip
    for prefix in ("", "Ordered"):
        cases += _map_stages(prefix, kinds, values)
    return [pair for case in cases for pair in each(case)]


def _map_stages(prefix: str, kinds: dict[str, Value], values: Value) -> list[Case]:
    both, first = ints(0, 1), ints(0)

    def stage(key: int, indices: Value = both, what: Value = values) -> Step:
        return (
            f"{prefix}MapStage",
            {"key": t(key, "int64"), "indices": indices, "values": what, **kinds},
        )

    def at(name: str, key: int) -> Step:
        return (f"{prefix}Map{name}", {"key": t(key, "int64"), "indices": both, **kinds})

    sizes = [(f"{prefix}MapSize", kinds), (f"{prefix}MapIncompleteSize", kinds)]
    pop = (f"{prefix}MapUnstageNoKey", {"indices": both, **kinds})
    clear = (f"{prefix}MapClear", kinds)
    return [
        session(stage(2), *sizes, at("Peek", 2), at("Unstage", 2), *sizes),
        session(stage(5), pop, *sizes),
        session(stage(2**63 - 1), at("Peek", 2**63 - 1), clear, *sizes),
        session(stage(1, first, several(t([1.0]))), *sizes, clear, *sizes),
        session(stage(1, first, values), *sizes),
        session(stage(1, ints(0, 7), values), *sizes),
        session(stage(1), stage(1), *sizes),
        session(stage(-4), at("Unstage", -4), clear),
        session(stage(0), at("Peek", 0), at("Unstage", 0), clear),
        session(stage(7), (f"{prefix}MapUnstageNoKey", {"indices": t(0, "int64"), **kinds})),
        session(stage(0), (f"{prefix}MapPeek", {**at("Peek", 0)[1], "indices": ints(0, 7)})),
        session(stage(0), (f"{prefix}MapUnstageNoKey", {**kinds, "indices": ints(0, 7)})),
        session(stage(3), stage(4), pop, pop, *sizes)
        if prefix
        else session(stage(3), at("Unstage", 3)),
        session((f"{prefix}MapUnstageNoKey", {"indices": t(0, "int64"), **kinds})),
    ]


def _stacks() -> list[tuple[str, list[Case]]]:
    return [pair for v in ("", "V2") for case in _stack_cases(v) for pair in each(case)]


def _stack_cases(v: str) -> list[Case]:
    def make(size: int = -1, kind: str = "float32") -> Step:
        bound = {"max_size": t(size, "int32")} if v else {}
        return (f"Stack{v}", {**bound, "elem_type": d(kind)})

    def push(values: Any, kind: str = "float32") -> Step:
        return (f"StackPush{v}", {"handle": of(0), "elem": t(values, kind)})

    def pop(kind: str = "float32") -> Step:
        return (f"StackPop{v}", {"handle": of(0), "elem_type": d(kind)})

    close = (f"StackClose{v}", {"handle": of(0)})
    bounded = [session(make(1), push(1.0), push(2.0)), session(make(0), push(1.0), pop())]
    return [
        session(make(), push([1.0, NAN]), push(2.0), pop(), pop(), close),
        *(bounded if v else []),
        session(make(), pop()),
        session(make(), push(1, "int32")),
        session(make(-1, "string"), push([b"a", b""], "string"), pop("string"), close),
        session(make(), push(1.0), pop("int32")),
        session(make(), close, push(1.0)),
    ]


def _arrays() -> list[tuple[str, list[Case]]]:
    def make(size: int = 3, kind: str = "float32", **attrs: Value) -> Step:
        return ("TensorArrayV3", {"size": t(size, "int32"), "dtype": d(kind), **attrs})

    def write(index: Any, values: Any, step: int, kind: str = "float32") -> Step:
        return (
            "TensorArrayWriteV3",
            {**_on(step), "index": t(index, "int32"), "value": t(values, kind)},
        )

    def call(name: str, step: int, **arguments: Value) -> Step:
        return (f"TensorArray{name}V3", {**_on(step), **arguments})

    def _on(step: int) -> dict[str, Value]:
        return {"handle": of(0), "flow_in": of(0, 1) if step == 0 else of(step)}

    f = d("float32")
    rows = t([[1.0, 2.0], [NAN, 4.0], [5.0, INF]])
    fill = call("Scatter", 0, indices=ints(0, 1, 2), value=rows)
    close = ("TensorArrayCloseV3", {"handle": of(0)})
    cases = [
        session(make(), write(0, [1.0, 2.0], 0), write(2, [3.0, 4.0], 1), call("Read", 2, index=t(2, "int32"), dtype=f),
                call("Size", 2), close),
        session(make(), fill, call("Gather", 1, indices=ints(2, 0), dtype=f), call("Size", 1), close),
        session(make(), fill, call("Concat", 1, dtype=f), close),
        session(make(), call("Split", 0, value=rows, lengths=t([1, 0, 2], "int64")), call("Concat", 1, dtype=f)),
        session(make(), call("Split", 0, value=rows, lengths=t([1, 1], "int64"))),
        session(make(), call("Split", 0, value=rows, lengths=t([1, 1, 2], "int64"))),
        session(make(), write(3, [1.0], 0)),
        session(make(), write(-1, [1.0], 0)),
        session(make(), write(0, 1, 0, "int32")),
        session(make(), write(0, 1.0, 0), write(0, 2.0, 1)),
        session(make(), call("Read", 0, index=t(0, "int32"), dtype=f)),
        session(make(), fill, call("Read", 1, index=t(3, "int32"), dtype=f)),
        session(make(), fill, call("Read", 1, index=t(0, "int32"), dtype=d("int32"))),
        session(make(1, dynamic_size=a(True)), write(4, [1.0], 0), call("Size", 1)),
        session(make(0), call("Size", 0), call("Gather", 0, indices=ints(), dtype=f, element_shape=s(2))),
        session(make(0), call("Concat", 0, dtype=f, element_shape_except0=s(2))),
        session(make(), call("Scatter", 0, indices=ints(0, 5), value=t([[1.0], [2.0]]))),
        session(make(), call("Scatter", 0, indices=ints(0, 1), value=rows)),
        session(make(-1), call("Size", 0)),
        session(make(), fill, call("Gather", 1, indices=ints(0, 3), dtype=f)),
        session(make(2), write(0, [1.0], 0), write(1, [1.0, 2.0], 1), call("Gather", 2, indices=ints(0, 1), dtype=f)),
        session(make(), fill, ("TensorArrayGradV3", {**_on(1), "source": a("g")}),
                ("TensorArraySizeV3", {"handle": of(2), "flow_in": of(2, 1)})),
        session(make(), fill, ("TensorArrayGradWithShape", {**_on(1), "source": a("g"), "shape_to_prepend": ints(2)}),
                ("TensorArraySizeV3", {"handle": of(2), "flow_in": of(2, 1)})),
        session(make(dynamic_size=a(True)), fill, ("TensorArrayGradV3", {**_on(1), "source": a("g")})),
        session(make(0, "string"), ("TensorArrayGradWithShape", {**_on(0), "source": a("g"), "shape_to_prepend": ints()})),
        session(make(), ("TensorArrayGradV3", {**_on(0), "source": a("")}),
                ("TensorArrayWriteV3", {"handle": of(1), "index": t(0, "int32"), "value": t(1.0), "flow_in": of(1, 1)}),
                ("TensorArrayReadV3", {"handle": of(1), "index": t(0, "int32"), "dtype": f, "flow_in": of(2)})),
        session(make(), ("TensorArrayGradWithShape", {**_on(0), "source": a("g"), "shape_to_prepend": t([[1]], "int32")})),
    ]  # fmt: skip
    return [pair for case in cases for pair in each(case)]


def _lists() -> list[tuple[str, list[Case]]]:
    one = {
        "list": {
            "dtype": "float32",
            "shape": [2],
            "items": [t([1.0, 2.0])["t"], t([NAN, 4.0])["t"]],
        }
    }
    none = {"list": {"dtype": "float32", "shape": [2], "items": []}}
    other = {"list": {"dtype": "int32", "shape": [2], "items": []}}
    stack = (
        "TensorListStack",
        {"input_handle": of(0), "element_shape": ints(2), "element_dtype": d("float32")},
    )
    length = ("TensorListLength", {"input_handle": of(0)})
    joins = [
        eager(("TensorListConcatLists", {"input_a": x, "input_b": y, "element_dtype": d(k)}), stack, length)
        for x, y, k in ((one, one, "float32"), (one, none, "float32"), (none, none, "float32"), (one, other, "float32"),
                        (one, one, "int32"))
    ]  # fmt: skip
    return [("TensorListConcatLists", joins)]


def _maps() -> list[tuple[str, list[Case]]]:
    key, value = t([1, 2], "int32"), t([1.0, NAN])
    kinds = {"value_dtype": d("float32")}
    empty: Step = ("EmptyTensorMap", {})

    def at(name: str, step: int, under: Value = key, **more: Value) -> Step:
        return (f"TensorMap{name}", {"input_handle": of(step), "key": under, **more})

    def size(step: int) -> Step:
        return ("TensorMapSize", {"input_handle": of(step)})

    put = at("Insert", 0, value=value)
    keys: Step = ("TensorMapStackKeys", {"input_handle": of(1), "key_dtype": d("int32")})
    cases = [
        eager(empty, put, size(1), at("Lookup", 1, **kinds), at("HasKey", 1), at("Erase", 1, **kinds), size(5)),
        eager(empty, put, keys, size(1)),
        eager(empty, size(0), at("HasKey", 0)),
        eager(empty, at("Lookup", 0, **kinds)),
        eager(empty, at("Erase", 0, **kinds)),
        eager(empty, put, at("Lookup", 1, value_dtype=d("int32"))),
        eager(empty, put, at("HasKey", 1, t([1, 2], "int64"))),
        eager(empty, put, at("Erase", 1, t([2, 1], "int32"), **kinds)),
        eager(empty, put, at("Insert", 1, t(5, "int32"), value=value), ("TensorMapStackKeys", {"input_handle": of(2), "key_dtype": d("int32")})),
        eager(empty, ("TensorMapStackKeys", {"input_handle": of(0), "key_dtype": d("int32")})),
    ]  # fmt: skip
    return [pair for case in cases for pair in each(case)] + _sparse_maps()


def _sparse_maps() -> list[tuple[str, list[Case]]]:
    parts = {
        "sparse_indices": t([[0, 0], [1, 1]], "int64"), "sparse_values": t([1.0, NAN]), "sparse_shape": t([2, 3], "int64"),
    }  # fmt: skip
    cases = []
    for i, (put, changed) in enumerate(
        (put, more)
        for put in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap")
        for more in (
            {},
            {"sparse_values": t([1.0])},
            {"sparse_shape": t([2], "int64")},
            {"sparse_indices": t([[0]], "int64")},
        )
    ):
        named = {"shared_name": a(f"golden_sparse_{i}"), "container": a("")}
        add = (put, parts | changed | named)
        if changed:
            cases.append(session(add))
            continue
        place = ("Reshape", {"tensor": of(0), "shape": ints(-1)})
        take = {"sparse_handles": of(1), "dtype": d("float32"), **named}
        cases.append(session(add, place, ("TakeManySparseFromTensorsMap", take)))
        cases.append(
            session(add, place, ("TakeManySparseFromTensorsMap", take | {"dtype": d("int32")}))
        )
    cases.append(
        session(
            (
                "TakeManySparseFromTensorsMap",
                {"sparse_handles": t([9], "int64"), "dtype": d("float32")},
            )
        )
    )
    return [pair for case in cases for pair in each(case) if pair[0] != "Reshape"]
