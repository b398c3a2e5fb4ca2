"""Products named by letters: `einsum`, and `tensordot`.

The operation Einsum takes one or two tensors, as TensorFlow's; `einsum` breaks more of them into a
chain.
"""

import re
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.static_values import constant_value
from penstock.ops.composing import composed, concat
from penstock.ops.math_arithmetic import conjugate
from penstock.ops.math_matmul import matmul
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer


# the operation


def _spread(labels: str, rank: int, index: int, c: ShapeContext) -> list[str]:
    """The label of each axis; axes of the ellipsis are numbered from the last."""
    before, dots, after = labels.partition("...")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        c.fail(
            f"input {index} to have rank {len(labels)}",
            f"rank {rank} for subscripts {labels!r}: Shape must be rank {len(labels)} but is rank"
            f" {rank}",
        )
    return [*before, *(f".{i}" for i in range(hidden, 0, -1)), *after]


def _einsum_shape(c: ShapeContext) -> Dims:
    inputs, _, output = c.attr("equation").replace(" ", "").partition("->")
    labels = inputs.split(",")
    if len(labels) not in (1, 2):
        c.fail("1 or 2 input subscripts", f"{len(labels)} in equation {c.attr('equation')!r}")
    if len(labels) != len(c):
        c.fail(f"{len(labels)} inputs", f"{len(c)} for equation {c.attr('equation')!r}")
    sizes: dict[str, int | None] = {}
    hidden: list[str] = []
    for i, (one, dims) in enumerate(zip(labels, c.shapes, strict=True)):
        if dims is None and "..." in one:
            return None
        if dims is None:
            dims = (None,) * len(one)
        for label, size in zip(_spread(one, len(dims), i, c), dims, strict=True):
            if label.startswith(".") and label not in hidden:
                hidden.append(label)
            sizes[label] = _agreed(c, label, sizes.get(label, size), size)
    hidden.sort(key=lambda label: -int(label[1:]))
    before, dots, after = output.partition("...")
    wanted = [*before, *(hidden if dots else []), *after]
    if any(label not in sizes for label in wanted):
        c.fail("output subscripts that occur in the input", f"equation {c.attr('equation')!r}")
    return tuple(sizes[label] for label in wanted)


def _agreed(c: ShapeContext, label: str, known: int | None, size: int | None) -> int | None:
    """The size of a label from two axes; axes of the ellipsis broadcast."""
    spread = label.startswith(".")
    if known is None:
        return None if spread and size == 1 else size  # 1 beside any size gives that size
    if spread and known == 1:
        return size
    if size is not None and size != known and not (size == 1 and spread):
        c.refuse(
            f"Expected dimension {known} for label {label!r} but got dimension {size}: Dimensions"
            f" must be equal, but are {known} and {size}"
        )
    return known


EINSUM = define_op(
    "Einsum(inputs: N*T; equation: string, N: int >= 1, T: type) -> output: T",
    shape=_einsum_shape,
    doc="Multiplies one or two tensors and sums over labels, as an equation says.",
)


@kernel(EINSUM)
def _einsum(xp: Any, inputs: list[Array], *, equation: str) -> Array:
    equation = equation.replace(" ", "")
    if xp is not np:
        return xp.einsum(equation, *inputs)
    small = inputs[0].dtype.itemsize == 2 and inputs[0].dtype.kind in "fV"
    wide = [a.astype(np.float32) for a in inputs] if small else inputs
    return np.einsum(equation, *wide, optimize=True).astype(inputs[0].dtype)


@EINSUM.gradient
def _einsum_gradient(op: Any, grad: Any) -> list[Any]:
    equation = op.get_attr("equation")
    text = equation.decode() if isinstance(equation, bytes) else equation
    inputs, _, output = text.replace(" ", "").partition("->")
    labels = inputs.split(",")
    result = []
    for i, x in enumerate(op.inputs):
        others = [(labels[j], conjugate(op.inputs[j])) for j in range(len(labels)) if j != i]
        result.append(_input_gradient(grad, output, x, labels[i], others))
    return result


