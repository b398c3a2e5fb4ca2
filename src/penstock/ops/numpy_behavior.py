"""`experimental_enable_numpy_behavior`: tensors that promote, index and are called as arrays are.

Until it is called, tensors keep TensorFlow's operators. Afterwards `tensor[...]` takes lists and
tensors of integers or bools, and tensors have the methods of METHODS. In mode "legacy" the
operators promote by `numpy_dtypes`; in "safe" and "all" they and the public functions do by
`weak_dtypes`, and Python's numbers are weak tensors.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import dispatch
from penstock.core.composite import CompositeTensor
from penstock.core.tensor import EagerTensor, Tensor, attach_method, host_array
from penstock.core.weak_tensor import WeakTensor
from penstock.ops import (
    numpy_array_api,
    numpy_arrays,
    numpy_dtypes,
    numpy_elementwise,
    numpy_products,
    numpy_reductions,
    weak_dtypes,
    weak_functions,
    weak_operators,
)
from penstock.ops.math_cast import cast
from penstock.ops.numpy_indexing import getitem
from penstock.ops.weak_operators import of_inside
from penstock.types import dtypes

Function = Callable[..., Any]
MODES = ("off", "legacy", "safe", "all")
WEAK_MODES = ("safe", "all")
_BINARY: dict[str, Function] = {
    "add": numpy_elementwise.add,
    "sub": numpy_elementwise.subtract,
    "mul": numpy_elementwise.multiply,
    "truediv": numpy_elementwise.true_divide,
    "div": numpy_elementwise.true_divide,
    "floordiv": numpy_elementwise.floor_divide,
    "mod": numpy_elementwise.mod,
    "pow": numpy_elementwise.power,
    "matmul": numpy_products.matmul,
    "and": numpy_elementwise.bitwise_and,
    "or": numpy_elementwise.bitwise_or,
    "xor": numpy_elementwise.bitwise_xor,
}
_ORDER: dict[str, Function] = {
    "__lt__": numpy_elementwise.less,
    "__le__": numpy_elementwise.less_equal,
    "__gt__": numpy_elementwise.greater,
    "__ge__": numpy_elementwise.greater_equal,
    "__eq__": numpy_elementwise.equal,
    "__ne__": numpy_elementwise.not_equal,
}


def _numeric(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray, np.generic)) or hasattr(value, "handle"):
        dtype = value.dtype
        return bool(np.dtype(getattr(dtype, "as_numpy_dtype", dtype)).kind not in "OSU")
    return isinstance(value, (bool, int, float, complex, list, tuple))


def _operator(function: Function, before: Function, *, turned: bool = False) -> Function:
    """`function` for numbers of different dtypes; `before`, the usual operator, for all else.

    Products of vectors are no other operator's: those of matrices alone are the usual ones.
    """
    least = 2 if function is numpy_products.matmul else 0

    def operator(x: Any, y: Any) -> Any:
        alike = isinstance(y, Tensor) and y.dtype is x.dtype and not x.dtype.is_bool
        if alike and (not least or all(t.dims and len(t.dims) >= least for t in (x, y))):
            return before(x, y)
        if isinstance(y, CompositeTensor) or not (_numeric(x) and _numeric(y)):
            return before(x, y)
        return function(y, x) if turned else function(x, y)

    return operator


def _reshape(self: Any, *newshape: Any, **kwargs: Any) -> Any:
    order = kwargs.pop("order", "C")
    if kwargs:
        raise TypeError(f"reshape: expected a shape and order, got {sorted(kwargs)}.")
    shape = newshape[0] if len(newshape) == 1 else newshape
    return numpy_arrays.reshape(self, shape, order)


def _astype(self: Any, dtype: Any) -> Any:
    return cast(self, dtypes.as_dtype(dtype))


def _size(self: Any) -> Any:
    return numpy_arrays.size(self)


def _tolist(self: Any) -> Any:
    if not isinstance(self, EagerTensor):
        raise ValueError(
            f"tolist: expected a tensor with a value, got {self}. Symbolic tensors have none before"
            " the graph runs: return it and call tolist there."
        )
    return host_array(self).tolist()


METHODS: dict[str, Any] = {
    "T": property(numpy_arrays.transpose),
    "astype": _astype,
    "clip": numpy_elementwise.clip,
    "data": property(lambda self: self),
    "flatten": numpy_arrays.flatten,
    "max": numpy_reductions.amax,
    "mean": numpy_reductions.mean,
    "min": numpy_reductions.amin,
    "ravel": numpy_arrays.ravel,
    "reshape": _reshape,
    "size": property(_size),
    "to_device": numpy_array_api.to_device,
    "tolist": _tolist,
    "transpose": numpy_arrays.transpose,
    "__pos__": numpy_elementwise.positive,
    "__round__": numpy_elementwise.around,
}


# ---- turning it on


_usual: dict[str, Any] = {}
_ON_ITSELF = ("__neg__", "__abs__", "__invert__")


def _keep_usual() -> None:
    """Remembers the operators of tensors as they were before the first call."""
    if not _usual:
        names = [f"__{r}{n}__" for n in _BINARY for r in ("", "r")] + list(_ORDER)
        _usual.update({n: getattr(Tensor, n) for n in [*names, *_ON_ITSELF, "__getitem__"]})


def _set_operators(mode: str) -> None:
    for name, usual in _usual.items():
        if mode in WEAK_MODES:
            function = weak_operators.operator(name, getitem if name == "__getitem__" else usual)
            attach_method(name, function)
            setattr(WeakTensor, name, function)
        else:
            function = _promoting(name, usual) if mode == "legacy" else usual
            attach_method(name, function)
            inner = getitem if name == "__getitem__" else function
            setattr(WeakTensor, name, of_inside(inner))


def _promoting(name: str, usual: Any) -> Any:
    plain = name.strip("_")
    if name in _ORDER:
        return _operator(_ORDER[name], usual)
    if plain in _BINARY:
        return _operator(_BINARY[plain], usual)
    if name in _ON_ITSELF or name == "__getitem__":
        return usual
    return _operator(_BINARY[plain[1:]], usual, turned=True)


def _set_promotion(mode: str) -> None:
    """What public functions and assignments promote by."""
    on = mode in WEAK_MODES
    weak_dtypes.set_safe(mode == "safe")
    numpy_dtypes.set_kinds(weak_dtypes.common_kind if on else None)
    weak_operators.set_assignments(on)
    dispatch.set_promotion(weak_functions.promote_call if on else None)


_before: dict[tuple[type, str], Any] = {}


def _attach(name: str, method: Any) -> None:
    """Gives all tensors a method, those of a subclass that has its own one too."""
    for cls in (Tensor, EagerTensor):
        if cls is Tensor or name in vars(cls):
            _before.setdefault((cls, name), vars(cls).get(name))
            setattr(cls, name, method)


def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Makes tensors behave as NumPy's arrays: promotion, indexing, methods.

    Args:
      prefer_float32: Python floats are float32, not float64, in this module; for mode 'legacy'.
      dtype_conversion_mode: 'legacy' promotes as NumPy does; 'off' leaves the operators as they
        are. In 'all' any two dtypes of numbers promote, and Python's numbers are weak: they give
        way to the other value's dtype. 'safe' is the same but raises TypeError where digits could
        be lost.

    Raises:
      ValueError: another mode.
    """
    if dtype_conversion_mode not in MODES:
        raise ValueError(
            "experimental_enable_numpy_behavior: expected dtype_conversion_mode 'off', 'legacy',"
            f" 'safe' or 'all', got {dtype_conversion_mode!r}. Leave it out for 'legacy'."
        )
    numpy_dtypes.prefer_float32(prefer_float32 and dtype_conversion_mode not in WEAK_MODES)
    _keep_usual()
    _set_promotion(dtype_conversion_mode)
    _set_operators(dtype_conversion_mode)
    is_weak = dtype_conversion_mode in WEAK_MODES
    if not is_weak:
        attach_method("__getitem__", getitem)
    for name, method in METHODS.items():
        _attach(name, method)
        weak_form = weak_operators.method(name, method) if is_weak else of_inside(method)
        setattr(WeakTensor, name, weak_form)
    numpy_array_api.attach()


def restore() -> None:
    """Takes back what `experimental_enable_numpy_behavior` did, for tests."""
    numpy_dtypes.prefer_float32(False)
    if _usual:
        _set_promotion("off")
        _set_operators("off")
        for (cls, name), method in _before.items():
            if method is None:
                delattr(cls, name)
            else:
                setattr(cls, name, method)
        _before.clear()
        for name in ("__array_namespace__", "mT"):
            if name in vars(Tensor):
                delattr(Tensor, name)
