"""Judgements in TREC's text formats: qrels, groups of judgements, preferences."""

from dataclasses import replace
from typing import Any

import numpy as np

from trecpy.errors import FormatError
from trecpy.formats.reader import Reader
from trecpy.formats.source import Source
from trecpy.formats.trec import JUDGEMENT_LAYOUTS
from trecpy.kernels import parse as kernel
from trecpy.kernels import rank
from trecpy.kernels.dtypes import Bytes, Integers
from trecpy.numbers import exact_integer, is_double, unheld
from trecpy.packed import Documents, Judgements, Preferences, Qrels, Records, coded
from trecpy.protocol import Compat
from trecpy.text import quoted


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
    return build(form, reader), reader.notes()


def read_trec_levels(source: Source, compat: Compat, fractions: bool) -> tuple[Records, Any, list[str]]:
    """As files.read_levels() has it."""
    reader = _judgements(source, "qrels", compat, True, fractions)
    return reader.packed(), _levels(reader), reader.notes()


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
        if integer is None or (abs(integer) >= 2**63 and not text.lstrip(b"+-").isdigit()):  # 1e300 is a double
            integer = int(values[row])
        exact[row] = integer
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
