"""Tables and sizes."""

import pytest

from penstock.cli.text import format_bytes, format_count, format_table


def test_columns_are_aligned_and_lines_end_at_their_text():
    table = format_table(("NAME", "SIZE"), [("a", "1"), ("long", "12345")], right="SIZE")
    assert table.splitlines() == ["NAME   SIZE", "a         1", "long  12345"]
    assert format_table(("A", "B"), [("1", "")]).splitlines() == ["A  B", "1"]


def test_a_row_of_another_length_is_refused():
    with pytest.raises((ValueError, IndexError)):
        format_table(("A", "B"), [("1",)])


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1023 * 1024, "1023 KiB"),
        (5 * 2**60, "5120 PiB"),
    ],
)
def test_bytes(count, text):
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1 k"), (12_345_678, "12.3 M"), (2 * 10**12, "2 T")],
)
def test_counts(count, text):
    assert format_count(count) == text
