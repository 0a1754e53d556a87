"""What is odd in judgements and runs, and what it does to scores: small checks over the blocks of one pass."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import numpy as np

from trecpy.arrays import end_to_end
from trecpy.errors import TrecpyError
from trecpy.evaluation import score, tie_range
from trecpy.files import all_joined, first_of_each, open_run, read_parts
from trecpy.findings import Findings
from trecpy.formats.columns import DOCNO_NAMES, LEVEL_NAMES, RANK_NAMES, SCORE_NAMES, TOPIC_NAMES
from trecpy.formats.sniff import layout_of
from trecpy.formats.source import Source
from trecpy.formats.trec import JUDGEMENT_LAYOUTS, RUN_LAYOUT, Place, Reader, RunReader
from trecpy.kernels.dtypes import Bytes, Flags, Integers
from trecpy.kernels.parse import hash_all
from trecpy.names import parse_names
from trecpy.packed import Block, Qrels, Records, coded
from trecpy.plan import Plan
from trecpy.protocol import Protocol
from trecpy.text import quoted, shown

MEASURES = ("map", "recip_rank", "P_10", "ndcg_cut_10", "recall_1000")
_UNJUDGED = ("unj_5", "unj_10", "unj_20")
_HUGE = 100
_SAMPLE = 10_000  # documents that are looked at for ids that nearly match
_MOST_NAMES = 100_000  # judged ones that these are compared with
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_LIKELY = 0.01  # that share of them must nearly match: some collections have ids that differ by case alone
_NAMES = {
    name.encode() for name in (*TOPIC_NAMES, *DOCNO_NAMES, *LEVEL_NAMES, *SCORE_NAMES, *RANK_NAMES, "iter", "tag")
}
_RUN_LAYOUT = replace(RUN_LAYOUT, spans=("rank", "tag"))
_RANK, _TAG = 2, 4  # where the spans of a record have them
_MOST_DIGITS = 18
_PLAIN = bytes(byte for byte in range(256) if 0x21 <= byte < 0x7F or byte in b" \t\n\v\f\r")
_ODD_BYTES = ~np.isin(np.arange(256), list(_PLAIN))


@dataclass(frozen=True)
class Judged:
    """Judgements that runs are checked against. hashes: uint64[n], sorted, of the judged documents."""

    plan: Plan
    hashes: Any

    @property
    def qrels(self) -> Qrels:
        """The judgements, each document of a topic once."""
        assert isinstance(self.plan.judgements, Qrels)
        return self.plan.judgements


@dataclass(frozen=True)
class Rows:
    """
    Records that lie in a file's bytes.

    topics, topic: as Records has them; spans: int64[N, 2 or 6]  place and size of docno, and of rank and tag
    line: says the line of data[place]; None: it came from a table
    """

    topics: list[bytes]
    topic: Integers
    data: Bytes
    spans: Integers
    hashes: Any
    values: Any
    line: Callable[[int], int] | None

    def docno(self, row: int) -> bytes:
        """The docno of a row."""
        return self.text(row, 0)

    def text(self, row: int, column: int) -> bytes:
        """One of its spans."""
        at, size = self.spans[row, column : column + 2]
        return self.data[at : at + size].tobytes()

    def say(self, row: int) -> str:
        """The row as an example: its line, or its ids."""
        place = int(self.spans[row, 0])
        if self.line is None:
            return f"topic {quoted(self.topics[self.topic[row]])}, docno {quoted(self.docno(row))}"
        before = self.data[max(0, place - 1000) : place].tobytes().split(b"\n")[-1]
        behind = self.data[place : place + 1000].tobytes().split(b"\n")[0]
        return _example(self.line(place), before + behind)

    def examples(self, rows: Iterable[int]) -> Iterator[str]:
        """Rows as examples, made when asked for."""
        return (self.say(int(row)) for row in rows)


def _example(line: int, text: bytes) -> str:
    said = shown(text.strip())
    return f"line {line}: {said if len(said) <= 80 else said[:77] + '...'}"


class _Faults:
    """Lines that cannot be read, as findings."""

    CODES = ("malformed-line", "blank-line", "bad-value", "nan-score", "header")

    def __init__(self, found: Findings) -> None:
        self._found = found

    def line(self, found: int, place: Place) -> None:
        self._add("malformed-line" if found else "blank-line", place)

    def value(self, value: float, place: Place) -> None:
        self._add("nan-score" if value != value else "bad-value", place)

    def again(self) -> None:
        self._found.forget(self.CODES)

    def _add(self, code: str, place: Place) -> None:
        said = []
        if self._found.wants(code):
            number, text = place()
            said = [_example(number, text)]
            words = set(re.split(rb"[\s,;]+", text.removeprefix(b"\xef\xbb\xbf").lower()))
            if number == 1 and code != "nan-score" and len(words & _NAMES) > 1:
                code = "header"
        self._found.add(code, 1, said)


# Judgements


def check_qrels(source: Source, layout: str | None) -> tuple[Findings, Judged | None]:
    """Check judgements; what can be read of them, for the runs, or None."""
    found = Findings(source.name, "qrels")
    with source:
        try:
            rows = _qrels_rows(source, layout, found)
        except TrecpyError as error:
            found.add("unreadable", 1, [str(error)])
            return found, None
    if rows is None or not len(rows.topic):
        found.add("no-records", 1)
        return found, None
    found.records, found.topics = len(rows.topic), len(rows.topics)
    for check in QRELS_CHECKS:
        check(rows, found)
    records = Records(rows.topics, rows.topic, rows.data, np.ascontiguousarray(rows.spans[:, :2]), rows.hashes)
    kept = first_of_each(records)
    records = replace(records, topic=records.topic[kept], spans=records.spans[kept], hashes=records.hashes[kept])
    level, grades = coded(rows.values[kept])
    qrels = Qrels.of(source.name, records, level, grades=grades)
    without = np.flatnonzero(qrels.count(qrels.code(np.nextafter(0, 1))) == 0)
    found.add("no-relevant", len(without), (f"topic {quoted(qrels.topics[t])}" for t in without.tolist()))
    protocol = Protocol(duplicates="first", gains="float" if grades is not None else "level")
    columns = parse_names([*MEASURES, *_UNJUDGED], protocol.compat)
    return found, Judged(Plan(qrels, columns, protocol), np.unique(rows.hashes))


def _qrels_rows(source: Source, asked: str | None, found: Findings) -> Rows | None:
    layout = layout_of(source, "qrels", asked)
    if layout not in ("trec", "msmarco"):
        parts = list(read_parts(source, layout, "qrels", fractions=True))
        if not parts:
            return None
        records, values = all_joined(parts)
        topic, spans = records.topic, records.spans
        return Rows(records.topics, topic, records.data, spans, records.hashes, values.astype(float), None)
    found.lines = layout == "trec"
    form = replace(JUDGEMENT_LAYOUTS["qrels"], integer=False)
    reader = Reader(source, form, "10.0", strict=True, faults=_Faults(found))
    reader.read_whole()
    _take_notes(list(reader.odd.notes(found.name)), found)
    records = reader.packed()
    return Rows(
        records.topics, records.topic, records.data, records.spans, records.hashes, reader.column("score"),
        reader.lines.line,
    )  # fmt: skip


def _take_notes(notes: Sequence[str], found: Findings) -> None:
    """What readers say in words."""
    for note in notes:
        if "byte order mark" in note:
            found.add("byte-order-mark", 1, ["line 1"])
        elif "not together" in note:
            found.add("split-topic", 1, [note.removeprefix(f"{found.name}:")])


def _repeated(rows: Rows) -> tuple[Integers, Integers]:
    """Rows whose document their topic has already, and the rows that had it."""
    order = np.lexsort((rows.hashes, rows.topic))
    alike = (np.diff(rows.topic[order]) == 0) & (np.diff(rows.hashes[order]) == 0)
    places = np.flatnonzero(alike)
    return order[places + 1], order[places]


def duplicate_judgements(rows: Rows, found: Findings) -> None:
    """A document judged twice."""
    again, before = _repeated(rows)
    other = int(np.count_nonzero(rows.values[again] != rows.values[before]))
    detail = f"{other:,} of them with another level" if other else "all say the same again"
    found.add("duplicate-judgement", len(again), rows.examples(np.sort(again)), detail)


def levels(rows: Rows, found: Findings) -> None:
    """Levels that are unusual."""
    for code, odd in (
        ("fractional-level", rows.values != np.trunc(rows.values)),
        ("negative-level", rows.values < 0),
        ("huge-level", rows.values > _HUGE),
    ):
        where = np.flatnonzero(odd)
        found.add(code, len(where), rows.examples(where))


def odd_ids(rows: Rows, found: Findings) -> None:
    """Ids that are likely to be another string elsewhere."""
    odd_topics = {t for t, topic in enumerate(rows.topics) if _is_odd(topic)}
    at, ends = rows.spans[:, 0], rows.spans[:, 0] + rows.spans[:, 1]
    candidates: list[int] = []
    begin, end = int(at.min(initial=len(rows.data))), int(ends.max(initial=0))
    if rows.data[begin:end].tobytes().translate(None, _PLAIN):  # seldom: what follows takes 20 times as long
        count = np.concatenate(([0], np.cumsum(_ODD_BYTES[rows.data])))
        candidates = np.flatnonzero(count[ends] > count[at]).tolist()
    known: dict[int, bool] = {}
    odd = []
    for row in candidates:
        key = int(rows.hashes[row])
        if key not in known:
            known[key] = _is_odd(rows.docno(row))
        if known[key]:
            odd.append(row)
    if odd_topics:
        odd = sorted({*odd, *np.flatnonzero(np.isin(rows.topic, list(odd_topics))).tolist()})
    found.add("odd-id", len(odd), rows.examples(odd))


def _is_odd(name: bytes) -> bool:
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return True
    spaced = any(c.isspace() or not c.isprintable() for c in text)
    return spaced or not unicodedata.is_normalized("NFC", text)


QRELS_CHECKS = (duplicate_judgements, levels, odd_ids)


# Runs


def check_run(source: Source, layout: str | None, judged: Judged | None, depth: int | None) -> Findings:
    """Check a run, against judgements where there are any. depth: documents that every topic should have, or None."""
    found = Findings(source.name, "run")
    state = _Run(found, judged, depth)
    with source:
        try:
            found.lines = layout_of(source, "run", layout) == "trec"
            if found.lines:
                reader: Any = RunReader(source, "10.0", strict=True, layout=_RUN_LAYOUT, faults=_Faults(found))
            else:
                reader = open_run(source, "10.0", layout)
            blocks = state.checked(reader.blocks())
            scores = None
            if judged is None:
                for _ in blocks:
                    pass
            else:
                scores = score(judged.plan, blocks, witness=True)
            _take_notes(reader.notes, found)
        except TrecpyError as error:
            found.add("unreadable", 1, [str(error)])
            return found
    found.records, found.topics = sum(state.sizes.values()), len(state.sizes)
    if not found.records:
        found.add("no-records", 1)
    state.conclude(scores)
    return found


class _Run:
    """What is kept of a run from block to block: little for each topic."""

    def __init__(self, found: Findings, judged: Judged | None, depth: int | None) -> None:
        self.found, self.judged, self.depth = found, judged, depth
        self.sizes: dict[bytes, int] = {}
        self.tag: bytes | None = None
        self.tags: set[bytes] = set()
        self.near: dict[bytes, str] = {}  # docnos without judgements -> as they are compared
        self.matched = False

    def checked(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Check each block, and hand it on."""
        for block in blocks:
            if not self.sizes.keys().isdisjoint(block.topics):  # all topics come once more
                self.found.forget(_BLOCK_CODES)
                self.__init__(self.found, self.judged, self.depth)  # type: ignore[misc]
            sizes = np.diff(block.starts)
            self.sizes.update(zip(block.topics, sizes.tolist(), strict=True))
            topic = np.repeat(np.arange(len(sizes)), sizes)
            line = _line_in(block) if block.before is not None else None
            rows = Rows(block.topics, topic, block.data, block.spans, block.hashes, block.scores, line)
            for check in RUN_CHECKS:
                check(rows, self.found)
            if rows.spans.shape[1] > _TAG:
                self._check_tags(rows)
            if self.judged is not None:
                self._sample(rows)
            yield replace(block, spans=np.ascontiguousarray(block.spans[:, :2]))

    def _check_tags(self, rows: Rows) -> None:
        hashes = np.empty(len(rows.spans), np.uint64)
        hash_all(rows.data, np.ascontiguousarray(rows.spans[:, _TAG : _TAG + 2]), hashes)
        _, first = np.unique(hashes, return_index=True)
        for row in np.sort(first).tolist():
            tag = rows.text(row, _TAG)
            if self.tags and tag not in self.tags:
                self.found.add("several-tags", 1, rows.examples([row]))
            self.tags.add(tag)

    def _sample(self, rows: Rows) -> None:
        """Some documents without judgements, for the comparison of ids."""
        assert self.judged is not None
        if len(self.near) >= _SAMPLE and self.matched:
            return
        places = np.minimum(np.searchsorted(self.judged.hashes, rows.hashes), len(self.judged.hashes) - 1)
        unmatched = np.flatnonzero(self.judged.hashes[places] != rows.hashes)
        self.matched = self.matched or len(unmatched) < len(rows.hashes)
        for docno in map(rows.docno, unmatched[: _SAMPLE - len(self.near)].tolist()):
            self.near[docno] = _compared(docno)

    def conclude(self, scores: Any) -> None:
        """What is known only at the end."""
        usual = Counter(self.sizes.values()).most_common(1)[0][0] if self.sizes else 0
        wanted = usual if self.depth is None else self.depth
        short = [topic for topic, size in self.sizes.items() if size < wanted]
        self.found.add(
            "short-ranking",
            len(short),
            (f"topic {quoted(topic)}: {self.sizes[topic]:,} of {wanted:,}" for topic in short),
            severity="note" if self.depth is None else None,
        )
        if scores is None or self.judged is None:
            return
        missing = sorted(scores.judged.keys() - scores.present)
        unjudged = sorted(scores.unjudged)
        for code, topics in (("missing-topic", missing), ("unjudged-topic", unjudged)):
            self.found.add(code, len(topics), (f"topic {quoted(topic)}" for topic in topics))
        self._compare_ids(missing, unjudged, bool(scores.present))
        if scores.present:
            self._measure(scores)

    def _compare_ids(self, missing: list[bytes], unjudged: list[bytes], some_topics: bool) -> None:
        assert self.judged is not None
        known = {_compared(topic): topic for topic in missing}
        pairs = [(topic, known[same]) for topic in unjudged if (same := _compared(topic)) in known]
        said = [f"topic {quoted(run)} in the run, {quoted(qrels)} in the judgements" for run, qrels in pairs]
        self.found.add("near-id", len(pairs), said, severity=None if some_topics else "error")
        if not self.near:
            return
        documents = self.judged.qrels.documents
        known = {_compared(name): name for name in map(documents.docno, range(min(len(documents.spans), _MOST_NAMES)))}
        names = {docno: known[same] for docno, same in self.near.items() if same in known}
        if len(names) >= _LIKELY * len(self.near):
            self.found.add(
                "near-id",
                len(names),
                (f"docno {quoted(run)} in the run, {quoted(qrels)} in the judgements" for run, qrels in names.items()),
                severity=None if self.matched else "error",
            )

    def _measure(self, scores: Any) -> None:
        """What ties and missing judgements can do to scores."""
        names = [column.name for column in scores.columns]
        values = dict(zip(names, scores.summary(), strict=True))
        worst, best = (dict(zip(names, bound.summary(), strict=True)) for bound in tie_range(scores))
        moved = [
            f"{name} {values[name]:.4f} ({worst[name]:.4f} to {best[name]:.4f})"
            for name in MEASURES
            if abs(best[name] - worst[name]) >= 0.00005
        ]
        if "tied-scores" in self.found and moved:
            self.found.add_detail("tied-scores", "by the order of ties: " + ", ".join(moved), "warning")
        place = names.index(_UNJUDGED[-1])
        some = np.flatnonzero(scores.per_query[:, place] > 0)
        present = [t for t in some.tolist() if scores.topics[t] in scores.present]
        topics = len(scores.present)
        shares = {
            name: sum(scores.per_query[t, names.index(name)] for t in range(len(scores.topics))
                      if scores.topics[t] in scores.present) / topics
            for name in _UNJUDGED
        }  # fmt: skip
        detail = "share " + ", ".join(f"{share:.1%} at {name[4:]}" for name, share in shares.items())
        self.found.add(
            "unjudged-documents",
            len(present),
            (
                f"topic {quoted(scores.topics[t])}: {scores.per_query[t, place]:.0%} of the first 20"
                for t in sorted(present, key=lambda t: -scores.per_query[t, place])
            ),
            f"{detail}, of {topics:,} topics",
        )


