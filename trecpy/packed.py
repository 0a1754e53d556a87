"""Judgements and rankings as packed arrays: records that formats and inputs build, and how the two are joined."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from trecpy.arrays import end_to_end, sizes_of, spread, starts_of, starts_within
from trecpy.errors import TopicError
from trecpy.gains import Gains, Graded, grade
from trecpy.kernels import rank as kernel
from trecpy.kernels.dtypes import Bytes, Flags, Int32s, Integers, Reals, Words
from trecpy.kernels.parse import hash_all, join
from trecpy.protocol import Compat, Protocol
from trecpy.ranked import Ranked
from trecpy.tables import discounts
from trecpy.text import quoted


def as_stored(values: Reals, compat: Compat) -> Reals:
    """Scores or preference levels as a generation stores them: 9.0.8 as float32, where too large is infinite."""
    if compat != "9.0.8":
        return values
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


@functools.lru_cache(8)
def row_ids(count: int) -> tuple[bytes, ...]:
    """0, 1, ... as topic ids of one length, which stand in the order of rows."""
    return tuple(b"%0*d" % (len(str(count - 1)), row) for row in range(count))


def digest(docnos: Any, values: Any) -> bytes:
    """A hash of one ranking: its docnos as given, a newline behind each, and scores or levels."""
    import hashlib  # loaded late: trec_eval does without

    hashed = hashlib.sha256(docnos)
    hashed.update(values)
    return hashed.digest()


def coded(values: np.ndarray[Any, Any]) -> tuple[Integers, Reals | None]:
    """
    Levels as they are given to int64[N] and, where some are fractions, the values that these stand for.

    values: integers or finite floats [N]. Of fractions those >= 0 become their place among the distinct ones; below 0
    a level is rounded down, since no measure asks for more than that it is below 0.
    """
    if values.dtype.kind != "f" or bool((values == np.trunc(values)).all() and (np.abs(values) < 2.0**63).all()):
        return values.astype(np.int64, copy=False), None
    grades = np.unique(values[values >= 0]).astype(float)
    below = np.clip(np.floor(values), -(2.0**62), 0.0).astype(np.int64)
    return np.where(values < 0, below, np.searchsorted(grades, values)), grades


@dataclass(eq=False, repr=False)
class Records:
    """
    N pairs of a topic and a document, in any order: what is common to judgements and runs, wherever they come from.

    topics: the distinct topic ids, in order of appearance; topic: int64[N]  place of each record's topic in them
    data: uint8[]; spans: int64[N, 2]  place and size of each docno in data; hashes: uint64[N]  of each docno
    """

    topics: list[bytes]
    topic: Integers
    data: Bytes
    spans: Integers
    hashes: Words

    def sorted_topics(self) -> tuple[list[bytes], Integers]:
        """The topics in byte order, and int64[N]: place of each record's topic there."""
        by_bytes = sorted(range(len(self.topics)), key=self.topics.__getitem__)
        place = np.empty(len(self.topics), np.int64)
        place[by_bytes] = np.arange(len(self.topics))
        return [self.topics[number] for number in by_bytes], place[self.topic]


@dataclass(eq=False, repr=False)
class Documents:
    """
    Documents by unit, with the table by which a ranked document is found among them.

    data: uint8[]; spans: int64[J, 2]  place and size of each docno in data; hashes: uint64[J]
    starts: int64[U+1]  documents of unit u are starts[u]:starts[u+1]
    table, slots  as trecpy.kernels.rank.index() makes them
    repeated: int64[U, 2]  two places of the document that a unit names twice (the first in byte order), or -1
    """

    data: Bytes
    spans: Integers
    hashes: Words
    starts: Integers
    table: Integers
    slots: Int32s
    repeated: Integers

    @classmethod
    def indexed(cls, data: Bytes, spans: Integers, hashes: Words, starts: Integers) -> "Documents":
        """Make the table."""
        table = kernel.table_starts(sizes_of(starts))
        slots = np.full(table[-1], -1, np.int32)
        repeated = np.full((len(starts) - 1, 2), -1, np.int64)
        kernel.index(data, spans, hashes, starts, table, slots, repeated)
        return cls(data, spans, hashes, starts, table, slots, repeated)

    @classmethod
    def anonymous(cls, starts: Integers) -> "Documents":
        """Documents without docnos, which no ranking has to be looked up in."""
        count, units = int(starts[-1]), len(starts) - 1
        none, spans = np.zeros(0, np.uint8), np.zeros((count, 2), np.int64)
        twice = np.full((units, 2), -1, np.int64)
        return cls(
            none, spans, np.zeros(count, np.uint64), starts, np.zeros(units + 1, np.int64), none.view(np.int32), twice
        )

    def docno(self, j: int) -> bytes:
        """The docno of document j."""
        at, size = self.spans[j]
        return self.data[at : at + size].tobytes()

    def line(self, j: int) -> int:
        """Number of the line that document j stands in."""
        return 1 + int(np.count_nonzero(self.data[: self.spans[j, 0]] == ord("\n")))

    def first_repeated(self) -> tuple[int, int, int] | None:
        """The first unit that names a document twice, and where; or None."""
        units = np.flatnonzero(self.repeated[:, 0] >= 0)
        return (int(units[0]), *self.repeated[units[0]].tolist()) if len(units) else None


