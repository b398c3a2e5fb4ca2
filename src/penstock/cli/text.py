"""Text for people: tables with aligned columns, and sizes with units."""

from collections.abc import Sequence

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DECIMAL = ("", "k", "M", "G", "T", "P")


def format_table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: str = "") -> str:
    """Rows below their headers, columns two spaces apart.

    Args:
      headers: one title for each column.
      rows: cells as text, as many in each row as there are headers.
      right: the titles, separated by spaces, of the columns that are aligned at their right.
    """
    lines = [list(headers), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    aligned = [str.rjust if title in right.split() else str.ljust for title in headers]
    return "\n".join(
        "  ".join(
            align(cell, width) for align, cell, width in zip(aligned, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def format_bytes(count: int) -> str:
    """A number of bytes with a binary unit.

    Example:
      >>> format_bytes(100), format_bytes(3 * 2**29)
      ('100 B', '1.5 GiB')
    """
    return _with_unit(count, 1024, _BINARY)


def format_count(count: int) -> str:
    """A large number with a decimal unit.

    Example:
      >>> format_count(999), format_count(1_230_000)
      ('999', '1.23 M')
    """
    return _with_unit(count, 1000, _DECIMAL).strip()


def _with_unit(count: int, base: int, units: Sequence[str]) -> str:
    value, unit = float(count), units[0]
    for larger in units[1:]:
        if value < base:
            break
        value, unit = value / base, larger
    digits = f"{value:.3g}" if value < 999.5 else f"{value:.0f}"
    return f"{digits} {unit}"
