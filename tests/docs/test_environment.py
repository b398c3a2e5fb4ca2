"""docs/environment.md says what the table of variables says."""

import importlib.util
import pathlib

from penstock.config import env

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tool():
    spec = importlib.util.spec_from_file_location(
        "make_env_docs", ROOT / "tools" / "make_env_docs.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(capsys):
    assert tool().main(["--check"]) == 0, capsys.readouterr().out


def test_every_variable_is_on_the_page():
    page = (ROOT / "docs" / "environment.md").read_text()
    assert "PENSTOCK_CACHE_DIR" in env.VARIABLES
    assert [name for name in env.VARIABLES if f"`{name}`" not in page] == []


def test_a_stale_page_is_noticed(tmp_path, monkeypatch, capsys):
    module = tool()
    stale = tmp_path / "environment.md"
    stale.write_text(
        (ROOT / "docs" / "environment.md").read_text().replace("PENSTOCK_THREADS", "X")
    )
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PAGE", stale)
    assert module.main(["--check"]) == 1
    assert "-| `X`" in capsys.readouterr().out
    module.main([])
    assert module.main(["--check"]) == 0