@dataclass(eq=False, repr=False)
class Block:
    """
    The rankings of some topics, as a run file has them: not in rank order.

    topics: list of B topic ids; starts: int64[B+1]  records of topic b are starts[b]:starts[b+1]
    data, spans, hashes  the docnos, as in Documents, one a record; scores: float64[N]
    before: lines of the file that lie before data[0]; None: it came from no file
    stated: are the scores minus the ranks that the run states instead?
    """

    topics: list[bytes]
    starts: Integers
    data: Bytes
    spans: Integers
    hashes: Words
    scores: Reals
    before: int | None
    stated: bool = False

    @classmethod
    def of(cls, records: Records, scores: Reals, stated: bool = False) -> "Block":
        """All the rankings of a run, its topics in order of appearance. scores: float64[N]; stated: as Block has it"""
        topic = records.topic
        order = np.argsort(topic, kind="stable") if np.any(np.diff(topic) < 0) else slice(None)
        starts = np.searchsorted(topic[order], np.arange(len(records.topics) + 1))
        spans, hashes = records.spans[order], records.hashes[order]
        return cls(records.topics, starts, records.data, spans, hashes, scores[order], None, stated)

    def _without_self(self) -> "Block":
        """The same without documents whose docno is their topic's id."""
        spans = end_to_end(np.fromiter(map(len, self.topics), np.int64, len(self.topics)))
        hashes = np.empty(len(spans), np.uint64)
        hash_all(np.frombuffer(b"".join(self.topics), np.uint8), spans, hashes)
        alike = np.flatnonzero(self.hashes == hashes[self.topic]).tolist()
        kept = np.ones(len(self.topic), bool)
        kept[[record for record in alike if self.docno(record) == self.topics[self.topic[record]]]] = False
        return self.only(kept)

    def _at_ranks(self) -> "Block":
        """
        The same without documents at whose rank a later one stands.

        Raises TopicError: a rank that is no integer, or below 1.
        """
        rank = -self.scores
        wrong = ~((rank >= 1) & (rank < 2**53) & (rank == np.trunc(rank)))
        if np.count_nonzero(wrong):
            record = int(np.argmax(wrong))
            line = self.line(record)
            raise TopicError(
                f"topic {quoted(self.topics[self.topic[record]])}: expected ranks that are integers >= 1, found "
                f"{rank[record]:g}" + (f" in line {line}" if line else "")
            )
        topic = self.topic
        order = np.lexsort((rank, topic))  # of equal ones the later one is last
        again = (np.diff(rank[order]) == 0) & (np.diff(topic[order]) == 0)
        kept = np.ones(len(rank), bool)
        kept[order[:-1][again]] = False
        return self.only(kept)

    @property
    def topic(self) -> Integers:
        """int64[N]: the place of each record's topic in topics."""
        return np.repeat(np.arange(len(self.topics)), sizes_of(self.starts))

    def only(self, kept: Flags) -> "Block":
        """The same with some records: bool[N]."""
        starts = starts_within(kept, self.starts)
        return replace(self, starts=starts, spans=self.spans[kept], hashes=self.hashes[kept], scores=self.scores[kept])

    def some(self, chosen: Integers) -> "Block":
        """The rankings `chosen`: int64[n]."""
        sizes = sizes_of(self.starts)[chosen]
        starts, records = starts_of(sizes), spread(self.starts[chosen], sizes)
        topics = [self.topics[b] for b in chosen.tolist()]
        spans, hashes, scores = self.spans[records], self.hashes[records], self.scores[records]
        return replace(self, topics=topics, starts=starts, spans=spans, hashes=hashes, scores=scores)

    def under(self, protocol: Protocol) -> "Block":
        """The same without documents that the protocol does not rank."""
        block = self._at_ranks() if protocol.ties == "rank" and self.stated else self
        return block._without_self() if protocol.ignore_self else block

    def rank(self, judgements: "Judgements", places: Integers, protocol: Protocol, every: bool) -> Ranked:
        """As Judgements.rank has it."""
        ranked = judgements.rank(self, places, protocol, every)
        if protocol.ties != "rank" or not self.stated:
            return ranked
        if not len(self.scores):
            return ranked
        # The n-th document of a topic stands at its n-th smallest rank.
        rank = -self.scores[np.lexsort((-self.scores, self.topic))].astype(np.int64)
        topic = np.repeat(np.arange(len(places)), judgements.units[places + 1] - judgements.units[places])
        begins, ends = self.starts[topic], self.starts[topic + 1]
        at = rank[begins[ranked.query] + ranked.rank - 1]
        num_ret = np.where(ends > begins, rank[np.maximum(ends, 1) - 1], 0)
        return replace(ranked, num_ret=num_ret, rank=at, first=at, last=at)

    def digests(self) -> list[bytes]:
        """A hash of each topic's ranking."""
        ends = starts_of(self.spans[:, 1] + 1)
        joined = np.empty(ends[-1], np.uint8)
        join(self.data, self.spans, joined)
        bounds = zip(pairwise(ends[self.starts].tolist()), pairwise(self.starts.tolist()), strict=True)
        if np.count_nonzero(joined == ord("\n")) == len(self.spans):
            return [digest(joined[a:b], self.scores[begin:end]) for (a, b), (begin, end) in bounds]
        sizes = np.ascontiguousarray(self.spans[:, 1])  # ids with line ends: where they end must be told
        return [digest(joined[a:b], sizes[begin:end].tobytes() + self.scores[begin:end].tobytes())
                for (a, b), (begin, end) in bounds]  # fmt: skip

    def docno(self, record: int) -> bytes:
        """The docno of a record."""
        at, size = self.spans[record]
        return self.data[at : at + size].tobytes()

    def line(self, record: int) -> int | None:
        """Number of the line that a record stands in, where it came from a file."""
        if self.before is None:
            return None
        return self.before + 1 + int(np.count_nonzero(self.data[: self.spans[record, 0]] == ord("\n")))


