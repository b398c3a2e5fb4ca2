"""Printing: `tf.print` and the older `Print`.

`tf.print` formats its arguments into one string when it runs and writes that string to a stream:
standard output or error of Python (so that notebooks and captured tests see it), the log, or a
file. It is an operation, so it prints at every step of a graph, not when the graph is built.
"""

import pprint
import sys
import threading
from typing import Any

import numpy as np

from penstock.config.logging import get_logger
from penstock.core import dispatch, shapes
from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.tensor import Tensor
from penstock.ops.text_format import string_format, summarize_flat
from penstock.types import dtypes as dt
from penstock.util import nest

Array = Any
LOG_LEVELS = {"log(info)": 20, "log(warning)": 30, "log(error)": 40}
STREAMS = ("stdout", "stderr", *LOG_LEVELS)
_file_lock = threading.Lock()  # guards: writes to files named by file://

PRINT_V2 = define_op(
    "PrintV2(input: string; output_stream: string = 'stderr', end: string = '\\n') -> ",
    shape=shapes.no_output,
    stateful=True,
    doc="Writes a string to a stream.",
).not_differentiable("it has no outputs")


@host_kernel(PRINT_V2, limit=1 << 62, reentrant=True)
def _print_v2(text: Array, *, output_stream: Any, end: Any) -> tuple[()]:
    write(_bytes(text[()]) + _bytes(end), _bytes(output_stream).decode())
    return ()


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")


def write(raw: bytes, stream: str) -> None:
    """Writes text to standard output or error, the log, or the end of a file, as it is there."""
    if stream.startswith("file://"):
        with _file_lock, open(stream.removeprefix("file://"), "ab") as file:
            file.write(raw)
        return
    text = raw.decode("utf-8", "backslashreplace")
    if stream in LOG_LEVELS:
        get_logger().log(LOG_LEVELS[stream], text.rstrip("\n"))
    else:
        target = sys.stdout if stream == "stdout" else sys.stderr
        target.write(text)
        target.flush()


def print_v2(*inputs: Any, **kwargs: Any) -> Any:
    r"""Prints tensors, structures of tensors and Python values when it runs.

    Args:
      *inputs: what to print, in order.
      **kwargs: `output_stream`: `sys.stderr` (default), `sys.stdout`, a logging level's function or
        "file://path"; `summarize`: elements shown at each end of each axis (3; -1 shows all); `sep`
        (" "); `end` ("\n"); `name`.

    Returns:
      None; in a graph the Operation that prints.

    Raises:
      ValueError: an unknown keyword or stream.

    Example:
      >>> print_v2("x =", [1, 2], output_stream=sys.stdout)
      x = [1, 2]
    """
    options: dict[str, Any] = {
        "output_stream": sys.stderr,
        "summarize": 3,
        "sep": " ",
        "end": "\n",
        "name": None,
    }
    unknown = sorted(set(kwargs) - set(options) - {"format"})
    if unknown:
        raise ValueError(
            f"Unrecognized keyword arguments for tf.print: {unknown}. Expected {sorted(options)}."
        )
    options.update({k: v for k, v in kwargs.items() if k != "format"})
    count = 3 if options["summarize"] is None else int(options["summarize"])
    attrs = {"output_stream": stream_name(options["output_stream"]), "end": options["end"]}
    if len(inputs) == 1 and _is_text(inputs[0]):
        return execute(PRINT_V2, (inputs[0],), attrs, options["name"])
    templates, tensors = [], []
    for value in inputs:
        template, found = _template(value)
        templates.append(template)
        tensors += found
    text = _format(str(options["sep"]).join(templates), tensors, _MARK, count)
    return execute(PRINT_V2, (text,), attrs, options["name"])


_format = dispatch.dispatching(string_format, "penstock.strings", "format")  # of ragged tensors too


