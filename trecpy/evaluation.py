"""
A run and judgements to one float64 a topic and column, and from those to a summary. No printing, no arithmetic of a
measure.
"""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trecpy.errors import NothingScoredError, ParameterError, TopicError
from trecpy.gains import Gains
from trecpy.judged import Judged
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.packed import Block, Judgements, Preferences, Qrels, Ranked
from trecpy.preferences import Preferred
from trecpy.protocol import Protocol
from trecpy.registry import Aggregate, Column, Cutoffs, LevelGains
from trecpy.text import plural, quoted, shown

_LOG_FLOOR = math.log(0.00001)
_NO_SCORE = -1000000.0

ZScores = dict[bytes, dict[bytes, tuple[float, float]]]


@dataclass(frozen=True)
class Counts:
    """
    How many topics and documents an evaluation is about.

    judged, run: topics of the judgements, of the run; scored: with values; missing: judged, not in the run
    without_relevant: scored topics without a relevant document; ranked: documents of the scored rankings
    """

    judged: int
    run: int
    scored: int
    missing: int
    without_relevant: int
    ranked: int


@dataclass(frozen=True)
class Scores:
    """
    What was scored, before it is summed up.

    columns: C printed values; protocol: the conventions; topics: ids of the T scored topics in byte order
    per_query: float64[T, C]  0 in columns of text; texts: column name -> one text a topic
    problems: place in topics -> why that topic cannot be scored
    judged: each judged topic that was asked for -> its judgements with a level above 0
    present, unjudged: topics of the run that are judged, that are not
    without_relevant, ranked: as Counts has them; notes: what was odd
    """

    columns: Sequence[Column]
    protocol: Protocol
    topics: list[bytes]
    per_query: Reals
    texts: dict[str, list[bytes]]
    problems: dict[int, TopicError]
    judged: dict[bytes, int]
    present: frozenset[bytes]
    unjudged: frozenset[bytes]
    without_relevant: int
    ranked: int
    notes: list[str] = field(default_factory=list)

    @property
    def counts(self) -> Counts:
        """How many topics and documents this is about."""
        return Counts(
            judged=len(self.judged),
            run=len(self.present) + len(self.unjudged),
            scored=len(self.topics),
            missing=len(self.judged) - len(self.present),
            without_relevant=self.without_relevant,
            ranked=self.ranked,
        )

    @property
    def averaged(self) -> int:
        """Topics whose mean the summary is."""
        return len(self.judged) if self.protocol.topics == "qrels" else len(self.topics)

    def standardised(self, zscores: ZScores) -> "Scores":
        """Each value replaced by (value - mean) / stddev of its topic and column; -1000000 where these are missing."""
        mean, stddev = np.full_like(self.per_query, math.nan), np.zeros_like(self.per_query)
        for t, topic in enumerate(self.topics):
            known = zscores.get(topic, {})
            for c, column in enumerate(self.columns):
                if found := known.get(os.fsencode(column.name)):
                    mean[t, c], stddev[t, c] = found
        with np.errstate(all="ignore"):
            spread = (self.per_query - mean) / stddev
        alone = np.where(self.per_query == mean, 0.0, _NO_SCORE)
        return replace(self, per_query=np.where(stddev != 0, spread, alone))

    def with_zeros(self, topics: Iterable[bytes]) -> "Scores":
        """The same with further topics whose values are all 0."""
        added = sorted(topics)
        names = self.topics + added
        order = sorted(range(len(names)), key=names.__getitem__)
        values = np.vstack((self.per_query, np.zeros((len(added), len(self.columns)))))
        texts = {name: [*column, *[b""] * len(added)] for name, column in self.texts.items()}
        return replace(
            self,
            topics=[names[t] for t in order],
            per_query=values[order],
            texts={name: [column[t] for t in order] for name, column in texts.items()},
            problems={order.index(t): problem for t, problem in self.problems.items()},
        )

    def summary(self) -> list[float]:
        """
        One value a column; 0 in columns of text.

        Sums go from topic to topic in byte order, one addition after the other, and are divided once.
        """
        with np.errstate(all="ignore"):
            sums = [float(np.add.accumulate(np.append(0.0, values))[-1]) for values in self.per_query.T]
        return [self._aggregate(column, total) for column, total in zip(self.columns, sums, strict=True)]

    def _aggregate(self, column: Column, total: float) -> float:
        match column.measure.aggregate:
            case Aggregate.TOPICS:
                return float(self.averaged)
            case Aggregate.SUM:
                return total
            case Aggregate.RELEVANT:
                return float(sum(self.judged.values())) if self.protocol.topics == "qrels" else total
            case Aggregate.GEOMETRIC:
                total += (self.averaged - len(self.topics)) * _LOG_FLOOR
                try:
                    return math.exp(total / self.averaged)
                except OverflowError:  # of z-scores; the C library gives infinity
                    return math.inf
            case Aggregate.MEAN:
                return total / self.averaged
            case _:
                return 0.0


