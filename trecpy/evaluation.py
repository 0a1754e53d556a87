"""A run and judgements to one float64 a topic and column. No printing, no arithmetic of a measure."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from typing import Protocol as Interface

import numpy as np

from trecpy.arrays import spread
from trecpy.errors import InputError, NothingScoredError, ParameterError, TopicError
from trecpy.kernels.dtypes import Flags, Integers
from trecpy.packed import Judgements, Preferences, Qrels
from trecpy.plan import Plan
from trecpy.preferences import Preferred
from trecpy.protocol import Protocol
from trecpy.ranked import Ranked
from trecpy.registry import Column
from trecpy.scores import DROPPED, NOT_COUNTED, RANKED, RANKED_JUDGED, TIED_PAIRS, Scores, Tied
from trecpy.text import plural, quoted

T = TypeVar("T")


class Rankings(Interface):
    """Some topics' rankings, each whole, wherever they come from."""

    @property
    def topics(self) -> Sequence[bytes]:
        """Ids of the B topics."""

    def some(self, chosen: Integers) -> "Rankings":
        """The rankings `chosen`: int64[n]."""

    def under(self, protocol: Protocol) -> "Rankings":
        """The same without documents that the protocol does not rank."""

    def rank(self, judgements: Judgements, places: Integers, protocol: Protocol, every: bool) -> Ranked:
        """As Judgements.rank has it."""

    def docno(self, record: int) -> bytes:
        """The docno of a record that Ranked.repeated names."""

    def line(self, record: int) -> int | None:
        """The line of a file in which it stands, if any."""

    @property
    def stated(self) -> bool:
        """As Block has it."""

    def digests(self) -> list[bytes]:
        """A hash of each topic's documents and scores."""


class Spread(Interface):
    """Rankings that can be worked on by several threads."""

    def map(self, work: Callable[[Any], T], threads: int) -> Iterator[tuple[Any, T]]:
        """Yield blocks of Rankings in order, and what work() makes of each."""


def evaluate_blocks(
    judgements: Judgements,
    blocks: Iterable[Rankings] | Spread,
    columns: Sequence[Column],
    protocol: Protocol,
    only: bytes | None = None,
    threads: int = 1,
) -> Scores:
    """As score() has it, for one run."""
    return score(Plan(judgements, columns, protocol), blocks, only, threads=threads)


def score(
    plan: Plan,
    blocks: Iterable[Rankings] | Spread,
    only: bytes | None = None,
    witness: bool = False,
    threads: int = 1,
) -> Scores:
    """
    Score the rankings of all blocks.

    blocks: each topic whole; of two rankings of one topic the later one counts
    only: score no other topic than this; witness: keep ties and hashes, as Scores has them
    threads: that rank, where blocks are a Spread; the result does not depend on it

    Raises NothingScoredError: no topic has both judgements and a ranking (under 10.0's rules judged topics that the
    run lacks do not need one). TopicError: the judgements are not of the kind that a measure needs.
    """
    judgements, protocol = plan.judgements, plan.protocol
    scorer = _Scorer(plan, witness)
    wanted = plan.wanted
    if only is not None:
        wanted = wanted & np.array([*(topic == only for topic in judgements.topics), False])
    rankings = plan.rankings if plan.looks else []

    def rank(block: Rankings) -> _Found:
        places = judgements.find(block.topics)
        chosen = wanted[places].nonzero()[0]
        digests = dict(zip(block.topics, block.digests(), strict=True)) if witness else {}
        unjudged = [] if len(chosen) == len(places) else [block.topics[b] for b in np.flatnonzero(places < 0).tolist()]
        found = []
        if len(chosen):
            some = block if len(chosen) == len(places) else block.some(chosen)
            places = places[chosen]
            for ranking in rankings:
                each = some.under(ranking)
                found.append((each, each.rank(judgements, places, ranking, plan.every)))
        return _Found(places if len(chosen) else chosen, found, unjudged, digests)

    each = ((block, rank(block)) for block in blocks) if isinstance(blocks, Iterable) else blocks.map(rank, threads)
    for block, found in each:
        scorer.unranked |= not block.stated
        scorer.unjudged.update(found.unjudged)
        scorer.digests.update(found.digests)
        if len(found.places):
            scorer.score(found.ranked, found.places)
    whole = np.count_nonzero(scorer.scored) == len(scorer.scored)
    missing = np.flatnonzero(wanted[:-1] & ~scorer.scored) if not whole else np.zeros(0, np.int64)
    if protocol.topics == "same" and (len(missing) or scorer.unjudged):
        lacking = ", ".join(quoted(judgements.topics[place]) for place in missing[:5].tolist())
        beyond = ", ".join(map(quoted, sorted(scorer.unjudged)[:5]))
        raise TopicError(
            f"expected the same topics in qrels and run, found {len(missing)} only in the qrels ({lacking or 'none'}) "
            f"and {len(scorer.unjudged)} only in the run ({beyond or 'none'})"
        )
    # A topic that was not asked for by its name is not missing; one that is dropped is as if it were not judged.
    named = only is not None
    present = None if whole else scorer.scored | (named & ~wanted[:-1])
    if protocol.scores_missing and len(missing):
        scorer.score_missing(missing)
    if not np.count_nonzero(scorer.scored) and not (protocol.topics == "run" and scorer.unjudged):
        raise NothingScoredError("no topic has both judgements and a ranking" + _example_ids(judgements, only))
    # trec_eval divides by all judged topics also where -D asks for one.
    every = protocol.topics == "qrels" and (named or protocol.without_relevant == "keep")
    scores = scorer.result(None if every else wanted[:-1], present)
    return scores.with_zeros(scorer.unjudged) if protocol.topics == "run" else scores


