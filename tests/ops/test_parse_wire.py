"""The readers of protobuf's wire format: in Python and in C++, on sound, odd and broken bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.ops.parse_messages import example, example_of, sequence, sized

from penstock.core import native_wire
from penstock.core.native_wire import BrokenMessageError
from penstock.ops import parse_wire as wire
from penstock.ops.parse_wire import Spans


@pytest.fixture(params=["python", "native"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test with each of the two implementations."""
    monkeypatch.setattr(wire, "SMALL", -1)
    if request.param == "python":
        monkeypatch.setattr(native_wire.LIBRARY, "library", lambda: None)
    elif native_wire.LIBRARY.library() is None:
        pytest.skip("the native library was not built")
    return str(request.param)


def feature_of(strings: list[bytes], key: bytes, field: int = 1) -> tuple[bytes, Any, Spans]:
    data, spans = wire.spans_of(strings)
    starts, ends = wire.map_values(data, spans, field, [b"other", key])
    kinds, lists = wire.kinds(data, Spans(starts[1], ends[1]))
    return data, kinds, lists


def test_numbers_of_each_kind(reader: str) -> None:
    extremes = [0, 1, -1, 127, 128, 2**63 - 1, -(2**63)]
    strings = [example(a=extremes), example(b=[1]), example(a=[1.5, -0.0]), example(a=[b"", b"xy"])]
    data, kinds, lists = feature_of(strings, b"a")
    assert kinds.tolist() == [wire.INTEGERS, wire.NONE, wire.FLOATS, wire.STRINGS]

    def row(i: int) -> Spans:
        return Spans(lists.starts[i : i + 1], lists.ends[i : i + 1])

    counts, values = wire.integers(data, row(0))
    assert (counts.tolist(), values.tolist(), values.dtype) == ([7], extremes, np.int64)
    counts, values = wire.floats(data, row(2))
    assert (counts.tolist(), values.tolist(), values.dtype) == ([2], [1.5, 0.0], np.float32)
    assert np.signbit(values[1])
    counts, found = wire.repeated(data, row(3))
    assert counts.tolist() == [2]
    assert [data[a:b] for a, b in zip(*found, strict=True)] == [b"", b"xy"]
    counts, values = wire.integers(data, row(1))
    assert (counts.tolist(), values.tolist()) == ([0], [])


def test_packed_and_single_numbers_mix(reader: str) -> None:
    packed, single = b"\x0a\x02\x05\x06", b"\x08\x07"
    for content, wanted in ((packed + single, [5, 6, 7]), (single + packed, [7, 5, 6])):
        data, _, lists = feature_of([example_of(b"\x1a" + sized(content))], b"a")
        assert wire.integers(data, lists)[1].tolist() == wanted
    data, _, lists = feature_of([example_of(b"\x12" + sized(b"\x0d\x00\x00\x80\x3f"))], b"a")
    assert wire.floats(data, lists)[1].tolist() == [1.0]


def test_fields_that_nobody_knows_are_skipped(reader: str) -> None:
    known = b"\x1a" + sized(b"\x0a\x01\x05")
    unknown = b"\x28\x81\x01" + b"\x31" + bytes(8) + b"\x3d" + bytes(4) + b"\x42\x01x"
    inside = example_of(unknown + known + unknown)
    data, kinds, lists = feature_of([unknown + inside + unknown], b"a")
    assert kinds.tolist() == [wire.INTEGERS]
    assert wire.integers(data, lists)[1].tolist() == [5]


def test_the_last_entry_of_a_key_counts(reader: str) -> None:
    data, _, lists = feature_of([example(a=[1]) + example(a=[2, 3])], b"a")
    assert wire.integers(data, lists)[1].tolist() == [2, 3]


def test_value_before_key_and_no_value(reader: str) -> None:
    feature = sized(b"\x1a" + sized(b"\x0a\x01\x05"))
    turned = b"\x0a" + sized(b"\x0a" + sized(b"\x12" + feature + b"\x0a\x01a"))
    without = b"\x0a" + sized(b"\x0a" + sized(b"\x0a\x01a"))
    _, kinds, _ = feature_of([turned, without], b"a")
    assert kinds.tolist() == [wire.INTEGERS, wire.NONE]


def test_feature_lists_are_in_field_two(reader: str) -> None:
    strings = [sequence({"a": [9]}, {"a": [[1], [2, 3]]}), sequence({}, {})]
    data, spans = wire.spans_of(strings)
    starts, ends = wire.map_values(data, spans, 2, [b"a"])
    counts, features = wire.repeated(data, Spans(starts[0], ends[0]))
    kinds, lists = wire.kinds(data, features)
    assert counts.tolist() == [2, 0]
    assert kinds.tolist() == [wire.INTEGERS] * 2
    assert [x.tolist() for x in wire.integers(data, lists)] == [[1, 2], [1, 2, 3]]


INT = b"\x1a" + sized(b"\x0a\x01\x05")
BROKEN = {
    "length beyond the end": b"\x0a\x05ab",
    "length of ten bytes": b"\x0a" + b"\xff" * 9 + b"\x01",
    "number without an end": b"\x08\xff\xff",
    "number of eleven bytes": b"\x08" + b"\xff" * 10 + b"\x01",
    "cut off fixed32": b"\x0d\x00\x00",
    "cut off fixed64": b"\x09" + bytes(7),
    "a group": b"\x0b\x0c",
    "wire type 6": b"\x0e",
    "field number 0": b"\x02\x00",
    "field number too large": b"\xfa\xff\xff\xff\x7f\x00",
    "tag without anything": b"\x0a",
    "entry cut off": b"\x0a" + sized(b"\x0a\x05\x0a\x01a"),
    "key cut off": b"\x0a" + sized(b"\x0a" + sized(b"\x0a\x09a")),
}


