"""
TREC's text formats to packed arrays: qrels, judgement groups, preferences, runs, z-scores.

One reader with one switch. `strict=False` reads as trec_eval does, which takes what looks like a mistake in silence,
and notes each kind of mistake once, with its place and how often it came; `strict=True` makes errors of them.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trecpy import packed
from trecpy.errors import FileError, FormatError, ZScoreError
from trecpy.formats.faults import Faults, Place
from trecpy.formats.source import Lines, Source
from trecpy.kernels import parse as kernel
from trecpy.kernels import rank
from trecpy.kernels.dtypes import Bytes, Integers
from trecpy.numbers import exact_integer, is_double, strtod, strtol, unheld
from trecpy.packed import Block, Documents, Judgements, Preferences, Qrels, coded
from trecpy.protocol import Compat
from trecpy.text import plural, quoted
from trecpy.threads import in_order

# Small enough for a processor's cache, large enough that what is done once a block does not count.
BLOCK = 1 << 22
_MOST_RECORDS = 1 << 18
_NOT_A_NUMBER = "it counts as 0"
_CUT_NUMBER = "what follows the number is ignored"
_CLAMPED = "it is cut to 64 bits"
_BOM = b"\xef\xbb\xbf"
_powers = np.empty((0, 3), np.uint64)
R = TypeVar("R")


@dataclass(frozen=True)
class Layout:
    """
    What a line is: its columns by name, which one is the value and what the value is called, and what is no data.

    exact: no further columns; integer: the value is an integer, else a real number; comments: as the kernel has them
    spans: up to two columns whose places are kept beside docno's
    """

    columns: str
    value: str
    exact: bool
    integer: bool
    comments: int
    blanks: bool = False
    spans: tuple[str, ...] = ()

    @property
    def sign(self) -> int:
        """By what values are multiplied to be scores, of which the largest is first."""
        return -1 if self.value == "rank" else 1

    def packed(self) -> Integers:
        """The kernel's layout: int64[LAYOUT_SIZE]."""
        names = self.columns.split()
        packed = np.full(kernel.LAYOUT_SIZE, -1, np.int64)
        packed[kernel.COLUMNS], packed[kernel.EXACT] = len(names), self.exact
        packed[kernel.COMMENTS], packed[kernel.BLANKS], packed[kernel.INTEGER] = (
            self.comments,
            self.blanks,
            self.integer,
        )
        for entry, name in (
            (kernel.DOC, "docno"), (kernel.VALUE, self.value), (kernel.TAG, "tag"),
            *zip((kernel.GROUP, kernel.SUBGROUP), self.spans, strict=False),
        ):  # fmt: skip
            packed[entry] = names.index(name) if name in names else -1
        return packed


_GROUPS = {"qrels": (), "qrels_jg": ("group",), "qrels_prefs": ("group",), "prefs": ("group", "subgroup")}
JUDGEMENT_LAYOUTS = {
    form: Layout(
        " ".join(["topic", *(groups or ("iter",)), "docno level"]),
        "level",
        exact=True,
        integer=form in ("qrels", "qrels_jg"),
        comments=kernel.HASH_FIRST,
        spans=groups,
    )
    for form, groups in _GROUPS.items()
}
RUN_LAYOUT = Layout(
    "topic iter docno rank score tag", "score", exact=False, integer=False, comments=kernel.HASH_INDENTED, blanks=True
)
MSMARCO_LAYOUT = Layout("topic docno rank", "rank", exact=True, integer=False, comments=kernel.NO_COMMENTS, blanks=True)


