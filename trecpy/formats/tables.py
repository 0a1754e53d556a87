"""Tables of topics, documents and values, some rows at a time: CSV and its kin, JSON, JSON lines."""

import csv
import io
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

import numpy as np

from trecpy.errors import FileError, FormatError
from trecpy.formats.arrow import arrow_columns, parquet_columns
from trecpy.formats.columns import DELIMITERS, ROWS, Columns, Kind, column_places
from trecpy.formats.faults import Faults, Place
from trecpy.formats.pairs import of_pairs
from trecpy.formats.sieve import Sieve
from trecpy.formats.source import Bytes, Source, refuse_utf16
from trecpy.text import described, quoted, shown

_PIECE = 1 << 22  # characters of JSON at a time
_BLANK = re.compile(r"[ \t\r\n]*")


def read_columns(source: Source, layout: str, kind: Kind, faults: Faults | None = None) -> Iterator[Columns]:
    """
    Yield the rows of a file that is no TREC file. Ranks are yielded as scores, which is their opposite.

    layout: of columns.LAYOUTS; faults: is told of rows that cannot be read, which are dropped
    Raises FileError, FormatError: the place is named.
    """
    if layout in DELIMITERS:
        return _delimited(source, DELIMITERS[layout], kind, faults)
    if layout == "json":
        return _json(source, kind, faults)
    return {"jsonl": _json_lines, "parquet": parquet_columns, "arrow": arrow_columns}[layout](source, kind, faults)


def _text(source: Source) -> tuple[io.TextIOWrapper, Bytes]:
    """Text in which bytes that are no UTF-8 are kept, and a byte order mark is not; and what it is read from."""
    refuse_utf16(source)
    raw = Bytes(source)
    return io.TextIOWrapper(io.BufferedReader(raw, 1 << 18), "utf-8-sig", "surrogateescape", newline=""), raw


# Separated by commas or tabs


class _LongFields:
    """
    While it is entered, by any number of threads, fields of CSV may have any length.

    The limit of Python's module is one for a process, and 131,072 characters; it is put back.
    """

    def __init__(self) -> None:
        self._lock, self._entered, self._before = threading.Lock(), 0, 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._entered:
                self._before = csv.field_size_limit(2**31 - 1)  # the largest of C's long, where that has 32 bits
            self._entered += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._entered -= 1
            if not self._entered:
                csv.field_size_limit(self._before)


_LONG_FIELDS = _LongFields()


def _delimited(source: Source, delimiter: str, kind: Kind, faults: Faults | None) -> Iterator[Columns]:
    text, raw = _text(source)
    rows = csv.reader(text, delimiter=delimiter, strict=True)

    def some(count: int, line: int) -> list[list[str]]:
        """The next rows, which begin in a line."""
        raw.held = 0
        found: list[list[str]] = []
        try:
            with _LONG_FIELDS:
                found.extend(itertools.islice(rows, count))
        except csv.Error as error:
            if str(error) != "unexpected end of data":
                raise FormatError(f"{source.name}:{rows.line_num}: {shown(str(error))}") from None
            raise FormatError(
                f"{source.name}:{_line(found, line, len(found))}: expected the end of a field in quotes, found the end "
                "of the file: a quote in this row is left open"
            ) from None
        return found

    names = some(1, 1)
    if not names:
        raise FileError(f"{source.name}: is empty: expected a header that names the columns")
    places = column_places(names[0], kind, f"{source.name}:1")
    width = len(names[0])
    line = rows.line_num + 1  # at which the rows below begin
    while chunk := some(ROWS, line):
        counter = _counter(chunk, line)
        line = rows.line_num + 1
        if set(map(len, chunk)) != {width}:
            sieve = _sieve(source.name, counter, faults, chunk, delimiter)
            for number, row in enumerate(chunk):
                if row and len(row) != width:
                    sieve.refuse(number, f"{width} columns", str(len(row)), columns=len(row))
            # Blank lines and such rows are kept out; the lines that they are counted.
            numbers = [counter(number) for number, row in enumerate(chunk) if len(row) == width]
            chunk = [row for row in chunk if len(row) == width]
            counter = numbers.__getitem__
        if chunk:
            sieve = _sieve(source.name, counter, faults, chunk, delimiter)
            topics, docnos = [row[places.topic] for row in chunk], [row[places.docno] for row in chunk]
            sieve.check_ids(topics, "topic")
            sieve.check_ids(docnos, "docno")
            texts = None if places.value is None else [row[places.value] for row in chunk]
            values = None if texts is None else sieve.read_numbers(texts, kind)
            yield sieve.sifted(topics, docnos, values, places)


