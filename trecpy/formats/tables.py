"""Tables of topics, documents and values, some rows at a time: CSV and its kin, JSON, JSON lines, Parquet, Arrow."""

import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trecpy.errors import FileError, FormatError
from trecpy.formats.columns import DELIMITERS, Columns, Kind, Places, column_places
from trecpy.formats.source import Bytes, Source, reason
from trecpy.text import described, quoted

ROWS = 1 << 16  # at a time
_PIECE = 1 << 22  # characters of JSON at a time
_BLANK = re.compile(r"[ \t\r\n]*")


def read_columns(source: Source, layout: str, kind: Kind) -> Iterator[Columns]:
    """
    Yield the rows of a file that is no TREC file. Ranks are yielded as scores, which is their opposite.

    layout: of columns.LAYOUTS. Raises FileError, FormatError: the place is named.
    """
    if layout in DELIMITERS:
        return _delimited(source, DELIMITERS[layout], kind)
    return {"json": _json, "jsonl": _json_lines, "parquet": _parquet, "arrow": _arrow}[layout](source, kind)


def _text(source: Source) -> tuple[io.TextIOWrapper, Bytes]:
    """Text in which bytes that are no UTF-8 are kept, and a byte order mark is not; and what it is read from."""
    raw = Bytes(source)
    return io.TextIOWrapper(io.BufferedReader(raw, 1 << 18), "utf-8-sig", "surrogateescape", newline=""), raw


# Separated by commas or tabs


def _delimited(source: Source, delimiter: str, kind: Kind) -> Iterator[Columns]:
    text, raw = _text(source)
    rows = csv.reader(text, delimiter=delimiter, strict=True)

    def some(count: int) -> list[list[str]]:
        raw.held = 0
        try:
            return list(itertools.islice(rows, count))
        except csv.Error as error:
            raise FormatError(f"{source.name}:{rows.line_num}: {error}") from None

    names = some(1)
    if not names:
        raise FileError(f"{source.name}: is empty: expected a header that names the columns")
    places = column_places(names[0], kind, f"{source.name}:1")
    width = len(names[0])
    line = rows.line_num + 1  # at which the rows below begin
    while chunk := some(ROWS):
        if set(map(len, chunk)) != {width}:
            for number, row in enumerate(chunk):
                if row and len(row) != width:
                    place = _line(chunk, line, number)
                    raise FormatError(f"{source.name}:{place}: expected {width} columns, found {len(row)}")
            # Blank lines: they are kept out, and the lines that they are counted.
            numbers = [_line(chunk, line, number) for number, row in enumerate(chunk) if row]
            chunk = [row for row in chunk if row]
            where = _place_in(source.name, numbers.__getitem__)
        else:
            where = _place_in(source.name, _counter(chunk, line))
        line = rows.line_num + 1
        if chunk:
            topics, docnos = [row[places.topic] for row in chunk], [row[places.docno] for row in chunk]
            texts = None if places.value is None else [row[places.value] for row in chunk]
            values = None if texts is None else _scores(_read_numbers(texts, kind, where), places)
            yield _columns(topics, docnos, values, where)


def _counter(chunk: list[list[str]], line: int) -> Callable[[int], int]:
    return lambda number: _line(chunk, line, number)


def _place_in(name: str, line: Callable[[int], int]) -> Callable[[int], str]:
    return lambda row: f"{name}:{line(row)}"


def _line(rows: list[list[str]], line: int, number: int) -> int:
    """The line of a row: a field in quotes may have several."""
    return line + number + sum(field.count("\n") for row in rows[:number] for field in row)


def _columns(topics: Any, docnos: Any, values: Any, where: Callable[[int], str]) -> Columns:
    for role, ids in (("topic", topics), ("docno", docnos)):
        if "" in ids:
            raise FormatError(f"{where(ids.index(''))}: expected a {role}, found an empty field")
    return Columns(topics, docnos, values, where)


def _read_numbers(texts: list[str], kind: Kind, where: Callable[[int], str]) -> list[int] | list[float]:
    """Texts as numbers: levels that are integers as these. Raises FormatError: one that is none, or NaN."""
    joined = "".join(texts)
    if joined.isascii() and "_" not in joined:  # which Python's numbers may have
        for read in (int, float) if kind == "qrels" else (float,):
            try:
                numbers: list[Any] = list(map(read, texts))
            except ValueError:
                continue
            if not any(number != number for number in numbers):
                return numbers
    for row, text in enumerate(texts):
        if not re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(?i:inf(inity)?)\s*", text, re.ASCII):
            raise FormatError(f"{where(row)}: expected {_wanted(kind)}, found {quoted(text)}")
    return list(map(float, texts))