def _input_gradient(grad: Any, output: str, x: Any, labels: str, others: list[Any]) -> Any:
    """The equation turned round; labels that only `x` has are spread over afterwards."""
    unique = _unique(labels)
    beside = "".join([output, *(o for o, _ in others)])
    reached = "".join(label for label in unique.replace("...", "") if label in beside)
    dots = "..." if "..." in labels and "..." in beside else ""
    reached = dots + reached
    terms = [output, *(o for o, _ in others)]
    equation = f"{','.join(terms)}->{reached}"
    summed = execute(EINSUM, ([grad, *(t for _, t in others)],), {"equation": equation})
    return _restore(summed, reached, x, labels)


def _unique(labels: str) -> str:
    plain = labels.replace("...", "")
    dots = "..." if "..." in labels else ""
    return dots + "".join(dict.fromkeys(plain))


def _restore(value: Any, reached: str, x: Any, labels: str) -> Any:
    if x.dims is None and "..." in labels:
        return _restore_any_rank(value, reached, x, labels)
    axes = _axis_labels(labels, len(labels) if x.dims is None else len(x.dims))
    have = _axis_labels(
        reached, len(value.dims) if value.dims is not None else _count(reached, axes)
    )
    hidden = [a for a in axes if a.startswith(".")]
    extra = [a for a in have if a.startswith(".") and a not in hidden]
    if extra:  # the ellipsis of another input has more axes
        places = [have.index(a) for a in extra]
        value = execute("Sum", (value, np.array(places, np.int32)))
        have = [a for a in have if a not in extra]
    shape = execute("Shape", (x,))
    once = list(dict.fromkeys(axes))
    value = _broadcast_labels(value, have, once, axes, shape)
    return value if once == axes else _diagonal(value, axes, shape)


def _restore_any_rank(value: Any, reached: str, x: Any, labels: str) -> Any:
    """As `_restore`, of an input whose ellipsis may be of any number of axes.

    These are made one axis, once what was broadcast along them is summed.
    """
    before, _, after = labels.partition("...")
    found = reached.replace("...", "")
    axes, shape = [*before, ":", *after], execute("Shape", (x,))
    end = execute("Size", (shape,)) - len(after)
    hidden = shape[len(before) : end]
    count = execute("Prod", (hidden, np.array([0], np.int32)), {"keep_dims": True})
    merged = concat([shape[: len(before)], count, shape[end:]], 0)
    have = [*found]
    if "..." in reached:
        places = np.array([axes.index(label) for label in found], np.int32)
        sizes = execute("GatherV2", (merged, places, np.int32(0)))
        wide = execute("Shape", (value,))
        repeated = execute("BroadcastGradientArgs", (concat([hidden, sizes], 0), wide))[0]
        value = execute("Sum", (value, repeated))
        value = execute("Reshape", (value, concat([count, sizes], 0)))
        have = [":", *found]
    once = list(dict.fromkeys(axes))
    value = _broadcast_labels(value, have, once, axes, merged)
    value = value if once == axes else _diagonal(value, axes, merged)
    return execute("Reshape", (value, shape))


def _count(labels: str, axes: list[str]) -> int:
    hidden = sum(a.startswith(".") for a in axes)
    return len(labels.replace("...", "")) + (hidden if "..." in labels else 0)


def _axis_labels(labels: str, rank: int) -> list[str]:
    before, dots, after = labels.partition("...")
    hidden = rank - len(before) - len(after) if dots else 0
    return [*before, *(f".{i}" for i in range(hidden, 0, -1)), *after]


def _broadcast_labels(
    value: Any, have: list[str], once: list[str], axes: list[str], shape: Any
) -> Any:
    """`value` with its axes in the order `once`, repeated along labels that it lacks."""
    order = [have.index(a) for a in once if a in have]
    value = execute("Transpose", (value, np.array(order, np.int32)))
    for place, label in enumerate(once):
        if label not in have:
            value = execute("ExpandDims", (value, np.int32(place)))
    places = np.array([axes.index(a) for a in once], np.int32)
    target = execute("GatherV2", (shape, places, np.int32(0)))
    if any(label.startswith(".") for label in once):  # axes of size 1 may have been broadcast
        repeated = execute("BroadcastGradientArgs", (target, execute("Shape", (value,))))[0]
        value = execute("Sum", (value, repeated), {"keep_dims": True})
    return execute("BroadcastTo", (value, target))


