"""What is odd in judgements: small checks over all of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trecpy.checks.findings import Findings
from trecpy.checks.ids import odd_ids
from trecpy.checks.lines import FaultFindings, add_oddities
from trecpy.checks.rows import Rows, is_another
from trecpy.errors import TrecpyError
from trecpy.files import all_joined, dataset_qrels, first_of_each, read_parts
from trecpy.formats.reader import Reader
from trecpy.formats.sniff import layout_of
from trecpy.formats.source import Source
from trecpy.formats.trec import JUDGEMENT_LAYOUTS
from trecpy.inputs import KNOWN, packed_levels
from trecpy.kernels.dtypes import Flags, Integers
from trecpy.names import parse_names
from trecpy.numbers import exact_integer, whole_level
from trecpy.packed import Qrels, Records, coded
from trecpy.plan import Plan
from trecpy.protocol import Protocol
from trecpy.text import quoted

MEASURES = ("map", "recip_rank", "P_10", "ndcg_cut_10", "recall_1000")
_HUGE = 100
_LEVEL = 2  # where the spans of a record have it
_MOST_DIGITS = 20  # of 64 bits, and a sign
_PLAIN = np.isin(np.arange(256), list(b"0123456789+-"))


@dataclass(frozen=True)
class CheckedQrels:
    """Judgements that runs are checked against. hashes: uint64[n], sorted, of the judged documents."""

    plan: Plan
    hashes: Any

    @property
    def qrels(self) -> Qrels:
        """The judgements, each document of a topic once."""
        assert isinstance(self.plan.judgements, Qrels)
        return self.plan.judgements


def check_qrels(source: Source, layout: str | None) -> tuple[Findings, CheckedQrels | None]:
    """Check judgements; what can be read of them, for the runs, or None."""
    found = Findings(source.name, "qrels")
    with source:
        try:
            if is_another(source, "qrels", layout, found):
                return found, None
            rows = _qrels_rows(source, layout, found)
        except TrecpyError as error:
            found.add("unreadable", 1, [str(error)])
            return found, None
    return _checked(rows, found)


def check_dataset(name: str) -> tuple[Findings, CheckedQrels | None]:
    """The same of the judgements of a data set: "irds:NAME"."""
    found = Findings(name, "qrels")
    try:
        records, level, grades = packed_levels(dataset_qrels(name), KNOWN, fractions=True)
    except TrecpyError as error:
        found.add("unreadable", 1, [str(error)])
        return found, None
    values = level.astype(float) if grades is None else np.where(level < 0, level, np.append(grades, 0)[level])
    return _checked(Rows.of(records, values), found)


def _checked(rows: Rows | None, found: Findings) -> tuple[Findings, CheckedQrels | None]:
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
    qrels = Qrels.of(found.name, records, level, grades=grades)
    without = np.flatnonzero(qrels.count(qrels.code(np.nextafter(0, 1))) == 0)
    found.add("no-relevant", len(without), (_topic(rows, qrels.topics[t]) for t in without.tolist()))
    protocol = Protocol(duplicates="first", gains="float" if grades is not None else "level")
    columns = parse_names(MEASURES, protocol.compat)
    return found, CheckedQrels(Plan(qrels, columns, protocol), np.unique(rows.hashes))


def _topic(rows: Rows, topic: bytes) -> str:
    """A topic, and where it stands first."""
    first = np.flatnonzero(rows.topic == rows.topics.index(topic))[:1]
    where = f"line {rows.lines(first)[0]}: " if rows.before is not None and len(first) else ""
    return f"{where}topic {quoted(topic)}"


def _qrels_rows(source: Source, asked: str | None, found: Findings) -> Rows | None:
    layout = layout_of(source, "qrels", asked)
    faults = FaultFindings(found, "qrels")
    if layout not in ("trec", "msmarco"):
        parts = list(read_parts(source, layout, "qrels", fractions=True, faults=faults))
        if not parts:
            return None
        records, values = all_joined(parts)
        return Rows.of(records, values.astype(float))
    found.is_trec = layout == "trec"
    form = replace(JUDGEMENT_LAYOUTS["qrels"], integer=False, spans=("level",))
    reader = Reader(source, form, "10.0", strict=True, faults=faults)
    reader.read_whole()
    add_oddities(reader.odd, found)
    records, spans, level = reader.packed(), reader.column("spans"), reader.column("score")
    kept = np.isfinite(level)
    for place in spans[~kept, 0].tolist():
        faults.value(0.0, reader.place(place))
    # Topics of which no line could be read are none.
    used, topic = np.unique(records.topic[kept], return_inverse=True)
    topics = [records.topics[t] for t in used.tolist()]
    records = replace(records, topics=topics, topic=topic, spans=spans[kept], hashes=records.hashes[kept])
    return Rows.of(records, level[kept], before=0)


def duplicate_judgements(rows: Rows, found: Findings) -> None:
    """A document judged twice."""
    again, other = rows.repeated
    detail = f"{other:,} of them with another level" if other else "all say the same again"
    found.add("duplicate-judgement", len(again), rows.examples(again), detail, fixable=len(again) - other)


def levels(rows: Rows, found: Findings) -> None:
    """Levels that are unusual."""
    fractional = rows.values != np.trunc(rows.values)
    whole = np.zeros(len(fractional), bool)
    if rows.spans.shape[1] > _LEVEL:
        written = _written_as_fractions(rows) & ~fractional
        whole = written & _whole(rows, written)
        fractional |= written & ~whole
    for code, odd in (
        ("fractional-level", fractional),
        ("whole-level", whole),
        ("negative-level", rows.values < 0),
        ("huge-level", rows.values > _HUGE),
    ):
        where = np.flatnonzero(odd)
        found.add(code, len(where), rows.examples(where))
    if rows.spans.shape[1] > _LEVEL:
        wide = np.flatnonzero(np.abs(rows.values) >= 2.0**63).tolist()
        unheld = [row for row in wide if not -(2**63) <= (exact_integer(rows.text(row, _LEVEL)) or 0) < 2**63]
        found.add("bad-value", len(unheld), rows.examples(unheld), "64 bits do not hold some levels")


def _whole(rows: Rows, written: Flags) -> Flags:
    """bool[N]: which of the `written` levels are integers of 64 bits all the same."""
    at, size = rows.spans[:, _LEVEL], rows.spans[:, _LEVEL + 1]
    ends = at + size
    usual = written & (size > 2) & (rows.data[ends - 2] == ord(".")) & (rows.data[ends - 1] == ord("0"))
    whole: Flags = usual & ~_no_plain_integers(rows, np.where(usual, size - 2, 0)) & (np.abs(rows.values) < 2.0**63)
    for row in np.flatnonzero(written & ~whole).tolist():  # 1.00, 1e0: seldom
        whole[row] = whole_level(rows.text(row, _LEVEL)) is not None
    return whole


def _written_as_fractions(rows: Rows) -> Flags:
    """bool[N]: levels that are written with more than a sign and digits, or with too many of these."""
    return _no_plain_integers(rows, rows.spans[:, _LEVEL + 1])


def _no_plain_integers(rows: Rows, size: Integers) -> Flags:
    """bool[N]: are the first `size` bytes of levels more than a sign and digits, or too many of these?"""
    at = rows.spans[:, _LEVEL]
    odd: Flags = size > _MOST_DIGITS
    for place in range(min(int(size.max(initial=0)), _MOST_DIGITS)):
        inside = place < size
        odd |= inside & ~_PLAIN[rows.data[np.where(inside, at + place, at)]]
    return odd


QRELS_CHECKS = (duplicate_judgements, levels, odd_ids)