def score_ranked(plan: Plan, ranked: Sequence[Ranked]) -> Scores:
    """Score rankings that are joined with the judgements already, one of each topic, in each of the plan's rankings."""
    if plan.every:
        raise ParameterError("expected no gain for documents without a judgement, which have no rows here")
    scorer = _Scorer(plan, witness=True)
    wanted = plan.wanted[:-1]
    chosen = np.flatnonzero(wanted)
    if len(chosen) == len(wanted):
        scorer.fill(chosen, ranked)
    else:
        scorer.fill(chosen, [replace(each.some(chosen), tied_pairs=np.zeros(len(chosen), np.int64)) for each in ranked])
    scorer.counted[[RANKED_JUDGED, TIED_PAIRS]] = NOT_COUNTED
    return scorer.result(wanted, wanted)


def tie_range(scores: Scores) -> tuple[Scores, Scores]:
    """
    The scores with documents of equal score in the order that is worst for the run, and in the best one.

    Raises InputError: ties were not kept.
    """
    if scores.tied is None:
        raise InputError("tie_range: expected an evaluation made with witness=True, which keeps ties")
    bounds = []
    place = {topic: t for t, topic in enumerate(scores.topics)}
    for ties in ("worst", "best"):
        values = scores.per_query.copy()
        for tied in scores.tied:
            rows = [place[topic] for topic in tied.topics]
            for c, column in tied.plan.values(tied.ranking, tied.ranked, ties):
                if not scores.columns[c].measure.text:
                    values[rows, c] = column
        bounds.append(replace(scores, per_query=values))
    return bounds[0], bounds[1]


def _example_ids(judgements: Judgements, only: bytes | None) -> str:
    some = ", ".join(quoted(topic) for topic in judgements.topics[:3])
    return (
        f": {judgements.name} judges {some or 'no topic'}"
        + (", ..." if len(judgements.topics) > 3 else "")
        + (f"; only {quoted(only)} was asked for" if only is not None else "")
    )


@dataclass(eq=False, repr=False)
class _Found:
    """What is worked out of a block by itself: places of the judged topics, each ranking of them; what else it has."""

    places: Integers
    ranked: list[tuple[Rankings, Ranked]]
    unjudged: list[bytes]
    digests: dict[bytes, bytes]