def _diagonal(value: Any, axes: list[str], shape: Any) -> Any:
    """Spreads axes that occur twice over a diagonal, with zeros beside it."""
    seen: set[str] = set()
    expanded = value
    places: list[int] = []
    for i, label in enumerate(axes):
        if label in seen:
            expanded = execute("ExpandDims", (expanded, np.int32(i)))
            places.append(i)
        seen.add(label)
    full = execute("BroadcastTo", (expanded, shape))
    for i in places:
        first = axes.index(axes[i])
        full = execute("Mul", (full, _eye_between(shape, first, i, len(axes), value.dtype)))
    return full


def _eye_between(shape: Any, first: int, second: int, rank: int, dtype: Any) -> Any:
    size = execute("GatherV2", (shape, np.int32(first), np.int32(0)))
    numbers = execute("Range", (np.int32(0), size, np.int32(1)))
    shapes = []
    for axis in (first, second):
        dims = [1] * rank
        dims[axis] = -1
        shapes.append(execute("Reshape", (numbers, np.array(dims, np.int32))))
    return execute("Cast", (execute("Equal", tuple(shapes)),), {"DstT": dtype})


# the public functions


@composed("einsum", result="Einsum")
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Any:
    """Multiplies tensors and sums over labels, as an equation says.

    Args:
      equation: labels of the inputs' axes, and after `->` those of the output; without it, the
        labels that occur once, in alphabetical order. `...` stands for axes that broadcast.
      *inputs: tensors of one dtype.
      **kwargs: `name`, the name of the operation in a graph; `optimize`, how the order of products
        is chosen: "greedy" (default), "optimal" or "auto".

    Returns:
      Tensor of the same dtype.

    Raises:
      ValueError: the equation does not fit the inputs.
      TypeError: another keyword argument.

    Example:
      >>> einsum("ij,jk->ik", [[1.0, 2.0]], [[3.0], [4.0]]).numpy().tolist()
      [[11.0]]
    """
    name = kwargs.pop("name", None)
    optimize = kwargs.pop("optimize", "greedy")
    if kwargs:
        raise TypeError(
            f"Invalid keyword arguments for einsum: {', '.join(kwargs)}. Valid arguments: name, "
            "optimize."
        )
    text = _complete(equation, len(inputs))
    first = next((t for t in inputs if isinstance(t, Tensor)), None)
    hint = None if first is None else first.dtype
    tensors = [convert_to_tensor(t, dtype_hint=hint) for t in inputs]
    if len(tensors) <= 2:
        return execute(EINSUM, (tensors,), {"equation": text}, name)
    return _chain(text, tensors, optimize, name)


def _complete(equation: str, count: int) -> str:
    """The equation without blanks, with an output; checked."""
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    if not re.fullmatch(r"(?:[a-zA-Z]|\.\.\.|,)*", inputs) or inputs.count("->"):
        raise ValueError(f"Subscripts have incorrect format: {equation}. Use letters.")
    labels = inputs.split(",")
    if len(labels) != count:
        raise ValueError(f'Got {count} inputs for equation "{equation}", expecting {len(labels)}')
    plain = inputs.replace(",", "").replace("...", "")
    if not arrow:
        once = sorted(label for label in set(plain) if plain.count(label) == 1)
        output = ("..." if "..." in inputs else "") + "".join(once)
    if len(set(output.replace("...", ""))) < len(output.replace("...", "")):
        raise ValueError(
            f"Output subscripts contain a label appearing more than once: {equation}. Name each"
            " once."
        )
    for label in output.replace("...", ""):
        if label not in plain:
            raise ValueError(
                f"Output subscripts contain the label {label} not present in the input subscripts."
            )
    return f"{inputs}->{output}"


