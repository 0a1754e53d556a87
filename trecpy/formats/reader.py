"""
Lines of TREC's text formats to records, for a whole file or a part of it at a time.

One reader with one switch. `strict=False` reads as trec_eval does, which takes what looks like a mistake in silence,
and notes each kind of mistake once, with its place and how often it came; `strict=True` makes errors of them.
"""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trecpy.errors import FileError, FormatError
from trecpy.formats.faults import Faults, Place
from trecpy.formats.oddities import Oddities
from trecpy.formats.source import BOM, Lines, Source
from trecpy.formats.trec import Layout
from trecpy.kernels import parse as kernel
from trecpy.kernels import rank
from trecpy.numbers import strtod, strtol, whole_level
from trecpy.packed import Records
from trecpy.protocol import Compat
from trecpy.text import quoted

# Small enough for a processor's cache, large enough that what is done once a block does not count.
BLOCK = 1 << 22
_NOT_A_NUMBER = "it counts as 0"
_CUT_NUMBER = "what follows the number is ignored"
_CLAMPED = "it is cut to 64 bits"
_NOTHING = Source(io.BytesIO(), "nothing")
_powers = np.empty((0, 3), np.uint64)


class Parsed:
    """
    One row a line, for as many lines as are in the buffer.

    topic: int32[n]; spans: int64[n, 2, 4 or 6]  place and size of docno, and of the layout's spans; hashes: uint64[n]
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
            for name, column in reversed(vars(self).items()):  # topic, by which it is seen, last: memory may run out
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
        self.lines = Lines(source, block)
        self.records = Parsed(2 + 2 * len(layout.spans))
        self._powers = powers_of_five()
        self._state = np.zeros(kernel.STATE_SIZE, np.int64)
        self._begins, self._ends = np.empty((2, kernel.MAX_COLUMNS), np.int64)
        self._edges = np.empty(0, np.uint64)
        self._flags = np.empty(64, np.uint8)
        self._slots = np.full(2, -1, np.int32)
        self._topics = np.empty((0, 4), np.int64)
        self._arena = np.empty(0, np.uint8)
        self.open(source, layout, compat, strict, faults)

    def open(self, source: Source, layout: Layout, compat: Compat, strict: bool, faults: Faults | None = None) -> None:
        """
        Turn to a file, with the memory there is.

        layout: has as many spans as the one before
        """
        self.source, self.layout, self.strict, self.faults = source, layout, strict, faults
        self.lines.open(source)
        self.odd = Oddities()
        self.tag = b""
        self._packed = layout.packed()
        if compat == "9.0.8":
            self._packed[kernel.COMMENTS] = kernel.NO_COMMENTS
        self._start = self._stop = 0  # of the lines to be parsed

    def let_go(self) -> None:
        """Keep the memory, and not the file."""
        self.source = self.lines.source = _NOTHING

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
                records = np.flatnonzero(self.column("topic") == number)
                if len(records):  # else all its lines were at fault, and dropped
                    found.append((1 + self.lines.count(0, int(self.records.spans[records[0], 0])), topic))
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

    def packed(self) -> Records:
        """The records in the buffer, after the whole file was read."""
        topics = [self.topic_id(number) for number in range(self.topics)]
        spans = np.ascontiguousarray(self.column("spans")[:, :2])
        topic, hashes = self.column("topic").astype(np.int64), self.column("hashes").copy()
        return Records(topics, topic, self.lines.data[: self.lines.stop], spans, hashes)

    def topic_id(self, number: int) -> bytes:
        """The id of a topic, by its number in order of appearance."""
        at, size = self._topics[number, :2]
        return self._arena[at : at + size].tobytes()

    def read_whole(self) -> None:
        """Read and parse the file to its end. Raises FileError, FormatError."""
        self.odd = Oddities()
        self._stop = self.lines.read(whole=True)
        self._start = self._begin(self._stop)
        self._look_for_returns(self._stop)
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
            self._look_for_returns(stop)
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
        kernel.find_edges(self.lines.data, start, stop, self._flags, self._edges)
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
        if comments := int(self._state[kernel.COMMENT_TOPICS]):
            place = int(self._state[kernel.COMMENT_AT])
            self.odd.comments, self.odd.comment = comments, (self.lines.line(place), self.place(place).text)

    def _parse(self, start: int, stop: int) -> int:
        """Parse the lines of data[start:stop]; the kernel's answer."""
        records, kept = self.records, self.count
        self._state[kernel.ODD] = self._state[kernel.TAG_SIZE] = 0
        status = kernel.parse(
            self.lines.data,
            start,
            stop,
            self._packed,
            self._powers,
            self._state,
            self._edges,
            self._begins,
            self._ends,
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

    def notes(self) -> list[str]:
        """What was odd, one line each."""
        return list(self.odd.notes(self.source.name, self.strict))

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
        start = 0
        while self.lines.data[start : start + len(BOM)].tobytes() == BOM:  # programs write one before that of others
            start += len(BOM)
        self.odd.mark = start > 0
        return start if self.strict else 0

    def _look_for_returns(self, stop: int) -> None:
        """
        Look for CRs inside lines, which are blanks to trec_eval: it takes a file without LFs for a single line.

        Strict, they are an error; who is told of faults sees the lines that are meant.
        """
        returns = self.lines.lone_returns(stop)
        if not len(returns):
            return
        line = self.lines.line(int(returns[0]))
        if self.strict and self.faults is None:
            raise FormatError(
                f"{self.source.name}:{line}: expected lines that end in LF or CR LF, found CR line ends: "
                "a CR without LF inside the line"
            )
        self.odd.add_returns(len(returns), line)
        if self.faults is not None:
            self.lines.data[returns] = ord("\n")

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
            self._slots = np.full(rank.table_size(lines), -1, np.int32)
            self._topics = np.empty((lines, 4), np.int64)
        if size > len(self._arena):
            self._arena = np.empty(size, np.uint8)
        if stop // 64 >= len(self._edges):
            self._edges = np.empty(stop // 64 + 1, np.uint64)

    def _read_odd(self, record: int, place: int) -> bool:
        """
        Read a value that is not plainly a number: strtod and strtol know every form, and what is none.

        Returns whether it was told to be at fault, and does not count.
        """
        text = self.lines.token(place)
        if self.layout.integer:
            value, rest = strtol(text)
            clamped = not rest and not -(2**63) <= int(text[:40]) < 2**63
            if rest and self.strict and not strtod(text)[1] and (whole := whole_level(text)) is not None:
                value, rest = whole, b""  # 1.0, as frames write levels
            self.records.level[record] = value
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


def powers_of_five() -> NDArray[np.uint64]:
    """The kernel's table, made once in a process."""
    global _powers
    if not len(_powers):
        _powers = kernel.powers_of_five()
    return _powers
