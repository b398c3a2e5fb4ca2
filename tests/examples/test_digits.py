"""The digits example: what it learns, what it writes, and what it does when something is wrong."""

import csv
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from tests.summary.events import events, scalars

from penstock import proto

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "digits.py"
VARIANTS = ("eager", "function", "session")
FILES = {"graph.pb", "loss.png", "predictions.csv"}


@pytest.fixture(scope="module")
def digits():
    spec = importlib.util.spec_from_file_location("digits_example", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command(*arguments):
    return [sys.executable, "-m", "penstock.cli", "run", str(SCRIPT), *map(str, arguments)]


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def run(*arguments, cwd=ROOT):
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=110,
    )


def accuracy_of(result):
    assert result.returncode == 0, result.stderr
    last = result.stdout.splitlines()[-1]
    return float(re.fullmatch(r"test accuracy: ([01]\.\d{3})", last)[1])


def first_losses(digits, variant, steps):
    training, _ = digits.load_data(shuffle_labels=False, seed=0)
    feed = digits.batches(training, size=32, epochs=1, seed=0)
    with digits.VARIANTS[variant](0) as trainer:
        return [trainer.step(*next(feed))[0] for _ in range(steps)]


def test_the_variants_give_the_same_losses(digits):
    losses = {variant: first_losses(digits, variant, 12) for variant in VARIANTS}
    assert losses["eager"][-1] < 0.8 * losses["eager"][0]
    for variant in VARIANTS:
        np.testing.assert_allclose(losses[variant], losses["eager"], rtol=1e-4, err_msg=variant)


def test_the_held_out_quarter_is_stratified_and_apart(digits):
    training, held_out = digits.load_data(shuffle_labels=False, seed=0)
    assert len(held_out.labels) == round(0.25 * 1797 + 0.5)
    assert not set(training.index) & set(held_out.index)
    share = np.bincount(held_out.labels) / np.bincount(load_digits().target)
    np.testing.assert_allclose(share, 0.25, atol=0.01)
    again = digits.load_data(shuffle_labels=True, seed=5)
    np.testing.assert_array_equal(again[1].index, held_out.index)
    np.testing.assert_array_equal(again[1].labels, held_out.labels)


def test_shuffled_labels_are_those_of_training_in_another_order(digits):
    plain, _ = digits.load_data(shuffle_labels=False, seed=0)
    shuffled, _ = digits.load_data(shuffle_labels=True, seed=0)
    np.testing.assert_array_equal(np.bincount(shuffled.labels), np.bincount(plain.labels))
    assert (shuffled.labels == plain.labels).mean() < 0.2


def test_an_epoch_shows_each_digit_once(digits):
    training, _ = digits.load_data(shuffle_labels=False, seed=0)
    numbered = training._replace(labels=np.arange(len(training.labels)))
    shown = [label for _, labels in digits.batches(numbered, 3, 1, 0) for label in labels]
    assert sorted(shown) == list(range(len(training.labels)))


@pytest.mark.slow
def test_it_learns(tmp_path):
    result = run("--out", tmp_path)
    assert accuracy_of(result) >= 0.97


@pytest.mark.slow
def test_labels_without_meaning_leave_guessing(tmp_path):
    result = run("--shuffle-labels", "--epochs", 8, "--out", tmp_path)
    assert 0.05 <= accuracy_of(result) <= 0.16


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_it_writes(tmp_path, variant):
    out = tmp_path / "deep" / "folder"
    result = run("--variant", variant, "--steps", 20, "--out", out)
    accuracy = accuracy_of(result)
    assert str(out) in result.stdout
    names = {path.name for path in out.iterdir()}
    assert {name for name in names if not name.startswith("events.")} == FILES
    check_predictions(out / "predictions.csv", accuracy)
    check_log(out, steps=20)
    with Image.open(out / "loss.png") as picture:
        assert min(picture.size) > 300
    nodes = proto.graph_pb2.GraphDef.FromString((out / "graph.pb").read_bytes()).node
    assert {"Conv2D", "MaxPool", "MatMul", "ResourceApplyAdam"} <= {node.op for node in nodes}


