"""
What a measure's formula is written in: rankings joined with judgements, counted once by kernels.walk.

Q rankings are scored together, one a topic (or a group of judgements). A formula takes a Judged and returns float64[Q].
"""

import math
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from trecpy.arrays import divided, spread, starts_of
from trecpy.errors import ParameterError, TopicError
from trecpy.gains import BY_LEVEL, Gains, Graded
from trecpy.kernels import walk as kernel
from trecpy.kernels.dtypes import Flags, Integers, Reals
from trecpy.packed import Qrels
from trecpy.protocol import Protocol
from trecpy.ranked import Ranked
from trecpy.tables import discounts
from trecpy.text import quoted, shown

# A cutoff behind every document.
EVERY = 2**62


def ratio(part: Any, whole: Reals | Integers) -> Reals:
    """The quotient part / whole, and 0 where whole is 0."""
    return divided(part, whole, whole != 0)


def libm(function: Callable[[float], float], values: Reals) -> Reals:
    """
    A logarithm of Python's math, which is the C library's, of each value; NaN with its sign set where C gives that.

    Computed once for each distinct value. NumPy's own logarithms differ from these in the last bit now and then.
    """
    distinct, where = np.unique(values, return_inverse=True)
    result = np.empty(len(distinct))
    for i, value in enumerate(distinct.tolist()):
        if value > 0:
            result[i] = function(value)
        else:
            result[i] = -math.inf if value == 0 else value if value != value else -math.nan
    return result[where]


def gain_of_rows(ranked: Ranked, graded: Graded) -> Reals:
    """float64[M]: the gain of each row."""
    document = ranked.document
    gain = graded.outside[ranked.unit[ranked.query]]
    gain[document >= 0] = graded.document[document[document >= 0]]
    return gain


_LONGEST = (1 << 40) - 1


def key(query: Integers, rank: Integers) -> Integers:
    """One integer that sorts as (query, rank) does, for ranks up to _LONGEST."""
    return (query << 40) + rank


class Reading:
    """
    The conventions under which rankings are read, and what follows from them and the judgements alone.

    least: the smallest level that is relevant, as the judgements code levels; gains: what a level is worth
    cutoffs: int64[K]  all ranks that formulas may ask for, ascending, EVERY the last; column: each one's place there
    num_rel: int64[U]  relevant documents of each unit
    """

    def __init__(self, qrels: Qrels, protocol: Protocol, cutoffs: Iterable[int] = ()) -> None:
        self.qrels, self.protocol = qrels, protocol
        self.least = qrels.code(protocol.relevance_level)
        self.gains = Gains.of(protocol.gains, self.least)
        self.cutoffs = np.array(sorted({*cutoffs, EVERY}), np.int64)
        self.column = {k: i for i, k in enumerate(self.cutoffs.tolist())}
        self.num_rel = qrels.count(self.least)
        self.by_level = self.gains == BY_LEVEL and qrels.grades is None
        if protocol.max_grade is not None:
            self.check_grades(protocol.max_grade)

    def check_grades(self, largest: int, measure: str = "") -> None:
        """Raises TopicError: a judgement above the largest grade of the scale. measure: that needs the scale"""
        if found := self.qrels.first_above(largest):
            topic, docno, level = found
            where = f"{shown(self.qrels.name)}: topic {quoted(topic)}" + (
                f": document {quoted(docno)}" if docno else ""
            )
            needed = f" ({measure} needs the scale)" if measure else ""
            raise TopicError(f"{where}: expected grades up to max_grade={largest}{needed}, found {level:g}")


