"""Random messages, and a reader of their bytes that knows only recorded facts."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator
from typing import Any

# what each scalar type may hold, edges first
_INTEGERS = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "sint64": (-(2**63), 2**63 - 1),
    "fixed32": (0, 2**32 - 1),
    "fixed64": (0, 2**64 - 1),
}


def type_name(field: Any) -> str:
    """Return a field's scalar type as in a .proto file."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto

    return FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()


def fill(message: Any, rng: random.Random, depth: int = 3) -> Any:
    """Set about two thirds of the fields of a message to random values; return it."""
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.35:
            continue
        nested = field.message_type is not None
        if nested and depth == 0:
            continue
        if nested and field.message_type.GetOptions().map_entry:
            _fill_map(getattr(message, field.name), field, rng, depth)
        elif field.is_repeated and nested:
            for _ in range(rng.randint(1, 2)):
                fill(getattr(message, field.name).add(), rng, depth - 1)
        elif field.is_repeated:
            getattr(message, field.name).extend(scalar(field, rng) for _ in range(3))
        elif nested:
            getattr(message, field.name).SetInParent()
            fill(getattr(message, field.name), rng, depth - 1)
        else:
            setattr(message, field.name, scalar(field, rng))
    return message


def _fill_map(mapping: Any, field: Any, rng: random.Random, depth: int) -> None:
    key_field, value_field = field.message_type.fields
    for _ in range(rng.randint(1, 2)):
        key = scalar(key_field, rng)
        if value_field.message_type is not None:
            fill(mapping[key], rng, depth - 1)
        else:
            mapping[key] = scalar(value_field, rng)


def scalar(field: Any, rng: random.Random) -> Any:
    """Return a random value that a scalar field can hold; edges are likely."""
    kind = type_name(field)
    if kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        return rng.choice([low, high, 0, 1, rng.randint(low, high)])
    if kind == "enum":
        return rng.choice(field.enum_type.values).number
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "string":
        return rng.choice(["", "a", "grün/ε:0", "x" * rng.randint(0, 200)])
    if kind == "bytes":
        return rng.randbytes(rng.randint(0, 40))
    number = rng.choice([0.0, -0.0, math.inf, -math.inf, rng.gauss(0, 1e3)])
    return struct.unpack("<f", struct.pack("<f", number))[0] if kind == "float" else number


def contents(message: Any) -> dict[str, Any]:
    """Return a message as nested dicts of what is set: enums as numbers, maps as dicts."""
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            nested = field.message_type.fields[1].message_type is not None
            found[field.name] = {k: contents(v) if nested else v for k, v in value.items()}
        elif field.message_type is not None:
            many = field.is_repeated
            found[field.name] = [contents(v) for v in value] if many else contents(value)
        else:
            found[field.name] = list(value) if field.is_repeated else value
    return found


def is_map_entry(name: str, messages: dict[str, dict[str, str]]) -> bool:
    """Whether a message is one that protobuf makes for a map field."""
    return name.endswith("Entry") and messages[name].keys() == {"key", "value"}


class FactReader:
    """Reads bytes by recorded facts, knowing nothing of descriptors.

    Args:
        messages: message name -> field name -> fact (see ``tools/proto_facts.py``).
    """

    def __init__(self, messages: dict[str, dict[str, str]]) -> None:
        self._messages = messages

    def read(self, name: str, data: bytes) -> dict[str, Any]:
        """Return what ``contents`` would for a message of that name and bytes."""
        by_number = {int(f.split()[0]): (k, f.split()) for k, f in self._messages[name].items()}
        found: dict[str, Any] = {}
        for number, wire_type, raw in _fields(data):
            field, words = by_number[number]
            label, kind = words[1:3]
            if kind == "message" and is_map_entry(words[3], self._messages):
                entry = self.read(words[3], raw)
                value = entry.get("value", {})
                found.setdefault(field, {})[entry["key"]] = value
            elif label == "repeated":
                found.setdefault(field, []).extend(self._values(words, wire_type, raw))
            else:
                (found[field],) = self._values(words, wire_type, raw)
        return found

    def _values(self, words: list[str], wire_type: int, raw: Any) -> list[Any]:
        kind = words[2]
        if kind == "message":
            assert wire_type == 2
            return [{} if words[3].startswith("google.") else self.read(words[3], raw)]
        expected = 2 if "packed" in words[3:5] else _WIRE_TYPE.get(kind, 0)
        assert wire_type == expected, (words, wire_type)
        if kind == "string":
            return [raw.decode()]
        if kind == "bytes":
            return [raw]
        return [_DECODE[kind](item) for item in (_split(kind, raw) if expected == 2 else [raw])]


_WIRE_TYPE = {"fixed64": 1, "double": 1, "string": 2, "bytes": 2, "fixed32": 5, "float": 5}


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


_DECODE = {
    "int32": _signed,
    "int64": _signed,
    "enum": _signed,
    "uint32": int,
    "uint64": int,
    "bool": bool,
    "sint64": lambda number: (number >> 1) ^ -(number & 1),
    "fixed32": lambda raw: struct.unpack("<I", raw)[0],
    "fixed64": lambda raw: struct.unpack("<Q", raw)[0],
    "float": lambda raw: struct.unpack("<f", raw)[0],
    "double": lambda raw: struct.unpack("<d", raw)[0],
}


def _split(kind: str, raw: bytes) -> Iterator[Any]:
    size = {1: 8, 5: 4}.get(_WIRE_TYPE.get(kind, 0))
    if size:
        yield from (raw[at : at + size] for at in range(0, len(raw), size))
        return
    at = 0
    while at < len(raw):
        number, at = _varint(raw, at)
        yield number


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire_type)
            if size is None:
                assert wire_type == 2
                size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        yield number, wire_type, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at