def _line_in(block: Block) -> Callable[[int], int]:
    before = block.before or 0
    return lambda place: before + 1 + int(np.count_nonzero(block.data[:place] == ord("\n")))


def _compared(name: bytes) -> str:
    """An id without case, zeros in front of numbers, and traces of encodings."""
    try:
        text = name.decode()
    except UnicodeDecodeError:
        text = name.decode("latin-1")
    if "%" in text:
        text = unquote(text, errors="surrogateescape")
    if not text.isascii():
        try:
            text = text.encode("latin-1").decode()  # UTF-8 that was read as Latin-1 and written again
        except UnicodeError:
            pass
        text = unicodedata.normalize("NFKC", text)
    text = "".join(text.split()).strip("\"'\ufeff").casefold()
    return _ZEROS.sub("", text) if "0" in text else text


def infinite_scores(rows: Rows, found: Findings) -> None:
    """Scores that are not finite."""
    where = np.flatnonzero(np.isinf(rows.values))
    found.add("infinite-score", len(where), rows.examples(where))


def duplicate_documents(rows: Rows, found: Findings) -> None:
    """A document ranked twice."""
    again, before = _repeated(rows)
    other = int(np.count_nonzero(rows.values[again] != rows.values[before]))
    found.add("duplicate-document", len(again), rows.examples(np.sort(again)),
              "some with another score" if other else "")  # fmt: skip