class Records:
    """
    One row a line, for as many lines as are in the buffer.

    topic: int32[n]; spans: int64[n, 2, 4 or 6]  place and size of docno, group, subgroup; hashes: uint64[n]
    score: float64[n] or level: int64[n]  the value; odd: int64[n, 2]  the kernel's
    """

    def __init__(self, width: int) -> None:
        self.topic = np.empty(0, np.int32)
        self.spans = np.empty((0, width), np.int64)
        self.hashes = np.empty(0, np.uint64)
        self.score = np.empty(0)
        self.level = np.empty(0, np.int64)
        self.odd = np.empty((0, 2), np.int64)

    def reserve(self, length: int) -> None:
        """Make room for `length` rows; what was in them is lost."""
        if length > len(self.topic):
            for name, column in vars(self).items():
                setattr(self, name, np.empty((length, *column.shape[1:]), column.dtype))

    def sort(self, used: int) -> None:
        """Bring the lines of each topic together, topics in order of appearance, lines as they came."""
        order = np.argsort(self.topic[:used], kind="stable")
        for column in (self.topic, self.spans, self.hashes, self.score, self.level):
            column[:used] = column[order]

    def choose(self, rows: NDArray[np.int64], to: int) -> int:
        """Move `rows` to behind the first `to`; return how many there are then."""
        stop = to + len(rows)
        for column in (self.topic, self.spans, self.hashes, self.score, self.level):
            column[to:stop] = column[rows]
        return stop


@dataclass
class Oddities:
    """
    What looks like a mistake in a file that is read as trec_eval does, each kind said once.

    values: what becomes of a value that is no number -> the first one, and how many
    """

    mark: str = ""
    values: dict[str, tuple[str, int]] = field(default_factory=dict)
    comments: int = 0

    def add(self, fate: str, said: str, count: int = 1) -> None:
        """Count values; `said` is of the first."""
        first, before = self.values.get(fate, (said, 0))
        self.values[fate] = first, before + count

    def merge(self, later: "Oddities") -> None:
        """Add those of a later part of the file."""
        self.mark = self.mark or later.mark
        self.comments += later.comments
        for fate, (said, count) in later.values.items():
            self.add(fate, said, count)

    def notes(self, name: str) -> Iterator[str]:
        """One line each."""
        if self.mark:
            yield self.mark
        for said, count in self.values.values():
            yield said + (f" ({count:,} such lines)" if count > 1 else "")
        if self.comments:
            yield (
                f"{name}: {plural(self.comments, 'line')} of a topic whose id begins with '#' "
                "taken for comments, as trec_eval 10.0 does and 9.0.8 does not"
            )


