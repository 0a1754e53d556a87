"""The figures of QuoteR (arXiv 2202.13145): where each context's one gold quote stands among all quotes."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trecpy.api import Evaluator
from trecpy.errors import InputError
from trecpy.evaluation import score_ranked
from trecpy.kernels.dtypes import Flags, Integers, Reals
from trecpy.names import parse_names
from trecpy.packed import Documents, Qrels
from trecpy.papers.figures import Figures
from trecpy.plan import Plan
from trecpy.presets import protocols, stated
from trecpy.protocol import Protocol, chosen_protocol
from trecpy.ranked import ONCE, Ranked
from trecpy.scores import Scores
from trecpy.text import described, plural, quoted

_RANK = "first_rel_rank"
_NAMES = {"recip_rank": "MRR", "ndcg_cut": "NDCG", "recall": "Recall"}
_CELLS = 1 << 22  # scores that are looked at together

_PLACES = {"MRR": 3, "NDCG": 3, "Recall": 4}


def published_places(name: str) -> int:
    """Decimals with which their scripts print a value: 3 of MRR and NDCG, 4 of recall, none of rank statistics."""
    return _PLACES.get(name.partition("@")[0], 0)


def quoter(
    scores: Any = None,
    gold: Any = None,
    *,
    ranks: Iterable[Any] | None = None,
    run: Any = None,
    ties: str | None = None,
    pool: int | None = None,
    as_published: bool = False,
    batch: int | None = None,
) -> Figures:
    """
    MRR, NDCG@5, Recall@1 to Recall@1000, and median, mean, variance and standard deviation of the gold quotes' ranks.

    scores: floats or integers [N, D], none NaN  of all D quotes for each of N contexts; -inf: was not ranked
    gold: integers [N]  column of each context's gold quote; with run: judgements of one relevant docno a topic, or
        {topic: docno}
    ranks: instead, the gold quotes' ranks from 1, None or inf where one was not ranked
    run: instead, rankings with gold, as trecpy.evaluate takes them; contexts are in the order of their numbers, where
        all ids are numbers, else in byte order
    ties: as Protocol has it; "best", the gold quote before its equals, as in their scripts, unless said otherwise
    pool: quotes in all, for rank statistics of contexts whose gold quote was not ranked: it counts as the last one;
        without it these are NaN. In MRR, NDCG and recall it counts 0.
    as_published: the numbers that their scripts print: MRR and NDCG are means of the means of `batch` contexts (64),
        MeanRank is from 0, `Variance` is the standard deviation, recall breaks ties by column, all are rounded

    Keys: MRR, NDCG@5, Recall@k, MedianRank, MeanRank, RankVariance, RankSD (of the population, ranks from 1). Parts of
    the data are scored apart. Raises InputError, and as trecpy.evaluate does.
    """
    protocol = _protocol(ties, as_published, batch)
    given = [each is not None for each in (scores, ranks, run)]
    if sum(given) != 1 or (gold is None) == (ranks is None):
        raise InputError("quoter: expected scores and gold, or ranks, or run and gold")
    notes: list[str] = []
    if run is not None:
        found = _of_run(run, gold, protocol, notes)
    else:
        found = _of_ranks(ranks, protocol) if ranks is not None else _of_matrix(scores, gold, protocol)
    return _figures(found, pool, as_published, notes)


def _protocol(ties: str | None, as_published: bool, batch: int | None) -> Protocol:
    if batch is not None and not as_published:
        raise InputError("batch: expected as_published, which alone has means of means")
    options: dict[str, Any] = {name: value for name, value in (("ties", ties), ("batch", batch)) if value is not None}
    return chosen_protocol("quoter-as-published" if as_published else "quoter", options)


def _plan(judgements: Qrels, protocol: Protocol) -> Plan:
    return Plan(judgements, parse_names(protocols[protocol.name].measures, protocol.compat), protocol)


def _scored(
    above: Integers, before: Integers, after: Integers, num_ret: Integers, there: Flags, protocol: Protocol
) -> Scores:
    """
    Score N contexts, of whose rankings only the gold quote is known.

    above, before, after: int64[N]  quotes of larger score, and of equal score in earlier and in later columns
    num_ret: int64[N]  quotes ranked; there: bool[N]  is the gold one among them?
    """
    count = len(there)
    units = np.arange(count + 1)
    topics = [b"%0*d" % (len(str(count - 1)), row) for row in range(count)]
    judgements = Qrels("qrels", "gold", topics, units, Documents.anonymous(units), np.ones(count, np.int64))
    plan = _plan(judgements, protocol)
    rows = np.flatnonzero(there)
    starts = np.concatenate(([0], np.cumsum(there)))
    first = above[rows] + 1
    last = first + before[rows] + after[rows]
    none = np.zeros(count, np.int64)
    level = np.ones(len(rows), np.int64)
    # Of equal scores the later column is first, as in evaluate_dense, unless ties are 'input'.
    ranked = Ranked(units[:-1], num_ret, starts, first + after[rows], level, rows, first, last, none, ONCE)
    mirrored = replace(ranked, rank=first + before[rows])
    return score_ranked(plan, [mirrored if ranking.ties == "input" else ranked for ranking in plan.rankings])


def _of_matrix(scores: Any, gold: Any, protocol: Protocol) -> Scores:
    matrix, golds = np.asarray(scores), np.asarray(gold)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or matrix.size == 0:
        raise InputError(f"scores: expected numbers [contexts, quotes], found {matrix.dtype} {list(matrix.shape)}")
    if golds.shape != matrix.shape[:1] or golds.dtype.kind not in "iu":
        raise InputError(f"gold: expected integers [{len(matrix)}], found {golds.dtype} {list(golds.shape)}")
    outside = np.flatnonzero((golds < 0) | (golds >= matrix.shape[1]))
    if len(outside):
        row = int(outside[0])
        raise InputError(f"gold: row {row}: expected a column from 0 to {matrix.shape[1] - 1}, found {golds[row]}")
    golds = golds.astype(np.int64)
    counts = np.empty((4, len(matrix)), np.int64)
    there = np.empty(len(matrix), bool)
    columns = np.arange(matrix.shape[1])
    step = max(1, _CELLS // matrix.shape[1])
    for begin in range(0, len(matrix), step):
        rows = slice(begin, begin + step)
        some, column = np.asarray(matrix[rows]), golds[rows, None]
        if some.dtype.kind == "f" and np.isnan(some).any():
            row, place = np.argwhere(np.isnan(some))[0].tolist()
            raise InputError(f"scores: row {begin + row}, column {place}: expected a number, found nan")
        own = np.take_along_axis(some, column, axis=1)
        equal = some == own
        for number, flags in enumerate((some > own, equal & (columns < column), equal & (columns > column))):
            counts[number, rows] = np.count_nonzero(flags, axis=1)
        counts[3, rows] = np.count_nonzero(some != -np.inf, axis=1)
        there[rows] = own[:, 0] != -np.inf
    above, before, after, num_ret = counts
    return _scored(above, before, after, num_ret, there, protocol)


def _of_ranks(ranks: Iterable[Any], protocol: Protocol) -> Scores:
    given = list(ranks)
    if not given:
        raise InputError("ranks: expected at least one, found none")
    place = np.zeros(len(given), np.int64)
    for row, rank in enumerate(given):
        if rank is None or (isinstance(rank, float) and rank == math.inf):
            continue
        whole = isinstance(rank, int | np.integer) or (isinstance(rank, float | np.floating) and rank % 1 == 0)
        if isinstance(rank, bool) or not whole or not 1 <= rank < 2**62:
            raise InputError(f"ranks: row {row}: expected an integer >= 1, or None or inf, found {described(rank)}")
        place[row] = int(rank)
    there, none = place > 0, np.zeros(len(place), np.int64)
    return _scored(place - there, none, none, np.maximum(place, 1), there, protocol)


def _of_run(run: Any, gold: Any, protocol: Protocol, notes: list[str]) -> Scores:
    if isinstance(gold, Mapping) and not any(isinstance(each, Mapping) for each in gold.values()):
        gold = {topic: {docno: 1} for topic, docno in gold.items()}
    evaluator = Evaluator(gold, protocols[protocol.name].measures, protocol=protocol)
    judgements = evaluator.qrels.judgements
    assert isinstance(judgements, Qrels)
    count = judgements.count(1)
    if (count != 1).any():
        place = int(np.argmax(count != 1))
        topic = quoted(judgements.topics[place])
        raise InputError(f"gold: topic {topic}: expected one gold quote, found {count[place]}")
    evaluation = evaluator.evaluate(run)
    notes += evaluation.notes
    if beyond := evaluation.counts.run - (evaluation.counts.judged - evaluation.counts.missing):
        notes.append(f"has {plural(beyond, 'topic')} without a gold quote; they are left out")
    scores = evaluation._scores
    if not all(topic.isdigit() for topic in scores.topics):
        return scores
    # Batches are of contexts as they come in the data, which the numbers of its lines tell.
    order = sorted(range(len(scores.topics)), key=lambda t: int(scores.topics[t]))
    return replace(scores, topics=[scores.topics[t] for t in order], per_query=scores.per_query[order])


def _figures(scores: Scores, pool: int | None, as_published: bool, notes: list[str]) -> Figures:
    values: dict[str, float] = {}
    ranks: Reals = np.zeros(0)
    for c, (column, value) in enumerate(zip(scores.columns, scores.summary(), strict=True)):
        if column.measure.name == _RANK:
            ranks = scores.per_query[:, c]
            continue
        paper = _NAMES[column.measure.name]
        name = paper if column.parameter is None else f"{paper}@{column.parameter}"
        values[name] = round(value, published_places(name)) if as_published else value
    # As the paper's table has them; a result is in trec_eval's order.
    values = {
        name: values[name] for name in sorted(values, key=lambda name: list(_PLACES).index(name.partition("@")[0]))
    }
    missing = int(np.count_nonzero(np.isinf(ranks)))
    if missing and pool is None:
        ranks = np.full(len(ranks), math.nan)
    elif pool is not None:
        largest = np.max(ranks, initial=1, where=np.isfinite(ranks))
        if pool < largest:
            raise InputError(f"pool: expected at least {largest:.0f}, the largest rank, found {described(pool)}")
        ranks = np.where(np.isinf(ranks), float(pool), ranks)
    if missing:
        fate = f"are {pool:,} in rank statistics" if pool is not None else "leave rank statistics undefined"
        notes.append(
            f"lacks the gold quote of {missing:,} of {plural(len(ranks), 'context')}; they count 0 in MRR, NDCG and "
            f"Recall, and {fate}" + ("" if pool is not None else " unless the number of all quotes is given")
        )
    mean, median, deviation = float(np.mean(ranks)), float(np.median(ranks)), float(np.std(ranks))
    if as_published:
        values |= {"MedianRank": _whole(median), "MeanRank": _whole(mean - 1), "Variance": _whole(deviation)}
    else:
        values |= {"MedianRank": median, "MeanRank": mean, "RankVariance": float(np.var(ranks)), "RankSD": deviation}
    return Figures(values, topics=len(ranks), missing=missing, notes=notes, protocol=stated(scores.protocol))


def _whole(value: float) -> float:
    return round(value) if math.isfinite(value) else value
