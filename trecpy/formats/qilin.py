"""Qilin's judgements from the released Parquet files."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from trecpy.errors import FileError, FormatError
from trecpy.extras import load
from trecpy.formats.source import Source
from trecpy.text import described, shown

DETAILS = ("search_result_details_with_idx", "rec_result_details_with_idx")
_ROWS = 1 << 10  # each of which holds all notes of a topic


def write_gold(files: Sequence[str | Source], write: Callable[[bytes], object], first: int | None = None) -> None:
    """
    Write the judgements of a split as `qid,pid`: a topic is the number of its row from 0, a note counts if clicked.

    files: the parts of one split, in order, of which a few rows at a time are read; first: only rows below that

    Raises LibraryError: no pyarrow. FileError, FormatError: a file that is none of the released ones, or of another
    kind than the first.
    """
    load("pyarrow.parquet", "frames")
    row, head = 0, b"qid,pid\n"  # behind which nothing is written where the first file cannot be read
    column = None
    for file in files:
        name = shown(file) if isinstance(file, str) else file.name
        for found, details in _details(file, name):
            if found != (column := column or found):
                raise FormatError(f"{name}: expected {column} as in the file before, found {found}")
            clicked = [
                f"{number},{_note(note['note_idx'], name, number)}\n"
                for number, notes in enumerate(details, row)
                for note in notes or ()
                if note is not None and note["click"] == 1 and (first is None or number < first)
            ]
            write(head + "".join(clicked).encode())
            head = b""
            row += len(details)
    write(head)


def _details(file: str | Source, name: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name of the column of shown notes, and these of some rows at a time; none of a file without rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with ExitStack() as opened:
            where = file if isinstance(file, str) else opened.enter_context(file).seekable()
            table = opened.enter_context(pq.ParquetFile(where))
            names = table.schema_arrow.names
            known = [column for column in DETAILS if column in names]
            if len(known) != 1:
                raise FormatError(
                    f"{name}: expected a column {' or '.join(DETAILS)}, found {'both' if known else ', '.join(names)}"
                )
            if not {"click", "note_idx"} <= _fields(table.schema_arrow.field(known[0]).type):
                raise FormatError(f"{name}: {known[0]}: expected lists of records with note_idx and click")
            for batch in table.iter_batches(_ROWS, columns=known):
                yield known[0], batch.column(0).to_pylist()
    except pa.ArrowException as error:
        raise FormatError(f"{name}: expected a Parquet file: {shown(str(error))}") from None
    except OSError as error:
        raise FileError(f"{name}: cannot be read: {error.strerror or shown(str(error))}") from None


def _fields(kind: Any) -> set[str]:
    """The fields of the records of a column of lists."""
    value: Any = getattr(kind, "value_type", None)
    return {value.field(number).name for number in range(getattr(value, "num_fields", 0))}


def _note(value: Any, name: str, row: int) -> int:
    if value is None or (isinstance(value, float) and not (math.isfinite(value) and value == int(value))):
        raise FormatError(f"{name}: row {row}: note_idx: expected an integer, found {described(value)}")
    return int(value)