def evaluate_blocks(
    judgements: Judgements,
    blocks: Iterable[Block],
    columns: Sequence[Column],
    protocol: Protocol,
    only: bytes | None = None,
) -> Scores:
    """
    Score the rankings of all blocks.

    blocks: each topic whole; of two rankings of one topic the later one counts
    only: score no other topic than this

    Raises NothingScoredError: no topic has both judgements and a ranking (under 10.0's rules judged topics that the
    run lacks do not need one). TopicError: the judgements are not of the kind that a measure needs.
    """
    scorer = _Scorer(judgements, columns, protocol)
    # The last entry is for topics that are not judged, whose place is -1.
    wanted = np.array([*(only in (None, topic) for topic in judgements.topics), False])
    for block in blocks:
        places = judgements.find(block.topics)
        chosen = np.flatnonzero(wanted[places])
        scorer.unjudged.update(block.topics[b] for b in np.flatnonzero(places < 0).tolist())
        if len(chosen):
            scorer.score(_some(block, chosen), places[chosen])
    missing = np.flatnonzero(wanted[:-1] & ~scorer.scored)
    if protocol.topics == "same" and (len(missing) or scorer.unjudged):
        lacking = ", ".join(quoted(judgements.topics[place]) for place in missing[:5].tolist())
        beyond = ", ".join(map(quoted, sorted(scorer.unjudged)[:5]))
        raise TopicError(
            f"expected the same topics in qrels and run, found {len(missing)} only in the qrels ({lacking or 'none'}) "
            f"and {len(scorer.unjudged)} only in the run ({beyond or 'none'})"
        )
    present = np.flatnonzero(scorer.scored | ~wanted[:-1])  # a topic that was not asked for is not missing
    if protocol.scores_missing and len(missing):
        scorer.score_missing(missing)
    if not scorer.scored.any() and not (protocol.topics == "run" and scorer.unjudged):
        raise NothingScoredError("no topic has both judgements and a ranking" + _example_ids(judgements, only))
    # trec_eval divides by all judged topics also where -D asks for one.
    asked = np.arange(len(judgements.topics)) if protocol.topics == "qrels" else np.flatnonzero(wanted[:-1])
    scores = scorer.result(asked, present)
    return scores.with_zeros(scorer.unjudged) if protocol.topics == "run" else scores


def score_ranked(qrels: Qrels, ranked: Ranked, columns: Sequence[Column], protocol: Protocol) -> Scores:
    """Score rankings that are joined with the judgements already, one of each topic, in the order of topics."""
    scorer = _Scorer(qrels, columns, protocol)
    if scorer.every:
        raise ParameterError("expected no gain for documents without a judgement, which have no rows here")
    scorer.fill(np.arange(len(qrels.topics)), ranked)
    every = np.arange(len(qrels.topics))
    return scorer.result(every, every)


