"""What was scored, and how it becomes a summary. No arithmetic of a measure."""

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trecpy.errors import TopicError
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.protocol import Protocol
from trecpy.ranked import Ranked
from trecpy.registry import Aggregate, Column

_NO_SCORE = -1000000.0

ZScores = dict[bytes, dict[bytes, tuple[float, float]]]


@dataclass(frozen=True)
class Counts:
    """
    How many topics and documents an evaluation is about.

    judged, run: topics of the judgements, of the run; scored: with values; missing: judged, not in the run
    without_relevant: scored topics without a relevant document
    ranked: documents of the scored rankings, after depth and judged_only; ranked_judged: those with a level >= 0
    tied_pairs: pairs of documents of one ranking with equal scores; it and ranked_judged are None for matrices
    dropped: documents that were ranked twice, the second ones
    """

    judged: int
    run: int
    scored: int
    missing: int
    without_relevant: int
    ranked: int
    ranked_judged: int | None
    tied_pairs: int | None
    dropped: int


# What is counted in each ranking, as Counts has it.
RANKED, RANKED_JUDGED, TIED_PAIRS, DROPPED = range(4)
NOT_COUNTED = -1


@dataclass(eq=False, repr=False)
class Tied:
    """
    Rankings in which ties touch judged documents, kept to say how far values could move.

    plan: what was asked for; ranking: number of this way to rank there
    """

    plan: Any
    ranking: int
    topics: list[bytes]
    ranked: Ranked


@dataclass(eq=False, repr=False)
class Scores:
    """
    What was scored, before it is summed up.

    columns: C printed values; protocol: the conventions; topics: ids of the T scored topics in byte order
    per_query: float64[T, C]  0 in columns of text; texts: column name -> one text a topic
    problems: place in topics -> why that topic cannot be scored
    judged: each judged topic that was asked for -> its judgements with a level above 0
    present, unjudged: topics of the run that are judged, that are not
    without_relevant: as Counts has it; counted: int64[4]  RANKED, RANKED_JUDGED, TIED_PAIRS, DROPPED
    dropped: number of a column -> topics that its own conventions leave out of its mean
    notes: what was odd
    tied: rankings with ties; digests: each topic of the run -> a hash of its ranking; None where these are not wanted
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
    counted: Integers
    dropped: Mapping[int, frozenset[bytes]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    tied: list[Tied] | None = None
    digests: dict[bytes, bytes] | None = None

    @property
    def counts(self) -> Counts:
        """How many topics and documents this is about."""
        return Counts(
            judged=len(self.judged),
            run=len(self.present) + len(self.unjudged),
            scored=len(self.topics),
            missing=len(self.judged) - len(self.present),
            without_relevant=self.without_relevant,
            ranked=int(self.counted[RANKED]),
            ranked_judged=self._count(RANKED_JUDGED),
            tied_pairs=self._count(TIED_PAIRS),
            dropped=int(self.counted[DROPPED]),
        )

    def _count(self, number: int) -> int | None:
        return int(self.counted[number]) if self.counted[number] != NOT_COUNTED else None

    def averaged(self, topics: str) -> int:
        """Topics whose mean the summary is. topics: as Protocol has it."""
        return len(self.judged) if topics == "qrels" else len(self.topics)

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
        """The same with further topics, whose values are those of topics without a ranking: 0 for nearly all."""
        added = sorted(topics)
        names = self.topics + added
        order = sorted(range(len(names)), key=names.__getitem__)
        absent = np.array([[column.measure.absent for column in self.columns]])
        values = np.vstack((self.per_query, np.repeat(absent, len(added), axis=0)))
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
            return [self._summed_up(c, column.under(self.protocol)) for c, column in enumerate(self.columns)]

    def _summed_up(self, c: int, protocol: Protocol) -> float:
        """The summary of one column under its own conventions."""
        column, values, topics = self.columns[c], self.per_query[:, c], self.topics
        count = self.averaged(protocol.topics)
        if protocol.topics != self.protocol.topics or self.dropped.get(c):
            counted = self.counted_by(c)
            chosen = [topic in counted for topic in topics]
            values, topics, count = values[chosen], list(itertools.compress(topics, chosen)), len(counted)
        absent = column.measure.absent
        if protocol.batch is not None and column.measure.aggregate is Aggregate.MEAN:
            known = dict(zip(topics, values.tolist(), strict=True))
            values = np.array([known.get(topic, absent) for topic in _as_in_data(self.counted_by(c))])
            parts = np.split(values, range(protocol.batch, len(values), protocol.batch))
            value = _total(np.array([_total(part) / len(part) for part in parts])) / len(parts)
        else:
            missing = count - len(values)
            total = _total(values) + (missing * absent if missing and absent else 0.0)
            value = self._aggregate(column, total, count)
        return value if protocol.places is None or not math.isfinite(value) else round(value, protocol.places)

    def counted_by(self, c: int) -> frozenset[bytes]:
        """The topics whose mean the summary of a column is."""
        topics = self.columns[c].under(self.protocol).topics
        whole = self.present | self.unjudged if topics == "run" else self.present
        return (frozenset(self.judged) if topics == "qrels" else whole) - self.dropped.get(c, frozenset())

    def _aggregate(self, column: Column, total: float, count: int) -> float:
        match column.measure.aggregate:
            case Aggregate.TOPICS:
                return float(count)
            case Aggregate.SUM:
                return total
            case Aggregate.RELEVANT:
                return float(sum(self.judged.values())) if self.protocol.topics == "qrels" else total
            case Aggregate.GEOMETRIC:
                try:
                    return math.exp(total / count)
                except OverflowError:  # of z-scores; the C library gives infinity
                    return math.inf
            case Aggregate.MEAN:
                return float(np.float64(total) / count)
            case _:
                return 0.0


def _as_in_data(topics: Iterable[bytes]) -> list[bytes]:
    """In the order of the numbers, where all ids are numbers, else in byte order."""
    return sorted(topics, key=int) if all(topic.isdigit() for topic in topics) else sorted(topics)


def _total(values: Reals) -> float:
    """The sum, added one after the other."""
    return float(np.add.accumulate(np.append(0.0, values))[-1])
