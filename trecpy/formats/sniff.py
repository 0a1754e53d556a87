"""Which layout a file has, by its first lines. What is not told beyond doubt is an error that says how to say it."""

import csv
import json
import re
from itertools import pairwise

from trecpy.errors import FormatError, ParameterError
from trecpy.formats.arrow import column_names
from trecpy.formats.columns import (
    DELIMITERS,
    DOCNO_NAMES,
    LAYOUTS,
    LEVEL_NAMES,
    RANK_NAMES,
    SCORE_NAMES,
    TOPIC_NAMES,
    Kind,
    header,
)
from trecpy.formats.source import BOM, Source, refuse_utf16
from trecpy.numbers import strtod, strtol
from trecpy.text import described, quoted

_BEIR = ("query-id", "corpus-id")  # in judgements, whose levels are called scores there
_SIZE = 1 << 14
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
_LINES = 20  # that are looked at
_LISTS = rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\['  # {topic: [docno, ...]}


def kind_of(source: Source, layout: str | None = None) -> Kind | None:
    """
    Are these judgements or a run? Told by columns, their names, or what the values are; None where nothing tells.

    layout: where it was asked for. Raises FileError, FormatError: a table that cannot be read.
    """
    head = source.peek(_SIZE)
    binary = layout if layout in _BINARY.values() else _binary_layout(head)
    if binary is not None:
        return _kind_by_names(column_names(source, binary))
    refuse_utf16(source)
    head = head.removeprefix(BOM)
    if head.lstrip()[:1] == b"{" and _json_layout(head.lstrip()) == "json":
        return _kind_of_json(head)
    lines = [line for line in head.split(b"\n") if line.strip() and line[:1] != b"#"]
    if not lines:
        return None
    first = lines[0].decode("utf-8", "surrogateescape")
    names = re.findall(r'"([^"]*)"\s*:', first) if first.startswith("{") else re.split(r"[\t,]", first)
    if (kind := _kind_by_names(names)) is not None:
        return kind
    columns = 0 if first.startswith("{") else len(first.split())
    return "qrels" if columns == 4 else "run" if columns == 3 or columns > 5 else None


def is_other_kind(source: Source, kind: Kind, asked: str | None) -> bool:
    """
    Is this clearly a run where judgements are expected, or the opposite? What may be either is not.

    asked: a layout, or None
    """
    head = source.peek(_SIZE)
    if asked not in (None, "trec") or _binary_layout(head):
        return False
    text = head.removeprefix(BOM)
    if text.lstrip()[:1] == b"{":
        return kind == "qrels" and re.match(_LISTS, text) is not None
    lines = [line for line in text.split(b"\n")[:_LINES] if line.strip() and line[:1] != b"#"]
    if not lines:
        return False
    names = set(header(re.split(r"[\t,]", lines[0].decode("utf-8", "surrogateescape"))))
    if names & set(TOPIC_NAMES) and names & set(DOCNO_NAMES):
        values = names & {*LEVEL_NAMES, *SCORE_NAMES, *RANK_NAMES}
        return bool(values) and not values & set(LEVEL_NAMES if kind == "qrels" else (*SCORE_NAMES, *RANK_NAMES))
    rows = [line.split() for line in lines]
    if kind == "qrels":
        return all(len(row) >= 6 and not strtod(row[3])[1] and not strtod(row[4])[1] for row in rows)
    return all(len(row) == 4 and not strtol(row[3])[1] for row in rows)


def _kind_by_names(columns: list[str]) -> Kind | None:
    names = set(header(columns))
    if not (names & set(TOPIC_NAMES) and names & set(DOCNO_NAMES)):
        return None
    return "run" if names & {*SCORE_NAMES, *RANK_NAMES} and not names & set(_BEIR) else "qrels"


def _kind_of_json(head: bytes) -> Kind | None:
    """Lists of documents are a run, and so are scores with a point; integers may be either."""
    if re.match(_LISTS, head):
        return "run"
    values = re.findall(rb'"\s*:\s*(-?[0-9][-+.0-9eE]*|-?Infinity)\s*[,}]', head)
    return "run" if any(re.search(rb"[.eEI]", value) for value in values) else None


def _binary_layout(head: bytes) -> str | None:
    return next((layout for magic, layout in _BINARY.items() if head.startswith(magic)), None)


def layout_of(source: Source, kind: Kind, asked: str | None) -> str:
    """
    The layout of a file: what is asked for, or what its first lines are; "trec" where they are nothing else.

    Raises ParameterError: no such layout. FormatError: it may be several, or needs columns named.
    """
    if asked is not None:
        if not isinstance(asked, str) or asked not in LAYOUTS:
            raise ParameterError(f"{kind}_format: expected {', '.join(LAYOUTS)}, found {described(asked)}")
        return asked
    head = source.peek(_SIZE)
    if (binary := _binary_layout(head)) is not None:
        return binary
    refuse_utf16(source)
    text = head.removeprefix(BOM).lstrip()
    if re.match(rb'\{\s*(["}]|$)', text):
        return _json_layout(text)
    if re.match(rb'\[\s*[{\["]', text):
        raise FormatError(
            f"{source.name}:1: expected a JSON object {{topic: {{docno: x}}}}, or one object a line, found a list"
        )
    whole = len(head) < _SIZE
    lines = [line.rstrip(b"\r") for line in text.split(b"\n")]
    lines = [line for line in (lines if whole else lines[:-1] or lines) if line.strip() and line[:1] != b"#"]
    return _text_layout(lines, kind, source.name) if lines else "trec"


_RANKS = "A run of topic docno rank is in the layout msmarco (run_format, --run-format); "


def _json_layout(text: bytes) -> str:
    """One object, or one a line? The first value decides: documents of a topic are an object or a list."""
    if re.match(rb'\{\s*("(?:[^"\\]|\\.)*"\s*:\s*[{\[]|\}\s*$)', text):
        first = text.split(b"\n")[0]
        try:
            record = json.loads(first)
        except (ValueError, RecursionError):  # cut, wrong, or too deep, which its reader says
            return "json"
        return "jsonl" if any(isinstance(value, str | int | float) for value in record.values()) else "json"
    return "jsonl"


def _text_layout(lines: list[bytes], kind: Kind, name: str) -> str:
    first = lines[0].decode("utf-8", "surrogateescape")
    for layout in ("tsv", "csv"):
        try:
            columns = header(next(csv.reader([first], delimiter=DELIMITERS[layout])))
        except (csv.Error, StopIteration):
            continue
        if len(columns) > 1 and set(columns) & set(TOPIC_NAMES) and set(columns) & set(DOCNO_NAMES):
            return layout
    rows = [line.split() for line in lines]
    if {len(row) for row in rows} == {3}:
        if kind == "run" and _are_ranks(rows):
            return "msmarco"
        raise FormatError(
            f"{name}:1: expected lines of {_lines_of(kind)}, found 3 columns: {quoted(lines[0])}; what are they? "
            f"{_RANKS + 'else n' if kind == 'run' else 'N'}ame them in a header"
        )
    if len(rows[0]) == 1 and re.search(rb"[,;|]", lines[0]):
        raise FormatError(
            f"{name}:1: expected lines of {_lines_of(kind)}, or a header that names columns separated by commas or "
            f"tabs (qid, docno, ...), found {quoted(lines[0])}"
        )
    return "trec"


def _lines_of(kind: Kind) -> str:
    return "'topic iter docno level'" if kind == "qrels" else "'topic iter docno rank score tag'"


def _are_ranks(rows: list[list[bytes]]) -> bool:
    """Are the third columns of a file's first lines integers, which rise from 1 in its first topic?"""
    if not all(row[2].isdigit() for row in rows):
        return False
    topic = [int(row[2]) for row in rows if row[0] == rows[0][0]]
    return topic[0] == 1 and all(a < b for a, b in pairwise(topic))