class Reader:
    """
    A file, or a part of it at a time: fills a buffer with whole lines, feeds them to the kernel, says what it found.

    After parse(), the first `count` rows of `records` are the lines that lie in the buffer; odd: what is odd in them.
    """

    def __init__(
        self,
        source: Source,
        layout: Layout,
        compat: Compat,
        strict: bool,
        block: int = BLOCK,
        faults: Faults | None = None,
    ) -> None:
        self.source, self.layout, self.strict, self.faults = source, layout, strict, faults
        self.lines = Lines(source, block)
        self.records = Records(2 + 2 * len(layout.spans))
        self.odd = Oddities()
        self.tag = b""
        self._packed = layout.packed()
        if compat == "9.0.8":
            self._packed[kernel.COMMENTS] = kernel.NO_COMMENTS
        self._powers = powers_of_five()
        self._state = np.zeros(kernel.STATE_SIZE, np.int64)
        self._columns = np.empty((kernel.MAX_COLUMNS, 2), np.int64)
        self._slots = np.full(2, -1, np.int32)
        self._topics = np.empty((0, 4), np.int64)
        self._arena = np.empty(0, np.uint8)
        self._start = self._stop = 0  # of the lines to be parsed

    @property
    def count(self) -> int:
        """Records in the buffer."""
        return int(self._state[kernel.RECORDS])

    @property
    def mixed(self) -> bool:
        """Did a topic come back after another one?"""
        return bool(self._state[kernel.MIXED])

    def came_back(self, known: set[bytes]) -> tuple[int, bytes] | None:
        """The first line in which a topic came back after another one, and the topic; known: those of earlier parts."""
        found = []
        if self.mixed:
            found.append((int(self._state[kernel.MIXED]), self.topic_id(int(self._state[kernel.BACK]))))
        for number in range(self.topics):
            if (topic := self.topic_id(number)) in known:
                record = int(np.argmax(self.column("topic") == number))
                found.append((1 + self.lines.count(0, int(self.records.spans[record, 0])), topic))
                break
        line, topic = min(found, default=(0, b""))
        return (self.lines.before + line, topic) if found else None

    @property
    def topics(self) -> int:
        """Topics in the buffer."""
        return int(self._state[kernel.TOPICS])

    def column(self, name: str) -> NDArray[Any]:
        """A column of the records in the buffer."""
        column: NDArray[Any] = getattr(self.records, name)
        return column[: self.count]

    def packed(self) -> packed.Records:
        """The records in the buffer, after the whole file was read."""
        topics = [self.topic_id(number) for number in range(self.topics)]
        spans = np.ascontiguousarray(self.column("spans")[:, :2])
        topic, hashes = self.column("topic").astype(np.int64), self.column("hashes").copy()
        return packed.Records(topics, topic, self.lines.data[: self.lines.stop], spans, hashes)

    def topic_id(self, number: int) -> bytes:
        """The id of a topic, by its number in order of appearance."""
        at, size = self._topics[number, :2]
        return self._arena[at : at + size].tobytes()

    def read_whole(self) -> None:
        """Read and parse the file to its end. Raises FileError, FormatError."""
        self.odd = Oddities()
        self._stop = self.lines.read(whole=True)
        self._start = self._begin(self._stop)
        self.parse()

    def read_topics(self, rest: bytes, before: int, first: bool) -> bytes:
        """
        Fill the buffer with lines up to the end of a topic.

        rest: bytes that were read before; before: lines of the file that lie before them; first: none do
        Returns the bytes behind. Raises FileError, FormatError.
        """
        self.odd = Oddities()
        self.lines.begin(rest, before)
        self._start = 0
        while True:
            stop = self.lines.read()
            if first:
                self._start = self._begin(stop)
            self._stop = stop
            if not self.lines.ended:
                comments = int(self._packed[kernel.COMMENTS])
                self._stop = kernel.last_topic(self.lines.data, self._start, stop, comments)
            if self._stop > self._start or self.lines.ended:
                return self.lines.cut(self._stop)

    def count_lines(self) -> int:
        """Lines in the buffer."""
        return kernel.count_lines(self.lines.data, 0, self._stop)

    def parse(self) -> None:
        """Parse what was read. Raises FormatError."""
        start, stop = self._start, self._stop
        self.tag = b""
        self._slots[self._topics[: self.topics, 3]] = -1
        self._state[:] = 0
        self._make_room(start, stop)
        begin, ends = start, None
        while self._parse(begin, stop) == kernel.WRONG_COLUMNS:
            line, found = int(self._state[kernel.LINES]), int(self._state[kernel.FOUND])
            if self.faults is None:
                raise self._wrong_columns(self.lines.before + line, found)
            if ends is None:
                ends = np.flatnonzero(self.lines.data[start:stop] == ord("\n"))
            end = start + int(ends[line - 1])
            self.faults.line(found, self.place(end))
            begin = end + 1
        self.odd.comments = int(self._state[kernel.COMMENT_TOPICS])

    def _parse(self, start: int, stop: int) -> int:
        """Parse the lines of data[start:stop]; the kernel's answer."""
        records, kept = self.records, self.count
        self._state[kernel.ODD] = self._state[kernel.TAG_SIZE] = 0
        status = kernel.parse(
            self.lines.data,
            self.lines.words,
            start,
            stop,
            self._packed,
            self._powers,
            self._state,
            self._columns,
            self._slots,
            self._topics,
            self._arena,
            records.topic,
            records.spans,
            records.hashes,
            records.score,
            records.score.view(np.uint64),
            records.level,
            records.odd,
        )
        wrong = [
            record for record, place in records.odd[: self._state[kernel.ODD]].tolist() if self._read_odd(record, place)
        ]
        if wrong:
            right = np.ones(self.count, bool)
            right[wrong] = False
            self._state[kernel.RECORDS] = records.choose(np.flatnonzero(right[kept:]) + kept, kept)
        at, size = self._state[kernel.TAG_AT], self._state[kernel.TAG_SIZE]
        if size:  # else there was no line of data
            self.tag = self.lines.data[at : at + size].tobytes()
        return int(status)

    def said(self, place: int) -> str:
        """The line that data[place] belongs to, as messages begin."""
        return f"{self.source.name}:{self.lines.line(place)}"

    def place(self, place: int) -> Place:
        """The line that data[place] belongs to."""
        begin = self.lines.line_start(place)
        text = self.lines.data[begin : begin + 1000].tobytes().split(b"\n")[0]
        return Place(lambda: f"line {self.lines.line(place)}", text)

    def _begin(self, stop: int) -> int:
        """Look at the first bytes; return where the first line begins."""
        if stop == 0:
            raise FileError(f"{self.source.name}: is empty: expected lines of '{self.layout.columns}'")
        if self.lines.data[:3].tobytes() != _BOM:
            return 0
        if self.strict:
            self.odd.mark = f"{self.source.name}:1: a byte order mark was dropped"
            return 3
        self.odd.mark = f"{self.source.name}:1: begins with a byte order mark, which is read as part of the first id"
        return 0

    def _make_room(self, start: int, stop: int) -> None:
        """Room for what data[start:stop] can hold; a record has at least 2 bytes a column."""
        size = stop - start
        lines = (
            size // (2 * int(self._packed[kernel.COLUMNS]))
            if size <= BLOCK
            else kernel.count_lines(self.lines.data, start, stop)
        )
        self.records.reserve(lines)
        if lines > len(self._topics):
            self._topics = np.empty((lines, 4), np.int64)
            self._slots = np.full(rank.table_size(lines), -1, np.int32)
        if size > len(self._arena):
            self._arena = np.empty(size, np.uint8)

    def _read_odd(self, record: int, place: int) -> bool:
        """
        Read a value that is not plainly a number: strtod and strtol know every form, and what is none.

        Returns whether it was told to be at fault, and does not count.
        """
        text = self.lines.token(place)
        if self.layout.integer:
            value, rest = strtol(text)
            self.records.level[record] = value
            clamped = not rest and not -(2**63) <= int(text[:40]) < 2**63
        else:
            self.records.score[record], rest = strtod(text)
            clamped = False
        wrong = (self.strict and (rest or clamped)) or bool(
            not self.layout.integer and np.isnan(self.records.score[record])
        )
        if wrong and self.faults is not None:
            value = self.records.level[record] if self.layout.integer else self.records.score[record]
            self.faults.value(float(value), self.place(place))
            return True
        if wrong:
            fraction = self.layout.integer and not strtod(text)[1]
            how = "; gains='float' takes fractions as they are" if fraction else ""
            raise FormatError(self._wrong_value(self.lines.line(place), text) + how)
        if rest or clamped:
            fate = _CLAMPED if clamped else _NOT_A_NUMBER if rest == text else _CUT_NUMBER
            known = fate in self.odd.values  # to find a line's number takes as long as to read the lines
            said = "" if known else f"{self._wrong_value(self.lines.line(place), text)}; {fate}"
            self.odd.add(fate, said)
        return False

    def _wrong_columns(self, line: int, found: int) -> FormatError:
        wanted = int(self._packed[kernel.COLUMNS])
        more = "or more " if not self.layout.exact else ""
        return FormatError(
            f"{self.source.name}:{line}: expected {wanted} {more}columns ({self.layout.columns}), found "
            f"{found or 'a blank line'}"
        )

    def _wrong_value(self, line: int, found: bytes) -> str:
        column = self.layout.columns.split().index(self.layout.value) + 1
        kind = "an integer" if self.layout.integer else "a number"
        return (
            f"{self.source.name}:{line}: column {column} ({self.layout.value}): expected {kind}, found {quoted(found)}"
        )


