"""No import that the design's table does not allow; and the rules themselves, on small sources."""

import pathlib

import pytest
from tests.architecture import layers
from tests.architecture.layers import ROWS, Module

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"
MODULES = layers.read_modules(SOURCE)
UNITS = {module.unit for module in MODULES}


def check(rule, *arguments):
    found = [line for module in MODULES for line in rule(module, *arguments)]
    assert not found, "\n".join(found)


def test_the_walk_sees_the_package():
    assert {"cli", "core", "errors", "types"} <= UNITS


def test_imports_go_downward_only():
    check(layers.layer_violations, UNITS)


def test_heavy_packages_are_imported_lazily():
    check(layers.lazy_violations)


def test_functions_import_only_optional_packages():
    check(layers.function_import_violations)


def test_no_star_imports():
    check(layers.star_import_violations)


def test_no_private_jax():
    check(layers.private_jax_violations)


def module(source, name="penstock.graph.graph", is_package=False):
    return Module(name, is_package, source)


@pytest.mark.parametrize(
    ("name", "source", "allowed"),
    [
        ("penstock.graph.graph", "from penstock.core import tensor", True),
        ("penstock.graph.graph", "import penstock.core.tensor", True),
        ("penstock.graph.graph", "from penstock import errors", True),
        ("penstock.graph.graph", "from penstock.graph import names", True),
        ("penstock.graph.graph", "from . import names", True),
        ("penstock.graph.graph", "from ..core import tensor", True),
        ("penstock.graph.graph", "import numpy", True),
        ("penstock.core.tensor", "from penstock.graph import graph", False),
        ("penstock.core.tensor", "from ..graph import graph", False),
        ("penstock.core.tensor", "def f():\n  import penstock.graph", False),
        ("penstock.core.tensor", "if TYPE_CHECKING:\n  from penstock.graph import g", False),
        ("penstock.ops.math", "from penstock.runtime import devices", False),
        ("penstock.runtime.devices", "import penstock.ops.math", False),
        ("penstock.types.dtypes", "import penstock", False),
        ("penstock.types.dtypes", "from penstock import float32", False),
        ("penstock.cli.run", "from penstock.version import __version__", True),
        ("penstock.cli.run", "import penstock", False),
        ("penstock.cli.run", "from penstock.compat import v1", False),
        ("penstock.compat.v1", "from penstock import namespace", True),
        ("penstock.train.adam", "from penstock import namespace", False),
        ("penstock.surprise", "import os", False),
    ],
)
def test_layer_rule(name, source, allowed):
    found = layers.layer_violations(module(source, name), set(ROWS))
    assert (not found) == allowed, found


def test_the_public_layer_may_import_all():
    public = Module("penstock", True, "from penstock import compat\nfrom penstock.ops import math")
    assert not layers.layer_violations(public, set(ROWS))


def test_a_relative_import_in_a_package_starts_at_the_package():
    inside = Module("penstock.core", True, "from .tensor import Tensor")
    assert [each.target for each in layers.imports(inside)] == ["penstock.core.tensor.Tensor"]


@pytest.mark.parametrize("name", ["jax", "jax.numpy", "jaxlib", "grpc", "google.protobuf", "malt"])
def test_lazy_rule(name):
    assert layers.lazy_violations(module(f"import {name}"))
    assert layers.lazy_violations(module(f"def f():\n  import {name}"))
    assert not layers.lazy_violations(module(f"if TYPE_CHECKING:\n  import {name}"))
    assert not layers.lazy_violations(module(f"import {name.replace('.', '')}x"))


def test_imports_by_name_belong_to_lazy_modules():
    source = "import importlib\nm = importlib.import_module('jax')"
    assert layers.lazy_violations(module(source))
    assert not layers.lazy_violations(module(source, "penstock.core.lazy_module"))
    assert not layers.lazy_violations(module(source, "penstock.compat.v1"))


def test_function_import_rule():
    assert layers.function_import_violations(module("def f():\n  import json"))
    assert layers.function_import_violations(
        module("class A:\n  def f(self):\n    from a import b")
    )
    assert not layers.function_import_violations(module("class A:\n  import json"))
    assert not layers.function_import_violations(
        module("def f():\n  from matplotlib import pyplot")
    )


def test_star_rule():
    assert layers.star_import_violations(module("from penstock.core import *"))


@pytest.mark.parametrize(
    "source",
    ["import jax._src.core", "from jax import _src", "x = jax._src.core", "'jax._src.lib'"],
)
def test_private_jax_rule(source):
    assert layers.private_jax_violations(module(source))


def test_private_jax_may_be_spoken_of():
    assert not layers.private_jax_violations(module('"""Uses no jax._src."""'))
