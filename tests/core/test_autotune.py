"""Choices between kernels: measured once, kept on disk, left alone where told so."""

import json
import threading
from dataclasses import asdict

import ml_dtypes
import numpy as np
import pytest

from penstock.cli.inspect import choices_text
from penstock.core import autotune, determinism, native
from penstock.core.lazy import jax, jnp
from penstock.ops import native_dot


@pytest.fixture(autouse=True)
def empty(monkeypatch, tmp_path):
    """A cache directory of its own, and measuring switched on."""
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PENSTOCK_AUTOTUNE", "1")
    monkeypatch.setattr(autotune, "ROUND_S", 0.0)
    autotune.forget()
    yield
    autotune.forget()


class Racers:
    """Two candidates whose times are given, and what became of them."""

    def __init__(self, monkeypatch, **times):
        self.prepared, self.clock, self.times = [], 0.0, times
        monkeypatch.setattr(autotune, "perf_counter", lambda: self.clock)

    def candidates(self):
        return {name: lambda name=name: self._prepare(name) for name in self.times}

    def _prepare(self, name):
        self.prepared.append(name)

        def call():
            self.clock += self.times[name]

        return call


def test_the_faster_one_wins_and_is_measured_once(monkeypatch):
    racers = Racers(monkeypatch, native=3e-6, XLA=2e-6)
    for _ in range(3):
        assert autotune.chosen("work", racers.candidates(), "native") == "XLA"
    assert racers.prepared == ["native", "XLA"]
    assert autotune.choices() == [autotune.Choice("work", "XLA", {"native": 3.0, "XLA": 2.0})]


def test_the_next_process_reads_what_this_one_measured(monkeypatch):
    first = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    assert autotune.chosen("work", first.candidates(), "XLA") == "native"
    autotune.forget()
    second = Racers(monkeypatch, native=9e-6, XLA=2e-6)
    assert autotune.chosen("work", second.candidates(), "XLA") == "native"
    assert second.prepared == []


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", '{"what": "work"}', '{"what": "work", "winner": "XLA", "times": 3}',
        '{"what": "work", "winner": "other", "times": {"XLA": 1.0}}',
        '{"what": "else", "winner": "XLA", "times": {"XLA": 1.0}}', "\udcff",
    ],
)  # fmt: skip
def test_files_that_cannot_be_understood_are_measured_again(monkeypatch, text):
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    autotune.chosen("work", racers.candidates(), "XLA")
    (path,) = autotune.folder().glob("*.json")
    path.write_bytes(text.encode(errors="surrogateescape"))
    autotune.forget()
    assert autotune.chosen("work", racers.candidates(), "XLA") == "native"
    assert racers.prepared == ["native", "XLA"] * 2
    assert json.loads(path.read_text())["winner"] == "native"


def test_a_winner_that_is_no_candidate_any_more_is_measured_again(monkeypatch):
    old = Racers(monkeypatch, gone=1e-6, XLA=2e-6)
    autotune.chosen("work", old.candidates(), "XLA")
    autotune.forget()
    new = Racers(monkeypatch, native=3e-6, XLA=2e-6)
    assert autotune.chosen("work", new.candidates(), "native") == "XLA"
    assert new.prepared == ["native", "XLA"]


def test_switched_off_the_default_serves(monkeypatch):
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    autotune.chosen("work", racers.candidates(), "XLA")
    monkeypatch.setenv("PENSTOCK_AUTOTUNE", "0")
    assert autotune.chosen("work", racers.candidates(), "XLA") == "XLA"
    assert "not used: PENSTOCK_AUTOTUNE is off" in choices_text()


def test_with_determinism_nothing_is_measured_or_read(monkeypatch):
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    autotune.chosen("other", racers.candidates(), "XLA")
    determinism.require()
    try:
        for what in ("work", "other"):
            assert autotune.chosen(what, racers.candidates(), "XLA") == "XLA"
    finally:
        determinism.require(False)
    assert racers.prepared == ["native", "XLA"]


def test_a_spent_budget_leaves_the_default(monkeypatch):
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    with monkeypatch.context() as spent:
        spent.setattr(autotune, "BUDGET_S", 0.0)
        assert autotune.chosen("work", racers.candidates(), "XLA") == "XLA"
    autotune.forget()  # a process that resumes has a budget, and has to give the same bits
    assert autotune.chosen("work", racers.candidates(), "XLA") == "XLA"
    assert racers.prepared == []
    assert choices_text().splitlines()[1:] == ["work: XLA (not measured)"]


