"""Print operations' signatures as one line of text, from the recorded definitions.

    python tools/op_signature.py MatMul Conv2D          # Python string literals, ready to paste
    python tools/op_signature.py --plain MatMul         # the bare text
    python tools/op_signature.py --like 'Stateless.*'   # every operation that matches

The facts are ``tests/data/tf_op_defs.json`` (see ``tools/tf_facts.py``). Flags are printed after
the signature as a comment, for they are not part of the text.

Grammar (white space between tokens means nothing; the printer writes one blank)::

    signature  = NAME "(" [args] [";" attrs] ")" "->" (args | "()")
    args       = arg {"," arg}
    arg        = ["ref"] NAME ":" argtype      -- "ref": a mutable reference, in or out
    argtype    = type                          -- one tensor
               | NAME "*" type                 -- as many tensors as the int attribute NAME says
               | "[" NAME "]"                  -- one tensor for each dtype in list(type) NAME
    type       = NAME                          -- a type attribute of this signature, else a dtype
    attrs      = attr {"," attr}
    attr       = NAME ":" kind [">=" INT] ["=" value]
    kind       = base | "list(" base ")"
    base       = "int" | "float" | "bool" | "string" | "type" | "shape" | "tensor" | "func"
               | set                           -- the values that the attribute may take
    set        = "{" DTYPE {"," DTYPE} "}"     -- kind is type
               | "{" TEXT {"," TEXT} "}"       -- kind is string
               | GROUP                         -- kind is type: a set with a name, see GROUPS
    value      = INT | FLOAT | "inf" | "-inf" | "nan" | "True" | "False"
               | TEXT                          -- for string and func: a Python string literal
               | BYTES                         -- for tensor: a serialised TensorProto; for string:
                                               -- bytes that are not UTF-8. A Python bytes literal
               | DTYPE                         -- for type
               | "?"                           -- for shape: unknown rank
               | "[" [dim {"," dim}] "]"       -- for shape: dim is INT, or "?" when unknown
               | "[" [value {"," value}] "]"   -- for list(...)

``>=`` bounds the value of an ``int`` and the length of a list. DTYPE is a lower-case name of the
``DataType`` enum without its prefix (``half``, ``float``, ``double``, ``int32``, ``string``,
``resource``, ``variant``, ...). No attribute is named as a dtype, so ``type`` is unambiguous; names
before a colon may be words of the grammar (an attribute may be called ``type`` or ``shape``). A
set has no order. An empty attribute list drops its semicolon; attributes keep their registered
order, for positional arguments of ``raw_ops`` follow it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"

_REAL = [
    "float",
    "double",
    "int32",
    "uint8",
    "int16",
    "int8",
    "int64",
    "bfloat16",
    "uint16",
    "half",
    "uint32",
    "uint64",
]
_QUANTIZED = ["qint8", "quint8", "qint32", "qint16", "quint16"]

# group name -> the set it stands for
GROUPS: dict[str, frozenset[str]] = {
    "realnumbertype": frozenset(_REAL),
    "quantizedtype": frozenset(_QUANTIZED),
    "numbertype": frozenset(_REAL) | {"complex64", "complex128"} | frozenset(_QUANTIZED),
}
_GROUP_OF = {members: name for name, members in GROUPS.items()}

_FLAG_WORDS = {
    "is_stateful": "stateful",
    "is_commutative": "commutative",
    "is_aggregate": "aggregate",
    "allows_uninitialized_input": "allows_uninitialized_input",
    "is_distributed_communication": "distributed_communication",
}


def load_op_defs() -> dict[str, Any]:
    """Return the recorded operation definitions by name."""
    packed = DATA / "tf_op_defs.json.gz"
    if packed.exists():
        text = gzip.decompress(packed.read_bytes()).decode()
    else:
        text = (DATA / "tf_op_defs.json").read_text()
    ops: dict[str, Any] = json.loads(text)["ops"]
    return ops


def signature(name: str, op: dict[str, Any]) -> str:
    """Return the signature of one recorded operation in the grammar above."""
    inside = ", ".join(_arg(arg) for arg in op["inputs"])
    if op["attrs"]:
        inside += "; " + ", ".join(_attr(attr) for attr in op["attrs"])
    outputs = ", ".join(_arg(arg) for arg in op["outputs"]) or "()"
    return f"{name}({inside}) -> {outputs}"


def _arg(arg: dict[str, Any]) -> str:
    if "type_list_attr" in arg:
        kind = f"[{arg['type_list_attr']}]"
    else:
        kind = arg.get("type_attr") or arg["type"]
        if "number_attr" in arg:
            kind = f"{arg['number_attr']}*{kind}"
    return f"{'ref ' if arg.get('is_ref') else ''}{arg['name']}: {kind}"


def _attr(attr: dict[str, Any]) -> str:
    kind = attr["type"]
    listed = re.fullmatch(r"list\((\w+)\)", kind)
    base = listed[1] if listed else kind
    shown = _allowed(base, attr["allowed"]) if "allowed" in attr else base
    text = f"{attr['name']}: " + (f"list({shown})" if listed else shown)
    if "minimum" in attr:
        text += f" >= {attr['minimum']}"
    if "default" in attr:
        default = attr["default"]
        if listed:
            text += " = [" + ", ".join(_value(base, item) for item in default) + "]"
        else:
            text += " = " + _value(base, default)
    return text


def _allowed(base: str, values: list[str]) -> str:
    if base == "type" and frozenset(values) in _GROUP_OF:
        return _GROUP_OF[frozenset(values)]
    return "{" + ", ".join(_value(base, value) for value in values) + "}"


def _value(base: str, value: Any) -> str:
    if base == "type":
        return str(value)
    if base == "shape":
        if value is None:
            return "?"
        return "[" + ", ".join("?" if dim < 0 else str(dim) for dim in value) + "]"
    if base == "tensor":
        return repr(bytes.fromhex(value))
    if isinstance(value, dict):  # bytes that are not text
        return repr(bytes.fromhex(value["hex"]))
    if base == "float":
        return value if isinstance(value, str) else repr(float(value))
    return repr(value)


def flags(op: dict[str, Any]) -> str:
    """Return the operation's flags as words, or an empty string."""
    words = [word for key, word in _FLAG_WORDS.items() if op.get(key)]
    if "deprecated_since" in op:
        words.append(f"deprecated since GraphDef version {op['deprecated_since']}")
    return ", ".join(words)