class _Scorer:
    """Collects the values of topics as blocks come, in any order."""

    def __init__(self, plan: Plan, witness: bool) -> None:
        self.plan, self.witness = plan, witness
        self.judgements, self.columns, self.protocol = plan.judgements, plan.columns, plan.protocol
        topics = len(self.judgements.topics)
        self.scored = np.zeros(topics, bool)
        self.counted = np.zeros((4, topics), np.int64)
        self.unjudged: set[bytes] = set()
        self.digests: dict[bytes, bytes] = {}
        self.tied: list[Tied] = []
        self.values = np.zeros((topics, len(self.columns)))
        self.texts: dict[str, list[bytes]] = {
            column.name: [b""] * topics for column in self.columns if column.measure.text and column.per_topic
        }
        self.problems: dict[int, TopicError] = {}
        self.hidden: dict[int, bytes] = {}
        self.kept = 0
        self.unranked = False
        self.unfit, self.looks = plan.unfit, plan.looks

    def score(self, found: Sequence[tuple[Rankings, Ranked]], places: Integers) -> None:
        """Score topics that the run has. found: these topics, in each way in which they are ranked."""
        if self.problems or self.hidden:
            for place in places.tolist():  # rankings that came before are replaced
                self.problems.pop(place, None)
                self.hidden.pop(place, None)
        for some, ranked in found:
            if len(ranked.repeated) and np.count_nonzero(ranked.repeated[:, 0] >= 0):
                self._complain(some, places, ranked)
            if self.protocol.duplicates == "keep":
                self.kept += int(ranked.repeated[:, 2].sum())
        self.fill(places, [ranked for _, ranked in found])

    def _complain(self, rankings: Rankings, places: Integers, ranked: Ranked) -> None:
        """Note documents that are ranked twice."""
        twice = ranked.repeated[:, 0] >= 0
        hidden = twice & (ranked.repeated[:, 2] == 1) & (self.protocol.duplicates == "error-within-depth")
        for b in np.flatnonzero(hidden).tolist():
            self.hidden[int(places[b])] = rankings.docno(int(ranked.repeated[b, 0]))
        bad = np.flatnonzero(twice & ~hidden)
        if len(bad):
            b = int(bad[np.argmin(places[bad])])
            a, c = ranked.repeated[b, :2].tolist()
            error = self._twice(rankings.topics[b], rankings.docno(a), "ranking", [rankings.line(a), rankings.line(c)])
            self.problems[int(places[b])] = error

    def score_missing(self, places: Integers) -> None:
        """Score judged topics that the run lacks as if it had ranked one document outside the judgements."""
        begins, ends = self.judgements.units[places], self.judgements.units[places + 1]
        ranked = Ranked.outside(spread(begins, ends - begins), self.plan.every)
        self._fill(places, self._rows(places), [ranked] * len(self.plan.rankings))
        for c, column in enumerate(self.columns):
            if column.zero_if_missing:
                self.values[places, c] = 0.0
                if column.name in self.texts:
                    for place in places.tolist():
                        self.texts[column.name][place] = b""

    def fill(self, places: Integers, ranked: Sequence[Ranked]) -> None:
        """Score topics whose rankings are joined with their judgements, in each way in which they are ranked."""
        rows = self._rows(places)
        if ranked:
            self._count(places, rows, ranked[0])
            if self.witness:
                for number, each in enumerate(ranked):
                    self._keep_ties(number, each, places)
        self._fill(places, rows, ranked)

    def _count(self, places: Integers, rows: Integers | slice, ranked: Ranked) -> None:
        """Count documents; of a topic's units, which all rank the same, the last one counts."""
        cut = ranked.cut(self.protocol.depth, self.protocol.judged_only)
        last = slice(None) if self.plan.sizes is None else np.cumsum(self.plan.sizes[places]) - 1
        self.counted[RANKED, rows] = cut.num_ret[last]
        self.counted[TIED_PAIRS, rows] = ranked.tied_pairs
        self.counted[RANKED_JUDGED, rows] = cut.num_judged[last]
        if len(ranked.repeated) and self.protocol.duplicates != "keep":
            self.counted[DROPPED, rows] = np.where(ranked.repeated[:, 0] < 0, ranked.repeated[:, 2], 0)

    def _rows(self, places: Integers) -> Integers | slice:
        """The places, as a slice where they are all there are, in order: that is several times as fast."""
        whole = len(places) == len(self.scored) and (len(places) == 1 or bool((places[1:] > places[:-1]).all()))
        return slice(None) if whole else places

    def _keep_ties(self, number: int, ranked: Ranked, places: Integers) -> None:
        """Keep topics in which ties touch judged documents."""
        tied = ranked.tied()
        if len(tied):
            names, units = self.judgements.topics, self.judgements.units
            last = np.cumsum(units[places + 1] - units[places]) - 1
            topics = np.unique(np.searchsorted(last, tied))
            sizes = np.diff(last, prepend=-1)[topics]
            some = ranked.some(spread(last[topics] + 1 - sizes, sizes))
            places = places[topics]
            self.tied.append(Tied(self.plan, number, [names[place] for place in places.tolist()], some))

    def _fill(self, places: Integers, rows: Integers | slice, ranked: Sequence[Ranked]) -> None:
        """Compute the columns of some topics. rows: the places, as _rows() has them."""
        self.scored[rows] = True
        for c in self.plan.without_documents:
            self.values[rows, c] = not self.columns[c].measure.text
        if not self.looks:
            return
        try:
            if isinstance(self.judgements, Preferences):
                view = Preferred(ranked[0], self.judgements, self.protocol)
                for q, problem in view.problems.items():
                    self.problems.setdefault(int(places[q]), problem)
                with np.errstate(all="ignore"):
                    self._store(places, rows, self.plan.columns_of(view, self.plan.with_documents))
                return
            if self.plan.judged_twice.size:
                twice = np.intersect1d(places, self.plan.judged_twice)
                if len(twice):
                    self.problems.setdefault(int(twice[0]), self._judged_twice(int(twice[0])))
            for number, each in enumerate(ranked):
                self._store(places, rows, self.plan.values(number, each))
        except TopicError as error:
            self.unfit, self.looks = error, False

    def _store(self, places: Integers, rows: Integers | slice, columns: Iterable[tuple[int, Any]]) -> None:
        for c, values in columns:
            text = self.texts.get(self.columns[c].name) if self.texts else None
            if text is None:
                self.values[rows, c] = values
            else:
                for place, value in zip(places.tolist(), values, strict=True):
                    text[place] = value

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

    def result(self, wanted: Flags | None, present: Flags | None) -> Scores:
        """
        What came together.

        wanted: bool[T]  topics that were asked for; present: bool[T]  those that the run has; None: all
        """
        if self.unfit is not None:
            raise self.unfit
        chosen = self.scored.nonzero()[0]
        every = len(chosen) == len(self.values)
        names = self.judgements.topics
        judged = self.plan.judged
        if wanted is not None and np.count_nonzero(wanted) < len(wanted):
            judged = {names[place]: judged[names[place]] for place in np.flatnonzero(wanted).tolist()}
        order = {int(place): t for t, place in enumerate(chosen)} if self.problems else {}
        return Scores(
            columns=self.columns,
            protocol=self.protocol,
            topics=names if every else [names[place] for place in chosen.tolist()],
            per_query=self.values if every else self.values[chosen],
            texts={name: [texts[place] for place in chosen.tolist()] for name, texts in self.texts.items()},
            problems={order[place]: problem for place, problem in self.problems.items()},
            judged=judged,
            present=self.plan.topics if present is None else frozenset(itertools.compress(names, present.tolist())),
            unjudged=frozenset(self.unjudged),
            without_relevant=self._without_relevant(chosen),
            counted=np.maximum(self.counted.sum(axis=1), NOT_COUNTED),
            dropped=self.plan.dropped,
            notes=list(self._notes()),
            tied=self.tied if self.witness else None,
            digests=self.digests if self.witness else None,
        )

    def _without_relevant(self, chosen: Integers) -> int:
        if not isinstance(self.judgements, Qrels):
            return 0
        if len(chosen) == len(self.scored):
            return self.plan.without_relevant
        return len(chosen) - int(np.count_nonzero(self.plan.relevant[chosen]))

    def _notes(self) -> Iterator[str]:
        """What the reference does in silence though it may not be meant."""
        if self.hidden:
            place = min(self.hidden)
            yield (
                f"topic {quoted(self.judgements.topics[place])}: document {quoted(self.hidden[place])} is ranked "
                f"twice, the second time below the cut of -M (in {plural(len(self.hidden), 'topic')})"
            )
        if self.protocol.ties == "rank" and self.unranked:
            yield "the run states scores, by which it is ranked; ties='rank' is for files of topic, docno and rank"
        if self.kept:
            again = plural(self.kept, "document")
            yield f"{again} of a topic ranked again and kept: each counts, so that recall may exceed 1"
        if self.looks:
            yield from self.plan.unsorted
