"""The tool that says which names of a list the package lacks."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
TEXT = """# Names

no_name_here, outside of a section.

## core (3), under `tf.`

add, math.nothing,
Tensor.

## graphs (1), under `tf.compat.v1.`

Session
"""


@pytest.fixture
def tool(monkeypatch: Any) -> Any:
    monkeypatch.syspath_prepend(str(TOOLS))
    yield importlib.import_module("coverage_of_names")
    sys.modules.pop("coverage_of_names")


def test_sections(tool: Any) -> None:
    assert tool.sections(TEXT) == {
        "core": ["add", "math.nothing", "Tensor"],
        "graphs": ["compat.v1.Session"],
    }


def test_missing_names_are_listed(tool: Any, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "names.md"
    file.write_text(TEXT)
    assert tool.main([str(file)]) == 1
    assert capsys.readouterr().out == "core: 2 of 3\n  math.nothing\ngraphs: 1 of 1\n"
    assert tool.main([str(file), "graphs"]) == 0