def _scores(values: list[Any], places: Places) -> list[Any]:
    """Values as scores, the largest of which is first: ranks are turned."""
    return [-value for value in values] if places.ranks else values


def _wanted(kind: Kind) -> str:
    return "a level, a number" if kind == "qrels" else "a score, a number"


def _check_numbers(values: list[Any], kind: Kind, where: Callable[[int], str]) -> None:
    """Refuse what is no number."""
    if set(map(type, values)) <= {int, float} and not any(value != value for value in values):
        return
    for row, value in enumerate(values):
        if type(value) not in (int, float) or value != value:
            raise FormatError(f"{where(row)}: expected {_wanted(kind)}, found {described(value)}")


def _check_ids(ids: list[Any], role: str, where: Callable[[int], str]) -> None:
    """Refuse what is no id."""
    if not set(map(type, ids)) <= {int, str}:
        row = next(row for row, each in enumerate(ids) if type(each) not in (int, str))
        raise FormatError(f"{where(row)}: expected a {role}, a string or an integer, found {described(ids[row])}")


# JSON


def _json_lines(source: Source, kind: Kind) -> Iterator[Columns]:
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
        objects = _objects(records, where)
        if names is None:
            names = list(objects[0])
            places = column_places(names, kind, where(0))
        topics = _field(objects, names[places.topic], where)
        docnos = _field(objects, names[places.docno], where)
        values = None if places.value is None else _field(objects, names[places.value], where)
        _check_ids(topics, "topic", where)
        _check_ids(docnos, "docno", where)
        if values is not None:
            _check_numbers(values, kind, where)
            values = _scores(values, places)
        yield _columns(topics, docnos, values, where)
    if names is None:
        raise FileError(f"{source.name}: is empty: expected a JSON object on each line")


def _field(objects: list[dict[str, Any]], name: str, where: Callable[[int], str]) -> list[Any]:
    try:
        return [each[name] for each in objects]
    except KeyError:
        row = next(row for row, each in enumerate(objects) if name not in each)
        raise FormatError(f"{where(row)}: expected {quoted(name)} as in the first line") from None


def _objects(lines: list[str], where: Callable[[int], str]) -> list[dict[str, Any]]:
    """All lines at once, which is faster; one at a time where that goes wrong."""
    try:
        objects = json.loads(f"[{','.join(lines)}]")
        if len(objects) == len(lines) and set(map(type, objects)) == {dict}:
            return objects  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        pass
    objects = []
    for row, line in enumerate(lines):
        try:
            objects.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{where(row)}: expected a JSON object, found {quoted(line)} ({error})") from None
        if type(objects[-1]) is not dict:
            raise FormatError(f"{where(row)}: expected a JSON object, found {quoted(line)}")
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


def _json(source: Source, kind: Kind) -> Iterator[Columns]:
    """{topic: {docno: value}}, of runs also {topic: [docno, ...]}."""
    text = _JSON(source)
    if not text.peek():
        raise FileError(f"{source.name}: is empty: expected a JSON object {{topic: {{docno: x}}}}")
    text.symbol("{")
    seen: set[str] = set()
    names: list[str] = []
    counts: list[int] = []
    lines: list[int] = []
    docnos: list[Any] = []
    values: list[Any] = []
    more = text.peek() != "}"
    while more:
        text.peek()
        lines.append(text.line)
        name = text.value()
        if not isinstance(name, str) or name in seen or not name:
            text.refuse("a topic, once", name if isinstance(name, str) else described(name))
        seen.add(name)
        text.symbol(":")
        documents = text.value()
        names.append(name)
        if isinstance(documents, tuple):
            docnos.extend(pair[0] for pair in documents)
            values.extend(pair[1] for pair in documents)
        elif isinstance(documents, list) and kind == "run":
            docnos.extend(documents)
            values.extend(range(len(documents), 0, -1))
        else:
            text.refuse(f"documents of topic {quoted(name)}, an object", described(documents))
        counts.append(len(documents))
        more = text.symbol(", }") == ","
        if len(docnos) >= ROWS or not more:
            where = _topic_in(source.name, names, counts, lines)
            _check_ids(docnos, "docno", where)
            _check_numbers(values, kind, where)
            if "" in docnos:
                raise FormatError(f"{where(docnos.index(''))}: expected a docno, found an empty string")
            yield Columns((names, counts), docnos, values, where)
            names, counts, lines, docnos, values = [], [], [], [], []
    if not seen:
        text.symbol("}")
    if text.peek():
        text.refuse("the end of the file", text.peek())