_DUPLICATES = {
    "first": kernel.KEEP_FIRST,
    "last": kernel.KEEP_LAST,
    "max": kernel.KEEP_LARGEST,
    "keep": kernel.KEEP_ALL,
}


@dataclass(eq=False, repr=False)
class Judgements:
    """
    What every kind of judgements has: topics in byte order, each with one unit, or one for each of its groups.

    form: the name of the format, as -R has it; name: of the file
    units: int64[T+1]  units of topic t are units[t]:units[t+1]; level: int64[J]  of each document
    """

    form: str
    name: str
    topics: list[bytes]
    units: Integers
    documents: Documents
    level: Integers
    ties: int = kernel.LARGER_FIRST
    _names: list[list[str]] = field(default_factory=list, init=False)

    @cached_property
    def places(self) -> dict[bytes, int]:
        """Topic -> its place."""
        return {topic: t for t, topic in enumerate(self.topics)}

    def find(self, topics: Sequence[bytes]) -> Integers:
        """int64[B]: place of each topic among the judged ones, -1 where it is not judged."""
        places = self.places
        return np.array([places.get(topic, -1) for topic in topics], np.int64)

    @property
    def names(self) -> list[list[str]]:
        """The docnos of each topic's documents, as strings; made once."""
        if not self._names:
            documents = self.documents
            raw, spans = documents.data.tobytes(), documents.spans.tolist()
            names = [raw[at : at + size].decode("utf-8", "surrogateescape") for at, size in spans]
            bounds = pairwise(documents.starts[self.units].tolist())
            self._names.extend(names[begin:end] for begin, end in bounds)
        return self._names

    def digests(self) -> dict[bytes, bytes]:
        """Each topic -> a hash of its judgements, whatever their order was."""
        import hashlib

        documents = self.documents
        raw, spans = documents.data.tobytes(), documents.spans.tolist()
        hashes: dict[bytes, bytes] = {}
        for t, topic in enumerate(self.topics):
            hashed = hashlib.sha256()
            for begin, end in pairwise(documents.starts[self.units[t] : self.units[t + 1] + 1].tolist()):
                docnos = [raw[at : at + size] for at, size in spans[begin:end]]
                order = sorted(range(end - begin), key=docnos.__getitem__)
                joined = b"".join(docnos[j] + b"\n" for j in order)
                if joined.count(b"\n") != end - begin:  # ids with line ends: where they end must be told
                    joined = b"".join(b"%d:%b\n" % (len(docnos[j]), docnos[j]) for j in order)
                hashed.update(digest(joined, self.given_levels(np.array(order, np.int64) + begin)))
            hashed.update(self.lines_of(t))
            hashes[topic] = hashed.digest()
        return hashes

    def given_levels(self, documents: Integers) -> Integers | Reals:
        """Levels of documents, as they were given."""
        return self.level[documents]

    def lines_of(self, t: int) -> bytes:
        """What topic t has besides documents with levels."""
        return b""

    def rank(self, block: Block, places: Integers, protocol: Protocol, every: bool = False) -> Ranked:
        """
        Rank each topic of a block and look its documents up.

        places: int64[B], none of them -1; every: give documents outside the judgements rows too
        """
        units = np.stack((self.units[places], self.units[places + 1]), axis=1)
        each = units[:, 1] - units[:, 0]
        rankings = int(each.sum())
        sizes = sizes_of(block.starts)
        longest, most = int(sizes.max(initial=0)), int((each * sizes).sum())
        num_ret, row_starts = np.empty(rankings, np.int64), np.zeros(rankings + 1, np.int64)
        rows = np.empty((kernel.ROW_SIZE, most), np.int64)
        tied_pairs, repeated = np.empty(len(places), np.int64), np.empty((len(places), 3), np.int64)
        scores = as_stored(block.scores, protocol.compat) + 0.0  # -0.0 is 0.0, also bit by bit
        kernel.rank(
            block.data,
            block.spans,
            block.hashes,
            scores,
            scores.view(np.uint64),
            block.starts,
            units,
            self.documents.data,
            self.documents.spans,
            self.documents.hashes,
            self.level,
            self.documents.table,
            self.documents.slots,
            kernel.AS_GIVEN if protocol.ties == "input" else self.ties,
            _DUPLICATES.get(protocol.duplicates, kernel.REPORT),
            2**62 if protocol.depth is None else protocol.depth,
            every,
            np.empty(longest, np.int64),
            np.empty(longest, np.int64),
            np.empty(longest + 1, np.int64),
            np.empty(257, np.int64),
            np.empty(kernel.table_size(2 * longest), np.int32),
            num_ret,
            row_starts,
            rows,
            tied_pairs,
            repeated,
        )
        unit = np.repeat(units[:, 1] - np.cumsum(each), each) + np.arange(rankings)
        rank, level, document, first, last = rows[:, : row_starts[-1]]
        return Ranked(unit, num_ret, row_starts, rank, level, document, first, last, tied_pairs, repeated)


