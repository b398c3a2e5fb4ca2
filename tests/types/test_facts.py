"""What TensorFlow answered to expressions about types, and what Penstock answers to the same text.

tests/data/tf_types.json is recorded by `tools/tf_facts.py types`. Where we differ on purpose,
DIFFERENCES gives our answer and says why.
"""

import collections
import json
import pathlib
import pickle

import numpy as np
import pytest

from penstock import types
from penstock.types import dims
from penstock.util import nest

FACTS = json.loads((pathlib.Path(__file__).parents[1] / "data" / "tf_types.json").read_text())
GROUPS = ("devices", "dimensions", "dtypes", "nest", "shapes", "specs")
Point = collections.namedtuple("Point", "x y")


def _broadcast(a, b):
    shapes = [types.TensorShape(x).dims_tuple for x in (a, b)]
    return types.TensorShape.from_dims(dims.broadcast(*shapes))


NAMES = {
    "np": np,
    "pickle": pickle,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": collections.defaultdict,
    "deque": collections.deque,
    "Point": Point,
    "DType": types.DType,
    "as_dtype": types.as_dtype,
    "T": types.TensorShape,
    "D": types.Dimension,
    "dimension_value": types.dimension_value,
    "dimension_at_index": types.dimension_at_index,
    "broadcast": _broadcast,
    "S": types.TensorSpec,
    "BS": types.BoundedTensorSpec,
    "VS": types.VariableSpec,
    "NS": types.NoneTensorSpec,
    "SS": types.SparseTensorSpec,
    "IS": types.IndexedSlicesSpec,
    "spec_of": types.type_spec_from_value,
    "D1": types.DeviceSpecV1,
    "D2": types.DeviceSpecV2,
    "nest": nest,
}

# expression -> (our answer, why)
DIFFERENCES: dict[str, tuple[str, str]] = {
    "D2(job='a').make_merged_spec('/job:b')": ("!TypeError", "a wrong type says so"),
    "D2.from_string(3)": ("!TypeError", "a wrong type says so"),
    "D(7).__div__(2)": ("!AttributeError", "Python 2's division"),
    "D(None).__index__()": ("!TypeError", "Python allows no None as an index"),
    "dimension_at_index([1,2],1)": ("!TypeError", "an assertion is no answer to a user"),
    "nest.pack_sequence_as([1,2],{'a':5,'b':6})": ("!TypeError", "a mapping is no sequence"),
    "T('')": ("!TypeError", "text is no shape, empty or not"),
    "T(None)['a']": ("!TypeError", "an index is an integer, whatever the rank"),
    "S([1])._to_components(3)": ("=3", "checked where tensors are made, not here"),
    "SS([1,None],as_dtype('int32'))._flat_tensor_specs": (
        "=[TensorSpec(shape=(None, 2), dtype=tf.int64, name=None), "
        "TensorSpec(shape=(None,), dtype=tf.int32, name=None), "
        "TensorSpec(shape=(2,), dtype=tf.int64, name=None)]",
        "a sparse tensor is its components; no variant holds it",
    ),
    **{
        f"broadcast({a},{b})": (f"=TensorShape({out})", "size 0 beside an unknown one gives 0")
        for x, y, out in (
            ("[0]", "[None]", "[0]"),
            ("[0]", "[2,None]", "[2, 0]"),
            ("[0]", "[None,None]", "[None, 0]"),
        )
        for a, b in ((x, y), (y, x))
    },
}


class Tensor:
    """Stands for the class of tensors, which a layer above attaches."""


@pytest.fixture(autouse=True)
def _values(monkeypatch):
    hooks = types.ValueHooks(Tensor, lambda spec, value: value, lambda spec, parts: parts)
    monkeypatch.setattr(types.TensorSpec, "_value_hooks", hooks)


def answer(expression):
    try:
        return f"={eval(expression, dict(NAMES))!r}"
    except Exception as error:
        return f"!{type(error).__name__}"


@pytest.mark.parametrize("group", GROUPS)
def test_answers_are_tensorflows(group):
    wrong = []
    for expression, theirs in FACTS[group].items():
        wanted = DIFFERENCES[expression][0] if expression in DIFFERENCES else theirs
        ours = answer(expression)
        if ours != wanted:
            wrong.append(f"{expression}\n    wanted {wanted}\n    got    {ours}")
    assert not wrong, "\n".join(wrong)


def test_every_difference_is_one():
    answers = {e: a for group in GROUPS for e, a in FACTS[group].items()}
    assert [e for e, (ours, _) in DIFFERENCES.items() if answers.get(e) in (None, ours)] == []


def test_dtypes_have_tensorflows_properties():
    renamed = {"<class 'numpy.object_'>": "<class 'object'>"}  # of string_ref alone
    wrong = []
    for number, fields in FACTS["dtype_properties"].items():
        dtype = types.as_dtype(int(number))
        for field, theirs in fields.items():
            if theirs == "!KeyError":  # resource and variant have no NumPy type there
                continue
            ours = _field_text(dtype, field)
            if ours != renamed.get(theirs, theirs):
                wrong.append(f"{dtype.name}.{field}: wanted {theirs}, got {ours}")
    assert not wrong, "\n".join(wrong)
    assert len(FACTS["dtype_properties"]) == len(types.all_dtypes(with_refs=True))


def _field_text(dtype, field):
    try:
        return repr(getattr(dtype, field))
    except Exception as error:
        return f"!{type(error).__name__}"
