"""What TensorProtos TensorFlow writes, and what it reads from them (see ``tools/tf_facts.py``).

- ``make``: expression -> the message's bytes in hex, or ``!`` and the class of the error.
  Expressions use ``make`` (``make_tensor_proto``), ``np``, ``ml_dtypes`` and names of dtypes.
- ``read``: a TensorProto in text form -> what a Const operation of a graph gives for it: dtype,
  shape and the elements' bytes in hex (a list of hex for strings), or ``!`` and the error's class.
  The classes are those of running a graph; who reads a message by itself may use others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_NUMPY = (
    "float32 float64 int32 uint8 int16 int8 int64 uint16 uint32 uint64 bool_ complex64 complex128 "
    "float16"
).split()
_ML = "bfloat16 float8_e5m2 float8_e4m3fn int4 uint4 int2 uint2 float4_e2m1fn".split()
_ARRAYS = (
    "np.array(1, {0})",
    "np.array([1], {0})",
    "np.array([1, 0, 1], {0})",
    "np.array([[1, 1], [1, 0], [0, 1]], {0}).T",
    "np.zeros([0, 2], {0})",
)

MAKE = (
    *(f"make({array.format(f'np.{name}')})" for name in _NUMPY for array in _ARRAYS),
    *(f"make({array.format(f'ml_dtypes.{name}')})" for name in _ML for array in _ARRAYS),
    *(f"make(np.array([1, 0, 1]), {name.rstrip('_')})" for name in _NUMPY if name != "bool_"),
    *(f"make([1, 0], {name})" for name in ("float32", "int8", "uint64", "complex64", "bfloat16")),
    *(f"make([(1,), (2,)], {name})" for name in "qint8 quint8 qint16 quint16 qint32".split()),
    *(f"make({value})" for value in "1 1.5 True 2**40 [1,2] [1.5,2] 'a' b'a' 1j [2**31]".split()),
    "make((1,), qint8)",
    "make([(1,)], qint8)",
    "make('grün')",
    "make(['a', 'bc', ''])",
    "make(['a', b'a\\xff'])",
    "make([['a'], ['b']])",
    "make([True, False])",
    "make([1j, 2])",
    "make([[1, 2], [3, 4]])",
    "make((1, (2)))",
    "make([])",
    "make([[], []])",
    "make([], int32)",
    "make(None)",
    "make(None, int32)",
    "make([1, None])",
    "make([None])",
    "make([[1], [2, 3]])",
    "make(object())",
    "make({})",
    "make(2**70)",
    "make(np.array(['a', 'b']))",
    "make(np.array([b'a', 'b'], object))",
    "make(np.array([], 'S1'))",
    "make(np.array(['a']), string)",
    "make(np.array([1]), string)",
    "make(np.array([1.5, -2.7]), int32)",
    "make(np.array([300]), int8)",
    "make(np.float64(1))",
    "make(np.int64(1))",
    "make(np.bool_(True))",
    "make([np.float64(1)])",
    "make(np.datetime64('2020-01-01'))",
    "make(make(1))",
    "make(1, 'float32')",
    "make(1, float32)",
    "make(1.5, int32)",
    "make(1, bool)",
    "make(True, int32)",
    "make([True, 2], float32)",
    "make(1, string)",
    "make('a', int32)",
    "make(1, bfloat16)",
    "make(1, half)",
    "make(1, complex64)",
    "make(1, resource)",
    "make(1, variant)",
    "make([-0.0, 0.0])",
    "make([float('nan'), float('inf')])",
    "make([0, 0, 0])",
    "make(1, shape=[])",
    "make([1], shape=[])",
    "make([1, 2], shape=[])",
    "make([1, 2], shape=[2, 2])",
    "make([1, 2], shape=[2, 1])",
    "make([1, 2, 3], shape=[2])",
    "make(1, shape=[2, 2])",
    "make('a', shape=[2, 2])",
    "make(np.zeros([4], np.float32), shape=[2, 2])",
    "make(1, shape=(3,))",
    "make(1, shape=[2**40])",
    "make([1, 2], shape=[2, None])",
    "make([1], shape=[0])",
    "make(np.array([1]), shape=[0])",
    "make([], shape=[0, 3])",
    "make([], shape=[2])",
    "make(1, shape=-1)",
    "make(1, shape=[-1])",
    "make([1, 2], shape=[2], verify_shape=True)",
    "make([1, 2], shape=[2, 1], verify_shape=True)",
    "make([1, 2], shape=[2, 2], verify_shape=True)",
    "make(1, shape=[1], verify_shape=True)",
    "make(1, shape=[2, 2], allow_broadcast=True)",
    "make([1], shape=[2, 2], allow_broadcast=True)",
    "make([[1]], shape=[2, 2], allow_broadcast=True)",
    "make([1, 2], shape=[2, 2], allow_broadcast=True)",
    "make([1, 2], shape=[2, 1], allow_broadcast=True)",
    "make([1, 2, 3], shape=[2], allow_broadcast=True)",
    "make(1, shape=[2], verify_shape=True, allow_broadcast=True)",
)

_FIELDS = {
    "float_val": ("1.5", ["FLOAT"]),
    "double_val": ("1.5", ["DOUBLE"]),
    "int_val": ("7", "INT32 INT16 INT8 UINT8 UINT16 QINT8 QUINT8 QINT16 QUINT16 QINT32".split()),
    "int64_val": ("-5", ["INT64"]),
    "uint32_val": ("4294967295", ["UINT32"]),
    "uint64_val": ("18446744073709551615", ["UINT64"]),
    "bool_val": ("true", ["BOOL"]),
    "string_val": ('"a\\000b\\377"', ["STRING"]),
    "half_val": ("15360", ["HALF", "BFLOAT16"]),
}


def _typed_cases() -> Iterator[str]:
    for field, (value, types) in _FIELDS.items():
        for name in types:
            for dims, count in (("3", 1), ("3", 0), ("1", 1), ("0", 0), ("2 3", 6), ("", 1)):
                shape = " ".join(f"dim {{ size: {size} }}" for size in dims.split())
                values = " ".join([f"{field}: {value}"] * count)
                yield f"dtype: DT_{name} tensor_shape {{ {shape} }} {values}".rstrip()


def _one(dtype: str, rest: str, size: int = 3) -> str:
    return f"dtype: DT_{dtype} tensor_shape {{ dim {{ size: {size} }} }} {rest}"


def _shaped(dims: str) -> str:
    return f"dtype: DT_FLOAT tensor_shape {{ {dims} }} float_val: 7"


READ = (
    *_typed_cases(),
    _one("FLOAT", "float_val: 1 float_val: 2"),
    _one("INT8", "int_val: 300 int_val: -1"),
    _one("UINT8", "int_val: 300 int_val: -1"),
    _one("UINT16", "int_val: 70000 int_val: -1"),
    _one("QUINT8", "int_val: 255 int_val: 256"),
    _one("HALF", "half_val: 15360 half_val: 80896"),
    _one("BFLOAT16", "half_val: 16256 half_val: 81792"),
    _one("INT4", "int_val: 7 int_val: -8 int_val: 9"),
    _one("UINT4", "int_val: 7 int_val: 15 int_val: 17"),
    _one("INT2", "int_val: 1 int_val: -2"),
    _one("UINT2", "int_val: 1 int_val: 3"),
    _one("INT4", 'tensor_content: "\\007\\370\\017"'),
    _one("UINT4", 'tensor_content: "\\007\\377\\017"'),
    _one("COMPLEX64", "scomplex_val: 1 scomplex_val: 2"),
    _one("COMPLEX128", "dcomplex_val: 1 dcomplex_val: 2 dcomplex_val: 3 dcomplex_val: 4"),
    _one("COMPLEX64", 'tensor_content: "abcdefgh"', 1),
    _one("FLOAT8_E5M2", 'float8_val: "<@"'),
    _one("FLOAT8_E4M3FN", 'float8_val: "8"'),
    _one("FLOAT8_E4M3FNUZ", 'float8_val: "@"'),
    _one("FLOAT8_E4M3B11FNUZ", 'float8_val: "@"'),
    _one("FLOAT8_E5M2FNUZ", 'float8_val: "@"'),
    _one("FLOAT4_E2M1FN", 'float8_val: "\\002\\003"'),
    _one("FLOAT8_E4M3FN", 'tensor_content: "888"'),
    _one("FLOAT", 'tensor_content: "abcdefghijkl"'),
    _one("FLOAT", 'tensor_content: "abcdefghijkl" float_val: 7'),
    _one("FLOAT", 'tensor_content: "abcdefghijk"'),
    _one("FLOAT", 'tensor_content: "abcdefghijklm"'),
    _one("INT64", 'tensor_content: "abcdefghijklmnopqrstuvwx"'),
    _one("UINT16", 'tensor_content: "abcdef"'),
    _one("QINT16", 'tensor_content: "abcdef"'),
    _one("BOOL", 'tensor_content: "\\000\\001\\001"'),
    _one("BOOL", 'tensor_content: "\\000\\001\\002"'),
    _one("STRING", 'string_val: "a" string_val: "b"'),
    _one("STRING", 'tensor_content: "\\001\\002\\000abc"'),
    _one("STRING", 'tensor_content: "\\001\\003\\000abc"'),
    _one("STRING", 'tensor_content: "\\001\\001\\000abc"'),
    _one("STRING", 'tensor_content: "\\200\\200"'),
    _one("FLOAT", "int_val: 1"),
    "dtype: DT_FLOAT float_val: 3",
    _shaped("dim { size: -1 }"),
    _shaped("dim { size: -2 }"),
    _shaped("dim { size: 4611686018427387904 } dim { size: 4 }"),
    _shaped("dim { size: 1099511627776 }"),
    _shaped("dim { size: 1 } " * 64),
    _shaped("dim { size: 1 } " * 65),
    _shaped("dim { size: 1 } " * 255),
)


def record() -> dict[str, Any]:
    """Return the two tables for the installed TensorFlow."""
    import tensorflow as tf

    return {
        "version": tf.__version__,
        "make": {text: _made(text) for text in MAKE},
        "read": {text: _read(text) for text in READ},
    }


def _made(expression: str) -> str:
    import ml_dtypes
    import numpy as np
    import tensorflow as tf

    names = {**vars(tf.dtypes), **vars(tf.dtypes.experimental)}
    names |= {"make": tf.make_tensor_proto, "np": np, "ml_dtypes": ml_dtypes}
    try:
        message = eval(expression, names)
    except Exception as error:
        return f"!{type(error).__name__}"
    return str(message.SerializeToString(deterministic=True).hex())


def _read(text: str) -> Any:
    import tensorflow as tf
    from google.protobuf import text_format
    from tensorflow.core.framework import tensor_pb2

    message = text_format.Parse(text, tensor_pb2.TensorProto())
    graph = tf.Graph()
    definition = graph.as_graph_def()
    node = definition.node.add(name="value", op="Const")
    node.attr["dtype"].type = message.dtype
    node.attr["value"].tensor.CopyFrom(message)
    try:
        with graph.as_default(), tf.compat.v1.Session() as session:
            tf.import_graph_def(definition, name="")
            array = session.run("value:0")
    except Exception as error:
        return f"!{type(error).__name__}"
    import numpy as np

    array = np.asarray(array)
    if array.dtype.kind in "OS":
        found: Any = [bytes(item).hex() for item in np.asarray(array, object).reshape(-1)]
    else:
        found = array.tobytes().hex()
    name = tf.as_dtype(message.dtype).name
    return {"dtype": name, "shape": list(array.shape), "elements": found}
