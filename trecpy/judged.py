"""
What a measure's formula is written in: rankings joined with judgements, counted once by kernels.walk.

Q rankings are scored together, one a topic (or a group of judgements). A formula takes a Judged and returns float64[Q].
"""

import math
from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from trecpy.gains import BY_LEVEL, Gains, Graded
from trecpy.kernels import walk as kernel
from trecpy.kernels.dtypes import Flags, Integers, Reals
from trecpy.packed import Qrels, Ranked
from trecpy.protocol import Protocol
from trecpy.tables import discounts

# A cutoff behind every document.
EVERY = 2**62


def ratio(part: Reals | Integers, whole: Reals | Integers) -> Reals:
    """The quotient part / whole, and 0 where whole is 0."""
    return np.where(whole != 0, np.true_divide(part, whole), 0.0)


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


_LONGEST = (1 << 40) - 1


def key(query: Integers, rank: Integers) -> Integers:
    """One integer that sorts as (query, rank) does, for ranks up to _LONGEST."""
    return (query << 40) + rank


class Judged:
    """
    Rankings joined with judgements.

    num_ret, num_rel, num_nonrel, num_rel_ret: int64[Q]  documents ranked; relevant and judged not relevant in the
        qrels; relevant among those ranked
    hits: int64[Q]  ranked documents of level >= relevance_level: num_rel_ret, unless that level is below 0
    first_hit: int64[Q]  rank of the first one, 0 where there is none
    query, rank, level: int64[M]  a row for each ranked document that the qrels name, best rank first, query by query
    """

    def __init__(self, ranked: Ranked, qrels: Qrels, protocol: Protocol, cutoffs: Iterable[int] = ()) -> None:
        self.qrels, self.protocol, self.ranked = qrels, protocol, ranked
        self.unit, self.num_ret = ranked.unit, ranked.num_ret
        self.row_starts, self.rank, self.level = ranked.row_starts, ranked.rank, ranked.level
        self.query = np.repeat(np.arange(len(self.unit)), np.diff(self.row_starts))
        level = protocol.relevance_level
        self.num_rel = qrels.count(level)[self.unit]
        self.num_nonrel = qrels.count(0, level)[self.unit]
        self.discounts = discounts(int(self.num_ret.max(initial=0)))
        self._columns = {k: i for i, k in enumerate(sorted({*cutoffs, EVERY}))}
        shape = len(self.unit), len(self._columns)
        self._found, self._unjudged = np.empty(shape, np.int64), np.empty(shape, np.int64)
        self._precision_sum, self._dcg = np.empty(shape), np.empty(shape)
        counts = np.empty((len(self.unit), kernel.COUNTS_SIZE), np.int64)
        kernel.walk(
            self.row_starts,
            self.rank,
            self.level,
            self.num_ret,
            level,
            np.array(list(self._columns), np.int64),
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
        self._gained: dict[Gains, Gained] = {}

    # Columns at a cutoff: k is one of the cutoffs that the rankings were walked with.

    def found(self, k: int = EVERY) -> Integers:
        """int64[Q]: hits at ranks 1..k."""
        return self._found[:, self._columns[k]]

    def precision_sum(self, k: int = EVERY) -> Reals:
        """float64[Q]: sum of hits/rank over the hits at ranks 1..k, in rank order."""
        return self._precision_sum[:, self._columns[k]]

    def dcg(self, k: int = EVERY) -> Reals:
        """float64[Q]: sum of level / log2(rank + 1) over ranks 1..k with a level above 0."""
        return self._dcg[:, self._columns[k]]

    def ideal_dcg(self, k: int = EVERY) -> Reals:
        """float64[Q]: the same of the ideal ranking."""
        return self.qrels.graded(BY_LEVEL).ideal_dcg(self.unit, k)

    def not_judged(self, k: int = EVERY) -> Integers:
        """int64[Q]: documents at ranks 1..k that have no level >= 0."""
        return self._unjudged[:, self._columns[k]]

    # Rows.

    def sum(self, terms: Reals) -> Reals:
        """float64[Q]: sum of terms: float64[M] over each ranking's rows, one at a time in rank order."""
        return np.bincount(self.query, terms, len(self.unit)).astype(float)  # of no rows it gives integers

    def so_far(self, chosen: Flags) -> Integers:
        """int64[M]: how many of the ranking's chosen: bool[M] rows there are up to and with this one."""
        counts = np.concatenate(([0], np.cumsum(chosen)))
        return counts[1:] - counts[self.row_starts[:-1]][self.query]

    @cached_property
    def is_hit(self) -> Flags:
        """bool[M]: is the level at least relevance_level?"""
        return self.level >= self.protocol.relevance_level

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
        return np.concatenate(([0], np.cumsum(self.hits)))

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

    def gained(self, gains: Gains) -> "Gained":
        """Everything that depends on what a level is worth; worked out once for each choice of gains."""
        if gains not in self._gained:
            self._gained[gains] = Gained(self, self.qrels.graded(gains))
        return self._gained[gains]

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
        document = docs.ranked.document
        self.gain = graded.outside[self.unit[docs.query]]
        self.gain[document >= 0] = graded.document[document[document >= 0]]
        self.dcg, self.result_gain, self.cost = np.empty((3, len(self.gain)))
        starts = np.concatenate(([0], np.cumsum(self.length)))
        ideal = graded.gain[np.repeat(graded.starts[self.unit] - starts[:-1], self.length) + np.arange(starts[-1])]
        kernel.graded(
            docs.row_starts, docs.rank, self.gain, starts, ideal, docs.discounts, self.dcg, self.result_gain, self.cost
        )
        self.total_dcg = self._last_row(docs.row_starts[1:])
        self.ideal_dcg = graded.ideal_dcg(self.unit, EVERY)

    def dcg_at(self, query: Integers, rank: Integers) -> Reals:
        """float64[n]: the DCG of rankings `query` down to `rank`, or to their last document."""
        row = np.searchsorted(self.docs.row_key, key(query, rank), "right")
        return np.where(row > self.docs.row_starts[query], np.append(self.dcg, 0.0)[row - 1], 0.0)

    def ideal_at_rows(self) -> Reals:
        """float64[M]: the ideal DCG at the rank of each row."""
        return self.graded.ideal_dcg(self.unit[self.docs.query], self.docs.rank)

    def _last_row(self, after: Integers) -> Reals:
        return np.where(after > self.docs.row_starts[:-1], np.append(self.dcg, 0.0)[after - 1], 0.0)