class RunReader:
    """
    A run, a part at a time.

    notes: what was odd, complete after the last block; tag: the run tag of the last line that was read
    """

    def __init__(
        self,
        source: Source,
        compat: Compat,
        strict: bool,
        block: int = BLOCK,
        layout: Layout = RUN_LAYOUT,
        faults: Faults | None = None,
    ) -> None:
        self.notes: list[str] = []
        self.tag = b""
        self._source, self._compat, self._strict, self._block, self._layout = source, compat, strict, block, layout
        self._faults = faults
        self._odd = Oddities()

    def __enter__(self) -> "RunReader":
        return self

    def __exit__(self, *_: object) -> None:
        """Close the source, where it opened it itself."""
        self._source.__exit__()

    def blocks(self) -> Iterator[Block]:
        """Yield the rankings of some topics at a time, each topic whole; see map()."""
        for block, _ in self.map(lambda block: None, 1):
            yield block

    def map(self, work: Callable[[Block], R], threads: int) -> Iterator[tuple[Block, R]]:
        """
        Yield the rankings of some topics at a time, each topic whole, and what work() makes of them.

        Parts of the file are parsed and worked on by so many threads; they come in their order whatever that is.
        A block is views of memory that a later one takes: work on it ends before the next is asked for.

        Where the lines of a topic are not together, that is seen only when it comes back. The source is then read
        again and every topic is yielded once more: of two rankings of one topic the later one counts.
        """

        def parse(reader: Reader) -> list[tuple[Block, R]]:
            reader.parse()
            return [] if reader.mixed else [(block, work(block)) for block in _rankings(reader)]

        known: set[bytes] = set()
        apart: tuple[int, bytes] | None = None
        with closing(in_order(parse, self._parts(threads), threads)) as parsed:
            for reader, found in parsed:
                if apart := reader.came_back(known):
                    if known or not reader.lines.ended:
                        break
                    reader.records.sort(reader.count)  # the whole file is in memory
                    found = [(block, work(block)) for block in _rankings(reader)]
                known.update(topic for block, _ in found for topic in block.topics)
                self.tag = reader.tag or self.tag
                yield from found
                self._odd.merge(reader.odd)
            else:
                apart = None
        if apart:
            line, name = apart
            self.notes.append(
                f"{self._source.name}:{line}: the lines of topic {quoted(name)} are not together: read twice and "
                "held in memory"
            )
            self._source.rewind()
            if self._faults is not None:
                self._faults.again()
            reader = self._whole()
            reader.records.sort(reader.count)
            for block in _rankings(reader):
                yield block, work(block)
        elif not known and self._faults is None:
            raise self._no_topic()
        self.notes += self._odd.notes(self._source.name)

    def whole(self) -> tuple[packed.Records, NDArray[np.float64]]:
        """All records and their scores: float64[N], held in memory."""
        reader = self._whole()
        if not reader.topics:
            raise self._no_topic()
        self.notes += self._odd.notes(self._source.name)
        return reader.packed(), reader.column("score") * self._layout.sign

    def _whole(self) -> Reader:
        """The file, parsed to its end."""
        reader = self._reader()
        reader.read_whole()
        self._odd, self.tag = reader.odd, reader.tag
        return reader

    def _parts(self, threads: int) -> Iterator[Reader]:
        """
        Yield readers that have read a part of the file each: the lines of some topics.

        There are threads + 1 of them. The first one is filled again when all have been yielded.
        """
        readers: list[Reader] = []
        rest, before, ended = b"", 0, False
        number = 0
        while not ended:
            if number <= threads:
                readers.append(self._reader())
            reader = readers[number % len(readers)]
            rest = reader.read_topics(rest, before, first=number == 0)
            ended = reader.lines.ended
            before += 0 if ended else reader.count_lines()
            number += 1
            yield reader

    def _reader(self) -> Reader:
        return Reader(self._source, self._layout, self._compat, self._strict, self._block, self._faults)

    def _no_topic(self) -> FormatError:
        return FormatError(
            f"{self._source.name}: has only comments and blank lines: expected lines of '{self._layout.columns}'"
        )


