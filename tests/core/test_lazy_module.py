"""Modules that are imported when they are first needed."""

import gc
import subprocess
import sys

import pytest

from penstock.core import lazy_module

NOTES = "import gc\nENABLED = gc.isenabled()\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module that can be imported once; gives the stand-in for it."""

    def write(source):
        (tmp_path / "penstock_probe.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "penstock_probe", raising=False)
        return lazy_module.LazyModule("penstock_probe")

    yield write
    sys.modules.pop("penstock_probe", None)


def test_an_attribute_imports_the_module(module):
    stand_in = module("X = [1]\n")
    assert "penstock_probe" not in sys.modules
    assert stand_in.X is sys.modules["penstock_probe"].X


def test_no_garbage_is_looked_for_while_a_module_is_imported(module):
    stand_in = module(NOTES)
    assert gc.isenabled()
    assert stand_in.ENABLED is False
    assert gc.isenabled()


def test_a_program_that_switched_the_collector_off_keeps_it_off(module):
    stand_in = module(NOTES)
    gc.disable()
    try:
        assert stand_in.ENABLED is False
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_is_on_again_after_an_import_that_fails(module):
    stand_in = module("raise ValueError('broken')\n")
    with pytest.raises(ValueError, match="broken"):
        stand_in.X  # noqa: B018
    assert gc.isenabled()


JAX = """
import gc, sys
import penstock as tf
from penstock.core.lazy import jax

frozen = sys.argv[1] == "frozen"
if frozen:
    gc.freeze()
before = gc.get_stats()[2]["collections"]
jax.jit
assert gc.isenabled() and "jax" in sys.modules
assert (gc.get_freeze_count() > 0) == frozen
if not frozen:  # what was imported is among the old objects, which were not looked through
    assert gc.get_stats()[2]["collections"] == before
    assert max(len(gc.get_objects(0)), len(gc.get_objects(1))) < 5000 < len(gc.get_objects(2))
"""


@pytest.mark.parametrize("frozen", ["frozen", "not frozen"])
def test_objects_of_jax_are_old_ones_at_once_unless_the_program_froze_its_own(frozen):
    subprocess.run([sys.executable, "-c", JAX, frozen], check=True)