def _some(block: Block, chosen: Integers) -> Block:
    """The rankings `chosen` of a block."""
    if len(chosen) == len(block.topics):
        return block
    sizes = np.diff(block.starts)[chosen]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    records = np.repeat(block.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
    topics = [block.topics[b] for b in chosen.tolist()]
    return Block(
        topics, starts, block.data, block.spans[records], block.hashes[records], block.scores[records], block.before
    )


def _example_ids(judgements: Judgements, only: bytes | None) -> str:
    some = ", ".join(quoted(topic) for topic in judgements.topics[:3])
    return (
        f": {judgements.name} judges {some or 'no topic'}"
        + (", ..." if len(judgements.topics) > 3 else "")
        + (f"; only {quoted(only)} was asked for" if only is not None else "")
    )


class _Scorer:
    """Collects the values of topics as blocks come, in any order."""

    def __init__(self, judgements: Judgements, columns: Sequence[Column], protocol: Protocol) -> None:
        self.judgements, self.columns, self.protocol = judgements, columns, protocol
        topics = len(judgements.topics)
        self.scored = np.zeros(topics, bool)
        self.ranked = np.zeros(topics, np.int64)
        self.unjudged: set[bytes] = set()
        self.values = np.zeros((topics, len(columns)))
        self.texts: dict[str, list[bytes]] = {
            column.name: [b""] * topics for column in columns if column.measure.text and column.per_topic
        }
        self.problems: dict[int, TopicError] = {}
        self.hidden: dict[int, bytes] = {}
        self.unfit = self._unfit()
        self.looks = self.unfit is None and any(column.measure.needs for column in columns)
        self.cutoffs = [c.parameter for c in columns if isinstance(c.measure.parameters, Cutoffs)]
        # Documents outside the judgements matter one by one only where they can be hits or have a gain.
        self.every = isinstance(judgements, Qrels) and (
            protocol.relevance_level < 0 or any(-1 in gains.named for _, gains in self._gains())
        )

    def _gains(self) -> list[tuple[Column, Gains]]:
        return [(c, c.parameter[0]) for c in self.columns if isinstance(c.measure.parameters, LevelGains)]

    def _unfit(self) -> TopicError | None:
        """The error of the first measure that these judgements are not for."""
        form = self.judgements.form
        for column in self.columns:
            needed = column.measure.needs
            if needed and form not in needed:
                return TopicError(
                    f"{column.measure.name}: expected judgements of -R {' or '.join(needed)}, found -R {form}"
                )
        return None

    def score(self, block: Block, places: Integers) -> None:
        """Rank and score topics that the run has."""
        self.scored[places] = True
        if not self.looks:
            return self._fill(places, None)
        if self.protocol.ignore_self:
            block = block.without_self()
        ranked = self.judgements.rank(block, places, self.protocol, self.every)
        for place in places.tolist():  # a ranking that came before is replaced
            self.problems.pop(place, None)
            self.hidden.pop(place, None)
        twice = ranked.repeated[:, 0] >= 0
        hidden = twice & (ranked.repeated[:, 2] == 1) & (self.protocol.duplicates == "error-within-depth")
        for b in np.flatnonzero(hidden).tolist():
            self.hidden[int(places[b])] = block.docno(int(ranked.repeated[b, 0]))
        bad = np.flatnonzero(twice & ~hidden)
        if len(bad):
            b = int(bad[np.argmin(places[bad])])
            a, c = ranked.repeated[b, :2].tolist()
            error = self._twice(block.topics[b], block.docno(a), "ranking", [block.line(a), block.line(c)])
            self.problems[int(places[b])] = error
        self.fill(places, ranked)

    def score_missing(self, places: Integers) -> None:
        """Score judged topics that the run lacks as if it had ranked one document outside the judgements."""
        self.scored[places] = True
        if not self.looks:
            return self._fill(places, None)
        units = np.concatenate([np.arange(*self.judgements.units[place : place + 2]) for place in places])
        depth = 0 if self.protocol.judged_only or self.protocol.depth == 0 else 1
        rows = depth if self.every else 0
        ones = np.ones(len(units) * rows, np.int64)
        ranked = Ranked(
            unit=units,
            num_ret=np.full(len(units), depth),
            row_starts=np.arange(len(units) + 1) * rows,
            rank=ones,
            level=-ones,
            document=-ones,
            repeated=np.zeros((0, 3), np.int64),
        )
        self._fill(places, ranked)
        for c, column in enumerate(self.columns):
            if column.zero_if_missing:
                self.values[places, c] = 0.0
                if column.name in self.texts:
                    for place in places.tolist():
                        self.texts[column.name][place] = b""

    def fill(self, places: Integers, ranked: Ranked) -> None:
        """Score topics whose rankings are joined with their judgements."""
        units = self.judgements.units
        self.scored[places] = True
        self.ranked[places] = ranked.num_ret[np.cumsum(units[places + 1] - units[places]) - 1]
        self._fill(places, ranked if self.looks else None)

    def _fill(self, places: Integers, ranked: Ranked | None) -> None:
        """Compute the columns of some topics."""
        views = self._views(places, ranked) if ranked is not None else {}
        groups = np.diff(self.judgements.units)[places]
        try:
            for c, column in enumerate(self.columns):
                if not column.measure.needs:
                    self.values[places, c] = not column.measure.text
                elif views:
                    arguments = () if column.parameter is None else (column.parameter,)
                    with np.errstate(all="ignore"):
                        values = column.measure.formula(views[column.level], *arguments)
                    if column.name in self.texts:
                        for place, text in zip(places.tolist(), values, strict=True):
                            self.texts[column.name][place] = text
                    elif self.judgements.form == "qrels_jg":
                        topic = np.repeat(np.arange(len(places)), groups)
                        self.values[places, c] = np.bincount(topic, values, len(places)) / groups
                    else:
                        self.values[places, c] = values
        except TopicError as error:
            self.unfit, self.looks = error, False

    def _views(self, places: Integers, ranked: Ranked) -> dict[int | None, Any]:
        """What formulas take, for each relevance level that a column has of its own, and None."""
        if isinstance(self.judgements, Preferences):
            view = Preferred(ranked, self.judgements, self.protocol)
            for q, problem in view.problems.items():
                self.problems.setdefault(int(places[q]), problem)
            return {None: view}
        assert isinstance(self.judgements, Qrels)
        repeated = self.judgements.documents.repeated[self.judgements.units[places], 0] >= 0
        if repeated.any():
            place = int(places[repeated].min())
            self.problems.setdefault(place, self._judged_twice(place))
        views: dict[int | None, Any] = {}
        for level in {column.level for column in self.columns}:
            protocol = self.protocol if level is None else replace(self.protocol, relevance_level=level)
            views[level] = Judged(ranked, self.judgements, protocol, self.cutoffs)
        return views

    def _twice(self, topic: bytes, docno: bytes, what: str, lines: Sequence[int | None]) -> TopicError:
        """
        The error of a document that a topic has twice.

        Of the topics of a block only the first is said: nothing behind it is printed, and to find a line's number takes
        as long as to read the block.
        """
        places = sorted(line for line in lines if line is not None)
        return TopicError(
            f"topic {quoted(topic)}: expected a document once in the {what}, found {quoted(docno)} "
            + (f"in lines {places[0]} and {places[1]}" if places else "twice")
        )

    def _judged_twice(self, place: int) -> TopicError:
        documents = self.judgements.documents
        first, second = documents.repeated[self.judgements.units[place]].tolist()
        lines = [documents.line(first), documents.line(second)]
        return self._twice(self.judgements.topics[place], documents.docno(first), "qrels", lines)

    def result(self, wanted: Integers, present: Integers) -> Scores:
        """What came together. wanted: places of the topics that were asked for; present: of those that the run has."""
        if self.unfit is not None:
            raise self.unfit
        chosen = np.flatnonzero(self.scored)
        order = {int(place): t for t, place in enumerate(chosen)}
        qrels = self.judgements if isinstance(self.judgements, Qrels) else None
        names = self.judgements.topics
        if qrels is not None:
            units = np.concatenate(([0], np.cumsum(qrels.count(1))))[qrels.units]
            positive = np.diff(units)
            relevant = np.diff(
                np.concatenate(([0], np.cumsum(qrels.count(self.protocol.relevance_level))))[qrels.units]
            )
        else:
            positive = relevant = np.zeros(len(names), np.int64)
        return Scores(
            columns=self.columns,
            protocol=self.protocol,
            topics=[names[place] for place in chosen.tolist()],
            per_query=self.values if len(chosen) == len(self.values) else self.values[chosen],
            texts={name: [texts[place] for place in chosen.tolist()] for name, texts in self.texts.items()},
            problems={order[place]: problem for place, problem in self.problems.items()},
            judged={names[place]: int(positive[place]) for place in wanted.tolist()},
            present=frozenset(names[place] for place in present.tolist()),
            unjudged=frozenset(self.unjudged),
            without_relevant=int(np.count_nonzero(relevant[chosen] == 0)) if qrels is not None else 0,
            ranked=int(self.ranked.sum()),
            notes=list(self._notes(qrels)),
        )

    def _notes(self, qrels: Qrels | None) -> Iterator[str]:
        """What the reference does in silence though it may not be meant."""
        if self.hidden:
            place = min(self.hidden)
            yield (
                f"topic {quoted(self.judgements.topics[place])}: document {quoted(self.hidden[place])} is ranked "
                f"twice, the second time below the cut of -M (in {plural(len(self.hidden), 'topic')})"
            )
        for column, gains in self._gains():
            if qrels is not None and self.looks and not qrels.graded(gains).ordered:
                yield (
                    f"{shown(column.name)}: gains closer together than 1 (or further apart than 2^31) are not sorted "
                    "in the ideal ranking, as in trec_eval"
                )
