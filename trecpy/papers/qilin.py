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
from trecpy.errors import FormatError, InputError, NothingScoredError
from trecpy.files import named_input, place_of
from trecpy.formats.columns import LEVEL_NAMES, Kind
from trecpy.kernels.dtypes import Bytes, Flags, Integers, Words
from trecpy.packed import Block, Judgements
from trecpy.papers.figures import Figures
from trecpy.pools import Pool
from trecpy.presets import stated
from trecpy.protocol import chosen_protocol
from trecpy.text import described, plural, quoted

_MEASURES = {"MRR": "RR", "MAP": "AP", "Recall": "R", "Precision": "P"}
_MOST = 10**18  # cutoffs are below
_INTEGER = re.compile(rb"0|[1-9][0-9]*")
_NUMBER = re.compile(rb"\s*[+-]?[0-9]+(\.[0-9]*)?\s*")
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
        pid. A note that is judged twice counts twice. Ids of a file are integers, without leading zeros; those in
        memory are integers or none of them is.
    run: as trecpy.evaluate takes it, such as a path of `qid,pid,score` (or similarity). Equal scores stay in the order
        given; notes that are ranked twice count twice, and are said.
    ap: what MAP@k is divided by: "min", relevant notes or k, whichever is less (the evaluator); "rel", all relevant
        notes (the paper, trec_eval); "hits", those in the first k (recipes)
    rr: "cut", the first k ranks count; "uncut", all do, whatever the name says (recipes)
    first: only topics with qid < first; the shipped configurations have 1000

    Topics of one side alone, and none in both, are said in the notes.

    Raises InputError, FileError, FormatError, TopicError.
    """
    return QilinScorer(qrels, k, ap, rr, first).score(run)


class QilinScorer:
    """
    Judgements prepared once, for many runs. Arguments as qilin() has them.

    notes: what was odd in the judgements, with which the notes of each run begin
    """

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
        judgements = self.evaluator.qrels.judgements
        self._numbered = _numbered(judgements, qrels)
        if first is not None and not self._numbered[0]:
            raise InputError(f"first: expected topics that are row numbers, found {quoted(judgements.topics[0])}")
        self._judged = self._firsts(judgements.topics)
        self.notes = list(self.evaluator.notes)
        if repeated := int(np.count_nonzero(judgements.documents.repeated[:, 0] >= 0)):
            self.notes.append(f"{judgements.name}: names a note again in {plural(repeated, 'topic')}: each counts")
        self.protocol = stated(protocol)
        self.protocol += ", rr=uncut" * (rr == "uncut") + (f", first={first}" if first is not None else "")

    def score(self, run: Any) -> Figures:
        """Score a run."""
        pool, judgements, notes = Pool(), self.evaluator.qrels.judgements, list(self.notes)

        def see(block: Block) -> None:
            self._refuse_other(block, run)
            pool.see(block)

        try:
            evaluation = self.evaluator.evaluate(Watched(run, see), witness=False)
        except NothingScoredError:
            name, in_file = named_input(run, "run")
            if in_file and not pool.documents:
                raise FormatError(f"{name}: has no records: expected a run") from None
            return self._nothing(notes)
        scores = evaluation._scores
        notes += evaluation.notes[len(self.evaluator.notes) :]
        if self.first is not None:
            rows = [t for t, topic in enumerate(scores.topics) if int(topic) < self.first]
            scores = replace(scores, topics=[scores.topics[t] for t in rows], per_query=scores.per_query[rows])
        if not scores.topics:
            return self._nothing(notes)
        if lacking := len(self._judged) - len(scores.topics):
            notes.append(
                f"lacks {lacking:,} of {plural(len(self._judged), 'judged topic')}; they are left out of the means"
            )
        if beyond := len(self._firsts(scores.unjudged)):
            notes.append(f"has {plural(beyond, 'topic')} without judgements; they are left out")
        if (doubt := _order(judgements, pool, scores.topics)) is not None:
            notes.append(doubt)
        found = Evaluation(scores, [judgements])
        values = {paper: found[name] for paper, name in self.names.items()}
        return Figures(values, topics=len(scores.topics), notes=notes, protocol=self.protocol)

    def _nothing(self, notes: list[str]) -> Figures:
        """Zeros, as the evaluator has them."""
        zeros = dict.fromkeys(self.names, 0.0)
        return Figures(zeros, topics=0, notes=[*notes, "no topic is in both: all is 0"], protocol=self.protocol)

    def _firsts(self, topics: Iterable[bytes]) -> list[bytes]:
        """The topics that are asked for."""
        return [topic for topic in topics if self.first is None or int(topic) < self.first]

    def _refuse_other(self, block: Block, run: Any) -> None:
        """Raise FormatError, InputError: rankings have an id that is no integer, where the judgements have integers."""
        topics, notes = self._numbered
        for topic in block.topics if topics else ():
            if not _INTEGER.fullmatch(topic):
                raise _refusal(run, "run", topic)
        if notes and len(wrong := _no_integers(block.data, block.spans)):
            topic = block.topics[int(np.searchsorted(block.starts, wrong[0], "right")) - 1]
            raise _refusal(run, "run", topic, block.docno(int(wrong[0])))


def _cutoffs(k: Any) -> list[int]:
    try:
        cutoffs = [operator.index(each) for each in (k if isinstance(k, Iterable) else [k])]
    except TypeError:
        cutoffs = []
    if not cutoffs or min(cutoffs) < 1 or max(cutoffs) >= _MOST:
        raise InputError(f"k: expected integers >= 1 and below 10**18, found {described(k)}")
    return cutoffs


def _judged(given: Any) -> Any:
    """Judgements, also those without levels, as an Evaluator takes them."""
    if isinstance(given, Mapping) and not any(isinstance(notes, Mapping) for notes in given.values()):
        for topic, notes in given.items():
            if isinstance(notes, str | bytes) or not isinstance(notes, Iterable):
                raise InputError(f"qrels: topic {described(topic)}: expected a list of notes, found {described(notes)}")
        return [(topic, note, 1) for topic, notes in given.items() for note in notes]
    names = _columns(given)
    if {"qid", "pid"} <= names and not names & set(LEVEL_NAMES):
        return np.asarray(given["qid"]), np.asarray(given["pid"]), np.ones(len(given["qid"]), np.int64)
    return given


def _numbered(judgements: Judgements, given: Any) -> tuple[bool, bool]:
    """
    Are the ids of judged topics, and of notes, integers, as the released ones are? Their evaluator takes no others.

    given: what the judgements are from. Raises FormatError, InputError: some are, or what is none looks like a number
    that would match nothing; or any is none in a file.
    """
    documents = judgements.documents
    _, strict = named_input(given, "qrels")
    topics = [topic for topic in judgements.topics if not _INTEGER.fullmatch(topic)]
    notes = _no_integers(documents.data, documents.spans)
    if topics and (strict or len(topics) < len(judgements.topics) or _NUMBER.fullmatch(topics[0])):
        raise _refusal(given, "qrels", topics[0])
    if len(notes):
        docno = documents.docno(int(notes[0]))
        if strict or len(notes) < len(documents.spans) or _NUMBER.fullmatch(docno):
            unit = int(np.searchsorted(documents.starts, notes[0], "right")) - 1
            raise _refusal(given, "qrels", judgements.topics[unit], docno)
    return not topics, not len(notes)


def _refusal(given: Any, kind: Kind, topic: bytes, docno: bytes | None = None) -> InputError | FormatError:
    """What is raised for a topic, or the docno of one, that is no integer."""
    name, found = ("qid", topic) if docno is None else ("pid", docno)
    error = FormatError if named_input(given, kind)[1] else InputError
    return error(f"{place_of(given, kind, topic, docno)}: expected an integer as {name}, found {quoted(found)}")


def _no_integers(data: Bytes, spans: Integers) -> Integers:
    """int64[n]: the ids that are not digits alone, or have a zero before others."""
    digits = starts_of((data >= ord("0")) & (data <= ord("9")))
    at, size = spans[:, 0], spans[:, 1]
    other = digits[at + size] - digits[at] != size
    several = np.flatnonzero(size > 1)
    other[several] |= data[at[several]] == ord("0")
    return np.flatnonzero(other | (size == 0))


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