def _rankings(reader: Reader) -> Iterator[Block]:
    """All records, which have topics together, as blocks that are not much longer than usual."""
    records, records_read = reader.records, reader.count
    topic = records.topic[:records_read]
    first = np.concatenate(([0], np.flatnonzero(np.diff(topic)) + 1, [records_read]))
    begin = 0
    while begin < len(first) - 1 and records_read:
        end = max(begin + 1, int(np.searchsorted(first, first[begin] + _MOST_RECORDS, "right")) - 1)
        chosen = slice(first[begin], first[end])
        yield Block(
            [reader.topic_id(number) for number in topic[first[begin:end]].tolist()],
            first[begin : end + 1] - first[begin],
            reader.lines.data,
            records.spans[chosen],
            records.hashes[chosen],
            records.score[chosen] if reader.layout.sign > 0 else -records.score[chosen],
            reader.lines.before,
        )
        begin = end


def powers_of_five() -> NDArray[np.uint64]:
    """The kernel's table, made once in a process."""
    global _powers
    if not len(_powers):
        _powers = kernel.powers_of_five()
    return _powers


def read_judgements(
    source: Source, form: str, compat: Compat, strict: bool, fractions: bool = False
) -> tuple[Judgements, list[str]]:
    """
    Read a whole file of judgements.

    form: "qrels", "qrels_jg", "prefs" or "qrels_prefs"; fractions: levels of qrels may be fractions
    Returns Qrels or Preferences, and what was odd.
    """
    reader = _judgements(source, form, compat, strict, fractions)
    build = _qrels if JUDGEMENT_LAYOUTS[form].integer else _preferences
    return build(form, reader), list(reader.odd.notes(source.name))


