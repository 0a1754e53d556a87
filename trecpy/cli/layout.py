"""Rows as a table, as tab-separated values or as JSON lines. The only place of `trecpy` that formats values."""

import json
import math
import re
from collections.abc import Iterator, Sequence

from trecpy.text import plain

Cell = str | int | float | bool | None
Row = Sequence[Cell]

_BREAKS = re.compile(r"[\t\n\r]")


def rows_as(
    layout: str,
    header: Sequence[str],
    rows: Sequence[Row],
    places: int | Sequence[int | None] | None,
    down: bool = False,
) -> Iterator[bytes]:
    """
    Yield lines.

    layout: "table", "tsv" or "jsonl"; header: a name for each cell of a row; rows: all of them, of one length
    places: decimals of real numbers, None for all digits, or such a number for each cell of a row. None and NaN are
        '-'; in JSON they are null, and so is infinity, which JSON lacks
    down: a table has a column for each of the rows, with the names down its side
    """
    decimals = [places] * len(header) if places is None or isinstance(places, int) else places
    if layout == "jsonl":
        for row in rows:
            values = map(_json_value, row, decimals)
            yield (json.dumps(dict(zip(header, values, strict=True))) + "\n").encode()
        return
    cells = [list(header), *(list(map(cell_text, row, decimals)) for row in rows)]
    if layout == "tsv":
        for line in cells:
            yield ("\t".join(_BREAKS.sub(" ", cell) for cell in line) + "\n").encode("utf-8", "surrogateescape")
        return
    words = [all(isinstance(row[c], str) for row in rows) for c in range(len(header))]
    if down:
        cells, words = [list(line) for line in zip(*cells, strict=True)], [True] + [False] * len(rows)
    cells = [[plain(cell) for cell in line] for line in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = [
            f"{cell:<{width}}" if left else f"{cell:>{width}}"
            for cell, width, left in zip(line, widths, words, strict=True)
        ]
        yield ("  ".join(padded).rstrip() + "\n").encode("utf-8", "surrogateescape")


def cell_text(cell: Cell, places: int | None) -> str:
    """One value as text; '-' where there is none, or none that is defined."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return repr(cell) if places is None else f"{cell:.{places}f}"
    return str(cell)


def _json_value(value: Cell, places: int | None) -> Cell:
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return value if places is None else round(value, places)