def ties(rows: Rows, found: Findings) -> None:
    """Equal scores, and those that only 64 bits tell apart."""
    order = np.lexsort((rows.values, rows.topic)) if not _falling(rows) else np.arange(len(rows.topic))
    topic, scores = rows.topic[order], rows.values[order]
    together = np.diff(topic) == 0
    for code, alike in (
        ("tied-scores", together & (np.diff(scores) == 0)),
        ("float32-tie", together & (np.diff(scores) != 0) & _alike_as_float32(scores)),
    ):
        tied = np.append(alike, False) | np.insert(alike, 0, False)
        where = np.sort(order[tied]) if found.wants(code) else np.zeros(0, np.int64)
        found.add(code, int(np.count_nonzero(tied)), rows.examples(where))


def _falling(rows: Rows) -> bool:
    """Are scores in order already?"""
    return not np.any((np.diff(rows.values) > 0) & (np.diff(rows.topic) == 0))


def _alike_as_float32(scores: Any) -> Flags:
    with np.errstate(over="ignore"):
        alike: Flags = np.diff(scores.astype(np.float32).view(np.uint32)) == 0
    return alike


def ranks(rows: Rows, found: Findings) -> None:
    """Ranks that contradict the scores."""
    if rows.spans.shape[1] <= _RANK:
        return
    given = _integers(rows.data, rows.spans[:, _RANK], rows.spans[:, _RANK + 1])
    if given is None:
        return
    order = np.lexsort((given, rows.topic)) if np.any((np.diff(given) < 0) & (np.diff(rows.topic) == 0)) else None
    topic, rank, scores = (column if order is None else column[order] for column in (rows.topic, given, rows.values))
    wrong = 1 + np.flatnonzero((np.diff(topic) == 0) & (np.diff(rank) > 0) & (np.diff(scores) > 0))
    found.add("rank-contradicts-score", len(wrong), rows.examples(wrong if order is None else np.sort(order[wrong])))


