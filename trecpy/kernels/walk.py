"""
The pass over packed rankings that every rank measure is read from, and the running sums that NumPy cannot restart.

Sums are added one term at a time in rank order, so that each is the reference's double to the last bit; NumPy adds
in pairs. No measure has its name or its formula here.
"""

from trecpy.kernels._jit import compiled
from trecpy.kernels.dtypes import Integers, Reals

# Columns of walk()'s counts: relevant, outside the qrels, judged negative, rank of the first hit (0: none).
RELEVANT, UNJUDGED, NEGATIVE, FIRST_HIT = range(4)
COUNTS_SIZE = 4


@compiled
def walk(
    levels: Integers,
    starts: Integers,
    relevance_level: int,
    every: bool,
    cutoffs: Integers,
    discounts: Reals,
    found: Integers,
    precision_sum: Reals,
    dcg: Reals,
    unjudged: Integers,
    counts: Integers,
    row_starts: Integers,
    query: Integers,
    rank: Integers,
    level: Integers,
) -> None:
    """
    Go down each ranking once: sums at each cutoff, counts, and one row for each document that the qrels name.

    Reads
        levels: int64[N]  at each rank, rankings end to end; -1 outside the qrels, -2 judged negative
        starts: int64[Q+1]  ranking q is levels[starts[q]:starts[q+1]]
        relevance_level: int64  a hit is a document whose level is at least that, be it -1 or -2
        every: bool  a row for every rank (where -1 has a gain or is a hit)
        cutoffs: int64[K]  ascending, from 1
        discounts: float64[longest ranking + 1]  log2(rank + 1) at each rank
    Writes
        found: int64[Q, K]  hits at ranks 1..cutoff; precision_sum: float64[Q, K]  sum of hits/rank over them
        dcg: float64[Q, K]  sum of level/discount over levels above 0
        unjudged: int64[Q, K]  documents of level below 0 at ranks 1..cutoff
        counts: int64[Q, COUNTS_SIZE]  of whole rankings
        query, rank, level: int64[at least N]  the rows, best rank first; those of q are row_starts[q]:row_starts[q+1]
    """
    row = 0
    row_starts[0] = 0
    last = len(cutoffs)
    for q in range(len(starts) - 1):
        begin = starts[q]
        depth = starts[q + 1] - begin
        hits, relevant, outside, negative, first = 0, 0, 0, 0, 0
        precision, gain = 0.0, 0.0
        k = 0
        for i in range(1, depth + 1):
            while k < last and cutoffs[k] < i:
                found[q, k], precision_sum[q, k], dcg[q, k], unjudged[q, k] = hits, precision, gain, outside + negative
                k += 1
            value = levels[begin + i - 1]
            if value == -1:
                outside += 1
            elif value < 0:
                negative += 1
            elif value >= relevance_level:
                relevant += 1
            if value >= relevance_level:
                hits += 1
                precision += hits / i
                if first == 0:
                    first = i
            if value > 0:
                gain += value / discounts[i]
            if value != -1 or every:
                query[row], rank[row], level[row] = q, i, value
                row += 1
        while k < last:
            found[q, k], precision_sum[q, k], dcg[q, k], unjudged[q, k] = hits, precision, gain, outside + negative
            k += 1
        counts[q, RELEVANT], counts[q, UNJUDGED], counts[q, NEGATIVE], counts[q, FIRST_HIT] = (
            relevant,
            outside,
            negative,
            first,
        )
        row_starts[q + 1] = row


@compiled
def running(terms: Reals, starts: Integers, total: Reals) -> None:
    """
    Sum terms within each group, one at a time.

    terms: float64[M]; starts: int64[G+1]  group g is terms[starts[g]:starts[g+1]]
    total: float64[M]  written: the sum of the group's terms up to and with this one
    """
    for g in range(len(starts) - 1):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += terms[i]
            total[i] = s


@compiled
def weigh(levels: Integers, starts: Integers, weights: Reals, total: Reals) -> None:
    """total: float64[Q]  written: the sum of weights[rank - 1] over the ranks of each ranking with a level below 0."""
    for q in range(len(starts) - 1):
        s = 0.0
        for i in range(starts[q], starts[q + 1]):
            if levels[i] < 0:
                s += weights[i - starts[q]]
        total[q] = s


@compiled
def best_precision(starts: Integers, rank: Integers, number: Integers, best: Reals) -> None:
    """
    The largest precision at each hit or any later one.

    starts: int64[Q+1], rank: int64[H]  ranks of the hits of each ranking; number: int64[H]  what a hit counts as
    best: float64[H]  written: the largest number/rank from here to the last hit of the ranking
    """
    for q in range(len(starts) - 1):
        most = 0.0
        for i in range(starts[q + 1] - 1, starts[q] - 1, -1):
            most = max(most, number[i] / rank[i])
            best[i] = most


@compiled
def graded(
    row_starts: Integers,
    rank: Integers,
    gain: Reals,
    ideal_starts: Integers,
    ideal_gain: Reals,
    discounts: Reals,
    dcg: Reals,
    result_gain: Reals,
    cost: Reals,
) -> None:
    """
    Running sums of gains down the rows of each ranking, for gains of any kind.

    Reads
        row_starts: int64[Q+1]; rank: int64[M]; gain: float64[M]  of each row
        ideal_starts: int64[Q+1], ideal_gain: float64[]  the ideal ranking of each ranking's topic, best first
        discounts  as walk() has them
    Writes, for each row
        dcg: float64[M]  sum of gain/discount; result_gain: float64[M]  sum of gain
        cost: float64[M]  sum over ranks 1..rank of the ideal gain there, or 1 where that is below 1 or ended
    """
    for q in range(len(row_starts) - 1):
        length = ideal_starts[q + 1] - ideal_starts[q]
        total, gained, spent = 0.0, 0.0, 0.0
        passed = 0
        for i in range(row_starts[q], row_starts[q + 1]):
            if gain[i] != 0:
                total += gain[i] / discounts[rank[i]]
                gained += gain[i]
            while passed < rank[i]:
                if passed < length and ideal_gain[ideal_starts[q] + passed] >= 1:
                    spent += ideal_gain[ideal_starts[q] + passed]
                else:
                    spent += 1.0
                passed += 1
            dcg[i], result_gain[i], cost[i] = total, gained, spent
