"""Judgements from Qilin's released Parquet files."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from trecpy.errors import FileError, FormatError
from trecpy.extras import load
from trecpy.text import described, shown

DETAILS = ("search_result_details_with_idx", "rec_result_details_with_idx")
_ROWS = 1 << 10  # each of which holds all notes of a topic


def write_gold(paths: list[str], write: Callable[[bytes], object]) -> None:
    """
    Write the judgements of a split as `qid,pid`: a topic is the number of its row from 0, a note counts if clicked.

    paths: the parts of one split, in order, of which a few rows at a time are read

    Raises LibraryError: no pyarrow. FileError, FormatError: a file that is none of the released ones.
    """
    load("pyarrow.parquet", "frames")
    row, head = 0, b"qid,pid\n"  # behind which nothing is written where the first file cannot be read
    for path in paths:
        for details in _details(path):
            clicked = [
                f"{number},{_note(note['note_idx'], path, number)}\n"
                for number, notes in enumerate(details, row)
                for note in notes or ()
                if note is not None and note["click"] == 1
            ]
            write(head + "".join(clicked).encode())
            head = b""
            row += len(details)
    write(head)


def _details(path: str) -> Iterator[list[Any]]:
    """Yield the shown notes of some rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            column = next((name for name in DETAILS if name in names), None)
            if column is None:
                raise FormatError(f"{shown(path)}: expected a column {' or '.join(DETAILS)}, found {', '.join(names)}")
            if not {"click", "note_idx"} <= _fields(file.schema_arrow.field(column).type):
                raise FormatError(f"{shown(path)}: {column}: expected lists of records with note_idx and click")
            for batch in file.iter_batches(_ROWS, columns=[column]):
                yield batch.column(0).to_pylist()
    except pa.ArrowException as error:
        raise FormatError(f"{shown(path)}: expected a Parquet file: {shown(str(error))}") from None
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot be read: {error.strerror or shown(str(error))}") from None


def _fields(kind: Any) -> set[str]:
    """The fields of the records of a column of lists."""
    value: Any = getattr(kind, "value_type", None)
    return {value.field(number).name for number in range(getattr(value, "num_fields", 0))}


def _note(value: Any, path: str, row: int) -> int:
    if value is None or (isinstance(value, float) and not (math.isfinite(value) and value == int(value))):
        raise FormatError(f"{shown(path)}: row {row}: note_idx: expected an integer, found {described(value)}")
    return int(value)
