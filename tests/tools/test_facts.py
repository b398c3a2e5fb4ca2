"""The tools that record and print facts: what they write can be read back."""

import ast
import importlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture(scope="module")
def tools() -> Iterator[Any]:
    """Import a tool by name, as a script beside it would."""
    sys.path.insert(0, str(TOOLS))
    yield importlib.import_module
    sys.path.remove(str(TOOLS))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NoOp", "NoOp() -> ()"),
        ("Const", "Const(; value: tensor, dtype: type) -> output: dtype"),
        (
            "ConcatV2",
            "ConcatV2(values: N*T, axis: Tidx; N: int >= 2, T: type, "
            "Tidx: {int32, int64} = int32) -> output: T",
        ),
        (
            "Assign",
            "Assign(ref ref: T, value: T; T: type, validate_shape: bool = True, "
            "use_locking: bool = True) -> ref output_ref: T",
        ),
        (
            "If",
            "If(cond: Tcond, input: [Tin]; Tcond: type, Tin: list(type) >= 0, "
            "Tout: list(type) >= 0, then_branch: func, else_branch: func, "
            "output_shapes: list(shape) = []) -> output: [Tout]",
        ),
        ("Placeholder", "Placeholder(; dtype: type, shape: shape = ?) -> output: dtype"),
        (
            "BiasAdd",
            "BiasAdd(value: T, bias: T; T: numbertype, data_format: {'NHWC', 'NCHW'} = 'NHWC') "
            "-> output: T",
        ),
    ],
)
def test_signatures_of_known_operations(tools: Any, name: str, expected: str) -> None:
    printer = tools("op_signature")
    assert printer.signature(name, printer.load_op_defs()[name]) == expected


def test_every_signature_fits_its_literal(tools: Any) -> None:
    printer = tools("op_signature")
    for name, op in printer.load_op_defs().items():
        text = printer.signature(name, op)
        lines = list(printer.as_literal(text, indent=8))
        assert ast.literal_eval("(" + "\n".join(lines) + ")") == text
        assert max(map(len, lines)) <= 100


def test_a_name_is_either_a_dtype_or_an_attribute(tools: Any) -> None:
    printer = tools("op_signature")
    ops = printer.load_op_defs()
    dtypes = {arg["type"] for op in ops.values() for arg in op["inputs"] if "type" in arg}
    assert {"float", "int32", "resource", "string", "variant"} <= dtypes
    assert not dtypes & {attr["name"] for op in ops.values() for attr in op["attrs"]}


def test_unknown_operation_is_reported(tools: Any, capsys: Any, monkeypatch: Any) -> None:
    printer = tools("op_signature")
    monkeypatch.setattr(sys, "argv", ["op_signature.py", "matmul", "NoOp"])
    assert printer.main() == 1
    out = capsys.readouterr().out
    assert "matmul: no such operation; is it MatMul?" in out
    assert '"NoOp() -> ()"' in out


def test_rows_are_read_back_as_they_were(tools: Any) -> None:
    promotion = tools("tf_facts_promotion")
    rng = random.Random(0)
    dtypes = ["int8", "int16", "float32", "bool"]
    for _ in range(200):
        row = {d: rng.choice([d, "bool", "!TypeError", "float32"]) for d in dtypes}
        assert promotion.expand(promotion.squeeze(row), dtypes) == row
        shaped = {d: f"{result} [2,3]" for d, result in row.items()}
        assert promotion.expand({"": "x", **promotion.squeeze(shaped)}, dtypes) == shaped


def test_records_are_rendered_as_json_line_by_line(tools: Any, tmp_path: Path) -> None:
    facts = tools("tf_facts")
    record = {"version": "1", "empty": {}, "rows": {"b": [1, 2], "a": {"x": None}}}
    text = facts.render(record)
    assert json.loads(text) == record
    assert ' "a": {"x":null},\n "b": [1,2]\n' in text


class Sample:
    """Members of every kind."""

    level = 3

    def __init__(self, a: int, b: str = "x") -> None: ...
    def __add__(self, other: Any) -> Any: ...
    def run(self, x: Any, /, y: Any, *rest: Any, k: Any = None, **more: Any) -> None: ...
    def only(self, *, k: Any = (1,)) -> None: ...
    def _hidden(self) -> None: ...

    @property
    def size(self) -> int: ...

    @classmethod
    def make(cls, n: int = 0) -> None: ...

    @staticmethod
    def plain(n: float = 1.5) -> None: ...


class Child(Sample):
    def more(self) -> None: ...


def test_signatures_are_written_as_python_writes_them(tools: Any) -> None:
    text = tools("signature_text")
    assert text.object_text(Sample) == "class (a, b='x')"
    assert dict(text.member_texts(Sample)) == {
        "__add__": "(other)",
        "level": "= 3",
        "make": "classmethod (n=0)",
        "only": "(*, k=(1,))",
        "plain": "staticmethod (n=1.5)",
        "run": "(x, /, y, *rest, k=None, **more)",
        "size": "property",
    }
    assert dict(text.member_texts(Child, Sample.__mro__)) == {"more": "()"}
    assert text.object_text(lambda a=print, b=Sample: a) == "(a=<function print>, b=<class Sample>)"
    assert text.object_text((1, "a")) == "= (1, 'a')"


def test_signatures_name_no_address(tools: Any) -> None:
    compare = tools("compare_signatures")
    for section in ("tf", "tf.compat.v1", "tf.raw_ops"):
        facts = compare.load_facts(section)
        assert not [name for name, line in facts.items() if " at 0x" in line]
    assert compare.load_facts("tf")["add"] == "(x, y, name=None)"


class Broken:
    def __getattr__(self, name: str) -> Any:
        raise ImportError(f"no module for {name}")


def test_a_broken_module_is_told_from_a_missing_name(tools: Any) -> None:
    found = tools("compare_signatures").differences(Broken(), {"nn.relu": "(x)"})
    assert found == {"nn.relu": "broken\n    no module for nn"}


def test_differences_are_found(tools: Any) -> None:
    compare = tools("compare_signatures")
    facts = {
        "Sample": "class (a, b='x') < tf.Base",
        "Sample.run": "(x)",
        "Sample.size": "property",
        "Sample.gone": "()",
        "absent": "()",
    }
    found = compare.differences(sys.modules[__name__], facts)
    assert found.keys() == {"Sample.run", "Sample.gone", "absent"}
    assert "theirs (x)\n    ours   (x, /, y, *rest, k=None, **more)" in found["Sample.run"]
