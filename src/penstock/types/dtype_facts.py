"""The table of dtypes: one row for each, with its number in files, as TensorFlow numbers them."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "floating", "integer", "unsigned", "complex", "bool", "quantized", "other"
]


class Facts(NamedTuple):
    """What is given about a dtype; the rest follows.

    Attributes:
      number: its number in files and messages.
      name: its name.
      kind: what sort of values it has.
      size: bytes of an element, 0 where elements have no fixed size.
      storage: the type of the array on the host: NumPy's name, or that of ml_dtypes when `ml`.
      numeric: whether TensorFlow counts it as numeric, which leaves out its smallest types.
      ml: whether ml_dtypes defines it.
    """

    number: int
    name: str
    kind: Kind
    size: int
    storage: str
    numeric: bool = True
    ml: bool = False


FACTS: tuple[Facts, ...] = (
    Facts(1, "float32", "floating", 4, "float32"),
    Facts(2, "float64", "floating", 8, "float64"),
    Facts(3, "int32", "integer", 4, "int32"),
    Facts(4, "uint8", "unsigned", 1, "uint8"),
    Facts(5, "int16", "integer", 2, "int16"),
    Facts(6, "int8", "integer", 1, "int8"),
    Facts(7, "string", "other", 0, "object", numeric=False),
    Facts(8, "complex64", "complex", 8, "complex64"),
    Facts(9, "int64", "integer", 8, "int64"),
    Facts(10, "bool", "bool", 1, "bool", numeric=False),
    Facts(11, "qint8", "quantized", 1, "int8"),
    Facts(12, "quint8", "quantized", 1, "uint8"),
    Facts(13, "qint32", "quantized", 4, "int32"),
    Facts(14, "bfloat16", "floating", 2, "bfloat16", ml=True),
    Facts(15, "qint16", "quantized", 2, "int16"),
    Facts(16, "quint16", "quantized", 2, "uint16"),
    Facts(17, "uint16", "unsigned", 2, "uint16"),
    Facts(18, "complex128", "complex", 16, "complex128"),
    Facts(19, "float16", "floating", 2, "float16"),
    Facts(20, "resource", "other", 0, "object", numeric=False),
    Facts(21, "variant", "other", 0, "object", numeric=False),
    Facts(22, "uint32", "unsigned", 4, "uint32"),
    Facts(23, "uint64", "unsigned", 8, "uint64"),
    Facts(24, "float8_e5m2", "floating", 1, "float8_e5m2", numeric=False, ml=True),
    Facts(25, "float8_e4m3fn", "floating", 1, "float8_e4m3fn", numeric=False, ml=True),
    Facts(26, "float8_e4m3fnuz", "floating", 1, "float8_e4m3fnuz", numeric=False, ml=True),
    Facts(27, "float8_e4m3b11fnuz", "floating", 1, "float8_e4m3b11fnuz", numeric=False, ml=True),
    Facts(28, "float8_e5m2fnuz", "floating", 1, "float8_e5m2fnuz", numeric=False, ml=True),
    Facts(29, "int4", "integer", 1, "int4", numeric=False, ml=True),
    Facts(30, "uint4", "unsigned", 1, "uint4", numeric=False, ml=True),
    Facts(31, "int2", "integer", 1, "int2", numeric=False, ml=True),
    Facts(32, "uint2", "unsigned", 1, "uint2", numeric=False, ml=True),
    Facts(33, "float4_e2m1fn", "floating", 1, "float4_e2m1fn", numeric=False, ml=True),
)