@pytest.mark.parametrize("message", BROKEN.values(), ids=BROKEN)
def test_broken_messages_are_found_with_their_row(reader: str, message: bytes) -> None:
    data, spans = wire.spans_of([example(a=[1]), message])
    with pytest.raises(BrokenMessageError) as caught:
        wire.map_values(data, spans, 1, [b"a"])
    assert caught.value.row == 1


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (b"\x0a\x03\x00\x00\x80", wire.floats),
        (b"\x0a\x02\x05\x80", wire.integers),
        (b"\x0a\x0b" + b"\xff" * 10 + b"\x01", wire.integers),
        (b"\x0a\x02\x05", wire.repeated),
    ],
)
def test_broken_lists_are_found(reader: str, content: bytes, read: Callable[..., Any]) -> None:
    data, spans = wire.spans_of([b"", content])
    with pytest.raises(BrokenMessageError) as caught:
        read(data, spans)
    assert caught.value.row == 1


def _everything(strings: list[bytes]) -> Any:
    """What all functions say about some messages; the row of the first broken one if there is."""
    data, spans = wire.spans_of(strings)
    found: list[Any] = []
    try:
        for field in (1, 2):
            starts, ends = wire.map_values(data, spans, field, [b"a", b"b"])
            found += [starts.tolist(), ends.tolist()]
            flat = Spans(starts.reshape(-1), ends.reshape(-1))
            kinds, lists = wire.kinds(data, flat)
            found += [kinds.tolist(), lists.starts.tolist(), lists.ends.tolist()]
            for read in (wire.repeated, wire.floats, wire.integers):
                try:
                    counts, values = read(data, lists)
                    found += [counts.tolist(), np.array(values).tobytes()]
                except BrokenMessageError as problem:
                    found.append(problem.row)
    except BrokenMessageError as problem:
        found.append(problem.row)
    return found


def test_both_agree_on_damaged_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flipped, cut and joined bytes: the same result or the same broken row, and no crash."""
    if native_wire.LIBRARY.library() is None:
        pytest.skip("the native library was not built")
    rng = np.random.default_rng(7)
    sound = [
        example(a=[1, -5, 300], b=[b"text", b""], c=[1.5, 2.5]),
        example(a=[0.5] * 5, b=[7]),
        sequence({"a": [1]}, {"a": [[1.0], [2.0, 3.0]], "b": [[b"x"], []]}),
        b"",
    ]
    monkeypatch.setattr(wire, "SMALL", -1)
    native = native_wire.LIBRARY.library
    for _ in range(1500):
        message = bytearray(sound[rng.integers(len(sound))])
        for _ in range(rng.integers(0, 4)):
            if message:
                message[rng.integers(len(message))] = rng.integers(256)
        damaged = bytes(
            message[: rng.integers(len(message) + 1)] if rng.random() < 0.3 else message
        )
        strings = [sound[0], damaged, sound[1]]
        monkeypatch.setattr(native_wire.LIBRARY, "library", native)
        one = _everything(strings)
        monkeypatch.setattr(native_wire.LIBRARY, "library", lambda: None)
        assert one == _everything(strings), damaged


def test_switched_off_by_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert native_wire.LIBRARY.library() is None


def test_a_library_that_does_not_load_is_not_used(tmp_path: Any) -> None:
    broken = tmp_path / "libpenstock_wire.so"
    broken.write_bytes(b"not a library")
    for path, problem in ((broken, "does not load"), (tmp_path / "missing.so", "has no native")):
        state = native_wire.LIBRARY.load(path)
        assert state.library is None
        assert problem in state.problem
        assert "five times as long" in state.problem


SOUND = {"x": [1.0, 2.0], "y": [7], "s": [b"ab"]}
ODD = [
    example(**{**SOUND, "x": [1.0]}),
    example(**{**SOUND, "x": [1, 2]}),
    example(x=[1.0, 2.0], y=[7]),
    example(**SOUND) + example(y=[8]),
    example(**{**SOUND, "s": [b"a", b"b"]}),
    example(**SOUND)[:-1],
]
ASKED = ([b"x", b"y", b"s"], [wire.FLOATS, wire.INTEGERS, wire.STRINGS], [2, 1, 1])


def test_features_of_one_form_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SMALL", -1)
    if native_wire.LIBRARY.library() is None:
        pytest.skip("the native library was not built")
    strings = [example(**SOUND), example(s=[b""], y=[-1], x=[0.5, -0.0], more=[b"no"])]
    data, spans = wire.spans_of(strings)
    found = wire.dense(data, spans, 1, *ASKED)
    assert found is not None
    x, y, s = found
    assert (x.tolist(), y.tolist(), x.dtype) == ([[1.0, 2.0], [0.5, -0.0]], [[7], [-1]], np.float32)
    assert [data[a:b] for a, b in s.reshape(-1, 2)] == [b"ab", b""]
    for odd in ODD:
        data, spans = wire.spans_of([strings[0], odd])
        assert wire.dense(data, spans, 1, *ASKED) is None
