"""TensorBoard's pages in headless Chromium show a run: its scalars' chart and its graphs."""

import importlib.util
import re

import numpy as np
import pytest
from tests.summary import browser

import penstock as tf

v1 = tf.compat.v1
BROWSER = browser.find_browser()
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
    pytest.mark.skipif(
        importlib.util.find_spec("tensorboard") is None, reason="TensorBoard is not installed"
    ),
]
CARDS = """
  [...deep(document)].filter(e => e.localName == "tf-scalar-card").map(card => [card.tag,
    [...deep(card.shadowRoot)].filter(e => e.localName == "path" && e.classList.contains("line"))
      .map(e => e.getAttribute("d"))])
"""
NODES = """
  [...deep(document)].filter(e => e.localName == "g" && e.dataset.name).map(e => e.dataset.name)
"""


@pytest.fixture(scope="module", name="logs")
def _logs(tmp_path_factory):
    """The logs of a function that trains, and of a session."""
    folder = tmp_path_factory.mktemp("logs")
    train(folder / "function")
    run_session(folder / "session")
    return folder


def train(folder):
    v = tf.Variable(np.ones([8, 4], np.float32))

    @tf.function
    def step(x, y):
        with tf.name_scope("layer"):
            h = tf.nn.relu(tf.matmul(x, v))
        v.assign_sub(tf.fill([8, 4], 0.1))
        return tf.reduce_mean((h - y) ** 2, name="loss")

    with tf.summary.create_file_writer(str(folder)).as_default() as writer:
        tf.summary.trace_on(graph=True)
        for i in range(12):
            step(tf.ones([2, 8]), tf.zeros([2, 4]))
            if i == 0:
                tf.summary.trace_export("step", step=0)
            tf.summary.scalar("train/line", 2.0 * i, step=i)
        writer.close()


def run_session(folder):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 8], name="input")
        with v1.variable_scope("dense"):
            w = v1.get_variable("kernel", [8, 4], initializer=v1.ones_initializer())
        loss = tf.reduce_mean(tf.matmul(x, w), name="loss")
        merged = v1.summary.merge([v1.summary.scalar("falling", loss)])
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        writer = v1.summary.FileWriter(str(folder), graph)
        session.run(v1.global_variables_initializer())
        for i in range(10):
            writer.add_summary(session.run([merged, train_op], {x: np.ones([2, 8])})[0], i)
        writer.close()


@pytest.fixture(scope="module", name="page")
def _page(logs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    with browser.tensorboard(logs) as address, browser.Page(BROWSER, folder) as page:
        page.address = address
        yield page


def points(path):
    """The points of a line that an SVG path draws."""
    return np.array(re.findall(r"(-?[\d.]+),(-?[\d.]+)", path), float)


def test_the_chart_of_scalars_shows_both_runs(page):
    page.open(f"{page.address}#scalars")
    page.wait_for(f"{CARDS}.flatMap(card => card[1]).filter(d => d).length == 4")
    lines = dict(page.evaluate(CARDS))
    assert sorted(lines) == ["falling", "train/line"]
    exact = points(lines["train/line"][1])  # the smoothed line comes first
    assert len(exact) >= 10  # those at the chart's edge may be left out
    steps = np.diff(exact, axis=0)
    np.testing.assert_allclose(steps, np.broadcast_to(steps[0], steps.shape), rtol=1e-3)
    assert steps[0, 0] > 0 > steps[0, 1]  # to the right, and up
    falling = points(lines["falling"][1])
    assert len(falling) >= 8
    assert (np.diff(falling[:, 1]) > 0).all()  # down


@pytest.mark.parametrize(
    ("run", "names"),
    [
        ("function", {"x", "y", "layer", "loss", "AssignSubVariableOp"}),
        ("session", {"input", "dense", "loss", "gradients", "GradientDescent"}),
    ],
)
def test_the_page_of_graphs_shows_the_graph(logs, tmp_path, run, names):
    with browser.tensorboard(logs / run) as address, browser.Page(BROWSER, tmp_path) as page:
        page.open(f"{address}#graphs")
        page.wait_for(f"{NODES}.includes('loss')")
        assert names <= set(page.evaluate(NODES))
