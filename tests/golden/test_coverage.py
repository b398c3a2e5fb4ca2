"""docs/coverage.md says what the operations and the golden results say."""

from tools import make_coverage


def test_the_page_is_current(capsys) -> None:
    assert make_coverage.main(["--check"]) == 0, capsys.readouterr().out


def test_a_stale_page_is_noticed(tmp_path, monkeypatch) -> None:
    stale = tmp_path / "coverage.md"
    stale.write_text(make_coverage.page().replace("| all |", "| none |"))
    monkeypatch.setattr(make_coverage, "PAGE", stale)
    assert make_coverage.main(["--check"]) == 1
    assert make_coverage.main([]) == 0
    assert make_coverage.main(["--check"]) == 0