def _is_text(value: Any) -> bool:
    """Whether a value is one text, which is printed as it is: without quotes."""
    return isinstance(value, Tensor) and value.dtype is dt.string and value.dims == ()


_MARK = "{{penstock.tensor}}"  # stands for a tensor in a template


def _template(value: Any) -> tuple[str, list[Any]]:
    """A value as text with marks for its tensors, and the tensors."""
    if isinstance(value, str):
        return value, []
    if isinstance(value, (Tensor, np.ndarray)) or hasattr(value, "handle"):
        return (_MARK, [value]) if not isinstance(value, np.ndarray) else (repr(value), [])
    tensors: list[Any] = []

    def leaf(item: Any) -> Any:
        if isinstance(item, SparseTensor):
            tensors.extend([item.indices, item.values, item.dense_shape])
            return f"SparseTensor(indices={_MARK}, values={_MARK}, shape={_MARK})"
        if hasattr(item, "nested_row_splits"):  # ragged
            tensors.append(item)
            return _Mark()
        if isinstance(item, Tensor) or hasattr(item, "handle") or hasattr(item, "dense_shape"):
            tensors.append(convert_to_tensor(item))
            return _Mark()
        return item

    shown = nest.map_structure(leaf, value)
    return pprint.pformat(shown, width=1 << 20), tensors


class _Mark:
    """What `pprint` shows in place of a tensor."""

    def __repr__(self) -> str:
        return _MARK


def stream_name(stream: Any) -> str:
    """The name of a stream, as the operation takes it.

    Raises:
      ValueError: it is none of the streams that can be printed to.
    """
    if stream is sys.stdout or stream is sys.__stdout__:
        return "stdout"
    if stream is sys.stderr or stream is sys.__stderr__:
        return "stderr"
    if isinstance(stream, str) and (stream in STREAMS or stream.startswith("file://")):
        return stream
    level = getattr(stream, "__name__", None)
    for name in ("info", "warning", "error"):
        if level == name or (name, level) == ("warning", "warn"):
            return f"log({name})"
    raise ValueError(
        f"Unsupported output stream, logging level, or file: {stream!r}. Expected sys.stdout, "
        "sys.stderr, tf.logging.info, "
        "tf.logging.warning, tf.logging.error, absl.logging's, or 'file://path'."
    )


# ---- the old Print

PRINT = define_op(
    "Print(input: T, data: [U]; T: type, U: list(type) >= 0, message: string = '', first_n: int = "
    "-1, summarize: int = 3) -> output: T",
    shape=shapes.same,
    stateful=True,
    doc="The input; prints a message and tensors on standard error, the first few times.",
)
_printed: dict[str, int] = {}


@host_kernel(PRINT, limit=1 << 62, reentrant=True)
def _print(
    ctx: Any, x: Array, data: list[Array], *, message: Any, first_n: int, summarize: int
) -> Array:
    count = _printed.get(ctx.op_name, 0)
    if first_n < 0 or count < first_n:
        _printed[ctx.op_name] = count + 1
        shown = "".join(f"[{summarize_flat(a, summarize)}]" for a in data)
        write(_bytes(message) + _bytes(f"{shown}\n"), "stderr")
    return x


@PRINT.gradient
def _print_gradient(op: Any, grad: Any) -> list[Any]:
    return [grad] + [None] * (len(op.inputs) - 1)


def print_v1(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """The input; prints a message and tensors on standard error when it runs.

    Args:
      input_: the tensor that is passed on.
      data: a list of tensors to print.
      message: text before them.
      first_n: print only the first n times; always by default.
      summarize: elements printed of each tensor; 3 by default.
      name: the name in a graph.

    Returns:
      A tensor like `input_`.
    """
    attrs = {
        "message": message or "",
        "first_n": -1 if first_n is None else first_n,
        "summarize": 3 if summarize is None else summarize,
    }
    return execute(PRINT, (input_, [convert_to_tensor(v) for v in data]), attrs, name)