def check_predictions(path, accuracy):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    target = load_digits().target
    assert len({row["index"] for row in rows}) == len(rows) == 450
    assert all(int(row["label"]) == target[int(row["index"])] for row in rows)
    assert all(0.1 <= float(row["probability"]) <= 1.0 for row in rows)
    right = np.mean([row["label"] == row["prediction"] for row in rows])
    assert f"{right:.3f}" == f"{accuracy:.3f}"


def check_log(out, steps):
    graph, *rest = events(out)
    assert graph.WhichOneof("what") == "graph_def"
    assert len(rest) == 2 * steps
    values = scalars(out)
    losses = [value for _, tag, value in values if tag == "loss"]
    assert [step for step, tag, _ in values if tag == "loss"] == list(range(1, steps + 1))
    assert losses[-1] < losses[0]
    assert all(0.0 <= value <= 1.0 for _, tag, value in values if tag == "accuracy")


def test_two_runs_at_once_have_a_folder_each(tmp_path):
    runs = [
        subprocess.Popen(
            command("--steps", 2), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=110)[0].decode() for process in runs]
    assert [process.returncode for process in runs] == [0, 0]
    folders = {re.search(r"to (runs/digits/\d+)$", text, re.MULTILINE)[1] for text in outputs}
    assert folders == {"runs/digits/1", "runs/digits/2"}
    for folder in folders:
        assert {path.name for path in (tmp_path / folder).iterdir()} >= FILES
        assert len(events(tmp_path / folder)) == 5


def test_what_was_there_is_replaced(tmp_path):
    (tmp_path / "predictions.csv").write_text("old")
    accuracy_of(run("--steps", 1, "--out", tmp_path))
    assert (tmp_path / "predictions.csv").read_text().startswith("index,label,prediction")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variant", "other"], "invalid choice: 'other'"),
        (
            ["--epochs", "0"],
            "argument --epochs: expected a whole number from 1 to 2147483647, got '0'",
        ),
        (
            ["--batch", "x"],
            "argument --batch: expected a whole number from 1 to 2147483647, got 'x'",
        ),
        (
            ["--steps", "1.5"],
            "argument --steps: expected a whole number from 1 to 2147483647, got '1.5'",
        ),
        (
            ["--seed", "-1"],
            "argument --seed: expected a whole number from 0 to 2147483647, got '-1'",
        ),
        (["--seed", str(2**31)], f"expected a whole number from 0 to 2147483647, got '{2**31}'"),
        (["--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_wrong_arguments(digits, arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["digits.py", *arguments])
    with pytest.raises(SystemExit) as stopped:
        digits.main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_a_batch_larger_than_the_data(digits, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["digits.py", "--batch", "1348"])
    with pytest.raises(SystemExit, match=r"--batch of at most 1347.*got 1348"):
        digits.main()


def test_a_folder_that_cannot_be_made_is_named(digits, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sys, "argv", ["digits.py", "--out", str(tmp_path / "file")])
    with pytest.raises(SystemExit, match=r"expected --out to be a folder.*file"):
        digits.main()


def test_ctrl_c_leaves_valid_files(tmp_path):
    process = subprocess.Popen(
        command("--epochs", 100000, "--out", tmp_path),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for_training(tmp_path)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "Interrupted" in error
    names = {path.name for path in tmp_path.iterdir()}
    assert {name for name in names if not name.startswith("events.")} == FILES - {"predictions.csv"}
    with Image.open(tmp_path / "loss.png") as picture:
        picture.load()
    assert len(events(tmp_path)) > 20


def wait_for_training(folder, seconds=60):
    """Until the log has grown over its graph and a few steps."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (folder / "graph.pb").exists() and any(
            path.stat().st_size > 2 * (folder / "graph.pb").stat().st_size
            for path in folder.glob("events.*")
        ):
            return
        time.sleep(0.1)
    raise AssertionError(f"no training after {seconds} s")


def test_a_missing_package_is_named(tmp_path):
    for name in ("sklearn", "matplotlib"):
        hidden = tmp_path / name / name
        hidden.mkdir(parents=True)
        (hidden / "__init__.py").write_text(
            f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')"
        )
        result = subprocess.run(
            command(),
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{hidden.parent}"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.returncode == 1
        assert "pip install 'penstock[demo]'" in result.stderr
