"""DType: singletons, NumPy types, and errors."""

import copy
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from penstock import types
from penstock.types import DType, all_dtypes, as_dtype, dtypes, from_numpy

EVERY = all_dtypes(with_refs=True)


@pytest.mark.parametrize("dtype", EVERY, ids=lambda d: d.name)
def test_every_dtype_is_one_object(dtype):
    assert as_dtype(dtype.name) is dtype
    assert as_dtype(dtype.index) is dtype
    assert DType(dtype.as_datatype_enum) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy([dtype])[0] is dtype
    assert hash(dtype) == dtype.index
    assert dtype == dtype.name
    assert repr(dtype) == f"tf.{dtype.name}"
    assert str(dtype) == f"<dtype: '{dtype.name}'>"


@pytest.mark.parametrize("dtype", all_dtypes(), ids=lambda d: d.name)
def test_storage_and_public_numpy_types(dtype):
    assert isinstance(dtype.numpy_dtype, np.dtype)
    assert dtype._as_ref.base_dtype is dtype
    assert dtype._as_ref.numpy_dtype == dtype.numpy_dtype
    if dtype.name in ("resource", "variant"):
        return
    assert as_dtype(dtype.as_numpy_dtype) is dtype
    assert from_numpy(np.dtype(dtype.as_numpy_dtype)) is dtype
    if dtype.size and not dtype.is_quantized:
        assert dtype.numpy_dtype.itemsize == dtype.size


def test_quantized_types_are_stored_as_integers():
    assert types.qint8.numpy_dtype == np.int8
    assert types.quint16.numpy_dtype == np.uint16
    assert types.qint32.as_numpy_dtype == np.dtype([("qint32", np.int32)])
    assert from_numpy(np.dtype(np.int8)) is types.int8
    assert {d.base_dtype.name for d in dtypes.QUANTIZED_DTYPES} == {
        "qint8",
        "quint8",
        "qint16",
        "quint16",
        "qint32",
    }


def test_names_of_python_and_of_numpy():
    assert types.half is types.float16
    assert types.double is types.float64
    assert as_dtype("float_ref") is types.float32._as_ref
    assert as_dtype(np.intc) is types.int32
    assert from_numpy(np.dtype("q")) is types.int64
    assert from_numpy(np.dtype(">i2")) is types.int16
    assert from_numpy(np.dtype("U7")) is types.string


def test_real_dtype_of_complex():
    assert types.complex64.real_dtype is types.float32
    assert types.complex128.real_dtype is types.float64
    assert types.int32.real_dtype is types.int32


def test_extremes_are_values_of_the_type():
    assert types.int8.min == -128
    assert isinstance(types.uint64.max, int)
    assert types.bfloat16.max == ml_dtypes.finfo(ml_dtypes.bfloat16).max
    with pytest.raises(TypeError, match="Cannot find minimum value of <dtype: 'string'>"):
        _ = types.string.min


@pytest.mark.parametrize(
    "value", [None, int, str, complex, "foo", "f4", 300, [1], np.dtype("M8[s]"), np.floating, {}]
)
def test_what_is_no_dtype(value):
    with pytest.raises(TypeError, match="Cannot convert the argument `type_value`"):
        as_dtype(value)


def test_from_numpy_refuses_structures():
    with pytest.raises(TypeError, match="Cannot convert"):
        from_numpy(np.dtype([("a", np.int8), ("b", np.int8)]))


def test_equality_never_raises():
    assert types.float32 != object()
    assert types.float32 != "foo"
    assert types.float32 != None  # noqa: E711
    assert types.float32 != types.float32._as_ref
    assert types.float32 == np.float32


def test_only_refs_of_a_type_are_compatible_with_it():
    ref = types.float32._as_ref
    assert types.float32.is_compatible_with(ref)
    assert not ref.is_compatible_with(types.float32)
    assert ref._is_ref_dtype
    assert not types.float32._is_ref_dtype


def test_dtype_is_a_trace_type_of_its_own():
    assert types.int32.is_subtype_of(types.int32)
    assert not types.int32.is_subtype_of(types.int64)
    assert types.int32.most_specific_common_supertype([types.int32]) is types.int32
    assert types.int32.most_specific_common_supertype([types.int64]) is None
    assert types.int32.placeholder_value(None) is types.int32
    assert types.int32.cast(types.int32, None) is types.int32
    with pytest.raises(TypeError, match="expected the same dtype"):
        types.int32.cast(types.int64, None)


def test_handle_data_is_refused_with_a_way_out():
    with pytest.raises(TypeError, match="handle_data=None"):
        DType(20, handle_data=1)
    with pytest.raises(TypeError, match="77 does not correspond to a valid DType"):
        DType(77)


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="'DType' object has no attribute 'foo'"):
        _ = types.float32.foo


def test_ml_dtypes_is_imported_at_first_use():
    code = (
        "import sys; from penstock import types; before = 'ml_dtypes' in sys.modules; "
        "types.float32.numpy_dtype, types.bfloat16.size, types.TensorSpec([1], 'bfloat16'); "
        "unused = 'ml_dtypes' in sys.modules; types.bfloat16.numpy_dtype; "
        "print(before, unused, 'ml_dtypes' in sys.modules)"
    )
    # penstock/__init__.py may import more; only rows 0 and 1 are meant here.
    stub = "import sys, types; p = types.ModuleType('penstock'); p.__path__ = [sys.argv[1]]; "
    stub += "sys.modules['penstock'] = p; "
    path = str(types.__path__[0]).removesuffix("/types")
    command = [sys.executable, "-c", stub + code, path]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False", "True"]