def _integers(data: Bytes, at: Integers, size: Integers) -> Integers | None:
    """int64[N]: plain integers at these places; None where some are none."""
    longest = int(size.max(initial=0))
    if longest > _MOST_DIGITS:
        return None
    value = np.zeros(len(at), np.int64)
    for place in range(longest):
        inside = place < size
        digit = data[np.where(inside, at + place, at)].astype(np.int64) - ord("0")
        if np.any(inside & ((digit < 0) | (digit > 9))):
            return None
        value = np.where(inside, 10 * value + digit, value)
    return value


def extra_columns(rows: Rows, found: Findings) -> None:
    """Something behind the run tag."""
    if rows.spans.shape[1] <= _TAG:
        return
    ends = rows.spans[:, _TAG] + rows.spans[:, _TAG + 1]
    behind = rows.data[ends] != ord("\n")
    odd = [row for row in np.flatnonzero(behind).tolist() if _more_than_blanks(rows.data, int(ends[row]))]
    found.add("extra-columns", len(odd), rows.examples(odd))


def _more_than_blanks(data: Bytes, place: int) -> bool:
    while data[place] in b" \t\r\v\f":
        place += 1
    return bool(data[place] != ord("\n"))


def self_hits(rows: Rows, found: Findings) -> None:
    """Documents whose id is the topic's."""
    spans = end_to_end(np.fromiter(map(len, rows.topics), np.int64, len(rows.topics)))
    hashes = np.empty(len(spans), np.uint64)
    hash_all(np.frombuffer(b"".join(rows.topics), np.uint8), spans, hashes)
    where = np.flatnonzero(hashes[rows.topic] == rows.hashes)
    found.add("self-hit", len(where), rows.examples(where))


RUN_CHECKS = (infinite_scores, duplicate_documents, ties, ranks, extra_columns, self_hits, odd_ids)
_BLOCK_CODES = (
    "infinite-score", "duplicate-document", "tied-scores", "float32-tie", "rank-contradicts-score", "extra-columns",
    "self-hit", "odd-id", "several-tags",
)  # fmt: skip