@dataclass(eq=False, repr=False)
class Qrels(Judgements):
    """
    Judgements by level, those below 0 unjudged: -R qrels, one unit a topic, or -R qrels_jg, one a group.

    grades: float64[n], ascending, where levels are no integers: a level is then the place of its value here
    """

    grades: Reals | None = None
    _memo: dict[object, object] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls,
        name: str,
        records: Records,
        level: Integers,
        group: Integers | None = None,
        grades: Reals | None = None,
    ) -> "Qrels":
        """
        Pack judgements.

        level: int64[N]  of each record; grades: as Qrels has them
        group: int64[N]  place in byte order of its group of judgements, if any
        """
        topics, topic = records.sorted_topics()
        key = topic if group is None else topic * (int(group.max(initial=0)) + 1) + group
        spans, hashes = records.spans, records.hashes
        if np.any(np.diff(key) < 0):
            order = np.argsort(key, kind="stable")
            topic, key, spans, hashes, level = topic[order], key[order], spans[order], hashes[order], level[order]
        if group is None:  # a topic may be without documents
            starts, units = np.searchsorted(topic, np.arange(len(topics) + 1)), np.arange(len(topics) + 1)
        else:
            starts = np.append(np.flatnonzero(np.diff(key, prepend=-1)), len(key))
            units = np.searchsorted(topic[starts[:-1]], np.arange(len(topics) + 1))
        documents = Documents.indexed(records.data, spans, hashes, starts)
        form = "qrels" if group is None else "qrels_jg"
        return cls(form, name, topics, units, documents, level, grades=grades)

    def code(self, level: float) -> int:
        """The smallest level, as documents have it here, that is at least `level`; below 0 where that is."""
        if level < 0 or self.grades is None:
            return max(-(2**63), min(math.ceil(level), 2**63 - 1))
        return int(np.searchsorted(self.grades, level))

    def value(self, levels: Integers) -> Reals:
        """float64[n]: the levels as they were given, 0 for those below 0."""
        if self.grades is None:
            return np.maximum(levels, 0).astype(float)
        return np.where(levels >= 0, np.append(self.grades, 0.0)[np.maximum(levels, 0)], 0.0)

    def given_levels(self, documents: Integers) -> Integers | Reals:
        """Levels of documents, as they were given, those below 0 rounded down."""
        level = self.level[documents]
        return level if self.grades is None else np.where(level < 0, level, self.value(level))

    def first_fraction(self) -> tuple[bytes, bytes, float] | None:
        """Topic, docno and level of the first level that is no integer, or None."""
        if self.grades is None:
            return None
        values = self.value(self.level)
        return self._first(values, values != np.trunc(values))

    def first_above(self, largest: float) -> tuple[bytes, bytes, float] | None:
        """The same of the first level above `largest`."""
        values = self.value(self.level)
        return self._first(values, values > largest)

    def _first(self, values: Reals, chosen: Flags) -> tuple[bytes, bytes, float] | None:
        """Topic, docno and level of the first document that is chosen. values, chosen: float64[J], bool[J]"""
        if not np.count_nonzero(chosen):
            return None
        j = int(np.argmax(chosen))
        topic = int(np.searchsorted(self.documents.starts[self.units], j, "right")) - 1
        return self.topics[topic], self.documents.docno(j), float(values[j])

    def count(self, least: int, below: int | None = None) -> Integers:
        """int64[U]: documents of each unit with a level >= 0, >= least and < below; counted once."""
        if (least, below) not in self._memo:
            self._memo[least, below] = self._count(least, below)
        return self._memo[least, below]  # type: ignore[return-value]

    def _count(self, least: int, below: int | None) -> Integers:
        counted = (self.level >= max(least, 0)) & (self.level < below if below is not None else True)
        return sizes_of(starts_within(counted, self.documents.starts))

    def ideal_dcg(self, gains: Gains, rank: int) -> Reals:
        """float64[U]: the DCG of each unit's ideal ranking down to a rank; worked out once."""
        if (gains, rank) not in self._memo:
            self._memo[gains, rank] = self.graded(gains).ideal_dcg(np.arange(len(self.documents.starts) - 1), rank)
        return self._memo[gains, rank]  # type: ignore[return-value]

    def graded(self, gains: Gains) -> Graded:
        """Gains and ideal rankings; worked out once for each choice of gains."""
        if gains not in self._memo:
            longest = int(sizes_of(self.documents.starts).max(initial=0))
            self._memo[gains] = grade(self.level, self.grades, self.documents.starts, gains, discounts(longest))
        return self._memo[gains]  # type: ignore[return-value]


@dataclass(eq=False, repr=False)
class Preferences(Judgements):
    """
    Preferences between documents: -R prefs or -R qrels_prefs. A topic is one unit of distinct documents in byte order.

    lines: int64[T+1]  lines of topic t are lines[t]:lines[t+1], sorted by group and subgroup
    group, subgroup: int64[L]  place in byte order of the name; document: int64[L]; line_level: float64[L]
    """

    lines: Integers = field(default_factory=lambda: np.zeros(1, np.int64))
    group: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    subgroup: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    document: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    line_level: Reals = field(default_factory=lambda: np.zeros(0))

    def lines_of(self, t: int) -> bytes:
        """The topic's lines: groups and subgroups by their order, documents, levels."""
        chosen = slice(self.lines[t], self.lines[t + 1])
        columns = (self.group, self.subgroup, self.document)
        ranks = [np.unique(column[chosen], return_inverse=True)[1].astype(np.int64) for column in columns]
        return b"".join(column.tobytes() for column in [*ranks, self.line_level[chosen]])
