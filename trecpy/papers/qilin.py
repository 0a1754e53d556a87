"""The figures of Qilin's search and recommendation (arXiv 2503.00501), by the rules of its released evaluator."""

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trecpy.api import Evaluation, Evaluator
from trecpy.arrays import starts_of
from trecpy.collection import Watched
from trecpy.errors import InputError, NothingScoredError
from trecpy.formats.columns import LEVEL_NAMES
from trecpy.kernels.dtypes import Bytes, Flags, Integers, Words
from trecpy.packed import Block, Judgements
from trecpy.papers.figures import Figures
from trecpy.pools import Pool
from trecpy.presets import stated
from trecpy.protocol import chosen_protocol
from trecpy.text import described, plural, quoted

_MEASURES = {"MRR": "RR", "MAP": "AP", "Recall": "R", "Precision": "P"}
_REAL = re.compile(rb"[0-9]+\.[0-9]+")
_FEWEST = 20  # topics from which on the order of rows is judged
_LOW, _TIMES = 0.02, 10


def qilin(
    qrels: Any,
    run: Any,
    k: int | Iterable[int] = (10, 100),
    ap: str = "min",
    rr: str = "cut",
    first: int | None = None,
) -> Figures:
    """
    MRR@k, MAP@k, Recall@k and Precision@k, the means over the topics of both qrels and run; 0 where there are none.

    qrels: as trecpy.evaluate takes them, such as a path of `qid,pid`; also {qid: [pid, ...]} and a frame with qid and
        pid. A note that is judged twice counts twice.
    run: as trecpy.evaluate takes it, such as a path of `qid,pid,score` (or similarity). Equal scores stay in the order
        given; notes that are ranked twice count twice, and are said.
    ap: what MAP@k is divided by: "min", relevant notes or k, whichever is less (the evaluator); "rel", all relevant
        notes (the paper, trec_eval); "hits", those in the first k (recipes)
    rr: "cut", the first k ranks count; "uncut", all do, whatever the name says (recipes)
    first: only topics with qid < first; the shipped configurations have 1000

    Raises InputError, FileError, FormatError, TopicError.
    """
    return QilinScorer(qrels, k, ap, rr, first).score(run)


class QilinScorer:
    """Judgements prepared once, for many runs. Arguments as qilin() has them."""

    def __init__(
        self,
        qrels: Any,
        k: int | Iterable[int] = (10, 100),
        ap: str = "min",
        rr: str = "cut",
        first: int | None = None,
    ) -> None:
        if rr not in ("cut", "uncut"):
            raise InputError(f"rr: expected 'cut', 'uncut', found {described(rr)}")
        if first is not None and (isinstance(first, bool) or not isinstance(first, int | np.integer) or first < 1):
            raise InputError(f"first: expected an integer >= 1, found {described(first)}")
        self.rr, self.first = rr, first
        self.names = {
            f"{paper}@{cutoff}": f"{name}@{cutoff}" if (name, rr) != ("RR", "uncut") else "recip_rank"
            for cutoff in _cutoffs(k)
            for paper, name in _MEASURES.items()
        }
        protocol = chosen_protocol("qilin", {"ap": ap})
        self.evaluator = Evaluator(_judged(qrels), list(self.names.values()), protocol=protocol)
        self.numbered = _numbered(self.evaluator.qrels.judgements)
        self.protocol = stated(protocol)
        self.protocol += ", rr=uncut" * (rr == "uncut") + (f", first={first}" if first is not None else "")

    def score(self, run: Any) -> Figures:
        """Score a run."""
        pool, judgements = Pool(), self.evaluator.qrels.judgements

        def see(block: Block) -> None:
            if self.numbered:
                _refuse_other(block)
            pool.see(block)

        try:
            evaluation = self.evaluator.evaluate(Watched(run, see))
        except NothingScoredError:
            nothing = "no topic is in both: all is 0"
            return Figures(dict.fromkeys(self.names, 0.0), topics=0, notes=[nothing], protocol=self.protocol)
        scores, notes = evaluation._scores, list(evaluation.notes)
        if self.first is not None:
            rows = [t for t, topic in enumerate(scores.topics) if _number(topic) < self.first]
            scores = replace(scores, topics=[scores.topics[t] for t in rows], per_query=scores.per_query[rows])
        if not scores.topics:
            notes.append("no topic is in both: all is 0")
            return Figures(dict.fromkeys(self.names, 0.0), topics=0, notes=notes, protocol=self.protocol)
        repeated = int(np.count_nonzero(judgements.documents.repeated[:, 0] >= 0))
        if repeated:
            notes.append(f"judgements name a note again in {plural(repeated, 'topic')}: each counts")
        if (doubt := _order(judgements, pool, scores.topics)) is not None:
            notes.append(doubt)
        found = Evaluation(scores, [judgements])
        values = {paper: found[name] for paper, name in self.names.items()}
        return Figures(values, topics=len(scores.topics), notes=notes, protocol=self.protocol)


