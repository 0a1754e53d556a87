"""The figures of QuoteR (arXiv 2202.13145): where each context's one gold quote stands among all quotes."""

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np

from trecpy.api import Evaluator
from trecpy.errors import InputError
from trecpy.evaluation import score_ranked, tie_range
from trecpy.kernels.dtypes import Flags, Integers, Reals
from trecpy.names import parse_names
from trecpy.packed import Documents, Qrels, row_ids
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
_MOST = 2**62  # ranks are below

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
    ties: of scores or a run, as Protocol has it; "best", the gold quote before its equals, as in their scripts, unless
        said otherwise. With "expected" a rank is the mean over all orders of equals, and so is the variance of ranks;
        median and standard deviation, whose means have no closed form, are NaN where a gold quote is tied.
    pool: quotes in all, for rank statistics of contexts whose gold quote was not ranked: it counts as the last one;
        without it these are NaN. In MRR, NDCG and recall it counts 0.
    as_published: the numbers that their scripts print: MRR and NDCG are means of the means of `batch` contexts (64),
        MeanRank is from 0, `Variance` is the standard deviation, recall breaks ties by column, all are rounded

    Keys: MRR, NDCG@5, Recall@k, MedianRank, MeanRank, RankVariance, RankSD (of the population, ranks from 1). Parts of
    the data are scored apart. Raises InputError, and as trecpy.evaluate does.
    """
    if not isinstance(as_published, bool | np.bool_):
        raise InputError(f"as_published: expected True or False, found {described(as_published)}")
    if pool is not None and not (_is_whole(pool) and 1 <= pool < _MOST):
        raise InputError(f"pool: expected an integer from 1 to 2**62 - 1, found {described(pool)}")
    if ties is not None and ranks is not None:
        raise InputError("ties: expected scores or a run, whose equal scores they order; ranks have none")
    protocol = _protocol(ties, bool(as_published), batch)
    given = [each is not None for each in (scores, ranks, run)]
    if sum(given) != 1 or (gold is None) == (ranks is None):
        raise InputError("quoter: expected scores and gold, or ranks, or run and gold")
    notes: list[str] = []
    if run is not None:
        found = _of_run(run, gold, protocol, notes)
    else:
        found = _of_ranks(ranks, protocol) if ranks is not None else _of_matrix(scores, gold, protocol)
    return _figures(found, pool, bool(as_published), notes)


def _protocol(ties: str | None, as_published: bool, batch: int | None) -> Protocol:
    if batch is not None and not as_published:
        raise InputError("batch: expected as_published, which alone has means of means")
    if ties == "rank":
        raise InputError("ties: expected 'best', 'input', 'worst', 'trec' or 'expected', found 'rank'")
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
    judgements = Qrels(
        "qrels", "gold", list(row_ids(count)), units, Documents.anonymous(units), np.ones(count, np.int64)
    )
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
    for name, given in (("scores", scores), ("gold", gold)):
        if np.ma.isMaskedArray(given):
            raise InputError(
                f"{name}: expected an array without a mask, which would be lost; -inf is a score of no rank"
            )
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


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _of_ranks(ranks: Iterable[Any], protocol: Protocol) -> Scores:
    unordered = isinstance(ranks, Set | Mapping | str | bytes) or not isinstance(ranks, Iterable)
    if unordered or np.ma.isMaskedArray(ranks):
        raise InputError(f"ranks: expected a list or an array, without a mask, found {described(ranks)}")
    given = list(ranks)
    if not given:
        raise InputError("ranks: expected at least one, found none")
    place = np.zeros(len(given), np.int64)
    for row, rank in enumerate(given):
        if rank is None or (isinstance(rank, float) and rank == math.inf):
            continue
        whole = _is_whole(rank) or (isinstance(rank, float | np.floating) and rank % 1 == 0)
        if not whole or not 1 <= rank < _MOST:
            raise InputError(
                f"ranks: row {row}: expected an integer from 1 to 2**62 - 1, or None or inf, found {described(rank)}"
            )
        place[row] = int(rank)
    there, none = place > 0, np.zeros(len(place), np.int64)
    return _scored(place - there, none, none, np.maximum(place, 1), there, protocol)


def _of_run(run: Any, gold: Any, protocol: Protocol, notes: list[str]) -> Scores:
    if isinstance(gold, Mapping) and not any(isinstance(each, Mapping) for each in gold.values()):
        for topic, docno in gold.items():
            if not _is_whole(docno) and not isinstance(docno, str | bytes):
                raise InputError(f"gold: topic {described(topic)}: expected a docno, found {described(docno)}")
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
    # As a matrix has them, in whose order doubles are added: lines of the data, by their numbers.
    order = sorted(range(len(scores.topics)), key=lambda t: int(scores.topics[t]))
    return replace(scores, topics=[scores.topics[t] for t in order], per_query=scores.per_query[order])


def _figures(scores: Scores, pool: int | None, as_published: bool, notes: list[str]) -> Figures:
    values: dict[str, float] = {}
    ranks: Reals = np.zeros(0)
    tied: Reals = np.zeros(0)
    for c, (column, value) in enumerate(zip(scores.columns, scores.summary(), strict=True)):
        if column.measure.name == _RANK:
            ranks = scores.per_query[:, c]
            tied = _tied(scores, c) if scores.protocol.ties == "expected" else np.ones(len(ranks))
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
        fate = f"are {pool:,} in rank statistics" if pool is not None else "leave rank statistics undefined (no pool)"
        notes.append(
            f"lacks the gold quote of {missing:,} of {plural(len(ranks), 'context')}; they count 0 in MRR, NDCG and "
            f"Recall, and {fate}"
        )
    mean, median, deviation = float(np.mean(ranks)), float(np.median(ranks)), float(np.std(ranks))
    # Ranks of different contexts are independent, and that among n equals has the variance (n^2 - 1) / 12.
    variance = float(np.var(ranks) + np.mean((tied**2 - 1) / 12) * (1 - 1 / len(ranks)))
    if several := int(np.count_nonzero(tied > 1)):
        median = deviation = math.nan
        names = f"MedianRank and {'Variance' if as_published else 'RankSD'}"
        notes.append(
            f"{names} are undefined: their means over the orders of equal scores, which the gold quote of "
            f"{plural(several, 'context')} has, have no closed form"
        )
    if as_published:
        values |= {"MedianRank": _whole(median), "MeanRank": _whole(mean - 1), "Variance": _whole(deviation)}
    else:
        values |= {"MedianRank": median, "MeanRank": mean, "RankVariance": variance, "RankSD": deviation}
    return Figures(values, topics=len(ranks), missing=missing, notes=notes, protocol=stated(scores.protocol))


def _tied(scores: Scores, c: int) -> Reals:
    """float64[N]: how many quotes have the score of the gold one, itself among them; 1 where it was not ranked."""
    worst, best = (each.per_query[:, c] for each in tie_range(scores))
    return np.where(np.isfinite(worst), worst, 0) - np.where(np.isfinite(best), best, 0) + 1


def _whole(value: float) -> float:
    return round(value) if math.isfinite(value) else value