def read_trec_levels(source: Source, compat: Compat, fractions: bool) -> tuple[packed.Records, Any, list[str]]:
    """As files.read_levels() has it."""
    reader = _judgements(source, "qrels", compat, True, fractions)
    return reader.packed(), _levels(reader), list(reader.odd.notes(source.name))


def _judgements(source: Source, form: str, compat: Compat, strict: bool, fractions: bool) -> Reader:
    """Judgements, parsed to their end."""
    layout = JUDGEMENT_LAYOUTS[form]
    if fractions:
        layout = replace(layout, integer=False, spans=(*layout.spans, "level"))
    reader = Reader(source, layout, compat, strict)
    reader.read_whole()
    return reader


def _levels(reader: Reader) -> Any:
    """Levels just as they are given: int64[N] where all are integers, else float64[N]; see files.read_levels()."""
    if reader.layout.integer:
        return reader.column("level").copy()
    values, spans = reader.column("score"), reader.column("spans")
    exact: dict[int, int] = {}  # integers that a double may not hold
    for row in np.flatnonzero(~(np.abs(values) < 2.0**53)).tolist():
        at, size = spans[row, -2:]
        text = reader.lines.data[at : at + size].tobytes()
        if not np.isfinite(values[row]):
            raise FormatError(f"{reader.said(at)}: expected a finite level, found {quoted(text)}")
        integer = exact_integer(text)
        real = integer is None or (abs(integer) >= 2**63 and not text.lstrip(b"+-").isdigit())  # 1e300
        exact[row] = int(values[row]) if real or integer is None else integer
    if bool((values == np.trunc(values)).all()) and all(-(2**63) <= value < 2**63 for value in exact.values()):
        with np.errstate(invalid="ignore"):  # of 2**63, which is written anew below
            levels = values.astype(np.int64)
        levels[list(exact)] = list(exact.values())
        return levels
    for row, value in exact.items():
        if not is_double(value):
            raise FormatError(f"{reader.said(int(spans[row, -2]))}: {unheld(value)}")
    return values.copy()


