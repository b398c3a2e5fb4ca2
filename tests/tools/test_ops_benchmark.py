"""benchmarks/ops: every operation has a call or a reason; the page says what the figures say."""

import numpy as np
import pytest
from benchmarks.ops import page, run, worker
from benchmarks.ops.values import HERE, Made, arguments, entries
from tools.golden import codec
from tools.golden.left_out import NOT_RECORDED

import penstock as tf
from penstock import ops
from penstock.core.op_def import registered

CALLS = {operation: text for _, operation, text in entries(HERE / "calls.txt")}
LEFT_OUT = {operation: why for _, operation, why in entries(HERE / "left_out.txt")}


def test_every_operation_has_a_call_or_a_reason():
    ops.load_all()
    shared = set(codec.source()["raw_ops"]) & registered().keys()
    shared -= {op for op, why in NOT_RECORDED.items() if "datasets" in why}  # benchmarks/data.py
    assert shared - CALLS.keys() - LEFT_OUT.keys() == set()
    assert CALLS.keys() & LEFT_OUT.keys() == set()
    assert all(LEFT_OUT.values())


def test_arguments_are_the_operations():
    """Each line makes arguments of ten elements, by the names of the raw function."""
    for operation, text in CALLS.items():
        given = arguments(text, operation, 10)
        parameters = tf.raw_ops.__getattr__(operation).__signature__.parameters
        assert given.keys() <= parameters.keys(), operation


def test_arguments_are_the_same_each_time():
    first, again = (arguments("x=f(n), y=var(p(r, r))", "AddV2", 1000) for _ in range(2))
    np.testing.assert_array_equal(first["x"], again["x"])
    assert first["x"].shape == (1000,)
    assert isinstance(first["y"], Made)
    assert first["y"].given.shape == (31, 31)
    assert not np.array_equal(first["x"], arguments("x=f(n)", "Sub", 1000)["x"])


@pytest.mark.parametrize("form", run.FORMS)
def test_gradients_are_those_for_random_gradients_of_results(form):
    """A constant for a linear operation, were they ones; each form and program has the same."""
    library = worker.Library("penstock")

    def found(operation):
        job = {"op": operation, "args": CALLS[operation], "n": 10, "form": form, "gradient": True}
        return library.prepare(job)()[0]

    columns = library._incoming([tf.zeros(10)] * 4)
    np.testing.assert_array_equal(found("Unpack"), tf.stack(columns, 1))
    assert len(np.unique(columns)) == 40
    assert found("IFFT").dtype == tf.complex64
    assert len(np.unique(found("IFFT"))) == 9


@pytest.mark.parametrize(("ours", "rounds"), [(1.0, 1), (5.0, 3)])
def test_only_close_rows_are_measured_again(ours, rounds):
    class Answers:
        def __init__(self, *figures):
            self.figures, self.asked = list(figures), 0

        def ask(self, job):
            self.asked += 1
            return {"us": self.figures[self.asked % len(self.figures)]}

    mine, theirs = Answers(ours + 1, ours), Answers(4.0, 4.0)
    row = run.measure({}, mine, theirs, 3)
    assert mine.asked == theirs.asked == rounds
    assert row == {"tf_us": 4.0, "ps_us": ours}


def test_sizes_are_chosen_and_results_may_lack_one(tmp_path, monkeypatch):
    """Another file has its own rows and leaves the page alone; each row keeps its size."""
    sizes = [int(key.split("/")[1]) for key, _ in run.jobs(["Abs"], ["eager"], run.SIZES, [False])]
    assert sizes == [10, 1000, 65_536, 1_000_000]
    asked, written = [], []
    monkeypatch.setattr(run, "about", lambda tensorflow: {"machine": "m", "python": "3"})
    monkeypatch.setattr(run.page, "write", written.append)
    monkeypatch.setattr(run, "measure", lambda job, *rest: asked.append(job["n"]) or {"tf_us": 1.0})
    monkeypatch.setattr("builtins.print", lambda *words, **more: None)

    class Closed:
        def close(self):
            pass

    monkeypatch.setattr(run, "Worker", lambda *given: Closed())
    results = tmp_path / "some.json"
    given = "run --tensorflow python --forms eager --parts forward Abs --results".split()
    for more in (["--sizes", "10"], ["--sizes", "10", "65536"]):
        monkeypatch.setattr("sys.argv", [*given, str(results), *more])
        run.main()
    assert asked == [10, 65_536]
    assert list(run.read(results)["rows"]) == ["Abs/10/eager/forward", "Abs/65536/eager/forward"]
    assert not written


def test_the_page_lists_what_is_above_the_limit():
    about = {"machine": "m", "python": "3", "tensorflow": "2", "date": "d", "loads": [1.0]}
    rows = {
        "Abs/10/eager/forward": {"ps_us": 1.0, "tf_us": 2.0, "ps_cpu": 1.0, "tf_cpu": 2.0},
        "Abs/1000/eager/forward": {"ps_us": 2.6, "tf_us": 2.0, "ps_cpu": 2.0, "tf_cpu": 2.0},
        "Abs/65536/eager/forward": {"ps_us": 1.0, "tf_us": 2.0, "ps_cpu": 1.0, "tf_cpu": 2.0},
        "Exp/10/jit/forward": {"tf_error": "NotFoundError: no kernel"},
    }
    text = page.text({"about": about, "rows": rows})
    assert "| Abs | 1,000 | eager | forward | 2.6 | 2.0 | 1.30 | 1.00 |" in text
    assert "| Abs | 10 |" not in text
    assert "| elementwise | eager | forward | 3 | 0.50 | 1.3 | 1 |" in text
    assert "| 65,536 | eager | forward | 1 | 0.50 | 0.5 | 0 |" in text
    assert "- TensorFlow, Exp: jit, 10: NotFoundError: no kernel" in text
    assert page.reason("Abs/10/eager/forward", [("Ab*/1?/*", "why")]) == "why"
    assert page.reason("Abs/10/eager/forward", [("Abs/1000/*", "why")]) == "**not found yet**"
