"""DType: the type of the elements of a tensor, one object for each type.

Every DType is a singleton, so ``is`` compares them; ``==`` also takes names and NumPy types. The
table `FACTS` lists all of them by number, as TensorFlow numbers them in files; a reference type
(``float32_ref``, a buffer of a TensorFlow 1 variable) has the number of its base type plus 100.
``numpy_dtype`` is the type of the array that holds the elements on the host. The types that NumPy
lacks come from `ml_dtypes`, which is imported when one of them is first looked at.

Entry points: `as_dtype` for anything, `from_numpy` for the NumPy type of an array.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from penstock import proto
from penstock.types.dtype_facts import FACTS, Facts

_REF_OFFSET = 100
_BY_NUMBER: dict[int, DType] = {}
_BY_NAME: dict[str, DType] = {}
_BY_NUMPY: dict[np.dtype[Any], DType] = {}
# Python types that stand for a dtype; int, str and complex do not, as in TensorFlow.
_BY_CLASS: dict[Any, DType] = {}

if TYPE_CHECKING:
    from penstock.proto.types_pb2 import SerializedDType


class DType:
    """The type of the elements of a tensor.

    `DType(number)` returns the one object of that type.

    Args:
      type_enum: the number of the type, as `as_datatype_enum` gives it.
      handle_data: accepted for TensorFlow's signature; must be None.

    Raises:
      TypeError: there is no type of that number.

    Example:
      >>> DType(1)
      tf.float32
    """

    # Set by _make; instances are never changed afterwards.
    name: str
    index: int
    size: int
    is_floating: bool
    is_integer: bool
    is_unsigned: bool
    is_complex: bool
    is_bool: bool
    is_quantized: bool
    is_numeric: bool
    is_numpy_compatible: bool
    is_ref: bool
    base_dtype: DType
    real_dtype: DType
    numpy_dtype: np.dtype[Any]
    as_numpy_dtype: Any  # a scalar class of NumPy or ml_dtypes, `object`, or a structured np.dtype
    _as_ref: DType
    _storage: str

    def __new__(cls, type_enum: int, handle_data: None = None) -> DType:
        """Returns the object of the type numbered `type_enum`, or `type_enum` if it is a type."""
        if handle_data is not None:
            raise TypeError(f"DType: expected handle_data=None, got {handle_data!r}. Leave it out.")
        number = int(type_enum)
        if number not in _BY_NUMBER:
            raise TypeError(
                f"{type_enum!r} does not correspond to a valid DType: expected 1 to "
                f"{FACTS[-1].number}, or that plus {_REF_OFFSET} for a reference type."
            )
        return _BY_NUMBER[number]

    def __getattr__(self, attribute: str) -> Any:
        """Resolves the NumPy types that need ml_dtypes, once."""
        if attribute in ("numpy_dtype", "as_numpy_dtype") and "_storage" in self.__dict__:
            _load_ml_dtypes()
            return self.__dict__[attribute]
        raise AttributeError(f"'DType' object has no attribute {attribute!r}")

    def __int__(self) -> int:
        return self.index

    def experimental_as_proto(self) -> SerializedDType:
        """The type as a message, whose one field is its number."""
        return proto.types_pb2.SerializedDType(datatype=cast(Any, self.index))

    @classmethod
    def experimental_type_proto(cls) -> type[SerializedDType]:
        """The class of the messages that stand for types."""
        return proto.types_pb2.SerializedDType

    @classmethod
    def experimental_from_proto(cls, message: SerializedDType) -> DType:
        """The type that a message says."""
        return DType(message.datatype)

    @property
    def as_datatype_enum(self) -> int:
        """The number of the type in files and messages."""
        return self.index

    @property
    def _type_enum(self) -> int:
        return self.index

    @property
    def _is_ref_dtype(self) -> bool:
        return self.is_ref

    @property
    def _handle_data(self) -> None:
        return None

    @property
    def min(self) -> Any:
        """The smallest finite value, as an int or a NumPy scalar.

        Raises:
          TypeError: the type has no order or is quantised.
        """
        return self._extreme("minimum", "min")

    @property
    def max(self) -> Any:
        """The largest finite value, as an int or a NumPy scalar.

        Raises:
          TypeError: the type has no order or is quantised.
        """
        return self._extreme("maximum", "max")

    @functools.cache  # noqa: B019  types live as long as the process
    def _extreme(self, word: str, which: str) -> Any:
        if self.is_integer:
            info = _ml().iinfo if self._storage else np.iinfo
            return int(getattr(info(self.numpy_dtype), which))
        if self.is_floating:
            finfo = _ml().finfo if self._storage else np.finfo
            return getattr(finfo(self.numpy_dtype), which)
        raise TypeError(
            f"Cannot find {word} value of {self}: expected an integer or floating-point type."
        )

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of image data of this type, (0, max): floating-point images end at 1.

        Raises:
          ValueError: the type is not used for images.
        """
        base = self.base_dtype
        if base.name in ("float32", "float64"):
            return 0, 1
        if base.is_bool:
            return 0, True
        if base.is_integer and base.is_numeric:
            return 0, base.max
        raise ValueError(
            f"{self} does not have defined limits: expected bool, float32, float64 or an integer "
            "type of 8 to 64 bits."
        )

    def is_compatible_with(self, other: Any) -> bool:
        """True when a value of type `other` can be used where this type is wanted.

        A type is compatible with itself and with its reference type.
        """
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    # The trace type protocol: a dtype is a type of its own with no tensors inside.

    def is_subtype_of(self, other: Any) -> bool:
        """True when `other` is this type."""
        return self is other

    def most_specific_common_supertype(self, others: Sequence[Any]) -> DType | None:
        """This type when all `others` are the same, else None."""
        return self if all(other is self for other in others) else None

    def placeholder_value(self, placeholder_context: Any) -> DType:
        """The value that stands for this dtype while a function is traced: the dtype itself."""
        del placeholder_context
        return self

    def from_tensors(self, tensors: Iterator[Any]) -> DType:
        """Rebuilds the value from no tensors."""
        del tensors
        return self

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors inside a value of this type: none."""
        del value
        return []

    def flatten(self) -> list[Any]:
        """The types of the tensors inside: none."""
        return []

    def cast(self, value: Any, cast_context: Any) -> DType:
        """Returns `value` when it is this dtype; raises TypeError otherwise."""
        del cast_context
        same = value is self
        if not same:
            raise TypeError(f"Cannot cast {value!r} to type {self!r}: expected the same dtype")
        return self

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self.index

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: Any) -> DType:
        del memo
        return self


def _ml() -> Any:  # the module has no annotations of its own
    return importlib.import_module("ml_dtypes")


def _load_ml_dtypes() -> None:
    """Gives the dtypes of ml_dtypes their NumPy types, and makes them known to `from_numpy`."""
    module = _ml()
    for base in (_BY_NUMBER[facts.number] for facts in FACTS if facts.ml):
        scalar = getattr(module, base._storage)
        for dtype in (base, base._as_ref):
            dtype.numpy_dtype = np.dtype(scalar)
            dtype.as_numpy_dtype = scalar
        _BY_NUMPY[base.numpy_dtype] = base
        _BY_CLASS[scalar] = base


def _make(facts: Facts, ref: bool) -> DType:
    dtype = object.__new__(DType)
    dtype.index = facts.number + (_REF_OFFSET if ref else 0)
    dtype.name = facts.name + ("_ref" if ref else "")
    dtype.size = facts.size
    dtype.is_ref = ref
    dtype.is_floating = facts.kind == "floating"
    dtype.is_unsigned = facts.kind == "unsigned"
    dtype.is_integer = facts.kind in ("integer", "unsigned")
    dtype.is_complex = facts.kind == "complex"
    dtype.is_bool = facts.kind == "bool"
    dtype.is_quantized = facts.kind == "quantized"
    dtype.is_numeric = facts.numeric
    dtype.is_numpy_compatible = facts.name not in ("resource", "variant")
    dtype._storage = facts.storage if facts.ml else ""
    if not facts.ml:
        dtype.numpy_dtype = np.dtype(facts.storage)
        dtype.as_numpy_dtype = _public_numpy_type(facts, dtype.numpy_dtype)
    _BY_NUMBER[dtype.index] = dtype
    _BY_NAME[dtype.name] = dtype
    return dtype


def _public_numpy_type(facts: Facts, storage: np.dtype[Any]) -> Any:
    if facts.kind == "quantized":
        return np.dtype([(facts.name, storage.str)])
    return object if storage.kind == "O" else storage.type


def _fill_tables() -> None:
    for facts in FACTS:
        base, ref = _make(facts, ref=False), _make(facts, ref=True)
        for dtype in (base, ref):
            dtype.base_dtype = base
            dtype._as_ref = ref
            dtype.real_dtype = dtype
        if facts.kind == "quantized":
            _BY_NUMPY[base.as_numpy_dtype] = base
        elif not facts.ml and facts.name not in ("resource", "variant"):
            _BY_NUMPY[base.numpy_dtype] = base
            _BY_CLASS[base.as_numpy_dtype] = base
    for complex_name, real_name in (("complex64", "float32"), ("complex128", "float64")):
        for name in (complex_name, f"{complex_name}_ref"):
            _BY_NAME[name].real_dtype = _BY_NAME[real_name]
    for alias, name in (("half", "float16"), ("float", "float32"), ("double", "float64")):
        _BY_NAME[alias] = _BY_NAME[name]
        _BY_NAME[f"{alias}_ref"] = _BY_NAME[f"{name}_ref"]
    _BY_CLASS.update({float: _BY_NAME["float32"], bool: _BY_NAME["bool"]})
    for text_type in (np.str_, np.bytes_, np.object_):
        _BY_CLASS[text_type] = _BY_NAME["string"]


_fill_tables()


def from_numpy(numpy_dtype: np.dtype[Any]) -> DType:
    """The DType of the elements of a NumPy array.

    Args:
      numpy_dtype: the `dtype` of an array; any byte order; text and bytes of any length.

    Raises:
      TypeError: no tensor can hold such elements (dates, structures, 16-byte floats).

    Example:
      >>> from_numpy(np.dtype("<f4")), from_numpy(np.dtype("S3"))
      (tf.float32, tf.string)
    """
    found = _BY_NUMPY.get(numpy_dtype)
    return found if found is not None else _from_rare_numpy(numpy_dtype)


def _from_rare_numpy(numpy_dtype: np.dtype[Any]) -> DType:
    if numpy_dtype.kind in "SU":
        return _BY_NAME["string"]
    native = numpy_dtype.newbyteorder("=")
    if native in _BY_NUMPY:
        return _BY_NUMPY[native]
    # A type of ml_dtypes: its module is imported already, since the type exists.
    if numpy_dtype.type.__module__.partition(".")[0] == "ml_dtypes":
        _load_ml_dtypes()
        if numpy_dtype in _BY_NUMPY:
            return _BY_NUMPY[numpy_dtype]
    raise _no_dtype(numpy_dtype)


def _no_dtype(value: Any) -> TypeError:
    return TypeError(
        f"Cannot convert the argument `type_value`: {value!r} to a DType: expected a DType, one of "
        "its names such as 'float32', its number, or a NumPy type. "
        "See tf.dtypes for the list; for Python's int and complex say tf.int32 and tf.complex64."
    )


def as_dtype(type_value: Any) -> DType:
    """Converts a value to a DType.

    Args:
      type_value: a DType; a name (`"float32"`, `"float32_ref"`); a number; a NumPy dtype or scalar
        class; `float`, `bool` or `object`; or something with a NumPy `dtype`, such as an array.

    Returns:
      The DType.

    Raises:
      TypeError: the value names no type.

    Example:
      >>> as_dtype("float32"), as_dtype(np.int64), as_dtype(10)
      (tf.float32, tf.int64, tf.bool)
    """
    if type(type_value) is DType:
        return type_value
    if isinstance(type_value, np.dtype):
        try:
            return from_numpy(type_value)
        except TypeError:
            raise _no_dtype(type_value) from None
    for table in (_BY_NAME, _BY_NUMBER, _BY_CLASS):
        try:
            found = cast("dict[Any, DType]", table).get(type_value)
        except TypeError:  # not hashable
            break
        if found is not None:
            return found
    return _from_rare_value(type_value)


def _from_rare_value(value: Any) -> DType:
    if isinstance(value, type):
        if issubclass(value, np.generic) and value not in _ABSTRACT:
            return as_dtype(np.dtype(value))
        raise _no_dtype(value)
    inner = getattr(value, "dtype", None)
    if isinstance(inner, np.dtype):
        return as_dtype(inner)
    raise _no_dtype(value)


_ABSTRACT: frozenset[type] = frozenset(
    {
        np.generic,
        np.number,
        np.integer,
        np.signedinteger,
        np.unsignedinteger,
        np.inexact,
        np.floating,
        np.complexfloating,
        np.flexible,
        np.character,
    }
)


def all_dtypes(with_refs: bool = False) -> list[DType]:
    """Every DType in the order of its number, reference types last when asked for."""
    return [d for d in _BY_NUMBER.values() if with_refs or not d.is_ref]


float16: DType = _BY_NAME["float16"]
half: DType = float16
bfloat16: DType = _BY_NAME["bfloat16"]
float32: DType = _BY_NAME["float32"]
float64: DType = _BY_NAME["float64"]
double: DType = float64
int8: DType = _BY_NAME["int8"]
int16: DType = _BY_NAME["int16"]
int32: DType = _BY_NAME["int32"]
int64: DType = _BY_NAME["int64"]
uint8: DType = _BY_NAME["uint8"]
uint16: DType = _BY_NAME["uint16"]
uint32: DType = _BY_NAME["uint32"]
uint64: DType = _BY_NAME["uint64"]
bool_: DType = _BY_NAME["bool"]
string: DType = _BY_NAME["string"]
complex64: DType = _BY_NAME["complex64"]
complex128: DType = _BY_NAME["complex128"]
qint8: DType = _BY_NAME["qint8"]
qint16: DType = _BY_NAME["qint16"]
qint32: DType = _BY_NAME["qint32"]
quint8: DType = _BY_NAME["quint8"]
quint16: DType = _BY_NAME["quint16"]
resource: DType = _BY_NAME["resource"]
variant: DType = _BY_NAME["variant"]
int2: DType = _BY_NAME["int2"]
int4: DType = _BY_NAME["int4"]
uint2: DType = _BY_NAME["uint2"]
uint4: DType = _BY_NAME["uint4"]
float4_e2m1fn: DType = _BY_NAME["float4_e2m1fn"]
float8_e5m2: DType = _BY_NAME["float8_e5m2"]
float8_e5m2fnuz: DType = _BY_NAME["float8_e5m2fnuz"]
float8_e4m3fn: DType = _BY_NAME["float8_e4m3fn"]
float8_e4m3fnuz: DType = _BY_NAME["float8_e4m3fnuz"]
float8_e4m3b11fnuz: DType = _BY_NAME["float8_e4m3b11fnuz"]

QUANTIZED_DTYPES: frozenset[DType] = frozenset(d for d in _BY_NUMBER.values() if d.is_quantized)
