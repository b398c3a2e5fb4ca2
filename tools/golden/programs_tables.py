"""Golden cases of lookup tables and accumulators."""

from __future__ import annotations

from typing import Any

from tools.golden.codec import Case
from tools.golden.programs_containers import Found, Step, each
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
    t,
    texts,
)  # fmt: skip


def programs() -> Found:
    """Operation -> its cases."""
    found: Found = {}
    for op, cases in [*_tables(), *_accumulators()]:
        found.setdefault(op, []).extend(c for c in cases if c not in found.get(op, []))
    return found


# ---- tables


def _tables() -> list[tuple[str, list[Case]]]:
    found = []
    for version, run in (("", session), ("V2", eager)):
        for case in _table_cases(version, run):
            found += each(case)
    for case in _anonymous_tables():
        found += each(case)
    return found


def _types(key: str = "string", value: str = "int64") -> dict[str, Value]:
    return {"key_dtype": d(key), "value_dtype": d(value)}


def _table_cases(v: str, run: Any) -> list[Case]:
    keys, values = texts(b"a", b"b", b"\xff"), t([1, 2**63 - 1, -(2**63)], "int64")
    shared: dict[str, Value] = {} if not v else {"shared_name": a("")}
    number = iter(range(100))

    def make(kind: str, **more: Value) -> Step:
        name = {"shared_name": a(f"golden_{kind}{v}_{next(number)}")} if v else shared
        return (f"{kind}{v}", {**_types(), **name, **more})

    def on(name: str, **arguments: Value) -> Step:
        return (f"{name}{v}", {"table_handle": of(0), **arguments})

    def find(what: Value = keys, default: Any = -1) -> Step:
        return on("LookupTableFind", keys=what, default_value=t(default, "int64"))

    size = on("LookupTableSize")
    fill = on("InitializeTable", keys=keys, values=values)
    insert = on("LookupTableInsert", keys=keys, values=values)
    load = on("LookupTableImport", keys=texts(b"c"), values=t([5], "int64"))
    export = on("LookupTableExport", Tkeys=d("string"), Tvalues=d("int64"))
    pairs = t([[1, 2], [3, 4], [5, 6]], "int64")
    of_tensors = make("MutableHashTableOfTensors", value_shape=s(2))
    dense_attrs: dict[str, Value] = {
        "empty_key": t(b"", "string"), "deleted_key": t(b"-", "string"), "value_shape": s(), "initial_num_buckets": a(8),
    }  # fmt: skip

    def dense(**more: Value) -> Step:
        step = make("MutableDenseHashTable", **(dense_attrs | more))
        step[1].pop("key_dtype")
        return step

    cases = [
        run(make("HashTable"), fill, find(), size),
        run(make("HashTable"), fill, find(texts(b"a", b"?", b"")), size),
        run(make("HashTable"), fill, find(t([], "string")), size),
        run(make("HashTable"), find()),
        run(make("HashTable"), size),
        run(make("HashTable"), on("InitializeTable", keys=texts(b"a", b"a"), values=t([1, 2], "int64"))),
        run(make("HashTable"), on("InitializeTable", keys=texts(b"a", b"b"), values=t([1], "int64"))),
        run(make("HashTable"), on("InitializeTable", keys=ints(1), values=t([1], "int64"))),
        run(make("HashTable"), fill, find(ints(1))),
        run(make("HashTable"), fill, find(keys, [1, 2])),
        run(make("HashTable"), insert),
        run(make("HashTable"), on("LookupTableImport", keys=keys, values=t([1], "int64"))),
        run(make("MutableHashTable"), find(), size, insert, find(), size, load, size, export),
        run(make("MutableHashTable"), on("LookupTableInsert", keys=texts(b"x", b"x"), values=t([1, 2], "int64")), size,
            find(texts(b"x"))),
        run(make("MutableHashTable"), on("LookupTableInsert", keys=keys, values=t([1], "int64"))),
        run(make("MutableHashTable"), on("LookupTableInsert", keys=t([], "string"), values=t([], "int64")), size, export),
        run(make("MutableHashTable"), on("LookupTableInsert", keys=keys, values=t([1.0, 2.0, 3.0]))),
        run(make("MutableHashTable"), export),
        run(make("MutableHashTable"), on("LookupTableInsert", keys=texts(b"x"), values=t([1], "int64")), export),
        run(make("MutableHashTable"), load, find(), size),
        run(make("MutableHashTable"), on("LookupTableImport", keys=keys, values=t([1], "int64"))),
        run(make("MutableHashTable"), on("InitializeTable", keys=keys, values=values), size),
        run(of_tensors, on("LookupTableInsert", keys=keys, values=pairs),
            on("LookupTableFind", keys=texts(b"b", b"?"), default_value=t([7, 8], "int64")), size),
        run(make("MutableHashTableOfTensors", value_shape=s(2)), on("LookupTableInsert", keys=keys, values=values)),
        run(make("MutableHashTableOfTensors", value_shape=s(2)),
            on("LookupTableFind", keys=keys, default_value=t(0, "int64"))),
        run(dense(), insert, find(), size, load, size),
        run(dense(), on("LookupTableInsert", keys=texts(b""), values=t([1], "int64"))),
        run(dense(), find(texts(b""))),
        run(dense(initial_num_buckets=a(3)), size),
        run(dense(deleted_key=t(b"", "string")), size),
    ]  # fmt: skip
    if v:
        remove = on("LookupTableRemove", keys=texts(b"a", b"?"))
        cases += [
            run(make("MutableHashTable"), insert, remove, size, find()),
            run(dense(), insert, remove, size, find()),
            run(make("HashTable"), fill, remove),
            run(make("MutableHashTable"), on("LookupTableRemove", keys=ints(1))),
            run(make("MutableHashTable"), on("LookupTableRemove", keys=t([], "string")), size),
        ]
    return cases