def _chain(text: str, tensors: list[Any], optimize: Any, name: str | None) -> Any:
    """Products of two at a time, in the order of NumPy's path finder."""
    inputs, _, output = text.partition("->")
    labels = inputs.split(",")
    for pair in _path(text, tensors, optimize):
        chosen = sorted(pair, reverse=True)
        parts = [(labels.pop(i), tensors.pop(i)) for i in chosen][::-1]
        rest = "".join([output, *labels])
        used = "".join(label for label, _ in parts)
        if labels:
            kept = "".join(a for a in dict.fromkeys(used.replace("...", "")) if a in rest)
            kept = ("..." if "..." in used else "") + kept
        else:
            kept = output
        equation = f"{','.join(label for label, _ in parts)}->{kept}"
        final = name if not labels else None
        tensors.append(execute(EINSUM, ([t for _, t in parts],), {"equation": equation}, final))
        labels.append(kept)
    return tensors[0]


def _path(text: str, tensors: list[Any], optimize: Any) -> list[tuple[int, ...]]:
    """Pairs of positions; unknown sizes count as 1."""
    if any(t.dims is None for t in tensors):
        return [(0, 1)] * (len(tensors) - 1)
    shapes = [np.broadcast_to(np.float32(0), [n or 1 for n in t.dims]) for t in tensors]
    how = "optimal" if optimize in ("optimal", "auto", True) else "greedy"
    try:
        path = np.einsum_path(text, *shapes, optimize=how)[0][1:]
    except ValueError:  # sizes that are unknown or do not fit: the operation itself says so
        path = []
    if any(len(pair) > 2 for pair in path) or not path:
        return [(0, 1)] * (len(tensors) - 1)
    return path


@composed("Tensordot")
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """Sums products over axes of two tensors.

    Args:
      a: tensor of a floating, complex or integer dtype.
      b: tensor of the same dtype.
      axes: a number n (the last n axes of `a` with the first n of `b`), or two lists of axes; an
        integer tensor [2, n] of them, whose value a graph may compute.
      name: the name of the operation in a graph.

    Returns:
      Tensor with the remaining axes of `a`, then those of `b`.

    Raises:
      TypeError: `axes` is text, or a number and a list.
      ValueError: `axes` does not fit.
      InvalidArgumentError: `axes` is an eager tensor of another shape.
    """
    a = convert_to_tensor(a)
    b = b if isinstance(b, Tensor) else convert_to_tensor(b, a.dtype)
    of_a, of_b = _contracted(a, b, axes)
    rows, a_shape = _as_matrix(a, of_a, last=True)
    columns, b_shape = _as_matrix(b, of_b, last=False)
    product = matmul(rows, columns)
    if all(isinstance(s, np.ndarray) for s in (a_shape, b_shape)):
        shape: Any = np.concatenate([a_shape, b_shape])
        if len(a_shape) == len(b_shape) == 1:
            return product
    else:
        shape = execute("ConcatV2", ([a_shape, b_shape], np.int32(0)))
    result = execute("Reshape", (product, shape), None, name)
    known = isinstance(of_a, list) and isinstance(of_b, list)
    if known and state.graph is not None and a.dims is not None and b.dims is not None:
        left = [n for i, n in enumerate(a.dims) if i not in of_a]
        result.set_shape([*left, *(n for i, n in enumerate(b.dims) if i not in of_b)])
    return result


def _contracted(a: Any, b: Any, axes: Any) -> tuple[Any, Any]:
    """The axes of both tensors: lists, counted from the front, or vectors for unknown ranks."""
    if isinstance(axes, (Tensor, np.ndarray)) or axes is None:
        axes = _pair_of_axes(axes)
    if isinstance(axes, Tensor):
        return _counted(axes[0], a), _counted(axes[1], b)
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        known = [len(x.dims) for x in (a, b) if x.dims is not None]
        if axes > min([axes, *known]):
            raise ValueError(
                "`axes` must not be larger than the number of dimensions of the tensors. Received "
                f"{axes}, vs tensor dimensions {' and '.join(map(str, known))}."
            )
        last, first = list(range(-axes, 0)), list(range(axes))
        return _axes_of(last, a), first
    if isinstance(axes, str):
        raise TypeError(f"`axes` must be an integer or two lists of integers. Received {axes!r}.")
    if len(axes) != 2:
        raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
    single = [isinstance(x, (int, np.integer)) for x in axes]
    if any(single) and not all(single):
        raise TypeError(
            "tensordot: expected `axes` of two numbers or of two lists, got a number and a list: "
            f"{axes}. Put the number into a list."
        )
    of_a, of_b = ([x] for x in axes) if all(single) else (list(x) for x in axes)
    if len(of_a) != len(of_b):
        raise ValueError(
            f"Different number of contraction axes `a` and `b`, {len(of_a)} != {len(of_b)}."
        )
    return _axes_of(of_a, a), _axes_of(of_b, b)


