"""Qilin's files: CSV of judged and of ranked notes, and judgements from the released Parquet files."""

import csv
import math
import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from trecpy.errors import FileError, FormatError
from trecpy.extras import load
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.text import described, quoted, shown

GOLD_HEADER = ["qid", "pid"]
RUN_HEADERS = ["qid", "pid", "score"], ["qid", "pid", "similarity"]
DETAILS = ("search_result_details_with_idx", "rec_result_details_with_idx")
_ROWS = 1 << 16  # of CSV at a time
_PARQUET_ROWS = 1 << 10  # each of which holds all notes of a topic


def is_csv(path: Any) -> bool:
    """Does the first line of a file have commas, as no TREC file has? False where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return b"," in file.readline(1 << 12)
    except OSError:
        return False


def read_gold(path: str | os.PathLike[str]) -> tuple[Integers, Integers, Integers]:
    """Read `qid,pid`: int64[N] topics and notes, and a level of 1 for each. Raises FileError, FormatError."""
    topics, notes, _ = _read(path, [GOLD_HEADER])
    return topics, notes, np.ones(len(topics), np.int64)


def read_ranked(path: str | os.PathLike[str]) -> tuple[Integers, Integers, Reals]:
    """Read `qid,pid,score` or `qid,pid,similarity`: int64[N] topics and notes, float64[N]. Raises as read_gold()."""
    return _read(path, RUN_HEADERS)


def _read(path: str | os.PathLike[str], headers: Any) -> tuple[Integers, Integers, Reals]:
    name = shown(path)
    topics: list[int] = []
    notes: list[int] = []
    scores: list[float] = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            header = next(rows, [])
            if header not in headers:
                expected = " or ".join(",".join(each) for each in headers)
                raise FormatError(f"{name}:1: expected the header {expected}, found {quoted(','.join(header))}")
            before = rows.line_num
            while chunk := list(islice(rows, _ROWS)):
                try:
                    columns = list(zip(*chunk, strict=True))
                    if len(columns) != len(header):
                        raise ValueError
                    topics += map(int, columns[0])
                    notes += map(int, columns[1])
                    if len(header) == 3:
                        scores += map(float, columns[2])
                except ValueError:
                    raise _first_fault(chunk, header, name, before) from None
                before = rows.line_num
    except OSError as error:
        raise FileError(f"{name}: cannot be read: {error.strerror or error}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise FormatError(f"{name}: expected comma-separated values in UTF-8: {error}") from None
    values = np.array(scores, np.float64)
    if np.isnan(values).any():
        row = int(np.argmax(np.isnan(values)))
        raise FormatError(f"{name}:{row + 2}: {header[2]}: expected a number, found nan")
    try:
        return np.array(topics, np.int64), np.array(notes, np.int64), values
    except OverflowError:
        raise FormatError(f"{name}: expected ids of 64 bits, found a larger one") from None


def _first_fault(chunk: list[list[str]], header: list[str], name: str, before: int) -> FormatError:
    """The error of the first row that cannot be read. before: number of the line before them."""
    for line, row in enumerate(chunk, before + 1):
        if len(row) != len(header):
            return FormatError(f"{name}:{line}: expected {len(header)} columns, found {len(row)}")
        for column, field, kind in zip(header, row, (int, int, float), strict=False):
            try:
                kind(field)
            except ValueError:
                wanted = "an integer" if kind is int else "a number"
                return FormatError(f"{name}:{line}: {column}: expected {wanted}, found {quoted(field)}")
    raise AssertionError("no fault")  # the caller found one


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
            for batch in file.iter_batches(_PARQUET_ROWS, columns=[column]):
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