def _anonymous_tables() -> list[Case]:
    keys, values = t([1, -2, 2**62], "int64"), t([1.5, NAN, INF])
    kinds = _types("int64", "float32")

    def on(name: str, **arguments: Value) -> Step:
        return (f"{name}V2", {"table_handle": of(0), **arguments})

    insert = on("LookupTableInsert", keys=keys, values=values)
    size = on("LookupTableSize")
    find = on("LookupTableFind", keys=t([[1, 3]], "int64"), default_value=t(-1.0))
    tensors = ("AnonymousMutableHashTableOfTensors", {**kinds, "value_shape": s(1)})
    dense = {
        "empty_key": t(0, "int64"), "deleted_key": t(-1, "int64"), "value_dtype": d("float32"), "value_shape": s(),
    }  # fmt: skip
    row = on("LookupTableInsert", keys=keys, values=t([[1.0], [2.0], [NAN]]))
    return [
        eager(
            ("AnonymousHashTable", kinds),
            on("InitializeTable", keys=keys, values=values),
            find,
            size,
        ),
        eager(("AnonymousHashTable", kinds), find),
        eager(("AnonymousHashTable", kinds), size),
        eager(("AnonymousHashTable", _types("complex64", "bool")), size),
        eager(("AnonymousMutableHashTable", kinds), insert, find, size),
        eager(("AnonymousMutableHashTable", kinds), find, size),
        eager(
            ("AnonymousMutableHashTable", kinds), on("LookupTableInsert", keys=keys, values=keys)
        ),
        eager(tensors, row, on("LookupTableFind", keys=keys, default_value=t([0.0])), size),
        eager(tensors, size),
        eager(tensors, insert),
        eager(("AnonymousMutableDenseHashTable", dense), insert, find, size),
        eager(("AnonymousMutableDenseHashTable", dense), size),
        eager(("AnonymousMutableDenseHashTable", dense | {"deleted_key": t(0, "int64")}), size),
        eager(("AnonymousMutableDenseHashTable", dense | {"max_load_factor": a(2.0)}), size),
    ]


# ---- accumulators


def _accumulators() -> list[tuple[str, list[Case]]]:
    cases = []
    for kind, prefix, run in (
        ("ConditionalAccumulator", "Accumulator", session),
        ("ResourceConditionalAccumulator", "ResourceAccumulator", session),
    ):
        cases += _dense_accumulator(kind, prefix, run)
    cases += _sparse_accumulator()
    return [pair for case in cases for pair in each(case)]


def _dense_accumulator(kind: str, prefix: str, run: Any) -> list[Case]:
    def make(**more: Value) -> Step:
        return (kind, {"dtype": d("float32"), "shape": s(2), **more})

    def apply(step: int, values: Any, dtype: str = "float32") -> Step:
        given = {"handle": of(0), "local_step": t(step, "int64"), "gradient": t(values, dtype)}
        return (f"{prefix}ApplyGradient", given)

    def take(n: int) -> Step:
        return (
            f"{prefix}TakeGradient",
            {"handle": of(0), "num_required": t(n, "int32"), "dtype": d("float32")},
        )

    def at(step: int) -> Step:
        return (f"{prefix}SetGlobalStep", {"handle": of(0), "new_global_step": t(step, "int64")})

    count = (f"{prefix}NumAccumulated", {"handle": of(0)})
    return [
        run(make(), apply(0, [1.0, 2.0]), apply(0, [3.0, NAN]), count, take(2), count),
        run(
            make(reduction_type=a("SUM")),
            apply(0, [1.0, 2.0]),
            apply(5, [3.0, INF]),
            count,
            take(1),
        ),
        run(make(), at(3), apply(2, [1.0, 2.0]), count, apply(3, [4.0, 5.0]), count, take(1)),
        run(make(), at(3), at(2)),
        run(make(), apply(0, [1.0])),
        run(make(), apply(0, [1, 2], "int32")),
        run(make(), apply(0, [1.0, 2.0]), take(0)),
        run(make(), at(2**62), count),
        run(make(reduction_type=a("MAX")), count),
    ]


def _sparse_accumulator() -> list[Case]:
    make = ("SparseConditionalAccumulator", {"dtype": d("float32"), "shape": s(3, 1)})
    prefix = "SparseAccumulator"

    def apply(indices: list[int], values: Any, shape: Value, known: bool = True) -> Step:
        given = {
            "handle": of(0), "local_step": t(0, "int64"), "gradient_indices": t(indices, "int64"),
            "gradient_values": t(values), "gradient_shape": shape, "has_known_shape": a(known),
        }  # fmt: skip
        return (f"{prefix}ApplyGradient", given)

    take = (
        f"{prefix}TakeGradient",
        {"handle": of(0), "num_required": t(1, "int32"), "dtype": d("float32")},
    )
    dims = t([3, 1], "int64")
    return [
        session(
            make, apply([0, 2], [[1.0], [2.0]], dims), apply([1, 2], [[4.0], [NAN]], dims), take
        ),
        session(make, apply([1], [[1.0]], t([], "int64"), False), take),
        session(make, apply([], [[1.0]][:0], dims), take),
        session(make, apply([0, 1], [[1.0]], dims)),
        session(make, apply([0], [[1.0, 2.0]], dims)),
        session(make, apply([0], [[1.0]], t([2, 1], "int64"))),
        session(make, apply([5], [[1.0]], dims), take),
    ]
