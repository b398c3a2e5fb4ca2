"""The stubs of the public namespace: current, read by mypy, and strict enough to find mistakes."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "data" / "typed_program.py"


@pytest.fixture
def tool(monkeypatch: Any) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield importlib.import_module("make_stubs")
    sys.modules.pop("make_stubs")


def test_stubs_and_the_list_of_names_are_current() -> None:
    """In a process of its own, where no other test has defined operations."""
    command = [sys.executable, str(ROOT / "tools" / "make_stubs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run python tools/make_stubs.py; these change:\n{done.stdout}"


def test_modules_and_generations(tool: Any) -> None:
    table = {
        "add": ("a", "add"), "math.add": ("a", "add"), "compat.v1.add": ("b", "add_v1"),
        "compat.as_text": ("c", "as_text"), "compat.v1.train.Saver": ("d", "Saver"),
    }  # fmt: skip
    second, first = tool.split(table)
    assert set(second) == {"add", "math.add", "compat.as_text"}
    assert first == {
        "add": ("b", "add_v1"), "math.add": ("a", "add"), "train.Saver": ("d", "Saver")
    }  # fmt: skip
    assert "math.add" not in tool.split(table, {"compat.v1.math.add"})[1]
    text = tool.render("compat.v1", "", tool.tree(first))
    assert text.splitlines()[2:] == [
        "from b import add_v1 as add",
        "from penstock._stubs import compat_v1_math as math",
        "from penstock._stubs import raw_ops as raw_ops",
        "from penstock._stubs import compat_v1_train as train",
    ]


def check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_mypy_reads_a_users_program(tmp_path: Path) -> None:
    good = check(PROGRAM)
    assert good.returncode == 0, good.stdout + good.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import penstock as tf\n"
        "tf.math.no_such_function(1)\n"
        "tf.constant()\n"
        "tf.raw_ops.AddV2(x=1, z=2)\n"
        "shape: int = tf.Tensor.shape\n"
    )
    lines = check(wrong).stdout.splitlines()
    found = {int(line.split(":")[1]) for line in lines if ": error:" in line}
    assert found == {2, 3, 4, 5}, lines
