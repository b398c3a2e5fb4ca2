"""docs/coverage.md says what the operations and the golden results say."""

import subprocess
import sys

from tools import make_coverage


def test_the_page_is_current() -> None:
    """In a process of its own: other tests register operations and compare in other orders."""
    command = [sys.executable, "tools/make_coverage.py", "--check"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=make_coverage.PAGE.parents[1]
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stale_page_is_noticed(tmp_path, monkeypatch) -> None:
    stale = tmp_path / "coverage.md"
    stale.write_text(make_coverage.page().replace("| all |", "| none |"))
    monkeypatch.setattr(make_coverage, "PAGE", stale)
    assert make_coverage.main(["--check"]) == 1
    assert make_coverage.main([]) == 0
    assert make_coverage.main(["--check"]) == 0