def _qrels(form: str, reader: Reader) -> Qrels:
    group = byte_ranks(reader.lines.data, reader.column("spans"), 2) if form == "qrels_jg" else None
    level, grades = coded(_levels(reader))
    qrels = Qrels.of(reader.source.name, reader.packed(), level, group, grades)
    if group is not None and (twice := qrels.documents.first_repeated()):
        _, a, b = twice
        raise FormatError(
            f"{qrels.name}:{qrels.documents.line(b)}: expected a document once in a group, found "
            f"{quoted(qrels.documents.docno(b))} again after line {qrels.documents.line(a)}"
        )
    return qrels


def _preferences(form: str, reader: Reader) -> Preferences:
    records, spans, level = reader.packed(), reader.column("spans"), reader.column("score").copy()
    topics, topic = records.sorted_topics()
    group = byte_ranks(records.data, spans, 2)
    subgroup = byte_ranks(records.data, spans, 4) if spans.shape[1] > 4 else np.zeros(len(spans), np.int64)
    docno = byte_ranks(records.data, spans, 0)
    # A document has many lines; it is one document of its topic, and a topic's documents are in byte order.
    key = topic * (int(docno.max(initial=0)) + 1) + docno
    _, first, document = np.unique(key, return_index=True, return_inverse=True)
    starts = np.searchsorted(topic[first], np.arange(len(topics) + 1))
    documents = Documents.indexed(records.data, records.spans[first], records.hashes[first], starts)
    order = np.lexsort((subgroup, group, topic))
    return Preferences(
        form,
        reader.source.name,
        topics,
        np.arange(len(topics) + 1),
        documents,
        np.zeros(len(first), np.int64),
        rank.SMALLER_FIRST,
        lines=np.searchsorted(topic[order], np.arange(len(topics) + 1)),
        group=group[order],
        subgroup=subgroup[order],
        document=document[order],
        line_level=level[order],
    )


def byte_ranks(data: Bytes, spans: Integers, column: int) -> Integers:
    """int64[N]: the place in byte order of each record's string in a column of spans, equal strings at one place."""
    known = np.empty((len(spans), 3), np.int64)
    slots = np.full(rank.table_size(len(spans)), -1, np.int32)
    distinct = kernel.intern(data, spans, column, slots, known)
    names = [data[at : at + size].tobytes() for at, size in spans[known[:distinct, 0], column : column + 2].tolist()]
    ranks = np.empty(distinct, np.int64)
    ranks[sorted(range(distinct), key=names.__getitem__)] = np.arange(distinct)
    return ranks[known[:, 1]]


def read_zscores(source: Source) -> tuple[dict[bytes, dict[bytes, tuple[float, float]]], list[str]]:
    """
    Read `topic measure mean stddev` lines.

    Returns topic -> measure's printed name -> (mean, stddev), of two lines for one measure the first; what was odd.

    Raises ZScoreError: no lines, or one that has not exactly four columns (comments and blank lines have not).
    """
    lines = Lines(source, BLOCK)
    stop = lines.read(whole=True)
    if stop == 0:
        raise ZScoreError(f"{source.name}: is empty: expected lines of 'topic measure mean stddev'")
    scores: dict[bytes, dict[bytes, tuple[float, float]]] = {}
    notes: list[str] = []
    repeated: list[str] = []
    for number, line in enumerate(lines.data[: stop - 1].tobytes().split(b"\n"), 1):
        columns = line.split()
        if len(columns) != 4:
            found = len(columns) or "a blank line"
            raise ZScoreError(f"{source.name}:{number}: expected 4 columns (topic measure mean stddev), found {found}")
        topic, measure, *values = columns
        (mean, rest), (stddev, more) = strtod(values[0]), strtod(values[1])
        if (rest or more) and not notes:
            notes.append(f"{source.name}:{number}: expected numbers, found {quoted(values[0])} and {quoted(values[1])}")
        if measure in scores.setdefault(topic, {}):
            repeated.append(
                f"{source.name}:{number}: {quoted(measure)} of topic {quoted(topic)} again; the first counts"
            )
        scores[topic].setdefault(measure, (mean, stddev))
    return scores, notes + repeated[:1]