def _topic_in(name: str, names: list[str], counts: list[int], lines: list[int]) -> Callable[[int], str]:
    starts = np.cumsum(counts)

    def where(row: int) -> str:
        topic = int(np.searchsorted(starts, row, "right"))
        return f"{name}:{lines[topic]}: topic {quoted(names[topic])}"

    return where


# Arrow


def _parquet(source: Source, kind: Kind) -> Iterator[Columns]:
    import_arrow(source.name)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(source.seekable())
        names = file.schema_arrow.names
        places = column_places(names, kind, source.name)
        chosen = [names[place] for place in (places.topic, places.docno, places.value) if place is not None]
        batches = file.iter_batches(columns=chosen, batch_size=ROWS)
        yield from _batches(source.name, batches, chosen, places, kind)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{source.name}: cannot be read as Parquet: {reason(error)}") from None


def _arrow(source: Source, kind: Kind) -> Iterator[Columns]:
    import_arrow(source.name)
    import pyarrow as pa
    from pyarrow import ipc

    is_file = source.peek(6) == b"ARROW1"
    try:
        if is_file:
            file = ipc.open_file(source.seekable())
            schema, batches = file.schema, (file.get_batch(number) for number in range(file.num_record_batches))
        else:
            stream = ipc.open_stream(io.BufferedReader(Bytes(source), 1 << 18))
            schema, batches = stream.schema, iter(stream)
        names = schema.names
        places = column_places(names, kind, source.name)
        chosen = [names[place] for place in (places.topic, places.docno, places.value) if place is not None]
        yield from _batches(source.name, batches, chosen, places, kind)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{source.name}: cannot be read as Arrow: {reason(error)}") from None


def _batches(name: str, batches: Iterable[Any], chosen: list[str], places: Places, kind: Kind) -> Iterator[Columns]:
    """Pieces of batches. chosen: names of the topics, documents and values."""
    first = 1
    for whole in batches:
        for start in range(0, whole.num_rows, ROWS):
            batch = whole.slice(start, ROWS)
            where = _row_in(name, first)
            topics, docnos, *values = (batch.column(batch.schema.names.index(each)) for each in chosen)
            _check_arrow_ids(topics, "topic", where)
            _check_arrow_ids(docnos, "docno", where)
            numbers = _arrow_numbers(values[0], kind, where) if values else None
            if numbers is not None and places.ranks:
                numbers = -numbers.astype(np.float64)
            yield Columns(topics, docnos, numbers, where)
            first += batch.num_rows


def _row_in(name: str, first: int) -> Callable[[int], str]:
    return lambda row: f"{name}: row {first + row}"


def _check_arrow_ids(ids: Any, role: str, where: Callable[[int], str]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"
    if not is_text and not pa.types.is_integer(kind):
        raise FormatError(f"{where(0)}: expected a {role}, a string or an integer, found {ids.type}")
    if ids.null_count:
        raise FormatError(f"{where(ids.is_null().index(True).as_py())}: expected a {role}, found a missing value")
    empty = pc.equal(pc.binary_length(ids.cast(pa.large_string())), 0).index(True).as_py() if is_text else -1
    if empty >= 0:
        raise FormatError(f"{where(empty)}: expected a {role}, found an empty string")


def _arrow_numbers(values: Any, kind: Kind, where: Callable[[int], str]) -> NDArray[Any]:
    import pyarrow as pa

    if not pa.types.is_integer(values.type) and not pa.types.is_floating(values.type):
        raise FormatError(f"{where(0)}: expected {_wanted(kind)}, found {values.type}")
    if values.null_count:
        raise FormatError(f"{where(values.is_null().index(True).as_py())}: expected {_wanted(kind)}, found none")
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        raise FormatError(f"{where(int(np.argmax(np.isnan(numbers))))}: expected {_wanted(kind)}, found nan")
    return numbers


def import_arrow(name: str) -> None:
    """Raises FileError: pyarrow is not there."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise FileError(f"{name}: Parquet and Arrow need an extra: pip install 'trecpy[frames]'") from None