class Judged:
    """
    Rankings joined with judgements.

    num_ret, num_rel, num_nonrel, num_rel_ret: int64[Q]  documents ranked; relevant and judged not relevant in the
        qrels; relevant among those ranked
    hits: int64[Q]  ranked documents of level >= relevance_level: num_rel_ret, unless that level is below 0
    first_hit: int64[Q]  rank of the first one, 0 where there is none
    query, rank, level: int64[M]  a row for each ranked document that the qrels name, best rank first, query by query
    """

    def __init__(self, ranked: Ranked, reading: Reading) -> None:
        self.reading, self.qrels, self.protocol = reading, reading.qrels, reading.protocol
        self.least, self.gains, self._column = reading.least, reading.gains, reading.column
        self.ranked = ranked = self._arranged(ranked)
        self.unit, self.num_ret = ranked.unit, ranked.num_ret
        self.row_starts, self.rank, self.level = ranked.row_starts, ranked.rank, ranked.level
        self.num_rel = reading.num_rel[self.unit]
        self._gained: dict[Gains, Gained] = {}
        self._walk()

    def _arranged(self, ranked: Ranked) -> Ranked:
        """Ties resolved and the ranking cut, as the protocol has it."""
        if self.protocol.ties in ("best", "worst"):
            gain = gain_of_rows(ranked, self.qrels.graded(self.gains))
            ranked = ranked.resolved(self.protocol.ties == "best", ranked.level >= self.least, gain)
        return ranked.cut(self.protocol.depth, self.protocol.judged_only)

    def _walk(self) -> None:
        """Count all that columns are read from."""
        shape = 2, len(self.unit), len(self._column)
        self._found, self._unjudged = np.empty(shape, np.int64)
        self._precision_sum, self._dcg = np.empty(shape)
        counts = np.empty((len(self.unit), kernel.COUNTS_SIZE), np.int64)
        self.discounts = discounts(int(self.num_ret.max(initial=0)))
        kernel.walk(
            self.row_starts,
            self.rank,
            self.level,
            self.num_ret,
            self.least,
            self.reading.cutoffs,
            self.discounts,
            self._found,
            self._precision_sum,
            self._dcg,
            self._unjudged,
            counts,
        )
        self.num_rel_ret = counts[:, kernel.RELEVANT]
        self.first_hit = counts[:, kernel.FIRST_HIT]
        self.hits = self.found()

    # Columns at a cutoff: k is one of the cutoffs that the rankings were walked with.

    def found(self, k: int = EVERY) -> Integers:
        """int64[Q]: hits at ranks 1..k."""
        return self._found[:, self._column[k]]

    def any_found(self, k: int) -> Reals:
        """float64[Q]: 1 where there is a hit at ranks 1..k, else 0."""
        return (self.found(k) > 0).astype(float)

    def reciprocal_rank(self, k: int = EVERY) -> Reals:
        """float64[Q]: 1 over the rank of the first hit, 0 where there is none at ranks 1..k."""
        found = self.first_hit > 0
        return divided(1.0, self.first_hit, found if k == EVERY else found & (self.first_hit <= k))

    def precision_sum(self, k: int = EVERY) -> Reals:
        """float64[Q]: sum of hits/rank over the hits at ranks 1..k, in rank order."""
        return self._precision_sum[:, self._column[k]]

    def dcg(self, k: int = EVERY, gains: Gains = BY_LEVEL) -> Reals:
        """float64[Q]: sum of gain / log2(rank + 1) over ranks 1..k; gains with pairs go before the protocol's."""
        if self.reading.by_level and not gains.pairs:
            return self._dcg[:, self._column[k]]
        return self.gained(gains).dcg_at(np.arange(len(self.unit)), np.minimum(k, self.num_ret))

    def ideal_dcg(self, k: int = EVERY, gains: Gains = BY_LEVEL) -> Reals:
        """float64[Q]: the same of the ideal ranking."""
        if self.protocol.ideal == "candidates":
            return self.gained(gains).dcg_of_candidates(k)
        return self.qrels.ideal_dcg(self._chosen(gains), k)[self.unit]

    def ap_divisor(self, k: int = EVERY) -> Reals | Integers:
        """[Q]: what the precisions at hits down to rank k are divided by, as the protocol has it."""
        if self.protocol.ap == "hits":
            return self.found(k)
        return np.minimum(self.num_rel, k) if self.protocol.ap == "min" else self.num_rel

    def not_judged(self, k: int = EVERY) -> Integers:
        """int64[Q]: documents at ranks 1..k that have no level >= 0."""
        return self._unjudged[:, self._column[k]]

    # Rows.

    def sum(self, terms: Reals) -> Reals:
        """float64[Q]: sum of terms: float64[M] over each ranking's rows, one at a time in rank order."""
        return np.bincount(self.query, terms, len(self.unit)).astype(float)  # of no rows it gives integers

    def so_far(self, chosen: Flags) -> Integers:
        """int64[M]: how many of the ranking's chosen: bool[M] rows there are up to and with this one."""
        counts = starts_of(chosen)
        return counts[1:] - counts[self.row_starts[:-1]][self.query]

    @cached_property
    def query(self) -> Integers:
        """int64[M]: the ranking of each row."""
        return self.ranked.query

    @cached_property
    def num_nonrel(self) -> Integers:
        """int64[Q]: documents that are judged, and not relevant."""
        return self.qrels.count(0, self.least)[self.unit]

    @cached_property
    def first_hit_rank(self) -> Reals:
        """float64[Q]: rank of the first hit, infinite where there is none."""
        return np.where(self.first_hit > 0, self.first_hit, math.inf)

    @cached_property
    def is_hit(self) -> Flags:
        """bool[M]: is the level at least relevance_level?"""
        return self.level >= self.least

    @cached_property
    def is_relevant(self) -> Flags:
        """bool[M]: the same, of judged documents only."""
        return self.is_hit & (self.level >= 0)

    @cached_property
    def is_nonrelevant(self) -> Flags:
        """bool[M]: judged, and below relevance_level."""
        return ~self.is_hit & (self.level >= 0)

    @cached_property
    def hit_starts(self) -> Integers:
        """int64[Q+1]: the hits of ranking q, of all hits end to end, are hit_starts[q]:hit_starts[q+1]."""
        return starts_of(self.hits)

    @cached_property
    def hit_key(self) -> Integers:
        """int64[H]: key() of each hit."""
        return self.row_key[self.is_hit]

    @cached_property
    def row_key(self) -> Integers:
        """int64[M]: key() of each row."""
        return key(self.query, self.rank)

    @cached_property
    def hit_rank(self) -> Integers:
        """int64[H]: rank of each hit."""
        return self.rank[self.is_hit]

    def found_at(self, rank: Integers) -> Integers:
        """int64[Q]: hits down to a rank of each ranking's own: int64[Q]."""
        wanted = key(np.arange(len(self.unit)), np.clip(rank, 0, _LONGEST))
        return np.searchsorted(self.hit_key, wanted, "right") - self.hit_starts[:-1]

    # What relevance_level < 0 adds: documents without a judgement are hits then, but num_rel_ret never counts them.
    # trec_eval counts down from num_rel_ret at each hit, last rank first, so that the first `surplus` hits count 0.

    @cached_property
    def surplus(self) -> Integers:
        """int64[Q]: hits that are not judged relevant."""
        return self.hits - self.num_rel_ret

    @cached_property
    def best_precision(self) -> Reals:
        """float64[H]: the largest precision at each hit or a later one."""
        best = np.empty(len(self.hit_rank))
        place = np.arange(1, len(best) + 1) - np.repeat(self.hit_starts[:-1] + self.surplus, self.hits)
        kernel.best_precision(self.hit_starts, self.hit_rank, np.maximum(place, 0), best)
        return best

    def precision_from(self, found: Integers) -> Reals:
        """
        float64[Q]: the largest precision at the rank of the found-th hit or below; at any rank where found < 1.

        found: int64[Q], none above num_rel_ret. 0/0 where nothing was ranked.
        """
        at = self.hit_starts[:-1] + self.surplus + np.maximum(found, 1) - 1
        any_hit = self.num_rel_ret > 0
        best = np.zeros(len(found))
        best[any_hit] = self.best_precision[at[any_hit]]
        best[self.num_ret == 0] = -math.nan
        return best

    # Gains.

    def _chosen(self, gains: Gains) -> Gains:
        if gains.pairs and self.qrels.grades is not None:
            raise ParameterError("expected no level=gain parameters where levels are fractions")
        return gains if gains.pairs else self.gains

    def graded(self, gains: Gains = BY_LEVEL) -> Graded:
        """Gains and ideal rankings of all judgements; gains with pairs go before the protocol's."""
        return self.qrels.graded(self._chosen(gains))

    def gained(self, gains: Gains = BY_LEVEL) -> "Gained":
        """Everything that depends on what a level is worth; worked out once for each choice of gains."""
        gains = self._chosen(gains)
        if gains not in self._gained:
            self._gained[gains] = Gained(self, self.qrels.graded(gains))
        return self._gained[gains]

    @cached_property
    def value(self) -> Reals:
        """float64[M]: the level of each row as it was given, 0 where it is below 0."""
        return self.qrels.value(self.level)

    def cascade(self, stop: Reals, k: int) -> Reals:
        """
        float64[Q]: the mean reciprocal rank at which a reader stops who reads no further than rank k.

        stop: float64[M]  the probability that the reader, once there, stops at a row
        """
        total = np.empty(len(self.unit))
        kernel.cascade(self.row_starts, self.rank, stop, k, total)
        return total

    def weighed_unjudged(self, weights: Reals) -> Reals:
        """float64[Q]: sum of weights[rank - 1] over the ranks without a level >= 0, in rank order."""
        total = np.empty(len(self.unit))
        kernel.weigh(self.row_starts, self.rank, self.level, self.num_ret, weights, total)
        return total