def _cutoffs(k: Any) -> list[int]:
    try:
        cutoffs = [operator.index(each) for each in (k if isinstance(k, Iterable) else [k])]
    except TypeError:
        cutoffs = []
    if not cutoffs or min(cutoffs) < 1:
        raise InputError(f"k: expected integers >= 1, found {described(k)}")
    return cutoffs


def _number(topic: bytes) -> int:
    if not topic.isdigit():
        raise InputError(f"first: expected topics that are row numbers, found {quoted(topic)}")
    return int(topic)


def _judged(given: Any) -> Any:
    """Judgements, also those without levels, as an Evaluator takes them."""
    if isinstance(given, Mapping) and not any(isinstance(notes, Mapping) for notes in given.values()):
        return [(topic, note, 1) for topic, notes in given.items() for note in notes]
    names = _columns(given)
    if {"qid", "pid"} <= names and not names & set(LEVEL_NAMES):
        return np.asarray(given["qid"]), np.asarray(given["pid"]), np.ones(len(given["qid"]), np.int64)
    return given


def _numbered(judgements: Judgements) -> bool:
    """
    Are the ids of judged notes integers, as the released ones are? Their evaluator takes no others.

    Raises InputError: some are, or they are integers that were written as real numbers, and would match nothing.
    """
    documents = judgements.documents
    wrong = _no_integers(documents.data, documents.spans)
    docno = documents.docno(int(wrong[0])) if len(wrong) else b""
    if len(wrong) and (len(wrong) < len(documents.spans) or _REAL.fullmatch(docno)):
        raise InputError(f"{judgements.name}: expected integers as ids of notes, found {quoted(docno)}")
    return not len(wrong)


def _refuse_other(block: Block) -> None:
    """Raise InputError: a note in rankings has an id that is no integer."""
    wrong = _no_integers(block.data, block.spans)
    if len(wrong):
        record = int(wrong[0])
        topic = quoted(block.topics[int(np.searchsorted(block.starts, record, "right")) - 1])
        raise InputError(
            f"topic {topic}: expected integers as ids of notes, as the judgements have, found "
            f"{quoted(block.docno(record))}"
        )


def _no_integers(data: Bytes, spans: Integers) -> Integers:
    """int64[n]: the ids that are not digits alone."""
    digits = starts_of((data >= ord("0")) & (data <= ord("9")))
    at, size = spans[:, 0], spans[:, 1]
    return np.flatnonzero(digits[at + size] - digits[at] != size)


def _columns(given: Any) -> set[str]:
    """The names of a frame's columns; none where it is no frame."""
    found = getattr(given, "column_names", None) or getattr(given, "columns", None)
    return set(found) if found is not None and not isinstance(given, Mapping) else set()


def _order(judgements: Judgements, pool: Pool, topics: list[bytes]) -> str | None:
    """
    What is said where the rows of the judgements seem to be in another order than those of the run.

    Whatever a run ranks, notes shown by the app or those of a first stage, it ranks a good part of what was clicked.
    Where it ranks less than 1 in 50 of the relevant notes for their own topic, and more than ten times as many of them
    for other topics alone, topics do not belong together. (The released judgements were reordered once: 12 of 6,192
    search topics kept their notes.) Few topics show nothing.
    """
    if len(topics) < _FEWEST:
        return None
    place = {topic: number for number, topic in enumerate(judgements.topics)}
    hashes, starts = judgements.documents.hashes, judgements.documents.starts
    found = []
    for topic in topics:
        notes = hashes[starts[place[topic]] : starts[place[topic] + 1]]
        found.append((notes, _among(notes, pool.documents[topic])))
    notes, flags = map(np.concatenate, zip(*found, strict=True))
    anywhere = _among(notes, np.unique(np.concatenate(list(pool.documents.values()))))
    relevant, own, others = len(notes), int(np.count_nonzero(flags)), int(np.count_nonzero(anywhere & ~flags))
    if own >= _LOW * relevant or others <= _TIMES * own:
        return None
    return (
        f"ranks {own:,} of {plural(relevant, 'relevant note')} for their own topic, and {others:,} only for others: "
        "are the rows of the judgements in the order that the run was made with?"
    )


def _among(hashes: Words, known: Words) -> Flags:
    """bool[n]: which hashes are known: uint64[m], ascending, m > 0?"""
    found: Flags = known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes
    return found