def as_literal(text: str, indent: int, width: int = 100) -> Iterator[str]:
    """Yield lines of adjacent Python string literals that together are the text."""
    pad = " " * indent
    rest = text
    while rest:
        piece = rest
        while len(pad + _quoted(piece)) > width:
            cut = piece.rstrip().rfind(" ")
            if cut < 0:
                break
            piece = piece[: cut + 1]
            if len(pad + _quoted(piece)) > width:
                piece = piece.rstrip()
        yield pad + _quoted(piece)
        rest = rest[len(piece) :]


def _quoted(text: str) -> str:
    if '"' in text or "\\" in text:
        return repr(text)
    return f'"{text}"'


def main() -> int:
    """Print the signatures named on the command line; 1 when a name is unknown."""
    parser = argparse.ArgumentParser(description="Print operations' signatures.")
    parser.add_argument("name", nargs="*", help="operation names, as MatMul")
    parser.add_argument("--like", metavar="REGEX", help="also every name that this matches whole")
    parser.add_argument("--plain", action="store_true", help="bare text instead of Python literals")
    parser.add_argument("--indent", type=int, default=4, help="blanks before each literal")
    chosen = parser.parse_args()
    ops = load_op_defs()
    names = list(chosen.name)
    if chosen.like:
        names += [name for name in sorted(ops) if re.fullmatch(chosen.like, name)]
    for name in names:
        if name not in ops:
            near = ", ".join(sorted(known for known in ops if known.lower() == name.lower()))
            print(f"{name}: no such operation" + (f"; is it {near}?" if near else ""))
            continue
        text = signature(name, ops[name])
        print(text if chosen.plain else "\n".join(as_literal(text, chosen.indent)))
        if flags(ops[name]):
            print(("" if chosen.plain else " " * chosen.indent) + f"# {flags(ops[name])}")
    return int(any(name not in ops for name in names))


if __name__ == "__main__":
    sys.exit(main())