class Gained:
    """
    Rankings by gain.

    graded: the gains and ideal rankings of all judgements; length: int64[Q]  of the ideal rankings
    gain: float64[M]  of each row; dcg, result_gain, cost: float64[M]  running down the rows, as kernels.walk.graded
        has them; total_dcg, ideal_dcg: float64[Q]  of whole rankings
    """

    def __init__(self, docs: Judged, graded: Graded) -> None:
        self.docs, self.graded = docs, graded
        self.unit = docs.unit
        self.length = graded.starts[self.unit + 1] - graded.starts[self.unit]
        self.gain = gain_of_rows(docs.ranked, graded)
        self.dcg, self.result_gain, self.cost = np.empty((3, len(self.gain)))
        starts, ideal = starts_of(self.length), graded.gain[spread(graded.starts[self.unit], self.length)]
        kernel.graded(
            docs.row_starts, docs.rank, self.gain, starts, ideal, docs.discounts, self.dcg, self.result_gain, self.cost
        )
        self.total_dcg = self._last_row(docs.row_starts[1:])
        self.ideal_dcg = graded.ideal_dcg(self.unit, EVERY)

    def dcg_at(self, query: Integers, rank: Integers) -> Reals:
        """float64[n]: the DCG of rankings `query` down to `rank`, or to their last document."""
        row = np.searchsorted(self.docs.row_key, key(query, rank), "right")
        return np.where(row > self.docs.row_starts[query], np.append(self.dcg, 0.0)[row - 1], 0.0)

    def dcg_of_candidates(self, k: int) -> Reals:
        """float64[Q]: the DCG that the ranked documents could have down to rank k, in the best order."""
        query = self.docs.query
        order = np.lexsort((-self.gain, query))
        rank = np.arange(1, len(order) + 1) - self.docs.row_starts[query]
        chosen = rank <= k
        return self.docs.sum(np.where(chosen, self.gain[order] / self.docs.discounts[np.where(chosen, rank, 1)], 0.0))

    def ideal_at_rows(self) -> Reals:
        """float64[M]: the ideal DCG at the rank of each row."""
        return self.graded.ideal_dcg(self.unit[self.docs.query], self.docs.rank)

    def _last_row(self, after: Integers) -> Reals:
        return np.where(after > self.docs.row_starts[:-1], np.append(self.dcg, 0.0)[after - 1], 0.0)
