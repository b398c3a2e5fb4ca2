"""GraphDefs of TensorFlow 1 with conditionals and loops give here what they gave there."""

import pathlib

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
GRAPHS = pathlib.Path(__file__).parents[1] / "data" / "flow_graphs"
NAMES = sorted(path.stem for path in GRAPHS.glob("*.pb"))


def recorded_runs(name):
    """(feeds, [(fetch, value or None for an operation that was run)]) in order."""
    runs = {}
    with np.load(GRAPHS / f"{name}.npz") as data:
        for key in data.files:
            number, kind, what = key.split("/", 2)
            feeds, fetches = runs.setdefault(int(number), ({}, []))
            if kind == "feed":
                feeds[what] = data[key]
            else:
                fetches.append((what, data[key] if kind == "fetch" else None))
    return [runs[i] for i in sorted(runs)]


def imported(name):
    graph_def = v1.GraphDef()
    graph_def.ParseFromString((GRAPHS / f"{name}.pb").read_bytes())
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(graph_def, name="")
    return graph


def check_runs(name, executor, monkeypatch):
    if executor == "reference":
        monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    with v1.Session(graph=imported(name)) as session:
        for feeds, fetches in recorded_runs(name):
            got = session.run([what for what, _ in fetches], feeds)
            for (what, expected), value in zip(fetches, got, strict=True):
                if expected is None:
                    assert value is None
                else:
                    assert np.asarray(value).dtype == expected.dtype, what
                    np.testing.assert_allclose(value, expected, 2e-5, 1e-6, err_msg=what)


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_graph_gives_what_it_gave(name, executor, monkeypatch):
    check_runs(name, executor, monkeypatch)
