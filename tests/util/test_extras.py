"""Optional packages: the table, and the error when one is missing."""

import json
import pathlib
import re
import sys
import tomllib

import pytest

from penstock.util import extras

ROOT = pathlib.Path(__file__).resolve().parents[2]
DISTRIBUTION = {"absl": "absl-py", "sklearn": "scikit-learn"}


def test_the_table_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = {
        (extra, re.match(r"[\w-]+", text)[0])
        for extra, texts in project["optional-dependencies"].items()
        if extra != "dev"
        for text in texts
    }
    table = {(extra, DISTRIBUTION.get(name, name)) for name, extra in extras.PROVIDED_BY.items()}
    assert table == stated


def test_a_package_that_is_there_is_imported(monkeypatch):
    monkeypatch.setitem(extras.PROVIDED_BY, "json", "demo")
    assert extras.require("json", "tf.x") is json


def test_a_missing_package_names_purpose_and_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "onnx")
    with pytest.raises(ModuleNotFoundError) as caught:
        extras.require("onnx", "tf.load_onnx")
    assert str(caught.value) == (
        "tf.load_onnx: expected the package 'onnx', which is not installed. "
        "Install it: pip install 'penstock[models]'"
    )
    assert caught.value.name == "onnx"


def test_what_an_optional_package_misses_itself_is_its_own_error(monkeypatch, tmp_path):
    (tmp_path / "ray.py").write_text("import quite_missing")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'quite_missing'"):
        extras.require("ray", "tf.x")


def test_other_packages_are_refused():
    assert extras.install_command("numpy") is None
    with pytest.raises(KeyError, match="numpy"):
        extras.require("numpy", "tf.x")