def _pair_of_axes(axes: Any) -> Any:
    """Axes given as a tensor [2, n]: as lists where they are known, else as it is."""
    axes = convert_to_tensor(axes, dt.int32)
    if axes.dims is not None and (len(axes.dims) != 2 or axes.dims[0] not in (None, 2)):
        text = (
            f"tensordot: expected a tensor `axes` of shape [2, n], got shape {axes.shape}. Pass a "
            "Python number, or two lists of axes."
        )
        eager = isinstance(axes, EagerTensor)
        raise errors.InvalidArgumentError(None, None, text) if eager else ValueError(text)
    value = constant_value(axes)
    return axes if value is None else value.tolist()


def _counted(axes: Any, x: Any) -> Any:
    """A vector of axes counted from the front."""
    rank = execute("Rank", (x,))
    axes = execute("Reshape", (execute("Cast", (axes,), {"DstT": rank.dtype}), np.array([-1])))
    return execute("FloorMod", (execute("AddV2", (axes, rank)), rank))


def _axes_of(axes: list[Any], x: Any) -> Any:
    if x.dims is not None:
        return [_axis(i, x) for i in axes]
    rank = execute("Rank", (x,))
    return execute("FloorMod", (execute("AddV2", (np.array(axes, np.int32), rank)), rank))


def _axis(axis: Any, x: Any) -> int:
    rank = len(x.dims)
    if not -rank <= axis < rank:
        raise IndexError(f"tensordot: expected an axis of a tensor of rank {rank}, got {axis}.")
    return int(axis) % rank


def _as_matrix(x: Any, axes: Any, last: bool) -> tuple[Any, Any]:
    """The tensor as a matrix with `axes` last or first, and the shape of its other axes."""
    if x.dims is None or isinstance(axes, Tensor):
        every = execute("Range", (np.int32(0), execute("Rank", (x,)), np.int32(1)))
        axes = np.array(axes, np.int32) if isinstance(axes, list) else axes
        free = execute("ListDiff", (every, axes))[0]
        order = execute("ConcatV2", ([free, axes] if last else [axes, free], np.int32(0)))
        return _of_unknown_sizes(x, execute("Transpose", (x, order)), axes, free, last)
    free = [i for i in range(len(x.dims)) if i not in axes]
    order = free + axes if last else axes + free
    if order != list(range(len(order))):
        x_moved = execute("Transpose", (x, np.array(order, np.int32)), None, "transpose")
    else:
        x_moved = x
    if None not in x.dims:
        rest = np.array([x.dims[i] for i in free], np.int32)
        if len(axes) == len(free) == 1:
            return x_moved, rest
        inner = int(np.prod([x.dims[i] for i in axes], dtype=np.int64))
        outer = int(np.prod(rest, dtype=np.int64))
        sizes = [outer, inner] if last else [inner, outer]
        return execute("Reshape", (x_moved, np.array(sizes, np.int32))), rest
    return _of_unknown_sizes(x, x_moved, np.array(axes, np.int32), np.array(free, np.int32), last)


def _of_unknown_sizes(x: Any, x_moved: Any, axes: Any, free: Any, last: bool) -> tuple[Any, Any]:
    shape = execute("Shape", (x,))
    rest = execute("GatherV2", (shape, free, np.int32(0)))
    inner_sizes = execute("GatherV2", (shape, axes, np.int32(0)))
    parts = [execute("Prod", (s, np.array([0], np.int32))) for s in (rest, inner_sizes)]
    sizes = execute("Pack", (parts if last else parts[::-1],), {"axis": 0})
    return execute("Reshape", (x_moved, sizes)), rest
