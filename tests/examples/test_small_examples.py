"""The small examples say what their computation should give."""

import pathlib
import re
import runpy

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
NUMBER = r"(-?\d+\.\d+(?:e-?\d+)?)"


def lines_of(name, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_graph_session_finds_the_line(capsys):
    lines = lines_of("graph_session.py", capsys)
    losses = [float(re.search(rf"loss {NUMBER}", line)[1]) for line in lines[:5]]
    assert losses[0] > 3
    assert losses[-1] < 0.011
    slope, offset = map(float, re.fullmatch(rf"y = {NUMBER} x \+ {NUMBER}", lines[-1]).groups())
    assert abs(slope - 3) < 0.05
    assert abs(offset + 1) < 0.05


def test_custom_operation_has_the_gradient_of_its_kernel(capsys):
    *rows, last = lines_of("custom_operation.py", capsys)
    found = [tuple(map(float, re.findall(NUMBER, row))) for row in rows]
    assert found[3] == (0.0, 0.0, 0.5)
    assert [x for x, _, _ in found] == [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    assert float(re.search(rf": {NUMBER}$", last)[1]) < 1e-8