def _sieve(
    name: str, line: Callable[[int], int], faults: Faults | None, chunk: list[list[str]], delimiter: str
) -> Sieve:
    return Sieve(name, _place_in(name, line), faults, lambda row: delimiter.join(chunk[row]))


def _counter(chunk: list[list[str]], line: int) -> Callable[[int], int]:
    return lambda number: _line(chunk, line, number)


def _place_in(name: str, line: Callable[[int], int]) -> Callable[[int], str]:
    return lambda row: f"{name}:{line(row)}"


def _line(rows: list[list[str]], line: int, number: int) -> int:
    """The line of a row: a field in quotes may have several."""
    return line + number + sum(field.count("\n") for row in rows[:number] for field in row)


# JSON


def _json_lines(source: Source, kind: Kind, faults: Faults | None) -> Iterator[Columns]:
    text, raw = _text(source)
    done, names = 0, None
    while lines := text.readlines(_PIECE):
        raw.held = 0
        numbers = [done + number for number, line in enumerate(lines, 1) if not line.isspace()]
        records = [line for line in lines if not line.isspace()]
        done += len(lines)
        if not records:
            continue
        where = _place_in(source.name, numbers.__getitem__)
        sieve = Sieve(source.name, where, faults, records.__getitem__)
        objects = _objects(records, sieve)
        if names is None:
            first = next((each for each in objects if each), None)
            if first is None:
                continue
            names = list(first)
            places = column_places(names, kind, where(0))
        topics, docnos = _field(objects, names[places.topic], sieve), _field(objects, names[places.docno], sieve)
        values = None if places.value is None else _field(objects, names[places.value], sieve)
        sieve.check_ids(topics, "topic")
        sieve.check_ids(docnos, "docno")
        if values is not None:
            sieve.check_numbers(values, kind)
        yield sieve.sifted(topics, docnos, values, places)
    if names is None:
        raise FileError(f"{source.name}: is empty: expected a JSON object on each line")


def _field(objects: list[dict[str, Any]], name: str, sieve: Sieve) -> list[Any]:
    try:
        return [each[name] for each in objects]
    except KeyError:
        for row, each in enumerate(objects):
            if name not in each:
                sieve.refuse(row, f"{quoted(name)} as in the first line", ", ".join(map(quoted, each)) or "none")
        return [each.get(name, 0) for each in objects]


def _objects(lines: list[str], sieve: Sieve) -> list[dict[str, Any]]:
    """All lines at once, which is faster; one at a time where that goes wrong. What is told to be wrong is empty."""
    text = f"[{','.join(lines)}]"
    for hook in (None, of_pairs):
        try:
            objects = json.loads(text, object_pairs_hook=hook)
        except (ValueError, RecursionError):
            break
        if len(objects) != len(lines) or set(map(type, objects)) != {dict}:
            break
        # No more colons than keys: none hides another one. With colons in strings each object must be looked at.
        if hook is not None or text.count(":") == sum(map(len, objects)):
            return objects  # type: ignore[no-any-return]
    objects = []
    for row, line in enumerate(lines):
        try:
            found, why = json.loads(line, object_pairs_hook=of_pairs), ""
        except (ValueError, RecursionError) as error:
            found, why = None, f" ({error})"
        if type(found) is not dict:
            sieve.refuse(row, "a JSON object", quoted(line.strip()) + why)
        objects.append(found if type(found) is dict else {})
    return objects


class _JSON:
    """JSON text of which a piece at a time is held, read value by value."""

    def __init__(self, source: Source) -> None:
        self._name = source.name
        self._text, self._raw = _text(source)
        self._held, self._place, self._lines, self._ended = "", 0, 1, False
        # Pairs, not dicts, in which the last of two equal names would hide the first.
        self._decoder = json.JSONDecoder(object_pairs_hook=tuple)

    @property
    def line(self) -> int:
        """Where it reads."""
        return self._lines + self._held.count("\n", 0, self._place)

    def symbol(self, expected: str) -> str:
        """Take one of the characters that are expected; '' is the end of the file."""
        self._skip()
        found = self._held[self._place : self._place + 1]
        if found not in expected.split(" "):
            self.refuse(" or ".join(each or "the end" for each in expected.split(" ")), self._held[self._place :])
        self._place += 1
        return found

    def peek(self) -> str:
        """The next character that is not blank."""
        self._skip()
        return self._held[self._place : self._place + 1]

    def value(self) -> Any:
        """Take a whole value: an object as a tuple of pairs."""
        self._skip()
        while True:
            try:
                value, self._place = self._decoder.raw_decode(self._held, self._place)
                return value
            except json.JSONDecodeError as error:
                # Is it wrong, or only cut by the end of what is held?
                cut = error.pos >= len(self._held) - 16 or error.msg.startswith("Unterminated string")
                if self._ended or not cut:
                    self._place = error.pos
                    self.refuse("JSON", self._held[error.pos :], f" ({error.msg})")
                self._read_on()
            except (RecursionError, ValueError) as error:  # too deep, an integer of too many digits
                self.refuse("a plain JSON value", self._held[self._place :], f" ({error})")

    def refuse(self, expected: str, found: str, why: str = "") -> NoReturn:
        """Raise FormatError."""
        what = quoted(found[:40].split("\n")[0]) if found.strip() else "the end of the file"
        raise FormatError(f"{self._name}:{self.line}: expected {expected}, found {what}{why}")

    def _skip(self) -> None:
        while True:
            blank = _BLANK.match(self._held, self._place)
            self._place = blank.end() if blank else self._place
            if self._place < len(self._held) or self._ended:
                return
            self._read_on()

    def _read_on(self) -> None:
        """Forget what was taken, and read at least as much as is held."""
        self._lines = self.line
        rest = self._held[self._place :]
        self._raw.held = len(rest)
        more = self._text.read(max(_PIECE, len(rest)))
        self._held, self._place, self._ended = rest + more, 0, not more