def test_a_candidate_that_cannot_run_leaves_the_default(monkeypatch):
    racers = Racers(monkeypatch, XLA=2e-6)

    def broken():
        raise RuntimeError("no")

    candidates = {**racers.candidates(), "native": broken}
    assert autotune.chosen("work", candidates, "XLA") == "XLA"
    assert autotune.choices() == [autotune.Choice("work", "XLA", {})]


def test_of_processes_that_measure_at_once_the_first_one_decides_for_all(monkeypatch):
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    candidates = racers.candidates()
    others = []

    def interrupted():
        if not others:  # while this process measures, another one does, and is done first
            others.append(autotune.Choice("work", "XLA", {"native": 2.0, "XLA": 1.0}))
            path = autotune._path("work")
            path.write_text(json.dumps(asdict(others[0])))
        return candidates["XLA"]()

    found = autotune.chosen("work", {**candidates, "XLA": interrupted}, "native")
    assert found == "XLA"
    assert autotune.choices() == others
    assert [path.suffix for path in autotune.folder().iterdir()] == [".json"]


def test_a_file_system_without_links_keeps_choices(monkeypatch):
    def link(*_):
        raise PermissionError("no links here")

    monkeypatch.setattr(autotune.os, "link", link)
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    assert autotune.chosen("work", racers.candidates(), "XLA") == "native"
    assert [each.winner for each in autotune.choices()] == ["native"]


def test_calls_that_take_long_are_timed_once(monkeypatch):
    racers = Racers(monkeypatch, native=3.0, XLA=2.0)
    assert autotune.chosen("work", racers.candidates(), "native") == "XLA"
    assert racers.clock == 5.0


def test_while_effects_are_recorded_nothing_is_measured_or_read(monkeypatch):
    monkeypatch.setattr(determinism.switch, "fixed", True)
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    assert autotune.chosen("work", racers.candidates(), "XLA") == "XLA"
    assert racers.prepared == []


def test_threads_that_ask_at_once_measure_once(monkeypatch):
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(autotune.chosen("work", racers.candidates(), "XLA"))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["native"] * 4
    assert racers.prepared == ["native", "XLA"]


def test_the_number_of_files_is_bounded(monkeypatch):
    monkeypatch.setattr(autotune, "MOST_FILES", 10)
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    for i in range(30):
        autotune.chosen(f"work {i}", racers.candidates(), "XLA")
    assert len(list(autotune.folder().iterdir())) <= 10
    assert "work 29" in [each.what for each in autotune.choices()]


def test_what_cannot_be_kept_is_not_measured(monkeypatch, tmp_path):
    (tmp_path / "choices").write_text("in the way")
    racers = Racers(monkeypatch, native=1e-6, XLA=2e-6)
    for _ in range(2):
        assert autotune.chosen("work", racers.candidates(), "XLA") == "XLA"
    assert racers.prepared == []
    assert autotune.choices() == []


def test_inspect_shows_what_was_measured(monkeypatch):
    racers = Racers(monkeypatch, native=12e-6, XLA=2e-6)
    autotune.chosen("product of int8, 8 x 64 with 64 x 64", racers.candidates(), "XLA")
    assert choices_text().splitlines() == [
        f"1 in {autotune.folder()}",
        "product of int8, 8 x 64 with 64 x 64: XLA (native 12 us, XLA 2 us)",
    ]


@pytest.mark.skipif(not native.dot_available(), reason="no products of bytes here")
def test_shapes_are_measured_outside_of_the_trace_that_asks(monkeypatch):
    asked = []

    def traced(x):
        asked.append(native_dot.dot_wins((32, 128), (128, 128), np.int8))
        return jnp.sum(x)

    printed = str(jax.make_jaxpr(traced)(np.ones(3, np.float32)))
    assert "dot_general" not in printed
    (choice,) = autotune.choices()
    assert choice.what == "product of int8, 32 x 128 with 128 x 128"
    assert set(choice.times) == {"native", "XLA"}
    assert asked == [choice.winner == "native"]


@pytest.mark.skipif(not native.dot_available(), reason="no products of bytes here")
def test_shapes_where_one_is_sure_to_win_are_not_measured():
    assert native_dot.dot_wins((512, 256), (256, 256), np.int8)
    assert not native_dot.dot_wins((32, 8), (8, 8), np.int8)
    assert native_dot.dot_wins((16, 1 << 14), (1 << 14, 1 << 13), ml_dtypes.bfloat16)  # too large
    assert autotune.choices() == []
