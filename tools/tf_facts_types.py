"""Facts about types: what TensorFlow answers to the expressions of ``tests/data/tf_types.json``.

Every expression gets the answer of TensorFlow: ``=`` and the repr of the value, or ``!`` and the
name of the class of the error. To ask something new, add the expression with an empty answer to
the file and run ``tools/tf_facts.py types``. The test evaluates the same expressions with Penstock.
"""

import collections
import json
import pathlib
import pickle
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.data.util.structure import NoneTensorSpec
from tensorflow.python.framework.tensor import BoundedTensorSpec
from tensorflow.python.ops.resource_variable_ops import VariableSpec

FACTS = pathlib.Path(__file__).resolve().parents[1] / "tests" / "data" / "tf_types.json"
GROUPS = ("devices", "dimensions", "dtypes", "nest", "shapes", "specs")
DTYPE_FIELDS = (
    "name base_dtype real_dtype is_floating is_complex is_integer is_quantized is_unsigned is_bool "
    "is_numeric is_numpy_compatible size min max limits as_numpy_dtype"
)
Point = collections.namedtuple("Point", "x y")
NAMES = {
    "np": np,
    "pickle": pickle,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": collections.defaultdict,
    "deque": collections.deque,
    "Point": Point,
    "DType": tf.DType,
    "as_dtype": tf.as_dtype,
    "T": tf.TensorShape,
    "D": tf.compat.v1.Dimension,
    "dimension_value": tf.compat.v1.dimension_value,
    "dimension_at_index": tf.compat.v1.dimension_at_index,
    "broadcast": lambda a, b: tf.broadcast_static_shape(tf.TensorShape(a), tf.TensorShape(b)),
    "S": tf.TensorSpec,
    "BS": BoundedTensorSpec,
    "VS": VariableSpec,
    "NS": NoneTensorSpec,
    "SS": tf.SparseTensorSpec,
    "IS": tf.IndexedSlicesSpec,
    "spec_of": tf.type_spec_from_value,
    "D1": tf.compat.v1.DeviceSpec,
    "D2": tf.DeviceSpec,
    "nest": tf.nest,
}


def answer(expression: str) -> str:
    """What TensorFlow makes of an expression."""
    try:
        return f"={eval(expression, dict(NAMES))!r}"
    except Exception as error:
        return f"!{type(error).__name__}"


def dtype_properties() -> dict[str, dict[str, str]]:
    """The properties of every dtype, by its number."""
    facts = {}
    for number in range(1, 200):
        try:
            dtype = tf.as_dtype(number)
        except TypeError:
            continue
        facts[f"{number:03}"] = {f: field_text(dtype, f) for f in DTYPE_FIELDS.split()}
    return facts


def field_text(dtype: tf.DType, field: str) -> str:
    """The value of a property as text, or the class of its error."""
    try:
        return repr(getattr(dtype, field))
    except Exception as error:
        return f"!{type(error).__name__}"


def record() -> dict[str, Any]:
    """The answers to all expressions, and the properties of all dtypes."""
    asked = json.loads(FACTS.read_text())
    facts: dict[str, Any] = {group: {e: answer(e) for e in asked[group]} for group in GROUPS}
    return {"tensorflow": tf.__version__, "dtype_properties": dtype_properties(), **facts}