def _json(source: Source, kind: Kind, faults: Faults | None) -> Iterator[Columns]:
    """{topic: {docno: value}}, of runs also {topic: [docno, ...]}."""
    text = _JSON(source)
    if not text.peek():
        raise FileError(f"{source.name}: is empty: expected a JSON object {{topic: {{docno: x}}}}")
    text.symbol("{")
    seen: set[str] = set()
    held = _Held(source.name, kind, faults)
    more = text.peek() != "}"
    while more:
        text.peek()
        line, name = text.line, text.value()
        if isinstance(name, str) and name in seen and faults is not None:
            faults.repeated(Place(partial("line {}".format, line), f"topic {quoted(name)}".encode()))
            if name in held.names:
                yield held.taken()
        elif not isinstance(name, str):
            text.refuse("a topic, a string", described(name))
        elif name in seen or not name:
            found = f"{quoted(name)} again" if name else "an empty string"
            raise FormatError(
                f"{source.name}:{line}: expected {'each topic once' if name else 'a topic'}, found {found}"
            )
        seen.add(name)
        text.symbol(":")
        documents = text.value()
        if isinstance(documents, tuple):
            held.add(name, line, [pair[0] for pair in documents], [pair[1] for pair in documents])
        elif isinstance(documents, list) and kind == "run":
            held.add(name, line, documents, list(range(len(documents), 0, -1)))
        else:
            text.refuse(f"documents of topic {quoted(name)}, an object", described(documents))
        more = text.symbol(", }") == ","
        if len(held.docnos) >= ROWS or not more:
            yield held.taken()
    if not seen:
        text.symbol("}")
    if text.peek():
        text.refuse("the end of the file", text.peek())


class _Held:
    """Topics of a JSON object that were read and not yet taken. names: their ids"""

    def __init__(self, name: str, kind: Kind, faults: Faults | None) -> None:
        self._name, self._kind, self._faults = name, kind, faults
        self._begin()

    def _begin(self) -> None:
        self.names: dict[str, int] = {}  # topic -> line
        self._counts: list[int] = []
        self.docnos: list[Any] = []
        self._values: list[Any] = []

    def add(self, topic: str, line: int, docnos: list[Any], values: list[Any]) -> None:
        """Add a topic."""
        self.names[topic] = line
        self._counts.append(len(docnos))
        self.docnos += docnos
        self._values += values

    def taken(self) -> Columns:
        """All that is held."""
        names, counts, docnos, values = list(self.names), self._counts, self.docnos, self._values
        where = _topic_in(self._name, names, counts, list(self.names.values()))
        self._begin()
        sieve = Sieve(
            self._name, where, self._faults, lambda row: f"{described(docnos[row])}: {described(values[row])}"
        )
        sieve.check_ids(docnos, "docno")
        sieve.check_numbers(values, self._kind)
        kept = sieve.rows(len(docnos))
        if kept is None:
            return Columns((names, counts), docnos, values, where)
        topic = np.repeat(np.arange(len(names)), counts)[kept]
        counts = np.bincount(topic, minlength=len(names)).tolist()
        return Columns(
            (names, counts), [docnos[r] for r in kept], [values[r] for r in kept], lambda row: where(kept[row])
        )


def _topic_in(name: str, names: list[str], counts: list[int], lines: list[int]) -> Callable[[int], str]:
    starts = np.cumsum(counts)

    def where(row: int) -> str:
        topic = int(np.searchsorted(starts, row, "right"))
        return f"{name}:{lines[topic]}: topic {quoted(names[topic])}"

    return where
